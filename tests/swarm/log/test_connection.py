"""The connection, against servers that lie, break off and stay silent; it pins what it replaces inside nats-py."""

import asyncio
import inspect
import json
from contextlib import asynccontextmanager

import pytest
from nats.aio.client import Client

from swarm.errors import BadInput, Denied, TooLarge, Unavailable
from swarm.log._nats import PatchedClient
from swarm.log.connection import Connection
from swarm.signed.identity import Identity

GOOD_NONCE = "Abc-_0123456789"


class Server:
    """A server of the NATS protocol that says what a test wants; ``after`` is said to who subscribes to news."""

    def __init__(self, *, nonce=None, info=None, after=()):
        self.info = {"server_id": "X", "version": "2.11.0", "headers": True, "max_payload": 1024, "proto": 1}
        if nonce is not None:
            self.info |= {"auth_required": True, "nonce": nonce}
        self.raw_infos = list(info or [])
        self.after = list(after)
        self.connects = []
        self.connections = 0
        self.writers = []

    @asynccontextmanager
    async def serving(self):
        server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        try:
            yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for writer in self.writers:
                writer.transport.abort()
            await server.wait_closed()
            await asyncio.sleep(0)

    async def _client(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        info = self.raw_infos.pop(0) if self.raw_infos else json.dumps(self.info).encode()
        try:
            writer.write(b"INFO " + info + b"\r\n")
            while line := await reader.readline():
                verb, _, rest = line.partition(b" ")
                if verb == b"CONNECT":
                    self.connects.append(json.loads(rest))
                elif line == b"PING\r\n":
                    writer.write(b"PONG\r\n")
                elif line.startswith(b"SUB news") and self.after:
                    writer.write(self.after.pop(0))
                elif verb == b"PUB":
                    subject, reply, size = rest.split()
                    data = await reader.readexactly(int(size) + 2)
                    if subject == b"echo":
                        writer.write(b"MSG %b 1 %b\r\n%b" % (reply, size, data))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass


def deadline(seconds=10.0):
    return asyncio.get_running_loop().time() + seconds


async def echoes(connection, data=b"hello"):
    (reply,) = await connection.call("echo", data, deadline=deadline())
    return reply.data == data


def test_what_is_replaced_inside_the_client_is_there():
    """A version of nats-py in which one of these is gone would pass us by without a word."""
    for name in ("_process_msg", "_process_pong", "_process_err", "_attempt_reconnect", "_connect_to_server"):
        assert list(inspect.signature(getattr(Client, name)).parameters) == list(
            inspect.signature(getattr(PatchedClient, name)).parameters
        )
    fresh = Client()
    for name in ("_public_nkey", "_pending", "_pending_data_size", "_transport", "_subs", "_pongs"):
        assert hasattr(fresh, name)
    assert "_transport.writelines(self._pending" in inspect.getsource(Client._flusher)


def test_giving_up_on_a_round_trip_leaves_the_connection_alive(run, caplog):
    """An answer to whoever no longer waits for it must not end the reading for everybody else."""

    async def scenario():
        async with Server().serving() as url:
            connection = await Connection.open(url)
            for turns in range(6):
                settling = asyncio.create_task(connection.settle(deadline()))
                for _ in range(turns):
                    await asyncio.sleep(0)
                settling.cancel()
                await asyncio.gather(settling, return_exceptions=True)
            await connection.settle(deadline())
            assert await echoes(connection)
            assert len([task for task in asyncio.all_tasks() if "_read_loop" in repr(task)]) == 1
            await connection.close()
        assert caplog.records == []

    run(scenario())


def test_login_signs_a_nonce_of_the_servers_form(run):
    async def scenario():
        identity, server = Identity.new(), Server(nonce=GOOD_NONCE)
        async with server.serving() as url:
            connection = await Connection.open(url, identity=identity)
            assert await echoes(connection)
            await connection.close()
        (connect,) = server.connects
        assert connect["nkey"] == identity.public
        assert connect["sig"]

    run(scenario())


@pytest.mark.parametrize("nonce", ["", "x" * 16, 'swarm/entry/1\0{"v":1}', "A" * 14 + "\n"])
def test_a_hostile_nonce_is_not_signed_and_is_told_at_once(run, nonce):
    async def scenario():
        server = Server(nonce=nonce)
        async with server.serving() as url:
            with pytest.raises(Denied, match="no login nonce"):
                await Connection.open(url, identity=Identity.new(), timeout_s=30)
        assert server.connects == []

    run(scenario())


def test_a_server_that_wants_a_key_tells_who_has_none(run):
    async def scenario():
        async with Server(nonce=GOOD_NONCE).serving() as url:
            with pytest.raises(Denied, match="wants a key"):
                await Connection.open(url, timeout_s=30)

    run(scenario())


@pytest.mark.parametrize(
    "broken",
    [
        b"-ERR 'Something new'\r\n",
        b"-ERR 'Authorization Violation'\r\n",
        b"NONSENSE\r\n",
        b"INFO {\r\n",
        b"MSG a b c\r\n",
    ],
)
def test_whatever_a_server_says_the_connection_is_made_again(run, broken):
    async def scenario():
        server, doubts = Server(after=[broken]), []
        async with server.serving() as url:
            connection = await Connection.open(url)
            connection.on_doubt = lambda: doubts.append(1)
            await connection.subscribe("news", lambda *_: None, deadline())
            while server.connections < 2:
                await asyncio.sleep(0.01)
            assert await echoes(connection)
            assert doubts, "whoever follows must be woken after a reconnection"
            await connection.close()

    run(scenario())


@pytest.mark.parametrize("info", [b"[]", b"{", b'{"connect_urls": 7}', b"7", b'{"max_payload": []}'])
def test_reconnecting_survives_a_greeting_that_is_none(run, info):
    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)
            server.raw_infos.append(info)
            server.writers[0].transport.abort()
            while server.raw_infos:
                await asyncio.sleep(0.01)
            assert await echoes(connection)
            await connection.close()

    run(scenario())


