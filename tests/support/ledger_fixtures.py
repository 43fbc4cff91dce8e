"""Ledgers of real runs, written once: one in order, one on whose log others wrote noise between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import swarm.running.running
from swarm.auditing.auditing import read_roster
from tests.support.signed_rooms import SCENARIO, Ledger, NoisyLog, Table


def _run(folder: Path) -> Ledger:
    path, roster = folder / "room.jsonl", folder / "roster.yaml"
    result = swarm.running.running.run(SCENARIO, memory=True, ledger=path, roster=roster)
    assert result.outcome == "agreed"
    return Ledger(path, read_roster(roster), path.read_bytes().splitlines(keepends=True))


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    return _run(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """The same scenario said again by others under the same names: another room, other keys."""
    return _run(tmp_path_factory.mktemp("other"))


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swarm.running.running, "MemoryLog", NoisyLog)
        ledger = _run(tmp_path_factory.mktemp("noisy"))
    assert sum(b'"raw":' in line for line in ledger.lines) >= 5
    yield ledger


@pytest.fixture
def table() -> Table:
    return Table()
