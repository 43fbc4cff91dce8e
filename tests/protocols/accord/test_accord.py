"""Accord: when readings differ, agree or are untested, and what settles a difference."""

from typing import Any

import pytest

from protocols.accord.compare import Position, compare, differ, within
from protocols.core.canonical import digest
from protocols.duties.duties import ReadDuty, SettleDuty
from protocols.messages.accord import Bound, Interpretation, interpretation_id
from tests.support.unsigned_rooms import Table, hexed, state_of


def _accord(members: str = "ab", **fields: Any) -> Table:
    return Table(members, **{"agenda": ["accord", "concord"], "terms": ["done"], **fields}).join()


def _divergences(table: Table) -> list[dict[str, Any]]:
    assert table.room.accord is not None
    return [d.plain() for d in table.room.accord.divergences]


def test_same_word_two_meanings() -> None:
    """AC-01: one divergence, with both readings and their authors; a different wish is none."""
    table = _accord(terms=["done", "budget"])
    budget = "total in EUR including VAT"
    table.mean(
        {
            "a": {"done": "merged to main", "budget": budget},
            "b": {"done": "in production 24 h without rollback", "budget": budget},
        }
    )
    table.read(judgements={"a": {"done": "different"}, "b": {"done": "different"}})
    (divergence,) = _divergences(table)
    assert (divergence["term"], divergence["between"]) == ("done", ["a", "b"])
    assert {m: r["meaning"] for m, r in divergence["readings"].items()} == {
        "a": "merged to main",
        "b": "in production 24 h without rollback",
    }
    # Concord does not open before each has answered for the term; then the difference is part of what is signed.
    assert (table.step, table.expected) == ("accord.settle", ["a", "b"])
    table.settle("a")
    assert table.step == "accord.settle"
    table.settle("b")
    assert table.step == "concord.option.seal"
    table.propose(a={"title": "A", "rationale": "500, then done"}, b="B")
    assert "uses_open_term" in table.codes()
    table.score(a={"A": 90, "B": 60}, b={"A": 60, "B": 90})
    table.all_pass()
    assert table.concord.outcome().open == [{"term": "done", "between": ["a", "b"]}]


def test_an_interpretation_has_no_field_for_wishes() -> None:
    """What a member wants has no place in what a word means."""
    with pytest.raises(ValueError, match="wish"):
        Interpretation.model_validate({"meaning": "total", "wish": "500"})


# -- the table of comparison ------------------------------------------------------------------------------------------


def _position(meaning: str = "words", verdicts: Any = (), judges: Any = (), **fields: Any) -> Position:
    said = Interpretation.model_validate({"meaning": meaning, **fields})
    return Position(said, interpretation_id("term", said), dict(verdicts), dict(judges))


def _bounds(**fields: Any) -> dict[str, Any]:
    return {"bounds": {"price": fields}}


