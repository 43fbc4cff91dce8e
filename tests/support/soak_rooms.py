"""Four standing peers in one process, a broker that can be restarted under them, and many rooms for them."""

import asyncio
import os
import signal
import threading
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from agents import Agent
from agents.agent import Proposed, Ratified, Scored
from protocols.duties.duties import JoinDuty, ProposeDuty, RatifyDuty, ScoreDuty
from protocols.messages.concord import Option
from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.log.jetstream import JetStreamLog
from swarm.peers.inviting import invite
from swarm.peers.kept import Rooms
from swarm.peers.standing import Over, StandingPeer
from swarm.scenario.members import read_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.signed.identity import Identity
from swarm.tasks import end

NAMES = ("ann", "bob", "cid", "dan")
TOGETHER = 10
"""Rooms opened before the peers must have seen the invitations: sixteen of one opener stand together."""


class Willing(Agent):
    """Agrees to whatever is asked, once *begin* is set."""

    def __init__(self, begin: threading.Event) -> None:
        self._begin = begin

    def join(self, duty: JoinDuty) -> None:
        self._begin.wait()

    async def propose(self, duty: ProposeDuty) -> Proposed:
        return Proposed(Option(title=f"what {duty.member} wants", offer={"day": "mon"}))

    async def score(self, duty: ScoreDuty) -> Scored:
        return Scored({asked.id: 60 + len(asked.id) % 30 for asked in duty.options})

    async def ratify(self, duty: RatifyDuty) -> Ratified:
        return Ratified(True)


class Noted(JetStreamLog):
    """Notes the bytes of each append that was acknowledged."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.acknowledged: list[tuple[str, bytes]] | None = None

    async def append(
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        sequence = await super().append(room, author, payload, expected_last=expected_last, timeout_s=timeout_s)
        if self.acknowledged is not None:
            self.acknowledged.append((room, payload))
        return sequence


class Site:
    """A broker in *folder*, and the four on it, each over one connection, with one key and one folder."""

    def __init__(self, folder: Path, *, note: bool = False, seconds: int = 600) -> None:
        self.folder = folder
        self.begin = threading.Event()
        self.identities = {name: Identity.new() for name in NAMES}
        self.over: dict[str, dict[str, str]] = {}
        """The outcome of each room as each member saw it."""
        self.peers: dict[str, StandingPeer] = {}
        self._note = note
        self._seconds = seconds
        self._logs: list[Noted] = []
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._changed = asyncio.Event()

    @property
    def keys(self) -> dict[str, str]:
        return {name: identity.public for name, identity in self.identities.items()}

    def acknowledged(self) -> set[tuple[str, bytes]]:
        return {noted for log in self._logs for noted in log.acknowledged or ()}

    async def __aenter__(self) -> Self:
        self._broker = await self._serve(None)
        self.url = self._broker.url
        for name, identity in self.identities.items():
            log = await Noted.connect(self.url, identity=identity, timeout_s=30)
            log.acknowledged = [] if self._note else None
            self._logs.append(await self._stack.enter_async_context(log))
            rooms = self._stack.enter_context(Rooms.at(self.folder / name, identity))
            file = read_agent({"accepts": {"openers": [self.keys["ann"]]}})
            peer = StandingPeer(
                file,
                identity,
                log,
                rooms=rooms,
                tell=lambda over, name=name: self._over(name, over),
                minds=lambda replica, name: Willing(self.begin),
            )
            self.peers[name] = peer
            self._tasks.append(asyncio.create_task(peer.run()))
        return self

    async def __aexit__(self, *_: Any) -> None:
        for peer in self.peers.values():
            peer.stop()
        await asyncio.wait(self._tasks, timeout=60)
        await end(self._tasks)
        await self._stack.aclose()
        await self._broker.__aexit__(None, None, None)

    async def _serve(self, port: int | None) -> Broker:
        broker = Broker(self.folder / "store", port=port, members=list(self.keys.values()))
        return await broker.__aenter__()

    async def restart(self, away_s: float) -> None:
        """Kill the server, be without it for *away_s* seconds, and start it again where it was."""
        os.kill(self._broker.pid, signal.SIGKILL)
        await self._broker.__aexit__(None, None, None)
        await asyncio.sleep(away_s)
        self._broker = await self._serve(int(self.url.rpartition(":")[2]))

    def _over(self, name: str, over: Over) -> None:
        self.over.setdefault(over.room, {})[name] = over.outcome
        self._changed.set()

    async def open(self, count: int) -> list[str]:
        """Open so many rooms, as ann, a few at a time; return their names once all four sit in all of them."""
        opener, opened = self.identities["ann"], []
        for first in range(0, count, TOGETHER):
            for number in range(first, min(count, first + TOGETHER)):
                entry = sign_opening(opener, _scenario(number, self.keys, self._seconds), utc_now())
                await publish_opening(self._logs[0], entry)
                await invite(self._logs[0], opener, entry.room, self.keys.values())
                opened.append(entry.room)
            while not all(self._taken(peer, room) for peer in self.peers.values() for room in opened[-TOGETHER:]):
                await asyncio.sleep(0.01)
        return opened

    def _taken(self, peer: StandingPeer, room: str) -> bool:
        return peer.sits_in(room) or room in self.over

    async def ended(self, rooms: list[str]) -> None:
        """Wait until every member has seen the end of each of *rooms*."""
        while not all(len(self.over.get(room, ())) == len(NAMES) for room in rooms):
            self._changed.clear()
            await self._changed.wait()


def _scenario(number: int, keys: dict[str, str], seconds: int) -> Any:
    return read_scenario(
        {
            "room": f"soak-{number}",
            "intent": "Pick a day.",
            "agenda": ["concord"],
            "issues": {"day": ["mon", "tue"]},
            "rules": {"step_seconds": seconds, "improvements": 1},
            "members": [{"name": name, "key": key} for name, key in keys.items()],
        }
    ).opening(keys)
