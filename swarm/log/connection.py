"""One connection to a NATS server: calls answered over a single inbox, subscriptions answered by plain functions.

nats-py does the protocol, the login and the reconnecting; `swarm.log._nats` replaces what it does not do well.
"""

import asyncio
import logging
import random
import secrets
import ssl
import sys
from base64 import b64encode
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import nats.errors
from nats.aio.client import Server

from swarm.errors import BadInput, Denied, SwarmError, TooLarge, Unavailable, Untrusted, WireError
from swarm.log._nats import MOST_MESSAGE_BYTES, RECONNECT_MOST_S, Handler, PatchedClient
from swarm.log.servers import split_servers
from swarm.log.subjects import inbox_prefix
from swarm.log.tls import refusal
from swarm.signed.identity import Identity

_log = logging.getLogger(__name__)

PING_SECONDS = 1
PINGS_UNANSWERED = 2
"""With these pings, a dead or paused server is noticed after three seconds."""
RECONNECT_FIRST_S = 0.02
CLOSE_SECONDS = 2.0
LATE_S = 0.1
"""If a timer fires this late, blame our own busy loop, not the server."""


class Reply(NamedTuple):
    """One message in answer to a call: its raw header block and its payload."""

    headers: bytes
    data: bytes


class Closed(Unavailable):
    """Our side closed the connection, so trying again is useless."""


class Most(NamedTuple):
    """The limit for all answers to one call: how many there are, and their bytes with headers."""

    answers: int
    size: int


ONE_ANSWER = Most(1, MOST_MESSAGE_BYTES)


class _Call:
    __slots__ = ("done", "ends", "left", "replies", "subject")

    def __init__(self, subject: str, ends: Callable[[bytes], bool] | None, most: Most) -> None:
        self.subject = subject
        self.ends = ends
        self.left = most
        self.replies: list[Reply] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self, headers: bytes, data: bytes) -> None:
        """Keep an answer; an answer beyond the limit fails the call, and nothing of it is kept."""
        self.left = Most(self.left.answers - 1, self.left.size - len(headers) - len(data))
        if min(self.left) < 0:
            self.replies.clear()
            self.fail(WireError(f"the server answers on {self.subject} with more than was asked for"))
            return
        self.replies.append(Reply(headers, data))
        if (self.ends is None or self.ends(headers)) and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: SwarmError) -> None:
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()  # Mark the exception as retrieved: the caller may have given up already.


