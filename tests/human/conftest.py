"""A person's terminal, and one secured broker for the folder; no process is left behind."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "standing")]

from pty_site import SWARM, Person  # noqa: E402
from standing_site import Site  # noqa: E402

from swarm.signed.identity import Identity  # noqa: E402

KEYS = 12


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    made = Person(tmp_path)
    yield made
    made.close()


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
def site(secured: tuple[str, list[Any]], tmp_path: Path) -> Iterator[Site]:
    url, keys = secured
    made = Site(url, keys, tmp_path)
    yield made
    made.close()
