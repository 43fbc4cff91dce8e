"""Stable codes for everything noteworthy, each with its severity and its meaning.

A finding is a recorded fact with a name and a place in the log; it is never a verdict on a member's motives.
"""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How a reader should weigh a finding."""

    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One noteworthy fact: what (``code``), where in the log (``position``), by whom, in words.

    ``position`` is 0 where no record caused it, ``who`` empty where nobody did.
    """

    code: str
    position: int
    who: str
    text: str

    @property
    def severity(self) -> Severity:
        """The severity that the table gives the code."""
        return CODES[self.code][0]


N, W, F = Severity.NOTE, Severity.WARNING, Severity.FAULT

CODES: dict[str, tuple[Severity, str]] = {}