class Connection:
    """A connection that is kept: if it is lost, it is made again for ever, with growing and jittered pauses."""

    def __init__(self, identity: Identity | None) -> None:
        """Make an unconnected one; use `open`."""
        self._identity = identity
        self._client = PatchedClient(self, None if identity is None else identity.public)
        self._inbox = f"{inbox_prefix(None if identity is None else identity.public)}.{secrets.token_hex(12)}."
        self._calls: dict[bytes, _Call] = {}
        self._count = 0
        self._subscribing: dict[str, bool] = {}
        self._up = asyncio.Event()
        self._refused: asyncio.Future[WireError] | None = None
        self._last_error = ""
        self._servers = ""
        self._closed = False
        self.on_doubt: Callable[[], None] = lambda: None
        """Called after every reconnection and every error that the client reports; must not raise."""
        self.on_closed: Callable[[], None] = lambda: None
        """Called once nothing more can arrive; must not raise."""

    @classmethod
    async def open(
        cls,
        servers: str | Iterable[str],
        *,
        identity: Identity | None = None,
        name: str = "",
        tls: ssl.SSLContext | None = None,
        timeout_s: float = 5.0,
    ) -> "Connection":
        """Connect to one of *servers*, trying for *timeout_s* seconds.

        They are servers of one cluster, as URLs or as one text separated by commas; if one is lost, another is tried.
        With *tls*, or a URL that begins with ``tls``, nothing is ever sent in plain text. Raises `Denied` as soon as a
        server refuses this key, `Untrusted` as soon as a server is not trusted, `Unavailable` if none answers, and
        `BadInput` for something that is not a URL.
        """
        self = cls(identity)
        try:
            await self._connect(split_servers(servers), name, tls, timeout_s)
        except BaseException:
            await self.close()
            raise
        return self

    async def _connect(self, servers: list[str], name: str, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        self._refused = asyncio.get_running_loop().create_future()
        deadline = asyncio.get_running_loop().time() + timeout_s
        connecting = asyncio.ensure_future(self._login(servers, name, tls, deadline))
        either: set[asyncio.Future[Any]] = {connecting, self._refused}
        try:
            await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if self._refused.done():
                raise self._refused.result()
            if not connecting.done():
                raise Unavailable(f"{' '.join(servers)}: no answer within {timeout_s:g} s {self._last_error}".rstrip())
            connecting.result()
        finally:
            self._refused = None
            if not connecting.done():
                connecting.cancel()
                await asyncio.wait({connecting}, timeout=CLOSE_SECONDS)

    async def _login(self, servers: list[str], name: str, tls: ssl.SSLContext | None, deadline: float) -> None:
        self._client.encrypted = tls is not None or any(server.lower().startswith("tls:") for server in servers)
        self._servers = " ".join(servers)
        try:
            await self._client.connect(
                servers=servers,
                name=name or None,
                tls=tls,
                error_cb=self._on_error,
                reconnected_cb=self._on_reconnected,
                closed_cb=self._on_closed,
                signature_cb=self._sign,
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.1,  # type: ignore[arg-type]  # seconds; fractions work
                reconnect_to_server_handler=self._next_server,
                connect_timeout=2,
                ping_interval=PING_SECONDS,
                max_outstanding_pings=PINGS_UNANSWERED,
            )
            inbox = await self._client.subscribe(self._inbox + "*")
            self._client.handlers[inbox._id] = self._answer
            if self._client.is_connected:
                self._up.set()
            await self.settle(deadline)
        except nats.errors.Error as error:
            if "invalid" in str(error):
                raise BadInput(f"{' '.join(servers)}: {error}") from None
            raise Unavailable(f"{' '.join(servers)}: {error}") from None

    def _next_server(self, servers: list[Server], info: dict[str, Any]) -> tuple[Server, float]:
        """Choose the server that was tried least, and a pause that grows with its failures.

        If there are several servers, the one just lost is not next: a stopped server accepts connections and answers
        nothing. The library itself has no jitter.
        """
        lost, self._client.just_lost = self._client.just_lost, None
        others = [server for server in servers if server.uri.netloc != lost] or servers
        chosen = min(others, key=lambda server: (server.reconnects, random.random()))
        pause_s = min(RECONNECT_MOST_S, RECONNECT_FIRST_S * 2 ** min(chosen.reconnects, 10))
        return chosen, pause_s * (0.5 + random.random() / 2)

    @property
    def server_info(self) -> dict[str, Any]:
        """What the server says about itself: its version, limits, and what it asks of clients."""
        return dict(self._client._server_info)

    @property
    def most_message_bytes(self) -> int:
        """The largest message that the server takes, headers included, according to its last announcement."""
        most = self._client.max_payload
        return most if isinstance(most, int) else sys.maxsize

    def _sign(self, nonce: str) -> bytes:
        if self._identity is None:
            raise nats.errors.Error("nats: the server wants a key, and there is none")
        try:
            return b64encode(self._identity.sign_nonce(nonce))
        except BadInput as error:
            # This must be the library's own kind of error; any other would end its reconnecting for good.
            raise nats.errors.Error(f"nats: refused: {error}") from None

    # What the client reports. None of these may raise: nats-py would stop reading or reconnecting.

    async def _on_error(self, error: Exception) -> None:
        self._last_error = f"({str(error) or type(error).__name__})"
        if self._refused is not None and not self._refused.done():
            why = self._why_refused(error)
            if why is not None:
                self._refused.set_result(why)
        _log.debug("the connection reports %r", error)
        self.on_doubt()

    def _why_refused(self, error: Exception) -> WireError | None:
        """Return the meaning of *error* for a caller that wants to connect; None if another attempt may succeed."""
        said, untrusted = str(error).lower(), refusal(error)
        if untrusted is not None:
            return Untrusted(f"{self._servers}: {untrusted}")
        if "authorization" in said or "authentication" in said or "wants a key" in said:
            return Denied(f"{self._servers}: the server {'refuses this' if self._identity else 'wants a'} key")
        if "nats: refused:" in said:
            return Denied(f"{self._servers}: {str(error).partition('refused: ')[2]}")
        return None

    async def _on_reconnected(self) -> None:
        self._up.set()
        self.on_doubt()

    async def _on_closed(self) -> None:
        self._closed = True
        self._fail_all(Closed("the connection is closed"))
        self._up.set()
        self.on_closed()

    def lost(self) -> None:
        """Note that the server is gone: every waiting call fails at once."""
        self._up.clear()
        self._fail_all(Unavailable("the connection to the server was lost"))

    def denied(self, subject: str) -> None:
        """Fail the calls that wait on *subject*, which the client lower-cased: the server denies it to this key."""
        if subject in self._subscribing:
            self._subscribing[subject] = True
        for call in self._calls.values():
            if call.subject.lower() == subject:
                call.fail(Denied(f"the server does not let this key publish on {call.subject}"))

    def _fail_all(self, error: SwarmError) -> None:
        for call in list(self._calls.values()):
            call.fail(error)

    def _answer(self, subject: bytes, headers: bytes, data: bytes) -> None:
        call = self._calls.get(subject[len(self._inbox) :])
        if call is None or call.done.done():
            return  # A message after the last answer answers nothing.
        call.take(headers, data)

    async def ready(self, deadline: float) -> None:
        """Wait until there is a connection; raise `Unavailable` at *deadline* (of the loop's clock)."""
        if not self._up.is_set():
            try:
                async with asyncio.timeout_at(deadline):
                    await self._up.wait()
            except TimeoutError:
                raise Unavailable(f"no connection to the server {self._last_error}".rstrip()) from None
        if self._closed:
            raise Closed("the connection is closed")

    async def call(
        self,
        subject: str,
        payload: bytes,
        *,
        headers: bytes = b"",
        deadline: float,
        quiet_s: float | None = None,
        ends: Callable[[bytes], bool] | None = None,
        most: Most = ONE_ANSWER,
    ) -> list[Reply]:
        """Publish *payload* with the raw block *headers* and return the answers.

        That is one answer or, with *ends*, all answers up to and including the one for whose header block it is true.
        Waits until *deadline* (of the loop's clock), but no longer than *quiet_s* seconds for the first or the next
        one.

        Raises `TooLarge` before sending, `Denied` if the server says so, `WireError` for answers beyond *most*,
        otherwise `Unavailable`.
        """
        size = len(headers) + len(payload)
        await self.ready(deadline)
        largest = self.most_message_bytes
        if size > largest:
            raise TooLarge(f"{size:,} bytes with headers; this server takes {largest:,}")
        self._count += 1
        token = b"%x" % self._count
        reply = f"{self._inbox}{token.decode('ascii')}"
        if headers:
            command = f"HPUB {subject} {reply} {len(headers)} {size}\r\n".encode() + headers + payload + b"\r\n"
        else:
            command = f"PUB {subject} {reply} {size}\r\n".encode() + payload + b"\r\n"
        call = self._calls[token] = _Call(subject, ends, most)
        try:
            async with asyncio.timeout_at(deadline):
                await self._client.send(command)
                await self._replies(call, quiet_s)
        except TimeoutError:
            raise Unavailable(f"no answer on {subject} in time") from None
        finally:
            del self._calls[token]
        return call.replies

    @staticmethod
    async def _replies(call: _Call, quiet_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        while quiet_s is not None and not call.done.done():
            before, began = len(call.replies), loop.time()
            await asyncio.wait({call.done}, timeout=quiet_s)
            silent = len(call.replies) == before and not call.done.done()
            # A process that comes this late is busy itself, and has not yet looked at what has arrived.
            if silent and loop.time() - began < quiet_s + LATE_S:
                raise TimeoutError
        await call.done

    async def subscribe(self, subject: str, handler: Handler, deadline: float) -> int:
        """Call *handler* for messages on *subject* from now on, and after every reconnection; return its number.

        Raises `Denied`, `Unavailable`.
        """
        await self.ready(deadline)
        key = subject.lower()
        self._subscribing[key] = False
        try:
            subscription = await self._client.subscribe(subject)
            self._client.handlers[subscription._id] = handler
            await self.settle(deadline)
            if self._subscribing[key]:
                await self.unsubscribe(subscription._id)
                raise Denied(f"the server does not let this key subscribe to {subject}")
        except nats.errors.Error as error:
            raise Unavailable(f"no subscription to {subject}: {error}") from None
        finally:
            self._subscribing.pop(key, None)
        return subscription._id

    async def settle(self, deadline: float) -> None:
        """Wait until the server knows every subscription made so far; raise `Unavailable` otherwise."""
        while True:
            await self.ready(deadline)
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise Unavailable("the server does not answer")
            await asyncio.sleep(0)  # flush() may otherwise overtake the queued subscription
            with suppress(nats.errors.Error, OSError, TimeoutError):
                await self._client.flush(timeout=min(left_s, 0.5))  # type: ignore[arg-type]
                return

    async def unsubscribe(self, number: int) -> None:
        """Drop a subscription by the number that `subscribe` returned; never raises."""
        self._client.handlers.pop(number, None)
        subscription = self._client._subs.get(number)
        if subscription is not None:
            with suppress(nats.errors.Error, OSError):
                await subscription.unsubscribe()

    async def close(self) -> None:
        """Close for good, within two seconds and even if the caller is cancelled meanwhile; never raises."""
        self._closed = True
        self._fail_all(Closed("the connection is closed"))
        self._up.set()
        self.on_closed()
        closing = asyncio.ensure_future(self._close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait({closing}, timeout=4 * CLOSE_SECONDS)
            raise

    async def _close(self) -> None:
        if self._client.is_connected:
            await _bounded(self._client.close())
        self._client.drop()
        await _bounded(self._client.close())


async def _bounded(work: Coroutine[Any, Any, None]) -> None:
    """Give *work* two seconds, then cancel it; its exceptions are ignored."""
    task = asyncio.ensure_future(work)
    _, pending = await asyncio.wait({task}, timeout=CLOSE_SECONDS)
    if pending:
        task.cancel()
        await asyncio.wait(pending, timeout=CLOSE_SECONDS)
    if task.done() and not task.cancelled() and task.exception() is not None:
        _log.debug("closing failed: %r", task.exception())
