"""Steps: who answers, with what, and until when."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from protocols.core.instants import Instant, later, seconds_long


def is_late(deadline: Instant, at: Instant) -> bool:
    """Tell whether the log time *at* is past *deadline*.

    A deadline itself is in time; only this function decides that.
    """
    return at > deadline


@dataclass(frozen=True, slots=True)
class Plan:
    """A step that opens next: its id, the kinds of body that answer it, and the members expected.

    ``volunteers`` are kinds that any other member may say while the step is open; nobody waits for them. A step
    ``beyond_budget`` opens even if the room has used up its budget.
    """

    id: str
    kinds: tuple[str, ...]
    expected: tuple[str, ...]
    volunteers: tuple[str, ...] = ()
    beyond_budget: bool = False


@dataclass(slots=True)
class Step:
    """An open or closed step of a room.

    ``opened`` is the position of the record that opened it; answers count up to the log time ``deadline``, inclusive.
    ``answers`` maps each member to the position of its answer, ``excused`` maps those who excused themselves to the
    reason.
    """

    id: str
    kinds: tuple[str, ...]
    expected: tuple[str, ...]
    opened: int
    opened_at: Instant
    deadline: Instant
    volunteers: tuple[str, ...] = ()
    closed: int | None = None
    answers: dict[str, int] = field(default_factory=dict)
    excused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, plan: Plan, *, position: int, at: Instant, seconds: int) -> "Step":
        """Open *plan* at the record at *position*."""
        deadline = later(at, seconds_long(seconds))
        return cls(plan.id, plan.kinds, plan.expected, position, at, deadline, plan.volunteers)

    @property
    def seals(self) -> bool:
        """Whether answers to this step are sealed: their contents are opened at a later step."""
        return "seal" in self.kinds

    def awaited(self, present: Sequence[str]) -> list[str]:
        """Return the expected members that have neither answered, nor excused themselves, nor left."""
        return [m for m in self.expected if m not in self.answers and m not in self.excused and m in present]
