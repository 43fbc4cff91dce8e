"""`swarm export`: write a room's ledger from a server."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from swarm.errors import BadInput
from swarm.identity import Identity, is_public_key


def export_command(
    room: Annotated[str, typer.Argument(help="The room's full name.", show_default=False)],
    server: Annotated[str, typer.Option(help="The NATS server that holds it.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the ledger.")],
    opener: Annotated[str, typer.Option(help="The public key of the member that opened it.")],
    key: Annotated[
        Path | None, typer.Option(help="The key that signs the checkpoint and logs in; a new one else.")
    ] = None,
) -> int:
    """Write the ledger of a room, closed by a checkpoint of the exporter.

    Example: swarm export acme-renewal-abc… --server nats://127.0.0.1:4222 --opener UABC… -o acme.jsonl
    """
    if not is_public_key(opener):
        raise BadInput("--opener is a public key: 56 characters that begin with U")
    identity = Identity.load(key) if key is not None else Identity.new()
    entries = asyncio.run(_export(room, server, output, opener, identity, login=key is not None))
    print(f"{output}: {entries} entries")
    return 0


async def _export(room: str, server: str, output: Path, opener: str, identity: Identity, *, login: bool) -> int:
    from swarm.ledger.checkpoint import sign_checkpoint
    from swarm.ledger.file import write_ledger
    from swarm.log.jetstream import JetStreamLog
    from swarm.replica import Replica
    from swarm.run import utc_now

    async with await JetStreamLog.connect(server, identity=identity if login else None, name="swarm-export") as log:
        replica = Replica(log, room, opener, utc_now)
        await replica.open()
        chain = replica.fold.chain
        checkpoint = sign_checkpoint(identity, room=room, count=chain.position, head=chain.head)
        write_ledger(output, room, replica.fold.records, checkpoint)
        return chain.position
