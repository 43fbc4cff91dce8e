"""The project's own logs keep the contract of the log port: `world` gives each of them in turn."""

import subprocess
import sys

from swarm.testing.log_contract import *  # noqa: F403


def test_the_port_and_the_memory_log_load_no_nats() -> None:
    """An auditor, and a room within one process, work in an environment without NATS."""
    code = "import swarm.log, swarm.log.memory, swarm.signed.identity, sys; sys.exit('nats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
