"""Concord: options and quotes, ballots, who may improve, and how a room agrees or does not."""

from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest

from protocols.concord.selection import Ballot, SelectionRules, select
from protocols.core.canonical import canonical, digest
from protocols.duties.duties import ImproveDuty, ProposeDuty, QuoteDuty, ScoreDuty
from protocols.messages.concord import option_id, reserve_digest
from protocols.room.outcome import Agreed, decision_of
from protocols.stage.stage import Refused
from tests.support.unsigned_rooms import Table, hexed, key_of, state_of

ISSUES = {"discount": {"values": [0, 5, 10], "unit": "%"}, "years": {"values": [1, 2, "three"]}}
SCORES: dict[str, Any] = {
    "a": {"X": 90, "Y": 60, "Z": 10},
    "b": {"X": 20, "Y": 70, "Z": 30},
    "c": {"X": 50, "Y": 65, "Z": 40},
}
"""Y stands first: its lowest score is 60."""


def _proposing(members: str = "abc", **fields: Any) -> Table:
    table = Table(members, **fields).join()
    table.reserves = {}
    return table


def _scoring(reserves: dict[str, int] | None = None, **fields: Any) -> Table:
    """A room that is to score X, Y and Z."""
    table = _proposing(**fields)
    table.propose(reserves, a="X", b="Y", c="Z")
    return table


def _standing(reserves: dict[str, int] | None = None, scores: dict[str, Any] | None = None, **fields: Any) -> Table:
    """A room at its first right to improve."""
    table = _scoring(reserves, **fields)
    table.score(**(scores or SCORES))
    return table


def _offer(title: str, **offer: Any) -> dict[str, Any]:
    return {"title": title, "offer": offer}


# -- options ----------------------------------------------------------------------------------------------------------


def test_equal_options_are_one_with_several_proposers() -> None:
    """Equal offers are one option, under the title of its first proposer in roster order, whoever revealed first."""
    table = _proposing(issues=ISSUES)
    table.propose(
        c=_offer("C's", discount=5, years=2),
        b=_offer("B's", years=2, discount=10),
        a=_offer("A's", discount="10", years="2"),
    )
    options = {c.option.title: c.proposers for c in table.concord.candidates.values()}
    assert options == {"A's": ["a", "b"], "C's": ["c"]}
    assert table.concord.candidates[table.option("A's")].option.offer == {"discount": 10, "years": 2}


def test_without_issues_the_title_is_the_option() -> None:
    """Where nothing else tells options apart, their titles do; a commitment tells them apart everywhere."""
    table = _proposing(agenda=["concord", "commitments"], events={"paid": {}})
    terms = {"id": "p", "debtor": "a", "creditor": "b", "then": "paid"}
    table.propose(a="X", b="X", c={"title": "X", "commitments": [terms]})
    assert sorted(c.proposers for c in table.concord.candidates.values()) == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("option", "code"),
    [
        (_offer("T", discount=7, years=1), "unknown_value"),
        (_offer("T", discount=True, years=1), "void_option"),
        (_offer("T", discount=5), "incomplete_option"),
        (_offer("T", discount=5.0, years=1), None),
        ({"title": "", "offer": {"discount": 5, "years": 1}}, "void_option"),
        ({"title": "T", "offer": {"discount": 5, "years": 1}, "score": 90}, "void_option"),
        (
            {
                "title": "T",
                "offer": {"discount": 5, "years": 1},
                "commitments": [{"id": "p", "debtor": "a", "creditor": "b", "then": "x"}],
            },
            "bad_commitment",
        ),
    ],
)
def test_an_option_out_of_bounds_is_void(option: dict[str, Any], code: str | None) -> None:
    """Values and fields that the opening does not know void the option; its author's peer would not have signed it."""
    table = _proposing(issues=ISSUES)
    content = table.proposal("a", option)
    if code is None:
        with pytest.raises(ValueError, match="float"):
            table.seal("a", content)
        return
    with pytest.raises(Refused) as refused:
        table.room.check("a", content)
    assert refused.value.code == code
    others = {m: table.proposal(m, _offer(m, discount=0, years=1)) for m in "bc"}
    assert table.sealed({"a": content, **others}) == {"a": [code], "b": [], "c": []}
    assert [c.proposers for c in table.concord.candidates.values()] == [["b", "c"]]


