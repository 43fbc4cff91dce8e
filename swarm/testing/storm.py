"""A room under a schedule of faults drawn from one seed, in time that does not pass by itself.

Members are seats with logs of their own (`weather`); some are killed where they stand, and started again from what they
kept, at once, late or never; now and then a second process takes a member's key.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from agents.scripted import Scripted
from protocols.duties.duties import Duty
from swarm.errors import SecondProcess, SwarmError
from swarm.files.document import Source
from swarm.ledger.file import write_ledger
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox, Outbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import parse_entry
from swarm.signed.identity import Identity
from swarm.testing.virtual import now
from swarm.testing.weather import Weather

GIVE_UP_S = 1200.0
"""Of the room's own time: far beyond what all of its steps may take."""
STEP_S = 20


class Asked(Scripted):
    """A script that counts what it is asked."""

    count: Counter[tuple[str, str]]


for _act in ("interpret", "read", "settle", "quote", "propose", "score", "improve", "ratify"):

    def _counting(act: str) -> Any:
        plain = getattr(Scripted, act)

        async def asked(self: Asked, duty: Duty) -> Any:
            self.count[duty.step or "", "again" if duty.problem else ""] += 1
            return await plain(self, duty)

        return asked

    setattr(Asked, _act, _counting(_act))


def drawn(random: Random) -> dict[str, Any]:
    """Return a small room: meanings that may differ, options, an improvement, a promise with a report to confirm."""
    names = ["ann", "bob", "cid", "dan"][: random.choice([2, 3, 3, 4])]
    days = ["mon", "tue", "wed"]
    members = [
        {
            "name": name,
            "reads": {"task": {"meaning": random.choice(["one day", "any day"])}},
            "proposes": {"title": f"{name}'s", "offer": {"day": random.choice(days), "hour": random.choice([9, 14])}},
            "scores": {"otherwise": random.randrange(40, 95)},
            "improves": [{"title": "better", "offer": {"day": random.choice(days), "hour": 11}}],
            "performs": [{"event": "met", "when": "agreed", "after": "3 seconds"}] if name == names[0] else [],
        }
        for name in names
    ]
    return {
        "room": "storm",
        "intent": "Find a day to meet.",
        "agenda": ["accord", "concord", "commitments"],
        "issues": {"day": days, "hour": [9, 11, 14]},
        "events": {"met": {"by": names[0], "confirmed_by": names[-1]}},
        "promises": [
            {"id": "meet", "debtor": names[0], "creditor": names[-1], "then": "met within 60 seconds of agreed"}
        ],
        "rules": {"step_seconds": STEP_S, "improvements": 2, "watch_seconds": 90},
        "members": members,
    }


@dataclass
class Outcome:
    """What came of one schedule, for the test to judge."""

    room: str
    over: bool
    outcome: str | None
    reason: str | None
    heads: dict[str, str]
    results: dict[str, Any]
    findings: list[str]
    acknowledged: list[bytes]
    stored: list[bytes]
    asked: dict[str, Counter[tuple[str, str]]]
    stopped: dict[str, list[str]]
    seconds: float
    kills: int
    doubles: int
    ledger: Path | None = None
    keys: dict[str, str] = field(default_factory=dict)