CASE = {"cases": [{"text": "12% off", "applies": True}]}


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        # one quantity in one unit, compared as decimals
        (_position("x", **_bounds(min="1.0")), _position("y", **_bounds(min="1")), "untested"),
        (_position("x", **_bounds(min="1.01")), _position("y", **_bounds(min="1")), "different"),
        (_position("x", **_bounds(min="0.1")), _position("y", **_bounds(min="0.10")), "untested"),
        (_position("x", **_bounds(min="-0")), _position("y", **_bounds(min="0.000")), "untested"),
        (_position("x", **_bounds(min="1")), _position("y", **_bounds(max="1")), "different"),
        (_position("x", **_bounds(min="1")), _position("y", **_bounds(min="1", max="2")), "different"),
        (_position("x", **_bounds(min="1", unit="EUR")), _position("y", **_bounds(min="2", unit="EUR")), "different"),
        (_position("x", **_bounds(min="1", unit="EUR")), _position("y", **_bounds(min="2", unit="USD")), "untested"),
        (_position("x", **_bounds(min="1", unit="EUR")), _position("y", **_bounds(min="2")), "untested"),
        (_position("x", bounds={"a": {"min": "1"}}), _position("y", bounds={"b": {"min": "2"}}), "untested"),
        # closed lists, as sets
        (_position("x", **_bounds(values=["a", "b"])), _position("y", **_bounds(values=["b", "a"])), "untested"),
        (_position("x", **_bounds(values=["1", "2"])), _position("y", **_bounds(values=["2.0", "1.00"])), "untested"),
        (_position("x", **_bounds(values=["a"])), _position("y", **_bounds(values=["a", "b"])), "different"),
        (_position("x", **_bounds(values=["1"])), _position("y", **_bounds(min="1", max="1")), "different"),
        # verdicts on one case
        (_position("x", {"c": "yes"}), _position("y", {"c": "no"}), "different"),
        (_position("x", {"c": "yes"}), _position("x", {"c": "no"}), "different"),
        (_position("x", {"c": "yes"}), _position("y", {"c": "unsure"}), "untested"),
        (_position("x", {"c": "yes"}), _position("y", {"c": "yes"}), "untested"),
        (_position("x", {"c": "yes"}), _position("y", {"d": "no"}), "untested"),
        # one interpretation; equal words
        (_position("x"), _position("x"), "same"),
        (_position("x", **CASE), _position("x", **CASE), "same"),
        (_position("x", **CASE), _position("x"), "untested"),
        (_position("x", **_bounds(min="1")), _position("x"), "untested"),
        (_position("x"), _position("X"), "untested"),
        # nothing
        (None, _position("x"), "missing"),
        (_position("x"), None, "missing"),
        (None, None, "missing"),
    ],
)
def test_how_two_readings_relate(a: Position | None, b: Position | None, relation: str) -> None:
    """Each row of the comparison; it does not matter who comes first, and every verdict but two has its evidence."""
    found, evidence = compare(a, b)
    assert found == relation == compare(b, a)[0]
    assert bool(evidence) == (relation in ("different", "same"))


@pytest.mark.parametrize(
    ("of_a", "of_b", "relation"),
    [
        ("same", "same", "same"),
        ("same", "unsure", "untested"),
        ("same", None, "untested"),
        ("different", "same", "different"),
        ("unsure", "different", "different"),
        ("different", None, "different"),
        ("unsure", "unsure", "untested"),
    ],
)
def test_what_either_judges(of_a: str | None, of_b: str | None, relation: str) -> None:
    """One ``different`` is enough; ``same`` takes both."""
    a, b = _position("x"), _position("y")
    a = Position(a.interpretation, a.id, {}, {b.id: of_a} if of_a else {})  # type: ignore[dict-item]
    b = Position(b.interpretation, b.id, {}, {a.id: of_b} if of_b else {})  # type: ignore[dict-item]
    assert compare(a, b)[0] == compare(b, a)[0] == relation


def test_different_outweighs_judged_same() -> None:
    """Two who call their meanings the same and bound them differently mean different things."""
    a, b = _position("x", **_bounds(min="1")), _position("y", **_bounds(min="2"))
    a = Position(a.interpretation, a.id, {}, {b.id: "same"})
    b = Position(b.interpretation, b.id, {}, {a.id: "same"})
    relation, evidence = compare(a, b)
    assert relation == "different"
    assert evidence == [{"kind": "bounds", "quantity": "price", "bounds": [{"min": "1"}, {"min": "2"}]}]


def test_a_bound_is_a_range_or_a_list() -> None:
    """Bounds that say nothing, or two things, are no bounds."""
    for fields in ({}, {"unit": "EUR"}, {"values": ["1"], "min": "1"}, {"values": []}, {"min": 1}, {"min": "1e3"}):
        with pytest.raises(ValueError):
            Bound.model_validate(fields)
    assert not differ(Bound(min="1.0"), Bound(min="1"))