@pytest.mark.parametrize(
    "commitments",
    [
        [{"id": "p", "debtor": "z", "creditor": "b", "then": "paid"}],
        [{"id": "p", "debtor": "a", "creditor": "b", "then": "unlisted"}],
        [{"id": "p", "debtor": "a", "creditor": "b", "then": "violated(q)"}],
        [{"id": "p", "debtor": "a", "creditor": "b", "then": "(("}],
        2 * [{"id": "p", "debtor": "a", "creditor": "b", "then": "paid"}],
        [{"id": "made", "debtor": "a", "creditor": "b", "then": "paid"}],
    ],
)
def test_an_option_whose_commitments_cannot_be_is_void(commitments: list[dict[str, Any]]) -> None:
    """Unknown parties, events or commitments, bad conditions and ids in use are found before anyone scores."""
    table = _proposing(agenda=["concord", "commitments"], events={"paid": {}})
    made = {"id": "made", "debtor": "b", "creditor": "a", "then": "paid"}
    assert table.say("b", {"kind": "commitment.create", "commitments": [made]}) == []
    option = {"title": "T", "commitments": commitments}
    codes = table.sealed({m: table.proposal(m, option if m == "a" else m) for m in "abc"})
    assert codes == {"a": ["bad_commitment"], "b": [], "c": []}


def test_an_offer_beyond_the_issues_is_named() -> None:
    """A goal nobody asked for stays in the offer, where everyone sees it, and is a finding."""
    table = _proposing(issues=ISSUES)
    codes = table.propose(
        a=_offer("A", discount=0, years=1, jet="private"),
        b=_offer("B", discount=0, years=1),
        c=_offer("C", discount=5, years=1),
    )
    assert codes == {"a": ["unrequested"], "b": [], "c": []}
    assert len(table.concord.candidates) == 3


def test_without_options_there_is_nothing_to_choose() -> None:
    """The room ends, and says why."""
    table = _proposing()
    table.expire()
    assert table.ending == ("no_agreement", "no_options")


def test_the_status_quo_is_an_option_and_the_first_incumbent() -> None:
    """It needs no proposer, stands where scores are equal, and is one with an option that equals it."""
    table = _proposing(status_quo={"title": "Let it lapse"})
    table.propose(a="X", b="Y", c="Let it lapse")
    assert table.concord.candidates[table.option("Let it lapse")].proposers == ["c"]
    table.score(a=60, b=60, c=60)
    assert table.standing == "Let it lapse"
    assert table.concord.selection is not None and table.concord.selection.rule == "incumbent"
    table.all_pass()
    table.ratify_all()
    assert table.ending == ("agreed", None)


def test_a_status_quo_is_written_as_the_opening_writes_its_values() -> None:
    """``"10"`` and 10 are one value, in the status quo as in every option."""
    table = _proposing("ab", issues=ISSUES, status_quo=_offer("As is", discount="10", years="2"))
    table.propose(a=_offer("A", discount=10, years=2), b=_offer("B", discount=0, years=1))
    assert table.concord.status_quo in table.concord.candidates
    assert {c.option.title: c.proposers for c in table.concord.candidates.values()} == {"A": ["a"], "B": ["b"]}


# -- authority --------------------------------------------------------------------------------------------------------

PRICED: dict[str, Any] = {
    "issues": {"price": {"values": [100, 200, 300]}, "item": {"values": ["desk", "chair"]}},
    "authority": {"issues": {"price": "b"}},
}


def _quoted() -> Table:
    table = _proposing("abc", **PRICED)
    assert table.answer("b", "concord.quote", values={"price": ["200", 300]}) == []
    return table


def test_only_those_with_authority_quote() -> None:
    """The member that the opening gave an issue is asked for it; nobody else may quote."""
    table = _proposing("abc", **PRICED)
    assert (table.step, table.expected) == ("concord.quote", ["b"])
    assert isinstance(duty := table.duty("b"), QuoteDuty) and list(duty.issues) == ["price"]
    assert table.answer("a", "concord.quote", values={"price": [100]}) == ["not_expected"]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, "incomplete_quote"),
        ({"price": [200], "item": ["desk"]}, "incomplete_quote"),
        ({"item": ["desk"]}, "incomplete_quote"),
        ({"price": [150]}, "unknown_value"),
        ({"price": [200, "200"]}, "unknown_value"),
    ],
)
def test_a_quote_out_of_bounds_is_refused(values: dict[str, Any], code: str) -> None:
    """It must name listed values, each once, for exactly one's own issues; the true quote may follow."""
    table = _proposing("abc", **PRICED)
    before = state_of(table.room)
    assert table.answer("b", "concord.quote", values=values) == [code]
    assert state_of(table.room) == before
    with pytest.raises(Refused):
        from protocols.messages.concord import Quote

        table.room.check("b", Quote(step=table.step, values=values))
    assert table.answer("b", "concord.quote", values={"price": [200]}) == []


