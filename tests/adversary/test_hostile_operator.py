"""Whoever runs the server, on a real one: it writes where it likes, erases what it can, asks for signatures."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from protocols.duties.duties import Duty, ScoreDuty
from swarm.broker.server import Broker
from swarm.errors import Denied, SwarmError
from swarm.log.jetstream import JetStreamLog
from swarm.log.port import Cut
from swarm.log.streams import ensure_streams
from swarm.peers.peer import Peer
from swarm.signed.identity import Identity
from tests.support.hand_made import Insider, Refused, Siege
from tests.support.sieges import agent_of, room


def test_words_put_into_a_members_mouth_are_not_its_own(operator: Siege, run: Any) -> None:
    """Forged, borrowed and senseless bytes on bob's subject are no word of bob's; bob goes on past them."""

    async def work() -> None:
        async def meddle(cyd: Insider, duty: Duty) -> bool:
            bobs, forger = cyd.subject(operator.key("bob")), Identity.new()
            leave = {"kind": "room.leave", "because": "forged"}
            forged = cyd.sign(leave, identity=forger).payload
            await cyd.wire.ask(bobs, forged.replace(forger.public.encode(), operator.key("bob").encode()))
            await cyd.wire.ask(bobs, b"\xff\xfe")
            await cyd.wire.ask(bobs, cyd.sign(leave).payload)
            return False

        async with operator.room(room()) as cyd:
            await cyd.play(meddle)

    run(work())
    assert operator.outcomes == {"agreed"}
    assert set(operator.blamed("bad_signature")) == set(operator.blamed("not_json")) == {"bob"}
    assert operator.blamed("left") == []


def test_a_true_word_from_another_room_is_refused(operator: Siege, run: Any) -> None:
    """SG-06: what ann and bob signed in one room, stored again in the next under the same names and options."""

    async def work() -> None:
        async with operator.room(room()) as cyd:
            await cyd.play()
        before = [record for record in cyd.replica.fold.records if record.entry]

        async def replay(again: Insider, duty: Duty) -> bool:
            if isinstance(duty, ScoreDuty):
                for record in before:
                    await again.wire.ask(again.subject(record.author), record.payload)
            return False

        async with operator.room(room()) as cyd:
            await cyd.play(replay)

    run(work())
    assert operator.outcomes == {"agreed"}
    assert set(operator.blamed("wrong_room")) == {"ann", "bob", "cyd"}


def test_an_erased_stream_stops_everybody(run: Any) -> None:
    """A purge is refused even to the operator; deleting the stream and making it anew is a log rolled back."""

    async def work() -> None:
        async with Broker() as broker:
            siege = Siege(broker.url, {name: Identity.new() for name in Siege.NAMES}, agent_of, login=False)

            async def erase(cyd: Insider, duty: Duty) -> bool:
                if isinstance(duty, ScoreDuty):
                    with pytest.raises(Refused):
                        await cyd.wire.ask("$JS.API.STREAM.PURGE.SWARM")
                    await cyd.wire.ask("$JS.API.STREAM.DELETE.SWARM", b"")
                    await ensure_streams(broker.url)
                    raise _Done
                return False

            async with siege.room(room(step_seconds=4)) as cyd:
                with pytest.raises(_Done):
                    await cyd.play(erase)
            assert siege.outcomes == {"RolledBack"}

    run(work())


class _Done(Exception):
    pass


# -- a server that is none --------------------------------------------------------------------------------------------


class FakeServer:
    """Speaks the protocol, answers direct gets with the header blocks in *answers*, asks for a signature of *nonce*."""

    def __init__(self, *, nonce: str | None = None, answers: tuple[bytes, ...] = ()) -> None:
        self.nonce, self.answers = nonce, answers
        self.logins: list[dict[str, Any]] = []
        self._writers: list[asyncio.StreamWriter] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for writer in self._writers:
                writer.transport.abort()
            await server.wait_closed()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        info: dict[str, Any] = {
            "server_id": "X",
            "version": "2.11.0",
            "headers": True,
            "max_payload": 2**20,
            "proto": 1,
        }
        if self.nonce is not None:
            info |= {"auth_required": True, "nonce": self.nonce}
        try:
            writer.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
            while line := await reader.readline():
                verb, *rest = line.split()
                if verb == b"CONNECT":
                    self.logins.append(json.loads(line.partition(b" ")[2]))
                elif verb == b"PING":
                    writer.write(b"PONG\r\n")
                elif verb == b"PUB":
                    await reader.readexactly(int(rest[-1]) + 2)
                    for headers in self.answers:
                        size = len(headers)
                        writer.write(b"HMSG %b 1 %d %d\r\n%b\r\n" % (rest[1], size, size, headers))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass


NONCES = ["", "A" * 16, "A" * 14 + "=", 'swarm/entry/1\0{"author":"U"}', "swarm/checkpoint/1\0{}", "\u00e9" * 15]


@pytest.mark.parametrize("nonce", NONCES, ids=ascii)
def test_a_hostile_servers_nonce_is_not_signed(nonce: str, run: Any) -> None:
    """A peer that logs in signs what is of a server's form and nothing else: no entry can be had that way."""

    async def work() -> None:
        server = FakeServer(nonce=nonce)
        async with server.serving() as url:
            with pytest.raises(Denied, match="no login nonce"):
                await Peer(agent_of("ann"), Identity.new(), url).join(
                    "x-" + "a" * 26, Identity.new().public, timeout_s=3
                )
        assert not any("sig" in login for login in server.logins)

    run(work())