def test_a_case_is_tested_against_bounds_as_decimals() -> None:
    """``within`` is exact, inclusive, and silent where no bounded quantity has a value."""
    bounds = {"discount": Bound(min="10", max="12.5"), "years": Bound(values=["1", "2"])}
    assert within(bounds, {"discount": "12.50"}) is True
    assert within(bounds, {"discount": "12.500000000000000000001"}) is False
    assert within(bounds, {"discount": "10.0", "years": "2.0"}) is True
    assert within(bounds, {"discount": "10.0", "years": "3"}) is False
    assert within(bounds, {"price": "1"}) is None


# -- readings ---------------------------------------------------------------------------------------------------------

CASES = {
    "a": {
        "done": {
            "meaning": "merged",
            "cases": [{"text": "on a branch", "applies": False}, {"text": "b", "applies": True}],
        }
    },
    "b": {"done": {"meaning": "deployed", "cases": [{"text": "b", "applies": True}, {"text": "a", "applies": True}]}},
}


def test_a_reading_is_asked_about_every_case_and_every_other_meaning_in_order() -> None:
    """Cases by sorted (term, text), equal texts once, one's own verdicts filled in; meanings of others by id."""
    table = _accord(terms=["done", "alpha"])
    table.mean({"a": CASES["a"] | {"alpha": "x"}, "b": CASES["b"] | {"alpha": "x"}})
    duty = table.duty("a")
    assert isinstance(duty, ReadDuty)
    assert [(c.term, c.text, c.verdict) for c in duty.cases] == [
        ("done", "a", None),
        ("done", "b", "yes"),
        ("done", "on a branch", "no"),
    ]
    assert [(m.term, m.held_by) for m in duty.meanings] == [("done", ["b"])]
    assert set(duty.own) == {"done", "alpha"}


@pytest.mark.parametrize(
    ("verdicts", "judgements"),
    [
        (["yes", "yes"], ["unsure"]),
        (["yes", "yes", "no", "no"], ["unsure"]),
        (["yes", "yes", "no"], []),
        (["yes", "yes", "no"], ["unsure", "unsure"]),
        (["maybe", "yes", "no"], ["unsure"]),
        ([True, "yes", "no"], ["unsure"]),
        (["yes", "no", "no"], ["unsure"]),
        (["yes", "unsure", "no"], ["unsure"]),
        (["yes", "yes", "yes"], ["unsure"]),
    ],
)
def test_a_reading_of_another_length_or_against_own_cases_is_void(verdicts: list[Any], judgements: list[Any]) -> None:
    """Nothing is padded, cut or guessed; one's verdict on one's own case is that of one's interpretation."""
    table = _accord()
    table.mean(CASES)
    readings = {
        "a": {"verdicts": verdicts, "judgements": judgements},
        "b": {"verdicts": ["yes", "yes", "unsure"], "judgements": ["unsure"]},
    }
    assert table.sealed(readings) == {"a": ["void_reading"], "b": []}
    assert table.room.accord is not None
    assert "a" not in table.room.accord.reading.contents


def test_a_void_reading_does_not_hide_what_the_own_cases_say() -> None:
    """Opposite verdicts on one case, each on its own account, differ even if nobody read the other."""
    table = _accord()
    table.mean(
        {m: {"done": {"meaning": m, "cases": [{"text": "c", "applies": m == "a"}]}} for m in "ab"},
    )
    table.expire()
    (divergence,) = _divergences(table)
    assert divergence["evidence"] == [{"kind": "case", "case": "c", "verdicts": ["yes", "no"]}]


def test_verdicts_on_others_cases_show_a_difference() -> None:
    """The third party's case separates two who would have called their words the same."""
    table = _accord("abc")
    case = {"text": "c", "applies": True}
    table.mean({"a": {"done": "x"}, "b": {"done": "x"}, "c": {"done": {"meaning": "z", "cases": [case]}}})
    table.read(verdicts={"a": {"c": "yes"}, "b": {"c": "no"}})
    assert [(d["term"], d["between"]) for d in _divergences(table)] == [("done", ["a", "b"]), ("done", ["b", "c"])]


