"""Saying something: sign, keep, publish, and treat it as said when it comes back on the log.

A member has one entry in flight. Publishing expects the author's own last sequence (compare-and-set on its own
subject). After a refusal or a doubt the own subject's last record decides: the own bytes are said; an entry under the
own key that was not kept here means a second process with this key, and this one stops; anything else is noise, whose
sequence is expected next.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from protocols.instants import Instant
from swarm.entry import Entry, is_signed, parse_entry, sign_entry
from swarm.errors import BadEntry, SwarmError, Unavailable, WrongLast
from swarm.identity import Identity
from swarm.log.port import Stored
from swarm.outbox import Outbox
from swarm.replica import Replica

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.05, 2.0


class SecondProcess(SwarmError):
    """Another process speaks with this key in this room."""


class Speaker:
    """Speaks in one room with one key."""

    def __init__(
        self, identity: Identity, replica: Replica, outbox: Outbox, clock: Callable[[], Instant], *, patience_s: float
    ) -> None:
        self.identity = identity
        self._replica = replica
        self._outbox = outbox
        self._clock = clock
        self._patience_s = patience_s

    @property
    def said(self) -> list[str]:
        """The ids of the entries that the log holds of this key."""
        return self._replica.fold.chain.authors[self.identity.public].ids

    async def recover(self) -> None:
        """Send again what was kept and has not come back: the same bytes, so that nothing is said twice."""
        kept = self._outbox.kept()
        if kept is None:
            return
        entry = parse_entry(kept)
        if entry.n == len(self.said) + 1 and entry.prev == (self.said[-1] if self.said else None):
            await self._publish(entry)

    async def say(self, body: dict[str, Any], cost: dict[str, Any] | None = None) -> Entry:
        """Say *body* and return its entry once it has come back on the log.

        Raises ``ValueError`` if it has no canonical form, `SecondProcess`, or `Unavailable` when the log could not be
        reached for as long as this speaker's patience; the entry is kept and may still be said.
        """
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
        )
        self._outbox.keep(entry.payload)
        await self._publish(entry)
        return entry

    async def _publish(self, entry: Entry) -> None:
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._patience_s
        backoff = FIRST_BACKOFF_S
        key = self.identity.public
        expected = self._replica.after.get(key, 0)
        while True:
            try:
                await self._replica.log.append(entry.room, key, entry.payload, expected_last=expected)
                break
            except WrongLast:
                last = await self._last(give_up)
                expected = last.sequence if last is not None else 0
                if last is not None and last.payload == entry.payload:
                    break
                if last is not None and self._is_ours(last, entry):
                    raise SecondProcess(
                        f"another process speaks with the key {key} in {entry.room}; this one stops"
                    ) from None
            except Unavailable:
                if loop.time() > give_up:
                    raise
                last = await self._last(give_up)
                if last is not None and last.payload == entry.payload:
                    break
                await asyncio.sleep(backoff * random.uniform(0.5, 1.5))
                backoff = min(2 * backoff, LONGEST_BACKOFF_S)
        await self._read_back(entry, give_up)

    async def _last(self, give_up: float) -> Stored | None:
        while True:
            try:
                return await self._replica.log.last(self._replica.name, self.identity.public)
            except Unavailable:
                if asyncio.get_running_loop().time() > give_up:
                    raise
                await asyncio.sleep(FIRST_BACKOFF_S)

    def _is_ours(self, last: Stored, mine: Entry) -> bool:
        try:
            entry = parse_entry(last.payload)
        except BadEntry:
            return False
        theirs = entry.author == self.identity.public and entry.room == mine.room and entry.n >= mine.n
        return theirs and is_signed(entry)

    async def _read_back(self, entry: Entry, give_up: float) -> None:
        while len(self.said) < entry.n or self.said[entry.n - 1] != entry.id:
            if len(self.said) >= entry.n:
                raise SecondProcess(f"another process speaks with the key {self.identity.public}; this one stops")
            try:
                await self._replica.refresh()
            except Unavailable:
                if asyncio.get_running_loop().time() > give_up:
                    raise
                await asyncio.sleep(FIRST_BACKOFF_S)