def test_the_first_quoted_value_is_the_default() -> None:
    """Who leaves the issue out takes the standard; who names a quoted value takes that one."""
    table = _quoted()
    assert isinstance(duty := table.duty("a"), ProposeDuty)
    assert duty.issues["price"].values == [200, 300]
    assert duty.optional == ["price"]
    table.propose(
        a=_offer("A", item="desk"), b=_offer("B", item="desk", price=300), c=_offer("C", item="chair", price="200")
    )
    offers = {c.option.title: c.option.offer for c in table.concord.candidates.values()}
    assert offers == {
        "A": {"price": 200, "item": "desk"},
        "B": {"price": 300, "item": "desk"},
        "C": {"price": 200, "item": "chair"},
    }


@pytest.mark.parametrize("author", ["a", "b"])
def test_what_was_not_quoted_is_not_yours_to_decide(author: str) -> None:
    """A listed value that its authority did not quote voids an option of anyone, the authority included."""
    table = _quoted()
    options = {m: _offer(m, item="desk", price=100 if m == author else 200) for m in "abc"}
    codes = table.propose(**options)
    assert codes[author] == ["not_yours_to_decide"]
    assert [codes[m] for m in "abc" if m != author] == [[], []]
    table = _quoted()
    assert table.propose(a=_offer("A", item="desk", price=150), b="B", c="C")["a"] == ["unknown_value"]


def test_an_improvement_keeps_to_the_quotes_too() -> None:
    """Authority does not end with the first round."""
    table = _quoted()
    table.propose(a=_offer("A", item="desk"), b=_offer("B", item="chair"), c=_offer("C", item="desk", price=300))
    table.score(a=60, b=60, c=60)
    holder = table.holder
    assert table.improve(_offer("N", item="chair", price=100)) == ["not_yours_to_decide"]
    assert table.concord.passed == [holder]


def test_without_a_quote_there_is_no_agreement() -> None:
    """Silence, an excuse or a departure of the authority ends the room, naming the issue."""
    for end in (Table.expire, lambda t: t.excuse("b"), lambda t: t.leave("b")):
        table = _proposing("abc", **PRICED)
        end(table)
        assert table.ending == ("no_agreement", "not_quoted: price")


# -- ballots ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "code"),
    [
        (True, "score_not_integer"),
        ("85", "score_not_integer"),
        ("0.8", "score_not_integer"),
        ("8/10", "score_not_integer"),
        ("there are 5 reasons this is a 9", "score_not_integer"),
        (None, "score_not_integer"),
        ([85], "score_not_integer"),
        ({"score": 85}, "score_not_integer"),
        (-1, "score_out_of_range"),
        (101, "score_out_of_range"),
        (2**53 - 1, "score_out_of_range"),
    ],
)
def test_a_score_is_an_integer_or_voids_the_ballot(score: Any, code: str) -> None:
    """AC-04: nothing is coerced, rescaled, read out of prose or filled in; the voter and the field are named."""
    table = _scoring()
    content = table.ballot("b", SCORES["b"])
    content["scores"][table.option("X")] = score
    with pytest.raises(Refused) as refused:
        table.room.check("b", content)
    assert refused.value.code == code
    assert refused.value.why == "'X': expected an integer from 0 to 100"
    codes = table.sealed({m: content if m == "b" else table.ballot(m, SCORES[m]) for m in "abc"})
    assert codes == {"a": [], "b": [code], "c": []}
    assert table.ending == ("no_agreement", f"no_quorum: b ({code})")


@pytest.mark.parametrize("score", [0.8, 100.0, 9.2e124, Decimal("0.8"), float("nan")])
def test_a_score_that_json_holds_as_no_integer_is_never_signed(score: Any) -> None:
    """A number with a fraction has no canonical form here: a peer's own check names it before it could be sealed."""
    table = _scoring()
    content = table.ballot("b", SCORES["b"])
    content["scores"][table.option("X")] = score
    with pytest.raises(Refused) as refused:
        table.room.check("b", content)
    assert refused.value.code == "score_not_integer"
    with pytest.raises(ValueError):
        table.seal("b", content)


