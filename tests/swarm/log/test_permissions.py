"""What a member may do on a broker with accounts, tried by one who speaks the protocol itself."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from swarm.errors import Denied, Unavailable
from swarm.log import directget as dg
from swarm.log.connection import Connection
from swarm.log.jetstream import JetStreamLog
from swarm.signed.identity import Identity


def deadline(seconds=20.0):
    return asyncio.get_running_loop().time() + seconds


@asynccontextmanager
async def attack(broker, identities):
    """A room with one record of the victim's, a connection of the attacker's, and the victim's client."""
    attacker, victim = identities[0], identities[1]
    async with await JetStreamLog.connect(broker.url, identity=victim) as log:
        connection = await Connection.open(broker.url, identity=attacker)
        try:
            yield connection, log, attacker.public, victim.public
        finally:
            await connection.close()


async def raw(connection, subject, reply, payload):
    await connection._client.send(f"PUB {subject} {reply} {len(payload)}\r\n".encode() + payload + b"\r\n")


@pytest.mark.parametrize(
    "subject",
    [
        "$JS.API.STREAM.PURGE.SWARM",
        "$JS.API.STREAM.DELETE.SWARM",
        "$JS.API.STREAM.UPDATE.SWARM",
        "$JS.API.STREAM.MSG.DELETE.SWARM",
        "$JS.API.STREAM.MSG.GET.SWARM",
        "$JS.API.STREAM.INFO.SWARM",
        "$JS.API.STREAM.CREATE.MINE",
        "$JS.API.STREAM.SNAPSHOT.SWARM",
        "$JS.API.CONSUMER.CREATE.SWARM",
        "$JS.API.CONSUMER.CREATE.SWARM.mine.swarm.room.>",
        "$JS.API.CONSUMER.DURABLE.CREATE.SWARM.mine",
        "$JS.API.DIRECT.GET.SWARM.swarm.room.r.x",
        "$JS.API.INFO",
        "$SYS.REQ.SERVER.PING",
        "swarm.room.r.{victim}",
        "swarm.room.r.{attacker}.more",
        "swarm.room.{attacker}",
        "swarm.log.r.{victim}",
        "swarm.log.r.{attacker}",
        "swarm.invite.{attacker}.{victim}",
        "swarm.invited.{victim}.{attacker}",
        "_INBOX_{victim}.guess.1",
        "anything",
    ],
)
def test_a_member_publishes_nowhere_else_and_is_told_at_once(run, secure_broker, identities, room, subject):
    async def scenario():
        async with attack(secure_broker, identities) as (connection, log, attacker, victim):
            await log.append(room, victim, b"mine", expected_last=0)
            with pytest.raises(Denied):
                await connection.call(subject.format(attacker=attacker, victim=victim), b"{}", deadline=deadline(50))
            assert (await log.last(room, victim)).payload == b"mine"

    run(scenario())


@pytest.mark.parametrize(
    "subject", ["_INBOX_{victim}.>", "_INBOX.>", "swarm.room.>", "swarm.room.r.{attacker}", ">", "$JS.>", "$SYS.>"]
)
def test_a_member_listens_nowhere_else(run, secure_broker, identities, subject):
    async def scenario():
        async with attack(secure_broker, identities) as (connection, _, attacker, victim):
            with pytest.raises(Denied):
                await connection.subscribe(
                    subject.format(attacker=attacker, victim=victim), lambda *_: None, deadline(50)
                )

    run(scenario())


def test_a_victims_subject_as_reply_gets_nothing_stored_there(run, secure_broker, identities, room):
    """In one account the acknowledgement of the first, and a whole room by the second, would land on that subject."""

    async def scenario():
        async with attack(secure_broker, identities) as (connection, log, attacker, victim):
            first = await log.append(room, victim, b"mine", expected_last=0)
            target = f"swarm.room.{room}.{victim}"
            await raw(connection, f"swarm.room.{room}.{attacker}", target, b"acknowledge to the victim's subject")
            await raw(connection, f"swarm.room.{room}.{attacker}", f"swarm.room.{room}.{attacker}", b"or to mine")
            for stream_get in ("$JS.API.DIRECT.GET.SWARM",):
                await raw(connection, stream_get, target, dg.last_of(f"swarm.room.{room}.{victim}"))
                await raw(connection, stream_get, target, dg.all_of("swarm.room.>", 0, 256))
            # Whatever those did is done once a later request of the same connection is answered.
            await connection.call("$JS.API.DIRECT.GET.SWARM", dg.last_of("swarm.room.x.y"), deadline=deadline())
            second = await log.append(room, victim, b"next", expected_last=first)
            cut = await log.read(room, [victim, attacker], {})
            assert [each.payload for each in cut.records if each.author == victim] == [b"mine", b"next"]
            assert [each.payload for each in cut.records if each.author == attacker] == [
                b"acknowledge to the victim's subject",
                b"or to mine",
            ]
            assert second == cut.records[-1].sequence

    run(scenario())


