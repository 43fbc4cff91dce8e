"""Ending tasks reliably, and an event loop for callers that have none."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN_S = 1.0
"""How long to wait before cancelling a task again: a cancellation can get lost in what the task awaits."""
MOST_TRIES = 10


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel *tasks* until they have ended. Their exceptions are retrieved and ignored.

    A task that does not end is left behind after a while, so that it holds up nobody.
    """
    tasks = list(tasks)
    waiting = {task for task in tasks if not task.done()}
    for _ in range(MOST_TRIES):
        if not waiting:
            break
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=AGAIN_S)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()


def alone(work: Callable[[], Coroutine[Any, Any, T]], twin: str) -> T:
    """Run *work* in an event loop of its own; *twin* names what to await if one is already running.

    Raises `RuntimeError` in that case, before anything has begun.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    raise RuntimeError(f"an event loop is running here already: await swarm.{twin}(…) instead")
