"""The log on NATS JetStream.

==================  ================================================================================================
append              publish to ``swarm.room.<room>.<author>``, expecting the author's own last sequence
last, first         direct get ``last_by_subj`` and ``next_by_subj``, one answer each
read                direct get, in batches: ``multi_last`` over the authors' subjects for a consistent cut, then
                    ``next_by_subj`` of each; or one batch over the room where it can only hold what is new
wakeups             subscribe to ``swarm.log.<room>.>``, what the stream republishes once it is stored
invite, …           the same on ``swarm.invite.<invitee>.<author>``
==================  ================================================================================================

There are no consumers: nothing to lose with a server, nothing that a member could create at another's cost.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from swarm.errors import LogFull, TooLarge, Unavailable, WireError, WrongLast
from swarm.log import subjects as names
from swarm.log.connection import Connection
from swarm.log.directget import sequence_of
from swarm.log.port import MAX_AUTHORS, Cut, Log, Stored, Wakeups, check_size
from swarm.log.reader import Again, Author, Reader, Recent, until
from swarm.log.signal import Signal
from swarm.signed.identity import Identity
from swarm.signed.sizes import MAX_INVITATION_BYTES, MAX_PAYLOAD_BYTES

SUBJECTS_REMEMBERED = 65536
FOLLOW_SECONDS = 5.0
LAST_SEQUENCE = 2**64 - 1
"""The greatest sequence that a stream can reach, and so the one with the most digits."""

# JetStream's own error codes.
_WRONG_LAST = {10071, 10164}
_FULL = {10023, 10047, 10077}
_TOO_LARGE = {10054}


@dataclass(slots=True)
class _Following:
    """One subscription for all that follow the same subjects over this connection."""

    number: int | None = None
    subscribing: asyncio.Lock = field(default_factory=asyncio.Lock)
    signals: set[Signal] = field(default_factory=set)
    newest: int = 0

    def on_message(self, subject: bytes, headers: bytes, data: bytes) -> None:
        sequence = sequence_of(headers)
        self.newest = max(self.newest, sequence)
        for signal in self.signals:
            signal.wake(sequence)


class JetStreamLog(Log):
    """A client of the streams that `swarm.log.streams.ensure_streams` makes. Use `connect`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reader = Reader(connection)
        self._following: dict[str, _Following] = {}
        self._acknowledged: Recent[str] = Recent(SUBJECTS_REMEMBERED)
        connection.on_doubt = self._wake_all
        connection.on_closed = self._end_all

    @classmethod
    async def connect(
        cls,
        servers: str | Iterable[str],
        *,
        identity: Identity | None = None,
        name: str = "",
        tls: ssl.SSLContext | None = None,
        timeout_s: float = 5.0,
    ) -> Self:
        """Connect to one of *servers*, logging in with *identity*'s key if the server requires one.

        The connection is kept from then on. Raises `Denied` if this key is refused, `Unavailable` if nobody answers
        within *timeout_s* seconds, and `BadInput` for something that is not a URL.
        """
        return cls(await Connection.open(servers, identity=identity, name=name, tls=tls, timeout_s=timeout_s))

    # Writing

    @property
    def most_payload_bytes(self) -> int:  # noqa: D102
        return min(MAX_PAYLOAD_BYTES, self._connection.most_message_bytes - len(_expecting(LAST_SEQUENCE)))

    async def append(  # noqa: D102
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        subject = names.room_subject(room, author)
        check_size(payload)
        sequence = await self._publish(subject, payload, _expecting(expected_last), timeout_s)
        self._acknowledged[subject] = sequence
        return sequence

    async def invite(self, invitee: str, author: str, payload: bytes, *, timeout_s: float = 5.0) -> None:  # noqa: D102
        subject = names.invite_subject(invitee, author)
        check_size(payload, MAX_INVITATION_BYTES)
        await self._publish(subject, payload, b"", timeout_s)

    async def _publish(self, subject: str, payload: bytes, headers: bytes, timeout_s: float) -> int:
        deadline = _loop_time() + timeout_s

        async def once() -> int:
            # After an `Unavailable` from here, it is open whether the record was stored, so the caller must find out. A
            # refusal because nobody was there is tried again: nothing was stored.
            (reply,) = await self._connection.call(subject, payload, headers=headers, deadline=deadline)
            if reply.headers[8:12] == b" 503":
                raise Again("no stream takes it: the server has no log, or no leader for it")
            return _acknowledged_sequence(reply.data)

        return await until(deadline, once)

    # Reading

    async def last(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        subject = names.room_subject(room, author)
        deadline = _loop_time() + timeout_s
        floor = self._acknowledged.get(subject) or 0
        return await until(deadline, lambda: self._reader.last(subject, author, floor, deadline))

    async def first(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:  # noqa: D102
        subject = names.room_subject(room, author)
        deadline = _loop_time() + timeout_s
        return await until(deadline, lambda: self._reader.first(subject, author, deadline))

    async def earliest(self, room: str, *, timeout_s: float = 5.0) -> list[Stored]:  # noqa: D102
        names.token(room)
        deadline = _loop_time() + timeout_s
        return await until(deadline, lambda: self._reader.earliest(room, deadline))

    async def read(  # noqa: D102
        self, room: str, authors: Sequence[str], after: Mapping[str, int], *, timeout_s: float = 5.0
    ) -> Cut:
        if len(authors) > MAX_AUTHORS:
            raise ValueError(f"a cut spans at most {MAX_AUTHORS} authors, not {len(authors)}")
        if not authors:
            return Cut([], 0)
        asked: dict[str, Author] = {}
        for author in authors:
            subject, had = names.room_subject(room, author), after.get(author, 0)
            # Taken now: the cut need not include what this client appends while it reads.
            asked[subject] = Author(author, had, max(had, self._acknowledged.get(subject) or 0))
        following = self._following.get(names.log_subjects(room))
        newest = 0 if following is None else following.newest
        deadline = _loop_time() + timeout_s
        return await until(deadline, lambda: self._reader.read(room, asked, newest, deadline))

    async def rooms(self, author: str, *, timeout_s: float = 5.0) -> dict[str, Stored]:  # noqa: D102
        names.token(author)
        deadline = _loop_time() + timeout_s
        return await until(deadline, lambda: self._reader.rooms(author, deadline))

    async def invitations(self, invitee: str, *, timeout_s: float = 5.0) -> list[Stored]:  # noqa: D102
        names.token(invitee)
        deadline = _loop_time() + timeout_s
        return await until(deadline, lambda: self._reader.invitations(invitee, deadline))

    # Following

    def wakeups(self, room: str) -> AbstractAsyncContextManager[Wakeups]:  # noqa: D102
        return self._follow(names.log_subjects(room))

    def wakeups_of_invitations(self, invitee: str) -> AbstractAsyncContextManager[Wakeups]:  # noqa: D102
        return self._follow(names.invited_subjects(invitee))

    @asynccontextmanager
    async def _follow(self, subjects: str) -> AsyncIterator[Wakeups]:
        signal = Signal()
        following = self._following.setdefault(subjects, _Following())
        following.signals.add(signal)
        try:
            deadline = _loop_time() + FOLLOW_SECONDS
            async with following.subscribing:
                if following.number is None:
                    following.number = await self._connection.subscribe(subjects, following.on_message, deadline)
            yield signal
        finally:
            following.signals.discard(signal)
            if not following.signals and self._following.get(subjects) is following:
                del self._following[subjects]
                if following.number is not None:
                    await self._connection.unsubscribe(following.number)

    def _wake_all(self) -> None:
        for following in self._following.values():
            for signal in following.signals:
                signal.wake()

    def _end_all(self) -> None:
        for following in self._following.values():
            for signal in following.signals:
                signal.end()

    async def close(self) -> None:  # noqa: D102
        await self._connection.close()


def _expecting(last: int) -> bytes:
    """Return the headers with which a record is stored only after the author's sequence *last*."""
    return b"NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: %d\r\n\r\n" % last


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


def _acknowledged_sequence(data: bytes) -> int:
    """Return the sequence in a publisher's acknowledgement, or raise the error that its refusal means."""
    try:
        answer = json.loads(data)
        error = answer.get("error")
        if error is None:
            return int(answer["seq"])
        code, number, text = int(error["code"]), int(error.get("err_code", 0)), str(error.get("description", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Unavailable("the server's acknowledgement cannot be read") from None
    if number in _WRONG_LAST:
        raise WrongLast(text)
    if number in _FULL:
        raise LogFull(f"the log is full: {text}")
    if number in _TOO_LARGE:
        raise TooLarge(text)
    if code >= 500:
        raise Again(f"{text} ({number})")
    raise WireError(f"the stream refuses the record: {text} ({number})")
