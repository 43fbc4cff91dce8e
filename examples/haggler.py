"""A mind written in Python: it concedes one step at a time, and never goes below its limit.

swarm run examples/haggling.yaml
"""

from agents import Agent, ImproveDuty, Option, Proposed, ProposeDuty, Scored, ScoreDuty


class Haggler(Agent):
    """Wants one issue as low (or as high) as possible, and gives way one value at a time down to its limit."""

    kind = "haggler"

    def __init__(self, issue: str, limit: int, wants: str) -> None:
        self.issue = issue
        self.limit = limit
        self.lower = wants == "low"

    async def propose(self, duty: ProposeDuty) -> Proposed:
        """Open with the best value there is."""
        return Proposed(self.option(self.from_best_on(duty)[0]), reserve=50)

    async def score(self, duty: ScoreDuty) -> Scored:
        """Give 100 to its best value, 50 at the limit, and nothing beyond it."""
        return Scored({asked.id: self.points(asked.option) for asked in duty.options})

    async def improve(self, duty: ImproveDuty) -> Option | None:
        """Offer the next value within the limit that nobody has offered; then pass."""
        offered = {asked.option.offer[self.issue] for asked in duty.options}
        for value in self.from_best_on(duty):
            if value not in offered and self.points(self.option(value)) >= 50:
                return self.option(value)
        return None

    def from_best_on(self, duty: ProposeDuty | ImproveDuty) -> list[int]:
        values = [int(value) for value in duty.issues[self.issue].values]
        self.best = min(values) if self.lower else max(values)
        return sorted(values, reverse=not self.lower)

    def points(self, option: Option) -> int:
        from_limit = abs(int(option.offer[self.issue]) - self.limit)
        beyond = (int(option.offer[self.issue]) > self.limit) == self.lower and from_limit > 0
        return 0 if beyond else 50 + 50 * from_limit // max(1, abs(self.best - self.limit))

    def option(self, value: int) -> Option:
        return Option(title=f"{self.issue} {value}", offer={self.issue: value})
