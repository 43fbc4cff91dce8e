"""The process's own clock: it dates what is sent and decides when to look. No rule ever reads it."""

from time import time_ns

from protocols.core.instants import Instant


def utc_now() -> Instant:
    """Return the machine's clock in microseconds since 1970."""
    return Instant(time_ns() // 1000)


def earlier(a: Instant | None, b: Instant | None) -> Instant | None:
    """Return the earlier of two instants; None means never."""
    return b if a is None else a if b is None else min(a, b)
