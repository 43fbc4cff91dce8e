"""The wake-up that both logs use: many reasons in, one wake-up out."""

import asyncio
from collections.abc import Callable

from swarm.log.port import Wakeups


class Signal(Wakeups):
    """Wake-ups, set from the event loop that waits for them."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._ended = False
        self._announced = 0
        self._doubted = False

    def wake(self, sequence: int = 0) -> None:
        """Let the current wait, or else the next, return True: *sequence* is stored, or (0) everything is in doubt."""
        self._announced = max(self._announced, sequence)
        self._doubted = self._doubted or not sequence
        self._event.set()

    def end(self) -> None:
        """Let every wait return True from now on: the log is closed, and a read will say so."""
        self._ended = True
        self._event.set()

    async def wait(self, timeout_s: float, known: Callable[[], int] = lambda: 0) -> bool:  # noqa: D102
        try:
            async with asyncio.timeout(None if self._event.is_set() else timeout_s) as limit:
                while True:
                    await self._event.wait()
                    if self._ended:
                        return True
                    self._event.clear()
                    news, self._doubted = self._doubted or self._announced > known(), False
                    if news:
                        return True
                    if limit.when() is None:
                        limit.reschedule(asyncio.get_running_loop().time() + timeout_s)
        except TimeoutError:
            return False
