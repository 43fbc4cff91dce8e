"""A standing peer in one process over the log in memory: what it takes up, what it leaves, and how it ends."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from protocols.core.canonical import canonical
from swarm.clock import utc_now
from swarm.errors import BadEntry, BadInput, LogFull, Unavailable
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.log.port import INVITATION_SECONDS, Stored
from swarm.peers import standing
from swarm.peers.inviting import invite
from swarm.peers.kept import Rooms
from swarm.peers.standing import Over, StandingPeer
from swarm.scenario.accepting import Accepts, outside
from swarm.scenario.members import read_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import FileOutbox
from swarm.seat.replica import Replica
from swarm.signed import base64url
from swarm.signed.identity import Identity
from swarm.signed.invitation import MOST_TOGETHER, read_invitations, sign_invitation
from swarm.signed.sizes import MAX_INVITATION_BYTES
from tests.support.standing_site import scenario, script

ADA, BEN, EVE = Identity.new(), Identity.new(), Identity.new()
DAY = 24 * 3600 * 1_000_000


async def opened(log: Any, opener: Identity = ADA, slug: str = "small", other: Identity = BEN, **more: Any) -> str:
    """Open a room of *opener* and *other* on *log*; return its name."""
    parsed = read_scenario(scenario(slug, {"one": opener.public, "two": other.public}, **more))
    keys = {"one": opener.public, "two": other.public}
    entry = sign_opening(opener, parsed.opening(keys), utc_now())
    await publish_opening(log, entry)
    return entry.room


class Watched:
    """Standing peers and what they told."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.over: list[Over] = []
        self.peers: list[StandingPeer] = []

    @asynccontextmanager
    async def standing(
        self,
        *identities: Identity,
        agent: Mapping[str, Any] | None = None,
        log: Any = None,
        kept: Mapping[Identity, Rooms] | None = None,
    ) -> AsyncIterator[None]:
        """Let *identities* stand, accepting each other, until the context is left."""
        accept = [identity.public for identity in (ADA, BEN)]
        self.peers = [
            StandingPeer(
                read_agent(agent or script()),
                identity,
                log or MemoryLog(self.store, key=identity.public),
                rooms=(kept or {}).get(identity, Rooms()),
                accept=accept,
                tell=self.over.append,
            )
            for identity in identities
        ]
        tasks = [asyncio.create_task(peer.run()) for peer in self.peers]
        try:
            yield
        finally:
            for peer in self.peers:
                peer.stop()
            await asyncio.gather(*tasks)

    async def until_over(self, count: int) -> None:
        await until(lambda: len(self.over) >= count)


