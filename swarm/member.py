"""One member as a process of its own: ``python -m swarm.member``, told what it is by one JSON line on its input.

The line holds the room's name, the opener's key, the server, the member's own key (a seed, or the path of a key file),
its private part of the scenario, and where its outbox is. Nothing secret is in the arguments or the environment. The
input stays open for as long as the parent lives; when it closes, so does this process.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from time import time_ns
from typing import Any, NoReturn

from swarm.errors import BadInput, SwarmError, WireError
from swarm.identity import Identity
from swarm.log.jetstream import JetStreamLog
from swarm.outbox import FileOutbox, MemoryOutbox, Outbox
from swarm.replica import Replica
from swarm.scenario import make_agent
from swarm.seat import Seat

EXIT_OK, EXIT_BAD_INPUT, EXIT_STOPPED = 0, 2, 3


def utc_now() -> int:
    """Return this machine's clock in microseconds: it dates what is sent and decides when to look."""
    return time_ns() // 1000


async def sit(config: dict[str, Any]) -> None:
    """Take the seat that *config* describes, and keep it until the room is over."""
    seed = config.get("seed")
    identity = Identity(bytes.fromhex(seed)) if seed else Identity.load(Path(config["key"]))
    agent = make_agent(config["agent"])
    outbox: Outbox = FileOutbox(Path(config["outbox"])) if config.get("outbox") else MemoryOutbox()
    login = identity if config.get("login") else None
    async with await JetStreamLog.connect(config["server"], identity=login, name=f"swarm-{config['name']}") as log:
        replica = Replica(log, config["room"], config["opener"], utc_now, keep=False)
        await replica.open(timeout_s=30.0)
        following = asyncio.create_task(replica.follow())
        seat = asyncio.create_task(Seat(identity, agent, replica, outbox, utc_now).run())
        try:
            await asyncio.wait({following, seat}, return_when=asyncio.FIRST_COMPLETED)
            for task in (following, seat):
                if task.done():
                    task.result()
        finally:
            for task in (following, seat):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, SwarmError):
                    await task


def _die_with_parent() -> None:
    """End this process when its input closes, whatever its threads are doing."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        os._exit(EXIT_STOPPED)

    threading.Thread(target=watch, daemon=True).start()


def main() -> NoReturn:
    """Read the line, take the seat, and end with a code: 0 done, 2 bad input, 3 stopped (the reason on stderr)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(0, 65536)
        if not read:
            os._exit(EXIT_STOPPED)
        line += read
    config = json.loads(line)
    _die_with_parent()
    code = EXIT_OK
    try:
        asyncio.run(sit(config))
    except BadInput as error:
        code = _complain(config, EXIT_BAD_INPUT, str(error))
    except (SwarmError, WireError) as error:
        code = _complain(config, EXIT_STOPPED, str(error))
    sys.stdout.flush()
    sys.stderr.flush()
    # A mind's thread may still hang; nothing is left to save.
    os._exit(code)


def _complain(config: dict[str, Any], code: int, text: str) -> int:
    print(f"{config.get('name', 'member')}: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
