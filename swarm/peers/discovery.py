"""Service discovery: a standing peer answers NATS's own ``$SRV.PING``, ``INFO`` and ``STATS``.

The library's service (`nats.micro`) speaks over a connection of its own, beside the peer's, which passes on no reply
subjects. It logs in without a key and is for open servers only: a server that requires keys lets its members neither
listen on ``$SRV`` nor answer to any subject that they are given (``docs/adr/0014-discovery.md``). There the peer stays
undiscovered, with one line in the log.

Discovery is optional: if anything goes wrong in it, that is a line in the log and does not affect the peer.
"""

import asyncio
import importlib.metadata
import logging
import re
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import nats.errors
from nats.aio.client import Client
from nats.micro import add_service
from nats.micro.service import ServiceConfig

from swarm.backoff import Backoff
from swarm.log.servers import split_servers
from swarm.text import visible

_log = logging.getLogger(__name__)

SERVICE = "swarm-peer"
REPLIES = ("_INBOX.", "_INBOX_")
"""The beginnings of reply subjects that are answered: an inbox, with or without a prefix of the client's own.

The requester chooses the reply subject, and anything else (``swarm.room.…``, ``$JS.…``) may be somebody's subject.
"""
PAUSE_S = (0.1, 30.0)
"""The first and the longest pause, jittered, before connecting again."""
CONNECT_S = 5.0
CLOSE_S = 2.0
PING_S, PINGS_UNANSWERED = 5, 2
"""With these pings, a server that is dead without saying so is noticed after a quarter of a minute."""


class _NotHere(Exception):
    """There is no discovery for us on this server; the text says why."""


class _Client(Client):
    """A client that publishes to inboxes only."""

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        if subject.startswith(REPLIES):
            await super().publish(subject, payload, reply, headers)


class Discovery:
    """Makes the holder of the public key *key*, with a mind of *kind*, discoverable at *server* while entered.

    Entering, leaving and whatever happens in between never raise, and never wait for the server.
    """

    def __init__(self, server: str, *, key: str, kind: str) -> None:
        self._server = server
        self._metadata = {"key": key, "agent": kind}
        self._task: asyncio.Task[None] | None = None
        self._complained = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._stand())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=2 * CLOSE_S)

    async def _stand(self) -> None:
        """Be discoverable, connection after connection, until cancelled or not wanted."""
        backoff = Backoff(*PAUSE_S)
        while True:
            try:
                if await self._once():
                    backoff.reset()
            except _NotHere as why:
                _log.info("not visible to service discovery: %s", visible(str(why)))
                return
            except Exception as error:
                if not self._complained:
                    self._complained = True
                    _log.warning("service discovery: %s; trying again", visible(str(error) or type(error).__name__))
            await asyncio.sleep(backoff.pause_s())

    async def _once(self) -> bool:
        """Connect, answer until the connection is lost, and return True; raise whatever prevented that."""
        client, lost = _Client(), asyncio.Event()
        refusals: list[str] = []

        # None of these may raise: the library would stop reading.
        async def failed(error: Exception) -> None:
            text = str(error).lower()
            if "authorization" in text or "authentication" in text or "permissions violation" in text:
                refusals.append(text)
            _log.debug("service discovery: %r", error)

        async def ended() -> None:
            lost.set()

        def check() -> None:
            if refusals:
                raise _NotHere("this server lets its members use their own subjects only")

        try:
            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._connect(client, failed, ended)
                    await add_service(client, self._config())
            except (nats.errors.Error, TimeoutError):
                check()
                raise
            check()
            self._complained = False
            await lost.wait()
            check()
            return True
        finally:
            await _close(client)

    async def _connect(self, client: Client, failed: Any, ended: Any) -> None:
        await client.connect(
            split_servers(self._server),
            name=SERVICE,
            error_cb=failed,
            closed_cb=ended,
            disconnected_cb=ended,
            allow_reconnect=False,
            connect_timeout=int(CONNECT_S),
            ping_interval=PING_S,
            max_outstanding_pings=PINGS_UNANSWERED,
        )

    def _config(self) -> ServiceConfig:
        return ServiceConfig(
            name=SERVICE,
            version=package_version(),
            description="a standing peer of Swarm: joins rooms that accepted openers invite it to",
            metadata=dict(self._metadata),
        )


def package_version() -> str:
    """Return this package's version as the three numbers that service discovery requires."""
    with suppress(importlib.metadata.PackageNotFoundError):
        found = re.match(r"\d+\.\d+\.\d+", importlib.metadata.version("swarm-peers"))
        if found is not None:
            return found[0]
    return "0.0.0"


async def _close(client: Client) -> None:
    """Close *client*, whatever its state, within two seconds and even if cancelled meanwhile."""
    closing = asyncio.ensure_future(client.close())
    try:
        await asyncio.wait({closing}, timeout=CLOSE_S)
    finally:
        if not closing.done():
            closing.cancel()
        closing.add_done_callback(lambda done: done.cancelled() or done.exception())
