"""One member in one room: follow, ask its mind, check, sign, say."""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.errors import ClockApart
    from swarm.seat.seat import Seat

__all__ = [
    "ClockApart",
    "Seat",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "ClockApart": "swarm.errors",
        "Seat": "swarm.seat.seat",
    },
)