def test_stored_headers_that_play_a_status_do_not_end_a_reader(run, secure_broker, identities, room):
    async def scenario():
        async with attack(secure_broker, identities) as (connection, log, attacker, victim):
            await log.append(room, victim, b"1", expected_last=0)
            forged = [
                b"NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\n\r\n",
                b"NATS/1.0 404 Message Not Found\r\n\r\n",
                b"NATS/1.0 503\r\n\r\n",
                b"NATS/1.0\r\nStatus: 204\r\nNats-Sequence: 1\r\nNats-Subject: swarm.room.x.y\r\n\r\n",
                b"NATS/1.0\r\nNats-Time-Stamp: 1970-01-01T00:00:00Z\r\nNats-Sequence: 99999999",
                b"\xff\xfe\x00",
                b"NATS/1.0\r\nX: " + b"y" * 900 + b"\r\n\r\n",
            ]
            sequences = []
            for number, headers in enumerate(forged):
                (reply,) = await connection.call(
                    f"swarm.room.{room}.{attacker}", b"%d" % number, headers=headers, deadline=deadline()
                )
                sequences.append(json.loads(reply.data)["seq"])
            cut = await log.read(room, [victim, attacker], {})
            theirs = [each for each in cut.records if each.author == attacker]
            assert [each.payload for each in theirs] == [b"%d" % number for number in range(len(forged))]
            assert [each.sequence for each in theirs] == sequences
            for each in theirs:
                assert each.stored > 1_767_225_600_000_000
            assert (await log.first(room, attacker)).payload == b"0"
            assert (await log.last(room, attacker)).sequence == sequences[-1]

    run(scenario())


@pytest.mark.parametrize(
    "header",
    [
        b"Nats-Rollup: sub",
        b"Nats-Rollup: all",
        b"Nats-TTL: 1s",
        b"Nats-Incr: +1",
        b"Nats-Schedule: @at 2027-01-01T00:00:00Z",
        b"Nats-Expected-Stream: OTHER",
    ],
)
def test_a_header_that_would_erase_or_forge_is_refused(run, secure_broker, identities, room, header):
    async def scenario():
        async with attack(secure_broker, identities) as (connection, log, attacker, victim):
            await log.append(room, victim, b"mine", expected_last=0)
            (reply,) = await connection.call(
                f"swarm.room.{room}.{attacker}",
                b"x",
                headers=b"NATS/1.0\r\n" + header + b"\r\n\r\n",
                deadline=deadline(),
            )
            assert "error" in json.loads(reply.data)
            assert (await log.last(room, victim)).payload == b"mine"
            assert await log.last(room, attacker) is None

    run(scenario())


def test_a_used_up_message_id_does_not_swallow_a_record(run, secure_broker, identities, room):
    """An append carries no message id, so whoever uses ids first takes nothing from anyone."""

    async def scenario():
        async with attack(secure_broker, identities) as (connection, log, attacker, victim):
            for name in (victim, "1", room):
                headers = b"NATS/1.0\r\nNats-Msg-Id: " + name.encode() + b"\r\n\r\n"
                await connection.call(f"swarm.room.{room}.{attacker}", b"x", headers=headers, deadline=deadline())
            await log.append(room, victim, b"mine", expected_last=0)
            assert (await log.last(room, victim)).payload == b"mine"

    run(scenario())


def test_a_stranger_is_refused_at_once(run, secure_broker, identities):
    async def scenario():
        for identity in (Identity.new(), identities[4], None):
            with pytest.raises(Denied):
                await JetStreamLog.connect(secure_broker.url, identity=identity, timeout_s=50)

    run(scenario())


def test_two_connections_of_one_key_do_not_see_each_others_answers(run, secure_broker, identities):
    async def scenario():
        one = await Connection.open(secure_broker.url, identity=identities[0])
        two = await Connection.open(secure_broker.url, identity=identities[0])
        try:
            assert one._inbox != two._inbox
            with pytest.raises(Unavailable):
                await one.call(f"{two._inbox}1", b"x", deadline=deadline(0.2))
        except Denied:
            pass  # It may not even publish there.
        finally:
            await one.close()
            await two.close()

    run(scenario())
