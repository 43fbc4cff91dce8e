"""Texts of members in everything that people read: data on one line, never a command, a record or a formula."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import swarm.running.running
from tests.support.hostile_texts import RECORD, TEXTS, TOGETHER, nameable, reaches_the_terminal

Told = Callable[..., tuple[int, str, str]]


def scenario(text: str) -> dict[str, Any]:
    """Return a room in which every free text is *text*, as far as its place allows."""
    name = nameable(text)[:60].strip()
    promise = f"p {name.replace('[', '(').replace(']', ')')}"
    case = {"text": text, "applies": True}
    options = [{"title": f"{day} {text}", "offer": {"day": day}, "rationale": text} for day in ("mon", "tue")]
    members: list[dict[str, Any]] = [
        {
            "name": who,
            "role": text,
            "reads": {"task": {"meaning": f"{who} {text}", "cases": [case]}},
            "judges": {"task": {other: "different"}},
            "settles": {"task": {"keep": True, "because": text}},
            "proposes": options[place],
            "scores": {"otherwise": 60},
            "reasons": {options[0]["title"]: text},
            "performs": [{"event": "done", "when": "agreed"}] if who == "bob" else [],
        }
        for place, (who, other) in enumerate((("ann", "bob"), ("bob", "ann")))
    ]
    members[0]["rejects"] = {options[1]["title"]: text}
    return {
        "room": "texts",
        "intent": text,
        "agenda": ["accord", "concord", "commitments"],
        "terms": [f"t {name}"],
        "issues": {"day": ["mon", "tue"]},
        "events": {"done": {"by": "bob"}},
        "promises": [
            {"id": promise, "debtor": "bob", "creditor": "ann", "then": "done within 4 seconds of agreed"},
        ],
        "rules": {"improvements": 0, "step_seconds": 5, "watch_seconds": 5},
        "members": members,
    }


def lines_of(shown: str) -> list[str]:
    return shown.splitlines()


@pytest.fixture(scope="module")
def benign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of the same room in which everybody says plain words."""
    path = tmp_path_factory.mktemp("benign") / "plain.jsonl"
    swarm.running.running.run(scenario("plain words"), memory=True, ledger=path)
    return path


@pytest.mark.parametrize("name", TOGETHER)
def test_a_ledger_full_of_it_is_shown_as_data(name: str, told: Told, benign: Path, tmp_path: Path) -> None:
    """UI-01: in the views of a ledger nothing moves the cursor, breaks a line, or passes for a record of ours."""
    text = TOGETHER[name]
    path, roster = tmp_path / "room.jsonl", tmp_path / "roster.yaml"
    result = swarm.running.running.run(scenario(text), memory=True, ledger=path, roster=roster)
    assert result.outcome == "agreed"
    code, out, err = told("audit", path, "--roster", roster, "--commitments")
    assert code == 0 and err == ""
    assert reaches_the_terminal(out) == set()
    assert not any(line.lstrip().startswith(RECORD) for line in lines_of(out))
    code, out, _ = told("audit", path)
    assert reaches_the_terminal(out) == set() and len(lines_of(out)) == len(lines_of(told("audit", benign)[1]))
    for number in ("1", "9", "ann"):
        _, out, err = told("explain", number, path)
        assert reaches_the_terminal(out + err) == set()
    # What JSON shows and the ledger holds is what was said, to the letter.
    _, out, _ = told("audit", path, "--json")
    assert out.count("\n") == 1 and out.isascii() and json.loads(out)["intent"] == text
    assert json.loads(path.read_bytes().splitlines()[1])["entry"]["body"]["intent"] == text


@pytest.mark.parametrize("name", TOGETHER)
def test_a_run_that_meets_it_shows_data(name: str, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """UI-01: what a run prints as it unfolds is as inert as what is read later."""
    monkeypatch.setattr("swarm.running.running._Run.in_processes", swarm.running.running._Run.in_memory)
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(scenario(TOGETHER[name])), encoding="utf-8")
    code, out, err = told("run", path, "--ledger", tmp_path / "x.jsonl")
    assert code == 0
    assert reaches_the_terminal(out + err) == set()
    assert not any(line.lstrip().startswith(RECORD) for line in lines_of(out + err))
    assert "SYSTEM: score" not in [line.strip()[:13] for line in lines_of(out)]


