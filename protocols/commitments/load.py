"""What one record may cost to fold: bounds on the work that a room's commitments can cause, checked in advance.

Whatever is said next, each commitment is judged at most once for each of its ends and counted things, and each time it
looks at all of them: the square of its size. A commitment with ``each`` does this for every value that reports have
named, and one that waits for the state of another does it for every instance of the other. These products are bounded.
Whatever would bring a room beyond a bound is refused, so that no record costs an honest member the time in which it
owes an answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

from protocols.commitments.conditions import ConditionError
from protocols.commitments.programs import Program

MOST_INSTANCES: Final = 10_000
"""How many instances the commitments of a room may have in total."""
MOST_COMMITMENTS: Final = 2_000
"""How many commitments a room may have."""
MOST_OWED: Final = 500
"""How many commitments one member may have made in a room."""
MOST_WORK: Final = 500_000
"""How often the things that commitments count may be looked at because of one record."""
MOST_RECALLED: Final = 200_000
"""How often past facts may have to be counted for commitments that are made later."""


def weight(program: Program) -> int:
    """Return how often a commitment may look at what it counts because of one record: the square of its size."""
    size = len(program.leaves) + len(program.clocks) + sum(len(leaf.ends) for leaf in program.leaves)
    return size * size


@dataclass(slots=True)
class Load:
    """The load of one room.

    ``values`` are those that reports have named, by the attribute that some commitment has as its ``each``; ``opens``
    maps events to these attributes. ``weights`` and ``counts`` are those of the commitments with the same ``each`` (or
    none); ``waits`` are the weights of commitments that wait for a state of others, by the ``each`` of both.
    """

    most_instances: int = MOST_INSTANCES
    values: dict[str, set[str]] = field(default_factory=dict)
    opens: dict[str, set[str]] = field(default_factory=dict)
    eaches: dict[str, str | None] = field(default_factory=dict)
    owed: Counter[str] = field(default_factory=Counter)
    weights: Counter[str | None] = field(default_factory=Counter)
    counts: Counter[str | None] = field(default_factory=Counter)
    waits: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)

    def add(self, programs: Sequence[Program], values: Mapping[str, Iterable[str]]) -> None:
        """Count *programs*, which are made together; *values* are those that earlier reports have named for them."""
        for program in programs:
            self.eaches[program.id] = program.each
            self.owed[program.debtor] += 1
            self.counts[program.each] += 1
            self.weights[program.each] += weight(program)
            for event in program.events if program.each is not None else ():
                self.opens.setdefault(event, set()).add(program.each or "")
        for program in programs:
            for life in program.states:
                self.waits[self.eaches.get(life.commitment), program.each] += weight(program)
        for each, named in values.items():
            self.values.setdefault(each, set()).update(named)

    def check(self, programs: Sequence[Program], values: Mapping[str, Iterable[str]], recalled: int) -> None:
        """Raise `ConditionError` if *programs* would exceed a bound; *recalled* past facts count for them."""
        with_them = deepcopy(self)
        with_them.add(programs, values)
        problem = with_them._too_many() or with_them._problem()
        if problem is None and recalled > MOST_RECALLED:
            problem = "too much has been said already for these commitments to count it now"
        if problem is not None:
            raise ConditionError(problem)

    def report(self, event: str, attributes: Mapping[str, str]) -> str | None:
        """Count what a report of *event* may open; if that exceeds a bound, return which one, and count nothing."""
        new = [(each, attributes[each]) for each in self.opens.get(event, ()) if each in attributes]
        new = [(each, value) for each, value in new if value not in self.values.setdefault(each, set())]
        for each, value in new:
            self.values[each].add(value)
        problem = self._problem() if new else None
        if problem is not None:
            for each, value in new:
                self.values[each].discard(value)
        return problem

    def _too_many(self) -> str | None:
        if self.counts.total() > MOST_COMMITMENTS:
            return f"a room has at most {MOST_COMMITMENTS:,} commitments"
        if max(self.owed.values(), default=0) > MOST_OWED:
            return f"a member makes at most {MOST_OWED:,} commitments in a room"
        return None

    def _problem(self) -> str | None:
        if sum(count * self._of(each) for each, count in self.counts.items() if each) > self.most_instances:
            return f"the commitments of a room have at most {self.most_instances:,} instances"
        alone = sum(each_weight * self._of(each) for each, each_weight in self.weights.items())
        waiting = sum(
            each_weight * self._of(own) * (1 if source == own else self._of(source))
            for (source, own), each_weight in self.waits.items()
        )
        return None if alone + waiting <= MOST_WORK else "the commitments of this room would take too long to judge"

    def _of(self, each: str | None) -> int:
        return 1 if each is None else max(1, len(self.values.get(each, ())))
