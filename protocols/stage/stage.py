"""The one shape that all rules share.

A *stage* of a room (joining, Accord, Concord, closing) has a table that says which step follows which
(`protocols.stage.table`). The stage says who answers a step and what is asked of them, judges each answer, and works
out the result of a closing step; the room keeps the steps and their deadlines. What is the same for every sealed answer
(`protocols.stage.sealed`) is done here, for each round that a stage names in `Stage.rounds`.

An answer either changes the stage, or is refused and changes nothing. A refusal is raised as `Refused`, and the room
turns it into a finding that names author, kind, step, reason and what would be valid.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from protocols.core.event import Event
from protocols.core.findings import Finding, Refused
from protocols.duties.duties import Duty, RevealDuty
from protocols.stage.sealed import SealedRound
from protocols.stage.setting import Setting
from protocols.stage.steps import Plan, Step
from protocols.stage.table import DONE, ENDINGS, START, Table, Turn, name_of


@dataclass(frozen=True, slots=True)
class Ending:
    """How a room's agenda ends: its ``outcome`` (agreed, no_agreement, abandoned, open) and the ``reason``."""

    outcome: str
    reason: str | None = None


class Stage(ABC):
    """One item of a room's agenda; plain data, so that a room can be copied and compared.

    A subclass has a table of ``steps`` and says in `duty_at` what is asked. It overrides whatever else its steps need:
    `rounds` and `judge` for sealed rounds, `plan`, `take` and `vet` for other steps, and `start` and `turn` if a step
    can lead to several others.
    """

    steps: ClassVar[Table]
    setting: Setting

    # -- what a stage says ----------------------------------------------------------------------------------------

    def rounds(self) -> Sequence[SealedRound[Any]]:
        """Return the sealed rounds that may be under way. Everybody present is asked to seal."""
        return ()

    def start(self, present: Sequence[str]) -> Turn:
        """Return the turn with which the stage begins. *present* are the members that have not left."""
        return Turn()

    def turn(self, step: Step, present: Sequence[str]) -> Turn:
        """Work out the result of *step*, which has just closed."""
        return Turn()

    def plan(self, name: str, present: Sequence[str]) -> Plan:
        """Return the step, not of a sealed round, that is called *name* in the table: its kinds and those expected."""
        raise NotImplementedError(f"{type(self).__name__} has no step {name}")

    @abstractmethod
    def duty_at(self, step: Step, member: str) -> Duty:
        """Return what *member* is asked at *step*; *step* does not reveal a round."""

    def judge(
        self, round_: SealedRound[Any], member: str, content: dict[str, Any], position: int
    ) -> tuple[Any, list[Finding]]:
        """Return what *round_* keeps of *member*'s opened *content*, and what is noteworthy in it.

        *position* is that of the reveal, 0 before there is one. Raises `Refused`: then the content is void.
        """
        raise NotImplementedError(f"{type(self).__name__} has no sealed round {round_.prefix}")

    def take(self, step: Step, event: Event) -> list[Finding]:
        """Take one answer to *step*, which is not part of a sealed round, or raise `Refused` and change nothing."""
        return []

    def vet(self, step: Step, member: str, said: Any) -> None:
        """Raise `Refused` if the body *said* would be refused as *member*'s answer to *step*; change nothing."""
        return

    def is_decided(self, present: Sequence[str]) -> bool:
        """Tell whether the open step closes at once, even though members are still awaited."""
        return False

    # -- what the room asks ---------------------------------------------------------------------------------------

    def begin(self, present: Sequence[str]) -> Plan | Ending | None:
        """Return the first step, or None if there is nothing to ask."""
        return self._way_on(START, self.start(present), None, present)

    def close(self, step: Step, present: Sequence[str]) -> tuple[Plan | Ending | None, list[Finding]]:
        """Close *step*; return the next one (None: the stage is done; an `Ending`: so is the agenda)."""
        round_ = self.round_at(step.id)
        findings = round_.unopened(step) if round_ is not None and step.id == round_.reveal_step else []
        turn = self.turn(step, present)
        return self._way_on(name_of(step.id), turn, step, present), findings + turn.findings

    def _way_on(self, name: str, turn: Turn, step: Step | None, present: Sequence[str]) -> Plan | Ending | None:
        target = self.steps[name][turn.name]
        if target == DONE:
            return None
        if target in ENDINGS:
            return Ending(target, turn.reason)
        for round_ in self.rounds():
            if target == name_of(round_.seal_step):
                return round_.plan_seal(present)
            if target == name_of(round_.reveal_step) and step is not None:
                return round_.plan_reveal(step, present)
        return self.plan(target, present)

    def answer(self, step: Step, event: Event) -> list[Finding]:
        """Take one answer to the open *step*, or raise `Refused` and change nothing."""
        round_ = self.round_at(step.id)
        if round_ is None:
            return self.take(step, event)
        found: list[Finding] = []

        def judge(member: str, content: dict[str, Any]) -> Any:
            kept, notes = self.judge(round_, member, content, event.position)
            found.extend(notes)
            return kept

        return round_.take(self.setting, event, judge) + found

    def check(self, step: Step, member: str, said: Any) -> None:
        """Raise `Refused` if *said* would be void or refused as *member*'s answer to *step*; change nothing.

        *said* is the content if the step seals, otherwise the body. Everything that a peer signs has passed this check.
        """
        round_ = self.round_at(step.id)
        if round_ is None:
            self.vet(step, member, said)
        elif step.id == round_.seal_step:
            self.judge(round_, member, said, 0)

    def duty(self, step: Step, member: str) -> Duty:
        """Return what *member* has to do: it is expected at the open *step* and has not answered."""
        round_ = self.round_at(step.id)
        if round_ is None or step.id == round_.seal_step:
            return self.duty_at(step, member)
        return RevealDuty(
            member=member,
            step=step.id,
            deadline=step.deadline,
            sealed_step=round_.seal_step,
            digest=round_.seals[member],
            box=round_.boxes[member],
        )

    def round_at(self, step: str) -> SealedRound[Any] | None:
        """Return the sealed round that the step with the id *step* is of, if it is one's."""
        return next((r for r in self.rounds() if step in (r.seal_step, r.reveal_step)), None)

    def is_void(self, step: Step, member: str) -> bool:
        """Tell whether what *member* revealed at *step* is void: then nothing in it counts."""
        round_ = self.round_at(step.id)
        return round_ is not None and step.id == round_.reveal_step and member in round_.void


__all__ = ["Ending", "Refused", "Stage"]
