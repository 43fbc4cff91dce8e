"""`swarm mcp`: a peer whose mind is an MCP client, over stdin and stdout."""

import asyncio
import contextlib
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from swarm.cli.logs import LogForm, LogOption, log_to_stderr
from swarm.cli.server import TlsCa
from swarm.cli.stopping import stopped_by_signals
from swarm.errors import BadInput
from swarm.signed.identity import Identity

if TYPE_CHECKING:
    import ssl

    from swarm.log.port import Log
    from swarm.peers.kept import Rooms
    from swarm.scenario.members import AgentFile
    from swarm.seat.approval import Approver

CONNECT_S = 30.0
"""How long it may take to reach the server at the start; afterwards it is waited for."""
_OURS = {"name", "role", "key", "mandate"}


def mcp_command(
    *,
    key: Annotated[Path, typer.Option(help="The member's key file.")],
    server: Annotated[str, typer.Option(help="The NATS server that holds the rooms.")],
    tls_ca: TlsCa = None,
    accept: Annotated[list[str] | None, typer.Option(help="Whose rooms may be joined, besides the file's.")] = None,
    agent: Annotated[
        Path | None, typer.Option(help="An agent file for what is accepted, and the mandate.", show_default=False)
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Keep what is signed here before it is sent: for a restart.")
    ] = None,
    discovery: Annotated[
        bool, typer.Option("--discovery/--no-discovery", help="Answer NATS service discovery (on an open server).")
    ] = True,
    log: LogOption = LogForm.TEXT,
) -> int:
    """Take part as an MCP client: its model answers, this process signs. Stdin and stdout speak the protocol.

    The client starts this command. It sees the rooms that accepted openers invite the key to, what it owes there and
    what the rooms have said, and never the key. It ends with its stdin, or by a signal, in order. Needs the extra mcp.

    Example: swarm mcp --key ben.key --server nats://127.0.0.1:4222 --accept UADA… --dir ./ben

    Exit codes: 0 the client went, 2 bad input, 3 the server cannot be reached or refuses this key.
    """
    try:
        import mcp as library
    except ImportError:
        raise BadInput("swarm mcp needs the MCP library: pip install 'swarm-peers[mcp]'") from None
    assert library.__name__ == "mcp"
    from swarm.log.servers import check_server
    from swarm.log.tls import trusted
    from swarm.peers.kept import Rooms
    from swarm.peers.standing import accepted_openers

    check_server(server)
    tls = trusted(tls_ca)
    file = _agent_file(agent)
    accepted_openers(file, accept or ())
    identity = Identity.load(key)
    approver = _approver(file, None if directory is None else directory / identity.public)
    log_to_stderr(log)
    with Rooms.at(directory, identity) as rooms:
        asyncio.run(_serve(file, identity, server, tls, rooms, accept or [], approver, discovery))
    return 0


def _agent_file(path: Path | None) -> "AgentFile":
    """Return what the file at *path* accepts and allows; a mind in it would have nothing to say here."""
    from swarm.scenario.members import read_agent

    if path is None:
        return read_agent({})
    file = read_agent(path)
    minds = sorted(file.member.model_fields_set - _OURS)
    if minds:
        raise BadInput(
            f"the mind is the MCP client, so this file may hold accepts, mandate and role; found {', '.join(minds)}",
            source=str(path),
        )
    return file


def _approver(file: "AgentFile", folder: Path | None) -> "Approver | None":
    """Return the approver that the mandate needs: stdin is the client's, so a person answers with `swarm approve`."""
    from swarm.people.approving import FolderApprover

    if file.member.mandate is None or not file.member.mandate.approve:
        return None
    if folder is None:
        raise BadInput("mandate.approve needs --dir DIR here, where a person answers with `swarm approve DIR`")
    return FolderApprover(folder / "approvals")


async def _serve(
    file: "AgentFile",
    identity: Identity,
    server: str,
    tls: "ssl.SSLContext | None",
    rooms: "Rooms",
    accept: list[str],
    approver: "Approver | None",
    discovery: bool,
) -> None:
    from swarm.log.jetstream import JetStreamLog
    from swarm.mcp.server import serve
    from swarm.peers.discovery import Discovery

    stop = asyncio.Event()

    def connect() -> Coroutine[Any, Any, "Log"]:
        return JetStreamLog.connect(server, identity=identity, name="swarm-mcp", tls=tls, timeout_s=CONNECT_S)

    found = Discovery(server, key=identity.public, kind="mcp")
    with stopped_by_signals(stop.set):
        async with found if discovery and tls is None else contextlib.nullcontext():
            await serve(file, identity, connect, rooms, accept=accept, stop=stop, approver=approver)
