"""The log in one process: for rooms whose members all sit together, and for tests without a server."""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from operator import attrgetter

from protocols.core.instants import SECOND, Instant
from swarm.clock import utc_now
from swarm.errors import Denied, LogFull, RolledBack, Unavailable, WrongLast
from swarm.log.port import (
    AUTHOR_RECORDS,
    EARLIEST,
    INVITATION_SECONDS,
    MAX_AUTHORS,
    Cut,
    Log,
    Stored,
    Wakeups,
    check_size,
)
from swarm.log.signal import Signal
from swarm.log.subjects import token
from swarm.signed.sizes import MAX_INVITATION_BYTES

_sequence = attrgetter("sequence")


class MemoryStore:
    """The records that several `MemoryLog` clients share.

    *clock* gives store times in microseconds; if it steps back, its highest value is kept. *max_bytes* bounds all
    payloads together; *author_records* bounds what one author may write in one room.
    """

    def __init__(
        self,
        clock: Callable[[], Instant] = utc_now,
        *,
        max_bytes: int | None = None,
        author_records: int = AUTHOR_RECORDS,
    ) -> None:
        self._clock = clock
        self._now = Instant(0)
        self._max_bytes = max_bytes
        self._bytes = 0
        self._author_records = author_records
        self._sequence = 0
        self._rooms: defaultdict[tuple[str, str], list[Stored]] = defaultdict(list)
        self._invitations: defaultdict[str, dict[str, Stored]] = defaultdict(dict)
        self._listeners: defaultdict[tuple[str, str], set[Signal]] = defaultdict(set)

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record stored, in any room."""
        return self._sequence

    def _time(self) -> Instant:
        self._now = max(self._now, self._clock())
        return self._now

    def _take(self, author: str, payload: bytes) -> Stored:
        if self._max_bytes is not None and self._bytes + len(payload) > self._max_bytes:
            raise LogFull(f"the store holds {self._bytes:,} of at most {self._max_bytes:,} bytes")
        self._bytes += len(payload)
        self._sequence += 1
        return Stored(self._sequence, self._time(), author, payload)

    def _append(self, room: str, author: str, payload: bytes, expected_last: int) -> int:
        records = self._rooms[room, author]
        last = records[-1].sequence if records else 0
        if last != expected_last:
            raise WrongLast(f"the author's last sequence is {last}, not {expected_last}")
        if len(records) >= self._author_records:
            raise LogFull(f"the author has written its {self._author_records:,} records in this room")
        record = self._take(author, payload)
        records.append(record)
        self._wake("room", room, record.sequence)
        return record.sequence

    def _invite(self, invitee: str, author: str, payload: bytes) -> None:
        self._invitations[invitee].pop(author, None)
        self._invitations[invitee][author] = self._take(author, payload)
        self._wake("invitee", invitee, self._sequence)

    def _wake(self, kind: str, name: str, sequence: int) -> None:
        for listener in self._listeners.get((kind, name), ()):
            listener.wake(sequence)

    @asynccontextmanager
    async def _listening(self, kind: str, name: str) -> AsyncIterator[Signal]:
        listener = Signal()
        listeners = self._listeners[kind, name]
        listeners.add(listener)
        try:
            yield listener
        finally:
            listeners.discard(listener)


class MemoryLog(Log):
    """A client of a `MemoryStore`; without *store*, of a new one.

    With *key* it may write as that author only, as a member may on a broker with accounts. A call yields to other tasks
    once before it acts, and then finishes at once: its time-out is never reached.
    """

    def __init__(self, store: MemoryStore | None = None, *, key: str | None = None) -> None:
        self.store = MemoryStore() if store is None else store
        self._key = key
        self._closed = False
        self._following: set[Signal] = set()

    async def _turn(self) -> None:
        # Without this, a caller that loops over the log would never let another task run, nor a deadline pass.
        await asyncio.sleep(0)
        if self._closed:
            raise Unavailable("this client of the log is closed")

    def _may_write(self, author: str) -> None:
        if self._key is not None and author != self._key:
            raise Denied(f"the key {self._key} may not write as {author}")

    async def append(  # noqa: D102
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        token(room), token(author)
        check_size(payload)
        await self._turn()
        self._may_write(author)
        return self.store._append(room, author, bytes(payload), expected_last)

    async def last(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        await self._turn()
        records = self.store._rooms.get((token(room), token(author)))
        return records[-1] if records else None

    async def first(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        await self._turn()
        records = self.store._rooms.get((token(room), token(author)))
        return records[0] if records else None

    async def earliest(self, room: str, *, timeout_s: float = 5.0) -> list[Stored]:  # noqa: D102
        await self._turn()
        name = token(room)
        found = [record for (each, _), records in self.store._rooms.items() if each == name for record in records]
        return sorted(found, key=_sequence)[:EARLIEST]

    async def read(  # noqa: D102
        self, room: str, authors: Sequence[str], after: Mapping[str, int], *, timeout_s: float = 5.0
    ) -> Cut:
        if len(authors) > MAX_AUTHORS:
            raise ValueError(f"a cut spans at most {MAX_AUTHORS} authors, not {len(authors)}")
        await self._turn()
        found: list[Stored] = []
        written = False
        for author in dict.fromkeys(authors):
            records = self.store._rooms.get((token(room), token(author)), [])
            start = after.get(author, 0)
            if start > (records[-1].sequence if records else 0):
                raise RolledBack(f"sequence {start} of {author} in {room} is gone")
            found.extend(records[bisect_right(records, start, key=_sequence) :])
            written = written or bool(records)
        found.sort(key=_sequence)
        return Cut(found, self.store._sequence if written else 0)

    def wakeups(self, room: str) -> AbstractAsyncContextManager[Wakeups]:  # noqa: D102
        return self._follow("room", token(room))

    def wakeups_of_invitations(self, invitee: str) -> AbstractAsyncContextManager[Wakeups]:  # noqa: D102
        return self._follow("invitee", token(invitee))

    @asynccontextmanager
    async def _follow(self, kind: str, name: str) -> AsyncIterator[Wakeups]:
        await self._turn()
        async with self.store._listening(kind, name) as wakeups:
            self._following.add(wakeups)
            try:
                yield wakeups
            finally:
                self._following.discard(wakeups)

    async def invite(self, invitee: str, author: str, payload: bytes, *, timeout_s: float = 5.0) -> None:  # noqa: D102
        token(invitee), token(author)
        check_size(payload, MAX_INVITATION_BYTES)
        await self._turn()
        self._may_write(author)
        self.store._invite(invitee, author, bytes(payload))

    async def rooms(self, author: str, *, timeout_s: float = 5.0) -> dict[str, Stored]:  # noqa: D102
        await self._turn()
        lasts = [(room, found[-1]) for (room, by), found in self.store._rooms.items() if by == token(author) and found]
        return dict(sorted(lasts, key=lambda each: each[1].sequence))

    async def invitations(self, invitee: str, *, timeout_s: float = 5.0) -> list[Stored]:  # noqa: D102
        await self._turn()
        oldest = self.store._time() - INVITATION_SECONDS * SECOND
        return [each for each in self.store._invitations.get(token(invitee), {}).values() if each.stored >= oldest]

    async def close(self) -> None:  # noqa: D102
        self._closed = True
        for wakeups in self._following:
            wakeups.end()