def test_missing_and_untested_are_named_and_are_no_divergence() -> None:
    """A pair that was never shown to agree or differ stays untested; where one said nothing it is missing."""
    table = _accord("abc", terms=["done", "budget"])
    table.mean({"a": {"done": "x", "budget": "y"}, "b": {"done": "y", "budget": "y"}, "c": {"done": "x"}})
    table.read()
    accord = table.room.accord
    assert accord is not None
    assert accord.untested == [("done", ("a", "b")), ("done", ("b", "c"))]
    assert ("budget", ("a", "c")) in accord.missing and ("task", ("a", "b")) in accord.missing
    assert accord.divergences == []
    assert table.step == "concord.option.seal"


# -- settling ---------------------------------------------------------------------------------------------------------


def _differing(members: str = "ab", **fields: Any) -> Table:
    """Everyone means something else by ``done``, and judges the others' meanings different."""
    table = _accord(members, **fields)
    table.mean({m: {"done": f"as {m} says"} for m in members})
    table.read(judgements={m: {"done": "different"} for m in members})
    assert table.step == "accord.settle"
    return table


def _adopt(table: Table, whose: str) -> dict[str, Any]:
    return {"adopt": table.meaning_id("done", whose), "because": f"{whose} is right"}


def _statuses(table: Table) -> dict[str, str]:
    return {"".join(d["between"]): d["status"] for d in _divergences(table)}


def test_adopting_settles_and_stays_visible() -> None:
    """Who adopts another's meaning keeps its own on record: the divergence remains, as one that was talked away."""
    table = _differing()
    adopted = _adopt(table, "b")
    table.settle("a", done=adopted)
    table.settle("b")
    (divergence,) = _divergences(table)
    assert divergence["status"] == "settled"
    assert divergence["settled_by"] == {"a": adopted}
    assert {m: r["meaning"] for m, r in divergence["readings"].items()} == {"a": "as a says", "b": "as b says"}
    assert table.room.open_differences() == []
    accord = table.room.accord
    assert accord is not None
    assert accord.held("done", "a") == accord.held("done", "b") == table.meaning_id("done", "b")
    assert accord.meaning.contents["a"]["done"].meaning == "as a says"


def test_adopting_a_third_meaning_settles_if_both_do() -> None:
    """Two differ no more once both hold one interpretation, whoever's it is."""
    table = _differing("abc")
    table.settle("a", done=_adopt(table, "c"))
    table.settle("b", done=_adopt(table, "c"))
    table.settle("c")
    assert _statuses(table) == {"ab": "settled", "ac": "settled", "bc": "settled"}


def test_crossed_adoption_stays_open() -> None:
    """Each moved to where the other was: they still differ."""
    table = _differing()
    table.settle("a", done=_adopt(table, "b"))
    assert table.settle("b", done=_adopt(table, "a")) == ["divergence_open"]
    assert _statuses(table) == {"ab": "carried"}


def test_one_split_by_both_settles() -> None:
    """Named senses settle a difference if both name the same; another name or another sense leaves it open."""
    for names, status in [(("merged", "live"), "settled"), (("merged", "shipped"), "carried"), (None, "carried")]:
        table = _differing()
        ids = table.meaning_id("done", "a"), table.meaning_id("done", "b")
        split = dict(zip(("merged", "live"), ids, strict=True))
        table.settle("a", done={"split": split})
        other = {"split": dict(zip(names, ids, strict=True))} if names else {"keep": True}
        table.settle("b", done=other)
        assert _statuses(table) == {"ab": status}
    crossed = _differing()
    ids = crossed.meaning_id("done", "a"), crossed.meaning_id("done", "b")
    crossed.settle("a", done={"split": {"merged": ids[0], "live": ids[1]}})
    crossed.settle("b", done={"split": {"merged": ids[1], "live": ids[0]}})
    assert _statuses(crossed) == {"ab": "carried"}


