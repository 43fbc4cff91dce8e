"""Tables with known answers, through the library as plain data and as files."""

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import BadInput
from swarm.files.table import decide
from tests.support.lacking import given
from tests.vectors.decide_rows import BAD_INPUT, ROWS

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "decide.json"


def _given() -> list[Any]:
    if not CASES.is_file():
        return given(CASES)
    return [pytest.param(row, id=row["id"]) for row in json.loads(CASES.read_text())]


def _as_found(row: dict[str, Any], source: Any) -> dict[str, Any]:
    found = decide(source).plain()
    return {field: found[field] for field in row["expect"]}


@pytest.mark.parametrize("row", _given())
def test_given_rows(row: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    file.write_text(json.dumps(row["file"]))
    assert _as_found(row, row["file"]) == row["expect"], row["why"]
    assert _as_found(row, file) == row["expect"], row["why"]


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS])
def test_further_rows(row: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    file.write_text(json.dumps(row["file"]))  # NaN and Infinity as Python writes them
    assert _as_found(row, row["file"]) == row["expect"], row["why"]
    assert _as_found(row, file) == row["expect"], row["why"]


@pytest.mark.parametrize(("data", "message"), [pytest.param(data, text, id=name) for name, data, text in BAD_INPUT])
def test_bad_tables_are_refused_by_place(data: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        decide(data)
    assert message in str(refused.value)


def test_void_ballots_say_what_would_be_valid() -> None:
    table = {"members": ["A"], "options": ["X"], "ballots": {"A": {"scores": {"X": "8/10"}}}}
    assert decide(table).why_void == {"A": "X: expected an integer from 0 to 100"}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "0.5e1", "9" * 400 + ".5", "1" + "0" * 5000, "-" + "9" * 401])
def test_numbers_no_json_reader_can_hold_void_the_ballot(number: str, tmp_path: Path) -> None:
    code = "score_out_of_range" if number.removeprefix("-").isdigit() else "score_not_integer"
    for text in (
        f'{{"members": ["A"], "options": ["X"], "ballots": {{"A": {{"scores": {{"X": {number}}}}}}}}}',
        f"members: [A]\noptions: [X]\nballots:\n  A:\n    scores:\n      X: {number}\n",
    ):
        file = tmp_path / "table"
        file.write_text(text)
        assert decide(file).void == {"A": code}


def test_a_score_written_as_yaml_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "table.yaml"
    file.write_text(
        "members: [no, yes]\noptions: [12:30, on]\n"
        "ballots:\n  no: {scores: {12:30: 60, on: 70}}\n  yes: {scores: {12:30: 80, on: 10}}\n"
    )
    found = decide(file)
    assert (found.winner, found.vector, found.least_satisfied) == ("12:30", (60, 80), "no")
