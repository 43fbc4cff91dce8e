"""One connection to several servers: which is tried, which is passed by, and whose silence it is."""

import asyncio
import socket
import time

import pytest

from swarm.broker.server import Broker
from swarm.log._nats import PatchedClient
from swarm.log.connection import ONE_ANSWER, Connection, _Call
from swarm.log.servers import split_servers
from tests.support.small_rooms import go


def test_servers_are_a_text_with_commas_or_several() -> None:
    """Protects every caller: what the command line takes as one text, Python takes as a list as well."""
    assert split_servers("nats://a, nats://b") == split_servers(["nats://a", "nats://b"]) == ["nats://a", "nats://b"]


def test_a_server_that_only_takes_connections_is_passed_by() -> None:
    """Protects a peer's start: a listener that greets nobody, like a stopped server, keeps it from no other."""

    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            port = mute.getsockname()[1]
            async with Broker() as broker:
                connection = await Connection.open(f"nats://127.0.0.1:{port},{broker.url}", timeout_s=30)
                await connection.close()

    go(work())


def test_the_server_just_lost_is_tried_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a peer from a stopped server: it would take the next connection too, and answer that one as little."""
    tried: list[int] = []
    connect = PatchedClient._connect_to_server

    async def noting(self: PatchedClient, server: object) -> None:
        tried.append(int(server.uri.port))  # type: ignore[attr-defined]
        await connect(self, server)  # type: ignore[arg-type]

    async def work() -> None:
        async with Broker() as one, Broker() as two:
            ports = {int(broker.url.rpartition(":")[2]) for broker in (one, two)}
            connection = await Connection.open(f"{one.url},{two.url}", timeout_s=30)
            client = connection._client
            monkeypatch.setattr(PatchedClient, "_connect_to_server", noting)
            for _ in range(8):
                tried.clear()
                lost = int(client._current_server.uri.port)  # type: ignore[union-attr]
                client._transport._io_writer.transport.abort()  # type: ignore[union-attr]
                while not tried:
                    await asyncio.sleep(0.01)
                await connection.ready(asyncio.get_running_loop().time() + 30)
                assert tried[:1] == list(ports - {lost})
            await connection.close()

    go(work(), 90)


def test_a_busy_process_does_not_take_its_own_silence_for_the_server_s() -> None:
    """Protects a process with many rooms: what has arrived while it was at work is read before it asks again."""

    async def work() -> None:
        loop, call = asyncio.get_running_loop(), _Call("somewhere", None, ONE_ANSWER)

        def read(chunks: int) -> None:
            """The answer is not in the first chunk that the socket holds."""
            if chunks:
                loop.call_soon(read, chunks - 1)
            else:
                call.done.set_result(None)

        def busy() -> None:
            time.sleep(0.5)
            loop.call_soon(read, 5)

        loop.call_soon(busy)
        await Connection._replies(call, 0.2)
        with pytest.raises(TimeoutError):
            await Connection._replies(_Call("nowhere", None, ONE_ANSWER), 0.01)

    go(work())
