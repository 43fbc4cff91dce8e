"""`swarm peer`: a standing peer, until it is told to stop."""

import asyncio
import contextlib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from swarm.cli.logs import LogForm, LogOption, log_to_stderr
from swarm.cli.server import TlsCa
from swarm.cli.stopping import stopped_by_signals
from swarm.signed.identity import Identity
from swarm.tasks import unless
from swarm.text import visible

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from swarm.peers.kept import Rooms
    from swarm.peers.standing import Over
    from swarm.scenario.members import AgentFile

_log = logging.getLogger(__name__)

CONNECT_S = 30.0
"""How long it may take to reach the server at the start; afterwards it is waited for."""


def peer_command(
    agent: Annotated[Path, typer.Argument(help="The agent file: a member without a name.", show_default=False)],
    *,
    key: Annotated[Path, typer.Option(help="The peer's key file.")],
    server: Annotated[
        str, typer.Option(help="The NATS server that holds the rooms, or several of one cluster: a,b,c.")
    ],
    tls_ca: TlsCa = None,
    accept: Annotated[list[str] | None, typer.Option(help="Join this key's rooms too, besides the file's.")] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Keep what is signed here before it is sent: for a peer that restarts.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Leave after the first room is over.")] = False,
    discovery: Annotated[
        bool, typer.Option("--discovery/--no-discovery", help="Answer NATS service discovery (on an open server).")
    ] = True,
    log: LogOption = LogForm.TEXT,
) -> int:
    """Stand by, and join the rooms that accepted openers invite this key to.

    Prints one line for each room that is over; everything else goes to stderr. SIGINT and SIGTERM end it in order: no
    more rooms, and what is in flight is read back. The same command takes its rooms up again.

    Example: swarm peer ben.yaml --key ben.key --server nats://127.0.0.1:4222 --accept UADA… --dir ./ben

    Exit codes: 0 stopped or left, 2 bad input, 3 the server cannot be reached or refuses this key.
    """
    from swarm.log.servers import check_server
    from swarm.log.tls import trusted
    from swarm.peers.kept import Rooms
    from swarm.peers.standing import accepted_openers, read_agent_file
    from swarm.people.approving import people_for

    check_server(server)
    tls = trusted(tls_ca)
    file = read_agent_file(agent)
    accepted_openers(file, accept or ())
    identity = Identity.load(key)
    person = people_for([file.member], None if directory is None else directory / identity.public)
    log_to_stderr(log)
    results = sys.stdout
    # A mind's output is not a result.
    with Rooms.at(directory, identity) as rooms, contextlib.redirect_stdout(sys.stderr):
        asyncio.run(_stand(file, identity, server, tls, rooms, accept or [], once, discovery, person, results))
    return 0


async def _stand(
    file: "AgentFile",
    identity: Identity,
    server: str,
    tls: "ssl.SSLContext | None",
    rooms: "Rooms",
    accept: list[str],
    once: bool,
    discovery: bool,
    person: dict[str, Any],
    results: TextIO,
) -> None:
    def tell(over: "Over") -> None:
        reason = "" if over.reason is None else f"  {visible(over.reason)}"
        with contextlib.suppress(BrokenPipeError):
            print(f"{over.room}  {over.outcome}{reason}", file=results, flush=True)

    stop = asyncio.Event()

    def end() -> None:
        if person:
            from swarm.people.terminal import TtyTerminal

            TtyTerminal.leaving = True
        stop.set()

    with stopped_by_signals(end):
        await _stand_until(stop, file, identity, server, tls, rooms, accept, once, discovery, person, tell)


async def _stand_until(
    stop: asyncio.Event,
    file: "AgentFile",
    identity: Identity,
    server: str,
    tls: "ssl.SSLContext | None",
    rooms: "Rooms",
    accept: list[str],
    once: bool,
    discovery: bool,
    person: dict[str, Any],
    tell: "Callable[[Over], None]",
) -> None:
    from swarm.log.jetstream import JetStreamLog
    from swarm.peers.discovery import Discovery
    from swarm.peers.standing import StandingPeer, accepted_openers

    name = "swarm-peer"
    connected = await unless(
        stop, lambda: JetStreamLog.connect(server, identity=identity, name=name, tls=tls, timeout_s=CONNECT_S)
    )
    if connected is None:
        return
    async with connected as log:
        others = len(accepted_openers(file, accept) - {identity.public})
        _log.info(
            "%s stands at %s; accepted openers besides itself: %s", identity.public, visible(server), others or "none"
        )
        peer = StandingPeer(
            file, identity, log, rooms=rooms, accept=accept, tell=tell, once=once, stop=stop, person=person
        )
        kind = file.member.agent
        found = Discovery(server, key=identity.public, kind="custom" if ":" in kind else kind)
        # It uses a connection of its own, which does not know whom to trust.
        async with found if discovery and tls is None else contextlib.nullcontext():
            await peer.run()
