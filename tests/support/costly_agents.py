"""Minds that take something: each answer costs a call, and some of them do what a budget or a loop must stop."""

from typing import Any

from agents.agent import Agent, Costed, NoAnswer, Performed, Proposed, Ratified, Scored, Watch
from protocols.duties.duties import ImproveDuty, PerformDuty, ProposeDuty, RatifyDuty, ScoreDuty
from protocols.messages.commitments import ConfirmReport, ReportEvent
from protocols.messages.concord import Option

ASKED: list[tuple[str, str, Any]] = []
"""Who was asked what, with what was left for it."""


class Costly(Agent):
    """Agrees to everything, at one call and ten tokens an answer."""

    kind = "costly"

    def _cost(self, duty: Any, answer: Any) -> Costed:
        ASKED.append((duty.member, duty.act, duty.left))
        return Costed(answer, calls=1, tokens_in=8, tokens_out=2, seconds="0.25", model="costly-1")

    async def propose(self, duty: ProposeDuty) -> Any:
        option = Option(title=f"{duty.member}'s", offer={"day": "mon" if duty.member < "b" else "tue"})
        return self._cost(duty, Proposed(option))

    async def score(self, duty: ScoreDuty) -> Any:
        return self._cost(duty, Scored({asked.id: 70 for asked in duty.options}))

    async def improve(self, duty: ImproveDuty) -> Any:
        return self._cost(duty, None)

    async def ratify(self, duty: RatifyDuty) -> Any:
        return self._cost(duty, Ratified(True))


class Refusing(Costly):
    """Refuses to propose, which takes a call too."""

    async def propose(self, duty: ProposeDuty) -> Any:
        raise NoAnswer("against my policy", {"calls": 1, "tokens_in": 5})


class Stubborn(Costly):
    """Says the same in vain whenever it is asked about promises: an event that is not its to report."""

    async def perform(self, duty: PerformDuty, watch: Watch) -> Any:
        ASKED.append((duty.member, duty.act, None))
        return Performed([ReportEvent(event="signed")], again_in=100_000)


class Polling(Costly):
    """Asks to be asked again and says nothing, many times; then what it waited for is there."""

    def __init__(self, times: int = 12) -> None:
        self.times = times

    async def perform(self, duty: PerformDuty, watch: Watch) -> Any:
        ASKED.append((duty.member, duty.act, None))
        self.times -= 1
        if self.times > 0:
            return Performed(again_in=100_000)
        said = [] if duty.done else [ReportEvent(event="signed")]
        return Performed([*said, *(ConfirmReport(report=r.id) for r in duty.awaiting)])
