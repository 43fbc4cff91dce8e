"""A standing peer and NATS's own service discovery: seen on an open server, and never used against anybody."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest

from swarm.broker.server import Broker
from swarm.peers.discovery import SERVICE, Discovery, package_version
from swarm.signed.identity import Identity
from tests.support.standing_site import Site, scenario, script


def go(work: Awaitable[Any], seconds: float = 60) -> Any:
    """Run *work* with a deadline that only a hang reaches."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, seconds)

    return asyncio.run(bounded())


async def asked(url: str, subject: str = "$SRV.PING") -> dict[str, Any]:
    """Return the first answer to *subject*, asking again until there is one."""
    client = await nats.connect(url)
    try:
        while True:
            try:
                answer = await client.request(subject, b"", timeout=0.5)
            except (nats.errors.NoRespondersError, nats.errors.TimeoutError):
                await asyncio.sleep(0.02)
            else:
                return dict(json.loads(answer.data))
    finally:
        await client.close()


@pytest.fixture
def open_site(tmp_path: Path) -> Iterator[Site]:
    """A site on an open server; `stands` is all that is needed of it."""
    broker = Broker()
    asyncio.run(broker.__aenter__())
    site = Site(broker.url, [Identity.new() for _ in range(2)], tmp_path)
    try:
        yield site
    finally:
        site.close()
        asyncio.run(broker.__aexit__(None, None, None))


def test_a_peer_on_an_open_server_says_its_key_and_its_kind(open_site: Site) -> None:
    """Protects operators: `nats micro` finds the peer by name, with what it takes to invite it; it goes as it goes."""
    peer = open_site.stand("ada", script(), kept=False).stands()
    for subject in ("$SRV.PING", f"$SRV.INFO.{SERVICE}", f"$SRV.STATS.{SERVICE}"):
        said = go(asked(open_site.url, subject))
        assert (said["name"], said["version"]) == (SERVICE, package_version())
        assert said["metadata"] == {"key": open_site.key("ada"), "agent": "scripted"}
    assert peer.end() == 0
    assert not [line for line in peer.log if "discovery" in line or "Traceback" in line]

    async def silent() -> None:
        client = await nats.connect(open_site.url)
        with pytest.raises(nats.errors.NoRespondersError):
            await client.request("$SRV.PING", b"", timeout=1)
        await client.close()

    go(silent())


def test_no_discovery_is_none(open_site: Site) -> None:
    """Protects who wants to stay unseen: no answer of the one, while the other's shows that answers would come."""
    open_site.stand("ada", script(), "--no-discovery", kept=False).stands()
    open_site.stand("ben", script(), kept=False).stands()

    async def all_answers() -> set[str]:
        await asked(open_site.url)
        client = await nats.connect(open_site.url)
        keys: set[str] = set()
        inbox = await client.subscribe("_INBOX.all")
        for _ in range(3):
            await client.publish("$SRV.PING", b"", reply="_INBOX.all")
            keys.add(json.loads((await inbox.next_msg(5)).data)["metadata"]["key"])
        await client.close()
        return keys

    assert go(all_answers()) == {open_site.key("ben")}


@pytest.mark.parametrize("reply", ["swarm.room.x.y", "$JS.API.INFO", "$SRV.PING", "anything", "_INBOXES", ""])
def test_nothing_is_said_where_a_request_wants_it_said(reply: str) -> None:
    """Protects others' subjects: a peer is not made to write anywhere but into an inbox."""

    async def work() -> None:
        async with Broker() as broker, Discovery(broker.url, key="UKEY", kind="scripted"):
            await asked(broker.url)
            client = await nats.connect(broker.url)
            heard: list[str] = []

            async def hear(message: Any) -> None:
                if b"ping_response" in message.data:
                    heard.append(message.subject)

            for subject in (reply or "unheard", "_INBOX.mine"):
                await client.subscribe(subject, cb=hear)
            await client.publish("$SRV.PING", b"", reply=reply)
            await client.publish("$SRV.PING", b"", reply="_INBOX.mine")
            while "_INBOX.mine" not in heard:  # Answers come in the order of the requests.
                await asyncio.sleep(0.01)
            assert heard == ["_INBOX.mine"]
            await client.close()

    go(work())


def test_on_a_secured_server_the_peer_works_and_is_not_visible(site: Site) -> None:
    """Protects the permissions: there the peer says once that it is not visible, and takes part as ever."""
    ada = site.key("ada")
    others = site.stand("ada", script(), "--once").stands()
    peer = site.stand("ben", script(accepts={"openers": [ada]}), "--once").stands()
    peer.says("not visible to service discovery")
    room = site.open("ada", scenario("unseen", {"ada": ada, "ben": site.key("ben")}))
    assert (peer.process.wait(30), others.process.wait(30)) == (0, 0)
    assert peer.over == {room: "agreed"}
    assert len([line for line in peer.log if "discovery" in line]) == 1


def test_after_a_restart_of_the_server_it_is_found_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Protects long standing: the connection is made again for as long as it takes, with one line about it at most."""
    caplog.set_level(logging.INFO, logger="swarm.peers.discovery")

    async def work() -> None:
        async with Broker(tmp_path) as broker:
            port = int(broker.url.rpartition(":")[2])
            discovery = await Discovery(broker.url, key="UKEY", kind="utility").__aenter__()
            first = await asked(broker.url)
        await asyncio.sleep(1)
        async with Broker(tmp_path, port=port) as broker:
            again = await asked(broker.url)
            await discovery.__aexit__(None, None, None)
            assert again["metadata"] == first["metadata"] == {"key": "UKEY", "agent": "utility"}
            assert again["id"] != first["id"]

    go(work())
    assert len(caplog.records) <= 1


@pytest.mark.parametrize(
    "greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"INFO {}\r\n", b"INFO [\r\n", b"\xff" * 5000]
)
def test_whatever_a_server_says_nothing_of_it_reaches_the_peer(greeting: bytes) -> None:
    """Protects the peer: a server that is none, or does not answer, costs a line and neither an error nor a wait."""

    async def work() -> None:
        held: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            held.append(writer)
            writer.write(greeting)
            if greeting:
                await writer.drain()
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with Discovery(f"nats://127.0.0.1:{port}", key="UKEY", kind="scripted"):
            while not held:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
        for writer in held:
            writer.close()
        server.close()
        await server.wait_closed()

    go(work())
