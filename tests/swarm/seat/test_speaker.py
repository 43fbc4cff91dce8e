"""Said means read back: exactly once, whatever the log, a second process or a crash does."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from swarm.clock import utc_now
from swarm.errors import SecondProcess, SwarmError, Unavailable
from swarm.ledger.fold import Fold
from swarm.seat.outbox import FileOutbox, MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.signed.entry import parse_entry
from tests.support.faulty_logs import Crash, Crashing, Lossy, Noisy, Through
from tests.support.small_rooms import Sitting, go, member, room

pytestmark = pytest.mark.usefixtures("without_waiting")

TICK = {"kind": "room.tick"}


def speaker(sitting: Sitting, replica: Replica, outbox: Any = None, patience_s: float = 10.0) -> Speaker:
    return Speaker(sitting.opener, replica, outbox or MemoryOutbox(), utc_now, patience_s=patience_s)


def codes(fold: Fold) -> Counter[str]:
    return Counter(finding.code for finding in fold.room.findings)


def answered_twice(fold: Fold) -> list[tuple[str, str]]:
    """Return each (step, member) of which the log holds more than one answer."""
    said = Counter(
        (r.entry.body["step"], r.author) for r in fold.records if r.entry is not None and "step" in r.entry.body
    )
    return [key for key, times in said.items() if times > 1]


@pytest.mark.parametrize("times", [1, 4])
def test_noise_on_the_own_subject_is_passed(times: int) -> None:
    """Protects a member on an open broker: others' writing on its subject delays it and does not silence it."""

    async def work() -> None:
        log = Noisy(times)
        sitting = Sitting(room(), log)
        replica = await sitting.open()
        log.active = True
        entry = await speaker(sitting, replica).say(TICK)
        assert entry.id in replica.fold.chain.authors[entry.author].ids
        assert codes(replica.fold)["not_json"] == times

    go(work())


def test_endless_noise_ends_the_attempt() -> None:
    """Protects the process: whoever floods a member's subject makes it give up in time, not spin."""

    async def work() -> None:
        log = Noisy(10**9, late_s=0.001)
        sitting = Sitting(room(), log)
        replica = await sitting.open()
        log.active = True
        with pytest.raises(Unavailable, match="others keep writing"):
            await speaker(sitting, replica, patience_s=0.1).say(TICK)

    go(work())


def test_old_bytes_of_ones_own_are_noise() -> None:
    """Protects against replays: somebody who stores a member's earlier entry again does not pass for its second."""

    async def work() -> None:
        log = Noisy(1)
        sitting = Sitting(room(), log)
        replica = await sitting.open()
        said = speaker(sitting, replica)
        log.noise = (await said.say(TICK)).payload
        log.active = True
        entry = await said.say(TICK)
        assert (entry.n, codes(replica.fold)["duplicate"]) == (3, 1)

    go(work())


@pytest.mark.parametrize("seed", range(3))
def test_lost_requests_and_answers_change_nothing(seed: int) -> None:
    """Protects exactly-once: over a log that loses a third of everything, every member answers every step once."""

    async def work() -> None:
        log = Lossy(seed)
        sitting = Sitting(room(member("ann"), member("bob"), member("cat"), seconds=30), log)
        log._share = 0.0
        await sitting.open()
        replicas = [await sitting.replica() for _ in sitting.identities]
        log._share = 0.3
        following = [asyncio.create_task(replica.follow()) for replica in replicas]
        seats = [
            Seat(sitting.identities[name], sitting.agents[name], replica, MemoryOutbox(), utc_now)
            for name, replica in zip(sitting.identities, replicas, strict=True)
        ]
        await asyncio.gather(*(seat.run() for seat in seats))
        for task in following:
            task.cancel()
        fold = replicas[0].fold
        assert fold.room.ending is not None
        assert fold.room.ending.outcome == "agreed"
        assert log.lost > 5
        assert not answered_twice(fold)
        assert not {"equivocation", "duplicate", "chain_gap"} & set(codes(fold))

    go(work())


