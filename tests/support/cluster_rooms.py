"""A room of four in one process, each member over a connection of its own, that notes what was acknowledged to it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from swarm.auditing.auditing import AuditResult, audit
from swarm.clock import utc_now
from swarm.ledger.file import write_ledger
from swarm.log.jetstream import JetStreamLog
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.identity import Identity
from swarm.tasks import end
from swarm.testing.weather import Through
from swarm.visit.saying import reading

TITLES = ("early", "soon", "later", "late")
MEMBERS = ("ann", "bob", "cid", "dan")


def scenario(**rules: int) -> dict[str, Any]:
    """Four members, who differ on what a word means and on which day it should be; one promises to come."""
    members = [
        {
            "name": name,
            "reads": {
                "task": {"meaning": "A day on which all four come."},
                "day": {
                    "meaning": f"A working day, as {name} sees it.",
                    "cases": [{"text": "Friday", "applies": n > 1}],
                },
            },
            "proposes": {"title": title, "offer": {"day": n + 1}, "rationale": "It fits."},
            "reserve": 20,
            "scores": {other: 90 - 15 * abs(n - m) + 10 * (other == "soon") for m, other in enumerate(TITLES)},
        }
        for n, (name, title) in enumerate(zip(MEMBERS, TITLES, strict=True))
    ]
    members[1]["performs"] = [{"event": "came", "when": "agreed"}]
    return {
        "room": "cluster",
        "intent": "Agree on a day.",
        "agenda": ["accord", "concord", "commitments"],
        "terms": ["day"],
        "issues": {"day": [1, 2, 3, 4]},
        "events": {"came": {"by": "bob", "confirmed_by": "ann"}},
        "promises": [{"id": "come", "debtor": "bob", "creditor": "ann", "then": "came within 5 days of agreed"}],
        "rules": {"step_seconds": 60, "improvements": 2, "watch_seconds": 60} | rules,
        "members": members,
    }


class Noted(Through):
    """Notes the bytes of each append that the log acknowledged; with a pause before it, a room takes its time."""

    def __init__(self, log: JetStreamLog, pause_s: float) -> None:
        super().__init__(log)
        self._pause_s = pause_s
        self.acknowledged: list[bytes] = []

    async def append(
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        await asyncio.sleep(self._pause_s)
        sequence = await super().append(room, author, payload, expected_last=expected_last, timeout_s=timeout_s)
        self.acknowledged.append(payload)
        return sequence


class Four:
    """The four, each with a connection to `servers` of its own, logged in with its key where that is wanted."""

    def __init__(self, *, pause_s: float = 0, **rules: int) -> None:
        self.servers = ""
        self._pause_s = pause_s
        self.scenario = read_scenario(scenario(**rules))
        self.identities = {name: Identity.new() for name in self.scenario.names}
        self.logs: list[Noted] = []
        self.room = ""

    @property
    def keys(self) -> dict[str, str]:
        return {name: identity.public for name, identity in self.identities.items()}

    @property
    def acknowledged(self) -> set[bytes]:
        return {payload for log in self.logs for payload in log.acknowledged}

    async def run(self, *troubles: tuple[int, Callable[[], Awaitable[None]]]) -> Replica:
        """Play the room to its end, with each of *troubles* once it holds so many records; return a replica of it."""
        opener = self.identities[self.scenario.names[0]]
        async with AsyncExitStack() as stack:
            for identity in self.identities.values():
                log = await JetStreamLog.connect(self.servers, identity=identity, timeout_s=30)
                self.logs.append(Noted(await stack.enter_async_context(log), self._pause_s))
            entry = sign_opening(opener, self.scenario.opening(self.keys), utc_now())
            self.room = entry.room
            await publish_opening(self.logs[0], entry)
            tasks, replicas = [], []
            for member, log in zip(self.scenario.members, self.logs, strict=True):
                replica = Replica(log, entry.room, entry.author, utc_now)
                await replica.open()
                replicas.append(replica)
                mind = make_agent(agent_config(member))
                seat = Seat(self.identities[member.name], mind, replica, MemoryOutbox(), utc_now, patience_s=120)
                tasks += [asyncio.create_task(replica.follow()), asyncio.create_task(seat.run())]
            try:
                watched = replicas[0]
                for at, trouble in troubles:
                    while watched.fold.chain.position < at:
                        await watched.changed(watched.version)
                    assert not watched.room.over, "the room was over before anything had happened"
                    await trouble()
                await asyncio.gather(*tasks[1::2])
            finally:
                await end(tasks)
            for replica in replicas:
                await replica.refresh(timeout_s=30)
            assert len({replica.fold.chain.head for replica in replicas}) == 1, "the members' folds differ"
            return replicas[0]

    async def ledger(self, path: Path) -> AuditResult:
        """Export the room as anybody may, and audit it; whatever was acknowledged must be in it."""
        async with reading(self.room, self.servers, self.identities["ann"], timeout_s=60) as replica:
            chain, records = replica.fold.chain, replica.fold.records
            by = self.identities["ann"]
            checkpoint = sign_checkpoint(by, room=self.room, count=chain.position, head=chain.head)
            write_ledger(path, self.room, records, checkpoint)
        lost = self.acknowledged - {record.payload for record in records}
        assert not lost, f"{len(lost)} acknowledged entries are gone"
        assert len(self.acknowledged) > 50, "the members hardly said anything over this log"
        return audit(path, roster=self.keys)
