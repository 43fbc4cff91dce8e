"""What `swarm track` and `swarm audit` share about promises: what changed, what is due, and files to export."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from protocols.commitments.chronicle import Passage
from protocols.core.canonical import JSON
from protocols.core.instants import Instant, show_instant
from swarm.auditing.verdict import IN_PART
from swarm.errors import BadInput
from swarm.history.graph import draw, format_of
from swarm.history.tables import STATE_COLUMNS, Due, csv_text, due_table, state_rows
from swarm.history.timeline import Timeline, read_span, show
from swarm.text import table, visible


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was requested besides the states: ``diff`` two instants, ``due`` a table, ``csv`` and ``graph`` files."""

    diff: tuple[str, str] | None = None
    due: bool = False
    by_debtor: bool = False
    csv: Path | None = None
    graph: Path | None = None

    @property
    def anything(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.diff or self.due or self.csv or self.graph)

    @property
    def span(self) -> tuple[Instant, Instant] | None:
        """The instants of ``diff``; raises `BadInput` if they are not instants."""
        return None if self.diff is None else read_span(*self.diff)

    def as_of(self, given: str | None) -> str | None:
        """Return the instant to read up to: *given*, or the later of ``diff``; `BadInput` for both or bad ones."""
        if self.diff is None:
            return given
        if given is not None:
            raise BadInput("--diff T1 T2 looks from T2; --as-of cannot be given beside it")
        read_span(*self.diff)
        return self.diff[1]

    def check(self, inputs: Sequence[Path]) -> None:
        """Raise `BadInput`, before anything is read, if an output file cannot be written, or is one of *inputs*."""
        if self.graph is not None:
            format_of(str(self.graph))
        for path in (self.csv, self.graph):
            if path is None:
                continue
            if not path.resolve().parent.is_dir():
                raise BadInput("no such folder to write to", source=str(path))
            if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
                raise BadInput("that is what is read; it is not written over", source=str(path))


def fulfil(wanted: Wanted, timelines: Sequence[Timeline], out: Console | None) -> dict[str, JSON]:
    """Do what is *wanted*: write the files, print on *out* (``None``: nothing), and return it as JSON."""
    plain: dict[str, JSON] = {}
    span = wanted.span
    if span is not None:
        changes = [(timeline, timeline.changes(*span)) for timeline in timelines]
        plain["changes"] = [
            {"file": timeline.source, **move.plain(), "why": [item.plain() for item in timeline.because(move.because)]}
            for timeline, moves in changes
            for move in moves
        ]
        if out is not None:
            out.print(f"changed after {show_instant(span[0])}, up to {show_instant(span[1])}:")
            for timeline, moves in changes:
                _print_changes(out, timeline, moves, many=len(timelines) > 1)
    if wanted.due:
        rows = due_table(timelines, by_debtor=wanted.by_debtor)
        plain["due"] = [row.plain() for row in rows]
        if out is not None:
            _print_due(out, rows, many=len(timelines) > 1)
    if wanted.csv is not None:
        states = state_rows(timelines)
        _write(wanted.csv, lambda: csv_text(STATE_COLUMNS, states))
        _wrote(out, f"{len(states)} rows", wanted.csv)
    if wanted.graph is not None:
        kind = format_of(str(wanted.graph))
        _write(wanted.graph, lambda: draw(timelines, kind))
        _wrote(out, "the graph", wanted.graph)
    return plain


def _write(path: Path, make: Callable[[], str]) -> None:
    text = make()
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    except OSError as error:
        raise BadInput(f"it cannot be written: {error.strerror}", source=str(path)) from None


def _wrote(out: Console | None, what: str, path: Path) -> None:
    if out is not None:
        out.print(f"{what} written to {visible(str(path))}", style="dim")


def _print_changes(out: Console, timeline: Timeline, moves: Sequence[Passage], *, many: bool) -> None:
    if many:
        out.print(f"{visible(timeline.source)}{_standing(timeline)}")
    if not moves:
        out.print("  nothing")
    for move in moves:
        for line in change_lines(timeline, move):
            out.print(line)


def _standing(timeline: Timeline) -> str:
    """Return the verdict on a ledger, and for a failed one, until when it holds."""
    until = f", holds until {show(timeline.as_of)}" if timeline.verdict in IN_PART else ""
    return f" ({timeline.verdict}{until})" if timeline.verdict else ""


def change_lines(timeline: Timeline, move: Passage) -> list[str]:
    """Return a move as lines: what became what and when it came true, then why, and when it was noted."""
    changed = move.before != move.after
    what = f"{move.before} → {move.after}" if changed else f"{move.after}, {visible(move.text)}"
    since = "before everything" if move.since is None else f"since {show(move.since)}"
    lines = [f"  {visible(move.commitment)}  {what}  {since}"]
    if move.by_time:
        noted = f"; noted with {move.noted}" if move.noted is not None else ""
        lines.append(f"      a deadline passed, known as of {show(move.known)}{noted}")
    elif move.since is not None and move.known != move.since:
        lines.append(f"      known as of {show(move.known)}")
    lines += [f"      {line}" for line in item_lines(timeline, move.because)]
    return lines


def item_lines(timeline: Timeline, numbers: Sequence[int]) -> list[str]:
    """Return the items with these numbers as lines."""
    return [
        f"{item.number}  {show(item.at)}  {visible(item.by)} {visible(item.said)}" for item in timeline.because(numbers)
    ]


def _print_due(out: Console, rows: Sequence[Due], *, many: bool) -> None:
    if not rows:
        out.print("no open promise")
        return
    out.print("open promises, and what becomes of them if nobody says anything more:")
    head = ["  debtor", "due", "becomes", "promise", "creditor", "state now", *(["file"] if many else []), "verdict"]
    shown = [
        [
            f"  {visible(row.debtor)}",
            "no end" if row.due is None else show_instant(row.due),
            row.becomes or "",
            visible(row.commitment),
            visible(row.creditor),
            row.state,
            *([visible(row.source)] if many else []),
            row.verdict,
        ]
        for row in rows
    ]
    if not any(row.verdict for row in rows):
        head.pop()
    for line in table([head, *shown]):
        out.print(line)
