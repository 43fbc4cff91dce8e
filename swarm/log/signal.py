"""The wake-up that both logs use: many reasons in, one wake-up out."""

import asyncio

from swarm.log.port import Wakeups


class Signal(Wakeups):
    """Wake-ups set from the event loop that waits for them."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._ended = False

    def wake(self) -> None:
        """Let the present wait, or else the next one, return true."""
        self._event.set()

    def end(self) -> None:
        """Let every wait return true from now on: the log is closed, and a read will say so."""
        self._ended = True
        self._event.set()

    async def wait(self, timeout_s: float) -> bool:  # noqa: D102
        if not self._event.is_set():
            try:
                async with asyncio.timeout(timeout_s):
                    await self._event.wait()
            except TimeoutError:
                return False
        if not self._ended:
            self._event.clear()
        return True