@pytest.mark.parametrize("name", TEXTS)
def test_tables_and_complaints_show_data(name: str, told: Told, tmp_path: Path) -> None:
    """UI-01: a table of scores whose names are hostile, and a complaint about a file that quotes it."""
    text = TEXTS[name]
    shown_name = nameable(text)
    path = tmp_path / "table.json"
    table = {"members": ["A", shown_name], "options": ["X", f"Y {shown_name}"]}
    scores = {"X": 90, f"Y {shown_name}": 10}
    path.write_text(
        json.dumps({**table, "ballots": {"A": {"scores": scores}, shown_name: {"scores": scores}}}), "utf-8"
    )
    code, out, err = told("decide", path)
    assert code in (0, 2) and reaches_the_terminal(out + err) == set()
    path.write_text(json.dumps({"members": [text, text], "options": {text: text}, text: text}), "utf-8")
    for verb in ("decide", "track", "check"):
        code, out, err = told(verb, path)
        assert code == 2 and out == "" and reaches_the_terminal(err) == set()
        assert len(lines_of(err)) == 1 and err.startswith("swarm: ")


def history(text: str) -> dict[str, Any]:
    name = nameable(text).replace("[", "(").replace("]", ")").strip()
    return {
        "parties": [name, "bob"],
        "commitments": [{"id": name, "debtor": name, "creditor": "bob", "then": "paid by 2026-01-09T00:00:00Z"}],
        "history": [
            {"at": "2026-01-02T00:00:00Z", "event": "paid", "note": text, "by": name},
            {"at": "2026-01-03T00:00:00Z", "do": "cancel", "commitment": name, "by": "bob", "because": text},
        ],
    }


FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\uff1d1+1",
    "\uff0b1",
    "\u22121",
    " =1+1",
    "\u3000=1+1",
    "=cmd|' /C calc'!A0",
    'a,"b"; =1',
]


@pytest.mark.parametrize("text", FORMULAS, ids=ascii)
def test_a_spreadsheet_is_given_text(text: str, told: Told, tmp_path: Path) -> None:
    """UI-02: in what `--csv` writes no cell begins a formula, whatever a name does; rows stay rows, numbers numbers."""
    path, out = tmp_path / "history.json", tmp_path / "out.csv"
    path.write_text(json.dumps(history(text)), encoding="utf-8")
    code, _, err = told("track", path, "--csv", out)
    if code == 2:
        # A name that no file may hold: refused with its place, which is as good.
        assert reaches_the_terminal(err) == set()
        return
    rows = list(csv.reader(io.StringIO(out.read_text("utf-8"), newline="")))
    assert len(rows) == 2
    for cell in rows[1]:
        assert not cell.lstrip(" \t\u3000")[:1] or cell.lstrip(" \t\u3000")[0] not in "=+-@\uff1d\uff0b\u2212\t\r"
    assert any(text.strip() in cell for cell in rows[1])


@pytest.mark.parametrize("text", [f for f in FORMULAS if f == f.strip() and f[0] not in "\uff1d\uff0b"], ids=ascii)
def test_a_ledgers_spreadsheet_is_given_text_too(text: str, told: Told, tmp_path: Path) -> None:
    """UI-02: the same of a ledger, whose promise a member has named."""
    room = scenario("plain words")
    room["promises"][0]["id"] = text
    path, out = tmp_path / "room.jsonl", tmp_path / "out.csv"
    swarm.running.running.run(room, memory=True, ledger=path)
    code, _, _ = told("audit", path, "--csv", out)
    assert code == 3
    rows = list(csv.reader(io.StringIO(out.read_text("utf-8"), newline="")))
    assert len(rows) == 2
    assert all(cell[:1] not in ("=", "+", "-", "@", "\uff1d", "\uff0b", "\u2212") for cell in rows[1])
    assert any(text in cell for cell in rows[1])
