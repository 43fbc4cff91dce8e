"""TLS to the broker, with certificates of our own: who is talked to, who is not, and what people are told."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.auditing.auditing import audit
from swarm.broker.server import Broker
from swarm.errors import BadInput, Unavailable, Untrusted
from swarm.log.jetstream import JetStreamLog
from swarm.log.tls import client_context
from swarm.signed.identity import Identity
from tests.support.certificates import Pair, make
from tests.support.typed import Done

Swarm = Callable[..., Done]
SWARM = str(Path(sys.executable).with_name("swarm"))
MEMBERS: list[dict[str, Any]] = [
    {"name": name, "agent": "scripted", "proposes": {"title": "Mo", "offer": {"day": "mon"}}, "scores": {"Mo": 70}}
    for name in ("ada", "ben")
]
SCENARIO = {
    "room": "day",
    "intent": "Pick a day.",
    "agenda": ["concord"],
    "issues": {"day": ["mon", "tue"]},
    "rules": {"step_seconds": 20, "improvements": 0},
    "members": MEMBERS,
}


def go(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


def typed(*arguments: object, ca: Path | None = None) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, **({} if ca is None else {"SWARM_TLS_CA": str(ca)})}
    command = [SWARM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Pair:
    return make(folder, "authority")


@pytest.fixture(scope="module")
def server(folder: Path, authority: Pair) -> Pair:
    return make(folder, "server", authority)


@pytest.fixture(scope="module")
def url(server: Pair) -> Iterator[str]:
    """A broker over TLS, started as people start it."""
    command = [SWARM, "broker", "--tls-cert", str(server.path), "--tls-key", str(server.key)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def test_a_run_an_export_and_a_receipt_over_tls(url: str, authority: Pair, tmp_path: Path) -> None:
    """Protects the whole way: every verb that talks to a server does so over TLS, members' processes included."""
    assert url.startswith("tls://127.0.0.1:")
    scenario, ledger, key = tmp_path / "day.json", tmp_path / "day.jsonl", tmp_path / "ada.key"
    scenario.write_text(json.dumps(SCENARIO), encoding="utf-8")
    there = ["--server", url, "--tls-ca", authority.path]
    done = typed("run", scenario, "--dir", tmp_path / "kept", "--json", *there)
    assert (done.returncode, done.stderr.count("eof_received")) == (0, 0), done.stderr
    room = json.loads(done.stdout)["room"]
    key = tmp_path / "kept" / "keys" / "00.key"
    assert typed("export", room, "-o", ledger, *there).returncode == 0
    assert audit(ledger).verdict == "incomplete" and audit(ledger).complete
    receipt = typed("receipt", room, "--key", key, "--server", url, ca=authority.path)
    assert receipt.returncode == 0 and receipt.stdout.startswith('{"checkpoint":'), receipt.stderr
    said = typed("say", room, "tick", "--key", key, "--server", url, ca=authority.path)
    assert said.returncode in (0, 1), said.stderr


@pytest.mark.parametrize("verb", ["run", "open", "say", "export", "receipt", "peer"])
def test_without_its_authority_a_server_is_refused_in_one_line(
    swarm: Swarm, verb: str, url: str, tmp_path: Path
) -> None:
    """Protects whoever forgot the option: no traceback, no waiting, and the option is named."""
    key, scenario, agent = tmp_path / "key", tmp_path / "s.json", tmp_path / "agent.json"
    identity = Identity.new()
    identity.save(key)
    keys = {"ada": identity.public, "ben": Identity.new().public}
    members = [{**member, "key": keys[member["name"]]} for member in MEMBERS]
    scenario.write_text(json.dumps({**SCENARIO, "members": members} if verb == "open" else SCENARIO))
    agent.write_text(json.dumps({"agent": "scripted"}))
    words = {
        "run": [scenario],
        "open": [scenario, "--key", key],
        "say": ["day-x", "tick", "--key", key],
        "export": ["day-x", "-o", tmp_path / "out"],
        "receipt": ["day-x", "--key", key],
        "peer": [agent, "--key", key],
    }[verb]
    done = swarm(verb, *map(str, words), "--server", url)
    assert (done.code, done.out) == (3, "")
    (line,) = done.err.splitlines()
    assert "certificate is not trusted" in line and "--tls-ca FILE" in line