def _without(table: Table, content: dict[str, Any], title: str) -> dict[str, Any]:
    return {**content, "scores": {o: s for o, s in content["scores"].items() if o != table.option(title)}}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda t, c: _without(t, c, "Z"), "incomplete_ballot"),
        (lambda _, c: {**c, "scores": c["scores"] | {hexed("other"): 50}}, "unknown_option"),
        (lambda _, c: {**c, "scores": c["scores"] | {"X": 50}}, "unknown_option"),
        (lambda _, c: {**c, "reasons": {hexed("other"): "why"}}, "unknown_option"),
        (lambda t, c: {**c, "rejects": {t.option("X"): "no"}}, "scored_and_rejected"),
        (lambda t, c: {**_without(t, c, "X"), "rejects": {t.option("X"): ""}}, "rejection_without_reason"),
        (lambda t, c: {**_without(t, c, "X"), "rejects": {t.option("X"): " "}}, "rejection_without_reason"),
        (lambda t, c: {**_without(t, c, "X"), "rejects": {t.option("X"): None}}, "rejection_without_reason"),
        (
            lambda t, c: {**c, "scores": {t.option("X"): 1}, "rejects": {t.option(o): "no" for o in "YZ"}},
            "too_many_rejections",
        ),
        (lambda _, c: {**c, "scores": [90, 60, 10]}, "void_ballot"),
        (lambda _, c: {**c, "comment": "?"}, "void_ballot"),
        (lambda _, c: {k: v for k, v in c.items() if k != "reserve"}, "reserve_mismatch"),
        (lambda _, c: {**c, "reserve": {"reserve": 40, "nonce": hexed("reserve", "b")}}, "reserve_mismatch"),
        (lambda _, c: {**c, "reserve": {"reserve": 30, "nonce": hexed("reserve", "a")}}, "reserve_mismatch"),
        (lambda _, c: {**c, "reserve": {"reserve": None, "nonce": hexed("reserve", "b")}}, "reserve_mismatch"),
        (lambda _, c: {**c, "reserve": {"reserve": True, "nonce": hexed("reserve", "b")}}, "void_ballot"),
    ],
)
def test_a_ballot_out_of_bounds_is_void(change: Any, code: str) -> None:
    """One fault anywhere voids the whole ballot and names it; in a room every member counts."""
    table = _scoring({"b": 30})
    contents = {m: table.ballot(m, SCORES[m]) for m in "abc"}
    contents["b"] = change(table, contents["b"])
    assert table.sealed(contents) == {"a": [], "b": [code], "c": []}
    assert table.ending == ("no_agreement", f"no_quorum: b ({code})")
    assert "b" not in table.concord.table.scores and "b" not in table.concord.table.reserves


def test_a_missing_ballot_is_never_a_zero() -> None:
    """No quorum names everyone whose ballot is lacking, each with the reason."""
    table = _proposing("abcdefg")
    table.reserves = {}
    contents = {m: table.proposal(m, m) for m in "abcdefg"}
    table.sealed(contents)
    for member in "abg":
        table.seal(member, table.ballot(member, dict.fromkeys("abcdefg", 101 if member == "a" else 90)))
    table.excuse("c")
    table.leave("d")
    table.leave("e")
    table.expire()
    table.reveal("a")
    table.reveal("g")
    table.expire()
    assert table.ending == (
        "no_agreement",
        "no_quorum: a (score_out_of_range), b (seal_not_opened), c (excused), d (left), e (left), f (silent)",
    )
    assert table.concord.standing is None
    assert decision_of(table.room.ending, table.room.concord) is None


def test_a_rejection_is_a_veto_and_a_zero_is_only_a_low_score() -> None:
    """An option that somebody rejects is behind all that nobody objects to."""
    for score, standing in [("no: unlawful", "Y"), (0, "Y"), (61, "X")]:
        table = _scoring()
        scores = {m: {"X": 99, "Y": 60, "Z": 10} for m in "abc"}
        scores["b"] = {"X": score, "Y": 60, "Z": 10}
        table.score(**scores)
        assert table.standing == standing
    table = _standing(scores={m: {"X": "no" if m == "a" else 90, "Y": 0, "Z": 0} for m in "abc"})
    assert table.standing in ("Y", "Z")
    assert table.concord.selection is not None
    assert dict(table.concord.selection.objections) == {table.option("X"): ("a",)}


def test_a_score_below_the_own_reserve_is_an_objection() -> None:
    """An option with an objection is not eligible, even if it stands first."""
    table = _standing({"a": 95, "b": 80, "c": 70})
    assert table.concord.table.reserves == {"a": 95, "b": 80, "c": 70}
    assert isinstance(duty := table.duty(table.holder), ImproveDuty)
    assert duty.objections == ["a", "b", "c"] and duty.reserves == {"a": 95, "b": 80, "c": 70}
    table.all_pass()
    assert table.ending == ("no_agreement", "no_eligible_option")


def test_null_reserves_are_committed_to_and_opened() -> None:
    """No reserve is an answer too: it is hidden like any other, and binds."""
    table = _scoring()
    commitment = table.concord.proposals.contents["b"].reserve
    assert commitment == reserve_digest(table.room.setting.room, key_of("b"), None, hexed("reserve", "b"))
    table.score(**SCORES)
    assert table.concord.table.reserves == {"a": None, "b": None, "c": None}


