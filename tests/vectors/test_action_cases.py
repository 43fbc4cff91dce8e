"""Histories of deeds with known answers: by the library as plain data, as files, and by the verb."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm.cli import main
from swarm.errors import BadInput
from swarm.history.refereeing import referee
from tests.support.lacking import given

GIVEN = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "actions.json"
OWN = Path(__file__).with_name("action_rows.json")
LISTS = {"_refused": ("item", "code"), "_grants": ("plan", "token"), "_reports": ("event", "by", "item")}


def _rows(file: Path) -> list[Any]:
    if not file.is_file():
        return given(file)
    known = json.loads(file.read_text())
    return [pytest.param({**row, **_file(row, known["openings"])}, id=row["id"]) for row in known["rows"]]


def _file(row: dict[str, Any], openings: dict[str, Any]) -> dict[str, Any]:
    """Return the row's history as a file of `swarm referee`, under ``file``."""
    opening = openings[row["use"]]
    told = {name: row[name] for name in ("history", "as_of") if name in row}
    return {"file": {**opening, "actions": {**opening["actions"], **row.get("with", {})}, **told}}


def _check(found: dict[str, Any], row: dict[str, Any]) -> None:
    for name, expected in (row["expect"] or {}).items():
        assert _shown(found, name, expected) == expected, f"{name}: {row['why']}"


def _shown(found: dict[str, Any], name: str, expected: Any) -> Any:
    """Return what *found* says where *expected* names something."""
    if name in LISTS:
        return [[item[field] for field in LISTS[name]] for item in found[name[1:]]]
    if name == "_findings":  # within one item in any order
        told = [[item["item"], item["code"], item["what"]] for item in found["findings"]]
        return expected if sorted(told) == sorted(expected) else told
    if name == "_versions":
        return {resource: found["resources"][resource]["version"] for resource in expected}
    if name == "_held":
        return {resource: each["held_by"] for resource, each in found["resources"].items() if each["held_by"]}
    return _part(found["plans"][name], expected)


def _part(found: Any, expected: Any) -> Any:
    if not isinstance(expected, dict):
        return found
    return {name: _part(found[name], each) for name, each in expected.items()}


def _call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line in this process, as the installed command does."""
    monkeypatch.setattr(sys, "argv", ["swarm", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.mark.parametrize("row", [*_rows(GIVEN), *_rows(OWN)])
def test_rows(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row, as data and by the verb: what it names must hold; a file that cannot be used is refused in words."""
    file = tmp_path / "deeds.json"
    file.write_text(json.dumps(row["file"]))
    if row.get("exit", 0) != 0:
        with pytest.raises(BadInput):
            referee(row["file"])
        assert _call(monkeypatch, "referee", str(file)) == row["exit"]
        assert str(file) in capsys.readouterr().err
        return
    found = referee(row["file"])
    _check(found.plain(), row)
    assert _call(monkeypatch, "referee", str(file), "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found.plain()))
    assert _call(monkeypatch, "referee", str(file), "--strict") == (0 if found.clean else 4)
    assert _call(monkeypatch, "check", str(file)) == 0
