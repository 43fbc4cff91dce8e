"""Section 7: how to check the page, what "verified" does not say, every entry, and files to download."""

import base64
import json
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from protocols.core.instants import show_instant
from swarm.history.tables import STATE_COLUMNS, csv_text, state_rows
from swarm.report.reading import Reading, Receipt, Said
from swarm.report.sentences import Sentence, count, say
from swarm.text import fingerprint, is_invisible

MOST_ENTRIES: Final = 1_500
"""Entries with a line of their own, besides those on which a sentence rests."""
MOST_BODIES: Final = 1_200_000
"""Characters of all bodies together, in the order of the log."""
LONGEST_BODY: Final = 6_000
LARGEST_DOWNLOAD: Final = 500_000
"""Bytes of one file that the page carries."""
GROUP: Final = 100

ENTRY_COLUMNS: Final = ("position", "stored", "author", "kind", "step", "n", "seen", "id")


@dataclass(frozen=True, slots=True)
class Key:
    """A member's key, in full and in the form that people compare at a glance."""

    member: str
    key: str
    glance: str
    role: str


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the page carries as ``uri``, or, if it is too large, a ``sentence`` that says how to get it."""

    name: str
    label: str
    uri: str
    sentence: Sentence | None
    size: int


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry of the list; ``text`` is its body as JSON, cut by ``cut`` characters."""

    position: int
    at: str
    by: str
    kind: str
    step: str
    id: str
    n: int
    seen: int
    text: str
    cut: int


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive entries: the first, the last, and how many in between are left out."""

    first: int
    last: int
    entries: tuple[EntryView, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Check:
    """The section without its entries, which depend on what the rest of the page rests on."""

    command: str
    says_not: tuple[str, ...]
    keys: tuple[Key, ...]
    room: str
    head: str
    covered_to: int
    exporter: str
    receipts: tuple[Receipt, ...]
    downloads: tuple[Download, ...]


def check(reading: Reading) -> Check:
    """Return the section of *reading*."""
    audit = reading.audit
    roles = {} if reading.room is None else {m.name: m.role or "" for m in reading.room.setting.opening.roster}
    names = {key: name for name, key in audit.members.items()}
    exporter = audit.trace.exporter if audit.trace is not None else None
    return Check(
        command=command(reading),
        says_not=tuple(audit.says_not),
        keys=tuple(Key(name, key, fingerprint(key), roles.get(name, "")) for name, key in audit.members.items()),
        room=reading.summary.get("room", ""),
        head=reading.head,
        covered_to=audit.covered_to,
        exporter="" if exporter is None else names.get(exporter, exporter),
        receipts=reading.receipts,
        downloads=tuple(_downloads(reading)),
    )


def command(reading: Reading, *more: str) -> str:
    """Return the command that audits the same files, quoted for a shell."""
    words = ["swarm", "audit", reading.name if not reading.name.startswith("-") else f"./{reading.name}"]
    words += [] if reading.roster is None else ["--roster", reading.roster]
    for receipt in reading.receipts:
        words += ["--receipt", receipt.file]
    return shlex.join([*words, *more])


def _downloads(reading: Reading) -> list[Download]:
    stem = reading.name.removesuffix(".jsonl")
    plain = json.dumps(reading.audit.plain(), ensure_ascii=True, indent=1).encode()
    found = [
        _download(f"{stem}.audit.json", "The audit as JSON", "application/json", plain,
                  say("The audit as JSON is too large to carry here; get it with {}", command(reading, "--json"))),
        _download(f"{stem}.entries.csv", "All entries as CSV", "text/csv;charset=utf-8", entries_csv(reading.said),
                  say("The table of all entries is too large to carry here; every line of the ledger is one.")),
    ]  # fmt: skip
    if reading.room is not None and reading.room.concord is not None and reading.summary["considered"] is not None:
        found.append(
            _download(f"{stem}.scores.csv", "All scores as CSV", "text/csv;charset=utf-8", scores_csv(reading.summary),
                      say("The scores are too large to carry here; they are in the audit's JSON."))
        )  # fmt: skip
    if reading.timeline is not None and reading.timeline.statuses:
        rows = state_rows([reading.timeline])
        found.append(
            _download(f"{stem}.promises.csv", "All promises as CSV", "text/csv;charset=utf-8",
                      csv_text(STATE_COLUMNS, rows).encode("utf-8", "backslashreplace"),
                      say("The promises are too many to carry here; get them with {}",
                          command(reading, "--csv", f"{stem}.promises.csv")))
        )  # fmt: skip
    return found


def _download(name: str, label: str, kind: str, content: bytes, too_large: Sentence) -> Download:
    if len(content) > LARGEST_DOWNLOAD:
        return Download(name, label, "", too_large, len(content))
    encoded = base64.b64encode(content).decode("ascii")
    return Download(name, label, f"data:{kind};base64,{encoded}", None, len(content))


def entries_csv(said: Sequence[Said]) -> bytes:
    """Return a row of `ENTRY_COLUMNS` for every record; texts are inert, numbers are numbers."""
    rows = [(s.position, show_instant(s.at), s.by, s.kind, s.step, s.n, s.seen, s.id) for s in said]
    return csv_text(ENTRY_COLUMNS, rows).encode("utf-8", "backslashreplace")


def scores_csv(summary: dict[str, Any]) -> bytes:
    """Return a row for every option, with a column for every member; a rejection is the word ``rejected``."""
    considered = summary["considered"]
    members = considered["table"]["members"]
    rows = []
    for place, option in enumerate(considered["options"], 1):
        cells = [option["scores"].get(m, "") for m in members]
        given = ["rejected" if cell is None else cell for cell in cells]
        rows.append((place, option["title"], ", ".join(option["by"]), option["fate"], *given))
    columns = ("number", "option", "proposed by", "fate", *members)
    return csv_text(columns, rows).encode("utf-8", "backslashreplace")


def entries(reading: Reading, cited: Collection[int]) -> tuple[list[Group], Sentence | None]:
    """Return the entries to list, in groups, and a sentence about what is left out.

    All of *cited* are listed, because sentences of the page link to them; the others as far as there is space.
    """
    positions = [s.position for s in reading.said]
    shown = set(positions[:MOST_ENTRIES]) | (set(cited) & set(positions))
    left = MOST_BODIES
    groups: list[Group] = []
    without = 0
    for start in range(0, len(reading.said), GROUP):
        part = reading.said[start : start + GROUP]
        views = []
        for said in part:
            if said.position in shown:
                text = _text(said)
                kept = text[: min(LONGEST_BODY, max(0, left))]
                left -= len(kept)
                without += not kept
                views.append(_view(said, kept, len(text) - len(kept)))
        if views:
            groups.append(Group(part[0].position, part[-1].position, tuple(views), len(part) - len(views)))
    missing = len(positions) - len(shown)
    if not missing and not without:
        return groups, None
    parts = []
    if missing:
        parts.append(f"{count(missing, 'entry', 'entries')} that nothing above rests on are not listed")
    if without:
        parts.append(f"of {count(without, 'entry', 'entries')} the text is left out")
    told = "; ".join(parts)
    return groups, say(f"To keep this page small, {told}: entry n is line n + 1 of {{}}.", reading.name)


def _text(said: Said) -> str:
    """Return the body as JSON, or raw bytes as text; invisible characters are written as escapes."""
    if said.entry:
        text = json.dumps(said.body, ensure_ascii=False, indent=2, sort_keys=True)
    else:
        text = said.content.decode("utf-8", "backslashreplace")
    if text.isascii() and said.entry:
        return text
    return "".join(c if c in " \n" or not is_invisible(c) else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if not character.isascii() else f"\\u{ord(character):04x}"


def _view(said: Said, text: str, cut: int) -> EntryView:
    return EntryView(
        said.position, show_instant(said.at), said.by, said.kind, said.step, said.id, said.n, said.seen, text, cut
    )
