"""The seat's loop: what it does about clocks, wake-ups and quiet, and that it never spins."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from protocols.duties.duties import ScoreDuty
from protocols.room.room import Room
from swarm.clock import utc_now
from swarm.errors import ClockApart, Unavailable
from swarm.ledger.fold import Fold
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.log.port import Cut
from swarm.running.running import run
from swarm.seat import seat as seats
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.testing.virtual import NOON
from tests.support.faulty_logs import Refusing, Silent, Through
from tests.support.small_rooms import SECOND, Sitting, custom, go, member, room
from tests.support.strange_agents import Willing

pytestmark = pytest.mark.usefixtures("without_waiting")


async def sit(
    sitting: Sitting, clocks: dict[str, Callable[[], int]] | None = None, absent: tuple[str, ...] = ()
) -> tuple[Fold, dict[str, Any]]:
    """Seat everyone over a replica of their own; return a fold and how each seat ended."""
    if not sitting.room:
        await sitting.open()
    replicas: dict[str, Replica] = {}
    for name in sitting.identities:
        if name not in absent:
            replicas[name] = await sitting.replica(clock=(clocks or {}).get(name))
    following = [asyncio.create_task(replica.follow()) for replica in replicas.values()]
    runs = [
        Seat(sitting.identities[n], sitting.agents[n], replica, MemoryOutbox(), replica.clock).run()
        for n, replica in replicas.items()
    ]
    ends = await asyncio.gather(*runs, return_exceptions=True)
    for task in following:
        task.cancel()
    return next(iter(replicas.values())).fold, dict(zip(replicas, ends, strict=True))


def kinds(fold: Fold) -> list[str]:
    return [record.entry.kind for record in fold.records if record.entry is not None]


def found(fold: Fold) -> list[tuple[str, str]]:
    return [(finding.code, finding.who) for finding in fold.room.findings]


def outcome(fold: Fold) -> str:
    assert fold.room.ending is not None
    return fold.room.ending.outcome


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count how often duties are asked for."""
    asked: list[str] = []
    duties = Room.duties

    def counting(self: Room, name: str) -> Any:
        asked.append(name)
        return duties(self, name)

    monkeypatch.setattr(Room, "duties", counting)
    return asked


def test_a_quiet_room_is_not_polled(counted: list[str]) -> None:
    """Protects the processor: while nothing happens a seat waits; it does not ask for its duties again and again."""

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        await sitting.open()
        task = asyncio.create_task(sit(sitting, absent=("bob",)))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    go(work())
    assert 1 <= len(counted) <= 5


def test_a_mind_that_takes_too_long_keeps_no_seat_busy(counted: list[str]) -> None:
    """Protects the processor: neither a mind at work nor one that was given up is asked about over and over."""
    result = run(room(member("ann"), custom("cat", "Strange", at="score", how="waits"), seconds=2), memory=True)
    assert result.outcome == "no_agreement"
    assert len(counted) < 200


def test_an_entry_whose_date_is_disputed_is_said_again_without_asking_again() -> None:
    """Protects a member whose clock jumped: what did not count is said again once the clock is right."""
    shift = [0]

    class Jumping(Willing):
        asked = 0

        async def score(self, duty: ScoreDuty) -> Any:
            Jumping.asked += 1
            shift[0] = 600 * SECOND
            return await super().score(duty)

    async def work() -> Fold:
        sitting = Sitting(room(member("ann"), custom("cat", "Willing"), seconds=20))
        sitting.agents["cat"] = Jumping()
        watching = await sitting.open()
        task = asyncio.create_task(sit(sitting, {"cat": lambda: utc_now() + shift[0]}))
        while ("clock_disputed", "cat") not in found(watching.fold):
            await asyncio.sleep(0.01)
            await watching.refresh()
        shift[0] = 0
        return (await task)[0]

    fold = go(work())
    assert outcome(fold) == "agreed"
    assert Jumping.asked == 1
    assert 1 <= found(fold).count(("clock_disputed", "cat")) <= 3


def test_a_clock_that_stays_apart_stops_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the log: a member whose every entry is disputed stops after a few, and the others end the room."""
    monkeypatch.setattr(seats, "FIRST_RETRY", 1000)

    async def work() -> tuple[Fold, dict[str, Any]]:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=2))
        return await sit(sitting, {"bob": lambda: utc_now() + 600 * SECOND})

    fold, ends = go(work())
    assert isinstance(ends["bob"], ClockApart)
    assert ends["ann"] is None
    assert (outcome(fold), fold.room.ending and fold.room.ending.reason) == ("abandoned", "missing: bob")
    assert seats.MOST_TRIES <= found(fold).count(("clock_disputed", "bob")) <= seats.MOST_TRIES + 2


def test_ticks_that_change_nothing_end_the_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects against waiting for ever on a log whose clock stands still."""
    monkeypatch.setattr(seats, "LONGEST_WAIT_S", 0.01)
    start = NOON
    now = [start]

    def hurrying() -> int:
        now[0] += SECOND // 5
        return now[0]

    async def work() -> dict[str, Any]:
        log = MemoryLog(MemoryStore(clock=lambda: start))
        rules = {"skew_seconds": 3600}
        sitting = Sitting(room(member("ann"), member("bob"), seconds=2, rules=rules), log, clock=hurrying)
        return (await sit(sitting, absent=("bob",)))[1]

    assert isinstance(go(work())["ann"], ClockApart)


