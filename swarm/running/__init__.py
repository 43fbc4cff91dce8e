"""`swarm run`: a broker, a process for each member, and the result."""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.running.result import RunResult
    from swarm.running.running import run

__all__ = [
    "RunResult",
    "run",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "RunResult": "swarm.running.result",
        "run": "swarm.running.running",
    },
)
