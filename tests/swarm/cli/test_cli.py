"""The command line: the known answers through it, one message for what is wrong, one JSON object where asked."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from swarm.cli.app import main
from swarm.cli.schemas import schema_of
from tests.support.lacking import needs

ROOT = Path(__file__).resolve().parents[3]
CASES = ROOT.parent / "shared" / "cases"
NEEDS_CASES = needs(CASES)


def rows(name: str) -> list[Any]:
    path = CASES / name
    return json.loads(path.read_text("utf-8")) if path.is_file() else []


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line in this process, as the installed command does."""
    monkeypatch.setattr(sys, "argv", ["swarm", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    captured = capsys.readouterr()
    return int(left.value.code or 0), captured.out, captured.err


@NEEDS_CASES
@pytest.mark.parametrize("row", rows("decide.json"), ids=lambda row: row["id"])
def test_decide_gives_the_known_answers(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects concord-select/1 through the verb: each field that the known answer names, and the exit code."""
    path = tmp_path / "table.json"
    path.write_text(json.dumps(row["file"]))
    code, out, _ = call(monkeypatch, capsys, "decide", str(path), "--json")
    result = json.loads(out)
    assert {name: result[name] for name in row["expect"]} == row["expect"]
    assert code == (0 if row["expect"]["outcome"] == "accepted" else 1)


@NEEDS_CASES
@pytest.mark.parametrize("row", rows("track.json"), ids=lambda row: row["id"])
def test_track_gives_the_known_answers(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects the tracker through the verb: states, times, notes and refusals."""
    path = tmp_path / "history.json"
    path.write_text(json.dumps(row["file"]))
    code, out, err = call(monkeypatch, capsys, "track", str(path), "--json")
    assert code == row["exit"], err
    if code != 0:
        assert json.loads(out)["exit"] == code
        assert err.count("\n") == 1
        assert str(path) in err
        return
    result = json.loads(out)
    for name, expected in row["expect"].items():
        if name == "_refused":
            assert [refused["code"] for refused in result["refused"]] == expected
            continue
        found = result["commitments"][name]
        for field, value in expected.items():
            if field == "notes":
                assert set(value) <= set(found["notes"])
            else:
                assert found[field] == value, field


WRONG = [
    (["decide"], "no.yaml", None, "no such file"),
    (["decide"], "t.yaml", "members: [a]\noptions: [x]\nballots: {a: {scores: {x: 1}}\n", "t.yaml:"),
    (["decide"], "t.yaml", "members: [a]\nmembers: [b]\n", "t.yaml:2"),
    (["decide"], "t.yaml", "members: [a]\noptions: [x]\nrules: {bar: .nan}\n", "t.yaml:3"),
    (["track"], "h.yaml", "parties: [a]\ncommitments: []\nhistory:\n  - {at: yesterday, do: create}\n", "h.yaml:4"),
    (["run"], "s.yaml", "room: x\n", "s.yaml"),
    (["run"], "s.yaml", "[" * 2000, "s.yaml"),
    (["audit"], "l.jsonl", "", "nothing to check"),
    (["audit"], "l.jsonl", "{}\n", "l.jsonl:1"),
    (["audit"], "l.jsonl", '{"ledger":1,"room":"x"}\n', "nothing to check"),
    (["check"], "c.yaml", "hello: 1\n", "c.yaml"),
]


@pytest.mark.parametrize(("verb", "name", "text", "told"), WRONG)
def test_bad_input_is_one_message_and_exit_2(
    verb: list[str],
    name: str,
    text: str | None,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Protects people: file and place, one line, no traceback, nothing on stdout."""
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    code, out, err = call(monkeypatch, capsys, *verb, str(path))
    assert code == 2
    assert out == ""
    assert told in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_usage_errors_exit_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects scripts: an unknown option or verb is bad usage, not a failure of what was asked."""
    for arguments in (["run"], ["nosuch"], ["decide", "--nosuch"], ["broker", "--secure"], ["schema", "nosuch"]):
        code, _, err = call(monkeypatch, capsys, *arguments)
        assert code == 2, arguments
        assert "Traceback" not in err


@pytest.mark.parametrize("kind", ["scenario", "agent", "table", "history", "deeds", "ledger", "duty"])
def test_every_schema_is_json(kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects editors that complete our files: each schema is one JSON object that describes something."""
    code, out, _ = call(monkeypatch, capsys, "schema", kind)
    assert code == 0
    assert {"properties", "oneOf"} & json.loads(out).keys()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_fits_the_schema_that_we_publish(path: Path) -> None:
    """Protects editors: what we accept, the schema accepts, numbers and short forms included."""
    schema = jsonschema.Draft202012Validator(schema_of("scenario"))
    assert [error.message for error in schema.iter_errors(YAML(typ="safe").load(path))] == []


def test_an_agent_file_fits_its_schema_and_a_misspelt_one_does_not() -> None:
    """Protects editors: the schema of an agent file is that of the file, flat as it is."""
    schema = jsonschema.Draft202012Validator(schema_of("agent"))
    good = {"agent": "utility", "values": {"price": {"5": 10}}, "accepts": {"max_members": 4}}
    assert schema.is_valid(good)
    assert schema.is_valid({"agent": "mine:Mind", "args": {"limit": 3}})
    assert not schema.is_valid({**good, "name": "seller"})
    assert not schema.is_valid({**good, "accept": {}})
    assert not schema.is_valid({"agent": "robot"})


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_checks(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the examples and `swarm check` from each other."""
    code, out, err = call(monkeypatch, capsys, "check", str(path))
    assert code == 0, err
    assert "valid scenario" in out


def test_keys_are_made_once_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects keys: mode 0600, never overwritten, the seed never printed."""
    path = tmp_path / "me.key"
    code, out, _ = call(monkeypatch, capsys, "keys", "new", str(path))
    assert code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    seed = path.read_text().strip()
    assert out.startswith("U")
    assert seed not in out
    assert call(monkeypatch, capsys, "keys", "new", str(path))[0] == 2
    assert path.read_text().strip() == seed
    assert call(monkeypatch, capsys, "keys", "show", str(path))[1] == out


def test_the_package_offers_the_names_of_the_contract_and_no_nats() -> None:
    """Protects auditors: the contract's names are there, and taking them loads no NATS."""
    code = (
        "import sys\n"
        "from swarm import run, audit, decide, track, open_room, Peer, Identity\n"
        "from agents import Agent\n"
        "assert all(callable(x) for x in (run, audit, decide, track, open_room, Peer, Identity, Agent))\n"
        "import swarm.cli.app\n"
        "from swarm import audit as again\n"
        "assert again is audit\n"
        "assert 'nats' not in sys.modules, 'nats was loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=ROOT)
