"""Saying something: sign, keep, publish, and treat it as said when it comes back on the log.

A member has one entry in flight. Publishing expects the author's own last sequence (compare-and-set on its own
subject). After a refusal or a doubt the log decides: the own bytes are said; an entry under the own key that was not
kept here means a second process with this key, and this one stops; anything else is noise, whose sequence is expected
next. Two processes that never meet at one number are noticed too: by an answer to a step that this one did not give.

What is signed is said or nothing is: a log that refuses may have kept the bytes all the same, and other words under
their number would be proof of equivocation against this member. So what the log would take is asked before a number is
used; after that the same bytes are said again, and if they are refused again this speaker says nothing more.
"""

import asyncio
import logging
import random
import re
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import Any

from protocols.core.instants import SECOND, Duration, Instant
from swarm.errors import BadEntry, RolledBack, SecondProcess, Unavailable, Unsaid, WireError, WrongLast
from swarm.log.port import Stored
from swarm.seat.outbox import DamagedOutbox, Outbox
from swarm.seat.replica import Replica
from swarm.signed.entry import Entry, is_signed, parse_entry, sign_entry
from swarm.signed.identity import Identity

_log = logging.getLogger(__name__)

_PLACE = re.compile(rb'"n":([1-9][0-9]{0,9}),"prev":(?:"([0-9a-f]{64})"|null)')
"""Where an entry says its number and its predecessor."""

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.05, 2.0
STEP: Duration = SECOND
"""By how much a clock must differ from the time that has passed to have been set, or stopped with its machine."""
LAG_S = 10.0
"""How long a server may lag behind what this key has said before it is taken to have forgotten that."""
REFUSALS = 2
"""How often the log may refuse one entry before its author stops."""
BELIEVED_S = 30.0
"""How long a clock of the log's that is beyond the room's skew is gone by."""


