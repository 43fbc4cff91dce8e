"""`swarm export`: write a room's ledger from a server."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.server import TlsCa
from swarm.files.writing import check_writable
from swarm.log.servers import check_server
from swarm.signed.identity import Identity


def export_command(
    room: Annotated[str, typer.Argument(help="The room's full name.", show_default=False)],
    server: Annotated[str, typer.Option(help="The NATS server that holds it.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the ledger.")],
    key: Annotated[Path | None, typer.Option(help="The key that logs in and signs the checkpoint.")] = None,
    tls_ca: TlsCa = None,
) -> int:
    """Write the ledger of a room, closed by a checkpoint of the exporter: a member's key, or a new one.

    Example: swarm export acme-renewal-abc… --server nats://127.0.0.1:4222 -o acme.jsonl
    """
    check_server(server)
    check_writable([output], key)
    identity = Identity.load(key) if key is not None else Identity.new()
    entries = asyncio.run(_export(room, server, output, identity, tls_ca, login=key is not None))
    print(f"{output}: {entries} entries")
    return 0


async def _export(room: str, server: str, output: Path, identity: Identity, tls_ca: Path | None, *, login: bool) -> int:
    from swarm.ledger.file import write_ledger
    from swarm.signed.checkpoint import sign_checkpoint
    from swarm.visit.saying import reading

    async with reading(room, server, identity if login else None, tls_ca=tls_ca) as replica:
        chain = replica.fold.chain
        checkpoint = sign_checkpoint(identity, room=room, count=chain.position, head=chain.head)
        write_ledger(output, room, replica.fold.records, checkpoint)
        return chain.position
