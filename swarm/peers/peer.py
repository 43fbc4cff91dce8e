"""A peer from Python: one member's key and mind, seated in a room on a server; and opening such a room."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.agent import Agent
from protocols.core.instants import SECOND
from protocols.views.summary import summary_of
from swarm.clock import utc_now
from swarm.errors import BadInput, WireError
from swarm.files.document import Source, load
from swarm.log.port import Log
from swarm.log.tls import trusted
from swarm.peers.inviting import invite
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import FileOutbox, MemoryOutbox, Outbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.entry import Entry
from swarm.signed.identity import NO_KEY, Identity, is_public_key
from swarm.tasks import alone, until_first
from swarm.visit.keeping import Kept, opening_file

Servers = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class RoomAddress:
    """Where a room is: its full name, and the public key of the member that opened it."""

    room: str
    opener: str


class Peer:
    """One member: its key, its mind, and the server that its rooms are on.

    *outbox* names a file that keeps the last signed bytes, so that a restarted peer sends exactly these again; without
    it a peer is expected to end with its process. The key is also used to log in, where the server wants one. *tls_ca*
    is a file with the authority that signed the server's certificate; the system's own are trusted if it is left out.
    """

    def __init__(
        self,
        agent: Agent,
        identity: Identity,
        server: Servers,
        *,
        outbox: str | os.PathLike[str] | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
    ) -> None:
        self.agent = agent
        self.identity = identity
        self.server = server
        self._tls_ca = tls_ca
        self._outbox: Outbox = FileOutbox(Path(outbox)) if outbox is not None else MemoryOutbox()

    def run(self, room: str, opener: str, *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Sit in *room*, opened by the holder of the key *opener*, until it is over; return what it came to.

        Raises `Unavailable` if the room is not there within *timeout_s* or the server stays out of reach later,
        `BadEntry` if the room is not what its name says, and `SecondProcess` if this key speaks elsewhere.
        """
        return alone(lambda: self.join(room, opener, timeout_s=timeout_s), "Peer.join")

    async def join(self, room: str, opener: str, *, timeout_s: float = 30.0) -> dict[str, Any]:
        """As `run`, for callers with an event loop of their own."""
        from swarm.log.jetstream import JetStreamLog

        name, tls = f"swarm-{self.agent.kind}", trusted(self._tls_ca)
        async with await JetStreamLog.connect(
            self.server, identity=self.identity, name=name, tls=tls, timeout_s=timeout_s
        ) as log:
            return await self.join_on(log, room, opener, timeout_s=timeout_s)

    async def join_on(self, log: Log, room: str, opener: str, *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Sit in *room* on a log that is connected already."""
        replica = Replica(log, room, opener, utc_now, keep=False)
        await replica.open(timeout_s=timeout_s)
        if self.identity.public not in replica.fold.names:
            raise BadInput(f"{self.identity.public} is not a member of {room}")
        seat = Seat(self.identity, self.agent, replica, self._outbox, utc_now)
        await until_first(replica.follow, seat.run)
        return summary_of(replica.room)


async def aopen_room(
    scenario: Source,
    identity: Identity,
    server: Servers,
    *,
    tls_ca: str | os.PathLike[str] | None = None,
    timeout_s: float = 30.0,
) -> RoomAddress:
    """As `open_room`, for callers that have an event loop."""
    document = load(scenario)
    parsed = read_scenario(document)
    keys: dict[str, str] = {}
    for place, member in enumerate(parsed.members):
        if member.key is None:
            raise document.error(("members", place), f"{member.name} has no key: a room for peers elsewhere needs all")
        if not is_public_key(member.key):
            raise document.error(("members", place, "key"), f"{member.key} is {NO_KEY}")
        if member.key in keys.values():
            raise document.error(("members", place, "key"), f"{member.key} sits there already: nobody has two seats")
        keys[member.name] = member.key
    if identity.public not in keys.values():
        raise document.error(("members",), f"the opener is one of the members, and none has the key {identity.public}")

    from swarm.log.jetstream import JetStreamLog

    kept = Kept(opening_file(identity.public, parsed.opening(keys, "0" * 64)))

    async with (
        kept.held(timeout_s),
        await JetStreamLog.connect(
            server, identity=identity, name="swarm-open", tls=trusted(tls_ca), timeout_s=timeout_s
        ) as log,
    ):
        # Dated once the server is there, because an opening is accepted only while it is fresh.
        entry = await _begun(log, kept) or sign_opening(identity, parsed.opening(keys), utc_now())
        kept.keep(entry.payload)
        await publish_opening(log, entry, patience_s=timeout_s)
        try:
            await invite(log, identity, entry.room, keys.values(), patience_s=timeout_s)
        except WireError as error:
            raise type(error)(f"{entry.room} is open, but not everybody could be invited: {error}") from None
        kept.tell(entry)
        return RoomAddress(entry.room, identity.public)


async def _begun(log: Log, kept: Kept) -> Entry | None:
    """Return the opening that an earlier call signed and did not finish, if it is on *log* or may still get there.

    An opening that is too old for a log to accept can never open a room, and is abandoned.
    """
    entry = kept.untold()
    if entry is None:
        return None
    stored = await log.first(entry.room, entry.author)
    fresh = abs(utc_now() - entry.sent) < entry.body["rules"]["skew_seconds"] * SECOND // 2
    return entry if fresh or (stored is not None and stored.payload == entry.payload) else None


def open_room(
    scenario: Source,
    identity: Identity,
    server: Servers,
    *,
    tls_ca: str | os.PathLike[str] | None = None,
    timeout_s: float = 30.0,
) -> RoomAddress:
    """Open a room for peers that run elsewhere.

    What is signed is kept in the key's own folder until everybody is invited: the same call after one that failed finds
    its room or opens it, and does not open a second one for the same question.

    Args:
        scenario: A scenario's path or plain data. Every member needs its ``key``; each is left an invitation, the
            opener too, whose own peer may be anywhere.
        identity: The key of the member that opens.
        server: URLs of a NATS server.
        tls_ca: A file with the authority that signed the server's certificate.
        timeout_s: Seconds that reaching the server, opening and inviting may take each.

    Returns:
        The room's full name and the opener's public key.

    Raises:
        BadInput: The scenario cannot be opened.
        WireError: The server cannot be reached or refuses; the text says if the room is open all the same.
        RuntimeError: An event loop is running in this thread; `await` `aopen_room` there.

    Example:
        >>> from swarm import Identity, open_room
        >>> address = open_room("scenario.yaml", Identity.load("ann.key"), "nats://127.0.0.1:4222")  # doctest: +SKIP
    """
    return alone(
        lambda: aopen_room(scenario, identity, server, tls_ca=tls_ca, timeout_s=timeout_s),
        "aopen_room",
    )
