"""The instants at which something changes without a new act, earliest first."""

from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from protocols.commitments.instances import Instance
from protocols.core.instants import Instant


class Kind(IntEnum):
    """What a deadline is about.

    Silence comes first, because a suspension that ends right after it is still in force.
    """

    SILENCE = 0
    INSTANCE = 1


SILENCE: Final = Kind.SILENCE
INSTANCE: Final = Kind.INSTANCE


class Deadline(NamedTuple):
    """The last instant before the change, what the change is about, and the number of its report or instance."""

    last: Instant
    kind: Kind
    number: int


_FEW: Final = 1_024


@dataclass(slots=True)
class Deadlines:
    """A heap of deadlines. A deadline is stale once its report is answered or its instance has a different ``due``."""

    instances: list[Instance]
    heap: list[Deadline] = field(default_factory=list)
    silences: set[int] = field(default_factory=set)
    _crowded: int = _FEW

    def push(self, deadline: Deadline) -> None:
        """Add a deadline."""
        heappush(self.heap, deadline)
        if len(self.heap) > self._crowded:
            # Stale deadlines would otherwise stay until their time comes; memory must follow what is open.
            self.heap[:] = [deadline for deadline in self.heap if self._is_live(deadline)]
            heapify(self.heap)
            self._crowded = 2 * len(self.heap) + _FEW

    def drop_stale(self) -> None:
        """Drop stale deadlines until the earliest one still matters."""
        while self.heap and not self._is_live(self.heap[0]):
            heappop(self.heap)

    def _is_live(self, deadline: Deadline) -> bool:
        last, kind, number = deadline
        return number in self.silences if kind is SILENCE else self.instances[number].due == last
