"""The log port: what the rest of the project requires of whatever stores and orders records.

A log contains rooms; in a room, every author writes on a subject of its own; all records of all rooms share one
sequence. The port knows bytes, not entries: a record's author is the one that its subject names, which says who may
write there, not who did. One contract test checks both implementations, `swarm.log.memory` and `swarm.log.jetstream`.

Errors are those of `swarm.errors`: `WrongLast`, `LogFull`, `TooLarge`, `Denied`, `Unavailable`, and `RolledBack` here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from protocols.core.instants import Instant
from swarm.errors import TooLarge
from swarm.signed.sizes import MAX_PAYLOAD_BYTES

MAX_MESSAGE_BYTES = MAX_PAYLOAD_BYTES + 1024
"""The most that a log stores for one record: the payload and the headers of its publisher."""
AUTHOR_RECORDS = 10_000
"""How many records one author may write in one room: a flood stops here and costs the others nothing more."""
MAX_AUTHORS = 64
"""How many authors one cut may span: the members of the largest room."""
EARLIEST = 64
"""How many of a room's first records are searched for its opening; nobody can write before it."""
INVITATION_SECONDS = 7 * 24 * 3600
"""How long an invitation is kept."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One record as the log stores it.

    ``sequence`` orders it among all records of the log and grows, with gaps, within a room. ``stored`` is the log's own
    time, truncated to microseconds; a log's clock may step back. ``author`` is the public key in the record's subject.
    """

    sequence: int
    stored: Instant
    author: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """A consistent piece of a room.

    ``records`` contains, ordered by sequence, everything that the given authors wrote beyond what the reader had, up to
    ``upper``; no later read returns a record at or below ``upper`` that this one left out. ``upper`` is 0 if the
    authors have written nothing. With ``more``, the log held more than one answer should: read again.
    """

    records: list[Stored]
    upper: int
    more: bool = False


class Wakeups(ABC):
    """Announces that a room may contain something new; many reasons between two waits make one wake-up."""

    @abstractmethod
    async def wait(self, timeout_s: float, known: Callable[[], int] = lambda: 0) -> bool:
        """Wait until there may be something new (True: read now) or until *timeout_s* seconds have passed.

        *known* is the upper sequence of the caller's last cut: an announcement of records up to there is not news.

        It also returns True after every reconnection. A wake-up may be missing, so read now and then without one. Once
        the log is closed, it returns True at once, and the read that follows says why.
        """


class Log(ABC):
    """A client of the log. All members of a process may share one, if it may write for them."""

    @property
    def most_payload_bytes(self) -> int:
        """The largest payload that this log takes, as far as it has announced; checked before anything is signed."""
        return MAX_PAYLOAD_BYTES

    @abstractmethod
    async def append(
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        """Store *payload* as *author*'s next record in *room* and return its sequence.

        *expected_last* is the sequence of the author's last record in this room, 0 for none; the record is stored only
        if that still holds. After `Unavailable`, it is open whether it was stored: the same call again, or `last`,
        tells.

        Raises `WrongLast`, `LogFull`, `TooLarge`, `Denied`, `Unavailable`. No refusal proves that *payload* is nowhere:
        a log may keep what it says it refused.
        """

    @abstractmethod
    async def last(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:
        """Return *author*'s last record in *room*, at least as new as the last append acknowledged to this client.

        Raises `Denied`, `Unavailable`, `RolledBack`.
        """

    @abstractmethod
    async def first(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:
        """Return *author*'s first record in *room*; for the opener, this is the opening.

        Raises `Denied`, `Unavailable`.
        """

    @abstractmethod
    async def earliest(self, room: str, *, timeout_s: float = 5.0) -> list[Stored]:
        """Return the earliest records of *room*, at most `EARLIEST`, by any author, ordered by sequence.

        For a reader that knows only a room's name: the opening is among them, and proves itself by that name.

        Raises `Denied`, `Unavailable`.
        """

    @abstractmethod
    async def read(self, room: str, authors: Sequence[str], after: Mapping[str, int], *, timeout_s: float = 5.0) -> Cut:
        """Return what *authors* (at most `MAX_AUTHORS`) wrote in *room* beyond *after*, as one consistent cut.

        *after* maps each author to the last sequence already read; an absent author has not been read at all. It
        contains what earlier cuts of the same authors returned: an author's records are not read again below it. Other
        authors in the room do not appear.

        Raises `Denied`, `Unavailable`, and `RolledBack` if an author's last record stays below *after* throughout
        *timeout_s*.
        """

    @abstractmethod
    async def rooms(self, author: str, *, timeout_s: float = 5.0) -> dict[str, Stored]:
        """Return *author*'s last record in each room in which it has written, by room, the latest last.

        Raises `Denied`, `Unavailable`, and `WireError` if there are more rooms than one answer holds (1,024).
        """

    @abstractmethod
    def wakeups(self, room: str) -> AbstractAsyncContextManager[Wakeups]:
        """Follow *room*: if you enter before the first read, nothing that is stored after that read goes unannounced.

        Entering raises `Denied` or `Unavailable`.
        """

    @abstractmethod
    async def invite(self, invitee: str, author: str, payload: bytes, *, timeout_s: float = 5.0) -> None:
        """Leave *invitee* a pointer to a room; a later one by the same author replaces it.

        Raises `LogFull`, `TooLarge`, `Denied`, `Unavailable`.
        """

    @abstractmethod
    async def invitations(self, invitee: str, *, timeout_s: float = 5.0) -> list[Stored]:
        """Return the invitations for *invitee* of the last week, one for each author, oldest first.

        Raises `Denied`, `Unavailable`.
        """

    @abstractmethod
    def wakeups_of_invitations(self, invitee: str) -> AbstractAsyncContextManager[Wakeups]:
        """Follow the invitations of *invitee*, as `wakeups` does a room."""

    @abstractmethod
    async def close(self) -> None:
        """Release the connection; every later call raises `Unavailable`. To close again does nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def check_size(payload: bytes, most: int = MAX_PAYLOAD_BYTES) -> None:
    """Raise `TooLarge` if *payload* exceeds *most* bytes: before it is sent, so that it is never tried again."""
    if len(payload) > most:
        raise TooLarge(f"the payload has {len(payload):,} bytes; at most {most:,} are stored")