def test_who_has_no_option_has_no_reserve() -> None:
    """Its ballot opens none, and is void if it tries."""
    table = _proposing()
    table.sealed({"a": table.proposal("a", "X"), "b": table.proposal("b", "Y")})
    assert isinstance(duty := table.duty("c"), ScoreDuty) and not duty.opens_reserve
    assert isinstance(duty := table.duty("a"), ScoreDuty) and duty.opens_reserve
    with pytest.raises(Refused):
        table.room.check("c", table.ballot("c", {"X": 1, "Y": 1}, reserve={"reserve": 10, "nonce": hexed(1)}))
    table.score(a=60, b=60, c=60)
    assert table.concord.table.reserves == {"a": None, "b": None}
    assert table.step == "concord.improve.1"


def test_a_reserve_is_opened_once() -> None:
    """A later ballot that opens one, the same or another, is void."""
    table = _standing({"a": 30})
    table.improve("N")
    contents = {m: table.ballot(m, {"N": 90}) for m in "abc"}
    contents["a"]["reserve"] = {"reserve": 30, "nonce": hexed("reserve", "a")}
    assert table.sealed(contents)["a"] == ["reserve_mismatch"]
    assert table.concord.tries[0].because == "no ballot of a (reserve_mismatch)"


def test_rejections_are_counted_over_the_whole_room() -> None:
    """A budget of two is two in all ballots together, and duties say what is left."""
    table = _standing(
        rules={"rejects": 2}, scores={"a": {"X": "no", "Y": 60, "Z": 60}, "b": {"X": 9, "Y": 60, "Z": 60}, "c": 60}
    )
    for title, left in [("N", 1), ("M", 0)]:
        table.improve(title)
        assert isinstance(duty := table.duty("a"), ScoreDuty) and duty.rejects_left == left
        assert table.score(a={title: "no more"}, b=70, c=70)["a"] == ([] if left else ["too_many_rejections"])
    assert table.concord.tries[-1].because == "no ballot of a (too_many_rejections)"
    assert table.concord.table.rejects["a"] == {table.option("X"): "no", table.option("N"): "no more"}


def test_the_beacon_is_fixed_by_the_seals_of_the_first_ballot() -> None:
    """Equal options go by a digest over the ballots' nonces in roster order, each fixed before anybody knew another."""
    table = _proposing()
    table.propose(c="Z", a="X", b="Y")
    assert table.concord.beacon == ""
    table.score(a=60, b=60, c=60)
    nonces = [hexed("nonce", m, "concord.ballot.1.seal") for m in "abc"]
    beacon = sha256(canonical(nonces)).hexdigest()
    assert table.concord.beacon == beacon
    options = [table.option(t) for t in "XYZ"]
    assert table.concord.standing == min(options, key=lambda o: sha256(f"{beacon}:{o}".encode()).digest())
    assert table.concord.selection is not None and table.concord.selection.rule == "beacon"
    table.improve("N")
    table.score(a=60, b=60, c=60)
    assert table.concord.beacon == beacon


@pytest.mark.parametrize("last", "abc")
def test_the_last_to_open_a_ballot_chooses_no_other_order_of_ties(last: str) -> None:
    """Who sees all other nonces and keeps its own back ends the room without agreement, as by not signing it."""
    table = _proposing()
    table.propose(c="Z", a="X", b="Y")
    for member in "abc":
        table.seal(member, table.ballot(member, dict.fromkeys("XYZ", 60)))
    for member in "abc".replace(last, ""):
        table.reveal(member)
    table.expire()
    assert table.ending == ("no_agreement", f"no_quorum: {last} (seal_not_opened)")
    assert table.concord.standing is None


# -- improvement ------------------------------------------------------------------------------------------------------


def test_the_right_goes_to_the_least_satisfied() -> None:
    """First by shortfall below the reserve, then lowest score, then largest regret, then name."""

    def low(y: int, x: int = 0) -> dict[str, int]:
        return {"X": x, "Y": y, "Z": 0}

    for reserves, scores, holder in [
        ({"c": 70}, {"a": low(50), "b": low(60), "c": low(65)}, "c"),
        ({"b": 70, "c": 80}, {"a": low(50), "b": low(60), "c": low(65)}, "c"),
        ({"c": 60}, {"a": low(61), "b": low(60, 99), "c": low(60)}, "b"),
        ({}, {"a": low(61), "b": low(60), "c": low(99)}, "b"),
        ({}, {"a": low(60), "b": low(60, 61), "c": low(60, 62)}, "c"),
        ({}, {"a": low(61), "b": low(60, 70), "c": low(60, 70)}, "b"),
        ({}, {"a": low(100), "b": low(100), "c": low(100)}, "a"),
    ]:
        table = _scoring(reserves)
        table.score(**scores)
        assert (table.standing, table.holder) == ("Y", holder)


