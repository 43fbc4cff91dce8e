"""The queue: who waits for whom, who is an equal of whom, and who waits in a ring.

Everything here follows from the plans that stand in the queue or have begun; nothing depends on when one looks. Sets of
plans are whole numbers with a bit a slot, of which there are as many as plans may be open: a room full of plans costs
some hundred operations on small numbers, not the square of the plans.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from protocols.actions.plans import Plan
from protocols.actions.states import QUEUED, State
from protocols.core.graphs import components


@dataclass(slots=True)
class _Weight:
    """What a plan weighs against others: where it acts, what is near, its kinds, and the kinds it excludes."""

    span: int
    near: int
    kinds: int
    pairs: int

    def meets(self, other: "_Weight") -> bool:
        return bool(self.near & other.span or self.pairs & other.kinds)


@dataclass(slots=True)
class Queue:
    """The open plans by slot, and which of them conflict."""

    first_come: bool
    plans: list[Plan | None] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)
    _weights: list[_Weight] = field(default_factory=list)
    _free: list[int] = field(default_factory=list)

    def enter(self, plan: Plan, span: int, near: int) -> None:
        """Give *plan* a slot; *span* and *near* are its resources, and all that is near any of them."""
        if self._free:
            plan.slot = self._free.pop()
        else:
            plan.slot = len(self.plans)
            self.plans.append(None)
            self.conflicts.append(0)
            self._weights.append(_Weight(0, 0, 0, 0))
        self.plans[plan.slot] = plan
        self.weigh(plan, span, near)

    def weigh(self, plan: Plan, span: int, near: int) -> None:
        """Say anew what *plan* weighs against others."""
        kinds = pairs = 0
        for step in plan.weighing():
            kinds |= step.kind.bit
            pairs |= step.kind.pairs
        self._forget(plan)
        weight = self._weights[plan.slot] = _Weight(span, near, kinds, pairs)
        bit = 1 << plan.slot
        for slot, other in enumerate(self.plans):
            if other is not None and other is not plan and weight.meets(self._weights[slot]):
                self.conflicts[plan.slot] |= 1 << slot
                self.conflicts[slot] |= bit

    def leave(self, plan: Plan) -> None:
        """Free the slot of *plan*."""
        self._forget(plan)
        self.plans[plan.slot] = None
        self._free.append(plan.slot)

    def _forget(self, plan: Plan) -> None:
        for other in self.members(self.conflicts[plan.slot]):
            self.conflicts[other.slot] &= ~(1 << plan.slot)
        self.conflicts[plan.slot] = 0

    def members(self, slots: int) -> Iterator[Plan]:
        """Yield the plans in a set of slots."""
        while slots:
            low = slots & -slots
            plan = self.plans[low.bit_length() - 1]
            assert plan is not None
            yield plan
            slots ^= low

    def taken_over(self, plan: Plan) -> list[Plan]:
        """Return the holds that end when *plan* begins: those of lower classes and other leads, in its way."""
        return [
            other
            for other in self.members(self.conflicts[plan.slot])
            if other.state is State.STANDING and other.rank > plan.rank and other.lead != plan.lead
        ]

    def higher_waits(self, plan: Plan) -> bool:
        """Return whether a plan of a higher class waits for *plan*."""
        bit = 1 << plan.slot
        return any(
            other.rank < plan.rank and other.waits & bit
            for other in self.members(self.conflicts[plan.slot])
            if _is_queued(other)
        )

    def waiting_for(self, plan: Plan) -> list[str]:
        """Return whom *plan* waits for, by name."""
        return sorted(other.id for other in self.members(plan.waits)) if _is_queued(plan) else []

    def sort_out(self) -> "Order":
        """Say for each plan in the queue what it waits for."""
        return Order(self)


def _is_queued(plan: Plan) -> bool:
    return plan.state in QUEUED or (plan.state is State.ASKED and plan.why == "equal")


class Order:
    """The queue in its order, with what each waits for (`Plan.waits`), who are equals, and the last plan of a ring."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        begun, standing = 0, 0
        by_rank: dict[int, int] = {}
        self._holds: dict[str, int] = {}
        queued = []
        for plan in queue.plans:
            if plan is None:
                continue
            bit = 1 << plan.slot
            if plan.state is State.STANDING:
                begun |= bit
                standing |= bit
                self._holds[plan.lead] = self._holds.get(plan.lead, 0) | bit
                by_rank[plan.rank] = by_rank.get(plan.rank, 0) | bit
            elif plan.begun:
                begun |= bit
            elif _is_queued(plan):
                queued.append(plan)
        self._begun, self._standing, self._standing_by_rank = begun, standing, by_rank
        self.plans = sorted(queued, key=lambda plan: (plan.rank, not plan.favoured, plan.position))
        self._find_waits()

    def _find_waits(self) -> None:
        self._free: dict[int, int] = {}
        conflicts, first_come = self._queue.conflicts, self._queue.first_come
        higher = before = waiting = favoured = 0
        rank: int | None = None
        leads: dict[str, int] = {}
        # The plans that wait for a standing hold of a lead, and so are not in its way.
        passive: dict[str, int] = {}
        lower = 0
        for plan in self.plans:
            bit = 1 << plan.slot
            if plan.rank != rank:
                higher, before, rank = higher | before, 0, plan.rank
                lower = _union(self._standing_by_rank, above=plan.rank)
            met = conflicts[plan.slot]
            if not met:
                waits = 0
            else:
                spared = self._standing & (lower | self._holds.get(plan.lead, 0))
                behind = before if first_come else before & (waiting | favoured | leads.get(plan.lead, 0))
                waits = met & (self._begun & ~spared | higher | behind) & ~passive.get(plan.lead, 0)
            plan.waits = waits
            if waits:
                waiting |= bit
                for lead, held in self._holds.items():
                    if waits & held:
                        passive[lead] = passive.get(lead, 0) | bit
            else:
                self._free[plan.rank] = self._free.get(plan.rank, 0) | bit
            before |= bit
            favoured |= bit if plan.favoured else 0
            leads[plan.lead] = leads.get(plan.lead, 0) | bit

    def last_in_ring(self) -> Plan | None:
        """Return the latest of the plans by which leads wait for each other's holds in a ring, or None."""
        edges: dict[str, list[str]] = {}
        waiting: list[tuple[Plan, str]] = []
        for plan in self.plans:
            for lead, held in self._holds.items():
                if plan.waits & held:
                    edges.setdefault(plan.lead, []).append(lead)
                    waiting.append((plan, lead))
        rings = [frozenset(part) for part in components(edges) if len(part) > 1]
        inside = [plan for plan, lead in waiting for ring in rings if plan.lead in ring and lead in ring]
        return max(inside, key=lambda plan: plan.position, default=None)

    def has_equal(self, plan: Plan) -> bool:
        """Return whether *plan* and an equal of another lead could both go, and exclude each other."""
        free = self._queue.conflicts[plan.slot] & self._free.get(plan.rank, 0)
        return any(other.lead != plan.lead for other in self._queue.members(free))


def _union(by_rank: dict[int, int], above: int) -> int:
    return sum(held for rank, held in by_rank.items() if rank > above)
