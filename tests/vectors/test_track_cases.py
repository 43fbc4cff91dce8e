"""Histories with known answers, through the library as plain data and as files."""

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import BadInput
from swarm.history.tracking import track
from tests.support.lacking import given

GIVEN = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "track.json"
OWN = Path(__file__).with_name("track_rows.json")


def _rows(file: Path) -> list[Any]:
    if not file.is_file():
        return given(file)
    return [pytest.param(row, id=row["id"]) for row in json.loads(file.read_text())]


def _check(row: dict[str, Any], source: Any) -> None:
    if row["exit"] != 0:
        with pytest.raises(BadInput):
            track(source)
        return
    found = track(source).plain()
    for name, expected in row["expect"].items():
        if name == "_refused":
            assert [refusal["code"] for refusal in found["refused"]] == expected, row["why"]
        else:
            status = found["commitments"][name]
            assert {field: status[field] for field in expected} == expected, f"{name}: {row['why']}"


@pytest.mark.parametrize("row", [*_rows(GIVEN), *_rows(OWN)])
def test_rows(row: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_text(json.dumps(row["file"]))
    _check(row, row["file"])
    _check(row, file)
