"""The streams are made as designed, and others are refused with what is wrong with them."""

import asyncio
import json

import pytest

from swarm.broker.server import Broker
from swarm.errors import BadInput, LogFull, RolledBack, Unavailable
from swarm.log.connection import Connection
from swarm.log.jetstream import JetStreamLog
from swarm.log.streams import ensure_streams, stream_settings


async def api(url, verb, body=None, name="SWARM"):
    connection = await Connection.open(url)
    try:
        deadline = asyncio.get_running_loop().time() + 10
        data = json.dumps(body).encode() if body else b""
        (reply,) = await connection.call(f"$JS.API.STREAM.{verb}.{name}", data, deadline=deadline)
        return json.loads(reply.data)
    finally:
        await connection.close()


def test_streams_that_are_there_and_right_are_left_alone(run, open_broker, monkeypatch):
    monkeypatch.setattr("swarm.log.streams.AUTHOR_RECORDS", 1)
    before = run(api(open_broker.url, "INFO"))["config"]
    run(ensure_streams(open_broker.url))
    assert run(api(open_broker.url, "INFO"))["config"] == before
    assert before["deny_delete"] and before["deny_purge"] and before["discard_new_per_subject"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("deny_purge", False),
        ("deny_delete", False),
        ("discard", "old"),
        ("max_age", 3_600_000_000_000),
        ("max_msgs", 5),
        ("allow_direct", False),
        ("allow_rollup_hdrs", True),
        ("max_msg_size", 1000),
        ("storage", "memory"),
        ("republish", None),
    ],
)
def test_a_stream_that_could_lose_records_is_refused_by_name(run, setting, value):
    async def scenario():
        async with Broker() as broker:
            await api(broker.url, "DELETE")
            wrong = stream_settings()[0] | {setting: value}
            if setting == "discard":
                wrong["discard_new_per_subject"] = False
            if setting == "allow_rollup_hdrs":
                wrong["deny_purge"] = False
            created = await api(broker.url, "CREATE", wrong)
            assert "error" not in created, created
            with pytest.raises(BadInput, match=f"SWARM .*{setting} is"):
                await ensure_streams(broker.url)

    run(scenario())


def test_a_recreated_stream_is_a_rollback_to_who_had_read_the_old_one(run, room):
    async def scenario():
        async with Broker() as broker, await JetStreamLog.connect(broker.url) as log:
            one = await log.append(room, "A", b"1", expected_last=0)
            two = await log.append(room, "A", b"2", expected_last=one)
            await log.read(room, ["A"], {})
            await api(broker.url, "DELETE")
            with pytest.raises(Unavailable):
                await log.read(room, ["A"], {"A": two}, timeout_s=0.3)
            await ensure_streams(broker.url)
            with pytest.raises(RolledBack):
                await log.read(room, ["A"], {"A": two}, timeout_s=0.3)
            with pytest.raises(RolledBack):
                await log.last(room, "A", timeout_s=0.3)

    run(scenario())


def test_a_server_without_the_streams_is_unavailable_not_silent(run, room):
    async def scenario():
        async with Broker() as broker, await JetStreamLog.connect(broker.url) as log:
            await api(broker.url, "DELETE")
            with pytest.raises(Unavailable, match="no stream"):
                await log.append(room, "A", b"1", expected_last=0, timeout_s=0.3)

    run(scenario())


def test_a_full_store_refuses_what_is_new_and_keeps_what_is_old(run, room):
    async def scenario():
        async with Broker(store_limit_bytes=2 * 1024**2) as broker, await JetStreamLog.connect(broker.url) as log:
            sequence, stored = 0, 0
            with pytest.raises(LogFull):
                for _ in range(100):
                    sequence = await log.append(room, "A", bytes(100_000), expected_last=sequence)
                    stored += 1
            assert stored >= 10
            assert len((await log.read(room, ["A"], {})).records) == stored

    run(scenario())
