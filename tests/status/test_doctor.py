"""The doctor: what it finds on servers that are well, open, too small, without JetStream, or not there at all."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from small_rooms import go, member, room, swarm

from protocols.instants import SECOND
from swarm.broker import Broker
from swarm.clock import utc_now
from swarm.doctor import Check, examine
from swarm.identity import Identity
from swarm.peer import open_room


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
    assert found["SWARM"] == found["SWARM_INVITES"] == found["storage"] == "ok"
    assert "problem" not in found.values()


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


def test_the_verb_tells_and_exits_by_what_it_found(tmp_path: Path) -> None:
    """Protects scripts: 1 with a problem, one JSON object, advice in the text; a loose key file is named."""
    loose = tmp_path / "loose.key"
    Identity.new().save(loose)
    loose.chmod(0o644)
    done = swarm("doctor", "--server", "nats://127.0.0.1:1", "--key", str(loose), "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert not told["healthy"]
    assert {c["check"]: c["level"] for c in told["checks"]} == {"key": "problem", "server": "problem"}
    text = swarm("doctor", "--server", "nats://127.0.0.1:1", "--key", str(loose)).stdout
    assert "chmod 600" in text
    assert swarm("doctor", "--server", "no url").returncode == 2
