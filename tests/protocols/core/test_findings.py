"""Codes: each one that the sources use stands in the one table, and none stands there that nothing uses."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocols.commitments.lifecycle import State
from protocols.concord.selection import Ballot, find_fault
from protocols.core.findings import CODES, Finding, Severity

ROOT = Path(__file__).parents[3]
SOURCES = sorted(p for package in ("protocols", "agents", "swarm") for p in (ROOT / package).rglob("*.py"))

CODE_AT = {
    **dict.fromkeys(("Finding", "Refused", "ActRefused", "BadEntry", "BallotFault", "Trouble", "fault"), 0),
    "Refusal": 1,
    "note": 0,
    "ask": 1,
    "Link": 3,
}
"""Which argument of which call is a code. What an entry's bytes are ``found`` to be goes by codes too."""

STATES = {State.VIOLATED, State.UNCONFIRMED, State.DISPUTED}
"""States of a promise that are findings too: the room says them by the state's own name."""


def _used() -> dict[str, set[str]]:
    """Every code that some source gives as a literal, and where."""
    used: dict[str, set[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            for code in _codes_in(node):
                used.setdefault(code, set()).add(str(path.relative_to(ROOT)))
    return used


def _codes_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = CODE_AT.get(name)
        if place is not None and len(node.args) > place:
            yield from _texts(node.args[place])
    elif isinstance(node, ast.FunctionDef) and node.name == "_refuse":
        for inner in ast.walk(node):
            if isinstance(inner, ast.Subscript) and ast.unparse(inner.value) == "found":
                yield from _texts(inner.slice)


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts that *node* may be: a literal, or the branches of a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _texts(value)


def test_every_code_in_the_sources_has_its_place_in_the_table() -> None:
    """A finding without severity and meaning would break whoever reads it."""
    assert {code: sorted(where) for code, where in _used().items() if code not in CODES} == {}


def test_every_code_in_the_table_is_used() -> None:
    """No dead codes: a reader of the table sees what can happen, and nothing else."""
    assert sorted(CODES.keys() - _used().keys() - STATES) == []


def test_the_scan_sees_what_it_should() -> None:
    """The two tests above are worth something only if codes are found where they are."""
    used = _used()
    assert len(used) > 60
    for code, where in {
        "late": "protocols/room/room.py",
        "score_not_integer": "protocols/concord/selection.py",
        "equivocation": "swarm/ledger/chain.py",
        "too_deep": "swarm/signed/entry.py",
        "checkpoint_mismatch": "swarm/auditing/auditing.py",
        "conflicting_report": "protocols/commitments/reports.py",
        "circle": "protocols/commitments/graph.py",
        "flapping": "protocols/actions/reading.py",
    }.items():
        assert where in used[code]


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_code_is_a_word_with_a_meaning(code: str) -> None:
    """Codes are stable words for programs; meanings are sentences for people."""
    severity, meaning = CODES[code]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert isinstance(severity, Severity)
    assert meaning[0].isupper() and meaning.endswith(".")
    assert Finding(code, 1, "a", "x").severity is severity


def test_the_codes_of_ballots_are_the_selections() -> None:
    """What voids a ballot in a room voids it in ``swarm decide``, by the same word."""
    ballots = [
        Ballot({"X": 1, "Z": 1}),
        Ballot({"X": 1, "Y": 1}, {"Y": "no"}),
        Ballot({"X": 1, "Y": True}),
        Ballot({"X": 1, "Y": 101}),
        Ballot({}, {"X": "no", "Y": "no"}),
        Ballot({"X": 1}, {"Y": " "}),
        Ballot({"X": 1}),
    ]
    faults = [find_fault(ballot, {"X", "Y"}, 1) for ballot in ballots]
    codes = [fault.code for fault in faults if fault is not None]
    assert codes == [
        *("unknown_option", "scored_and_rejected", "score_not_integer", "score_out_of_range"),
        *("too_many_rejections", "rejection_without_reason", "incomplete_ballot"),
    ]
    assert CODES.keys() >= set(codes)