def _record(subject: str, sequence: str = "7", last: str = "0", time: str = "2026-12-01T12:00:00Z") -> bytes:
    lines = [f"Nats-Stream: SWARM\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}"]
    lines += [f"Nats-Time-Stamp: {time}\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: {last}"]
    return b"NATS/1.0\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n"


def _end(upper: str = "9", last: str = "7") -> bytes:
    lines = f"Nats-Num-Pending: 0\r\nNats-Last-Sequence: {last}\r\nNats-UpTo-Sequence: {upper}"
    return b"NATS/1.0 204 EOB\r\n" + lines.encode() + b"\r\n\r\n"


ANN = Identity(b"a" * 32).public
HERE = f"swarm.room.r.{ANN}"
ANSWERS: dict[str, tuple[bytes, ...]] = {
    "a subject that nobody asked for": (_record("swarm.room.r.UX"), _end()),
    "a subject of another room": (_record(f"swarm.room.other.{ANN}"), _end()),
    "a sequence that is no number": (_record(HERE, "x"), _end()),
    "a sequence of 5,000 digits": (_record(HERE, "9" * 5_000), _end()),
    "a sequence below nothing": (_record(HERE, "-7"), _end(last="-7")),
    "a time that is none": (_record(HERE, time="yesterday"), _end()),
    "a time of 10,000 digits": (_record(HERE, time="2026-12-01T12:00:00." + "1" * 10_000 + "Z"), _end()),
    "an upper bound that is none": (_record(HERE), _end(upper="x")),
    "a subject that is no text": (_record(HERE).replace(b"swarm.room", b"\xff\xfe"), _end()),
    "the end of something else": (_record(HERE), _end(last="6")),
    "an end without a beginning": (_end(),),
    "no header block at all": (b"\r\n\r\n",),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_none_are_our_own_errors(name: str, run: Any) -> None:
    """Whatever a server answers to a reader, it is records of what was asked, or an error that says so."""

    async def work() -> None:
        async with FakeServer(answers=ANSWERS[name]).serving() as url, await JetStreamLog.connect(url) as log:
            for ask in (
                lambda: log.read("r", [ANN], {}, timeout_s=0.3),
                lambda: log.last("r", ANN, timeout_s=0.3),
                lambda: log.earliest("r", timeout_s=0.3),
                lambda: log.invitations(ANN, timeout_s=0.3),
            ):
                try:
                    found = await ask()
                except SwarmError:
                    continue
                if isinstance(found, Cut):
                    assert {record.author for record in found.records} <= {ANN}

    run(work())
