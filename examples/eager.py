"""A mind that gives everything away, for a mandate to bound: see mandate.yaml beside this file.

swarm run examples/mandate.yaml
"""

from agents import Agent, ImproveDuty, Option, Proposed, ProposeDuty, Scored, ScoreDuty


class Eager(Agent):
    """Wants the deal at any price. It keeps to its standard offer only when its peer sends an answer back.

    A language model that has read one flattering text too many is no different; this one needs no key to show it.
    """

    kind = "eager"

    def __init__(self, title: str, offer: dict[str, int | str], reserve: int) -> None:
        self.standard = Option(title=title, offer=offer)
        self.reserve = reserve

    async def propose(self, duty: ProposeDuty) -> Proposed:
        """Offer the last value of every issue, and ask for nothing in return."""
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