@pytest.mark.parametrize("stored", [False, True])
def test_the_same_bytes_are_sent_after_a_crash(tmp_path: Path, stored: bool) -> None:
    """Protects against equivocation: what was signed before a crash is what is said after it, once."""

    async def work() -> None:
        sitting = Sitting(room())
        replica = await sitting.open()
        outbox = FileOutbox(tmp_path / "ann.outbox")
        crashing = await sitting.replica(Crashing(sitting.log, stored=stored))
        with pytest.raises(Crash):
            await speaker(sitting, crashing, outbox).say(TICK)
        kept = outbox.kept()
        assert kept is not None

        restarted = await sitting.replica()
        again = speaker(sitting, restarted, FileOutbox(tmp_path / "ann.outbox"))
        await again.recover()
        await again.recover()
        await again.say(TICK)
        await replica.refresh()
        payloads = [record.payload for record in replica.fold.records]
        assert payloads.count(kept) == 1
        assert len(payloads) == 3
        assert not codes(replica.fold)

    go(work())


def test_what_was_kept_for_another_room_is_not_said_in_this_one(tmp_path: Path) -> None:
    """Protects a directory that is used again: an old outbox neither speaks elsewhere nor keeps a member waiting."""

    async def work() -> None:
        outbox = FileOutbox(tmp_path / "outbox")
        old = Sitting(room())
        await old.open()
        bob = old.identities["bob"]
        with pytest.raises(Crash):
            crashing = await old.replica(Crashing(old.log, stored=False))
            await Speaker(bob, crashing, outbox, utc_now, patience_s=1).say(TICK)
        new = Sitting(room(), old.log)
        new.identities["bob"] = bob
        replica = await new.open()
        await Speaker(bob, replica, outbox, utc_now, patience_s=1).recover()
        assert replica.fold.chain.position == 1
        assert await old.log.last(old.room, bob.public) is None

    go(work())


def test_an_outbox_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    """Protects the operator: a full or missing disk is a message with the path, no traceback."""
    (tmp_path / "box").mkdir()
    with pytest.raises(SwarmError, match="box"):
        FileOutbox(tmp_path / "box").kept()
    with pytest.raises(SwarmError, match="nowhere"):
        FileOutbox(tmp_path / "nowhere" / "box").keep(b"x")


def test_of_two_processes_with_one_key_one_stops() -> None:
    """Protects a member's chain: of two that speak with one key one stops, and no number is used twice."""

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        await sitting.open()
        replicas = {name: await sitting.replica() for name in ("ann", "bob", "bob too")}
        following = [asyncio.create_task(replica.follow()) for replica in replicas.values()]
        seats = [
            Seat(sitting.identities[name[:3]], sitting.agents[name[:3]], replica, MemoryOutbox(), utc_now).run()
            for name, replica in replicas.items()
        ]
        ann, *both = await asyncio.gather(*seats, return_exceptions=True)
        for task in following:
            task.cancel()
        assert ann is None
        assert sum(isinstance(end, SecondProcess) for end in both) == 1
        fold = replicas["ann"].fold
        assert fold.room.ending is not None
        assert fold.room.ending.outcome == "agreed"
        assert not answered_twice(fold)
        assert not codes(fold)["equivocation"]

    go(work())


@pytest.mark.parametrize("behind_noise", [False, True])
def test_an_entry_under_the_own_key_that_was_not_kept_stops_the_speaker(behind_noise: bool) -> None:
    """Protects against forks: a second process is noticed even if noise stands behind what it said."""

    async def work() -> None:
        sitting = Sitting(room())
        first = await sitting.open()
        second = await sitting.replica()
        said = await speaker(sitting, first).say(TICK)
        if behind_noise:
            await sitting.log.append(sitting.room, said.author, b"noise", expected_last=first.after[said.author])
        outbox = MemoryOutbox()
        with pytest.raises(SecondProcess):
            await speaker(sitting, second, outbox).say(TICK | {"step": "room.joining"})
        await first.refresh()
        assert len(first.fold.chain.authors[said.author].ids) == 2
        assert parse_entry(outbox.kept() or b"").n == 2

    go(work())


def test_a_speaker_gives_up_on_a_log_that_does_not_give_back() -> None:
    """Protects the process: an entry that is taken and never comes back ends the wait at the speaker's patience."""

    class Forgetful(Through):
        async def read(self, *args: Any, **more: Any) -> Any:
            cut = await super().read(*args, **more)
            return type(cut)([r for r in cut.records if r.sequence == 1], cut.upper)

    async def work() -> None:
        sitting = Sitting(room(), Forgetful())
        replica = await sitting.open()
        with pytest.raises(Unavailable, match="does not come back"):
            await speaker(sitting, replica, patience_s=0.2).say(TICK)

    go(work())
