"""A broker that refuses what a member has signed, and may have kept it: no member ever signs a number twice.

Two signed entries with one number are proof of equivocation against their author, whoever has them. So the tests look
at what is signed, not at what is stored: a lying broker has every byte that left, whatever it answered.
"""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.errors import Denied, RolledBack, SwarmError, TooLarge, Unavailable, Unsaid, WireError
from swarm.log import jetstream
from swarm.log.jetstream import JetStreamLog
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.log.subjects import room_subject
from swarm.seat import speaker as speaking
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import FileOutbox, MemoryOutbox, Outbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.signed.entry import Entry, parse_entry
from tests.support.small_rooms import Sitting, go, member, room

TICK = {"kind": "room.tick"}
POINTS = ("swallowed", "stored", "stored later")


def refused_as(code: int, number: int) -> WireError:
    """Return the error that a stream's refusal is to its client."""
    answer = {"error": {"code": code, "err_code": number, "description": "no"}}
    try:
        jetstream._acknowledged_sequence(json.dumps(answer).encode())
    except jetstream.Again as again:
        return Unavailable(str(again))
    except WireError as error:
        return error
    raise AssertionError(answer)


REFUSALS = {
    **{f"{code} {number}": refused_as(code, number) for code, number in [
        (400, 10054), (400, 10071), (400, 10164), (503, 10023), (503, 10047), (503, 10077), (400, 10999), (503, 10008),
    ]},
    "too large here": TooLarge("this server takes 100"),
    "denied": Denied("not this subject"),
    "no answer": Unavailable("no answer in time"),
    "rolled back": RolledBack("gone"),
}  # fmt: skip


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[tuple[str, str, int], set[bytes]]]:
    """What every speaker signs, by room, author and number; in the end each number has one payload."""
    found: dict[tuple[str, str, int], set[bytes]] = defaultdict(set)
    sign = speaking.sign_entry

    def signing(*args: Any, **more: Any) -> Entry:
        entry = sign(*args, **more)
        found[entry.room, entry.author, entry.n].add(entry.payload)
        return entry

    monkeypatch.setattr(speaking, "sign_entry", signing)
    yield found
    assert found
    assert [key for key, payloads in found.items() if len(payloads) > 1] == []


class Liar(MemoryLog):
    """Answers appends with *refusal* from the *first* on, *times* times; what it was given it has all the same."""

    def __init__(self, store: MemoryStore, refusal: WireError, point: str, *, first: int = 0, times: int = 1) -> None:
        super().__init__(store)
        self._refusal, self._point = refusal, point
        self._lies = range(first, first + times)
        self._appends = 0
        self.most = 256 * 1024
        self.kept: list[tuple[str, str, bytes, int]] = []

    @property
    def most_payload_bytes(self) -> int:
        return self.most

    async def append(
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        self._appends += 1
        if self._appends - 1 not in self._lies:
            return await super().append(room, author, payload, expected_last=expected_last)
        if self._point == "stored":
            await super().append(room, author, payload, expected_last=expected_last)
        self.kept.append((room, author, payload, expected_last))
        raise type(self._refusal)(str(self._refusal))

    async def let_out(self) -> None:
        """Store what was said to be refused."""
        for name, author, payload, expected in self.kept:
            with suppress(WireError):
                await super().append(name, author, payload, expected_last=expected)


async def says_all(sitting: Sitting, liar: Liar, outbox: Outbox, restart: Callable[[], Any]) -> list[str]:
    """Say three different things, starting again after every error with the same outbox; return the errors."""
    wanted = [{"kind": "room.excuse", "step": "room.joining", "because": f"word {i}"} for i in range(3)]
    errors, starts = [], 0
    while wanted and starts < 12:
        starts += 1
        replica = await sitting.replica(liar)
        speaker = Speaker(sitting.opener, replica, outbox, utc_now, patience_s=0.3)
        try:
            await speaker.recover()
            while wanted:
                # A mind that is asked again after a failure need not say the same.
                await speaker.say(wanted[0] | {"because": f"{wanted[0]['because']}, start {starts}"})
                wanted.pop(0)
        except SwarmError as error:
            errors.append(type(error).__name__)
            wanted = wanted[1:]
            await restart()
    assert not wanted
    return errors


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("refusal", list(REFUSALS))
@pytest.mark.parametrize("times", [1, 2, 5])
def test_no_refusal_makes_a_member_sign_a_number_twice(
    signed: Any, refusal: str, point: str, times: int, tmp_path: Path
) -> None:
    """Protects an honest member from its broker: whatever that answers, before or after it stored the entry."""

    async def work() -> None:
        sitting = Sitting(room(), MemoryLog())
        await sitting.open()
        liar = Liar(sitting.log.store, REFUSALS[refusal], point, times=times)

        async def restart() -> None:
            if point == "stored later":
                await liar.let_out()

        await says_all(sitting, liar, FileOutbox(tmp_path / "box"), restart)

    go(work())


@pytest.mark.parametrize(
    "first", [pytest.param(n, marks=[pytest.mark.long] if n not in (0, 3) else []) for n in range(6)]
)
@pytest.mark.parametrize("point", POINTS)
def test_no_refusal_at_any_step_makes_a_seat_sign_a_number_twice(signed: Any, first: int, point: str) -> None:
    """Protects the whole seat: its excuses and second tries take new numbers only, and what is refused ends it."""

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=2), MemoryLog())
        await sitting.open()
        liar = Liar(sitting.log.store, REFUSALS["400 10054"], point, first=first, times=10)
        outboxes = {name: MemoryOutbox() for name in sitting.identities}

        async def sit(name: str, log: Any) -> None:
            replica = await sitting.replica(log)
            following = asyncio.create_task(replica.follow())
            try:
                await Seat(
                    sitting.identities[name], sitting.agents[name], replica, outboxes[name], utc_now, patience_s=5
                ).run()
            finally:
                following.cancel()

        async def lied_to() -> None:
            for _ in range(3):
                with suppress(Unsaid):
                    return await sit("ann", liar)
                if point == "stored later":
                    await liar.let_out()

        await asyncio.gather(lied_to(), sit("bob", sitting.log))

    go(work())


