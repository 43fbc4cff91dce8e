"""Reading rooms by direct gets, so that the result is whole and consistent, whichever replica answers."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from swarm.backoff import Backoff
from swarm.errors import RolledBack, Unavailable, WireError
from swarm.log import directget as dg
from swarm.log import subjects as names
from swarm.log.connection import ONE_ANSWER, Closed, Connection, Most, Reply
from swarm.log.port import EARLIEST, MAX_MESSAGE_BYTES, Cut, Stored

QUIET_S = 0.4
"""How long a direct get may stay silent before it is asked again: a stopped replica never answers."""
BACKOFF_FIRST_S = 0.01
BACKOFF_MOST_S = 0.5
TAIL_RECORDS = 1024
"""How many records of all rooms beyond the last cut are searched for this room's; beyond that, each author is read."""
CUT_BYTES = 4 * dg.BATCH_BYTES
"""The size of one cut, give or take a batch of each author."""
RECORD_BYTES = 512
"""What a record takes in memory here, besides its payload."""
CUTS_REMEMBERED = 4096
MOST_INVITATIONS = 4096
"""How many of the newest invitations a reader looks at; each has at most 8 KB."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Again(Exception):
    """An attempt failed temporarily, and stored nothing."""

    def __init__(self, why: str, *, rolled_back: bool = False) -> None:
        self.why = why
        self.rolled_back = rolled_back
        super().__init__(why)


async def until(deadline: float, once: Callable[[], Awaitable[T]]) -> T:
    """Call *once* until it does not raise `Again`, with growing pauses, at most until *deadline* of the loop's clock.

    Raises `RolledBack` or `Unavailable` with the last reason.
    """
    loop, backoff = asyncio.get_running_loop(), Backoff(BACKOFF_FIRST_S, BACKOFF_MOST_S)
    failure: Again | None = None
    while True:
        try:
            return await once()
        except Again as again:
            # An attempt that the deadline cut short tells less than the one before it.
            failure = again if failure is None or loop.time() < deadline else failure
        wait_s = backoff.pause_s()
        if loop.time() + wait_s >= deadline:
            raise (RolledBack if failure.rolled_back else Unavailable)(failure.why)
        await asyncio.sleep(wait_s)


class Author(NamedTuple):
    """One of the authors of a read: the last sequence that the reader has, and the one that must be there."""

    key: str
    after: int
    floor: int


Asked = Mapping[str, Author]
"""The authors of a read, by their subjects."""


class Recent(Generic[K]):
    """Numbers by key; the least recently used are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: OrderedDict[K, int] = OrderedDict()

    def get(self, key: K) -> int | None:
        """Return the number of *key*, if it is still known."""
        number = self._numbers.get(key)
        if number is not None:
            self._numbers.move_to_end(key)
        return number

    def __setitem__(self, key: K, number: int) -> None:
        self._numbers[key] = number
        self._numbers.move_to_end(key)
        if len(self._numbers) > self._most:
            self._numbers.popitem(last=False)