def test_the_right_goes_to_who_has_tried_least_and_not_passed() -> None:
    """A try sends its author to the back, a pass takes its author out; the least satisfied of the rest is next."""
    table = _standing(rules={"improvements": 9})
    assert table.holder == "a"
    table.improve("N")
    table.score(a=59, b=59, c=59)
    assert table.concord.tried == {"a": 1}
    assert table.holder == "c"
    table.pass_("c")
    assert table.holder == "b"
    table.improve("M")
    table.score(a=59, b=59, c=59)
    assert table.holder == "a"
    table.pass_("a")
    assert table.holder == "b"
    table.pass_("b")
    assert table.step == "concord.ratify"


def test_a_change_gives_everyone_the_right_again() -> None:
    """Tries and passes count since the last change only."""
    table = _standing(rules={"improvements": 9})
    table.improve("M")
    table.score(a=59, b=59, c=59)
    assert table.holder == "c"
    table.pass_("c")
    assert table.holder == "b"
    assert (table.concord.passed, table.concord.tried) == (["c"], {"a": 1})
    table.improve("N")
    table.score(a=80, b=81, c=82)
    assert table.standing == "N"
    assert (table.concord.passed, table.concord.tried) == ([], {})
    assert [(t.by, t.adopted) for t in table.concord.tries] == [("a", False), ("b", True)]
    assert table.holder == "a"


def test_anyone_may_pass_ahead() -> None:
    """A pass of somebody who is not asked holds as long as the option it names stands, and closes nothing."""
    table = _standing()
    step = table.step
    assert table.pass_("c") == []
    assert table.step == step and table.holder == "a"
    table.pass_("a")
    assert table.holder == "b"
    table.pass_("b")
    assert table.step == "concord.ratify"


@pytest.mark.parametrize("member", ["a", "c"])
def test_a_pass_names_the_standing_option(member: str) -> None:
    """One that names another is refused: its author had seen another state."""
    table = _standing()
    before = state_of(table.room)
    assert table.pass_(member, standing=table.option("X")) == ["wrong_standing"]
    assert state_of(table.room) == before


def test_only_the_holder_proposes() -> None:
    """Improvements come one at a time."""
    table = _standing()
    before = state_of(table.room)
    assert table.improve("N", member="c") == ["not_expected"]
    assert state_of(table.room) == before


@pytest.mark.parametrize("how", ["silent", "excused", "left", "repeated", "refused"])
def test_what_is_no_improvement_is_a_pass(how: str) -> None:
    """Silence, an excuse, a repeated option or a void one: a finding, and the next one's turn."""
    table = _standing(agenda=["concord", "commitments"])
    bad = {"title": "N", "commitments": [{"id": "p", "debtor": "z", "creditor": "a", "then": "agreed"}]}
    codes = {
        "silent": table.expire,
        "excused": lambda: table.excuse("a"),
        "left": lambda: table.leave("a"),
        "repeated": lambda: table.improve({"title": "X", "rationale": "again"}),
        "refused": lambda: table.improve(bad),
    }[how]()
    assert codes == [{"repeated": "repeated_option", "refused": "bad_commitment"}.get(how, how)]
    assert table.concord.passed == ["a"]
    assert table.holder == "c"
    assert table.concord.tries == [] and table.concord.tried == {}


def test_a_peer_does_not_sign_a_repetition() -> None:
    """What a peer checks before it signs is what the others would say of it."""
    from protocols.messages.concord import Improve, Option

    table = _standing()
    with pytest.raises(Refused) as refused:
        table.room.check("a", Improve(step=table.step, option=Option(title="X")))
    assert refused.value.code == "repeated_option"


@pytest.mark.parametrize(
    ("scores", "adopted"),
    [
        ({"a": 61, "b": 61, "c": 61}, True),
        ({"a": 60, "b": 65, "c": 70}, False),
        ({"a": 70, "b": 60, "c": 66}, True),
        ({"a": 60, "b": 64, "c": 100}, False),
        ({"a": 59, "b": 100, "c": 100}, False),
        ({"a": "no", "b": 100, "c": 100}, False),
    ],
)
def test_a_new_option_stands_only_if_it_is_strictly_better(scores: dict[str, Any], adopted: bool) -> None:
    """Equal is not better; the standing vector is 60, 65, 70."""
    table = _standing()
    table.improve("N")
    assert (table.step, table.concord.asked()) == ("concord.ballot.2.seal", [table.option("N")])
    table.score(**{m: {"N": s} for m, s in scores.items()})
    assert table.standing == ("N" if adopted else "Y")
    assert table.concord.candidates[table.option("N")].fate == ("adopted" if adopted else "refused")
    assert [t.adopted for t in table.concord.tries] == [adopted]


def test_fewer_objections_are_better_than_higher_scores() -> None:
    """While the standing option has objections, one with fewer takes its place."""
    table = _standing({"a": 95, "b": 80, "c": 70})
    table.improve("N")
    table.score(a=95, b=81, c=1)
    assert table.standing == "N"