def test_what_is_refused_twice_is_an_error_that_names_it(signed: Any) -> None:
    """Protects the operator: the message says which entry waits, and that a restart says it again."""

    async def work() -> None:
        sitting = Sitting(room(), MemoryLog())
        await sitting.open()
        liar = Liar(sitting.log.store, REFUSALS["400 10054"], "swallowed", times=2)
        speaker = Speaker(sitting.opener, await sitting.replica(liar), MemoryOutbox(), utc_now, patience_s=5)
        with pytest.raises(Unsaid, match=r"entry 2 of .* is signed .* said again at the next start"):
            await speaker.say(TICK)
        assert len({payload for _, _, payload, _ in liar.kept}) == 1
        # The same process goes on with the same bytes, too.
        assert (await speaker.say(TICK)).n == 3

    go(work())


def test_a_limit_is_asked_before_a_number_is_used(signed: Any) -> None:
    """Protects the member whose server shrinks its limit: what is too large is never signed, and what fits is said."""

    async def work() -> None:
        sitting = Sitting(room(), MemoryLog())
        await sitting.open()
        liar = Liar(sitting.log.store, REFUSALS["400 10054"], "swallowed", times=0)
        speaker = Speaker(sitting.opener, await sitting.replica(liar), MemoryOutbox(), utc_now, patience_s=5)
        liar.most = 1_000
        with pytest.raises(TooLarge):
            await speaker.say({"kind": "room.leave", "because": "x" * 1_000})
        assert not signed
        assert (await speaker.say(TICK)).n == 2

    go(work())


def test_a_damaged_outbox_is_taken_up_where_the_log_shows_that_it_was_said(signed: Any, tmp_path: Path) -> None:
    """Protects a member whose disk fails: cut or changed anywhere, the file is passed over only where that is safe."""

    async def work() -> None:
        sitting = Sitting(room(), MemoryLog())
        replica = await sitting.open()
        box = FileOutbox(tmp_path / "box")
        first = await Speaker(sitting.opener, replica, box, utc_now, patience_s=5).say(TICK)
        whole = first.payload
        flipped = bytearray(whole)
        flipped[-20] ^= 1
        for damaged, safe in [(whole[:-5], True), (bytes(flipped), True), (whole[:60], False), (b"", False)]:
            (tmp_path / "box").write_bytes(damaged)
            again = Speaker(sitting.opener, await sitting.replica(), box, utc_now, patience_s=5)
            if safe:
                await again.recover()
                continue
            with pytest.raises(SwarmError, match=re.escape(str(tmp_path / "box")) + ".*remove the file"):
                await again.recover()

    go(work())


