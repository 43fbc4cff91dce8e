"""A log as members far apart have it: late, sometimes out of reach, answers lost; every fault drawn from one seed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random

from swarm.errors import Unavailable
from swarm.log.memory import MemoryLog
from swarm.log.port import Cut, Log, Stored, Wakeups
from swarm.log.signal import Signal


class Through(Log):
    """Passes everything on to *log*, and counts the reads."""

    def __init__(self, log: Log | None = None) -> None:
        self.log = MemoryLog() if log is None else log
        self.reads = 0

    async def append(  # noqa: D102
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        return await self.log.append(room, author, payload, expected_last=expected_last, timeout_s=timeout_s)

    async def last(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        return await self.log.last(room, author, timeout_s=timeout_s)

    async def first(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        return await self.log.first(room, author, timeout_s=timeout_s)

    async def earliest(self, room: str, *, timeout_s: float = 5.0) -> list[Stored]:  # noqa: D102
        return await self.log.earliest(room, timeout_s=timeout_s)

    async def read(self, room: str, authors: Sequence[str], after: Mapping[str, int], *, timeout_s: float = 5.0) -> Cut:  # noqa: D102
        self.reads += 1
        return await self.log.read(room, authors, after, timeout_s=timeout_s)

    async def rooms(self, author: str, *, timeout_s: float = 5.0) -> dict[str, Stored]:  # noqa: D102
        return await self.log.rooms(author, timeout_s=timeout_s)

    def wakeups(self, room: str) -> AbstractAsyncContextManager[Wakeups]:  # noqa: D102
        return self.log.wakeups(room)

    async def invite(self, invitee: str, author: str, payload: bytes, *, timeout_s: float = 5.0) -> None:  # noqa: D102
        await self.log.invite(invitee, author, payload, timeout_s=timeout_s)

    async def invitations(self, invitee: str, *, timeout_s: float = 5.0) -> list[Stored]:  # noqa: D102
        return await self.log.invitations(invitee, timeout_s=timeout_s)

    def wakeups_of_invitations(self, invitee: str) -> AbstractAsyncContextManager[Wakeups]:  # noqa: D102
        return self.log.wakeups_of_invitations(invitee)

    async def close(self) -> None:  # noqa: D102
        await self.log.close()


class Weather(Through):
    """One member's way to the log. ``acknowledged`` are the payloads that it was told are stored."""

    def __init__(self, log: Log, random: Random, *, bad: float) -> None:
        super().__init__(log)
        self._random = random
        self._bad = bad
        self._calm_from = 0.0
        self.acknowledged: list[bytes] = []

    async def _way(self) -> None:
        """Take some time, and sometimes get lost; now and then nothing gets through for seconds."""
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(self._random.random() * 0.01)
        if now < self._calm_from:
            raise Unavailable("out of reach")
        drawn = self._random.random()
        if drawn < self._bad / 8:
            self._calm_from = now + self._random.random() * 6
        if drawn < self._bad:
            await asyncio.sleep(self._random.random())
            raise Unavailable("lost on the way")

    async def append(  # noqa: D102
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        await self._way()
        sequence = await super().append(room, author, payload, expected_last=expected_last)
        await self._way()
        self.acknowledged.append(payload)
        return sequence

    async def last(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        await self._way()
        return await super().last(room, author)

    async def first(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        await self._way()
        return await super().first(room, author)

    async def read(self, room: str, authors: Sequence[str], after: Mapping[str, int], *, timeout_s: float = 5.0) -> Cut:  # noqa: D102
        await self._way()
        cut = await super().read(room, authors, after)
        await self._way()
        return cut

    def wakeups(self, room: str) -> AbstractAsyncContextManager[Wakeups]:  # noqa: D102
        return self._some(room)

    @asynccontextmanager
    async def _some(self, room: str) -> AsyncIterator[Wakeups]:
        async with super().wakeups(room) as wakeups:
            yield _Some(wakeups, self._random, self._bad)


class _Some(Wakeups):
    """Some wake-ups get lost: the wait goes on to its end."""

    def __init__(self, behind: Wakeups, random: Random, bad: float) -> None:
        self._behind, self._random, self._bad = behind, random, bad

    async def wait(self, timeout_s: float, known: Callable[[], int] = lambda: 0) -> bool:
        if self._random.random() < self._bad / 2:
            return await Signal().wait(timeout_s, known)
        return await self._behind.wait(timeout_s, known)
