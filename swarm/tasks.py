"""Concurrent work: in groups that end together, and an event loop for callers that have none.

Cancellation in these groups is anyio's: it persists until the work has ended, so it cannot get lost in what a task
awaits.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

T = TypeVar("T")

AGAIN_S = 1.0
"""How long to wait before cancelling a task again: a cancellation can get lost in what the task awaits."""
MOST_TRIES = 10


@asynccontextmanager
async def together() -> AsyncIterator[TaskGroup]:
    """Yield a group of tasks; it ends when all have ended, and the first failure ends the others and is raised."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as several:
        raise _first(several) from None


async def until_first(*works: Callable[[], Awaitable[object]]) -> None:
    """Run all *works* concurrently until one of them ends, then cancel the others; raise what it raised."""
    async with together() as group:

        async def one(work: Callable[[], Awaitable[object]]) -> None:
            await work()
            group.cancel_scope.cancel()

        for work in works:
            group.start_soon(one, work)


async def unless(event: asyncio.Event, work: Callable[[], Awaitable[T]], *, grace_s: float = 0.0) -> T | None:
    """Return the result of *work*; None if *event* is set and *work* does not end within *grace_s* seconds."""
    result: T | None = None
    async with together() as group:

        async def stop() -> None:
            await event.wait()
            await asyncio.sleep(grace_s)
            group.cancel_scope.cancel()

        group.start_soon(stop)
        result = await work()
        group.cancel_scope.cancel()
    return result


class Started(Generic[T]):
    """Work that was started in a group by `start`, for whoever started it to look at."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._value: T | None = None
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether the work has ended, however it did."""
        return self.ended.is_set()

    def cancel(self) -> None:
        """End the work; nobody asks for its result then."""
        self._scope.cancel()

    def result(self) -> T:
        """Return what the ended work came to, or raise what it raised."""
        assert self.done, "the work has not ended"
        if self._error is not None:
            raise self._error
        return cast(T, self._value)

    async def _run(self, work: Callable[[], Awaitable[T]], then: Callable[[], None]) -> None:
        try:
            with self._scope:
                self._value = await work()
        except Exception as error:
            self._error = error
        finally:
            self.ended.set()
            then()


def start(group: TaskGroup, work: Callable[[], Awaitable[T]], then: Callable[[], None]) -> Started[T]:
    """Start *work* in *group*, and call *then* when it ends. What it raises is kept for `Started.result`."""
    started = Started[T]()
    group.start_soon(started._run, work, then)
    return started


@asynccontextmanager
async def whatever_happens(longest_s: float) -> AsyncIterator[None]:
    """Let the work in the block end even if its task is cancelled, for at most *longest_s* seconds."""
    with anyio.move_on_after(longest_s, shield=True):
        yield


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    first = several.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


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