@pytest.mark.parametrize("how", ["silent", "void", "unopened", "left"])
def test_a_missing_ballot_refuses_the_option(how: str) -> None:
    """It stays out of the table, counts as a try, and leaves earlier scores as they were."""
    table = _standing()
    table.improve("N")
    contents = {m: table.ballot(m, {"N": 100}) for m in "abc"}
    if how == "void":
        contents["b"] = table.ballot("b", {"N": 101})
    if how in ("silent", "left"):
        del contents["b"]
    for member, content in contents.items():
        table.seal(member, content)
    if how == "left":
        table.leave("b")
    if how == "silent":
        table.expire()
    for member in contents:
        if (how, member) != ("unopened", "b"):
            table.reveal(member)
    if how == "unopened":
        table.expire()
    why = {"void": "score_out_of_range", "unopened": "seal_not_opened"}.get(how, how)
    assert table.concord.tries[0].because == f"no ballot of b ({why})"
    assert table.standing == "Y"
    new = table.option("N")
    assert new not in table.concord.table.scores["a"] and table.concord.table.of(new) == {}
    assert table.concord.selection is not None
    assert table.concord.tried == {"a": 1}
    assert table.improve("N", member=table.holder) == ["repeated_option"]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_the_limit_of_tries(limit: int) -> None:
    """Scored options are tries; at the limit it is over, though somebody might still want to."""
    table = _standing(rules={"improvements": limit})
    for number in range(limit):
        assert isinstance(duty := table.duty(table.holder), ImproveDuty) and duty.tries_left == limit - number
        table.improve(f"N{number}")
        table.score(a=61 + number, b=61 + number, c=61 + number)
    assert table.step == "concord.ratify"
    assert len(table.concord.tries) == limit


def test_what_was_improved_is_in_the_duty() -> None:
    """Who has the right sees the whole table, rejections as such, and what everyone opened."""
    table = _standing({"a": 20}, scores={**SCORES, "c": {"X": 50, "Y": 65, "Z": "no"}})
    assert isinstance(duty := table.duty(table.holder), ImproveDuty)
    assert duty.table[table.option("Z")] == {"a": 10, "b": 30, "c": None}
    assert duty.reserves == {"a": 20, "b": None, "c": None}
    assert duty.standing == table.option("Y")


# -- the decision -----------------------------------------------------------------------------------------------------


def _final(table: Table, incumbent: str | None) -> Any:
    """The selection that anyone can repeat from the record."""
    concord, rules = table.concord, table.room.setting.opening.rules
    options = [o for o in concord.candidates if concord.table.of(o)]
    ballots = {
        m: Ballot(dict(concord.table.scores[m]), dict(concord.table.rejects[m]), concord.table.reserves.get(m))
        for m in concord.table.scores
    }
    numbers = SelectionRules(bar=rules.bar, floor=rules.floor, rejects=rules.rejects)
    return select(table.members, options, ballots, numbers, incumbent, concord.beacon)


@pytest.mark.parametrize("tries", [0, 1, 3])
@pytest.mark.parametrize("equal", [False, True])
def test_the_decision_is_the_selection_over_the_final_table(tries: int, equal: bool) -> None:
    """``swarm decide`` on the table of the record gives its decision, ties and refused options included."""
    table = _standing(scores=dict.fromkeys("abc", 60) if equal else None, rules={"improvements": 9, "rejects": 2})
    for number in range(tries):
        table.improve(f"N{number}")
        scores = {"a": 60, "b": 65, "c": 70} if number % 2 else {"a": 75, "b": "no", "c": 90}
        table.score(**{m: {f"N{number}": s} for m, s in scores.items()})
    if tries == 3:
        table.improve("void")
        table.score(a={"void": 101}, b={"void": 90}, c={"void": 90})
    standing = table.concord.standing
    table.all_pass()
    table.ratify_all()
    decision, selection = decision_of(table.room.ending, table.room.concord), table.concord.selection
    assert decision is not None and selection is not None
    again = _final(table, standing)
    assert (again.outcome, again.winner) == ("accepted", decision.id)
    assert (list(again.vector), again.least_satisfied) == (list(decision.vector), decision.least_satisfied)
    assert again.objections == selection.objections and again.also == selection.also
    if tries:
        assert (again.rule, again.tied) == (decision.rule, selection.tied)
    else:
        assert _final(table, table.concord.status_quo) == selection
    assert decision.improvements == tries + (tries == 3)
    assert decision.scores == {m: table.concord.table.scores[m][standing] for m in "abc"}


# -- ratification -----------------------------------------------------------------------------------------------------


def _ratifying(**fields: Any) -> Table:
    table = _standing(**fields)
    table.all_pass()
    assert (table.step, table.expected) == ("concord.ratify", ["a", "b", "c"])
    return table


