"""Time that does not pass by itself: whoever waits for minutes is done in milliseconds, every time alike.

The event loops of a test share one time (`Time`). It moves on only when all of them wait and none has anything to do:
then to the next moment for which one of them waits. Minds in threads of their own are counted too: as long as such a
thread is at work, time stands still. What waits for a process, or blocks its thread, needs real time.
"""

import asyncio
import selectors
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from protocols.core.instants import Instant
from swarm.clock import Clock

NOON = Instant(1_796_040_000_000_000)
SECOND = 1_000_000
LONGEST_S = 3600.0
LOOK_S = 0.001
"""How often a loop that waits looks whether another thread has something for it, in real time."""
NEVER_S = 20.0
"""After this real time in which everybody waits for ever, the test fails."""
IDLE = ("concurrent", "futures", "thread.py")
"""Where a thread of a pool stands that has nothing to do."""


class Time:
    """One time for all loops made by `loop`."""

    def __init__(self, start: Instant = NOON) -> None:
        self.start = start
        self.passed_s = 0.0
        self._changed = threading.Condition()
        self._waiting: dict[_Selector, float | None] = {}
        """The loops that wait, each until when; None is for ever."""
        self._looked: set[_Selector] = set()
        """Those of them that have found nothing to do since somebody last did something."""
        self._loops: dict[_Selector, int | None] = {}
        """The loops that are open, each with its thread's number once it has run."""
        self._others = {thread.ident for thread in threading.enumerate()}
        """Threads that were there before, and are no part of what happens in this time."""

    def loop(self) -> asyncio.AbstractEventLoop:
        """Make a loop that lives in this time."""
        return _Loop(self)

    def opened(self, selector: "_Selector") -> None:
        """Take note of the loop of *selector*."""
        with self._changed:
            self._loops[selector] = None

    def closed(self, selector: "_Selector") -> None:
        """Forget the loop of *selector*."""
        with self._changed:
            self._loops.pop(selector, None)
            self._waiting.pop(selector, None)

    def awakes(self, selector: "_Selector") -> None:
        """Take note that *selector*'s loop has something to do."""
        with self._changed:
            self._loops[selector] = threading.get_ident()
            self._waiting.pop(selector, None)
            self._looked.clear()

    def waits(self, selector: "_Selector", until_s: float | None) -> bool:
        """Take note that *selector*'s loop has found nothing to do; return whether its time has come."""
        with self._changed:
            if until_s is not None and self.passed_s >= until_s:
                return True
            self._loops[selector] = threading.get_ident()
            if selector not in self._waiting:
                self._waiting[selector] = until_s
                self._looked.clear()
            self._looked.add(selector)
            if self._looked >= self._loops.keys() and not self._at_work():
                moments = [moment for moment in self._waiting.values() if moment is not None]
                if moments:
                    self.passed_s = max(self.passed_s, min(moments))
                    self._looked.clear()
            return until_s is not None and self.passed_s >= until_s

    def alone(self, selector: "_Selector") -> bool:
        """Tell whether nobody but *selector*'s loop can make anything happen."""
        with self._changed:
            return self._loops.keys() <= {selector} and not self._at_work()

    def _at_work(self) -> bool:
        """Tell whether a thread that is no loop's is doing something."""
        loops = {*self._loops.values(), threading.main_thread().ident}
        frames = sys._current_frames()
        for thread in threading.enumerate():
            if thread.ident is None or thread.ident in loops or thread.ident in self._others:
                continue
            frame = frames.get(thread.ident)
            if frame is None or Path(frame.f_code.co_filename).parts[-3:] != IDLE:
                return True
        return False


class _Selector(selectors.DefaultSelector):
    """Never waits for time to pass: where it would, it lets the time of all loops move on."""

    def __init__(self, moving: Time) -> None:
        super().__init__()
        self.moving = moving
        moving.opened(self)

    def select(self, timeout: float | None = None) -> Any:
        until_s = None if timeout is None else self.moving.passed_s + max(0.0, timeout)
        began = time.monotonic()
        found = super().select(0)
        if not found and (timeout is None or timeout > 0):
            while not self.moving.waits(self, until_s):
                found = super().select(0 if until_s is not None and self.moving.alone(self) else LOOK_S)
                if found:
                    break
                assert until_s is not None or time.monotonic() - began < NEVER_S or not self.moving.alone(self), (
                    "everybody waits, and nothing is to come"
                )
        self.moving.awakes(self)
        return found

    def close(self) -> None:
        self.moving.closed(self)
        super().close()


class _Loop(asyncio.SelectorEventLoop, Clock):
    def __init__(self, moving: Time) -> None:
        self.moving = moving
        super().__init__(_Selector(moving))

    def time(self) -> float:
        return self.moving.passed_s

    def utc_now(self) -> Instant:
        return Instant(self.moving.start + int(self.moving.passed_s * SECOND))


class _Policy(asyncio.DefaultEventLoopPolicy):
    def __init__(self, moving: Time) -> None:
        super().__init__()
        self._moving = moving

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return self._moving.loop()


def now() -> Instant:
    """Return the date of everybody who is honest."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Clock)
    return loop.utc_now()


def without_waiting(work: Coroutine[Any, Any, Any]) -> Any:
    """Run *work* to its end; an hour of its own time is more than any of it takes."""

    async def bounded() -> Any:
        async with asyncio.timeout(LONGEST_S):
            return await work

    with asyncio.Runner(loop_factory=Time().loop) as runner:
        return runner.run(bounded())


@contextmanager
def virtual_time() -> Iterator[Time]:
    """Let all loops that are made within live in one time that does not pass by itself."""
    moving, before = Time(), asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(_Policy(moving))
    try:
        yield moving
    finally:
        asyncio.set_event_loop_policy(before)