async def until(holds: Callable[[], Any]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


def go(work: Awaitable[Any], seconds: float = 30) -> Any:
    """Run *work* with a deadline that only a hang reaches."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, seconds)

    return asyncio.run(bounded())


def ignored(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("ignored: ")]


# -- the invitation ---------------------------------------------------------------------------------------------------


ROOM = "small-" + "a" * 26
GOOD = sign_invitation(ADA, room=ROOM, opener=ADA.public).line


def test_an_invitation_comes_back_as_it_was_signed() -> None:
    """Protects the form: canonical, and holding where the room is and nothing else."""
    (read,) = read_invitations(ADA.public, GOOD)
    assert (read.room, read.opener, read.by) == (ROOM, ADA.public, ADA.public)
    assert GOOD.startswith(b'{"invitation":{"by":"U')


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[" * 8000,
        b"\xff",
        b"9" * 6000,
        b'{"invitation":NaN}',
        b" " + GOOD,
        GOOD + b"\n",
        GOOD.replace(b'"room":', b'"room":"x","room":'),
        GOOD.replace(b'"opener"', b'"extra":"","opener"'),
        GOOD.replace(ROOM.encode(), b"small-" + b"b" * 26),
        GOOD.replace(ROOM.encode(), b"../../" + b"b" * 26),
        GOOD.replace(ROOM.encode(), b"small.*"),
        GOOD.replace(f'"{ROOM}"'.encode(), b"1"),
        sign_invitation(EVE, room=ROOM, opener=ADA.public).line,
        sign_invitation(ADA, room=ROOM, opener=EVE.public).line,
        b"\n".join([GOOD] * (MOST_TOGETHER + 1)),
        b"x" * (MAX_INVITATION_BYTES + 1),
    ],
)
def test_what_is_no_invitation_is_refused_by_name(payload: bytes) -> None:
    """Protects the peer: whatever may be stored there is an invitation, or a reason; it is never a crash."""
    with pytest.raises(BadEntry):
        read_invitations(ADA.public, payload)


def test_a_signature_of_another_kind_invites_nobody() -> None:
    """Protects signatures: one that the very same key made over the very same bytes, for an entry, is none here."""
    message = canonical({"by": ADA.public, "opener": ADA.public, "room": ROOM})
    signature = base64url.encode(ADA.sign(b"swarm/entry/1", message))
    line = canonical({"invitation": {"by": ADA.public, "opener": ADA.public, "room": ROOM, "sig": signature}})
    with pytest.raises(BadEntry) as refused:
        read_invitations(ADA.public, line)
    assert refused.value.code == "bad_signature"


def test_a_second_invitation_does_not_hide_the_first() -> None:
    """Protects a peer that was away: it finds all rooms that one opener invited it to, up to a bound."""

    async def work() -> list[str]:
        log = MemoryLog()
        for place in range(MOST_TOGETHER + 3):
            await invite(log, ADA, f"small-{'a' * 24}{chr(97 + place)}a", [BEN.public])
        (found,) = await log.invitations(BEN.public)
        return [invitation.room for invitation in read_invitations(found.author, found.payload)]

    rooms = go(work())
    assert len(rooms) == len(set(rooms)) == MOST_TOGETHER
    assert rooms[-1].endswith("sa")


def test_one_who_cannot_be_invited_does_not_keep_the_others_from_it() -> None:
    """Protects the opener: who could not be reached is an error, and everybody else is invited all the same."""

    class Refusing(MemoryLog):
        async def invite(self, invitee: str, author: str, payload: bytes, *, timeout_s: float = 5.0) -> None:
            if invitee == EVE.public:
                raise LogFull("full")
            await super().invite(invitee, author, payload)

    async def work() -> int:
        log = Refusing()
        with pytest.raises(LogFull):
            await invite(log, ADA, ROOM, [EVE.public, BEN.public])
        return len(await log.invitations(BEN.public))

    assert go(work()) == 1


# -- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepts", "because"),
    [
        ({}, None),
        ({"min_step_seconds": 20, "max_members": 2, "issues": ["day", "price"]}, None),
        ({"min_step_seconds": 21}, "its steps have 20 s; this peer needs 21 s"),
        ({"issues": ["price"]}, "it decides day, which this peer does not settle"),
        ({"issues": []}, "it decides day, which this peer does not settle"),
    ],
)
def test_bounds_are_inclusive_and_say_what_is_wrong(accepts: dict[str, Any], because: str | None) -> None:
    """Protects the owner's limits: exactly what the file allows is joined, and the no names the limit."""

    async def work() -> Replica:
        log = MemoryLog()
        replica = Replica(log, await opened(log), ADA.public, utc_now)
        await replica.open()
        return replica

    room = go(work()).room
    assert outside(Accepts.model_validate(accepts), room.setting.opening, "ben") == because
    room.setting.opening.roster.append(room.setting.opening.roster[0])
    assert outside(Accepts(max_members=2), room.setting.opening, "ben") == "it has 3 members; this peer joins at most 2"
    assert outside(Accepts(max_members=3), room.setting.opening, "ben") is None


def test_a_room_that_was_joined_is_seen_through_even_if_the_bounds_are_narrower_now() -> None:
    """Protects the others: a signature under an opening holds, whatever the file says after a restart."""

    async def work() -> list[str]:
        watched = Watched(MemoryStore())
        log = MemoryLog(watched.store)
        room = await opened(log)
        await invite(log, ADA, room, [ADA.public, BEN.public])
        async with watched.standing(BEN):
            await until(lambda: watched.store._rooms[room, BEN.public])
        other = Watched(watched.store)
        async with watched.standing(BEN, agent=script(accepts={"min_step_seconds": 3600})), other.standing(ADA):
            await watched.until_over(1)
        return [over.outcome for over in watched.over]

    assert go(work()) == ["agreed"]


# -- standing ---------------------------------------------------------------------------------------------------------


def test_rooms_are_settled_side_by_side_and_each_is_joined_once() -> None:
    """Protects many rooms at once: one connection, a mind each, and invitations that are repeated change nothing."""

    async def work() -> tuple[list[Over], int]:
        watched = Watched(MemoryStore())
        log = MemoryLog(watched.store)
        async with watched.standing(ADA, BEN):
            rooms = [await opened(log, slug=f"room-{place}") for place in range(5)]
            for _ in range(2):
                for room in rooms:
                    await invite(log, ADA, room, [ADA.public, BEN.public])
            await watched.until_over(10)
            for room in rooms:
                await invite(log, ADA, room, [BEN.public])
            await asyncio.sleep(0.3)
        joins = [
            record
            for room in rooms
            for record in watched.store._rooms[room, BEN.public]
            if b'"kind":"room.join"' in record.payload
        ]
        return watched.over, len(joins)

    over, joins = go(work())
    assert [each.outcome for each in over] == ["agreed"] * 10
    assert joins == 5


def test_invitations_to_rooms_that_are_none_of_ours_are_ignored(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects against lies of accepted openers: no such room, another's room, no seat; each is one line."""
    monkeypatch.setattr(standing, "OPENING_S", 0.1)

    async def work() -> list[Over]:
        watched = Watched(MemoryStore())
        log = MemoryLog(watched.store)
        not_adas = await opened(log, opener=EVE)
        no_seat = await opened(log, other=EVE)
        # The last is a record of Ada's where an opening should be.
        await log.append(ROOM, ADA.public, b"{}", expected_last=0)
        nowhere = "small-" + "b" * 26
        await invite(log, EVE, not_adas, [BEN.public])
        for room in (not_adas, no_seat, nowhere, ROOM):
            await invite(log, ADA, room, [BEN.public])
        async with watched.standing(BEN):
            await until(lambda: len(ignored(caplog)) == 5)
            await asyncio.sleep(0.2)
        return watched.over

    assert go(work()) == []
    lines = sorted(line.rpartition(": ")[2] for line in ignored(caplog))
    assert len(lines) == 5
    assert sum(f"there is no such room by {ADA.public}" in line for line in lines) == 2
    assert any("it has no seat for this key" in line for line in lines)
    assert any("who is no accepted opener" in line for line in lines)


def test_an_invitation_of_last_week_is_none(caplog: pytest.LogCaptureFixture) -> None:
    """Protects a peer that was away for long: what has expired is not followed, and is nothing to complain of."""
    caplog.set_level(logging.INFO)
    now = [utc_now() - INVITATION_SECONDS * 1_000_000 - DAY]

    async def work() -> tuple[list[str], str]:
        watched = Watched(MemoryStore(clock=lambda: now[0]))
        log = MemoryLog(watched.store)
        await invite(log, ADA, ROOM, [BEN.public])
        now[0] = utc_now()
        room = await opened(log, opener=BEN, other=ADA)
        await invite(log, BEN, room, [BEN.public])
        async with watched.standing(BEN):
            await until(lambda: watched.peers[0]._rooms)
            return list(watched.peers[0]._rooms), room

    taken, room = go(work())
    assert taken == [room]
    assert ignored(caplog) == []


def test_a_log_that_is_out_of_reach_for_a_while_is_outlived(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects peers that stand for months: invitations are read once the server answers again, and rooms joined."""
    monkeypatch.setattr(standing, "RETRY_S", (0.01, 0.05))

    class Flaky(MemoryLog):
        failures = 0

        async def invitations(self, invitee: str, *, timeout_s: float = 5.0) -> list[Stored]:
            await self._fail(3)
            return await super().invitations(invitee)

        async def first(self, room: str, author: str, *, timeout_s: float = 5.0) -> Stored | None:
            await self._fail(6)
            return await super().first(room, author)

        async def _fail(self, up_to: int) -> None:
            if self.failures < up_to:
                self.failures += 1
                raise Unavailable("away")

    async def work() -> int:
        watched = Watched(MemoryStore())
        log = MemoryLog(watched.store)
        await invite(log, ADA, await opened(log), [ADA.public, BEN.public])
        flaky = Flaky(watched.store)
        async with watched.standing(ADA, BEN, log=flaky):
            await watched.until_over(2)
        return flaky.failures

    assert go(work()) == 6


def test_a_fault_in_one_room_leaves_the_others_alone(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the other rooms: an outbox that cannot be read ends one of them, with a line that names it."""

    async def work() -> tuple[str, list[Over]]:
        watched = Watched(MemoryStore())
        log = MemoryLog(watched.store)
        bad, good = await opened(log, slug="bad"), await opened(log, slug="good")
        with Rooms.at(tmp_path, BEN) as rooms:
            FileOutbox(tmp_path / BEN.public / f"{bad}.{ADA.public}.outbox").keep(b"torn")
            await invite(log, ADA, good, [ADA.public, BEN.public])
            async with watched.standing(ADA, BEN, kept={BEN: rooms}):
                await watched.until_over(2)
        return bad, watched.over

    bad, over = go(work())
    assert {each.outcome for each in over} == {"agreed"}
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert errors[0].startswith(f"{bad}: this peer stops there: ")


def test_more_rooms_than_one_peer_takes_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the machine: an opener's flood is bounded, and what waits is joined when a room has ended."""
    monkeypatch.setattr(standing, "MOST_ROOMS", 1)
    monkeypatch.setattr(standing, "LOOK_EVERY_S", (0.05, 0.1))

    async def work() -> tuple[int, int]:
        watched = Watched(MemoryStore())
        log = MemoryLog(watched.store)
        for place in range(3):
            await invite(log, ADA, await opened(log, slug=f"room-{place}"), [ADA.public, BEN.public])
        most = 0
        async with watched.standing(ADA, BEN):
            while len(watched.over) < 6:
                most = max(most, *(len(peer._rooms) for peer in watched.peers))
                await asyncio.sleep(0.001)
        return most, len({each.room for each in watched.over})

    assert go(work()) == (1, 3)


# -- stopping ---------------------------------------------------------------------------------------------------------


class Slow(MemoryLog):
    """Stores what it is given once it is let."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    async def append(
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        self.asked.set()
        await self.let.wait()
        return await super().append(room, author, payload, expected_last=expected_last)


def test_what_is_in_flight_is_read_back_and_nothing_more_is_signed() -> None:
    """Protects what was said: a stop waits for the entry that is under way, and for none that could follow it."""

    async def work() -> tuple[bool, int]:
        watched = Watched(MemoryStore())
        store, slow = watched.store, Slow(watched.store)
        room = await opened(MemoryLog(store))
        await invite(MemoryLog(store), ADA, room, [ADA.public, BEN.public])
        async with watched.standing(BEN):
            await until(lambda: store._rooms[room, BEN.public])
        peer = StandingPeer(read_agent(script()), ADA, slow, rooms=Rooms())
        running = asyncio.create_task(peer.run())
        await slow.asked.wait()
        peer.stop()
        await asyncio.sleep(0.1)
        left_early = running.done()
        slow.let.set()
        await running
        return left_early, len(store._rooms[room, ADA.public])

    # The opening and the joining, with which everybody has joined; the next step is open, and its seal is not made.
    assert go(work()) == (False, 2)


def test_a_stop_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Protects whoever stops a peer while the server is away: it ends all the same, and says what is not shown."""
    monkeypatch.setattr(standing, "PARTING_S", 0.1)

    class Stuck(Slow):
        async def append(self, *arguments: Any, **more: Any) -> int:
            self.asked.set()
            raise Unavailable("away")

    async def work() -> None:
        store = MemoryStore()
        stuck = Stuck(store)
        room = await opened(MemoryLog(store))
        await invite(MemoryLog(store), ADA, room, [ADA.public])
        peer = StandingPeer(read_agent(script()), ADA, stuck, rooms=Rooms())
        running = asyncio.create_task(peer.run())
        await stuck.asked.wait()
        peer.stop()
        await running

    go(work())
    assert any("has not come back" in record.getMessage() for record in caplog.records)


def test_one_directory_serves_one_process_of_a_key(tmp_path: Path) -> None:
    """Protects the outboxes: a second peer with this key is refused there, one with another key is not."""
    with Rooms.at(tmp_path, ADA):
        with pytest.raises(BadInput, match="a peer with this key"), Rooms.at(tmp_path, ADA):
            pass
        with Rooms.at(tmp_path, BEN) as rooms:
            rooms.outbox(ROOM, ADA.public).keep(b"x")
            assert rooms.unfinished() == [(ROOM, ADA.public)]
            rooms.forget(ROOM, ADA.public)
            assert rooms.unfinished() == []