def test_agreement_needs_every_member() -> None:
    """All sign one digest, and it is agreed."""
    table = _ratifying()
    table.ratify("a")
    table.ratify("c")
    assert table.room.ending is None
    table.ratify("b")
    assert table.ending == ("agreed", None)
    decision = decision_of(table.room.ending, table.room.concord)
    assert decision is not None
    assert decision.option == Agreed("Y", {})
    assert (decision.vector, decision.rule, decision.least_satisfied) == ((60, 65, 70), "maximin", "a")


def test_no_agreement_says_who_and_how() -> None:
    """A majority overrides nobody, and a silent member is silent, never rejecting."""
    declining = {"accept": False, "because": "over my limit"}
    for acts, reason in [
        ([("a", True), ("b", declining), ("c", True)], "declined: b"),
        ([("a", True), ("b", True)], "silent: c"),
        ([("a", True), ("b", "excuse")], "excused: b; silent: c"),
        ([("a", "leave"), ("b", declining)], "left: a; declined: b; silent: c"),
    ]:
        table = _ratifying()
        for member, act in acts:
            if act in ("excuse", "leave"):
                {"excuse": table.excuse, "leave": table.leave}[str(act)](member)
            else:
                table.ratify(member, **(act if isinstance(act, dict) else {}))
        if table.step == "concord.ratify":
            table.expire()
        assert table.ending == ("no_agreement", reason)
        assert decision_of(table.room.ending, table.room.concord) is None
        assert table.step == "room.closing"


def test_the_first_answer_stands() -> None:
    """Neither a signature nor a refusal can be taken back."""
    table = _ratifying()
    assert table.ratify("a", accept=False, because="too dear") == ["declined"]
    outcome = digest(table.concord.outcome().plain())
    assert table.answer("a", "concord.ratify", outcome=outcome, accept=True) == ["already_answered"]
    table.ratify("b")
    table.leave("b")
    table.ratify("c")
    assert table.ending == ("no_agreement", "declined: a")


def test_a_refusal_needs_a_reason() -> None:
    """A bare no does not fit its model."""
    for said in ({"accept": False}, {"accept": False, "because": ""}):
        with pytest.raises(ValueError, match="because"):
            _ratifying().ratify("a", **said)


def test_a_signature_under_another_outcome_is_refused() -> None:
    """What is signed is this option, vector, rule and what stays open; the true signature may follow."""
    table = _ratifying()
    before = state_of(table.room)
    assert table.ratify("a", outcome=hexed("another")) == ["wrong_outcome"]
    assert state_of(table.room) == before
    assert table.ratify("a") == []


def test_a_signature_from_another_room_is_worth_nothing() -> None:
    """SG-06: the same members, option, scores and open differences in a second room make another outcome."""
    one, two = _ratifying(), _ratifying(nonce=hexed("second"))
    (here, there) = (t.concord.outcome() for t in (one, two))
    assert here.model_copy(update={"room": there.room}) == there
    assert two.ratify("a", outcome=digest(here.plain())) == ["wrong_outcome"]


def test_below_the_bar_nobody_is_asked_to_sign() -> None:
    """The ending names the outcome of the selection."""
    table = _standing(rules={"bar": 61})
    table.all_pass()
    assert table.ending == ("no_agreement", "below_bar")


def test_agreement_creates_the_commitments_of_the_outcome() -> None:
    """At the record that completes the agreement, for the option agreed on and no other."""
    table = _proposing(agenda=["concord", "commitments"], events={"paid": {}})

    def option(name: str) -> dict[str, Any]:
        return {"title": name, "commitments": [{"id": f"pay-{name}", "debtor": "a", "creditor": "b", "then": "paid"}]}

    table.propose(a=option("X"), b=option("Y"), c="Z")
    table.score(**SCORES)
    table.all_pass()
    assert table.room.tracker is not None
    table.ratify("a")
    table.ratify("b")
    assert table.room.tracker.statuses() == {}
    table.ratify("c")
    statuses = table.room.tracker.statuses()
    assert {n: (s.state, s.since) for n, s in statuses.items()} == {"pay-Y": ("detached", table.room.at)}
    assert table.room.result is not None and table.room.result["commitments"] == ["pay-Y"]


def test_an_options_id_is_of_its_offer_and_commitments() -> None:
    """And of its title only where there are no issues."""
    from protocols.messages.concord import Option

    one, two = Option(title="One", offer={"x": 1}), Option(title="Two", offer={"x": 1}, rationale="why")
    assert option_id(one, has_issues=True) == option_id(two, has_issues=True)
    assert option_id(one, has_issues=False) != option_id(two, has_issues=False)
    assert option_id(one, has_issues=True) == sha256(canonical({"commitments": [], "offer": {"x": 1}})).hexdigest()
