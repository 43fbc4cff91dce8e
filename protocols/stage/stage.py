"""The one shape that all rules share.

A *stage* of a room (joining, Accord, Concord, closing) says which step comes first, judges each answer to it, and
says which step follows when it closes. The room keeps the steps and their deadlines; the stage keeps the meaning.
An answer either changes the stage or is refused and changes nothing: a refusal is raised as `Refused`, and the room
turns it into a finding that names author, kind, step, reason and what would be valid.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.duties.duties import Duty
from protocols.stage.steps import Plan, Step


class Refused(Exception):
    """An event that the rules refuse: a stable ``code``, and ``why`` in words that say what is valid."""

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        self.why = why
        super().__init__(f"{code}: {why}")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a room's agenda ends: ``outcome`` (agreed, no_agreement, abandoned, open) and its ``reason``."""

    outcome: str
    reason: str | None = None


class Stage(ABC):
    """One item of a room's agenda; plain data, so that a room can be copied and compared."""

    @abstractmethod
    def begin(self, present: Sequence[str]) -> Plan | Ending | None:
        """Return the first step, or None if there is nothing to ask. *present* are the members who have not left."""

    @abstractmethod
    def answer(self, step: Step, event: Event) -> list[Finding]:
        """Take one answer to the open *step*, or raise `Refused` and change nothing."""

    @abstractmethod
    def close(self, step: Step, present: Sequence[str]) -> tuple[Plan | Ending | None, list[Finding]]:
        """Close *step*; return the next one (None: the stage is done; an `Ending`: so is the agenda)."""

    def is_decided(self, present: Sequence[str]) -> bool:
        """Tell whether the open step closes now, whoever is still awaited."""
        return False

    @abstractmethod
    def duty(self, step: Step, member: str) -> Duty:
        """Return what *member*, expected at the open *step* and yet to answer, is to do."""

    def check(self, step: Step, member: str, said: Any) -> None:
        """Raise `Refused` if *said* would be void or refused as *member*'s answer to *step*; change nothing.

        *said* is the content where the step seals, else the body. What a peer signs has passed this.
        """
        return
