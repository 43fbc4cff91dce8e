"""Scenario files: what is accepted, and that every mistake is named with its place and what is valid."""

from pathlib import Path

import pytest

from swarm.errors import BadInput
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario

GOOD = """\
room: acme
intent: Decide the renewal offer.
agenda: [accord, concord, commitments]
terms: [aggressive]
issues:
  discount: {from: 0, to: 30, step: 7.5, unit: "%"}
  years: [1, 2, 3]
events:
  signed: {by: sales, confirmed_by: finance, confirm_within: 10 seconds, silence: denies}
rules: {bar: 60, step_seconds: 5}
members:
  - name: finance
    agent: scripted
    reads: {aggressive: {meaning: "Much.", bounds: {discount: {min: 15, unit: "%"}}}}
    proposes:
      title: Two years
      offer: {discount: 7.5, years: 2}
      commitments:
        - {id: order, debtor: sales, creditor: finance, then: signed within 5 days of agreed}
    scores: {Two years: 80, otherwise: 30}
  - name: sales
    agent: utility
    values: {discount: {0: 0, 7.5: 10, 15: 25}, years: {1: 10, 2: 40, 3: 60}}
    reserve: 50
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_stay_as_written(tmp_path: Path) -> None:
    """Protects exactness: a decimal becomes text, an integer stays one, a range is counted in decimals."""
    scenario = read_scenario(write(tmp_path, GOOD))
    assert scenario.issues["discount"].values == [0, "7.5", 15, "22.5", 30]
    assert scenario.issues["years"].values == [1, 2, 3]
    finance = scenario.members[0]
    assert finance.proposes.offer == {"discount": "7.5", "years": 2}  # type: ignore[union-attr]


def test_a_private_part_survives_the_way_to_its_process(tmp_path: Path) -> None:
    """Protects the hand-over: what a member's process gets as JSON makes the same mind."""
    scenario = read_scenario(write(tmp_path, GOOD))
    kinds = [make_agent(agent_config(member)).kind for member in scenario.members]
    assert kinds == ["scripted", "utility"]


MISTAKES = [
    ("bar: 60", "bar: 160", 10, "at most 100"),
    ("bar: 60", "bar: 60, floor: 70", 10, "floor"),
    ("step_seconds: 5", "step_seconds: 1", 10, "at least 2"),
    ("agenda: [accord", "agenda: [acord", 3, "accord"),
    ("terms: [aggressive]", "terms: [aggressive, task]", 4, "task"),
    ("  - name: sales", "  - name: finance", None, "finance"),
    ("  - name: sales", "  - name: f\u0456nance", None, "look alike"),
    ("terms: [aggressive]", "terms: [aggressive, Aggressive]", 4, "look alike"),
    ("terms: [aggressive]", "terms: [\u200baggressive]", 4, "U+200B"),
    ("years: 2}", "years: 4}", None, "4 is not one of 1, 2, 3"),
    ("years: 2}", "year: 2}", None, "no value for years"),
    ("Two years: 80", "Two years: true", None, "whole number"),
    ("Two years: 80", "Two years: 101", None, "at most 100"),
    ("Two years: 80", "Two years: 9.5", None, "whole number"),
    ("within 5 days of agreed", "within 5 dys of agreed", None, "dys"),
    ("then: signed within", "then: sigend within", None, "sigend"),
    ("debtor: sales", "debtor: nobody", None, "nobody"),
    ("min: 15", "min: fifteen", None, "fifteen"),
    ("agent: utility", "agent: robot", None, "robot"),
    ("agent: utility", "agent: no_such_module:Mind", None, "values"),
    ("3: 60}", "3: 90}", None, "100"),
    ("reserve: 50", "reserv: 50", None, "did you mean reserve"),
    ("intent: Decide", "intent: Decide\nintent: Decide", 3, "twice"),
    ("silence: denies", "silence: maybe", 9, "confirms"),
    ("confirmed_by: finance", "confirmed_by: fin", None, "fin"),
    ("from: 0, to: 30", "from: 30, to: 0", 6, "from <= to"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "told"), MISTAKES)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, right: str, wrong: str, line: int | None, told: str) -> None:
    """Protects people: one message with file and line, the reason, and what would be valid."""
    path = write(tmp_path, GOOD.replace(right, wrong, 1))
    with pytest.raises(BadInput) as caught:
        read_scenario(path)
    assert caught.value.source == str(path)
    assert caught.value.line is not None
    if line is not None:
        assert caught.value.line == line, str(caught.value)
    assert told in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)
