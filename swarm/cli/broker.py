"""`swarm broker`: the embedded server in the foreground."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from swarm.errors import BadInput


def broker_command(
    directory: Annotated[Path | None, typer.Option("--dir", help="Keep the store here.")] = None,
    port: Annotated[int | None, typer.Option(help="Listen here; a free port if left out.", min=1, max=65535)] = None,
    secure: Annotated[bool, typer.Option(help="Let only the members named log in, each on its own subjects.")] = False,
    member: Annotated[list[str] | None, typer.Option(help="A member's public key (with --secure).")] = None,
) -> int:
    """Run the embedded NATS server on 127.0.0.1 until interrupted.

    Example: swarm broker --dir ./store --port 4222
    """
    if member and not secure:
        raise BadInput("--member goes with --secure")
    if secure and not member:
        raise BadInput("--secure needs the --member keys that may log in")
    return asyncio.run(_serve(directory, port, list(member) if secure and member else None))


async def _serve(directory: Path | None, port: int | None, members: list[str] | None) -> int:
    from swarm.broker import Broker

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    async with Broker(directory, port=port, members=members) as broker:
        print(broker.url, flush=True)
        print("Ctrl-C stops it", file=sys.stderr)
        ended = asyncio.create_task(broker.wait())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        lost = ended.done()
        for task in (ended, stopped):
            task.cancel()
    return 3 if lost else 0