def test_keeping_one_interpretation_does_not_settle_a_difference_on_a_case() -> None:
    """Equal words and opposite verdicts: nobody moved, so nothing is settled."""
    table = _accord("abc")
    case = {"text": "c", "applies": True}
    table.mean({"a": {"done": "x"}, "b": {"done": "x"}, "c": {"done": {"meaning": "x", "cases": [case]}}})
    table.read(verdicts={"a": {"c": "yes"}, "b": {"c": "no"}})
    table.settle("a")
    table.settle("b")
    table.settle("c")
    assert _statuses(table) == {"ab": "carried", "bc": "carried"}


def test_the_authority_rules() -> None:
    """The member to whom the opening gave a term settles it for all, party to the difference or not."""
    table = _differing("abc", authority={"terms": {"done": "c"}})
    assert isinstance(duty := table.duty("c"), SettleDuty) and duty.authority == ["done"]
    table.settle("a")
    table.settle("b")
    ruling = {"rule": table.meaning_id("done", "a"), "because": "as the contract says"}
    table.settle("c", done=ruling)
    assert _statuses(table) == {"ab": "settled", "ac": "settled", "bc": "settled"}
    assert all(d["settled_by"]["c"] == ruling for d in _divergences(table))


def test_an_authority_that_is_no_party_is_asked() -> None:
    """Authority over a term is a duty once others differ on it."""
    table = _accord("abc", authority={"terms": {"done": "c"}})
    table.mean({"a": {"done": "x"}, "b": {"done": "y"}})
    table.read(judgements={"a": {"done": "different"}})
    assert table.expected == ["a", "b", "c"]


def test_an_authority_that_keeps_rules_nothing() -> None:
    """Authority settles by ruling only; a ruling not given leaves the difference as it is."""
    table = _differing("abc", authority={"terms": {"done": "c"}})
    for member in "abc":
        table.settle(member)
    assert _statuses(table) == {"ab": "carried", "ac": "carried", "bc": "carried"}


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"task": {"keep": True}, "done": {"keep": True}}, "not_expected"),
        ({}, "incomplete_settlement"),
        ({"done": {"adopt": hexed("nobody's"), "because": "x"}}, "unknown_interpretation"),
        ({"done": {"split": {"x": hexed(1), "y": hexed(2)}}}, "unknown_interpretation"),
        ({"done": {"rule": "of b"}}, "not_yours_to_decide"),
    ],
)
def test_a_settlement_out_of_bounds_is_refused(terms: dict[str, Any], code: str) -> None:
    """Only one's own terms, all of them, by ids that were revealed, and rulings by the authority alone."""
    table = _differing(authority={"terms": {"done": "b"}})
    if terms.get("done", {}).get("rule"):
        terms = {"done": {"rule": table.meaning_id("done", "b")}}
    before = state_of(table.room)
    assert table.answer("a", "accord.settle", terms=terms) == [code]
    assert state_of(table.room) == before
    assert table.settle("a") == []


@pytest.mark.parametrize(
    "settlement",
    [
        {},
        {"keep": False},
        {"keep": True, "adopt": hexed(1), "because": "x"},
        {"adopt": hexed(1)},
        {"adopt": hexed(1), "because": ""},
        {"split": {"one": hexed(1)}},
    ],
)
def test_a_settlement_says_exactly_one_thing(settlement: dict[str, Any]) -> None:
    """And adopting another's meaning needs a reason."""
    with pytest.raises(ValueError):
        _differing().answer("a", "accord.settle", terms={"done": settlement})


