"""The configuration for somebody else's nats-server: printed, started as it is, and attacked."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.broker.server import server_binary
from swarm.errors import Denied
from swarm.log.connection import Connection
from swarm.log.jetstream import JetStreamLog
from swarm.signed.identity import Identity
from tests.swarm.broker.test_tls import Swarm, go, typed

ADA, BEN, SETUP, STRANGER = (Identity(bytes([n]) * 32) for n in range(1, 5))


@pytest.fixture(scope="module")
def printed() -> str:
    done = typed(
        *("broker", "--print-config", "--setup", SETUP.public, "--member", ADA.public),
        *("--member", BEN.public, "--member", ADA.public),
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def url(printed: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A nats-server that was started by hand with what was printed, the streams made as it says."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "nats.conf").write_text(printed, encoding="utf-8")
    SETUP.save(folder / "setup.key")
    command = [str(server_binary()), "-c", "nats.conf", "-p", "-1", "--ports_file_dir", str(folder)]
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not (ports := list(folder.glob("*.ports"))):
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        address: str = json.loads(ports[0].read_text())["nats"][0]
        made = typed("broker", "--make-streams", address, "--key", folder / "setup.key")
        assert made.returncode == 0, made.stderr
        assert typed("broker", "--make-streams", address, "--key", folder / "setup.key").returncode == 0
        yield address
    finally:
        server.terminate()
        server.wait(20)


def test_it_names_no_place_of_this_machine_and_no_secret(printed: str) -> None:
    """Protects whoever passes it on: keys in it are public, and paths are the reader's to set."""
    assert str(Path.home()) not in printed and "/tmp" not in printed and sys.prefix not in printed
    assert re.search(r'[":= ]/[a-z]', printed) is None
    assert re.search(r"SU[A-Z2-7]{56}", printed) is None
    assert printed.count(f"{{nkey: {ADA.public},") == 1, "named twice, let in once"
    assert "max_file_store" in printed and "host: 127.0.0.1" in printed


def test_members_speak_and_read_there(url: str) -> None:
    """Protects the use of it: what a member needs works as on our own broker."""

    async def scenario() -> None:
        async with (
            await JetStreamLog.connect(url, identity=ADA) as ada,
            await JetStreamLog.connect(url, identity=BEN) as ben,
        ):
            await ada.append("day", ADA.public, b"one", expected_last=0)
            await ben.append("day", BEN.public, b"two", expected_last=0)
            cut = await ben.read("day", [ADA.public, BEN.public], {})
            assert [record.payload for record in cut.records] == [b"one", b"two"]
        for identity in (STRANGER, None):
            with pytest.raises(Denied):
                await JetStreamLog.connect(url, identity=identity, timeout_s=50)

    go(scenario())


@pytest.mark.parametrize(
    "subject",
    [
        f"swarm.room.day.{BEN.public}",
        f"swarm.invite.{ADA.public}.{BEN.public}",
        f"swarm.log.day.{ADA.public}",
        "$JS.API.CONSUMER.CREATE.SWARM",
        "$JS.API.CONSUMER.DURABLE.CREATE.SWARM.mine",
        "$JS.API.STREAM.PURGE.SWARM",
        "$JS.API.STREAM.DELETE.SWARM",
        "$JS.API.STREAM.UPDATE.SWARM",
        "$JS.API.STREAM.CREATE.MINE",
        "$JS.API.STREAM.MSG.DELETE.SWARM",
        "$SYS.REQ.SERVER.PING",
    ],
)
def test_a_member_may_nothing_else(url: str, subject: str) -> None:
    """Protects every other member: another's subject, consumers, purges and deletions are denied by the server."""

    async def scenario() -> None:
        connection = await Connection.open(url, identity=ADA)
        try:
            with pytest.raises(Denied):
                await connection.call(subject, b"{}", deadline=asyncio.get_running_loop().time() + 50)
        finally:
            await connection.close()

    go(scenario())


@pytest.mark.parametrize(
    "options",
    [
        ["--print-config"],
        ["--print-config", "--member", "UXYZ"],
        ["--print-config", "--member", ADA.public, "--setup", "UXYZ"],
        ["--print-config", "--member", ADA.public, "--port", "4222"],
        ["--print-config", "--member", ADA.public, "--make-streams", "nats://127.0.0.1:1"],
        ["--setup", SETUP.public],
        ["--key", "x"],
        ["--make-streams", "http://127.0.0.1"],
        ["--make-streams", "nats://127.0.0.1:1", "--secure"],
    ],
)
def test_options_that_do_not_go_together_are_one_message(swarm: Swarm, options: list[str]) -> None:
    """Protects from half an answer: nothing is printed or started, and the message says what goes with what."""
    done = swarm("broker", *options)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1 and done.err.startswith("swarm: ")
