"""Saying something: sign, store, publish, and treat it as said when it comes back on the log.

A member has one entry in flight. Publishing expects the author's own last sequence (compare-and-set on its own
subject). After a refusal or a doubt, the log decides. If the member's own bytes are there, the entry is said. An entry
under its key that was not stored here means that a second process has this key, and this one stops. Anything else is
noise, whose sequence is expected next. Two processes that never meet at one number are noticed too: one finds an answer
to a step that it did not give.

What is signed is said, or nothing is: a log that refuses may have kept the bytes nevertheless, and different bytes
under their number would be proof of equivocation against this member. So the log's limits are checked before a number
is used. After that the same bytes are sent again, and if they are refused again, this speaker says nothing more.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from protocols.core.instants import SECOND, Duration, Instant, later
from swarm.backoff import Backoff
from swarm.clock import elapsed_s
from swarm.errors import BadEntry, RolledBack, SecondProcess, Unavailable, Unsaid, WireError, WrongLast
from swarm.log.port import Stored
from swarm.seat.outbox import DamagedOutbox, Outbox
from swarm.seat.replica import Replica
from swarm.signed.entry import Entry, is_signed, parse_entry, sign_entry
from swarm.signed.identity import Identity

_log = logging.getLogger(__name__)

_PLACE = re.compile(rb'"n":([1-9][0-9]{0,9}),"prev":(?:"([0-9a-f]{64})"|null)')
"""The place of an entry's number and of its predecessor's id."""

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.05, 2.0
STEP: Duration = SECOND
"""A clock that differs from the elapsed time by this much was set, or stopped with its machine."""
LAG_S = 10.0
"""How long a server may lag behind what this key has said before it is taken to have forgotten that."""
REFUSALS = 2
"""How often the log may refuse one entry before its author stops."""
BELIEVED_S = 30.0
"""How long to trust the log's clock while it disagrees by more than the room's skew."""


class Speaker:
    """Speaks in one room with one key.

    *patience_s* bounds every publication: reaching the log, getting past noise, and reading the entry back.
    """

    def __init__(
        self, identity: Identity, replica: Replica, outbox: Outbox, clock: Callable[[], Instant], *, patience_s: float
    ) -> None:
        self.identity = identity
        self.log_ahead = Duration(0)
        """Best estimate of the log's clock minus this process's clock."""
        self._replica = replica
        self._outbox = outbox
        self._clock = clock
        self._patience_s = patience_s
        self._known = len(self.said)
        """How many entries of this key were said before this speaker started, or by it."""
        self._looked = clock(), elapsed_s()
        self._doubted_s = inf
        self._speaking = asyncio.Lock()
        self._unsettled: Entry | None = None
        """An entry that was signed and has not been seen on the log: nothing else is signed before it is."""

    @property
    def said(self) -> Sequence[str]:
        """The ids of this key's entries on the log."""
        return self._replica.fold.chain.authors[self.identity.public].ids

    def now(self) -> Instant:
        """Return the log's clock, estimated from this process's clock and from what the log has shown so far.

        A step of this process's clock voids the known difference. A difference beyond the skew is believed for 30 s
        only; longer would mean waiting a day for a log that is a day off.
        """
        own, beat = self._clock(), elapsed_s()
        own_before, beat_before = self._looked
        if abs(own - own_before - (beat - beat_before) * SECOND) > STEP or beat > self._doubted_s:
            self.log_ahead = Duration(0)
        self._looked = own, beat
        return later(own, self.log_ahead)

    async def recover(self) -> None:
        """Send what was stored and has not come back again: the same bytes, so that nothing is said twice.

        Bytes for another room, or from before the log's last entry, are not needed. Raises the same errors as `say`;
        `RolledBack` if the log holds fewer entries of this key than were signed, because to go on would sign other
        entries with the same numbers; and `DamagedOutbox` if the stored bytes are not an entry and the log does not
        show that it was said.
        """
        async with self._speaking:
            await self._recover()

    async def _recover(self) -> None:
        entry = self._kept()
        if entry is not None and entry.room == self._replica.name and entry.author == self.identity.public:
            await self._take_up(entry)

    async def _take_up(self, entry: Entry) -> None:
        """Say *entry*, signed before, unless it was said or the log has gone past its number."""
        await self._caught_up(entry)
        if entry.id in self.said[entry.n - 1 : entry.n]:
            self._known = max(self._known, entry.n)
        if entry.n == len(self.said) + 1:
            if entry.prev != (self.said[-1] if self.said else None):
                raise self._second()
            await self._publish(entry)
        self._unsettled = None

    def _kept(self) -> Entry | None:
        """Return the entry in the outbox; None if there is none, or if it is damaged but was said."""
        kept = self._outbox.kept()
        if kept is None:
            return None
        try:
            entry = parse_entry(kept)
            if not is_signed(entry):
                raise BadEntry("bad_signature", "the signature is not over these bytes")
            return entry
        except BadEntry as error:
            if self._was_said(kept):
                _log.warning("%s: damaged (%s); the log holds what it kept", self._outbox.place, error)
                return None
            raise DamagedOutbox(
                f"{self._outbox.place}: what was signed last for {self._replica.name} is kept here and cannot be read "
                f"({error}). It may still be on its way, and signing its number again would be proof against this key. "
                "Put the file back from a copy. Or make sure that it was said: the log holds "
                f"{len(self.said)} entries of this key; if its last one is what was said last, remove the file"
            ) from None

    def _was_said(self, damaged: bytes) -> bool:
        """Tell whether the log holds an entry with the number of *damaged*, according to the id of its predecessor."""
        found = _PLACE.findall(damaged)
        if not found:
            return False
        n, prev = int(found[-1][0]), found[-1][1].decode() or None
        return 1 <= n <= len(self.said) and prev == (self.said[n - 2] if n > 1 else None)

    async def _caught_up(self, kept: Entry) -> None:
        """Wait a moment for what was signed before *kept*, because the answering server may lag; raise `RolledBack`."""
        give_up = elapsed_s() + min(self._patience_s, LAG_S)
        while len(self.said) < kept.n - 1:
            if elapsed_s() > give_up:
                raise RolledBack(
                    f"log_rolled_back: {kept.n - 1} entries of this key stood here before its last one, "
                    f"now the log holds {len(self.said)}"
                )
            await asyncio.sleep(FIRST_BACKOFF_S)
            await self._patiently(self._replica.refresh, give_up)

    def alone(self) -> None:
        """Raise `SecondProcess` if the log holds an answer to a step under this key that this process did not give.

        Statements about promises from outside (`swarm.visit.saying`) are not a sign of another process in this seat.
        """
        record = self._replica.fold.latest.get(self.identity.public)
        if record is None or record.entry is None or record.entry.n <= self._known:
            return
        if "step" in record.entry.body:
            raise self._second()
        self._known = record.entry.n

    async def say(self, body: dict[str, Any], cost: dict[str, Any] | None = None) -> Entry:
        """Say *body* and return its entry once it has come back on the log.

        Raises ``ValueError`` or `TooLarge`, having signed nothing, if *body* has no canonical form or exceeds what the
        log takes; `SecondProcess`; `Unsaid` if the log refuses the entry; another `WireError` if the log stayed out of
        reach for longer than this speaker's patience. What was signed is then stored, and is what is said next.
        """
        async with self._speaking:
            if self._unsettled is not None:
                await self._take_up(self._unsettled)
            return await self._say(body, cost)

    async def _say(self, body: dict[str, Any], cost: dict[str, Any] | None) -> Entry:
        self.alone()
        chain = self._replica.fold.chain
        entry = sign_entry(
            self.identity,
            room=self._replica.name,
            n=len(self.said) + 1,
            prev=self.said[-1] if self.said else None,
            seen=(chain.position, chain.head),
            sent=self._clock(),
            body=body,
            cost=cost,
            most_bytes=self._replica.log.most_payload_bytes,
        )
        self._outbox.keep(entry.payload)
        await self._publish(entry)
        return entry

    def is_disputed(self, entry: Entry) -> bool:
        """Tell whether *entry*, said last, does not count because its date and the log's are too far apart."""
        record = self._replica.fold.latest.get(self.identity.public)
        if record is None or record.id != entry.id:
            return False
        return abs(record.stored - entry.sent) > self._replica.fold.chain.skew

    async def _publish(self, entry: Entry) -> None:
        give_up = elapsed_s() + self._patience_s
        key = self.identity.public
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        expected = self._replica.after.get(key, 0)
        refusals = 0
        failure: WireError
        self._unsettled = entry
        while True:
            try:
                with self._replica.appending():
                    await self._replica.log.append(entry.room, key, entry.payload, expected_last=expected)
                break
            except WrongLast as error:
                # Noise is passed at once; an author of endless noise is not.
                failure, pause = Unavailable(f"others keep writing as {key} in {entry.room}: {error}"), 0.0
            except Unavailable as error:
                failure, pause = error, backoff.pause_s()
            except RolledBack:
                raise
            except WireError as error:
                failure, pause, refusals = _unsaid(entry, error), FIRST_BACKOFF_S, refusals + 1
            if elapsed_s() > give_up:
                raise failure
            last = await self._settle(entry, give_up)
            if last is None:
                break
            if refusals == REFUSALS:
                raise failure
            expected = last
            await asyncio.sleep(pause)
        acknowledged = self._clock()
        await self._read_back(entry, give_up)
        self._unsettled = None
        self._known = max(self._known, entry.n)
        self._compare_clocks(entry, acknowledged)

    async def _settle(self, entry: Entry, give_up: float) -> int | None:
        """Find out what is in the place of *entry*: None if it is the entry itself, otherwise the sequence to expect.

        Raises `SecondProcess`.
        """
        last = await self._patiently(self._last, give_up)
        if last is not None and last.payload == entry.payload:
            return None
        # Noise may follow our own bytes, or another process's.
        await self._patiently(self._replica.refresh, give_up)
        if len(self.said) >= entry.n or (last is not None and self._is_ours(last, entry)):
            if len(self.said) >= entry.n and self.said[entry.n - 1] == entry.id:
                return None
            raise self._second()
        return max(last.sequence if last is not None else 0, self._replica.after.get(self.identity.public, 0))

    async def _last(self) -> Stored | None:
        return await self._replica.log.last(self._replica.name, self.identity.public)

    def _is_ours(self, last: Stored, mine: Entry) -> bool:
        try:
            entry = parse_entry(last.payload)
        except BadEntry:
            return False
        theirs = entry.author == self.identity.public and entry.room == mine.room and entry.n >= mine.n
        return theirs and entry.id != mine.id and is_signed(entry)

    def _second(self) -> SecondProcess:
        return SecondProcess(
            f"another process speaks with the key {self.identity.public} in {self._replica.name}; this one stops"
        )

    async def _read_back(self, entry: Entry, give_up: float) -> None:
        pause = 0.0
        while len(self.said) < entry.n:
            await self._patiently(self._replica.refresh, give_up)
            if len(self.said) < entry.n:
                if elapsed_s() > give_up:
                    raise Unavailable(f"an entry that the log took does not come back from it: {entry.id}")
                await asyncio.sleep(pause)
                pause = FIRST_BACKOFF_S
        if self.said[entry.n - 1] != entry.id:
            raise self._second()

    async def _patiently(self, ask: Callable[[], Any], give_up: float) -> Any:
        while True:
            try:
                return await ask()
            except Unavailable:
                if elapsed_s() > give_up:
                    raise
                await asyncio.sleep(FIRST_BACKOFF_S)

    def _compare_clocks(self, entry: Entry, acknowledged: Instant) -> None:
        """Note a difference of clocks that is certain: stored before it was sent, or after it was acknowledged.

        A tick that came too early for the log's clock is thus not repeated until it is time.
        """
        record = self._replica.fold.latest.get(self.identity.public)
        if record is None or record.id != entry.id:
            return
        self.now()
        self.log_ahead = Duration(min(0, record.stored - entry.sent) or max(0, record.stored - acknowledged))
        self._doubted_s = elapsed_s() + BELIEVED_S if self.is_disputed(entry) else inf


def _unsaid(entry: Entry, refused: WireError) -> Unsaid:
    return Unsaid(
        f"{refused}; entry {entry.n} of {entry.author} in {entry.room} is signed and may be there all the same, "
        "so nothing else is signed in its place: it is said again at the next start"
    )