def test_a_damaged_outbox_of_what_is_still_on_its_way_stops_the_member(signed: Any, tmp_path: Path) -> None:
    """Protects against the worst of both: swallowed by the broker and lost by the disk, its number stays unused."""

    async def work() -> None:
        sitting = Sitting(room(), MemoryLog())
        await sitting.open()
        box = FileOutbox(tmp_path / "box")
        liar = Liar(sitting.log.store, REFUSALS["no answer"], "swallowed", times=1_000)
        with pytest.raises(Unavailable):
            await Speaker(sitting.opener, await sitting.replica(liar), box, utc_now, patience_s=0.2).say(TICK)
        (tmp_path / "box").write_bytes((box.kept() or b"")[:-5])
        again = Speaker(sitting.opener, await sitting.replica(), box, utc_now, patience_s=5)
        with pytest.raises(SwarmError, match="remove the file"):
            await again.recover()
        # As soon as the log shows it, the file is of no more use.
        await liar.let_out()
        again = Speaker(sitting.opener, await sitting.replica(), box, utc_now, patience_s=5)
        await again.recover()
        assert (await again.say(TICK)).n == 3

    go(work())


# -- over the wire ----------------------------------------------------------------------------------------------------


class Between:
    """A proxy before a real server: swallows publications on *subject*, and says *answers* to them, one each."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.subject = "nothing"
        self.answers: list[Callable[[bytes, bytes], bytes]] = []
        self.swallowed: list[bytes] = []

    @asynccontextmanager
    async def serving(self) -> Any:
        server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        try:
            yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up, server = await asyncio.open_connection("127.0.0.1", self._port)
        down = asyncio.create_task(self._down(up, writer))
        inbox = b""
        try:
            while line := await reader.readline():
                words = line.split()
                piece = line
                if words and words[0] in (b"PUB", b"HPUB"):
                    piece += await reader.readexactly(int(words[-1]) + 2)
                elif words and words[0] == b"SUB" and words[1].endswith(b".*"):
                    inbox = words[2]
                if words and words[0] == b"HPUB" and words[1] == self.subject.encode() and self.answers:
                    self.swallowed.append(piece[len(line) + int(words[3]) : -2])
                    writer.write(self.answers.pop(0)(words[2], inbox))
                else:
                    server.write(piece)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            down.cancel()
            server.transport.abort()
            writer.transport.abort()

    @staticmethod
    async def _down(up: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await up.read(65536):
                writer.write(piece)


def refusing(reply: bytes, sid: bytes) -> bytes:
    """Answer as JetStream does for a message that is too large."""
    text = b'{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"}}'
    return b"MSG %s %s %d\r\n%s\r\n" % (reply, sid, len(text), text)


def shrinking(reply: bytes, sid: bytes) -> bytes:
    """Say nothing of the message, and from now on take almost nothing."""
    info = {"server_id": "X", "version": "2.11.0", "headers": True, "max_payload": 300, "proto": 1}
    return b"INFO " + json.dumps(info).encode() + b"\r\n" + refusing(reply, sid)


@pytest.mark.parametrize("lie", [refusing, shrinking])
def test_a_broker_that_swallows_a_publish_gets_the_same_bytes_or_nothing(
    signed: Any, lie: Any, operators_server: Broker, run: Any
) -> None:
    """Protects against the attack as it was found: over the wire, with a real server behind the liar."""

    async def work() -> None:
        between = Between(int(operators_server.url.rpartition(":")[2]))
        sitting = Sitting(room())
        entry = sign_opening(
            sitting.opener, sitting.scenario.opening({n: i.public for n, i in sitting.identities.items()}), utc_now()
        )
        async with between.serving() as url, await JetStreamLog.connect(url) as log:
            await publish_opening(log, entry)
            replica = Replica(log, entry.room, entry.author, utc_now)
            await replica.open()
            between.subject = room_subject(entry.room, entry.author)
            between.answers = [lie, lie]
            speaker = Speaker(sitting.opener, replica, MemoryOutbox(), utc_now, patience_s=5)
            with pytest.raises(Unsaid):
                await speaker.say({"kind": "room.excuse", "step": "room.joining", "because": "first"})
            between.answers = []
            with suppress(SwarmError):
                await speaker.say({"kind": "room.excuse", "step": "room.joining", "because": "second"})
            assert len(set(between.swallowed)) == 1
            assert {parse_entry(payload).n for payload in between.swallowed} == {2}

    run(work())
