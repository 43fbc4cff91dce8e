"""`swarm say` given twice says once, whatever became of it the first time."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from protocols.messages.commitments import ReportEvent
from protocols.messages.room import Leave, Tick
from swarm.clock import utc_now
from swarm.errors import RolledBack, SwarmError, Unavailable
from swarm.log.jetstream import JetStreamLog
from swarm.log.memory import MemoryLog
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.visit import saying
from swarm.visit.keeping import Kept, state_folder
from tests.support.small_rooms import Sitting, go, member, room

SCENARIO = room(
    member("ann"),
    member("bob"),
    agenda=["commitments"],
    issues={},
    events={"paid": {"by": "ann"}},
    promises=[{"id": "pay", "debtor": "ann", "creditor": "bob", "then": "at least 3 paid within 1 hours of agreed"}],
    rules={"watch_seconds": 3600},
)
SCENARIO = {**SCENARIO, "members": [{"name": "ann"}, {"name": "bob"}]}
del SCENARIO["issues"]
PAID = ReportEvent(event="paid", attributes={"amount": "100"})


class Site(Sitting):
    """A room that everybody has joined, on a log in memory which the verbs are given as their server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(SCENARIO, MemoryLog())
        self.swallows = False

        async def connect(*args: Any, **more: Any) -> MemoryLog:
            log = MemoryLog(self.log.store)
            append = log.append

            async def lost(*args: Any, **more: Any) -> int:
                await append(*args, **more)
                log.read = self._unread  # type: ignore[method-assign]
                log.last = self._unread  # type: ignore[method-assign]
                raise Unavailable("no answer in time")

            if self.swallows:
                log.append = lost  # type: ignore[method-assign]
            return log

        monkeypatch.setattr(JetStreamLog, "connect", connect)
        monkeypatch.setattr(saying, "PATIENCE_S", 0.3)

    async def _unread(self, *args: Any, **more: Any) -> Any:
        raise Unavailable("no answer in time")

    async def start(self) -> None:
        await self.open()
        replica = await self.replica()
        following = asyncio.create_task(replica.follow())
        seats = [
            asyncio.create_task(Seat(key, self.agents[name], replica, MemoryOutbox(), utc_now).run())
            for name, key in self.identities.items()
        ]
        while replica.room.step is not None or not replica.room.started:
            await replica.changed(replica.version)
        for task in (following, *seats):
            task.cancel()

    async def say(self, body: Any, **more: Any) -> saying.Said:
        return await saying.say(self.room, body, self.opener, "nats://127.0.0.1:1", **more)

    def said_last(self) -> str:
        entry = Kept(state_folder(self.opener.public) / f"{self.room}.said").last()
        assert entry is not None
        return entry.id

    async def reports(self) -> int:
        replica = await self.replica()
        return sum(1 for record in replica.fold.records if record.entry and record.entry.kind == "event.report")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Site(monkeypatch)


def test_a_report_given_twice_is_already_said(site: Site) -> None:
    """Protects whoever repeats a command: one report counts, and another one is made only where that is asked for."""

    async def work() -> None:
        await site.start()
        first = await site.say(PAID)
        second = await site.say(PAID)
        assert (first.already, second.already, first.id) == (False, True, second.id)
        assert await site.reports() == 1
        assert not (await site.say(PAID, again=True)).already
        other = ReportEvent(event="paid", attributes={"amount": "101"})
        assert not (await site.say(other)).already
        assert await site.reports() == 3

    go(work())


def test_what_a_command_did_not_learn_is_told_to_the_next(site: Site) -> None:
    """Protects against a second report after a lost answer: the same bytes are found, or said, and nothing else is."""

    async def work() -> None:
        await site.start()
        site.swallows = True
        with pytest.raises(Unavailable):
            await site.say(Tick())
        ticked = site.said_last()
        site.swallows = False
        again = await site.say(Tick())
        assert again.already and again.id == ticked
        site.swallows = True
        with pytest.raises(Unavailable):
            await site.say(PAID)
        site.swallows = False
        assert (await site.say(PAID)).already
        assert await site.reports() == 1

    go(work())


