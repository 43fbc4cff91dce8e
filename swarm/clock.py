"""The process's own clocks. They date what is sent and decide when to look; no rule ever reads them.

Time comes from the running event loop. Sleeps and timeouts follow `loop.time()` by asyncio's own contract, so time that
passes is measured by the same clock (`elapsed_s`). A loop may bring a wall clock too (`Clock`). A loop with a time
of its own therefore moves all that happens on it: an hour of a room passes in milliseconds.
"""

from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, get_running_loop
from time import monotonic, time_ns

from protocols.core.instants import Instant


class Clock(ABC):
    """What an event loop is as well if it tells the date; the time that passes it tells by asyncio's contract."""

    @abstractmethod
    def time(self) -> float:
        """Return the seconds since some moment in the past; they never go back."""

    @abstractmethod
    def utc_now(self) -> Instant:
        """Return the date, in microseconds since 1970; it may jump."""


def utc_now() -> Instant:
    """Return the date in microseconds since 1970: the running loop's if that is a `Clock`, otherwise the machine's."""
    loop = _loop()
    return loop.utc_now() if isinstance(loop, Clock) else Instant(time_ns() // 1000)


def elapsed_s() -> float:
    """Return the seconds since some moment in the past: by the running loop's clock, otherwise by the machine's."""
    loop = _loop()
    return monotonic() if loop is None else loop.time()


def _loop() -> AbstractEventLoop | None:
    try:
        return get_running_loop()
    except RuntimeError:
        return None


def earlier(a: Instant | None, b: Instant | None) -> Instant | None:
    """Return the earlier of two instants; None means never."""
    return b if a is None else a if b is None else min(a, b)
