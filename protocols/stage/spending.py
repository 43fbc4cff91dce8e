"""What the members of a room have used of its budgets, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from protocols.messages.budget import KEPT_FOR_SIGNING, Budget, Left, Used, decimal_seconds, limited, most_of


@dataclass(slots=True)
class Spending:
    """What the members of one room have used, and what is left of its budgets."""

    budget: Budget
    members: tuple[str, ...]
    room: Used = field(default_factory=Used)
    used: dict[str, Used] = field(default_factory=dict)
    coordinating: Used = field(default_factory=Used)
    """The part of the room's use that went into reaching its result; the rest went into acting on promises."""
    shares: dict[str, dict[str, int]] = field(default_factory=dict)
    """Amount → member → its share of what the room had left when shares were fixed."""
    before: dict[str, dict[str, int]] = field(default_factory=dict)
    """Amount → member → what it had used by then."""

    def record(self, member: str, cost: Mapping[str, Any], *, coordinating: bool) -> list[tuple[str, str]]:
        """Add what an entry of *member* declares.

        Return who has just exceeded which amount (the room has an empty name).
        """
        used = self.used.setdefault(member, Used())
        limits = [(member, self.budget.member, used), ("", self.budget.room, self.room)]
        before = {
            who: {name for name in limited(most) if used.amount(name) > most_of(most, name)}
            for who, most, used in limits
        }
        self.room.add(cost)
        used.add(cost)
        if coordinating:
            self.coordinating.add(cost)
        return [
            (who, name)
            for who, most, used in limits
            for name in limited(most)
            if used.amount(name) > most_of(most, name) and name not in before[who]
        ]

    def share_out(self, expected: Sequence[str]) -> None:
        """Fix how much each of those *expected* may use of what the room has left.

        Other members may use nothing of it.
        """
        for name in limited(self.budget.room):
            left = max(0, most_of(self.budget.room, name) - self.room.amount(name))
            share, more = divmod(left, max(1, len(expected)))
            self.shares[name] = {member: share + (place < more) for place, member in enumerate(expected)}
            self.before[name] = {member: self.used[member].amount(name) for member in expected if member in self.used}

    def left(self, member: str) -> Left:
        """Return what *member* may still use, with seconds as decimal text; never below 0."""
        lefts: dict[str, int] = {}
        used = self.used.get(member, Used())
        for name in limited(self.budget.member):
            lefts[name] = most_of(self.budget.member, name) - used.amount(name)
        for name in limited(self.budget.room):
            share = self.shares.get(name, {}).get(member, 0)
            mine = share - (used.amount(name) - self.before.get(name, {}).get(member, 0))
            lefts[name] = min(mine, lefts.get(name, mine))
        amounts: dict[str, Any] = {name: max(0, amount) for name, amount in lefts.items()}
        if "seconds" in amounts:
            amounts["seconds"] = decimal_seconds(amounts["seconds"])
        return Left(**amounts)

    def used_up(self) -> str | None:
        """Return the first amount of which the room has nothing left; None while it has some of each."""
        for name in limited(self.budget.room):
            if self.room.amount(name) >= most_of(self.budget.room, name):
                return name
        return None

    def pays_for_a_try(self, members: int) -> bool:
        """Tell whether the room has enough left for one more improvement, and to sign the result."""
        for name in limited(self.budget.room):
            most = most_of(self.budget.room, name)
            left = most - self.room.amount(name)
            if left * KEPT_FOR_SIGNING < most or (name == "calls" and left < 2 * members + 1):
                return False
        return True
