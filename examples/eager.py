"""A mind that gives everything away, and the mandate that holds it: see mandate.yaml beside this file.

swarm run examples/mandate.yaml
"""

from agents import Agent
from agents.agent import Proposed, Scored
from protocols.duties.duties import ImproveDuty, ProposeDuty, ScoreDuty
from protocols.messages.concord import Option


class Eager(Agent):
    """Wants the deal at any price. Only where its peer sends an answer back does it keep to its standard offer.

    A language model that has read one flattering text too many is no different; this one needs no key to show it.
    """

    kind = "eager"

    def __init__(self, title: str, offer: dict[str, int | str], reserve: int) -> None:
        self.standard = Option(title=title, offer=offer)
        self.reserve = reserve

    async def propose(self, duty: ProposeDuty) -> Proposed:
        """Put up the last value of every issue, and ask for nothing in return."""
        if duty.problem is not None:
            return Proposed(self.standard, self.reserve)
        offer = {name: issue.values[-1] for name, issue in duty.issues.items()}
        return Proposed(Option(title="Everything you could wish for", offer=offer))

    async def score(self, duty: ScoreDuty) -> Scored:
        """Like whatever is on the table."""
        otherwise = 100 if duty.problem is None else 0
        return Scored({o.id: 100 if o.option.title == self.standard.title else otherwise for o in duty.options})

    async def improve(self, duty: ImproveDuty) -> Option | None:
        """Add to the standing option whatever can be added."""
        if duty.problem is not None:
            return None
        offer = {name: issue.values[-1] for name, issue in duty.issues.items()}
        return Option(title="And more on top", offer=offer)
