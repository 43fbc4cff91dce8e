"""The chain: what every record must satisfy before any rule runs, and the running head over order and times.

Each author's entries form a chain of their own (``n``, ``prev``). The room's records form another chain, whose head
every entry repeats in ``seen``. So the members themselves co-sign order and times: a broker that reorders, drops,
re-dates, or shows different logs to two members contradicts signatures that it cannot make.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import overload

from protocols.core.instants import Duration, Instant, format_instant, seconds_long
from swarm.errors import BadEntry
from swarm.log.port import Stored
from swarm.signed.entry import Entry, brief, is_signed, parse_entry

HEAD_0 = "0" * 64


def next_head(head: str, position: int, stored: Instant, author: str, identifier: str) -> str:
    """Return the head after one more record: SHA-256 of canonical [head, position, stored, author, id]."""
    # None of the five values contains a character that JSON escapes, so this is their canonical form.
    line = f'["{head}",{position},"{format_instant(stored)}","{author}","{identifier}"]'
    return sha256(line.encode()).hexdigest()


class Digests(Sequence[str]):
    """SHA-256 digests in lower-case hex, stored in 32 bytes each: a chain keeps one for every record of its room."""

    __slots__ = ("_length", "_raw", "last")

    def __init__(self, digests: Iterable[str] = ()) -> None:
        self._raw = bytearray()
        self._length = 0
        self.last: str | None = None
        """The last digest, or None."""
        for digest in digests:
            self.append(digest)

    def append(self, digest: str) -> None:
        """Add one digest."""
        self._raw += bytes.fromhex(digest)
        self._length += 1
        self.last = digest

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError("no digest there")
        return self._raw[32 * index : 32 * index + 32].hex()

    def __eq__(self, other: object) -> bool:
        return self._raw == other._raw if isinstance(other, Digests) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Digests({list(self)!r})"


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a room: its position from 1, the broker's store time, the subject's author, and the bytes.

    ``entry`` is None if the bytes are not a valid entry of this room; they are kept nevertheless.
    """

    position: int
    stored: Instant
    author: str
    payload: bytes
    entry: Entry | None
    id: str


@dataclass(frozen=True, slots=True)
class Link:
    """What the chain says of one record.

    ``counts`` is true if the entry continues its author's chain and its clock is undisputed. ``code`` and ``why`` say
    what is wrong: if ``counts`` is false the record is void; otherwise only its body is. ``at`` is the log time after
    the record.
    """

    record: Record
    at: Instant
    counts: bool
    code: str | None = None
    why: str = ""


@dataclass(slots=True)
class AuthorChain:
    """One author's entries so far: their ids in order, the position of the last, and the last valid ``seen`` count."""

    ids: Digests = field(default_factory=Digests)
    position: int = 0
    seen: int = 0


@dataclass(slots=True)
class Chain:
    """The incremental check of one room's records. ``heads[i]`` is the running head after i records."""

    room: str
    skew: Duration
    authors: dict[str, AuthorChain]
    heads: Digests = field(default_factory=lambda: Digests([HEAD_0]))
    at: Instant = field(default=Instant(0))

    @classmethod
    def of(cls, room: str, keys: list[str], skew_seconds: int) -> "Chain":
        """Return the empty chain of a room whose members have these *keys*."""
        return cls(room, seconds_long(skew_seconds), {key: AuthorChain() for key in keys})

    @property
    def position(self) -> int:
        """How many records the chain contains."""
        return len(self.heads) - 1

    @property
    def head(self) -> str:
        """The running head."""
        return self.heads.last or HEAD_0

    def add(self, stored: Stored) -> Link | None:
        """Add the next record of the log.

        Return None if it is not of this room: not a member's subject, or another's entry.
        """
        if stored.author not in self.authors:
            return None
        entry, problem = self._read(stored)
        if entry is not None and entry.author != stored.author:
            return None
        position = len(self.heads)
        identifier = entry.id if entry is not None else sha256(stored.payload).hexdigest()
        record = Record(position, stored.stored, stored.author, stored.payload, entry, identifier)
        link = self._judge(record, problem)
        self.heads.append(next_head(self.head, position, stored.stored, stored.author, identifier))
        return link

    def _read(self, stored: Stored) -> tuple[Entry | None, BadEntry | None]:
        # docs/protocol/entries.md, "What a record is": the first table, whose checks are made in this order.
        try:
            entry = parse_entry(stored.payload)
            if entry.author != stored.author:
                return entry, None
            if entry.room != self.room:
                raise BadEntry("wrong_room", f"signed for the room {brief(entry.room)}")
            if not is_signed(entry):
                raise BadEntry("bad_signature", "the signature is not its author's")
        except BadEntry as problem:
            return None, problem
        return entry, None

    def _judge(self, record: Record, problem: BadEntry | None) -> Link:
        entry = record.entry
        if entry is None:
            assert problem is not None
            return Link(record, self.at, False, problem.code, str(problem))
        # The second table of that section: the first case that applies, in this order.
        chain = self.authors[record.author]
        said = len(chain.ids)
        if entry.n <= said:
            if chain.ids[entry.n - 1] == entry.id:
                return Link(record, self.at, False, "duplicate", f"the same bytes as its author's entry {entry.n}")
            why = f"a fork: a second, different entry {entry.n} of one author; the first stands, both are signed"
            return Link(record, self.at, False, "equivocation", why)
        if entry.n != said + 1 or entry.prev != chain.ids.last:
            why = f"n {entry.n} after {said} entries, or a prev that is not the last one's id"
            return Link(record, self.at, False, "chain_gap", why)
        before, chain.position = chain.position, record.position
        chain.ids.append(entry.id)
        if abs(record.stored - entry.sent) > self.skew:
            why = f"stored {format_instant(record.stored)}, its author's clock said {format_instant(entry.sent)}"
            return Link(record, self.at, False, "clock_disputed", why)
        # "It moves before the body is judged, even if the body is refused." Disputed clocks do not move log time.
        self.at = max(self.at, record.stored)
        if entry.seen_count < max(before, chain.seen):
            why = f"had seen {max(before, chain.seen)} records before, now says {entry.seen_count}"
            return Link(record, self.at, True, "seen_stale", why)
        if entry.seen_count > self.position or self.heads[entry.seen_count] != entry.seen_head:
            why = f"the head its author signs at {entry.seen_count} records is not this log's: the author or the broker"
            return Link(record, self.at, True, "seen_mismatch", why)
        chain.seen = entry.seen_count
        return Link(record, self.at, True)
