"""nats-py's client with seven of its internals replaced, because nothing public does what is needed.

- incoming messages go to a plain function with unparsed headers: the library's header parser depends on an optional
  package, and its queue and task per subscription cost more than the rest of the reading together;
- an error that the server reports never closes the client for good, and a refused permission fails the waiting call;
- reconnecting survives anything that a server may send, and does not wait for a dead connection to drain;
- the nkey is given before connecting;
- if TLS was requested, a server that offers none is never talked to;
- data that was queued for a lost connection is dropped: its senders have been told, and send again;
- a message or a line larger than any of our servers would send ends the connection; the library would buffer it without
  limit.

``tests/swarm/log/test_connection.py`` pins each of them; the library's version is bounded in ``pyproject.toml``.
"""

import asyncio
import logging
import random
import re
import ssl
import time
from collections.abc import Callable
from typing import Any, Protocol

import nats.errors
from nats.aio.client import DEFAULT_BUFFER_SIZE, Client, Srv
from nats.aio.transport import TcpTransport
from nats.protocol.parser import AWAITING_MSG_PAYLOAD, Parser

from swarm.errors import Unavailable
from swarm.log.tls import NO_TLS

_log = logging.getLogger(__name__)

RECONNECT_MOST_S = 2.0
MOST_MESSAGE_BYTES = 1024 * 1024
"""No message to us is larger: a record takes a quarter of this, and the server's own lines a few hundred bytes."""
MOST_LINE_BYTES = 256 * 1024
"""The longest line of the protocol, a server's greeting with all the servers of its cluster, is far shorter."""
_DENIED = re.compile(r"permissions violation for (?:publish|subscription) to \"([^\"]*)\"")

Handler = Callable[[bytes, bytes, bytes], None]
"""Takes subject, raw header block (empty if there is none) and payload of a message; must not raise."""


class Owner(Protocol):
    """Who is told what happens to the connection."""

    def lost(self) -> None:
        """Take note that the connection is lost: what waits for an answer has to be told."""

    def denied(self, subject: str) -> None:
        """Take note that the server refuses this key *subject*."""


class _Parser(Parser):
    async def parse(self, data: bytes = b"") -> None:
        """Read on. A message or a line larger than any of our servers would send ends the connection.

        Otherwise it could fill the memory.
        """
        await super().parse(data)
        within = self.state == AWAITING_MSG_PAYLOAD
        if (within and self.needed > MOST_MESSAGE_BYTES) or (not within and len(self.buf) > MOST_LINE_BYTES):
            raise nats.errors.ProtocolError("nats: more than any answer has")


class _Transport(TcpTransport):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    async def connect_tls(
        self, uri: Any, ssl_context: ssl.SSLContext, buffer_size: int, connect_timeout: float
    ) -> None:
        plain: Any = self._io_writer
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=buffer_size)
        protocol: Any = asyncio.StreamReaderProtocol(reader)
        # If it does not know that it runs over TLS, asyncio's own protocol complains on stderr about every connection
        # that ends.
        protocol._over_ssl = True
        host = uri if isinstance(uri, str) else uri.hostname
        async with asyncio.timeout(connect_timeout):
            over = await loop.start_tls(plain.transport, protocol, ssl_context, server_hostname=host)
        assert over is not None
        self._io_reader, self._io_writer = reader, asyncio.StreamWriter(over, protocol, reader, loop)


class PatchedClient(Client):
    def __init__(self, owner: Owner, public: str | None) -> None:
        super().__init__()
        self._ps = _Parser(self)
        self._owner = owner
        self._public_nkey = public
        self.handlers: dict[int, Handler] = {}
        self.encrypted = False
        """Whether nothing may be sent except over TLS."""
        self.just_lost: str | None = None
        """The address of the server that was lost, until another attempt has begun."""

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        handler = self.handlers.get(sid)
        if handler is None:
            return
        try:
            handler(subject, headers or b"", data)
        except Exception:
            _log.exception("a message on %r could not be handled", subject)

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # The library continues in plain text, even for a "tls" URL, if the greeting does not ask for TLS.
        if initial_connection and self.encrypted and info.get("tls_required") is not True:
            raise nats.errors.Error(NO_TLS)
        await super()._process_info(info, initial_connection)

    async def _process_pong(self) -> None:
        # The caller may have given up. The library would then set a result that nobody can take, and that exception
        # ends its read loop while the connection seems to live on.
        if self._pongs and self._pongs[0].done():
            self._pongs.pop(0)
            self._pongs_received += 1
            self._pings_outstanding = 0
        else:
            await super()._process_pong()

    async def _process_err(self, err_msg: str) -> None:
        denied = _DENIED.search(err_msg)
        if denied is not None:
            self._owner.denied(denied[1])
        else:
            await self._process_op_err(nats.errors.Error(f"nats: {err_msg}"))

    async def _attempt_reconnect(self) -> None:
        self.just_lost = None if self._current_server is None else self._current_server.uri.netloc
        while not self.is_closed:
            self._owner.lost()
            self.drop()
            try:
                await super()._attempt_reconnect()
                return
            except Exception as error:
                _log.warning("reconnecting failed in an unforeseen way: %r", error)
                self._server_info = {}  # A bad greeting would fail every later attempt as well.
                await asyncio.sleep(RECONNECT_MOST_S * random.random())

    async def _connect_to_server(self, s: Srv) -> None:
        self._cut()
        if s.uri.scheme not in ("nats", "tls"):
            await super()._connect_to_server(s)
            return
        s.last_attempt = time.monotonic()
        self._transport = transport = _Transport()
        await transport.connect(s.uri, DEFAULT_BUFFER_SIZE, self.options["connect_timeout"])

    def _cut(self) -> None:
        # The library waits for a lost connection's end in a way that one cancellation breaks for everyone after it, and
        # after a failed greeting it leaves the connection open.
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()
        self._transport = None

    def drop(self) -> None:
        """Drop what is queued and cut the connection: a graceful close waits for a peer that may not read."""
        self._pending = []
        self._pending_data_size = 0
        self._cut()

    async def send(self, command: bytes) -> None:
        """Write *command* at once, not in the flusher's next turn; waits only while the socket is full."""
        transport: Any = self._transport
        if transport is None or not self.is_connected or transport._io_writer.is_closing():
            raise Unavailable("the connection to the server is lost")
        try:
            transport.write(command)
            await transport.drain()
        except OSError as error:
            raise Unavailable(f"the connection to the server is lost: {error}") from None
