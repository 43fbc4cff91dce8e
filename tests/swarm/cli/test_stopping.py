"""A process that is told to end does so, whatever it folds."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.log.jetstream import JetStreamLog
from swarm.peers.peer import open_room
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.signed.identity import Identity
from tests.support.small_rooms import member, room
from tests.swarm.cli.busy_fold import RECORDS

HERE = Path(__file__).resolve().parent
KILLED = -signal.SIGTERM
"""The system's own end of a process that does not handle the signal."""


@pytest.fixture(scope="module")
def big_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """A server, a room on it in which much was said, and the key of a member that has not been there."""
    folder = tmp_path_factory.mktemp("big")
    ann, bob = Identity.new(), Identity.new()
    bob.save(folder / "bob.key")
    agent = {"agent": "scripted", "accepts": {"openers": [ann.public]}}
    (folder / "bob.json").write_text(json.dumps(agent), encoding="utf-8")
    (folder / "client.json").write_text(json.dumps({"accepts": agent["accepts"]}), encoding="utf-8")
    scenario = room(member("ann", key=ann.public), member("bob", key=bob.public), seconds=600)
    broker = Broker()
    asyncio.run(broker.__aenter__())
    try:
        address = open_room(scenario, ann, broker.url)

        async def fill() -> None:
            async with await JetStreamLog.connect(broker.url) as log:
                replica = Replica(log, address.room, address.opener, utc_now)
                await replica.open()
                speaker = Speaker(ann, replica, MemoryOutbox(), utc_now, patience_s=30)
                for _ in range(RECORDS):
                    await speaker.say({"kind": "room.tick"})

        asyncio.run(fill())
        yield broker.url, address.room, folder
    finally:
        asyncio.run(broker.__aexit__(None, None, None))


@pytest.mark.parametrize(
    ("verb", "how", "code"),
    [("peer", "one", 0), ("peer", "many", 0), ("mcp", "one", 0), ("watch", "one", KILLED), ("status", "many", KILLED)],
)
def test_sigterm_ends_a_process_that_folds(big_room: tuple[str, str, Path], verb: str, how: str, code: int) -> None:
    """Protects an operator: a room made to take for ever holds no process; it ends by itself, before it is through."""
    url, name, folder = big_room
    words = {
        "peer": ["peer", str(folder / "bob.json"), "--key", str(folder / "bob.key"), "--server", url],
        "mcp": ["mcp", "--agent", str(folder / "client.json"), "--key", str(folder / "bob.key"), "--server", url],
        "watch": ["watch", name, "--server", url],
        "status": ["status", name, "--server", url],
    }[verb]
    if verb == "mcp":
        pytest.importorskip("mcp")
    said = folder / f"{verb}.{how}.err"
    with said.open("wb") as err:
        command = [sys.executable, str(HERE / "busy_fold.py"), how, *words]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=err)
    try:
        deadline = time.monotonic() + 60
        while "folding" not in said.read_text("utf-8"):
            assert process.poll() is None and time.monotonic() < deadline, said.read_text("utf-8")
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == code, said.read_text("utf-8")
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
    log = said.read_text("utf-8")
    assert "all folded" not in log and "Traceback" not in log
