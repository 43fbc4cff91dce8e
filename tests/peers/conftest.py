"""Lets this folder's tests find the modules beside them, and leaves no process of theirs behind."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from swarm.cli import main

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    from small_rooms import end_all

    yield
    end_all()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process, with less patience; return its code, stdout and stderr."""
    monkeypatch.setattr("swarm.running.running.REACH_S", 1.5)

    def tell(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swarm", *arguments])
        with pytest.raises(SystemExit) as leave:
            main()
        captured = capfd.readouterr()
        assert isinstance(leave.value.code, int)
        return leave.value.code, captured.out, captured.err

    return tell
