"""The doctor: what it finds on servers that are well, open, too small, without JetStream, or not there at all."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protocols.core.instants import SECOND
from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.errors import LogFull
from swarm.log.jetstream import JetStreamLog
from swarm.log.port import Stored
from swarm.log.streams import ensure_streams
from swarm.peers.peer import open_room
from swarm.signed.identity import Identity
from swarm.visit.doctor import Check, examine
from tests.support.small_rooms import go, member, room, swarm


def levels(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.level for check in checks}


@contextmanager
def bare_server(folder: Path, *arguments: str, config: str = "") -> Iterator[str]:
    """A nats-server as somebody else may run it."""
    binary = Path(sys.executable).with_name("nats-server")
    conf = folder / "server.conf"
    conf.write_text(config, encoding="utf-8")
    process = subprocess.Popen(
        [str(binary), "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", str(folder), "-c", str(conf), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        ports = folder / f"nats-server_{process.pid}.ports"
        deadline = time.monotonic() + 20
        while not (ports.exists() and ports.read_text().strip()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield json.loads(ports.read_text())["nats"][0]
    finally:
        process.terminate()
        process.wait(10)


def test_a_member_of_a_secure_server_finds_it_well(tmp_path: Path) -> None:
    """Protects who sets up a peer: where all is as it should be, no problem is found, and what is hidden is said."""
    key, other = Identity.new(), Identity.new()
    key.save(tmp_path / "a.key")

    async def work() -> list[Check]:
        async with Broker(members=[key.public, other.public]) as broker:
            scenario = room(member("ann", key=key.public), member("bob", key=other.public), seconds=30)
            await asyncio.to_thread(open_room, scenario, key, broker.url)
            return await examine(broker.url, tmp_path / "a.key", tmp_path)

    found = levels(go(work()))
    assert "problem" not in found.values(), found
    assert (found["login"], found["permissions"], found["reading"], found["clock"]) == ("ok",) * 4
    assert found["storage"] == found["sync"] == "unknown"


def test_a_key_that_the_server_does_not_know_is_told_so(tmp_path: Path) -> None:
    """Protects who was not let in: the reason, and what to ask for."""
    Identity.new().save(tmp_path / "x.key")

    async def work() -> list[Check]:
        async with Broker(members=[Identity.new().public]) as broker:
            return await examine(broker.url, tmp_path / "x.key")

    last = go(work())[-1]
    assert (last.name, last.level) == ("server", "problem")
    assert "refuses this key" in last.text
    assert "--member" in last.advice


def test_an_open_server_is_warned_of() -> None:
    """Protects members of a server that asks nobody who they are."""

    async def work() -> list[Check]:
        async with Broker() as broker:
            return await examine(broker.url)

    found = levels(go(work()))
    assert found["login"] == found["permissions"] == "warning"
    assert found["SWARM"] == found["SWARM_INVITES"] == found["writing"] == "ok"
    assert "problem" not in found.values()


def test_a_full_store_is_not_called_well() -> None:
    """Protects who relies on the word: the server's own limit cannot be seen from a client, and that is said."""

    async def work() -> list[Check]:
        async with Broker(store_limit_bytes=2**20) as broker, await JetStreamLog.connect(broker.url) as log:
            last = 0
            with pytest.raises(LogFull):
                while True:
                    last = await log.append("full-" + "a" * 26, "UA", b"x" * 100_000, expected_last=last)
            return await examine(broker.url)

    storage = next(check for check in go(work()) if check.name == "storage")
    assert storage.level == "unknown"
    assert "max_file_store" in storage.advice


def test_the_doctor_leaves_nothing_behind(tmp_path: Path) -> None:
    """Protects the log: looking whether this key may write writes nothing, however often."""
    key = Identity.new()
    key.save(tmp_path / "a.key")

    async def work() -> dict[str, Stored]:
        async with Broker(members=[key.public]) as broker:
            for _ in range(2):
                assert levels(await examine(broker.url, tmp_path / "a.key"))["writing"] == "ok"
            async with await JetStreamLog.connect(broker.url, identity=key) as log:
                return await log.rooms(key.public)

    assert go(work()) == {}


def test_a_key_that_may_only_read_is_told_so(tmp_path: Path) -> None:
    """Protects a member whose permissions were written by hand: that it could say nothing is seen before a room is."""
    key = Identity.new()
    key.save(tmp_path / "a.key")
    allowed = f'permissions: {{publish: {{allow: ["$JS.API.>"]}}, subscribe: {{allow: ["_INBOX_{key.public}.>"]}}}}'
    config = f"authorization {{ users: [{{nkey: {key.public}, {allowed}}}] }}\n"
    with bare_server(tmp_path, "-js", "-sd", str(tmp_path / "js"), config=config) as url:
        go(ensure_streams(url, identity=key))
        found = {check.name: check for check in go(examine(url, tmp_path / "a.key", timeout_s=3))}
    assert found["reading"].level == "ok"
    assert found["writing"].level == "problem"
    assert "publish" in found["writing"].text


