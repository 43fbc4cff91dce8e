"""What a viewer of a run sees: meaning, choice, agreement and promises, each as soon as it is settled."""

from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.console import Console

from protocols.accord.machine import Accord
from protocols.concord.machine import Concord, Try
from protocols.concord.selection import order_key
from protocols.core.instants import SECOND, Instant, format_duration, parse_duration, show_instant
from protocols.messages.accord import Bound
from protocols.room.room import Room
from protocols.views.summary import Amounts, Cost
from swarm.ledger.fold import Fold
from swarm.running.result import RunResult
from swarm.text import named, pad, shortened, visible

WIDEST_TITLE = 44
NARROWEST_MEMBER, WIDEST_MEMBER = 7, 14
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
STATE_WORDS = {
    "satisfied": "kept ✓",
    "violated": "BROKEN",
    "expired": "expired, nobody owes",
    "terminated": "called off",
    "unconfirmed": "reported, UNCONFIRMED",
    "disputed": "DISPUTED",
    "pending": "suspended",
}
STATE_STYLES = {"satisfied": "green", "violated": "bold red", "unconfirmed": "yellow", "disputed": "yellow"}


class RunView:
    """Prints a run as it unfolds: what is settled on *out*, who has answered which step on *progress*.

    *beat* is called before each separate item: a section, an improvement, a promise.
    """

    def __init__(
        self, out: Console, progress: Console, *, quiet: bool = False, beat: Callable[[], None] = lambda: None
    ) -> None:
        self._out = out
        self._progress = progress
        self._quiet = quiet
        self._beat = beat
        self._stage = 0
        self._step = ""
        self._answered = ""
        self._tries = 0
        self._table_width = 0
        self._widths: dict[str, int] = {}
        self._states: dict[str, str] = {}
        self._promises_shown = False

    # -- following ------------------------------------------------------------------------------------------------

    def show(self, fold: Fold) -> None:
        """Print what is new in *fold*; while a question has the terminal, that waits for the next call."""
        if self._is_asked():
            return
        room = fold.room
        self._show_progress(room)
        if self._quiet:
            return
        if self._stage == 0:
            self._header(room)
            self._stage = 1
        accord, concord = room.accord, room.concord
        if self._stage == 1 and (concord is not None or room.ending is not None):
            if accord is not None:
                self._beat()
                self._meaning(room, accord)
            self._stage = 2
        if self._stage == 2 and concord is not None and concord.first_selection is not None:
            self._beat()
            self._choice(room, concord)
            self._stage = 3
        if concord is not None and self._stage >= 3:
            for each in concord.tries[self._tries :]:
                self._beat()
                self._try(room, concord, each)
            self._tries = len(concord.tries)
        if room.ending is not None and self._stage < 4:
            self._beat()
            self._ending(room)
            self._stage = 4
        if room.tracker is not None and room.ending is not None:
            self._promises(room)

    def _is_asked(self) -> bool:
        shown = [console.file for console in (self._out, self._progress) if console.is_terminal]
        if not shown:
            return False
        from swarm.people.terminal import is_asking

        return any(is_asking(file) for file in shown)

    def _show_progress(self, room: Room) -> None:
        step = room.step
        if step is None:
            return
        answered = f"{step.id}  {len(step.answers)}/{len(step.expected)}"
        if answered == self._answered:
            return
        self._answered = answered
        if self._progress.is_terminal:
            waiting = ", ".join(visible(m) for m in step.awaited(room.present))
            line = f"{answered}  waiting for {waiting}" if waiting else answered
            self._overwrite(shortened(line, 100))
        elif step.id != self._step:
            self._progress.print(f"… {step.id}: {', '.join(visible(m) for m in step.expected)}")
        self._step = step.id

    def _overwrite(self, text: str) -> None:
        """Replace the progress line with *text*; written past the console, which removes carriage returns."""
        self._progress.file.write(f"\r\x1b[2K{text}")
        self._progress.file.flush()

    def _line(self, text: str = "", style: str | None = None) -> None:
        if self._progress.is_terminal:
            self._overwrite("")
        self._out.print(text, style=style)

    def _header(self, room: Room) -> None:
        opening = room.setting.opening
        self._line(f"{room.setting.room}   {len(room.setting.members)} peers, one log", "bold")
        if opening.rehearsal is not None:
            unit = format_duration(parse_duration(opening.rehearsal.second))
            self._line(f"REHEARSAL: after the agreement, 1 s counts as {unit}", "yellow")
        self._line(f"“{visible(opening.intent)}”")
        self._line(", ".join(named(member.name, member.key) for member in opening.roster), "dim")

    # -- meaning --------------------------------------------------------------------------------------------------

    def _meaning(self, room: Room, accord: Accord) -> None:
        self._line()
        sealed = f"sealed {len(accord.meaning.seals)}/{len(room.setting.members)}"
        self._line(
            f"MEANING      {sealed}, revealed {len(accord.meaning.contents)}/{len(room.setting.members)}", "bold"
        )
        width = max(len(visible(term)) for term in accord.terms)
        for term in accord.terms:
            rows = [d for d in accord.divergences if d.term == term]
            untested = [pair for t, pair in accord.untested if t == term]
            missing = [pair for t, pair in accord.missing if t == term]
            label = pad(visible(term), width)
            if not rows:
                pairs = len(list(combinations(room.setting.members, 2)))
                same = "same for all" if not untested and not missing else f"no difference shown in {pairs} pairs"
                self._line(f"  {label}  {same}{_untested(untested, missing)}")
            for index, d in enumerate(rows):
                a, b = d.between
                head = f"  {label if index == 0 else ' ' * width}  {visible(a)} ≠ {visible(b)}   "
                style = "green" if d.status == "settled" else "yellow"
                self._line(f"{head}{self._evidence(d.evidence, (a, b))}  {d.status.upper()}", style)
                for member, how in d.settled_by.items():
                    if "adopt" in how:
                        because, other = shortened(how.get("because", ""), 90), visible(b if member == a else a)
                        self._line(f"  {' ' * width}  {visible(member)} takes {other}'s reading: “{because}”")
                if index == len(rows) - 1 and (untested or missing):
                    self._line(f"  {' ' * width} {_untested(untested, missing)}")

    @staticmethod
    def _evidence(evidence: list[dict[str, Any]], between: tuple[str, str]) -> str:
        parts = []
        for item in evidence:
            if item["kind"] == "bounds":
                parts.append(" | ".join(_bound(Bound.model_validate(b)) for b in item["bounds"]))
            elif item["kind"] == "case":
                said = ", ".join(f"{visible(m)} {v}" for m, v in zip(between, item["verdicts"], strict=True))
                parts.append(f"“{shortened(item['case'], 50)}”: {said}")
            elif item["kind"] == "judged_different" and len(evidence) == 1:
                by = [visible(m) for m, said in zip(between, item["by"], strict=True) if said]
                parts.append(f"judged different by {' and '.join(by)}")
        return "   ".join(parts)

    # -- choice ---------------------------------------------------------------------------------------------------

    def _choice(self, room: Room, concord: Concord) -> None:
        members = room.setting.members
        first = concord.first_selection
        assert first is not None
        self._line()
        sealed = f"sealed {len(concord.proposals.seals)}/{len(members)}"
        bar = f"bar {room.setting.opening.rules.bar}"
        self._widths = {m: min(WIDEST_MEMBER, max(NARROWEST_MEMBER, len(visible(m)))) for m in members}
        names = "  ".join(pad(visible(m), self._widths[m], right=True) for m in members)
        titles = [shortened(c.option.title, WIDEST_TITLE) for c in concord.candidates.values()]
        self._table_width = max([len(title) for title in titles] + [46])
        self._line(pad(f"CHOICE       {sealed}   {bar}", self._table_width + 4) + names + "   lowest", "bold")
        order = sorted(
            concord.candidates.values(),
            key=lambda c: (
                (key := order_key(c.id, concord.table.ballots().values(), room.setting.opening.rules.floor))
                and (key.objections, [-score for score in key.vector])
            ),
        )
        for candidate in order:
            if not concord.table.of(candidate.id):
                continue
            self._option_row(room, concord, candidate.id, "")
        self._line("    ! below that member's reserve    ✕ rejected, with a reason", "dim")
        if first.also is not None and first.standing is not None:
            self._also(concord, first.also, first.standing)

    def _also(self, concord: Concord, also: Any, standing: str) -> None:
        ways = [("adding up or the median", also.sum)]
        if also.sum != also.median:
            ways = [("adding up", also.sum), ("the median", also.median)]
        for how, picked in ways:
            objectors = concord.first_selection.objections.get(picked, ()) if concord.first_selection else ()
            if picked != standing or objectors:
                title = shortened(concord.candidates[picked].option.title, WIDEST_TITLE)
                over = f", over the objection of {' and '.join(visible(m) for m in objectors)}" if objectors else ""
                self._line(f"    {how} would have taken “{title}”{over}", "dim")

    def _option_row(self, room: Room, concord: Concord, option: str, prefix: str, fate: str = "") -> None:
        scores = concord.table.of(option)
        cells, values = [], []
        for member in room.setting.members:
            score = scores.get(member)
            reserve = concord.table.reserves.get(member)
            if score is None:
                cell = "✕" if member in scores else "–"
            else:
                values.append(score)
                cell = f"{score}!" if reserve is not None and score < reserve else str(score)
            cells.append(pad(cell, self._widths[member], right=True))
        lowest = str(min(values)) if len(values) == len(scores) and values else "–"
        title = shortened(prefix + concord.candidates[option].option.title, self._table_width)
        self._line(
            f"  {pad(title, self._table_width)}  {'  '.join(cells)}   {pad(lowest, 6, right=True)}   {fate}".rstrip()
        )

    def _try(self, room: Room, concord: Concord, each: Try) -> None:
        scores = concord.table.of(each.option)
        given = {m: s for m, s in scores.items() if s is not None}
        fate = "adopted"
        if not each.adopted:
            lowest = min(given, key=lambda m: (given[m], m)) if given else ""
            fate = f"refused: {visible(lowest)} would be at {given[lowest]}" if given else f"refused: {each.because}"
        self._option_row(room, concord, each.option, f"+ {visible(each.by)}: ", fate)

    # -- the end and the promises ---------------------------------------------------------------------------------

    def _ending(self, room: Room) -> None:
        ending, concord = room.ending, room.concord
        assert ending is not None
        self._line()
        if ending.outcome == "agreed" and concord is not None and concord.selection is not None:
            selection = concord.selection
            title = visible(concord.candidates[concord.standing or ""].option.title)
            signed = sum(r.accept for r in concord.ratified.values())
            who = visible(selection.least_satisfied or "nobody")
            count = f"{signed}/{len(room.setting.members)}"
            self._line(f"AGREED       {title}, lowest {selection.vector[0]} ({who}), signed {count}", "bold green")
            for difference in room.open_differences():
                a, b = difference["between"]
                term = visible(difference["term"])
                self._line(
                    f"             open: {visible(a)} and {visible(b)} mean different things by “{term}”", "yellow"
                )
            return
        reason = f": {visible(ending.reason)}" if ending.reason else ""
        word = {"no_agreement": "NO AGREEMENT", "abandoned": "ABANDONED", "open": "OPEN"}[ending.outcome]
        self._line(f"{word}{reason}", "bold" if ending.outcome == "open" else "bold red")

    def _promises(self, room: Room) -> None:
        assert room.promises is not None
        statuses, operated = room.promises.tracker.statuses(), room.promises.operated
        if statuses and not self._promises_shown:
            self._beat()
            self._line()
            self._line("PROMISES", "bold")
            self._promises_shown = True
        rows = []
        for name, status in statuses.items():
            if self._states.get(name) == status.state:
                continue
            self._states[name] = status.state
            if status.state in STATE_WORDS and status.since is not None:
                rows.append((status.since, name, status))
        for since, name, status in sorted(rows, key=lambda row: (row[0], row[1])):
            when = _date(since) if room.calendar.agreed_at is not None else show_instant(since)[11:19]
            self._beat()
            parties = f"{visible(status.debtor)} → {visible(status.creditor)}"
            word = STATE_WORDS[status.state]
            why = [o.because for o in operated.get(status.debtor, ()) if o.commitment == name and o.do == "cancel"]
            if status.state == "violated" and why and why[-1]:
                word += f", announced: “{shortened(why[-1], 70)}”"
            self._line(
                f"  {pad(when, 8)}  {pad(visible(name), 16)}  {pad(parties, 24)}  {word}",
                STATE_STYLES.get(status.state),
            )

    def finish(self, result: RunResult, roster: Path | None) -> None:
        """Print how it all ended, and how to check it."""
        self._beat()
        if result.fold.room.tracker is not None:
            self._tally(result.fold.room)
        if result.outcome == "abandoned":
            self._line(f"ABANDONED: {visible(result.reason or '')}", "bold red")
        for finding in (each for each in result.findings if each.code not in QUIET):
            who = f"{visible(finding.who)}: " if finding.who else ""
            self._line(f"  {finding.code} at {finding.position}: {who}{visible(finding.text)}", "yellow")
        self._cost(result.cost)
        self._line()
        path, entries = result.ledger.path, result.ledger.entries
        if path is not None:
            pins = f" --roster {roster}" if roster is not None else ""
            self._line(f"LEDGER       {path}, {entries} entries.", "bold")
            self._line(f"             Check it yourself:  swarm audit {path}{pins}")
        else:
            self._line(f"{entries} entries; --ledger FILE keeps them for an audit", "dim")

    def _cost(self, cost: Cost) -> None:
        """Print what minds say their answers cost; nothing if none says so."""
        used = {name: c for name, c in cost.members.items() if c.calls or c.tokens_in or c.tokens_out}
        if not used:
            return
        self._line()
        self._line(
            f"COST         {_amount(cost.total)}; {_percent(cost.coordinating)} of it to come to the result", "bold"
        )
        for name, spent in used.items():
            models = ", ".join(visible(model) for model in cost.models[name])
            self._line(f"             {visible(name)}: {_amount(spent)}{f'  ({models})' if models else ''}")

    def _tally(self, room: Room) -> None:
        assert room.tracker is not None
        statuses = room.tracker.statuses()
        if not statuses:
            return
        kept = sum(s.state == "satisfied" for s in statuses.values())
        broken = [s for s in statuses.values() if s.state == "violated"]
        remedied = sum(s.remedy == "remedied" for s in broken)
        parts = [f"{kept} kept"]
        expired = sum(s.state == "expired" for s in statuses.values())
        parts += [f"{expired} expired, nobody owes"] if expired else []
        parts += [f"{remedied} broken and made good"] if remedied else []
        parts += [f"{len(broken) - remedied} BROKEN"] if len(broken) > remedied else []
        idle = set(room.tracker.open())
        parts += [f"open: {', '.join(visible(name) for name in sorted(idle))}"] if idle else []
        self._line(f"             {' · '.join(parts)}")