def test_what_was_signed_before_is_said_first(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the numbers of a key: another thing is said behind what an earlier command signed, and that is told."""

    async def work() -> None:
        await site.start()
        with monkeypatch.context() as patch:

            async def gone(*args: Any, **more: Any) -> int:
                raise Unavailable("no answer in time")

            patch.setattr(MemoryLog, "append", gone)
            with pytest.raises(Unavailable):
                await site.say(PAID)
        assert await site.reports() == 0
        said = await site.say(Tick())
        assert said.first is not None and said.first.kind == "event.report"
        assert await site.reports() == 1
        assert (await site.say(Tick())).first is None

    go(work())


def test_what_is_no_report_can_be_said_again(site: Site) -> None:
    """Protects the acts that repeat: the rules judge them, and what was said once stops none."""

    async def work() -> None:
        await site.start()
        assert not (await site.say(Tick())).already
        assert not (await site.say(Tick())).already
        assert not (await site.say(Leave(because="done"))).already
        assert await site.reports() == 0

    go(work())


def test_two_commands_at_once_take_turns(site: Site) -> None:
    """Protects the numbers of a key from its own owner: of two commands one waits for the other."""

    async def work() -> None:
        await site.start()
        said = await asyncio.gather(*(site.say(Tick()) for _ in range(4)))
        assert len({each.id for each in said}) == 4

    go(work())


def test_the_folder_is_the_keys_own_and_private(site: Site, tmp_path: Path) -> None:
    """Protects what is kept: one folder for a key, closed to others, and a place that cannot be used is said."""

    async def work() -> None:
        await site.start()
        await site.say(Tick())
        folder = state_folder(site.opener.public)
        assert folder == tmp_path / "state" / "swarm" / site.opener.public
        assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        box = folder / f"{site.room}.said"
        assert stat.S_IMODE(box.stat().st_mode) == 0o600
        (tmp_path / "file").write_text("")
        with pytest.raises(SwarmError, match="--outbox FILE"):
            await site.say(Tick(), outbox=tmp_path / "file" / "box")
        elsewhere = tmp_path / "elsewhere"
        await site.say(Tick(), outbox=elsewhere)
        assert json.loads(elsewhere.read_bytes())["room"] == site.room

    go(work())


def test_a_receipt_is_signed_only_over_the_log_that_the_key_has_spoken_on(site: Site, tmp_path: Path) -> None:
    """Protects against a second history: a log without the own last words is not vouched for."""

    async def work() -> None:
        await site.start()
        await site.say(PAID)
        kept = Kept(state_folder(site.opener.public) / f"{site.room}.said")
        signed = await saying.sign_receipt(site.room, site.opener, "nats://127.0.0.1:1")
        assert signed.count == (await site.replica()).fold.chain.position
        # The broker shows an older log, on which the last entry was never said.
        site.log.store._rooms[site.room, site.opener.public].pop()
        with pytest.raises(RolledBack, match="signed last"):
            await saying.sign_receipt(site.room, site.opener, "nats://127.0.0.1:1")
        assert kept.last() is not None

    go(work())


def test_a_receipt_is_not_signed_over_a_log_that_contradicts_the_own_entries(site: Site, tmp_path: Path) -> None:
    """Protects a member that was shown two logs: what it signed over one makes it sign nothing over the other."""

    async def work() -> None:
        await site.start()
        replica = await site.replica()
        bob = Speaker(site.identities["bob"], replica, MemoryOutbox(), utc_now, patience_s=5)
        await bob.say({"kind": "room.tick"})
        await Speaker(site.opener, replica, MemoryOutbox(), utc_now, patience_s=5).say({"kind": "room.tick"})
        site.log.store._rooms[site.room, site.identities["bob"].public].pop()
        with pytest.raises(RolledBack, match="seen_mismatch"):
            await saying.sign_receipt(site.room, site.opener, "nats://127.0.0.1:1")

    go(work())