@pytest.mark.long
def test_a_server_that_is_stopped_and_one_of_several_that_is_away(tmp_path: Path) -> None:
    """Protects who looks for what is wrong: a server that only takes connections is named, and is not everything."""
    with bare_server(tmp_path, "-js", "-sd", str(tmp_path / "js")) as url:
        several = levels(go(examine(f"{url},nats://127.0.0.1:1", timeout_s=2)))
        process = int(next(tmp_path.glob("nats-server_*.ports")).stem.removeprefix("nats-server_"))
        os.kill(process, signal.SIGSTOP)
        try:
            stopped = go(examine(url, timeout_s=3))[-1]
        finally:
            os.kill(process, signal.SIGCONT)
    assert several["servers"] == "warning"
    assert "server" not in several
    assert (stopped.name, stopped.level) == ("server", "problem")
    assert "no answer within 3 s (" in stopped.text and "()" not in stopped.text


def test_a_server_without_jetstream_is_a_problem_with_advice(tmp_path: Path) -> None:
    """Protects who starts a server by hand and forgets half of it."""
    with bare_server(tmp_path) as url:
        checks = go(examine(url, timeout_s=2))
    found = {check.name: check for check in checks}
    assert found["jetstream"].level == "problem"
    assert "-js" in found["jetstream"].advice


def test_a_stream_that_erases_is_a_problem_and_says_why(tmp_path: Path) -> None:
    """Protects what was said: a stream with other settings would lose it without a word."""
    import nats

    async def spoil(url: str) -> list[Check]:
        client = await nats.connect(url)
        await client.jetstream().add_stream(name="SWARM", subjects=["swarm.room.>"])
        await client.close()
        return await examine(url, timeout_s=2)

    with bare_server(tmp_path, "-js", "-sd", str(tmp_path / "js")) as url:
        checks = go(spoil(url))
    problem = next(check for check in checks if check.name == "SWARM")
    assert problem.level == "problem"
    assert "discard" in problem.text


def test_small_messages_are_a_problem(tmp_path: Path) -> None:
    """Protects large entries: the server's limit is compared with ours before anybody is refused."""
    with bare_server(tmp_path, "-js", "-sd", str(tmp_path / "js"), config="max_payload: 65536\n") as url:
        checks = go(examine(url, timeout_s=2))
    assert levels(checks)["max_payload"] == "problem"


def test_a_clock_that_is_behind_is_seen(tmp_path: Path) -> None:
    """Protects the peer from entries that would all be disputed."""
    key, other = Identity.new(), Identity.new()
    key.save(tmp_path / "a.key")

    async def work() -> list[Check]:
        async with Broker() as broker:
            scenario = room(member("ann", key=key.public), member("bob", key=other.public), seconds=30)
            await asyncio.to_thread(open_room, scenario, key, broker.url)
            return await examine(broker.url, tmp_path / "a.key", clock=lambda: utc_now() - 120 * SECOND)

    clock = next(check for check in go(work()) if check.name == "clock")
    assert clock.level == "warning"
    assert "ahead" in clock.text


def test_a_folder_that_is_none_is_a_problem(tmp_path: Path) -> None:
    """Protects the outbox: a peer that cannot keep what it signs must not begin."""
    checks = go(examine("nats://127.0.0.1:1", None, tmp_path / "nowhere", timeout_s=1))
    assert levels(checks)["directory"] == "problem"


def test_the_verb_tells_and_exits(tmp_path: Path) -> None:
    """Protects scripts: 1 with a problem, and one JSON object, from the process itself."""
    loose = tmp_path / "loose.key"
    Identity.new().save(loose)
    loose.chmod(0o644)
    done = swarm("doctor", "--server", "nats://127.0.0.1:1", "--key", str(loose), "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert not told["healthy"]
    assert {c["check"]: c["level"] for c in told["checks"]} == {"key": "problem", "server": "problem"}


def test_the_verb_tells_and_exits_by_what_it_found(
    tmp_path: Path, told: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects people: 1 with a problem, 2 for wrong input, advice in the text; a loose key file is named."""
    loose = tmp_path / "loose.key"
    Identity.new().save(loose)
    loose.chmod(0o644)
    monkeypatch.setattr("swarm.visit.doctor.CONNECT_S", 1.0)
    code, out, _ = told("doctor", "--server", "nats://127.0.0.1:1", "--key", str(loose))
    assert code == 1
    assert "chmod 600" in out
    assert told("doctor", "--server", "no url")[0] == 2