QUIET = {
    "abandoned",
    "adopted_without_reason",
    "all_or_nothing",
    "disputed",
    "divergence",
    "divergence_open",
    "drift_without_evidence",
    "left",
    "sole_minimum",
    "terminal_state",
    "unconfirmed",
    "unrequested",
    "uses_open_term",
    "violated",
}
"""Findings that the view has shown in its own words, or that are not news."""


def _untested(untested: list[tuple[str, str]], missing: list[tuple[str, str]]) -> str:
    parts = [f"{len(untested)} pairs untested"] if untested else []
    parts += [f"{len(missing)} pairs missing"] if missing else []
    return f"   ({', '.join(parts)})" if parts else ""


def _bound(bound: Bound) -> str:
    unit = f" {visible(bound.unit)}" if bound.unit else ""
    if bound.values is not None:
        return "one of " + ", ".join(visible(value) for value in bound.values) + unit
    if bound.min is not None and bound.max is not None:
        return f"{bound.min}{unit}" if bound.min == bound.max else f"{bound.min} to {bound.max}{unit}"
    return f"from {bound.min}{unit}" if bound.min is not None else f"up to {bound.max}{unit}"


def _amount(used: Amounts) -> str:
    return f"{used.calls} calls, {used.tokens_in} tokens in, {used.tokens_out} out, {used.seconds} s"


def _percent(shares: dict[str, str | None]) -> str:
    share = shares["tokens"] or shares["calls"] or shares["seconds"] or "0"
    return f"{Decimal(share) * 100:.0f} %"


def _date(instant: int) -> str:
    text = show_instant(Instant(instant - instant % SECOND))
    return f"{int(text[8:10])} {MONTHS[int(text[5:7]) - 1]}"
