"""One member as a process: ``python -m swarm.running.member``, told what it is by two JSON lines on its input.

The first line contains the member's name, its key (a seed, or the path of a key file), its private part of the
scenario, and the place of its outbox; the process answers ``ready``. The second contains the server, the room's name
and the opener's key. Nothing secret is in the arguments or the environment. The input stays open while the parent
lives; when it closes, this process ends, with everything that it started.
"""

import asyncio
import contextlib
import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from agents.agent import Agent
from swarm.clock import utc_now
from swarm.errors import BadInput, ClockApart, SecondProcess, SwarmError
from swarm.log.jetstream import JetStreamLog
from swarm.log.tls import trusted
from swarm.running.processes import EXIT_BAD_INPUT, EXIT_CLOCK, EXIT_OK, EXIT_SECOND, EXIT_STOPPED
from swarm.scenario.minds import make_agent
from swarm.seat.outbox import FileOutbox, MemoryOutbox, Outbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.identity import Identity
from swarm.tasks import until_first
from swarm.text import visible

CONNECT_TIMEOUT_S = 30.0


async def sit(member: dict[str, Any], agent: Agent, where: dict[str, Any]) -> None:
    """Take the seat of *member* in the room at *where*, and keep it until that is over."""
    seed = member.get("seed")
    identity = Identity(bytes.fromhex(seed)) if seed else Identity.load(Path(member["key"]))
    outbox: Outbox = FileOutbox(Path(member["outbox"])) if member.get("outbox") else MemoryOutbox()
    login = identity if where["login"] else None
    name, tls = f"swarm-{member['name']}", trusted(where.get("tls_ca"))
    async with await JetStreamLog.connect(
        where["server"], identity=login, name=name, tls=tls, timeout_s=CONNECT_TIMEOUT_S
    ) as log:
        replica = Replica(log, where["room"], where["opener"], utc_now, keep=False)
        await replica.open(timeout_s=CONNECT_TIMEOUT_S)
        await until_first(replica.follow, Seat(identity, agent, replica, outbox, utc_now).run)


def _input() -> "queue.SimpleQueue[bytes]":
    """Return a queue of the input's lines; when the input closes this process ends, whatever else it is doing."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def watch() -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while read := os.read(0, 65536):
                *whole, rest = (rest + read).split(b"\n")
                for line in whole:
                    lines.put(line)
        if _leads_its_group():
            os.killpg(0, signal.SIGKILL)
        os._exit(EXIT_STOPPED)

    threading.Thread(target=watch, daemon=True).start()
    return lines


def _leads_its_group() -> bool:
    """Tell whether this process's group contains only itself and what its mind has started."""
    return os.getpgrp() == os.getpid()


def _end(code: int) -> NoReturn:
    """End at once: a mind's thread may still hang, and nothing is left to save.

    Whatever this process started ends too.
    """
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    if _leads_its_group():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    os._exit(code)


def main() -> NoReturn:
    """Read the lines, take the seat, and end with a code of `swarm.running.processes`; the reason is on stderr.

    A mind's output goes to stderr too: the parent's stdout is for results.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines = _input()
    answers = os.dup(1)
    os.dup2(2, 1)
    config = json.loads(lines.get())
    code = EXIT_OK
    try:
        agent = make_agent(config["agent"])
        os.write(answers, b"ready\n")
        os.close(answers)
        asyncio.run(sit(config, agent, json.loads(lines.get())))
    except BadInput as error:
        code = _complain(config, EXIT_BAD_INPUT, error)
    except SecondProcess as error:
        code = _complain(config, EXIT_SECOND, error)
    except ClockApart as error:
        code = _complain(config, EXIT_CLOCK, error)
    except SwarmError as error:
        code = _complain(config, EXIT_STOPPED, error)
    _end(code)


def _complain(config: dict[str, Any], code: int, error: SwarmError) -> int:
    with contextlib.suppress(OSError):
        print(f"{visible(config.get('name', 'member'))}: {visible(str(error))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
