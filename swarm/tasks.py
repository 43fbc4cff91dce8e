"""Ending tasks for sure."""

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_S = 1.0
"""How long after a cancellation that had no effect the next one comes: one may get lost in what a task awaits."""
MOST_TRIES = 10


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel *tasks* until they have ended. What they raise is retrieved, and is of no more interest.

    A task that goes on regardless is left behind after a while, so that it keeps nobody from ending.
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
