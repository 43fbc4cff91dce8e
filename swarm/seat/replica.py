"""A replica: one process's fold of one room, kept up to date with the log and shared by all its members there.

Reading is by consistent cuts. A wake-up only says "look" and may get lost, so the replica also looks after every
reconnection, several times before a deadline and after it, and every 15–30 s.
"""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from protocols.core.instants import SECOND, Instant
from protocols.room.room import Room
from swarm.backoff import Backoff
from swarm.errors import Unavailable
from swarm.ledger.fold import Fold
from swarm.log.port import Cut, Log, Wakeups

LOOK_EVERY_S = (15.0, 30.0)
SHORTEST_WAIT_S = 0.25
"""Before a deadline, each wait is half of the remaining time, but not shorter than this."""
OVERDUE_WAIT_S = 1.0
"""How long to wait for a member's tick, in case its wake-up was lost."""
SLICE_S = 0.05
"""How long folding may keep other tasks waiting, unless a single record takes longer."""
GATHER_S = 0.003
"""How long a read waits for this process's own appends: a few times as long as one takes."""
RETRY_S = (0.05, 2.0)
"""The first and the longest pause, jittered, while the log is out of reach."""


class Replica:
    """Follows *room*, opened by the holder of the key *opener*, on *log*.

    ``clock`` returns the process's own time in microseconds; it decides when to look, and affects nothing in the fold.
    """

    def __init__(self, log: Log, room: str, opener: str, clock: Callable[[], Instant], *, keep: bool = True) -> None:
        self.log = log
        self.name = room
        self.clock = clock
        self.after: dict[str, int] = {}
        """The last sequence that was read, by author."""
        self.version = 0
        self._opener = opener
        self._keep = keep
        self._fold: Fold | None = None
        self._keys: list[str] = []
        self._first = 0
        self._upper = 0
        self._asked = 0
        self._served = 0
        self._reading = asyncio.Lock()
        self._changed = asyncio.Event()
        self._appending = 0
        self._idle = asyncio.Event()

    @property
    def fold(self) -> Fold:
        """The fold so far; raises `Unavailable` before the opening was read."""
        if self._fold is None:
            raise Unavailable(f"the room {self.name} has not been read yet")
        return self._fold

    @property
    def room(self) -> Room:
        """The room's state so far."""
        return self.fold.room

    async def open(self, *, timeout_s: float = 10.0) -> None:
        """Read the opening and everything after it; raises `BadEntry`, or `Unavailable` if there is no such room."""
        stored = await self.log.first(self.name, self._opener, timeout_s=timeout_s)
        if stored is None:
            raise Unavailable(f"there is no room {self.name} opened by {self._opener} on this log")
        self._fold = Fold.open(stored, self.name, keep=self._keep)
        self._keys = [member.key for member in self._fold.room.setting.opening.roster]
        self._first = stored.sequence
        self.after[stored.author] = stored.sequence
        await self.refresh(timeout_s=timeout_s)

    async def refresh(self, *, timeout_s: float = 5.0) -> None:
        """Fold whatever the log contains now. Callers that ask during a read share the next read."""
        self._asked += 1
        mine = self._asked
        async with self._reading:
            if self._served >= mine:
                return
            await self._gather()
            serving = self._asked
            while True:
                cut = await self.log.read(self.name, self._keys, self.after, timeout_s=timeout_s)
                if not await self._take(cut) or not cut.more:
                    break
            self._served = serving

    async def _take(self, cut: Cut) -> bool:
        """Fold the records in *cut*; return False if it is older than one that was already folded.

        Other tasks get their turn in between: a flood delays neither an answer nor the end of this process. Whatever is
        folded by then is a prefix of the room.
        """
        if cut.upper < self._upper:
            return False
        fold, pause_at = self.fold, monotonic() + SLICE_S
        for record in cut.records:
            self.after[record.author] = record.sequence
            if record.sequence > self._first:
                fold.add(record)
            if monotonic() > pause_at:
                await asyncio.sleep(0)
                pause_at = monotonic() + SLICE_S
        self._upper = cut.upper
        if cut.records:
            self._announce()
        return True

    @contextmanager
    def appending(self) -> Iterator[None]:
        """Mark the time during which an append of this process is under way."""
        self._appending += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._appending -= 1
            if not self._appending:
                self._idle.set()

    async def _gather(self) -> None:
        """Wait a moment for the appends of this process to be acknowledged, so that one read brings them all."""
        if self._appending:
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_S):
                    await self._idle.wait()

    def _announce(self) -> None:
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self, since: int) -> None:
        """Wait until the version is beyond *since*."""
        while self.version <= since:
            await self._changed.wait()

    async def follow(self) -> None:
        """Follow the log until cancelled. Errors of the wire are survived; a broken log ends it."""
        backoff = Backoff(*RETRY_S)
        while True:
            try:
                async with self.log.wakeups(self.name) as wakeups:
                    await self._follow(wakeups)
            except Unavailable:
                await asyncio.sleep(backoff.pause_s())

    async def _follow(self, wakeups: Wakeups) -> None:
        backoff = Backoff(*RETRY_S)
        while True:
            try:
                await self.refresh()
                backoff.reset()
                await wakeups.wait(self._patience(), lambda: self._upper)
            except Unavailable:
                await asyncio.sleep(backoff.pause_s())

    def _patience(self) -> float:
        longest = random.uniform(*LOOK_EVERY_S)
        deadline = self.room.deadline()
        if deadline is None:
            return longest
        left = (deadline - self.clock()) / SECOND
        if left <= 0:
            # The members' ticks are on their way; the longer nothing comes, the less can be expected.
            return min(longest, OVERDUE_WAIT_S - left)
        return min(longest, max(SHORTEST_WAIT_S, left / 2))
