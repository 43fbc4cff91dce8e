"""How many places a new rule touches: a toy act on promises and a toy sealed stage, from the models to the seat.

The packages are copied, the toys are written into the copy, and a room with both is gone through by members with minds
and a mandate, to the audit. What the copy was told is all that there is to tell: `docs/architecture.md` repeats it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.extending.rules import PLACES, tell

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("protocols", "agents", "swarm")
MOST_PLACES = 8


@pytest.fixture(scope="module")
def went(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a room with the toys came to, in a copy of the packages that was told of them."""
    copy = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    tell(copy)
    script = Path(__file__).with_name("moody.py")
    env = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, str(script), str(copy)], env=env, cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_toy_act_and_a_toy_stage_touch_few_files() -> None:
    """Protects "a rule is one place": what another must be told is a step towards three lists of the same thing."""
    assert len(PLACES) <= MOST_PLACES
    assert sum("commitments" in place for place in PLACES) == 2, "the act is two: what it says, and what it does"


def test_the_places_are_those_that_the_architecture_names() -> None:
    """The page that says how to add a rule names the files of this test, each once."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = text.partition("## How to add a rule")[2].partition("\n## ")[0]
    missing = [place for place in PLACES if place != "protocols/room/mood.py" and f"`{place}`" not in section]
    assert section and not missing


def test_a_room_goes_through_the_stage(went: dict[str, Any]) -> None:
    """Sealed, opened and judged as any other: rounds are found by what a stage says, not by name."""
    assert went["steps"][:4] == ["room.joining", "room.promising", "mood.word.seal", "mood.word.reveal"]
    assert went["moods"] == {"ann": "glad", "bob": "tired"}
    assert went["outcome"] == "open"


def test_a_mind_that_was_not_told_is_excused(went: dict[str, Any]) -> None:
    """A mind without an answer to a new duty costs its member the step, not its seat."""
    assert went["excused"] == {"cyd": "failed: it failed"}


def test_the_act_is_said_and_does_what_its_table_says(went: dict[str, Any]) -> None:
    """A script names it, a mandate allows it, the tracker moves by it."""
    assert went["promises"] == {"lamp": "terminated"}


def test_everything_else_that_lists_acts_knows_it(went: dict[str, Any]) -> None:
    """What `swarm say`, a history and a model's form may say is selected from the one table."""
    assert (went["said"], went["tracked"], went["form"]) == ("commitment.forgive", "terminated", "forgive")


def test_an_auditor_and_a_report_need_nothing_more(went: dict[str, Any]) -> None:
    """The ledger is verified by the same fold; the report calls an unknown step by its id."""
    assert went["verdict"] == "verified" and went["reported"]