def test_silence_settles_nothing() -> None:
    """Who does not answer keeps its meaning; the difference is carried, and the silence named."""
    table = _differing()
    table.settle("a")
    assert table.expire() == ["silent", "divergence_open"]
    assert _statuses(table) == {"ab": "carried"}


def test_open_differences_are_carried_into_what_is_ratified() -> None:
    """Each ratification signs the open differences with the outcome."""
    table = _differing()
    table.settle("a")
    table.settle("b")
    table.propose(a="A", b="B")
    table.score(a={"A": 90, "B": 60}, b={"A": 60, "B": 90})
    table.all_pass()
    outcome = table.concord.outcome()
    assert outcome.open == [{"term": "done", "between": ["a", "b"]}]
    assert digest(outcome.plain()) != digest(outcome.model_copy(update={"open": []}).plain())
    table.ratify_all()
    assert table.ending == ("agreed", None)
    assert table.room.result is not None
    assert [d["status"] for d in table.room.result["divergences"]] == ["carried"]


def test_open_differences_block_where_the_rules_say_so() -> None:
    """The room ends without agreement, naming the terms, and that is signed too."""
    table = _differing(rules={"on_divergence": "block"})
    table.settle("a")
    assert table.settle("b") == ["divergence_open"]
    assert table.ending == ("no_agreement", "divergence: done")
    assert _statuses(table) == {"ab": "blocked"}
    assert table.step == "room.closing"
    table.close()
    assert table.room.over
    assert table.room.concord is None


def test_settled_differences_do_not_block() -> None:
    """Blocking is for what is still open."""
    table = _differing(rules={"on_divergence": "block"})
    table.settle("a", done=_adopt(table, "b"))
    table.settle("b")
    assert table.step == "concord.option.seal"


def test_a_difference_whose_parties_left_is_still_open() -> None:
    """Nobody is left to settle it: it is carried, not forgotten."""
    table = _accord("abc")
    table.mean({"a": {"done": "x"}, "b": {"done": "y"}})
    for member in "abc":
        judgements = ["different"] if member == "a" else ["unsure"] * (2 if member == "c" else 1)
        table.seal(member, {"verdicts": [], "judgements": judgements})
    table.reveal("a")
    table.reveal("b")
    table.leave("a")
    table.leave("b")
    assert table.reveal("c") == ["divergence", "divergence_open"]
    assert table.step == "concord.option.seal"
    assert _statuses(table) == {"ab": "carried"}


@pytest.mark.parametrize(
    "option",
    [
        {"title": "Done by May"},
        {"title": "A", "rationale": "it is DONE."},
        {"title": "A", "offer": {"done": "by May"}},
        {"title": "A", "commitments": [{"id": "p", "debtor": "a", "creditor": "b", "then": "done"}]},
        {"title": "A", "commitments": [{"id": "p", "debtor": "a", "creditor": "b", "if": "done", "then": "paid"}]},
    ],
)
def test_an_option_that_uses_an_open_term_says_so(option: dict[str, Any]) -> None:
    """Wherever the term stands in it as a word, and whatever its case."""
    table = _differing(agenda=["accord", "concord", "commitments"], events={"done": {}, "paid": {}})
    table.settle("a")
    table.settle("b")
    table.propose(a=option, b="Undone and abandoned")
    used = [f for f in table.room.findings if f.code == "uses_open_term"]
    assert [(f.who, "'done'" in f.text) for f in used] == [("a", True)]


def test_a_promise_that_uses_an_open_term_says_so() -> None:
    """Promises made beside the agenda too."""
    table = _differing(agenda=["accord", "concord", "commitments"], events={"done": {}, "paid": {}})
    table.settle("a")
    table.settle("b")
    for number, (then, found) in enumerate({"done": ["uses_open_term"], "paid": []}.items()):
        terms = {"id": f"p{number}", "debtor": "a", "creditor": "b", "then": then}
        assert table.say("a", {"kind": "commitment.create", "commitments": [terms]}) == found
