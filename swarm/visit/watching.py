"""Looking at rooms from outside: their status, now or as it changes, and the rooms of a key. Nothing is said."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio

from swarm.clock import utc_now
from swarm.errors import BadEntry, Unavailable
from swarm.ledger.status import status_of
from swarm.log.port import Log
from swarm.log.tls import trusted
from swarm.seat.opening import find_opener
from swarm.seat.replica import Replica
from swarm.signed.identity import Identity
from swarm.signed.invitation import read_invitations
from swarm.tasks import end
from swarm.visit.saying import Servers, reading

LOOK_S = 1.0
"""How often a watched room is read even if nothing was said, because time itself changes its status."""
ROOM_S = 5.0
"""How long it may take to reach the server, and again to read a room."""


async def status(
    room: str, server: Servers, identity: Identity | None = None, *, tls_ca: Path | None = None
) -> dict[str, Any]:
    """Return how *room* stands on *server* now; raises `Unavailable` if the server or the room is not there."""
    async with reading(room, server, identity, tls_ca=tls_ca, timeout_s=ROOM_S) as replica:
        return status_of(replica.fold, utc_now())


async def watch(
    room: str, server: Servers, identity: Identity | None = None, *, tls_ca: Path | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Yield the status of *room*, now and whenever it changes, until it is over; waits for a server out of reach."""
    async with reading(room, server, identity, tls_ca=tls_ca, timeout_s=ROOM_S) as replica:
        follow = asyncio.create_task(replica.follow())
        try:
            shown: dict[str, Any] | None = None
            while True:
                version = replica.version
                stands = status_of(replica.fold, utc_now())
                if shown is None or _news(stands) != _news(shown):
                    shown = stands
                    yield stands
                if replica.room.over:
                    return
                if follow.done():
                    follow.result()
                with anyio.move_on_after(LOOK_S):
                    await replica.changed(version)
        finally:
            # A separate task: a group must not stay open while its caller holds what was yielded.
            await end({follow})


def _news(stands: dict[str, Any]) -> Any:
    """Return the part of a status whose change is news: not how long things have waited."""
    waiting = [(w["member"], w["for"], w["position"], w["state"], w["stale"]) for w in stands["waiting"]]
    step = stands["step"] and (stands["step"]["id"], stands["step"]["late"])
    return stands["records"], step, waiting, stands["promises"], stands["over"]


async def rooms(
    identity: Identity, server: Servers, *, tls_ca: Path | None = None, timeout_s: float = ROOM_S
) -> list[dict[str, Any]]:
    """Return the rooms on *server* in which *identity* has spoken or to which it is invited, with their status."""
    from swarm.log.jetstream import JetStreamLog

    async with await JetStreamLog.connect(
        server, identity=identity, name="swarm-rooms", tls=trusted(tls_ca), timeout_s=timeout_s
    ) as log:
        spoken = await log.rooms(identity.public, timeout_s=timeout_s)
        invited: dict[str, str] = {}
        for stored in await log.invitations(identity.public, timeout_s=timeout_s):
            with contextlib.suppress(BadEntry):
                invited |= {each.room: each.opener for each in read_invitations(stored.author, stored.payload)}
        return [await _brief(log, room, invited.get(room), identity) for room in dict.fromkeys([*spoken, *invited])]


async def _brief(log: Log, room: str, opener: str | None, identity: Identity) -> dict[str, Any]:
    """Return what *room* is to *identity*: its name there, the room's status, and what it owes; or an error."""
    try:
        replica = Replica(log, room, opener or await find_opener(log, room), utc_now)
        await replica.open()
    except (BadEntry, Unavailable) as error:
        return {"room": room, "problem": str(error)}
    me = replica.fold.names.get(identity.public)
    stands = status_of(replica.fold, utc_now())
    own = [awaited for awaited in stands["waiting"] if awaited["member"] == me]
    return {
        "room": room,
        "intent": stands["intent"],
        "as": me,
        "outcome": stands["outcome"],
        "over": stands["over"],
        "step": stands["step"] and stands["step"]["id"],
        "owed": [awaited["for"] for awaited in own],
        "offers": [awaited["offer"] for awaited in own if "offer" in awaited],
        "problem": None,
    }