@pytest.mark.parametrize("apart", [-20, 20])
def test_a_clock_apart_within_the_skew_costs_nothing(apart: int) -> None:
    """Protects members with clocks a little off: they neither excuse themselves at every step nor flood with ticks."""

    async def work() -> Fold:
        sitting = Sitting(room(member("ann"), custom("cat", "Willing"), seconds=5))
        return (await sit(sitting, {"cat": lambda: utc_now() + apart * SECOND}))[0]

    fold = go(work())
    assert outcome(fold) == "agreed"
    assert not found(fold)
    assert kinds(fold).count("room.tick") <= 1


def test_a_member_that_never_comes_is_waited_for_until_the_deadline_and_no_longer() -> None:
    """Protects against hanging: silence ends the wait, by name, with as few ticks as it takes."""

    async def work() -> Fold:
        sitting = Sitting(room(member("ann"), member("bob"), member("cat"), seconds=2))
        return (await sit(sitting, absent=("cat",)))[0]

    fold = go(work())
    assert fold.room.ending is not None
    assert (fold.room.ending.outcome, fold.room.ending.reason) == ("abandoned", "missing: cat")
    assert kinds(fold).count("room.tick") == 1


def test_lost_wake_ups_cost_time_and_nothing_else() -> None:
    """Protects the result: a log that wakes nobody is looked at often enough for every step to be answered in time."""

    async def work() -> Fold:
        # The mind in a thread of its own keeps the two from reading in step.
        scenario = room(member("ann"), custom("cat", "Willing"), seconds=2, rules={"improvements": 0})
        sitting = Sitting(scenario, Silent())
        return (await sit(sitting))[0]

    fold = go(work())
    assert outcome(fold) == "agreed"
    assert not found(fold)


def test_following_begins_again_after_a_failure() -> None:
    """Protects a replica that starts while the server is away: it follows as soon as that is back."""

    async def work() -> Fold:
        log = Refusing(3)
        sitting = Sitting(room(member("ann"), member("bob"), seconds=5), log)
        fold = (await sit(sitting))[0]
        assert log.left == 0
        return fold

    assert outcome(go(work())) == "agreed"


def test_a_closed_log_is_not_asked_without_pause() -> None:
    """Protects the processor: following a log that is closed for good does not spin."""

    async def work() -> int:
        log = Through()
        sitting = Sitting(room(), log)
        replica = await sitting.open()
        following = asyncio.create_task(replica.follow())
        await asyncio.sleep(0)
        await log.close()
        before = log.reads
        await asyncio.sleep(0.5)
        following.cancel()
        return log.reads - before

    assert go(work()) <= 10


def test_callers_at_once_share_readings() -> None:
    """Protects the server: ten who ask while one reads cost one more reading, and none sees less than it asked for."""

    async def work() -> None:
        log = Through()
        sitting = Sitting(room(), log)
        replica = await sitting.open()
        before = log.reads
        await asyncio.gather(*(replica.refresh() for _ in range(10)))
        assert log.reads - before <= 2

    go(work())


def test_a_failed_reading_is_not_shared() -> None:
    """Protects those who wait: the failure of one reading is its caller's; the next one reads for itself."""

    async def work() -> None:
        class Once(Through):
            fail = False

            async def read(self, *args: Any, **more: Any) -> Cut:
                if self.fail:
                    self.fail = False
                    await asyncio.sleep(0)
                    raise Unavailable("once")
                return await super().read(*args, **more)

        log = Once()
        replica = await Sitting(room(), log).open()
        log.fail = True
        ends = await asyncio.gather(*(replica.refresh() for _ in range(3)), return_exceptions=True)
        assert [isinstance(end, Unavailable) for end in ends] == [True, False, False]

    go(work())


def test_a_cut_that_is_older_than_the_last_is_ignored() -> None:
    """Protects the order: a lagging replica of the log that answers from the past adds nothing out of turn."""

    async def work() -> None:
        class Lagging(Through):
            lag = False

            async def read(self, *args: Any, **more: Any) -> Cut:
                cut = await super().read(*args, **more)
                return Cut(cut.records, cut.upper - 1) if self.lag else cut

        log = Lagging()
        sitting = Sitting(room(), log)
        replica = await sitting.open()
        other = await sitting.replica()
        log.lag = True
        before = replica.version, replica.fold.chain.position
        await replica.refresh()
        assert (replica.version, replica.fold.chain.position) == before
        assert other.fold.chain.position == 1

    go(work())


def test_a_seat_for_a_key_that_is_no_members_is_refused() -> None:
    """Protects a user who mixed up keys: a clear message instead of a lookup error."""

    async def work() -> None:
        sitting, other = Sitting(room()), Sitting(room())
        replica = await sitting.open()
        with pytest.raises(Exception, match="no member's of small-"):
            Seat(other.opener, Willing(), replica, MemoryOutbox(), utc_now)

    go(work())


def test_what_a_watcher_raises_ends_the_run_and_is_raised() -> None:
    """Protects users of the library: an error in their callback is neither lost nor a reason to hang."""

    def watch(fold: Fold) -> None:
        if fold.chain.position > 3:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run(room(), memory=True, watch=watch)
