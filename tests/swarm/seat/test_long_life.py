"""Promises that run for months in a room whose peers come and go."""

import asyncio
from typing import Any

from protocols.core.instants import DAY, HOUR, SECOND, Instant, show_instant
from protocols.messages.commitments import ConfirmReport, ReportEvent
from swarm.clock import utc_now
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.signed.identity import Identity

SCENARIO: dict[str, Any] = {
    "room": "lease",
    "intent": "Lease a van for a quarter.",
    "agenda": ["commitments"],
    "events": {"returned": {"by": "ben", "confirmed_by": "ada"}, "paid": {"by": "ben"}},
    "promises": [
        {"id": "return", "debtor": "ben", "creditor": "ada", "then": "returned within 90 days of agreed"},
        {"id": "rent", "debtor": "ben", "creditor": "ada", "then": "paid within 30 days of agreed"},
        {"id": "fee", "debtor": "ben", "creditor": "ada", "if": "violated(rent)",
         "then": "paid(late = yes) within 20 days of violated(rent)"},
    ],
    "rules": {"step_seconds": 10, "watch_seconds": 200 * 24 * 3600},
    "members": [
        {"name": "ada", "agent": "scripted", "confirms": False},
        {"name": "ben", "agent": "scripted"},
    ],
}  # fmt: skip


class World:
    """One log whose clock the test moves, and members that sit down and get up again."""

    def __init__(self) -> None:
        self.ahead: Instant = 0
        self.store = MemoryStore(self.now)
        self.scenario = read_scenario(SCENARIO)
        self.identities = {name: Identity.new() for name in self.scenario.names}
        self.room = ""

    def now(self) -> Instant:
        return utc_now() + self.ahead

    async def open(self) -> None:
        keys = {name: identity.public for name, identity in self.identities.items()}
        entry = sign_opening(self.identities["ada"], self.scenario.opening(keys), self.now())
        self.room = entry.room
        await publish_opening(MemoryLog(self.store), entry)

    async def replica(self) -> Replica:
        replica = Replica(MemoryLog(self.store), self.room, self.identities["ada"].public, self.now)
        await replica.open()
        return replica

    async def sit(self, until: Any) -> Replica:
        """Seat both members until *until* holds of the room, then let them go."""
        replica = await self.replica()
        tasks = [asyncio.create_task(replica.follow())]
        for member in self.scenario.members:
            mind = make_agent(agent_config(member))
            seat = Seat(self.identities[member.name], mind, replica, MemoryOutbox(), self.now)
            tasks.append(asyncio.create_task(seat.run()))
        async with asyncio.timeout(20):
            while not until(replica.room):
                await replica.changed(replica.version)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return replica

    async def say(self, name: str, body: Any) -> str:
        replica = await self.replica()
        speaker = Speaker(self.identities[name], replica, MemoryOutbox(), self.now, patience_s=5)
        return (await speaker.say(body.plain())).id


def test_what_was_due_while_nobody_was_there_is_found_when_somebody_is() -> None:
    """Protects long life: due time and detection are both kept, and the backlog counts before any conclusion."""

    async def live() -> None:
        world = World()
        await world.open()
        first = await world.sit(lambda room: room.closing is not None and room.step is None)
        agreed = first.room.tracker.since("agreed")

        # Reported in time while everybody is away, and confirmed in time: said, and nobody has folded it.
        world.ahead += 20 * DAY
        report = await world.say("ben", ReportEvent(event="returned"))
        world.ahead += DAY
        await world.say("ada", ConfirmReport(report=report))

        # Peers come back long after the rent was due. They read what was said before they let time pass.
        world.ahead += 20 * DAY
        found = await world.sit(lambda room: room.tracker.status("rent").state == "violated")
        states = {name: status.state for name, status in found.room.tracker.statuses().items()}
        assert states == {"return": "satisfied", "rent": "violated", "fee": "detached"}
        rent = found.room.tracker.status("rent")
        assert rent.since == agreed + 30 * DAY
        told = next(f for f in found.room.findings if f.code == "violated")
        assert show_instant(rent.since) in told.text
        assert "found at" in told.text
        assert found.fold.records[told.position - 1].stored > agreed + 40 * DAY

        # Nobody pays the fee either; a tick says so, by whoever is there.
        world.ahead += 10 * DAY
        last = await world.sit(lambda room: room.tracker.status("fee").state == "violated")
        assert last.room.tracker.status("fee").since == rent.since + 20 * DAY
        assert last.room.tracker.status("rent").remedy == "violated"
        kinds = [record.entry.kind for record in last.fold.records if record.entry is not None]
        assert kinds.count("room.tick") <= 6, "ticks are owed where a deadline passes, not all the time"

    asyncio.run(live())


def test_the_watch_ends_a_room_with_promises_open() -> None:
    """Protects runs: after `watch_seconds` of the log the room is over, and what is open is said to be."""

    async def live() -> None:
        world = World()
        await world.open()
        await world.sit(lambda room: room.closing is not None and room.step is None)
        await world.say("ben", ReportEvent(event="returned"))
        world.ahead += 200 * DAY + HOUR + SECOND
        end = await world.sit(lambda room: room.over)
        assert end.room.tracker.status("return").state == "unconfirmed"

    asyncio.run(live())
