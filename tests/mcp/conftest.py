"""One secured broker for the folder; each test has keys of its own there, and leaves no process behind."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "standing"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from standing_site import SWARM, Site

from swarm.signed.identity import Identity

KEYS = 40


@pytest.fixture(scope="package")
def secured() -> Iterator[tuple[str, list[Identity]]]:
    keys = [Identity.new() for _ in range(KEYS)]
    members = [word for key in keys for word in ("--member", key.public)]
    broker = subprocess.Popen([SWARM, "broker", "--secure", *members], stdout=subprocess.PIPE, text=True)
    try:
        assert broker.stdout is not None
        yield broker.stdout.readline().strip(), keys
    finally:
        broker.send_signal(signal.SIGINT)
        broker.communicate(timeout=20)


@pytest.fixture
def site(secured: tuple[str, list[Identity]], tmp_path: Path) -> Iterator[Site]:
    url, keys = secured
    made = Site(url, keys, tmp_path)
    yield made
    made.close()