def refused(server: Pair, trusted: Path) -> str:
    async def scenario() -> str:
        async with Broker(tls=server.shown) as broker:
            with pytest.raises(Untrusted) as why:
                await JetStreamLog.connect(broker.url, tls=client_context(trusted), timeout_s=50)
            return str(why.value)

    return str(go(scenario()))


def test_another_address_authority_or_age_is_refused(folder: Path, authority: Pair) -> None:
    """Protects from whoever has some certificate: it must be the right one, for this address, and of today."""
    other = make(folder, "other")
    assert "not valid for '127.0.0.1'" in refused(make(folder, "far", authority, address="127.0.0.9"), authority.path)
    assert "--tls-ca" in refused(make(folder, "stranger", other), authority.path)
    # Whoever starts a server with an old certificate is told at once, before anybody else is refused.
    with pytest.raises(Untrusted, match="certificate has expired"):
        go(Broker(tls=make(folder, "old", authority, days=-1).shown).__aenter__())


def test_a_certificate_can_be_trusted_by_itself(server: Pair) -> None:
    """Protects the smallest set-up: one certificate, handed over as it is, and no authority at all."""

    async def scenario() -> None:
        async with (
            Broker(tls=server.shown) as broker,
            await JetStreamLog.connect(broker.url, tls=client_context(server.path)) as log,
        ):
            assert await log.append("room", "A", b"x", expected_last=0) == 1

    go(scenario())


@pytest.mark.parametrize("scheme", ["tls", "nats"])
def test_a_server_that_asks_for_no_tls_hears_nothing(scheme: str, authority: Pair) -> None:
    """Protects from a downgrade: the server's greeting is not signed, and the library would go on in the clear."""
    heard = b""

    async def scenario() -> None:
        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal heard
            writer.write(b'INFO {"server_id":"x","version":"2.11.0","headers":true,"max_payload":1048576}\r\n')
            heard += await reader.read(4096)
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            tls = client_context(authority.path) if scheme == "nats" else None
            with pytest.raises(Untrusted, match="offers no TLS"):
                await JetStreamLog.connect(f"{scheme}://127.0.0.1:{port}", tls=tls, timeout_s=50)

    go(scenario())
    assert heard == b""


def test_a_connection_made_again_is_not_made_in_the_clear(server: Pair, authority: Pair, tmp_path: Path) -> None:
    """Protects a client that was trusted once: whoever takes the server's place without TLS gets nothing of it."""

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with Broker(tmp_path, tls=server.shown) as broker:
                port = int(broker.url.rpartition(":")[2])
                tls = client_context(authority.path)
                log = await stack.enter_async_context(await JetStreamLog.connect(broker.url, tls=tls))
            async with Broker(tmp_path, port=port), await JetStreamLog.connect(f"nats://127.0.0.1:{port}") as plain:
                with pytest.raises(Unavailable):
                    await log.append("room", "A", b"in the clear", expected_last=0, timeout_s=1)
                assert await plain.last("room", "A") is None
            async with Broker(tmp_path, port=port, tls=server.shown):
                assert await log.append("room", "A", b"over TLS", expected_last=0, timeout_s=30) == 1

    go(scenario())


def test_files_that_will_not_do_are_named(swarm: Swarm, folder: Path, server: Pair, authority: Pair) -> None:
    """Protects from a server that does not start for a reason that nobody reads."""
    locked = make(folder, "locked", authority, passphrase=b"secret")
    cases: list[tuple[list[object], str]] = [
        (["--tls-cert", server.path], "go together"),
        (["--tls-cert", folder / "none", "--tls-key", server.key], "none: the certificate cannot be read"),
        (["--tls-cert", server.path, "--tls-key", folder / "none"], "none: the key cannot be read"),
        (["--tls-cert", server.path, "--tls-key", authority.key], "not the key of the certificate"),
        (["--tls-cert", server.key, "--tls-key", server.key], "not in PEM form"),
        (["--tls-cert", locked.path, "--tls-key", locked.key], "passphrase"),
    ]
    for options, complaint in cases:
        done = swarm("broker", *map(str, options))
        assert (done.code, done.out) == (2, ""), options
        (line,) = done.err.splitlines()
        assert complaint in line


@pytest.mark.parametrize("content", [None, b"", b"no certificate\n"])
def test_an_authority_that_is_none_is_bad_input(content: bytes | None, tmp_path: Path) -> None:
    """Protects from a slip in the option: what is no certificate is said at once, with its name."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=r"ca\.pem"):
        client_context(path)
