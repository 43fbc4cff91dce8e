"""Opening a room: the first entry of its log, signed by a member."""

import asyncio
from typing import Any

from protocols.core.instants import Instant
from protocols.messages.room import RoomOpen, room_name
from swarm.errors import BadEntry, SwarmError, Unavailable, WrongLast
from swarm.ledger.chain import HEAD_0
from swarm.ledger.fold import read_opening
from swarm.log.port import Log
from swarm.signed.entry import Entry, parse_entry, sign_entry
from swarm.signed.identity import Identity


def sign_opening(identity: Identity, opening: RoomOpen, now: Instant) -> Entry:
    """Return the entry with which *identity*, a member, opens the room that *opening* describes."""
    body: dict[str, Any] = opening.plain()
    name = room_name(opening.slug, identity.public, body)
    return sign_entry(identity, room=name, n=1, prev=None, seen=(0, HEAD_0), sent=now, body=body)


async def publish_opening(log: Log, entry: Entry, *, patience_s: float = 30.0) -> None:
    """Put *entry* on *log*; to open twice with the same bytes is to open once."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + patience_s
    while True:
        try:
            await log.append(entry.room, entry.author, entry.payload, expected_last=0)
            return
        except WrongLast:
            first = await log.first(entry.room, entry.author)
            if first is not None and first.payload == entry.payload:
                return
            raise SwarmError(f"something else stands where {entry.room} should open") from None
        except Unavailable:
            if loop.time() > give_up:
                raise
            await asyncio.sleep(0.1)


async def find_opener(log: Log, room: str, *, timeout_s: float = 10.0) -> str:
    """Return the public key of the member that opened *room*: the author of the record that gives the room its name.

    Raises `Unavailable` if there is no such room on *log*, or none whose opening matches its name.
    """
    for stored in await log.earliest(room, timeout_s=timeout_s):
        try:
            read_opening(stored, room)
        except BadEntry:
            continue
        return stored.author
    raise Unavailable(f"there is no room {room} on this log")


def kept_opening(payload: bytes) -> Entry:
    """Return a stored opening; raises `BadEntry`."""
    entry = parse_entry(payload)
    if entry.kind != "room.open":
        raise BadEntry("bad_opening", "what was kept is no opening")
    return entry