class Reader:
    """Reads over one connection. Every method may raise `Again`, and must then be called again."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # By room, authors and the last sequence of each: up to where a cut that ended exactly there has seen the log.
        self._cuts: Recent[tuple[str, tuple[str, ...], tuple[int, ...]]] = Recent(CUTS_REMEMBERED)

    async def read(self, room: str, asked: Asked, newest: int, deadline: float) -> Cut:
        """Return a cut of *room*; *newest* is the highest sequence that a wake-up in it has named, 0 for none."""
        seen = self._cuts.get(_cut_key(room, asked, [author.after for author in asked.values()])) or 0
        found: list[dg.Record] = []
        upper, more = seen, False
        if seen < newest <= seen + TAIL_RECORDS and seen:
            found, upper = await self._tail(room, seen, deadline)
        if not found:
            found, upper, more = await self._cut(asked, deadline)
        # A replica may lag behind the one that answered before; what that one had seen stays seen.
        return self._deliver(room, asked, found, max(seen, upper), more=more)

    async def last(self, subject: str, author: str, floor: int, deadline: float) -> Stored | None:
        """Return the last record on *subject*, which has at least the sequence *floor*."""
        record = await self._single(dg.last_of(subject), deadline)
        _check_floor(subject, record, floor)
        return None if record is None else _stored(record, author)

    async def first(self, subject: str, author: str, deadline: float) -> Stored | None:
        """Return the first record on *subject*."""
        record = await self._single(dg.first_of(subject), deadline)
        return None if record is None else _stored(record, author)

    async def earliest(self, room: str, deadline: float) -> list[Stored]:
        """Return the first records of *room*, by any author."""
        records, _ = await self._batch(
            names.ROOMS, dg.all_of(names.room_subjects(room), 0, EARLIEST), deadline, count=EARLIEST
        )
        return _named(names.room_prefix(room), records)

    async def rooms(self, author: str, deadline: float) -> dict[str, Stored]:
        """Return the last record of *author* in each of its rooms, the latest last."""
        ask = dg.last_of_each([names.all_rooms_of(author)], None)
        records, end = await self._batch(names.ROOMS, ask, deadline, count=dg.BATCH_SUBJECTS)
        if end.pending:
            raise WireError(f"{author} has written in more rooms than one answer of the server holds")
        found = {names.room_of(record.subject): _stored(record, author) for record in records}
        return dict(sorted(found.items(), key=lambda each: each[1].sequence))

    async def invitations(self, invitee: str, deadline: float) -> list[Stored]:
        """Return the invitations of *invitee*, oldest first."""
        prefix = names.invite_prefix(invitee)
        found: deque[dg.Record] = deque(maxlen=MOST_INVITATIONS)
        after: int | None = 0
        while after is not None:
            ask = dg.all_of(names.invites_of(invitee), after, dg.BATCH_RECORDS)
            records, end = await self._batch(names.INVITES, ask, deadline, after=after)
            found.extend(records)
            after = records[-1].sequence if records and end.pending else None
        return _named(prefix, found)

    async def _tail(self, room: str, seen: int, deadline: float) -> tuple[list[dg.Record], int]:
        """Read on from the last cut over the whole room at once, if one answer holds everything.

        The records come in the log's order and without gaps, so this is a consistent cut too, for one request instead
        of one plus one for each author. The server searches all rooms for it, and it brings what strangers wrote in
        this room; hence the limits on its use.
        """
        ask = dg.all_of(names.room_subjects(room), seen, dg.BATCH_RECORDS)
        found, end = await self._batch(names.ROOMS, ask, deadline, after=seen)
        return ([], seen) if end.pending or not found else (found, found[-1].sequence)

    async def _cut(self, asked: Asked, deadline: float) -> tuple[list[dg.Record], int, bool]:
        """Read every author's last record as of one sequence, and each author up to there.

        If that is more than a cut should contain, it ends earlier, and the third value says so.
        """
        lasts, upper = await self._lasts(list(asked), deadline)
        for subject, author in asked.items():
            _check_floor(subject, lasts.get(subject), author.floor)
        size = max(MAX_MESSAGE_BYTES, CUT_BYTES // max(1, len(lasts)))
        parts = await asyncio.gather(
            *(self._up_to(last, asked[subject].after, size, deadline) for subject, last in lasts.items()),
            return_exceptions=True,
        )
        found: list[dg.Record] = []
        whole_to = upper
        for part in parts:
            if isinstance(part, BaseException):
                raise part
            records, whole = part
            found.extend(records)
            whole_to = whole_to if whole else min(whole_to, records[-1].sequence)
        more = whole_to < upper
        if more:
            found = [record for record in found if record.sequence <= whole_to]
        return sorted(found, key=attrgetter("sequence")), whole_to, more

    def _deliver(self, room: str, asked: Asked, found: list[dg.Record], upper: int, *, more: bool) -> Cut:
        lasts = {subject: author.after for subject, author in asked.items()}
        records: list[Stored] = []
        for record in found:
            if record.sequence > lasts.get(record.subject, record.sequence):
                records.append(_stored(record, asked[record.subject].key))
                lasts[record.subject] = record.sequence
        if not more and any(last < asked[subject].floor for subject, last in lasts.items()):
            raise Again("a replica answers that does not hold this client's last record yet")
        self._cuts[_cut_key(room, asked, lasts.values())] = upper
        return Cut(records, upper, more)

    async def _lasts(self, subjects: list[str], deadline: float) -> tuple[dict[str, dg.Record], int]:
        lasts: dict[str, dg.Record] = {}
        upper: int | None = None
        missing = subjects
        while missing:
            ask = dg.last_of_each(missing, upper)
            records, end = await self._batch(names.ROOMS, ask, deadline, count=len(missing))
            upper = end.upper if upper is None else upper
            lasts.update((record.subject, record) for record in records if record.subject in missing)
            # Large records can fill the answer before the last subject: the rest is asked for as of the same sequence.
            missing = [subject for subject in missing if subject not in lasts] if records and end.pending else []
        return lasts, upper or 0

    async def _up_to(self, last: dg.Record, after: int, size: int, deadline: float) -> tuple[list[dg.Record], bool]:
        """Read one author's records beyond *after*, up to *size* bytes or to *last*; tell whether that is all."""
        if after >= last.sequence:
            return [], True
        found: list[dg.Record] = []
        while after + 1 < last.sequence:
            if size <= 0:
                return found, False
            ask = dg.all_of(last.subject, after, dg.BATCH_RECORDS, min(size, dg.BATCH_BYTES))
            records, _ = await self._batch(names.ROOMS, ask, deadline, after=after)
            if not records:
                raise Again("a replica answers that does not hold a record which another one does")
            if any(record.subject != last.subject for record in records):
                raise WireError("the server answers with records that were not asked for")
            found.extend(record for record in records if record.sequence < last.sequence)
            after = records[-1].sequence
            size -= sum(len(record.payload) + RECORD_BYTES for record in records)
        found.append(last)
        return found, True

    async def _batch(
        self, stream: str, ask: bytes, deadline: float, *, after: int | None = None, count: int = dg.BATCH_RECORDS
    ) -> tuple[list[dg.Record], dg.End]:
        """Return a complete batch of up to *count* records: each names the one before it, and the end names the last.

        With *after*, they must come in order, and all beyond that sequence.
        """
        # The server counts what it sends, fills the batch with a whole record, and then says that it has ended.
        most = Most(count + 1, dg.BATCH_BYTES + MAX_MESSAGE_BYTES + (count + 1) * dg.HEADER_BYTES)
        *replies, final = await self._ask(stream, ask, deadline, dg.ends_batch, most)
        end = dg.parse_end(final.headers)
        if end.status == dg.TOO_MANY:
            raise WireError("the server's answer would hold more than 1,024 subjects")
        if end.status not in (204, 404):
            raise Again(f"a direct get ended with status {end.status}")
        records = [dg.parse_record(*reply) for reply in replies]
        previous = 0
        for record in records:
            if record.previous != previous:
                raise Again("part of an answer was lost")
            if after is not None and record.sequence <= max(previous, after):
                raise WireError("the server answers with records that were not asked for")
            previous = record.sequence
        if records and end.last != previous:
            raise Again("the last part of an answer was lost")
        return records, end

    async def _single(self, ask: bytes, deadline: float) -> dg.Record | None:
        (reply,) = await self._ask(names.ROOMS, ask, deadline, None, ONE_ANSWER)
        if not dg.ends_batch(reply.headers):
            return dg.parse_record(*reply)
        status = dg.parse_end(reply.headers).status
        if status == 404:
            return None
        raise Again(f"a direct get ended with status {status}")

    async def _ask(
        self, stream: str, ask: bytes, deadline: float, ends: Callable[[bytes], bool] | None, most: Most
    ) -> list[Reply]:
        try:
            return await self._connection.call(
                names.direct_get(stream), ask, deadline=deadline, quiet_s=QUIET_S, ends=ends, most=most
            )
        except Closed:
            raise
        except Unavailable as error:
            raise Again(str(error)) from None


def _cut_key(room: str, asked: Asked, lasts: Iterable[int]) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """Name a cut by the authors' keys, which a reader keeps; their subjects are new texts each time."""
    return room, tuple(author.key for author in asked.values()), tuple(lasts)


def _stored(record: dg.Record, author: str) -> Stored:
    return Stored(record.sequence, record.stored, author, record.payload)


def _named(prefix: str, records: Iterable[dg.Record]) -> list[Stored]:
    """Return the records whose subjects begin with *prefix*, as asked; the rest of the subject names the author."""
    return [_stored(r, r.subject.removeprefix(prefix)) for r in records if r.subject.startswith(prefix)]


def _check_floor(subject: str, record: dg.Record | None, floor: int) -> None:
    if (0 if record is None else record.sequence) < floor:
        raise Again(f"the record with sequence {floor} on {subject} is gone", rolled_back=True)
