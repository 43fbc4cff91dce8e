"""A peer from Python: one member's key and mind, seated in a room on a server; and opening such a room."""

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.agent import Agent
from swarm.clock import utc_now
from swarm.errors import BadInput, SwarmError
from swarm.files import Document, load
from swarm.identity import Identity
from swarm.log.port import Log
from swarm.opening import publish_opening, sign_opening
from swarm.outbox import FileOutbox, MemoryOutbox, Outbox
from swarm.replica import Replica
from swarm.scenario import read_scenario
from swarm.seat import Seat
from swarm.summary import summary_of

Servers = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class RoomAddress:
    """Where a room is: its full name, and the public key of the member that opened it."""

    room: str
    opener: str


class Peer:
    """One member: its key, its mind, and the server that its rooms are on.

    *outbox* names a file that keeps the last signed bytes, so that a restarted peer sends exactly these again; without
    it a peer is expected to end with its process. *login* uses the key to log in, as a server with accounts wants.
    """

    def __init__(
        self,
        agent: Agent,
        identity: Identity,
        server: Servers,
        *,
        outbox: str | os.PathLike[str] | None = None,
        login: bool = True,
    ) -> None:
        self.agent = agent
        self.identity = identity
        self.server = server
        self._outbox: Outbox = FileOutbox(Path(outbox)) if outbox is not None else MemoryOutbox()
        self._login = login

    def run(self, room: str, opener: str, *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Sit in *room*, opened by the holder of the key *opener*, until it is over; return what it came to.

        Raises `Unavailable` if the room is not there within *timeout_s* or the server stays out of reach later,
        `BadEntry` if the room is not what its name says, and `SecondProcess` if this key speaks elsewhere.
        """
        return asyncio.run(self.join(room, opener, timeout_s=timeout_s))

    async def join(self, room: str, opener: str, *, timeout_s: float = 30.0) -> dict[str, Any]:
        """As `run`, for callers with an event loop of their own."""
        from swarm.log.jetstream import JetStreamLog

        login = self.identity if self._login else None
        name = f"swarm-{self.agent.kind}"
        async with await JetStreamLog.connect(self.server, identity=login, name=name, timeout_s=timeout_s) as log:
            return await self.join_on(log, room, opener, timeout_s=timeout_s)

    async def join_on(self, log: Log, room: str, opener: str, *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Sit in *room* on a log that is connected already."""
        replica = Replica(log, room, opener, utc_now, keep=False)
        await replica.open(timeout_s=timeout_s)
        if self.identity.public not in replica.fold.names:
            raise BadInput(f"{self.identity.public} is not a member of {room}")
        seat = Seat(self.identity, self.agent, replica, self._outbox, utc_now)
        tasks = {asyncio.create_task(replica.follow()), asyncio.create_task(seat.run())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, SwarmError):
                    await task
        return summary_of(replica.room)


def open_room(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Document,
    identity: Identity,
    server: Servers,
    *,
    login: bool = True,
    timeout_s: float = 30.0,
) -> RoomAddress:
    """Open the room of *scenario* for peers that run elsewhere, as the member whose key *identity* is.

    Every member of the scenario needs its ``key``. Raises `BadInput` for a scenario that cannot be opened, and
    `Unavailable` if the server cannot be reached.
    """
    document = load(scenario)
    parsed = read_scenario(document)
    keys: dict[str, str] = {}
    for place, member in enumerate(parsed.members):
        if member.key is None:
            raise document.error(("members", place), f"{member.name} has no key: a room for peers elsewhere needs all")
        keys[member.name] = member.key
    if identity.public not in keys.values():
        raise document.error(("members",), f"the opener is one of the members, and none has the key {identity.public}")
    entry = sign_opening(identity, parsed.opening(keys), utc_now())

    async def publish() -> None:
        from swarm.log.jetstream import JetStreamLog

        known = identity if login else None
        async with await JetStreamLog.connect(server, identity=known, name="swarm-open", timeout_s=timeout_s) as log:
            await publish_opening(log, entry, patience_s=timeout_s)

    asyncio.run(publish())
    return RoomAddress(entry.room, identity.public)
