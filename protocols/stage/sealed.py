"""The two steps of a sealed answer.

::

    PREFIX.seal ──(all sealed, or deadline)──▶ PREFIX.reveal ──(all opened, or deadline)──▶ what the stage says

Each expected member first appends a seal; only those whose seal counts are expected to reveal. A reveal that matches
its seal is final: content that breaks the model or the rules is void, with a code. One that does not match is refused
and the true one may still follow. A seal never opened is a finding and an absence, never a value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from protocols.core.event import Event
from protocols.core.findings import Finding, Refused
from protocols.messages.room import Reveal, Seal, seal_digest
from protocols.stage.setting import Setting
from protocols.stage.steps import Plan, Step
from protocols.stage.table import reveal_of, seal_of

C = TypeVar("C")

Judge = Callable[[str, dict[str, Any]], C]
"""Turns a member's opened content into what the stage keeps, or raises `Refused` if the content is void."""


@dataclass(slots=True)
class SealedRound(Generic[C]):
    """The seals and opened contents of one sealed answer, by member."""

    prefix: str
    seals: dict[str, str] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)
    nonces: dict[str, str] = field(default_factory=dict)
    contents: dict[str, C] = field(default_factory=dict)
    void: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """Why a member has no content: ``silent``, ``excused``, ``left`` or ``seal_not_opened``."""

    @property
    def seal_step(self) -> str:
        """The id of the sealing step, which every digest names."""
        return seal_of(self.prefix)

    @property
    def reveal_step(self) -> str:
        """The id of the revealing step."""
        return reveal_of(self.prefix)

    def plan_seal(self, expected: Sequence[str]) -> Plan:
        """Return the sealing step for those *expected*."""
        return Plan(self.seal_step, ("seal",), tuple(expected))

    def plan_reveal(self, step: Step, present: Sequence[str]) -> Plan:
        """Close the sealing *step* and return the revealing one, which expects those present whose seal counts."""
        for member in step.expected:
            if member not in self.seals:
                gone = "left" if member not in present else "silent"
                self.absent[member] = "excused" if member in step.excused else gone
        return Plan(self.reveal_step, ("reveal",), tuple(m for m in present if m in self.seals))

    def take(self, setting: Setting, event: Event, judge: Judge[C]) -> list[Finding]:
        """Take a seal or a reveal, or raise `Refused`."""
        author, body = event.author, event.body
        if isinstance(body, Seal):
            self.seals[author] = body.digest
            self.boxes[author] = body.box
            return []
        assert isinstance(body, Reveal)
        try:
            said = seal_digest(setting.room, setting.keys[author], self.seal_step, body.nonce, body.content)
        except ValueError as error:
            raise Refused("reveal_mismatch", str(error)) from None
        # docs/protocol/rooms.md, "Sealing": such a reveal is refused, and "the true one may follow".
        if said != self.seals[author]:
            raise Refused("reveal_mismatch", "the content and nonce do not give the sealed digest")
        # "A reveal that does is an answer, whatever it contains": content that breaks the rules is void, and final.
        self.nonces[author] = body.nonce
        try:
            self.contents[author] = judge(author, body.content)
        except Refused as refused:
            self.void[author] = refused.code
            return [Finding(refused.code, event.position, author, f"{self.prefix}: void: {refused.why}")]
        return []

    def unopened(self, step: Step) -> list[Finding]:
        """Return a finding for every seal that its author did not open before the revealing *step* closed."""
        closed = [member for member in self.seals if member not in self.nonces]
        self.absent.update(dict.fromkeys(closed, "seal_not_opened"))
        return [
            Finding("seal_not_opened", step.closed or 0, member, f"{member} sealed at {self.seal_step}, never opened")
            for member in closed
        ]

    def why_lacking(self, member: str) -> str | None:
        """Return why *member* has no content that counts, or None if it has; valid once the round is closed."""
        if member in self.contents:
            return None
        return self.void.get(member) or self.absent.get(member, "left")
