"""The verbs for auditors as they are typed: exit codes, one JSON object, files written, nothing written over."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.auditing_page import PAGE, rewritten
from tests.support.typed import Done

LEDGERS = Path(__file__).resolve().parents[2] / "ledgers"
GOOD, ROSTER, TAMPERED = (str(LEDGERS / name) for name in ("good.jsonl", "roster.yaml", "tampered.jsonl"))
HISTORY = """\
parties: [ann, bob]
commitments:
  - {id: c, debtor: ann, creditor: bob, then: "done by 2026-03-01T12:00:00Z"}
history:
  - {at: 2026-01-01T00:00:00Z, do: create, commitment: c, by: ann}
"""


Swarm = Callable[..., Done]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "history.yaml"
    path.write_text(HISTORY)
    return path


def test_track_shows_changes_dues_and_writes_both_files_in_one_go(swarm: Swarm, file: Path, tmp_path: Path) -> None:
    """Protects the promise of the options: together they give one JSON object and two files."""
    table, graph = tmp_path / "states.csv", tmp_path / "graph.svg"
    done = swarm("track", str(file), "--diff", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000001Z", "--due",
                 "--csv", str(table), "--graph", str(graph), "--json")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    plain = json.loads(done.out)
    assert plain["as_of"] == "2026-03-01T12:00:00.000001Z" and plain["due"] == []
    (change,) = plain["changes"]
    assert (change["commitment"], change["after"], change["since"]) == ("c", "violated", "2026-03-01T12:00:00Z")
    assert len(list(csv.reader(table.read_text().splitlines()))) == 2
    assert graph.read_text().startswith("<svg ")


def test_an_audit_of_several_ledgers_gives_one_table_by_debtor_with_each_verdict(swarm: Swarm) -> None:
    """Protects the reader of a mixed set (UI-03): what failed is in the table as failed, and the exit code is 1."""
    done = swarm("audit", GOOD, TAMPERED, "--roster", ROSTER, "--commitments", "--json")
    assert done.code == 1
    rows = json.loads(done.out)["due"]
    assert [row["debtor"] for row in rows] == sorted(row["debtor"] for row in rows)
    assert {(Path(row["file"]).name, row["verdict"]) for row in rows} == {
        ("good.jsonl", "verified"), ("tampered.jsonl", "failed"),
    }  # fmt: skip


def test_an_audit_shows_what_changed_and_why(swarm: Swarm) -> None:
    """Protects --diff of a ledger: the breach, the remedy, and the records that made them so."""
    done = swarm("audit", GOOD, "--roster", ROSTER, "--diff", "2027-01-20T00:00:00Z", "2027-02-03T00:00:00Z", "--json")
    changes = json.loads(done.out)["changes"]
    assert [(c["commitment"], c["after"]) for c in changes] == [
        ("paper", "violated"), ("refund", "detached"), ("refund", "satisfied"),
    ]  # fmt: skip
    assert [why["by"] for why in changes[0]["why"]] == ["printer", "mill"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--diff", "2026-01-01", "2026-02-01T00:00:00Z"), "not a time such as"),
        (("--diff", "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"), "later than"),
        (("--diff", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "--as-of", "2026-01-01T00:00:00Z"), "--as-of"),
        (("--graph", "graph.png"), ".mmd, .dot or .svg"),
        (("--csv", "/nowhere/at/all.csv"), "no such folder"),
    ],
)
def test_bad_options_are_one_message_and_exit_2(
    swarm: Swarm, file: Path, options: tuple[str, ...], complaint: str
) -> None:
    """Protects from half-done work: nothing is printed on stdout, nothing is written."""
    done = swarm("track", str(file), *options)
    assert (done.code, done.out) == (2, "")
    assert complaint in done.err and "Traceback" not in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--csv", "--graph"])
def test_what_is_read_is_never_written_over(swarm: Swarm, tmp_path: Path, option: str) -> None:
    """Protects the evidence: a slip of the finger cannot replace the ledger by a table of it, or the roster."""
    ledger, roster = tmp_path / "room.svg", tmp_path / "roster.svg"
    ledger.write_bytes(Path(GOOD).read_bytes())
    roster.write_bytes(Path(ROSTER).read_bytes())
    for victim in (ledger, roster):
        before = victim.read_bytes()
        done = swarm("audit", str(ledger), "--roster", str(roster), option, str(victim))
        assert done.code == 2 and "not written over" in done.err
        assert victim.read_bytes() == before


def test_the_page_for_auditors_shows_what_the_commands_print(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the page: each of its outputs and exit codes is today's (tests/support/auditing_page.py renews them)."""
    monkeypatch.chdir(LEDGERS)
    page = PAGE.read_text("utf-8")
    assert page.count("$ swarm ") > 10
    assert rewritten(page, swarm) == page


def test_explain_is_a_verb(swarm: Swarm) -> None:
    """Protects the registration: a code alone, and an id in a ledger, with exit 0; an unknown name with exit 2."""
    assert "none has to act first" in swarm("explain", "deadlock").out
    done = swarm("explain", "paper", GOOD, "--json")
    assert done.code == 0 and json.loads(done.out)["explanations"][0]["state"] == "violated"
    assert swarm("explain", "nothing-like-it").code == 2
