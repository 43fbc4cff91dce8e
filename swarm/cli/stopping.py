"""Ending in order on a signal, and ending anyway if that would take too long."""

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_log = logging.getLogger(__name__)

ANSWER_S: Final = 1.5
"""How long this process may be busy with one thing once it has been told to end."""
LOOK_EVERY_S: Final = 0.1
EXIT_STOPPED: Final = 0


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Within the running loop, let SIGINT and SIGTERM call *stop*.

    From then on, if the loop does not come round for `ANSWER_S`, the process ends at once, with the code of a stop: it
    is folding something that takes too long. Nothing that is kept is lost, because what is signed is stored before it
    is sent.
    """
    loop = asyncio.get_running_loop()
    watching = threading.Event()

    def told(number: int, frame: FrameType | None) -> None:
        # Runs between two steps of the process's work, so that a long fold does not hold it up.
        loop.call_soon_threadsafe(stop)
        if not watching.is_set():
            watching.set()
            threading.Thread(target=_watch, args=(loop,), daemon=True).start()

    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # Not in the main thread, so signals are not ours.
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, told)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(loop: asyncio.AbstractEventLoop) -> None:
    """End the process if *loop* is too busy to react to anything; return once it is closed."""
    with contextlib.suppress(RuntimeError):
        while True:
            answered = threading.Event()
            loop.call_soon_threadsafe(answered.set)
            if not answered.wait(ANSWER_S) and not loop.is_closed():
                _log.warning("told to end while busy: ends at once; what was signed and kept is said after a restart")
                os._exit(EXIT_STOPPED)
            time.sleep(LOOK_EVERY_S)
