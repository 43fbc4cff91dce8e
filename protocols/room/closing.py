"""Closing: every member signs, by one digest, how the agenda ended; then two sign to have seen all of that.

The promises are not part of the digest; they go on beside it and after it. Two witnesses are enough for a ledger that
anyone exports to be shown complete: the last signature is covered by a member other than the exporter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.duties.duties import CloseDuty, Duty, WitnessDuty
from protocols.messages.room import Close, Witness
from protocols.stage.stage import Stage
from protocols.stage.steps import Plan, Step
from protocols.stage.table import CLOSED, DONE, START, Table

CLOSING, WITNESSING = "room.closing", "room.witnessing"
WITNESSES = 2

TABLE: Table = {
    START: {CLOSED: CLOSING},
    CLOSING: {CLOSED: WITNESSING},
    WITNESSING: {CLOSED: DONE},
}


@dataclass(slots=True)
class Closing(Stage):
    """The digest of the result, what each member signed, and up to which position."""

    steps = TABLE

    digest: str
    signed: dict[str, str] = field(default_factory=dict)
    signed_up_to: int = 0

    def plan(self, name: str, present: Sequence[str]) -> Plan:
        """Wait for the signatures of everyone present, then for the first two to witness them."""
        if name == CLOSING:
            return Plan(CLOSING, ("room.close",), tuple(present))
        return Plan(WITNESSING, ("room.witness",), tuple(present[:WITNESSES]))

    def take(self, step: Step, event: Event) -> list[Finding]:
        """Take a signature; one under another digest is kept, and is a finding."""
        if isinstance(event.body, Witness):
            return []
        assert isinstance(event.body, Close)
        self.signed[event.author] = event.body.digest
        self.signed_up_to = event.position
        # docs/protocol/rooms.md, "The end": another digest "is `close_mismatch`, and still counts as an answer".
        if event.body.digest != self.digest:
            text = f"{event.author} closes with {event.body.digest}, the log gives {self.digest}"
            return [Finding("close_mismatch", event.position, event.author, text)]
        return []

    def duty_at(self, step: Step, member: str) -> Duty:
        """Ask for the signature."""
        if step.id == WITNESSING:
            return WitnessDuty(member=member, step=step.id, deadline=step.deadline)
        return CloseDuty(member=member, step=step.id, deadline=step.deadline, digest=self.digest)

    def matches(self, members: Sequence[str]) -> bool:
        """Tell whether every one of *members* signed the digest that the log gives."""
        return all(self.signed.get(member) == self.digest for member in members)
