"""Tables of promises to export: every state, and what is due next; and CSV that no spreadsheet runs.

A text cell is quoted and shown as text, whatever it begins with; a number stays a number. The text itself is exact,
except that a mark precedes anything that a spreadsheet would run as a formula.
"""

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from protocols.core.canonical import JSON
from protocols.core.instants import Instant, show_instant
from swarm.history.timeline import Timeline, show
from swarm.text import is_invisible

Cell = str | int | Decimal | None
TEXT_MARK: Final = "'"
"""Precedes a text that would be a formula: spreadsheets show what follows as text."""
_FORMULA_SIGNS: Final = "=+-@\u2212"
_MOVING: Final = "\t\r\n"

STATE_COLUMNS: Final = (
    "file", "verdict", "commitment", "debtor", "creditor", "state", "since", "because", "remedy", "answerable", "notes",
    "due", "becomes", "if", "then",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Due:
    """An open promise, and what becomes of it if nobody says anything more.

    ``due`` is the last instant before it ``becomes`` something else by itself; both are ``None`` if time alone changes
    nothing. Only a detached promise is owed now; a conditional one that expires binds nobody.
    """

    source: str
    verdict: str
    commitment: str
    debtor: str
    creditor: str
    state: str
    due: Instant | None
    becomes: str | None

    def plain(self) -> dict[str, JSON]:
        """Return the row as JSON."""
        return {
            "file": self.source,
            "verdict": self.verdict or None,
            "commitment": self.commitment,
            "debtor": self.debtor,
            "creditor": self.creditor,
            "state": self.state,
            "due": None if self.due is None else show_instant(self.due),
            "becomes": self.becomes,
        }


def due_table(timelines: Sequence[Timeline], *, by_debtor: bool = False) -> list[Due]:
    """Return the open promises of all *timelines*, ordered by what is due next; with *by_debtor*, first by debtor.

    Promises without an end come last. Equal ones keep the order of the files and of declaration.
    """
    rows = [_due(timeline, name) for timeline in timelines for name in timeline.open()]
    rows.sort(key=lambda row: (row.due is None, row.due or 0))
    if by_debtor:
        rows.sort(key=lambda row: row.debtor)
    return rows


def _due(timeline: Timeline, name: str) -> Due:
    status, move = timeline.statuses[name], timeline.ahead().get(name)
    due, becomes = (None, None) if move is None else (move.since, move.after)
    return Due(timeline.source, timeline.verdict, name, status.debtor, status.creditor, status.state, due, becomes)


def state_rows(timelines: Sequence[Timeline]) -> list[tuple[Cell, ...]]:
    """Return a row of `STATE_COLUMNS` for every commitment and instance of *timelines*."""
    rows: list[tuple[Cell, ...]] = []
    for timeline in timelines:
        ahead = timeline.ahead()
        for name, status in timeline.statuses.items():
            move, terms = ahead.get(name), timeline.terms_of(name)
            rows.append(
                (
                    timeline.source,
                    timeline.verdict,
                    name,
                    status.debtor,
                    status.creditor,
                    status.state,
                    show(status.since),
                    status.because[0] if len(status.because) == 1 else "; ".join(map(str, status.because)),
                    status.remedy,
                    "; ".join(status.answerable),
                    "; ".join(status.notes),
                    "" if move is None else show(move.since),
                    "" if move is None else move.after,
                    terms.antecedent or "",
                    terms.consequent,
                )
            )
    return rows


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return *rows* as CSV (RFC 4180) under a line of *columns*: texts quoted and inert, numbers bare."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    for row in (columns, *rows):
        writer.writerow([neutral(cell) if isinstance(cell, str) else "" if cell is None else cell for cell in row])
    return out.getvalue()


def neutral(text: str) -> str:
    """Return *text*, marked if a spreadsheet would run it as a formula; wide forms count too."""
    seen = next((character for character in text if not _is_skipped(character)), "")
    risky = text[:1] in _MOVING if text else False
    if risky or (seen and unicodedata.normalize("NFKC", seen)[:1] in _FORMULA_SIGNS):
        return TEXT_MARK + text
    return text


def _is_skipped(character: str) -> bool:
    return character.isspace() or is_invisible(character)
