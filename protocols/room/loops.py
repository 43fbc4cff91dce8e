"""Loops: the same things said in the same order for the third time, with nothing new in between.

A cycle may have any length up to `LONGEST_CYCLE`: A-A-A has length 1, A-B-A-B-A-B has length 2. Anything that changes
is not a loop; neither is polling while work is under way: only what was *said* is a step of a cycle.

In a room, acts on one commitment are followed together with the state that they met, and a new fact (a report, a
confirmation) starts anew. The act that would complete a third round is refused, so that the round changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

LONGEST_CYCLE = 16
ROUNDS = 3


def cycle_closed(steps: Sequence[str], following: str) -> int | None:
    """Return the length of the cycle whose third round *following* would complete after *steps*, or None."""
    for length in range(1, LONGEST_CYCLE + 1):
        needed = ROUNDS * length - 1
        if len(steps) < needed:
            return None
        tail = [*steps[len(steps) - needed :], following]
        if tail[:length] == tail[length : 2 * length] == tail[2 * length :]:
            return length
    return None


@dataclass(slots=True)
class Exchange:
    """The last steps of one exchange, as many as the longest cycle needs."""

    steps: list[str] = field(default_factory=list)

    def closes(self, step: str) -> int | None:
        """Return the length of the cycle whose third round *step* would complete, or None. Asking changes nothing."""
        return cycle_closed(self.steps, step)

    def add(self, step: str) -> None:
        """Record that *step* was said."""
        self.steps.append(step)
        del self.steps[: -(ROUNDS * LONGEST_CYCLE)]

    def last(self, length: int) -> list[str]:
        """Return the last *length* steps."""
        return self.steps[-length:]
