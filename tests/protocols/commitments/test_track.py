"""`swarm track` as a function: what it reads, what it refuses with place and reason, and the shape of its result."""

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import BadInput
from swarm.history.tracking import History, track
from tests.support.histories import WATER, day, did, history, promise, said

CONTRACT_EXAMPLE = """\
parties: [alice, bob]
events:
  paid: {by: bob, confirmed_by: alice}
commitments:
  - id: water
    debtor: alice
    creditor: bob
    if: paid(amount >= 1) by 2026-01-10T00:00:00Z     # left out: unconditional
    then: delivered within 5 days of paid
  - id: refund
    debtor: alice
    creditor: bob
    if: violated(water)
    then: refunded within 3 days of violated(water)
history:                                 # any order in the file
  - {at: 2026-01-01T00:00:00Z, do: create, commitment: water, by: alice}
  - {at: 2026-01-03T00:00:00Z, event: paid, by: bob, id: p1, amount: "1"}
  - {at: 2026-01-03T09:00:00Z, do: confirm, report: p1, by: alice}
  - {at: 2026-01-05T00:00:00Z, do: cancel, commitment: water, by: alice}
"""


def test_a_file_and_its_result_in_full(tmp_path: Path) -> None:
    file = tmp_path / "history.yaml"
    file.write_text(CONTRACT_EXAMPLE)
    assert track(file).plain() == {
        "as_of": "2026-01-05T00:00:00Z",
        "commitments": {
            "water": {
                "state": "violated",
                "since": "2026-01-05T00:00:00Z",
                "because": [4],
                "remedy": "due",
                "debtor": "alice",
                "creditor": "bob",
                "answerable": [],
                "notes": [],
            },
            "refund": {
                "state": "detached",
                "since": "2026-01-05T00:00:00Z",
                "because": [4],
                "remedy": "none",
                "debtor": "alice",
                "creditor": "bob",
                "answerable": [],
                "notes": [],
            },
        },
        "refused": [],
        "findings": [],
    }


def test_numbers_in_a_file_are_decimals_as_written(tmp_path: Path) -> None:
    terms = promise("c", "paid totalling amount >= 0.30")
    lines = [f'{{"at": "{day(2)}", "event": "paid", "by": "bob", "amount": {amount}}}' for amount in ("0.10", "0.2")]
    file = tmp_path / "history.json"
    file.write_text(
        f'{{"parties": ["alice", "bob"], "commitments": [{json.dumps(terms)}], "history": [{", ".join(lines)}]}}'
    )
    assert track(file).commitments["c"].state == "satisfied"


def test_values_of_any_scalar_kind_are_compared_by_their_text() -> None:
    terms = [promise("c", "x(ok = true, n = 5)", each="order")]
    result = track(history(said(2, "x", ok=True, n=5, order=17), commitments=terms))
    assert result.commitments["c[17]"].state == "satisfied"


def test_as_of_of_the_call_wins_over_the_files() -> None:
    file = history(as_of=8)
    assert track(file).plain()["as_of"] == day(8)
    assert track(file, day(9)).plain()["as_of"] == day(9)


