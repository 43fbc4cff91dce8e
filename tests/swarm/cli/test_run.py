"""`swarm run` as others' programs see it: one object on stdout, a code, and files that are whole or untouched."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import BadInput
from swarm.files.writing import check_writable
from swarm.running.running import run
from tests.support.small_rooms import ROOT, SWARM, custom, ledger, member, room, start, swarm, written


def only_object(text: str) -> dict[str, Any]:
    """Return the one JSON object that *text* is."""
    found = json.loads(text)
    assert isinstance(found, dict)
    assert text.count("\n") == 1
    return found


LOW = member("bob", scores={"otherwise": 10}, reserve=60)
ENDINGS = [
    (room(member("ann"), member("bob")), 0, "agreed"),
    (room(member("ann"), LOW), 1, "no_agreement"),
    (room(member("ann"), custom("cat", "Strange", at="manifest", how="raises")), 3, "abandoned"),
]


@pytest.mark.parametrize(("scenario", "code", "outcome"), ENDINGS, ids=["agreed", "no agreement", "abandoned"])
def test_json_and_code_tell_the_ending(tmp_path: Path, scenario: dict[str, Any], code: int, outcome: str) -> None:
    """Protects callers: exit code and object agree, stdout holds nothing else, and the library says the same."""
    ended = swarm("run", written(tmp_path, scenario), "--json", "--ledger", str(tmp_path / "l.jsonl"))
    result = only_object(ended.stdout)
    assert (ended.returncode, result["outcome"]) == (code, outcome)
    assert result["ledger"]["entries"] == len(ledger(tmp_path / "l.jsonl"))
    assert "Traceback" not in ended.stderr
    assert "\x1b" not in ended.stderr
    here = run(scenario, memory=True)
    assert (here.exit_code, here.outcome, here.reason) == (code, outcome, result["reason"])


BAD = [
    (room(member("ann")), "members"),
    (room(member("ann"), {"name": "cat", "agent": "nowhere:Cat"}), "nowhere"),
    (room(member("ann"), custom("cat", "Willing", dya="mon")), "dya"),
]


@pytest.mark.parametrize(("scenario", "why"), BAD, ids=["scenario", "no such agent", "wrong args"])
def test_bad_input_is_one_object_and_one_line(
    tmp_path: Path, told: Callable[..., tuple[int, str, str]], scenario: dict[str, Any], why: str
) -> None:
    """Protects callers: with --json a refusal is an object too, and people read one line and no traceback."""
    code, out, err = told("run", written(tmp_path, scenario), "--json", "--ledger", str(tmp_path / "l.jsonl"))
    result = only_object(out)
    assert (code, result["exit"], why in result["error"]) == (2, 2, True)
    assert err.count("\n") == 1
    assert not (tmp_path / "l.jsonl").exists()


def test_what_a_mind_prints_does_not_reach_stdout(tmp_path: Path) -> None:
    """Protects callers: a class that prints, when it is made or while it answers, cannot spoil the object."""
    ended = swarm("run", written(tmp_path, room(member("ann"), custom("cat", "Printing"))), "--json")
    assert only_object(ended.stdout)["outcome"] == "agreed"
    assert "printed while it is made" in ended.stderr


@pytest.mark.parametrize(
    ("ledger_at", "why"),
    [("no/such/l.jsonl", "No such file"), (".", "folder"), ("scenario.json", "read or written already"),
     ("x" * 300, "too long"), ("scenario.json/l.jsonl", "Not a directory")],
)  # fmt: skip
def test_a_ledger_that_cannot_be_written_is_said_before_the_room_opens(
    tmp_path: Path, ledger_at: str, why: str
) -> None:
    """Protects the work: nobody negotiates for an hour to learn that the result has no place."""
    path = written(tmp_path, room())
    with pytest.raises(BadInput, match=why):
        run(path, memory=True, ledger=tmp_path / ledger_at, watch=lambda _: pytest.fail("a room was opened"))


def test_ledger_and_roster_need_files_of_their_own(tmp_path: Path) -> None:
    """Protects the ledger from being replaced by the roster."""
    with pytest.raises(BadInput, match="each its own"):
        run(room(), memory=True, ledger=tmp_path / "same", roster=tmp_path / "same")


def test_files_that_are_there_are_replaced_whole(tmp_path: Path) -> None:
    """Protects readers: old files are replaced in one step and nothing is left beside them."""
    paths = tmp_path / "l.jsonl", tmp_path / "r.yaml"
    for path in paths:
        path.write_text("old")
    with paths[0].open() as reading:
        run(room(), memory=True, ledger=paths[0], roster=paths[1])
        assert reading.read() == "old"
    assert len(ledger(paths[0])) > 10
    assert "old" not in paths[1].read_text()
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_checking_a_place_leaves_nothing_there(tmp_path: Path) -> None:
    """Protects the user's folder: looking whether it can be written does not write."""
    check_writable([tmp_path / "l.jsonl", None], None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", ["--json", "text"])
def test_a_reader_that_goes_does_not_end_the_run(tmp_path: Path, how: str) -> None:
    """Protects the result: with stdout closed by its reader the run goes on, writes its ledger, and keeps its code."""
    arguments = ["run", written(tmp_path, room()), "--ledger", str(tmp_path / "l.jsonl")]
    read, write = os.pipe()
    process = subprocess.Popen(
        [*SWARM, *arguments, *(["--json"] if how == "--json" else [])],
        stdout=write, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    os.close(write)
    os.close(read)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert len(ledger(tmp_path / "l.jsonl")) > 10


def test_the_broker_verb_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """Protects operators: SIGTERM stops the server and leaves its directory in order for the next."""
    for _ in range(2):
        broker = start("broker", "--dir", str(tmp_path / "store"))
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("nats://127.0.0.1:")
        broker.send_signal(signal.SIGTERM)
        broker.communicate(timeout=20)
        assert broker.returncode == 0
