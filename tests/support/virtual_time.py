"""Time that does not pass by itself: a party that waits for minutes is over in milliseconds, every time alike."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

import pytest

NOON = 1_796_040_000_000_000
SECOND = 1_000_000
LONGEST_S = 3600.0


class _Impatient(selectors.DefaultSelector):
    """Never waits: where it would, its clock moves on by as much."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found:
            assert timeout is not None, "everybody waits, and nothing is to come"
            self.passed_s += timeout
        return found


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._moving = _Impatient()
        super().__init__(self._moving)

    def time(self) -> float:
        return self._moving.passed_s


def now() -> int:
    """The clock of everybody who is honest, in microseconds."""
    return NOON + int(asyncio.get_running_loop().time() * SECOND)


def without_waiting(work: Coroutine[Any, Any, Any]) -> Any:
    """Run *work* to its end; an hour of its own time is more than any of it takes."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, LONGEST_S)

    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=_Loop) as runner:
        patch.setattr("swarm.seat.speaker.monotonic", lambda: asyncio.get_running_loop().time())
        return runner.run(bounded())
