"""A machine that is no Unix: what docs/operations.md says of it, on a Python from which the Unix parts were taken."""

import subprocess
import sys

WITHOUT_UNIX = """\
import asyncio, signal, subprocess, sys
import pydantic, rich, typer
for name in ("fcntl", "termios", "pty", "tty", "resource"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGKILL"):
    delattr(signal, name)
"""


def python(text: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX + text], capture_output=True, text=True, timeout=60, check=False
    )


def test_auditing_and_standing_need_no_unix() -> None:
    """Protects who audits elsewhere: nothing that is loaded for it, or for a peer, asks for what only Unix has."""
    done = python(
        "import swarm.cli.app, swarm.auditing.auditing, swarm.peers.standing, swarm.peers.peer\n"
        "import swarm.log.jetstream, swarm.visit.doctor"
    )
    assert done.returncode == 0, done.stderr


def test_the_embedded_broker_refuses_in_words() -> None:
    """Protects who tries it: one sentence that says what to do instead."""
    done = python("""
from swarm.broker import Broker
from swarm.errors import BadInput
async def start():
    async with Broker():
        pass
try:
    asyncio.run(start())
except BadInput as error:
    print(error)
""")
    assert "elsewhere run a nats-server and name it" in done.stdout, done.stderr
