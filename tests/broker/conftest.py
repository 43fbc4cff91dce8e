"""Verbs as they are typed, without a process for each."""

import sys
from collections.abc import Callable

import pytest

from swarm.cli import main
from tests.auditing.typed import Done


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def typed(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["swarm", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return Done(int(left.value.code or 0), said.out, said.err)

    return typed
