"""`swarm open`: open a room for peers that run elsewhere, and invite them."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import print_json
from swarm.cli.server import TlsCa
from swarm.signed.identity import Identity


def open_command(
    scenario: Annotated[Path, typer.Argument(help="The scenario file; every member has a key.", show_default=False)],
    *,
    key: Annotated[Path, typer.Option(help="The key file of the member who opens the room.")],
    server: Annotated[str, typer.Option(help="The NATS server that will hold the room.")],
    tls_ca: TlsCa = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Open a room for peers that run elsewhere (swarm peer), and leave every member an invitation to it.

    Of the members' private parts nothing is sent: each peer has its own mind. Everybody must join within step_seconds.

    Example: swarm open loan.yaml --key ada.key --server nats://127.0.0.1:4222

    Exit codes: 0 open and everybody invited, 2 bad input, 3 the server cannot be reached or does not take it.
    """
    from swarm.peers.peer import open_room

    address = open_room(scenario, Identity.load(key), server, tls_ca=tls_ca)
    if as_json:
        print_json({"room": address.room, "opener": address.opener})
    else:
        print(f"room    {address.room}\nopener  {address.opener}")
    return 0
