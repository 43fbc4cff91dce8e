"""Saying one thing in a room that lives on, and signing how far one has read it: a peer for a moment.

The room is read up to now, the body is tried on a copy of it, and only what the rules accept is signed. So a person or
a script can report, confirm, cancel or release without a process of its own in the room.
"""

import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.core.message import Message
from protocols.messages.commitments import ReportEvent
from protocols.stage.stage import Refused
from swarm.clock import utc_now
from swarm.errors import BadInput, RolledBack
from swarm.ledger.fold import Fold
from swarm.log.tls import trusted
from swarm.seat.opening import find_opener
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.signed.checkpoint import Checkpoint, sign_checkpoint
from swarm.signed.entry import Entry
from swarm.signed.identity import Identity
from swarm.visit.keeping import Kept, said_file, says

Servers = str | Sequence[str]
PATIENCE_S = 30.0
OF_ANOTHER_LOG = ("seen_mismatch", "chain_gap")
"""Codes of the key's own entries which say that this is not the log under which they were signed."""


@dataclass(frozen=True, slots=True)
class Said:
    """What was said: its entry's id and position, and the rules' findings about it.

    ``already``: it had been said before, and was not said again. ``first`` is the entry that had to be said before it:
    an earlier command signed it and did not learn what became of it.
    """

    id: str
    position: int
    findings: tuple[Finding, ...]
    already: bool = False
    first: Entry | None = None


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
    """Yield a replica of *room*, read up to now; *opener* is looked up if it is not given.

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
    outbox: Path | None = None,
    again: bool = False,
    tls_ca: Path | None = None,
) -> Said:
    """Say *body* in *room* as the member with the key *identity*.

    What is signed is stored in the file *outbox*, otherwise in the key's own folder, before it is sent. If an earlier
    call signed an entry and did not see it said, that entry is said first, as the same bytes. If it is *body*, or
    *body* is a report that this member has made before, nothing more is said, unless *again*.

    Raises `Refused` with code and reason, before anything is signed, if the rules would refuse it; `BadInput` if the
    key is not a member's or nothing can be stored; `Unsaid` if the log refuses it; `Unavailable` if it is out of reach.
    """
    kept = Kept(outbox or said_file(identity.public, room))
    async with kept.held(PATIENCE_S), reading(room, server, identity, tls_ca=tls_ca) as replica:
        fold = replica.fold
        name = member_name(fold, identity)
        untold = kept.untold()
        speaker = Speaker(identity, replica, kept, utc_now, patience_s=PATIENCE_S)
        await speaker.recover()
        first = untold if untold is not None and untold.id in speaker.said else None
        before = first if says(first, body) else None
        if before is None and isinstance(body, ReportEvent):
            before = _reported(fold, identity, body)
        if before is not None and not again:
            kept.tell(before)
            return _said(fold, before, already=True)
        for finding in tried(fold, name, body):
            if finding.refused:
                raise Refused(finding.code, finding.text)
        entry = await speaker.say(body.plain())
        kept.tell(entry)
        return _said(fold, entry, first=first)


def _said(fold: Fold, entry: Entry, *, already: bool = False, first: Entry | None = None) -> Said:
    position = next(record.position for record in fold.records if record.id == entry.id)
    found = tuple(finding for finding in fold.room.findings if finding.position == position)
    return Said(entry.id, position, found, already, first)


def _reported(fold: Fold, identity: Identity, body: ReportEvent) -> Entry | None:
    """Return the last valid entry in which *identity* has made this very report."""
    refused = {finding.position for finding in fold.room.findings if finding.refused}
    for record in reversed(fold.records):
        counts = record.id in fold.reports and record.position not in refused
        if counts and record.author == identity.public and says(record.entry, body):
            return record.entry
    return None


def member_name(fold: Fold, identity: Identity) -> str:
    """Return the name that the room gives to *identity*; raise `BadInput` if it is not a member."""
    name = fold.names.get(identity.public)
    if name is None:
        members = ", ".join(fold.names.values())
        raise BadInput(f"the key {identity.public} is no member of {fold.chain.room}; members: {members}")
    return name


def tried(fold: Fold, name: str, body: Message) -> list[Finding]:
    """Return what the rules would find if *name* said *body* now; the room itself does not change."""
    room = copy.deepcopy(fold.room)
    position = fold.chain.position
    return room.apply(Event(position + 1, max(room.at, utc_now()), name, "0" * 64, position, body))


async def sign_receipt(
    room: str, identity: Identity, server: Servers, *, outbox: Path | None = None, tls_ca: Path | None = None
) -> Checkpoint:
    """Return *identity*'s signed checkpoint of *room*, as far as the log holds it now.

    Raises `RolledBack`, and signs nothing, if this log is not the one on which this key has spoken: if it lacks what
    `say` stored in *outbox*, or if this key's entries on it were signed over another log. Two histories under one key
    count against its owner.
    """
    kept = Kept(outbox or said_file(identity.public, room))
    async with reading(room, server, identity, tls_ca=tls_ca) as replica:
        name = member_name(replica.fold, identity)
        chain = replica.fold.chain
        last = kept.last()
        if last is not None and last.id not in chain.authors[identity.public].ids:
            raise RolledBack(f"this log does not hold what this key signed last ({kept.place}); nothing is signed")
        for finding in replica.fold.room.findings:
            if finding.who == name and finding.code in OF_ANOTHER_LOG:
                raise RolledBack(
                    f"record {finding.position} of this key was signed over another log ({finding.code}); nothing is "
                    "signed over this one"
                )
        return sign_checkpoint(identity, room=room, count=chain.position, head=chain.head)
