"""Every example, run as a user runs it: real processes over the real server, then audited offline."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm import decide

ROOT = Path(__file__).resolve().parents[2]
SWARM = [str(Path(sys.executable).with_name("swarm"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))

EXPECTED: dict[str, dict[str, Any]] = {
    "renewal": {
        "exit": 0,
        "title": "12% for two years",
        "vector": [72, 74, 75, 80],
        "divergences": [["aggressive", "sales", "finance", "carried"], ["renewal", "success", "legal", "settled"]],
        "untested": 6,
        "commitments": {
            "amends": "satisfied",
            "approval": "satisfied",
            "bonus": "expired",
            "order": "satisfied",
            "paper": "satisfied",
            "plan": "violated",
        },
    },
    "water": {"exit": 0, "commitments": {"water": "satisfied"}},
    "overbooking": {
        "exit": 0,
        "commitments": {"pay-ben": "satisfied", "seat-ana": "satisfied", "seat-ben": "violated"},
    },
    "impasse": {"exit": 1, "reason": "no_eligible_option"},
    "deliberation": {"exit": 0, "lowest": 61},
    "haggling": {"exit": 0, "title": "price 6500"},
    "exec": {
        "exit": 0,
        "title": "Museum on Thursday",
        "vector": [75, 80, 80],
        "commitments": {"booking": "satisfied"},
    },
    "mandate": {"exit": 0, "title": "12% with same-day support", "vector": [70, 100]},
    "printer": {
        "exit": 0,
        "title": "A laser with one year of service",
        "offer": {"model": "laser", "price": 500, "service": "one year"},
        "commitments": {"delivery": "satisfied", "payment": "satisfied"},
    },
}

ELSEWHERE = {"ask-me": "tests/swarm/people/test_human_rooms.py", "renewal-llm": "tests/agents/llm/test_run.py"}
"""Examples that need somebody at a terminal or a service beside them, and the tests that bring that and run them."""


def swarm(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SWARM, *arguments], capture_output=True, text=True, timeout=100, cwd=ROOT, env=env, check=False
    )


def test_every_example_has_an_expectation() -> None:
    """Protects this file: an example that nobody checks is prose."""
    assert {path.stem for path in EXAMPLES} == set(EXPECTED) | set(ELSEWHERE)
    for name, test in ELSEWHERE.items():
        assert f"examples/{name}.yaml" in (ROOT / test).read_text("utf-8")


@pytest.mark.parametrize("path", [each for each in EXAMPLES if each.stem not in ELSEWHERE], ids=lambda path: path.stem)
def test_an_example_ends_as_told_and_is_audited_to_the_same(path: Path, tmp_path: Path) -> None:
    """Protects the whole: the run's decision, divergences and promises are what anyone recomputes from its ledger."""
    ledger, roster = tmp_path / "ledger.jsonl", tmp_path / "roster.yaml"
    ran = swarm("run", str(path), "--ledger", str(ledger), "--roster", str(roster), "--json")
    expected = EXPECTED[path.stem]
    assert ran.returncode == expected["exit"], ran.stderr
    result = json.loads(ran.stdout)
    _check(result, expected)

    audited = swarm("audit", str(ledger), "--roster", str(roster), "--json")
    assert audited.returncode == 0, audited.stdout + audited.stderr
    shown = json.loads(audited.stdout)
    assert shown["verdict"] == "verified"
    for field in ("room", "outcome", "reason", "decision", "divergences", "untested"):
        assert shown[field] == result[field], field
    assert {name: promise["state"] for name, promise in shown["commitments"].items()} == result["commitments"]
    assert shown["entries"] == result["ledger"]["entries"]

    without_nats = swarm("audit", str(ledger), "--roster", str(roster), "--json", env=_without_nats(tmp_path))
    assert without_nats.stdout == audited.stdout
    assert without_nats.returncode == 0


def _check(result: dict[str, Any], expected: dict[str, Any]) -> None:
    decision = result["decision"]
    if "title" in expected:
        assert decision["option"]["title"] == expected["title"]
    if "offer" in expected:
        assert decision["option"]["offer"] == expected["offer"]
    if "vector" in expected:
        assert decision["vector"] == expected["vector"]
    if "lowest" in expected:
        assert decision["vector"][0] == expected["lowest"]
    if "divergences" in expected:
        found = [[d["term"], *d["between"], d["status"]] for d in result["divergences"]]
        assert found == expected["divergences"]
        assert len(result["untested"]) == expected["untested"]
    if result["considered"] is not None:
        again = decide(result["considered"]["table"])
        if decision is not None:
            assert (again.winner, list(again.vector), again.rule) == (
                decision["id"],
                decision["vector"],
                decision["rule"],
            )
        else:
            assert again.outcome == result["reason"]
    if "reason" in expected:
        assert result["reason"] == expected["reason"]
    assert result["commitments"] == expected.get("commitments", {})
    faults = [f for f in result["findings"] if f["code"] in ("silent", "excused", "late", "wrong_state", "not_allowed")]
    assert faults == []


def _without_nats(folder: Path) -> dict[str, str]:
    """Return an environment in which NATS cannot be imported."""
    blocked = folder / "blocked"
    (blocked / "nats").mkdir(parents=True)
    (blocked / "nats" / "__init__.py").write_text("raise ImportError('not installed here')\n")
    return {**os.environ, "PYTHONPATH": str(blocked)}


def test_the_members_see_the_renewal_as_its_story_tells(tmp_path: Path) -> None:
    """Protects what a viewer sees: the table, who was asked to improve, what adding up would have taken."""
    ran = swarm("run", str(ROOT / "examples" / "renewal.yaml"), "--ledger", str(tmp_path / "l.jsonl"))
    assert ran.returncode == 0, ran.stderr
    for told in (
        "REHEARSAL",
        "sales ≠ finance",
        "CARRIED",
        "SETTLED",
        "✕",
        "adding up or the median would have taken “15% for three years”, over the objection of finance",
        "refused: finance would be at 62",
        "12% for two years, lowest 72 (success), signed 4/4",
        "4 kept",
        "1 broken and made good",
        "swarm audit",
    ):
        assert told in ran.stdout, told
