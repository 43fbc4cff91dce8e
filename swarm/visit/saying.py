"""Saying one thing in a room that lives on, and signing how far one has read it: peers for a moment.

The room is read up to now, what would be said is tried on a copy of it, and only what the rules take is signed. So a
person or a script reports, confirms, cancels or releases without a process of its own in the room.
"""

import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.core.message import Message
from protocols.stage.stage import Refused
from swarm.clock import utc_now
from swarm.errors import BadInput
from swarm.ledger.fold import Fold
from swarm.log.tls import trusted
from swarm.seat.opening import find_opener
from swarm.seat.outbox import MemoryOutbox, Outbox
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.signed.checkpoint import Checkpoint, sign_checkpoint
from swarm.signed.identity import Identity

Servers = str | Sequence[str]
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Said:
    """What was said: its entry's id and position, and what the rules found noteworthy about it."""

    id: str
    position: int
    findings: tuple[Finding, ...]


@asynccontextmanager
async def reading(
    room: str,
    server: Servers,
    identity: Identity | None,
    *,
    opener: str | None = None,
    tls_ca: Path | None = None,
    timeout_s: float = 10.0,
) -> AsyncIterator[Replica]:
    """Give a replica of *room*, read up to now; *opener* is found if it is not given.

    *tls_ca* is a file with the authority that signed the server's certificate. Raises `Unavailable` if the server or
    the room is not there.
    """
    from swarm.log.jetstream import JetStreamLog

    tls = trusted(tls_ca)
    async with await JetStreamLog.connect(server, identity=identity, name="swarm", tls=tls, timeout_s=timeout_s) as log:
        replica = Replica(log, room, opener or await find_opener(log, room, timeout_s=timeout_s), utc_now)
        await replica.open(timeout_s=timeout_s)
        yield replica


async def say(
    room: str,
    body: Message,
    identity: Identity,
    server: Servers,
    *,
    outbox: Outbox | None = None,
    tls_ca: Path | None = None,
) -> Said:
    """Say *body* in *room* as the member whose key *identity* is.

    Raises `Refused` with code and reason, before anything is signed, if the rules would refuse it; `BadInput` if the
    key is no member's; `Unavailable` if the log is out of reach.
    """
    async with reading(room, server, identity, tls_ca=tls_ca) as replica:
        fold = replica.fold
        name = member_name(fold, identity)
        for finding in tried(fold, name, body):
            if finding.refused:
                raise Refused(finding.code, finding.text)
        speaker = Speaker(identity, replica, outbox or MemoryOutbox(), utc_now, patience_s=PATIENCE_S)
        await speaker.recover()
        entry = await speaker.say(body.plain())
        position = next(r.position for r in fold.records if r.id == entry.id)
        return Said(entry.id, position, tuple(f for f in fold.room.findings if f.position == position))


def member_name(fold: Fold, identity: Identity) -> str:
    """Return the name that the room gives to *identity*; raise `BadInput` if it is no member."""
    name = fold.names.get(identity.public)
    if name is None:
        members = ", ".join(fold.names.values())
        raise BadInput(f"the key {identity.public} is no member of {fold.chain.room}; members: {members}")
    return name


def tried(fold: Fold, name: str, body: Message) -> list[Finding]:
    """Return what the rules would find if *name* said *body* now; the room itself stays as it is."""
    room = copy.deepcopy(fold.room)
    position = fold.chain.position
    return room.apply(Event(position + 1, max(room.at, utc_now()), name, "0" * 64, position, body))


async def sign_receipt(room: str, identity: Identity, server: Servers, *, tls_ca: Path | None = None) -> Checkpoint:
    """Return *identity*'s signed checkpoint of *room* as far as the log holds it now."""
    async with reading(room, server, identity, tls_ca=tls_ca) as replica:
        member_name(replica.fold, identity)
        chain = replica.fold.chain
        return sign_checkpoint(identity, room=room, count=chain.position, head=chain.head)
