"""Ledgers of an earlier day: today's code still reads them, and still comes to what was recorded then."""

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.auditing.auditing import audit

LEDGERS = Path(__file__).resolve().parents[2] / "ledgers"
VERDICTS: list[dict[str, Any]] = json.loads((LEDGERS / "verdicts.json").read_text("utf-8"))


@pytest.mark.parametrize("row", VERDICTS, ids=lambda row: f"{row['ledger']}-{'pinned' if row['roster'] else 'alone'}")
def test_a_frozen_ledger_gets_the_verdict_it_got(row: dict[str, Any]) -> None:
    """Protects everyone who kept a ledger: format, signatures, rules and states mean what they meant."""
    roster = None if row["roster"] is None else LEDGERS / row["roster"]
    result = audit(LEDGERS / row["ledger"], roster=roster)
    assert result.verdict == row["verdict"]
    assert result.exit_code() == row["exit"] and result.exit_code(strict=True) == row["exit_strict"]
    assert (result.entries, result.complete, result.covered_to) == (row["entries"], row["complete"], row["covered_to"])
    shown = result.plain()["commitments"]
    assert {name: promise["state"] for name, promise in shown.items()} == row["commitments"]
    assert [name for name, promise in shown.items() if not promise["covered"]] == row["uncovered"]
    found = [[finding["code"], finding["position"]] for finding in result.findings]
    assert [finding for finding in row["findings"] if finding not in found] == []


def test_the_corpus_has_every_kind_of_ledger_and_verdict() -> None:
    """Protects the corpus: each fault is in it, and each verdict was given at least once."""
    assert {row["ledger"] for row in VERDICTS} == {path.name for path in LEDGERS.glob("*.jsonl")}
    assert {row["verdict"] for row in VERDICTS} == {"verified", "failed", "incomplete"}
    codes = {code for row in VERDICTS for code, _ in row["findings"]}
    assert codes >= {"altered", "equivocation", "torn_tail", "not_pinned", "key_mismatch"}
