"""Coming together: everyone signs the opening, then the debtors of its promises make them.

Leaving before everyone has joined counts as declining; either ends the wait at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.core.names import Apart
from protocols.duties.duties import Duty, JoinDuty, PromiseDuty
from protocols.messages.commitments import CommitmentTerms, CreateCommitment
from protocols.messages.room import TASK, Decline, Join, Manifest, most_terms
from protocols.stage.setting import Setting
from protocols.stage.stage import Refused, Stage
from protocols.stage.steps import Plan, Step
from protocols.stage.table import ABANDONED, CLOSED, DONE, START, Table, Turn

JOINING, PROMISING = "room.joining", "room.promising"

ALL_JOINED = "all have joined"
REFUSED = "somebody declined, left, or is missing at the deadline"
OWED = "somebody owes promises of the opening"
NOTHING_OWED = "nobody does"

JOINING_TABLE: Table = {
    START: {CLOSED: JOINING},
    JOINING: {ALL_JOINED: DONE, REFUSED: ABANDONED},
}
PROMISING_TABLE: Table = {
    START: {OWED: PROMISING, NOTHING_OWED: DONE},
    PROMISING: {CLOSED: DONE},
}


@dataclass(slots=True)
class Joining(Stage):
    """Who has signed the opening, what it says it is, and which terms it adds."""

    steps = JOINING_TABLE

    setting: Setting
    manifests: dict[str, Manifest] = field(default_factory=dict)
    declined: dict[str, str] = field(default_factory=dict)
    nominated: dict[str, list[str]] = field(default_factory=dict)

    def plan(self, name: str, present: Sequence[str]) -> Plan:
        """Wait for everyone on the roster."""
        return Plan(JOINING, ("room.join", "room.decline"), self.setting.members)

    def take(self, step: Step, event: Event) -> list[Finding]:
        """Take a signature or a no."""
        body = event.body
        if isinstance(body, Decline):
            self.declined[event.author] = body.because
            return [Finding("declined", event.position, event.author, f"declines the opening: {body.because}")]
        assert isinstance(body, Join)
        if body.opening != self.setting.opening_id:
            raise Refused("wrong_opening", f"the opening of this room is {self.setting.opening_id}")
        self.manifests[event.author] = body.manifest
        self.nominated[event.author] = list(body.nominates)
        return []

    def is_decided(self, present: Sequence[str]) -> bool:
        """Tell whether somebody has declined or left: waiting for the others is then pointless."""
        # docs/protocol/rooms.md, "Joining": "A member that declines or leaves closes the step at once".
        return bool(self.declined) or len(present) < len(self.setting.members)

    def turn(self, step: Step, present: Sequence[str]) -> Turn:
        """Start the agenda if everyone has joined; otherwise abandon the room and say who was missing."""
        declined = [m for m in self.setting.members if m in self.declined or m not in present]
        if declined:
            return Turn(REFUSED, reason=f"declined: {', '.join(declined)}")
        missing = [m for m in self.setting.members if m not in self.manifests]
        if missing:
            return Turn(REFUSED, reason=f"missing: {', '.join(missing)}")
        kept, alike = self._terms()
        left_out = []
        for member in self.setting.members:
            for term in self.nominated[member]:
                if term in alike:
                    text = f"{term!a} is nominated and looks like {alike[term]!a}"
                    left_out.append(Finding("lookalike", step.closed or 0, member, text))
                elif term not in kept:
                    text = f"{term!r} is nominated beyond {most_terms(len(self.setting.members))} terms"
                    left_out.append(Finding("too_many_terms", step.closed or 0, member, text))
        return Turn(ALL_JOINED, left_out)

    def terms(self) -> list[str]:
        """Return the room's terms: the intent, those of the opening, then those nominated, in roster order."""
        return self._terms()[0]

    def _terms(self) -> tuple[list[str], dict[str, str]]:
        """Return the room's terms, and those that are left out because they look like one of them, with that one."""
        nominated = [term for member in self.setting.members for term in self.nominated.get(member, ())]
        kept: list[str] = []
        alike: dict[str, str] = {}
        apart, most = Apart(), most_terms(len(self.setting.members))
        for term in dict.fromkeys([TASK, *self.setting.opening.terms, *nominated]):
            other = apart.like(term)
            if other is not None:
                alike[term] = other
            elif len(kept) < most:
                apart.add(term)
                kept.append(term)
        return kept, alike

    def duty_at(self, step: Step, member: str) -> Duty:
        """Ask for the signature."""
        return JoinDuty(member=member, step=step.id, deadline=step.deadline, opening=self.setting.opening_id)


@dataclass(slots=True)
class Promising(Stage):
    """The promises that the opening lists, each made by its debtor; a promise that is not made does not exist."""

    steps = PROMISING_TABLE

    setting: Setting

    def _owed(self, member: str) -> list[CommitmentTerms]:
        return [terms for terms in self.setting.opening.promises if terms.debtor == member]

    def start(self, present: Sequence[str]) -> Turn:
        """Begin only if somebody present owes a promise."""
        return Turn(OWED if any(self._owed(m) for m in present) else NOTHING_OWED)

    def plan(self, name: str, present: Sequence[str]) -> Plan:
        """Wait for the debtors."""
        return Plan(PROMISING, ("commitment.create",), tuple(m for m in present if self._owed(m)))

    def take(self, step: Step, event: Event) -> list[Finding]:
        """Take the debtor's creation of exactly the listed promises; the tracker judges the rest."""
        assert isinstance(event.body, CreateCommitment)
        if event.body.commitments != self._owed(event.author):
            raise Refused("wrong_promise", "a debtor creates its promises as the opening lists them, in one entry")
        return []

    def duty_at(self, step: Step, member: str) -> Duty:
        """Ask the debtor for its promises."""
        return PromiseDuty(member=member, step=step.id, deadline=step.deadline, commitments=self._owed(member))