LINE = said(2, "paid", "bob")
BAD: list[tuple[str, Any, str]] = [
    ("unknown-field", {**history(), "histroy": []}, "unknown field 'histroy'; did you mean history?"),
    ("no-parties", {"parties": [], "commitments": []}, "parties"),
    ("party-twice", {**history(), "parties": ["alice", "bob", "bob"]}, "parties: a party stands twice"),
    ("unknown-debtor", history(commitments=[promise("c", "x", debtor="zoe")]), "debtor: 'zoe' is no party"),
    ("unknown-commitment", history(commitments=[promise("c", "x", "violated(d)")]), "violated(d) names no commitment"),
    ("self", history(commitments=[promise("c", "x", "violated(c)")]), "about this commitment itself"),
    ("id-twice", history(commitments=[WATER, WATER]), "commitments[1].id: two commitments have the id 'water'"),
    ("bad-condition", history(commitments=[promise("c", "x bye y")]), "commitments[0]: 'c': found 'bye'"),
    ("deep", history(commitments=[promise("c", "(" * 20 + "x" + ")" * 20)]), "parentheses nest deeper than 16"),
    ("rule-for-nobody", history(events={"e": {"by": "zoe"}}), "events.e.by: 'zoe' is no party"),
    ("power", history(powers={"fire": ["bob"]}), "'fire' is no power (valid: suspend, resume)"),
    ("silence-alone", history(events={"e": {"silence": "denies"}}), "silence needs confirm_within"),
    ("line", history("paid"), "history[0]: expected a mapping"),  # type: ignore[arg-type]
    ("no-at", history({"event": "paid", "by": "bob"}), "history[0].at: expected a time"),
    ("no-by", history({"event": "paid", "at": day(2)}), "history[0].by: expected text, found nothing"),
    ("neither", history({"at": day(2), "by": "bob"}), "history[0].do: expected one of create"),
    ("both", history({**LINE, "do": "create"}), "either done (do) or reported (event), not both"),
    ("unknown-do", history(did(2, "destroy", "bob", commitment="water")), "history[0].do: expected one of create"),
    ("no-commitment", history(did(2, "cancel", "bob")), "history[0].commitment: expected text"),
    ("no-to", history(did(2, "assign", "bob", commitment="water")), "history[0].to: expected text"),
    ("no-holds", history(did(2, "decide", "bob", report="r")), "history[0].holds: expected true or false"),
    ("extra", history(did(2, "accept", "bob", commitment="water", to="bob")), "history[0].to: unknown field 'to'"),
    ("list-attribute", history({**LINE, "amount": [1]}), "history[0].amount: an attribute is text or a number"),
    ("null-attribute", history({**LINE, "amount": None}), "history[0].amount: an attribute is text or a number"),
    ("nan", history({**LINE, "amount": float("nan")}), "history[0].amount: an attribute is text or a number"),
    ("no-offset", history({**LINE, "at": "2026-01-01T00:00:00"}), "history[0].at: '2026-01-01T00:00:00' is not"),
    ("as-of", {**history(), "as_of": "tomorrow"}, "as_of: 'tomorrow' is not a time"),
    ("until", history(did(2, "suspend", "bob", commitment="water", until="P1D")), "history[0].until: 'P1D' is not"),
]


@pytest.mark.parametrize(("file", "message"), [pytest.param(file, text, id=name) for name, file, text in BAD])
def test_bad_input_is_refused_by_place(file: Any, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        track(file)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T12:34:56.Z",
        "2026-01-01T12345678",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00,5Z",
        "2026-01-01 00:00:00Z",
        "2026-W01-1T00:00:00Z",
        "2026-01-01T00:00:00+01:00:30",
        "2026-01-01T00:00:00.123456789Z",
        "2026-01-01T23:59:60Z",
        "2026-02-30T00:00:00Z",
    ],
)
def test_cm_06_time_text_that_parses_but_should_not(text: str) -> None:
    for file in (history({**LINE, "at": text}), history(commitments=[promise("c", f"x by {text}")])):
        with pytest.raises(BadInput):
            track(file)


def test_the_line_of_a_fault_is_told(tmp_path: Path) -> None:
    file = tmp_path / "history.yaml"
    file.write_text(CONTRACT_EXAMPLE.replace("do: cancel", "do: destroy"))
    with pytest.raises(BadInput) as refused:
        track(file)
    assert str(refused.value).startswith(f"{file}:19: history[3].do: expected one of create, cancel")


def test_what_lies_after_as_of_is_still_read() -> None:
    with pytest.raises(BadInput):
        track(history({**LINE, "at": "soon"}, as_of=1))


def test_the_schema_shows_what_a_line_may_hold() -> None:
    schema = History.model_json_schema(by_alias=True)
    line = schema["properties"]["history"]["items"]
    assert "suspend" in line["properties"]["do"]["enum"]
    assert line["required"] == ["at", "by"]
