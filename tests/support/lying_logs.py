"""A broker that lies, and an honest party that has no other: real replicas, seats and exports.

`LyingLog` is what one member gets: it says truly what it was told to store, and shows of the room what its *lie* makes
of the true records. A lie is a function from the true records of a room to those shown. The store itself can also lie
to everybody: about the time, by storing twice, by putting in what nobody said.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from protocols.core.findings import Finding
from swarm.auditing.auditing import AuditResult, audit
from swarm.errors import BadEntry, RolledBack, SwarmError
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.log.port import Cut, Stored
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import Entry, parse_entry
from swarm.signed.identity import Identity
from swarm.testing.virtual import now, without_waiting

Records = list[Stored]
Lie = Callable[[Records], Records]
Which = Callable[[Stored], bool]
POLL_S = 0.05


# -- the broker -------------------------------------------------------------------------------------------------------


class HostileStore(MemoryStore):
    """What the broker really stores. ``date`` turns the true time into its own; ``twice`` stores everything again.

    ``meddle`` is called before anything is stored that a member says.
    """

    def __init__(self) -> None:
        super().__init__(lambda: self.date(now()))
        self.date: Callable[[int], int] = lambda at: at
        self.twice = False
        self.meddle: Callable[[], None] = lambda: None

    def _append(self, room: str, author: str, payload: bytes, expected_last: int) -> int:
        self.meddle()
        sequence = super()._append(room, author, payload, expected_last)
        if self.twice:
            super()._append(room, author, payload, sequence)
        return sequence

    def put(self, room: str, author: str, payload: bytes) -> None:
        """Store what nobody has said."""
        records = self._rooms[room, author]
        super()._append(room, author, payload, records[-1].sequence if records else 0)

    def records(self, room: str) -> Records:
        """All that is stored of *room*, in order."""
        found = [record for (each, _), records in self._rooms.items() if each == room for record in records]
        return sorted(found, key=lambda record: record.sequence)


class LyingLog(MemoryLog):
    """One member's client of a hostile broker. It is honest: what it was given, or had acknowledged, it misses."""

    def __init__(self, store: HostileStore) -> None:
        super().__init__(store)
        self.lie: Lie = lambda records: records
        self._acknowledged: dict[tuple[str, str], int] = {}

    def _shown(self, room: str) -> Records:
        assert isinstance(self.store, HostileStore)
        return self.lie(self.store.records(room))

    async def append(
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        sequence = await super().append(room, author, payload, expected_last=expected_last)
        self._acknowledged[room, author] = sequence
        return sequence

    async def first(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:
        await self._turn()
        return next((record for record in self._shown(room) if record.author == author), None)

    async def last(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:
        shown = await self._there(room, {author: self._acknowledged.get((room, author), 0)}, timeout_s)
        return next((record for record in reversed(shown) if record.author == author), None)

    async def read(self, room: str, authors: Sequence[str], after: Mapping[str, int], *, timeout_s: float = 5.0) -> Cut:
        had = {author: after.get(author, 0) for author in authors}
        least = {author: max(had[author], self._acknowledged.get((room, author), 0)) for author in authors}
        shown = [record for record in await self._there(room, least, timeout_s) if record.author in had]
        new = [record for record in shown if record.sequence > had[record.author]]
        return Cut(new, max((record.sequence for record in shown), default=0))

    async def _there(self, room: str, least: Mapping[str, int], timeout_s: float) -> Records:
        """Return what is shown once it holds of each author the record with the sequence in *least*, as clients do."""
        give_up = asyncio.get_running_loop().time() + timeout_s
        while True:
            await self._turn()
            shown = self._shown(room)
            lasts = {record.author: record.sequence for record in shown}
            gone = [author for author, sequence in least.items() if lasts.get(author, 0) < sequence]
            if not gone:
                return shown
            if asyncio.get_running_loop().time() > give_up:
                raise RolledBack(f"sequence {least[gone[0]]} of {gone[0]} is gone")
            await asyncio.sleep(POLL_S)


# -- lies -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def _read(payload: bytes) -> Entry | None:
    with suppress(BadEntry):
        return parse_entry(payload)
    return None


def said(by: str, kind: str, step: str | None = None) -> Which:
    """The records in which the holder of the key *by* says *kind*, in answer to *step*."""

    def is_it(record: Stored) -> bool:
        entry = _read(record.payload)
        return (
            entry is not None
            and record.author == by
            and entry.kind == kind
            and (step is None or entry.body.get("step") == step)
        )

    return is_it


def without(which: Which) -> Lie:
    """Hide some records."""
    return lambda records: [record for record in records if not which(record)]


def redated(which: Which, by: int) -> Lie:
    """Move the store time of some records by so many microseconds."""
    return lambda records: [replace(r, stored=r.stored + by) if which(r) else r for r in records]


def swapped(which: Which) -> Lie:
    """Show the first of some records after the one that follows it, in each other's place; until then show neither."""

    def lie(records: Records) -> Records:
        place = next((i for i, record in enumerate(records) if which(record)), None)
        if place is None:
            return records
        first, *rest = records[place:]
        if not rest:
            return records[:place]
        second = rest[0]
        return [
            *records[:place],
            replace(second, sequence=first.sequence, stored=first.stored),
            replace(first, sequence=second.sequence, stored=second.stored),
            *rest[1:],
        ]

    return lie


def instead(which: Which, payload: Callable[[], bytes | None]) -> Lie:
    """Show other bytes in the place of some records, once there are any."""
    return lambda records: [replace(r, payload=payload() or r.payload) if which(r) else r for r in records]


def once(which: Which, lie: Lie) -> Lie:
    """Tell the truth until the log holds one of some records, then lie."""
    return lambda records: lie(records) if any(map(which, records)) else records


def cut_before(which: Which) -> Lie:
    """Show nothing from the first of some records on."""

    def lie(records: Records) -> Records:
        place = next((i for i, record in enumerate(records) if which(record)), len(records))
        return records[:place]

    return lie


# -- the honest party -------------------------------------------------------------------------------------------------


def scenario(*names: str, **rules: Any) -> dict[str, Any]:
    """A room that picks a day; everybody prefers the own one and can live with the others'."""
    return {
        "room": "picnic",
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue", "wed"]},
        "rules": {"step_seconds": 5, "improvements": 0, **rules},
        "members": [
            {"name": name, "proposes": {"title": day, "offer": {"day": day}}, "scores": {day: 90, "otherwise": 60}}
            for name, day in zip(names, ("mon", "tue", "wed"), strict=False)
        ],
    }


@dataclass
class Seated:
    """One member: where its part ended (the room's outcome, or the name of the error that stopped it), and its fold."""

    identity: Identity
    log: LyingLog
    fold: Fold | None = None
    ended: str = ""
    why: str = ""


class Party:
    """ann, bob and cyd on one hostile broker. Set its lies, then `sit`; *absent* never come."""

    def __init__(
        self, *, absent: Sequence[str] = (), names: Sequence[str] = ("ann", "bob", "cyd"), **rules: Any
    ) -> None:
        self.store = HostileStore()
        self.scenario = read_scenario(scenario(*names, **rules))
        self.members = {name: Seated(Identity.new(), LyingLog(self.store)) for name in names}
        self.absent = set(absent)
        self.room = ""

    def key(self, name: str) -> str:
        return self.members[name].identity.public

    def said(self, by: str, kind: str, step: str | None = None) -> Which:
        return said(self.key(by), kind, step)

    def lie_to(self, *names: str, lie: Lie) -> None:
        """Let the broker show *names* what *lie* makes of the room."""
        for name in names:
            self.members[name].log.lie = lie

    def sit(self) -> "Party":
        """Let everyone who is there sit until the room is over for it or it stops."""
        without_waiting(self._sit())
        return self

    async def _sit(self) -> None:
        keys = {name: member.identity.public for name, member in self.members.items()}
        opener = next(iter(self.members.values())).identity
        entry = sign_opening(opener, self.scenario.opening(keys), now())
        self.room = entry.room
        await publish_opening(MemoryLog(self.store), entry)
        there = [each for each in self.scenario.members if each.name not in self.absent]
        await asyncio.gather(*(self._seat(each.name, make_agent(agent_config(each)), opener.public) for each in there))

    async def _seat(self, name: str, agent: Any, opener: str) -> None:
        member = self.members[name]
        replica = Replica(member.log, self.room, opener, now)
        await replica.open()
        member.fold = replica.fold
        seat = Seat(member.identity, agent, replica, MemoryOutbox(), now)
        tasks = [asyncio.create_task(replica.follow()), asyncio.create_task(seat.run())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            member.ended = replica.room.ending.outcome if replica.room.ending else "unfinished"
            member.why = (replica.room.ending.reason or "") if replica.room.ending else ""
        except SwarmError as error:
            member.ended, member.why = type(error).__name__, str(error)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # What came of it

    @property
    def ended(self) -> dict[str, str]:
        """How each member's part ended."""
        return {name: member.ended for name, member in self.members.items() if name not in self.absent}

    def fold(self, name: str) -> Fold:
        fold = self.members[name].fold
        assert fold is not None
        return fold

    def findings(self, name: str, code: str) -> list[Finding]:
        return [finding for finding in self.fold(name).room.findings if finding.code == code]

    def blamed(self, name: str, code: str) -> set[str]:
        """Whose records the fold of *name* holds *code* against."""
        return {finding.who for finding in self.findings(name, code)}

    def roster(self) -> dict[str, str]:
        return {name: self.key(name) for name in self.members}

    def export(self, name: str, folder: Path) -> Path:
        """Write the ledger that *name* has, closed by itself."""
        chain = self.fold(name).chain
        path = folder / f"{name}.jsonl"
        closing = sign_checkpoint(self.members[name].identity, room=self.room, count=chain.position, head=chain.head)
        write_ledger(path, self.room, self.fold(name).records, closing)
        return path

    def receipt(self, name: str, folder: Path) -> Path:
        """Write the receipt of *name*: its signature under how far it got, and the head there."""
        path = folder / f"{name}.receipt"
        path.write_bytes(self.export(name, folder).read_bytes().splitlines(keepends=True)[-1])
        return path

    def audit(self, name: str, folder: Path, *, receipts: Sequence[str] = ()) -> AuditResult:
        """Audit what *name* exports, with the receipts of others."""
        held = [self.receipt(other, folder) for other in receipts]
        return audit(self.export(name, folder), roster=self.roster(), receipts=held)
