"""Logs that do to their callers what networks do."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from swarm.errors import Unavailable
from swarm.log.port import Cut, Log, Stored, Wakeups
from swarm.log.signal import Signal
from swarm.testing.weather import Through


class Lossy(Through):
    """Loses requests before they arrive and answers on their way back, by a seeded coin."""

    def __init__(self, seed: int, share: float = 0.3) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._share = share
        self.lost = 0

    def _lose(self) -> None:
        if self._random.random() < self._share:
            self.lost += 1
            raise Unavailable("lost")

    async def append(self, room: str, author: str, payload: bytes, **more: Any) -> int:  # type: ignore[override]
        self._lose()
        sequence = await super().append(room, author, payload, **more)
        self._lose()
        return sequence

    async def last(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:
        self._lose()
        return await super().last(room, author)

    async def read(self, room: str, authors: Sequence[str], after: Mapping[str, int], *, timeout_s: float = 5.0) -> Cut:
        self._lose()
        return await super().read(room, authors, after)


class Noisy(Through):
    """Lets others write *noise* on an author's subject just before the author does, *times* times, *late_s* each."""

    def __init__(self, times: int, noise: bytes = b"\xffnoise", *, late_s: float = 0.0) -> None:
        super().__init__()
        self.late_s = late_s
        self.left = times
        self.noise = noise
        self.active = False

    async def append(self, room: str, author: str, payload: bytes, **more: Any) -> int:  # type: ignore[override]
        if self.active and self.left:
            self.left -= 1
            await asyncio.sleep(self.late_s)
            last = await self.log.last(room, author)
            await self.log.append(room, author, self.noise, expected_last=last.sequence if last else 0)
        return await super().append(room, author, payload, **more)


class Crash(BaseException):
    """The process ends here, as far as a test can have that."""


class Crashing(Through):
    """Crashes at the next append, before or after it is stored."""

    def __init__(self, log: Log, *, stored: bool) -> None:
        super().__init__(log)
        self._stored = stored

    async def append(self, room: str, author: str, payload: bytes, **more: Any) -> int:  # type: ignore[override]
        if self._stored:
            await super().append(room, author, payload, **more)
        raise Crash


class Silent(Through):
    """Never wakes anybody."""

    @asynccontextmanager
    async def _never(self) -> AsyncIterator[Wakeups]:
        yield Signal()

    def wakeups(self, room: str) -> AbstractAsyncContextManager[Wakeups]:
        return self._never()


class Refusing(Through):
    """Refuses to be followed, the first *times* times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def wakeups(self, room: str) -> AbstractAsyncContextManager[Wakeups]:
        if self.left:
            self.left -= 1
            raise Unavailable("no connection")
        return super().wakeups(room)