class Storm:
    """One schedule. The same seed gives the same faults in the same places."""

    def __init__(
        self, seed: int, folder: Path | None = None, *, scenario: Source | None = None, count_asked: bool = True
    ) -> None:
        """Draw the faults of *seed* for *scenario*, or for a small room of scripts that is drawn too.

        A ledger is written into *folder*. With *count_asked* scripted minds count what they are asked.
        """
        self.random = Random(seed)
        self.folder = folder
        self.count_asked = count_asked and scenario is None
        self.scenario = read_scenario(drawn(self.random) if scenario is None else scenario)
        self.identities = {name: Identity(self.random.randbytes(32)) for name in self.scenario.names}
        self.outboxes: dict[str, Outbox] = {name: MemoryOutbox() for name in self.scenario.names}
        self.store = MemoryStore(now)
        self.bad = self.random.choice([0.0, 0.02, 0.1, 0.25])
        self.ways: list[Weather] = []
        self.asked: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in self.scenario.names}
        self.stopped: dict[str, list[str]] = {name: [] for name in self.scenario.names}
        self.replicas: dict[str, Replica] = {}
        self.room = ""
        self.kills = self.doubles = 0
        self.lasting = self.random.choice(self.scenario.names)
        """One member always comes back: with nobody left there is nobody to end the room."""

    def _way(self) -> Weather:
        way = Weather(MemoryLog(self.store), Random(self.random.random()), bad=self.bad)
        self.ways.append(way)
        return way

    def _mind(self, name: str) -> Any:
        member = next(m for m in self.scenario.members if m.name == name)
        mind: Any = make_agent(agent_config(member))
        if self.count_asked:
            mind.__class__ = Asked
            mind.count = self.asked[name]
        return mind

    async def _sit(self, name: str, outbox: Outbox) -> None:
        """Sit as *name* until the room is over or this process must stop."""
        opener = self.identities[self.scenario.names[0]]
        replica = Replica(self._way(), self.room, opener.public, now)
        while True:
            try:
                await replica.open()
                break
            except SwarmError:
                await asyncio.sleep(0.2)
        self.replicas[name] = replica
        seat = Seat(self.identities[name], self._mind(name), replica, outbox, now, patience_s=60)
        tasks = {asyncio.create_task(replica.follow()), asyncio.create_task(seat.run())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except SwarmError as error:
            self.stopped[name].append(type(error).__name__)
            if not isinstance(error, SecondProcess):
                raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _live(self, name: str, fate: Random) -> None:
        """Let *name* live its life: killed a few times, each time started again at once, late, or never."""
        await asyncio.sleep(fate.random())
        for _ in range(fate.choice([0, 0, 1, 1, 2, 4])):
            sitting = asyncio.create_task(self._sit(name, self.outboxes[name]))
            await asyncio.wait({sitting}, timeout=fate.random() ** 2 * 8)
            if sitting.done():
                with contextlib.suppress(SwarmError):
                    sitting.result()
                return
            sitting.cancel()
            await asyncio.gather(sitting, return_exceptions=True)
            self.kills += 1
            if fate.random() < 0.08 and name != self.lasting:
                return
            await asyncio.sleep(fate.choice([0, 0, fate.random(), fate.random() * 1.5 * STEP_S]))
        if fate.random() < 0.08 and name != self.lasting:
            self.doubles += 1
            second = asyncio.create_task(self._sit(name, MemoryOutbox()))
            first = asyncio.create_task(self._sit(name, self.outboxes[name]))
            await asyncio.gather(first, second, return_exceptions=True)
            return
        with contextlib.suppress(SwarmError):
            await self._sit(name, self.outboxes[name])

    async def run(self) -> Outcome:
        """Open the room, let everybody live, and look at what came of it from a place without faults."""
        began = asyncio.get_running_loop().time()
        opener = self.identities[self.scenario.names[0]]
        keys = {name: identity.public for name, identity in self.identities.items()}
        entry = sign_opening(opener, self.scenario.opening(keys, self.random.randbytes(32).hex()), now())
        self.room = entry.room
        self.outboxes[self.scenario.names[0]].keep(entry.payload)
        log = MemoryLog(self.store)
        await publish_opening(log, entry)
        watching = Replica(log, self.room, opener.public, now)
        await watching.open()
        lives = [asyncio.create_task(self._live(name, Random(self.random.random()))) for name in self.scenario.names]
        follow = asyncio.create_task(watching.follow())
        await asyncio.wait(lives, timeout=GIVE_UP_S)
        for task in (*lives, follow):
            task.cancel()
        await asyncio.gather(*lives, follow, return_exceptions=True)
        await watching.refresh()
        for replica in self.replicas.values():
            replica.log = log
            with contextlib.suppress(SwarmError):
                await replica.refresh()
        return self._outcome(watching, asyncio.get_running_loop().time() - began)

    def _outcome(self, watching: Replica, seconds: float) -> Outcome:
        chain, room = watching.fold.chain, watching.fold.room
        ledger = None
        if self.folder is not None:
            ledger = self.folder / "storm.jsonl"
            opener = self.identities[self.scenario.names[0]]
            checkpoint = sign_checkpoint(opener, room=chain.room, count=chain.position, head=chain.head)
            write_ledger(ledger, chain.room, watching.fold.records, checkpoint)
        return Outcome(
            room=self.room,
            over=room.over,
            outcome=None if room.ending is None else room.ending.outcome,
            reason=None if room.ending is None else room.ending.reason,
            heads={"": chain.head} | {n: r.fold.chain.head for n, r in self.replicas.items()},
            results={"": room.result} | {n: r.fold.room.result for n, r in self.replicas.items()},
            findings=[finding.code for finding in room.findings],
            acknowledged=[payload for way in self.ways for payload in way.acknowledged],
            stored=[record.payload for record in watching.fold.records],
            asked=self.asked,
            stopped=self.stopped,
            seconds=seconds,
            kills=self.kills,
            doubles=self.doubles,
            ledger=ledger,
            keys={name: identity.public for name, identity in self.identities.items()},
        )


def numbers(stored: list[bytes]) -> Iterator[tuple[str, int]]:
    """Yield author and number of every entry stored."""
    for payload in stored:
        entry = parse_entry(payload)
        yield entry.author, entry.n