def test_a_lost_connection_fails_the_waiting_call_at_once(run):
    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)
            waiting = asyncio.create_task(connection.call("silence", b"", deadline=deadline(50)))
            await echoes(connection)
            server.writers[0].transport.abort()
            with pytest.raises(Unavailable, match="lost"):
                await waiting
            assert await echoes(connection)
            await connection.close()

    run(scenario())


def test_what_was_not_sent_is_not_sent_later(run):
    """A call that failed while the server was away must not be stored behind its caller's back afterwards."""

    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)
            server.writers[0].transport.abort()
            while connection._up.is_set():
                await asyncio.sleep(0)
            with pytest.raises(Unavailable):
                await connection.call("echo", b"late", deadline=deadline(0))
            assert connection._client._pending == []
            assert await echoes(connection)
            await connection.close()

    run(scenario())


def test_a_refused_permission_fails_its_call_and_no_other(run):
    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)
            other = asyncio.create_task(connection.call("silence", b"", deadline=deadline(0.5)))
            denied = asyncio.create_task(connection.call("Not.Yours", b"", deadline=deadline(50)))
            await echoes(connection)
            server.writers[0].write(b"-ERR 'Permissions Violation for Publish to \"Not.Yours\"'\r\n")
            with pytest.raises(Denied, match=r"publish on Not\.Yours"):
                await denied
            with pytest.raises(Unavailable):
                await other
            assert server.connections == 1
            await connection.close()

    run(scenario())


def test_a_message_over_the_servers_limit_is_refused_here_headers_counted(run):
    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)
            headers = b"NATS/1.0\r\nX: " + b"y" * 200 + b"\r\n\r\n"
            with pytest.raises(TooLarge):
                await connection.call("echo", bytes(1014), headers=headers, deadline=deadline())
            assert await echoes(connection)
            assert server.connections == 1
            await connection.close()

    run(scenario())


def test_a_handler_that_raises_stops_nobody(run, caplog):
    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)

            def handler(*_):
                raise RuntimeError("a bug of ours")

            number = await connection.subscribe("news", handler, deadline())
            server.writers[0].write(b"MSG news %d 0\r\n\r\n" % number)
            assert await echoes(connection)
            await connection.close()

    run(scenario())
    assert "could not be handled" in caplog.text


def test_answers_that_nobody_waits_for_are_dropped(run):
    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)
            inbox = connection._inbox.encode()
            for subject in (inbox, inbox + b"99999999", b"x", inbox + b"1.2"):
                server.writers[0].write(b"MSG %b 1 2\r\nno\r\n" % subject)
            assert await echoes(connection)
            assert connection._calls == {}
            await connection.close()

    run(scenario())


def test_connecting_to_nobody_ends_in_time_and_says_so(run):
    async def scenario():
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(Unavailable, match=f"127.0.0.1:{port}"):
            await Connection.open(f"nats://127.0.0.1:{port}", timeout_s=0.3)

    run(scenario())


@pytest.mark.parametrize("url", ["nats://", "nats://x:port", "http://127.0.0.1:1", ""])
def test_an_url_that_is_none_is_bad_input(run, url):
    with pytest.raises((BadInput, Unavailable)):
        run(Connection.open(url, timeout_s=0.3))


def test_closing_works_on_a_connection_that_is_lost_and_for_one_who_is_cancelled(run):
    async def scenario():
        server = Server()
        async with server.serving() as url:
            connection = await Connection.open(url)
            server.writers[0].transport.abort()
            while connection._up.is_set():
                await asyncio.sleep(0)
            await connection.close()

            connection = await Connection.open(url)
            closing = asyncio.create_task(connection.close())
            await asyncio.sleep(0)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            assert connection._client.is_closed

    run(scenario())
