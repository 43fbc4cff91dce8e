"""Fixtures of all tests: verbs in this process, a secured broker, a person at a terminal; no process stays behind."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from swarm.signed.identity import Identity
from swarm.testing.virtual import virtual_time
from tests.support.pseudo_terminal import Person
from tests.support.small_rooms import end_all
from tests.support.standing_site import SWARM, Site
from tests.support.typed import Done

KEYS = 80
"""How many keys the secured broker of one test process lets in; each test takes new ones."""


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process, with less patience; return its code, stdout and stderr."""
    from swarm.cli import main

    monkeypatch.setattr("swarm.running.running.REACH_S", 1.5)

    def tell(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swarm", *map(str, arguments)])
        with pytest.raises(SystemExit) as leave:
            main()
        captured = capfd.readouterr()
        assert isinstance(leave.value.code, int)
        return leave.value.code, captured.out, captured.err

    return tell


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run a verb in this process as if it had been typed."""
    from swarm.cli import main

    def typed(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["swarm", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return Done(int(left.value.code or 0), said.out, said.err)

    return typed


@pytest.fixture
def run() -> Callable[[Awaitable[Any]], Any]:
    """Run a coroutine to its end, with a deadline that only a hang reaches."""

    def run(work: Awaitable[Any]) -> Any:
        async def bounded() -> Any:
            return await asyncio.wait_for(work, 60)

        return asyncio.run(bounded())

    return run


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """Seat a person at a terminal of their own."""
    made = Person(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def secured() -> Iterator[tuple[str, list[Identity]]]:
    """Start one secured broker for the test process; give its address and the keys that it lets in."""
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
    """Give a place on the secured broker, with keys of its own; no process of it stays behind."""
    url, keys = secured
    made = Site(url, keys, tmp_path)
    yield made
    made.close()


@pytest.fixture
def without_waiting(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no time pass in the event loops of this test, unless it is marked ``real_time``: waiting is over at once."""
    with nullcontext() if request.node.get_closest_marker("real_time") else virtual_time():
        yield
