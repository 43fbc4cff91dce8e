"""The contract of the log port as tests; every log passes the same ones.

For your own log, write a test module that takes them all over, and a fixture ``world`` that gives a `World`::

    from swarm.testing.log_contract import *

    @pytest.fixture
    def world() -> World: ...

    @pytest.fixture
    def run(): ...   # runs a coroutine to its end

pytest shows why an assertion failed if it is told of this module beforehand (``pytest.register_assert_rewrite``).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import pytest

from swarm.errors import Denied, LogFull, RolledBack, TooLarge, Unavailable, WrongLast
from swarm.log import MAX_PAYLOAD_BYTES, Cut, Log, Stored
from swarm.signed.sizes import MAX_INVITATION_BYTES

Run = Callable[[Awaitable[Any]], Any]
"""Runs a coroutine to its end, with a deadline that only a hang reaches."""


class World(Protocol):
    """One log, and the authors who may write in it.

    ``authors`` are public keys, `seats` gives that many clients, each of which may write as the author of its number.
    ``author_cap`` is how many records one author may write in one room. ``separates_keys``: the log refuses whoever
    writes as somebody else. `room` returns a name that nobody has used before.
    """

    authors: list[str]
    author_cap: int
    separates_keys: bool

    async def connect(self, number: int) -> Log:
        """Return a client that may write as the author of that number; whoever asked for it closes it."""

    def seats(self, count: int) -> AbstractAsyncContextManager[list[Log]]:
        """Give *count* connected clients."""

    def room(self) -> str:
        """Return the name of a room that nobody has used."""


async def follow(log: Log, room: str, authors: list[str], cuts: list[Cut], until: int) -> list[Stored]:
    """Read as a peer does, on wake-ups, until *until* records have come; keep the cuts."""
    after: dict[str, int] = {}
    got: list[Stored] = []
    async with log.wakeups(room) as wakeups:
        while True:
            cut = await log.read(room, authors, after)
            cuts.append(cut)
            got.extend(cut.records)
            after |= {record.author: record.sequence for record in cut.records}
            if len(got) >= until:
                return got
            assert await wakeups.wait(10), "a record was stored and nobody was woken"


def test_what_is_appended_is_read_back_byte_for_byte(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, (a, b, *_) = world.room(), world.authors
        payloads = [b"", b"\x00\xff\r\n", b'{"kind":"room.open"}', b"NATS/1.0 503\r\n\r\n", "ä€😀".encode()]
        async with world.seats(2) as (log, other):
            last = 0
            for payload in payloads:
                sequence = await log.append(room, a, payload, expected_last=last)
                assert sequence > last
                last = sequence
            cut = await other.read(room, [a, b], {})
            assert [record.payload for record in cut.records] == payloads
            assert {record.author for record in cut.records} == {a}
            assert cut.records[-1].sequence == last <= cut.upper
            assert [record.stored for record in cut.records] == sorted(record.stored for record in cut.records)

    run(scenario())


def test_store_times_are_microseconds_of_the_present(world: World, run: Run) -> None:
    async def scenario() -> None:
        async with world.seats(1) as (log,):
            room = world.room()
            await log.append(room, world.authors[0], b"x", expected_last=0)
            record = await log.last(room, world.authors[0])
            assert record is not None
            year_2026, year_2100 = 1_767_225_600_000_000, 4_102_444_800_000_000
            assert year_2026 <= record.stored < year_2100

    run(scenario())


def test_the_earliest_records_of_a_room_are_found_by_its_name_alone(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, (a, b, *_) = world.room(), world.authors
        async with world.seats(2) as (log_a, log_b):
            assert await log_a.earliest(room) == []
            await log_a.append(room, a, b"opening", expected_last=0)
            await log_b.append(room, b, b"joins", expected_last=0)
            await log_a.append(world.room(), a, b"elsewhere", expected_last=0)
            found = await log_b.earliest(room)
            assert [(record.author, record.payload) for record in found] == [(a, b"opening"), (b, b"joins")]

    run(scenario())


def test_append_expects_the_authors_own_last_and_changes_nothing_otherwise(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, (a, b, *_) = world.room(), world.authors
        async with world.seats(2) as (log_a, log_b):
            with pytest.raises(WrongLast):
                await log_a.append(room, a, b"from nowhere", expected_last=7)
            first = await log_a.append(room, a, b"1", expected_last=0)
            # Another author's records do not matter to a's expectation.
            await log_b.append(room, b, b"b", expected_last=0)
            second = await log_a.append(room, a, b"2", expected_last=first)
            for stale in (0, first, second + 1):
                with pytest.raises(WrongLast):
                    await log_a.append(room, a, b"stale", expected_last=stale)
            assert [r.payload for r in (await log_a.read(room, [a], {})).records] == [b"1", b"2"]

    run(scenario())


def test_of_two_appends_with_one_expectation_exactly_one_is_stored(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, a = world.room(), world.authors[0]
        async with world.seats(1) as (log,):
            results = await asyncio.gather(
                *(log.append(room, a, b"%d" % number, expected_last=0) for number in range(8)), return_exceptions=True
            )
            assert sum(isinstance(result, int) for result in results) == 1
            assert sum(isinstance(result, WrongLast) for result in results) == 7
            assert len((await log.read(room, [a], {})).records) == 1

    run(scenario())


def test_a_payload_over_the_limit_is_refused_and_the_next_one_is_stored(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, a = world.room(), world.authors[0]
        async with world.seats(1) as (log,):
            with pytest.raises(TooLarge):
                await log.append(room, a, bytes(MAX_PAYLOAD_BYTES + 1), expected_last=0)
            sequence = await log.append(room, a, bytes(MAX_PAYLOAD_BYTES), expected_last=0)
            await log.append(room, a, b"good", expected_last=sequence)
            sizes = [len(record.payload) for record in (await log.read(room, [a], {})).records]
            assert sizes == [MAX_PAYLOAD_BYTES, 4]

    run(scenario())


def test_a_flood_stops_at_its_authors_cap_and_harms_only_itself(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, (a, b, *_) = world.room(), world.authors
        async with world.seats(2) as (log, other):
            last = 0
            for number in range(world.author_cap):
                last = await log.append(room, a, b"%d" % number, expected_last=last)
            with pytest.raises(LogFull):
                await log.append(room, a, b"one more", expected_last=last)
            await other.append(room, b, b"unharmed", expected_last=0)
            # The cap refuses what is new; nothing old made room for it. More than one batch, too.
            records = (await other.read(room, [a, b], {})).records
            assert [r.payload for r in records] == [b"%d" % n for n in range(world.author_cap)] + [b"unharmed"]

    run(scenario())


def test_a_key_may_write_as_itself_only_and_is_told_so(world: World, run: Run) -> None:
    if not world.separates_keys:
        pytest.skip("whoever reaches a broker without accounts may write as anybody")

    async def scenario() -> None:
        room, (a, b, *_) = world.room(), world.authors
        async with world.seats(2) as (log_a, log_b):
            with pytest.raises(Denied):
                await log_a.append(room, b, b"forged", expected_last=0, timeout_s=30)
            with pytest.raises(Denied):
                await log_a.invite(a, b, b"forged", timeout_s=30)
            await log_a.append(room, a, b"own", expected_last=0)
            assert await log_b.last(room, b) is None

    run(scenario())


def test_first_and_last_of_an_author(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, (a, b, *_) = world.room(), world.authors
        async with world.seats(2) as (log, other):
            assert await log.first(room, a) is None
            assert await log.last(room, a) is None
            one = await log.append(room, a, b"opening", expected_last=0)
            assert await other.first(room, a) == await other.last(room, a)
            await other.append(room, b, b"of another author", expected_last=0)
            three = await log.append(room, a, b"closing", expected_last=one)
            first, last = await other.first(room, a), await other.last(room, a)
            assert first is not None and last is not None
            assert (first.sequence, first.author, first.payload) == (one, a, b"opening")
            assert (last.sequence, last.author, last.payload) == (three, a, b"closing")

    run(scenario())


def test_a_cut_holds_the_asked_authors_of_the_asked_room_beyond_what_was_read(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, other_room, (a, b, c, _, stranger) = world.room(), world.room(), world.authors
        async with world.seats(3) as (log_a, log_b, log_c):
            assert await log_a.read(room, [a, b], {}) == Cut([], 0)
            assert await log_a.read(room, [], {}) == Cut([], 0)
            a1 = await log_a.append(room, a, b"a1", expected_last=0)
            b1 = await log_b.append(room, b, b"b1", expected_last=0)
            await log_c.append(room, c, b"noise", expected_last=0)
            await log_a.append(other_room, a, b"elsewhere", expected_last=0)
            a2 = await log_a.append(room, a, b"a2", expected_last=a1)

            cut = await log_c.read(room, [b, a, stranger], {})
            assert [(r.sequence, r.author, r.payload) for r in cut.records] == [
                (a1, a, b"a1"), (b1, b, b"b1"), (a2, a, b"a2")
            ]  # fmt: skip
            assert cut.upper >= a2
            assert [r.payload for r in (await log_c.read(room, [a, b], {a: a1})).records] == [b"b1", b"a2"]
            assert [r.payload for r in (await log_c.read(room, [a], {a: a1})).records] == [b"a2"]
            assert (await log_c.read(room, [a, b], {a: a2, b: b1})).records == []

    run(scenario())


def test_a_room_of_large_records_comes_whole(world: World, run: Run) -> None:
    """More than an answer of a direct get holds, both for one author and for the last records of several."""

    async def scenario() -> None:
        room, authors = world.room(), world.authors[:4]
        async with world.seats(4) as logs:
            lasts = [0, 0, 0, 0]
            for number in range(5):
                for seat, log in enumerate(logs):
                    payload = bytes([number, seat]) * (MAX_PAYLOAD_BYTES // 2)
                    lasts[seat] = await log.append(room, authors[seat], payload, expected_last=lasts[seat])
            cut = await logs[0].read(room, authors, {})
            assert [tuple(r.payload[:2]) for r in cut.records] == [(n, s) for n in range(5) for s in range(4)]
            assert {len(r.payload) for r in cut.records} == {MAX_PAYLOAD_BYTES}

    run(scenario())


def test_cuts_taken_while_others_write_are_consistent(world: World, run: Run) -> None:
    """No cut leaves out a record that a later one returns below its upper bound; reading on equals reading anew."""

    async def scenario() -> None:
        room, authors = world.room(), world.authors[:4]
        count = 40
        rng = random.Random(5)

        async def write(log: Log, author: str) -> None:
            last = 0
            for number in range(count):
                last = await log.append(room, author, b"%d" % number, expected_last=last)
                if rng.random() < 0.3:
                    await asyncio.sleep(rng.random() / 500)

        async with world.seats(4) as logs, await world.connect(0) as late:
            cuts: list[list[Cut]] = [[], []]
            followers = [
                asyncio.create_task(follow(log, room, authors, cuts[number], 4 * count))
                for number, log in enumerate((logs[0], late))
            ]
            await asyncio.gather(*(write(log, author) for log, author in zip(logs, authors, strict=True)))
            got = await asyncio.gather(*followers)
            whole = (await logs[1].read(room, authors, {})).records
        assert len(whole) == 4 * count
        assert got[0] == got[1] == whole
        for each in cuts:
            assert len(each) > 2, "the reader never read beside the writers"
            seen = 0
            for cut in each:
                assert all(seen < record.sequence <= cut.upper for record in cut.records)
                seen = max(seen, cut.upper)

    run(scenario())


def test_a_reader_that_has_more_than_the_log_is_told(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, a = world.room(), world.authors[0]
        async with world.seats(1) as (log,):
            sequence = await log.append(room, a, b"1", expected_last=0)
            with pytest.raises(RolledBack):
                await log.read(room, [a], {a: sequence + 1}, timeout_s=0.2)
            with pytest.raises(RolledBack):
                await log.read(room, world.authors[:2], {world.authors[1]: 1}, timeout_s=0.2)

    run(scenario())


def test_wakeups_announce_coalesce_and_time_out(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, elsewhere, (a, b, *_) = world.room(), world.room(), world.authors
        async with world.seats(2) as (log_a, log_b), log_b.wakeups(room) as first, log_b.wakeups(room) as second:
            assert not await first.wait(0.01)
            await log_a.append(elsewhere, a, b"not here", expected_last=0)
            one = await log_a.append(room, a, b"1", expected_last=0)
            assert await first.wait(10)
            await log_a.append(room, a, b"2", expected_last=one)
            await log_b.append(room, b, b"3", expected_last=0)
            # Whatever number of reasons lay between, each follower was woken; and then it is quiet again.
            assert await second.wait(10)
            for wakeups in (first, second):
                while await wakeups.wait(0.1):
                    pass
            assert not await first.wait(0.01)

    run(scenario())


def test_one_followers_end_leaves_the_other_following(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, a = world.room(), world.authors[0]
        async with world.seats(1) as (log,), log.wakeups(room) as staying:
            async with log.wakeups(room):
                pass
            await log.append(room, a, b"1", expected_last=0)
            assert await staying.wait(10)

    run(scenario())


def test_a_closed_log_refuses_and_wakes_whoever_waits(world: World, run: Run) -> None:
    async def scenario() -> None:
        room, a = world.room(), world.authors[0]
        log = await world.connect(0)
        async with log.wakeups(room) as wakeups:
            waiting = asyncio.create_task(wakeups.wait(30))
            await asyncio.sleep(0)
            await log.close()
            assert await waiting
            assert await wakeups.wait(30)
        await log.close()
        for call in (
            log.append(room, a, b"x", expected_last=0),
            log.last(room, a),
            log.read(room, [a], {}),
            log.invitations(a),
        ):
            with pytest.raises(Unavailable):
                await call

    run(scenario())


def test_the_rooms_of_an_author_are_those_it_wrote_in(world: World, run: Run) -> None:
    """Protects the list of one's rooms: the last record in each, the latest last, and nobody else's."""

    async def scenario() -> None:
        a, b, *_ = world.authors
        async with world.seats(2) as (log_a, log_b):
            first = await log_a.append("list-1", a, b"x", expected_last=0)
            await log_a.append("list-2", a, b"y", expected_last=0)
            await log_b.append("list-3", b, b"z", expected_last=0)
            last = await log_a.append("list-1", a, b"w", expected_last=first)
            found = {room: stored for room, stored in (await log_a.rooms(a)).items() if room.startswith("list-")}
            assert list(found) == ["list-2", "list-1"]
            assert (found["list-1"].sequence, found["list-1"].payload) == (last, b"w")
            assert "list-3" not in await log_a.rooms(a)
            assert await log_a.rooms(world.authors[4]) == {}

    run(scenario())


def test_invitations_are_kept_one_per_author_and_announced(world: World, run: Run) -> None:
    async def scenario() -> None:
        a, b, c, *_ = world.authors
        async with world.seats(3) as (log_a, log_b, log_c), log_c.wakeups_of_invitations(c) as wakeups:
            await log_a.invite(c, a, b"to the first room")
            await log_b.invite(c, b, b"b's room")
            await log_a.invite(c, a, b"to the second room")
            assert await wakeups.wait(10)
            found = [(each.author, each.payload) for each in await log_c.invitations(c)]
            assert found == [(b, b"b's room"), (a, b"to the second room")]
            assert await log_c.invitations(world.authors[4]) == []
            with pytest.raises(TooLarge):
                await log_a.invite(c, a, bytes(MAX_INVITATION_BYTES + 1))
            await log_b.invite(c, b, bytes(MAX_INVITATION_BYTES))
            assert len((await log_c.invitations(c))[-1].payload) == MAX_INVITATION_BYTES

    run(scenario())


@pytest.mark.parametrize("name", ["", "a b", "a.b", "*", ">", "a\r\nPUB x 0\r\n", "ä", "x" * 129])
def test_a_name_that_is_no_subject_token_is_refused(world: World, run: Run, name: str) -> None:
    async def scenario() -> None:
        a = world.authors[0]
        async with world.seats(1) as (log,):
            for call in (
                lambda: log.append(name, a, b"x", expected_last=0),
                lambda: log.append("room", name, b"x", expected_last=0),
                lambda: log.read(name, [a], {}),
                lambda: log.invitations(name),
            ):
                with pytest.raises(ValueError, match="cannot stand in a subject"):
                    await call()

    run(scenario())


def test_a_cut_spans_at_most_the_largest_room(world: World, run: Run) -> None:
    async def scenario() -> None:
        async with world.seats(1) as (log,):
            assert await log.read("empty", [f"A{n}" for n in range(64)], {}) == Cut([], 0)
            with pytest.raises(ValueError, match="at most 64"):
                await log.read("empty", [f"A{n}" for n in range(65)], {})

    run(scenario())