class Speaker:
    """Speaks in one room with one key.

    *patience_s* bounds every publication: reaching the log, getting past noise, and reading the entry back.
    """

    def __init__(
        self, identity: Identity, replica: Replica, outbox: Outbox, clock: Callable[[], Instant], *, patience_s: float
    ) -> None:
        self.identity = identity
        self.behind: Instant = 0
        """How far the log's clock is ahead of the own one as far as is shown; negative: behind it."""
        self._replica = replica
        self._outbox = outbox
        self._clock = clock
        self._patience_s = patience_s
        self._known = len(self.said)
        """How many entries of this key were said before this speaker, or by it."""
        self._looked = clock(), monotonic()
        self._doubted_s = inf
        self._speaking = asyncio.Lock()
        self._unsettled: Entry | None = None
        """What was signed and has not been seen on the log: nothing else is signed before it is."""

    @property
    def said(self) -> Sequence[str]:
        """The ids of the entries that the log holds of this key."""
        return self._replica.fold.chain.authors[self.identity.public].ids

    def now(self) -> Instant:
        """Return the log's clock as far as the own one and what it has shown so far tell.

        A step of the own clock makes void what was known of the difference. One beyond the skew is gone by for a while
        only: nothing counts on such a clock, and whoever waited for a log a day behind would wait for a day.
        """
        own, beat = self._clock(), monotonic()
        own_before, beat_before = self._looked
        if abs(own - own_before - (beat - beat_before) * SECOND) > STEP or beat > self._doubted_s:
            self.behind = 0
        self._looked = own, beat
        return own + self.behind

    async def recover(self) -> None:
        """Send again what was kept and has not come back: the same bytes, so that nothing is said twice.

        What was kept for another room, or is behind the log, is of no more use. Raises as `say` does, `RolledBack`
        where the log holds less of this key's than was signed: going on would sign other entries with the same numbers;
        and `DamagedOutbox` where what is kept is no entry and the log does not show that it was said.
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
        """Return what the outbox holds, None where that is nothing or damaged beyond use though it was said."""
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
        """Tell whether the log holds an entry with the number of *damaged*: its predecessor's id gives that away."""
        found = _PLACE.findall(damaged)
        if not found:
            return False
        n, prev = int(found[-1][0]), found[-1][1].decode() or None
        return 1 <= n <= len(self.said) and prev == (self.said[n - 2] if n > 1 else None)

    async def _caught_up(self, kept: Entry) -> None:
        """Wait a moment for what was signed before *kept*: the server that answered may lag; raise `RolledBack`."""
        give_up = asyncio.get_running_loop().time() + min(self._patience_s, LAG_S)
        while len(self.said) < kept.n - 1:
            if asyncio.get_running_loop().time() > give_up:
                raise RolledBack(
                    f"log_rolled_back: {kept.n - 1} entries of this key stood here before its last one, "
                    f"now the log holds {len(self.said)}"
                )
            await asyncio.sleep(FIRST_BACKOFF_S)
            await self._patiently(self._replica.refresh, give_up)

    def alone(self) -> None:
        """Raise `SecondProcess` if the log holds an answer to a step under this key that this process did not give.

        What is said about promises from outside (`swarm.visit.saying`) is no sign of another process in this seat.
        """
        record = self._replica.fold.latest.get(self.identity.public)
        if record is None or record.entry is None or record.entry.n <= self._known:
            return
        if "step" in record.entry.body:
            raise self._second()
        self._known = record.entry.n

    async def say(self, body: dict[str, Any], cost: dict[str, Any] | None = None) -> Entry:
        """Say *body* and return its entry once it has come back on the log.

        Raises ``ValueError`` or `TooLarge`, and has signed nothing, if *body* has no canonical form or is more than the
        log takes; `SecondProcess`; `Unsaid` when the log refuses the entry, another `WireError` when it could not be
        reached for as long as this speaker's patience. What was signed is then kept, and is what is said next.
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
        """Tell whether *entry*, said last, counts for nothing since its date and the log's are too far apart."""
        record = self._replica.fold.latest.get(self.identity.public)
        if record is None or record.id != entry.id:
            return False
        return abs(record.stored - entry.sent) > self._replica.fold.chain.skew

    async def _publish(self, entry: Entry) -> None:
        give_up = asyncio.get_running_loop().time() + self._patience_s
        key = self.identity.public
        backoff = FIRST_BACKOFF_S
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
                # Noise is passed at once; whoever makes it without end is not.
                failure, pause = Unavailable(f"others keep writing as {key} in {entry.room}: {error}"), 0.0
            except Unavailable as error:
                failure, pause = error, backoff * random.uniform(0.5, 1.5)
                backoff = min(2 * backoff, LONGEST_BACKOFF_S)
            except RolledBack:
                raise
            except WireError as error:
                failure, pause, refusals = _unsaid(entry, error), FIRST_BACKOFF_S, refusals + 1
            if asyncio.get_running_loop().time() > give_up:
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
        """Find out what stands where *entry* should: None if it is itself said, else the sequence to expect.

        Raises `SecondProcess`.
        """
        last = await self._patiently(self._last, give_up)
        if last is not None and last.payload == entry.payload:
            return None
        # Noise may stand behind the own bytes, or behind another process's.
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
                if asyncio.get_running_loop().time() > give_up:
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
                if asyncio.get_running_loop().time() > give_up:
                    raise
                await asyncio.sleep(FIRST_BACKOFF_S)

    def _compare_clocks(self, entry: Entry, acknowledged: Instant) -> None:
        """Take note of a difference of clocks that is shown: stored before it was sent, or after it was acknowledged.

        A tick that came too early for the log's clock is thus not repeated until it is time.
        """
        record = self._replica.fold.latest.get(self.identity.public)
        if record is None or record.id != entry.id:
            return
        self.now()
        self.behind = min(0, record.stored - entry.sent) or max(0, record.stored - acknowledged)
        self._doubted_s = monotonic() + BELIEVED_S if self.is_disputed(entry) else inf


def _unsaid(entry: Entry, refused: WireError) -> Unsaid:
    return Unsaid(
        f"{refused}; entry {entry.n} of {entry.author} in {entry.room} is signed and may be there all the same, "
        "so nothing else is signed in its place: it is said again at the next start"
    )
