"""How members scored and moved: numbers that depend on what was said, on no order, and on nobody's motives."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.concord.selection import Ballot, SelectionRules, select
from protocols.views.patterns import Pattern, Scoring, pattern_findings, patterns_of, without_ballot
from tests.support.unsigned_rooms import Table

calm = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, print_blob=True)


def scored(scores: Mapping[str, Mapping[str, Any]], reserves: Mapping[str, int] | None = None, **more: Any) -> Table:
    """A room whose members each propose an option of their own name, and score all of them as said."""
    members = more.pop("members", "".join(scores))
    table = Table(members, **more).join()
    table.propose(reserves, **{m: m.upper() for m in scores})
    table.score(**scores)
    return table


def signed(table: Table, **ratified: dict[str, Any]) -> Table:
    table.all_pass()
    for member in table.expected:
        table.ratify(member, **ratified.get(member, {}))
    return table


def scoring(table: Table, member: str) -> Scoring:
    found = patterns_of(table.room)[member].scoring
    assert found is not None
    return found


def notes(table: Table) -> list[tuple[str, str]]:
    return [(f.code, f.who) for f in pattern_findings(table.room, patterns_of(table.room))]


# -- scoring ----------------------------------------------------------------------------------------------------------

FAIR = {"a": {"A": 90, "B": 60, "C": 50}, "b": {"A": 60, "B": 90, "C": 70}, "c": {"A": 70, "B": 50, "C": 90}}


def test_who_alone_scores_every_rival_lowest_is_noted_at_its_ballot() -> None:
    """Protects the others: the play that wins most plain max-min games is seen, with its number of options."""
    table = scored(FAIR | {"a": {"A": 100, "B": 1, "C": 2}})
    found = scoring(table, "a")
    assert (found.rivals, found.sole_minimum) == (2, 2)
    (note,) = [f for f in pattern_findings(table.room, patterns_of(table.room)) if f.code == "sole_minimum"]
    assert note.who == "a" and note.position == table.room.closed["concord.ballot.1.reveal"].answers["a"]
    assert (scoring(table, "b").rivals, scoring(table, "b").sole_minimum) == (2, 1)


@pytest.mark.parametrize(
    ("b", "minima"),
    [({"A": 60, "B": 1, "C": 70}, 1), ({"A": 60, "B": "no", "C": 70}, 1), ({"A": 60, "B": 2, "C": 70}, 2)],
    ids=["as low", "rejected", "lower"],
)
def test_a_minimum_that_another_shares_is_nobodys_alone(b: dict[str, Any], minima: int) -> None:
    """Protects from a false note: as low as another, or above a rejection, is not alone lowest."""
    assert scoring(scored(FAIR | {"a": {"A": 100, "B": 1, "C": 2}, "b": b}), "a").sole_minimum == minima


def test_a_rejection_is_less_than_any_score() -> None:
    """Protects the figure: one cannot hide by rejecting what one would have scored 0, with others at 0."""
    table = scored(FAIR | {"a": {"A": 100, "B": "no", "C": 0}, "b": {"A": 60, "B": 0, "C": 70}})
    found = scoring(table, "a")
    assert (found.sole_minimum, found.rejections, found.zeros) == (2, 1, 1)


def test_of_two_members_each_likes_its_own_better_and_that_is_no_note() -> None:
    """Protects plain bargaining: the figure stands, and it is not held against anybody."""
    table = scored({"a": {"A": 90, "B": 20}, "b": {"A": 20, "B": 90}})
    assert scoring(table, "a").sole_minimum == 1
    assert notes(table) == []
    of_three = {"a": {"A": 90, "B": 20, "Q": 10}, "b": {"A": 20, "B": 90, "Q": 50}}
    table = scored(of_three, status_quo={"title": "Q"})
    assert (scoring(table, "a").sole_minimum, scoring(table, "a").rivals) == (2, 2)
    assert notes(table) == []


@pytest.mark.parametrize(
    ("mine", "noted"),
    [
        ({"A": 100, "B": 0, "C": 0}, True),
        ({"A": 100, "B": 100, "C": 0}, True),
        ({"A": 100, "B": "no", "C": 100}, True),
        ({"A": 100, "B": 0, "C": 1}, False),
        ({"A": 100, "B": 100, "C": 100}, False),
        ({"A": 0, "B": 0, "C": 0}, False),
        ({"A": 0, "B": "no", "C": 0}, False),
    ],
    ids=str,
)
def test_all_or_nothing_is_both_ends_and_nothing_between(mine: dict[str, Any], noted: bool) -> None:
    """Protects the word: whoever is content with all, or uses one score between, does not play all or nothing."""
    table = scored(FAIR | {"a": mine})
    assert scoring(table, "a").all_or_nothing == noted
    assert (("all_or_nothing", "a") in notes(table)) == noted


def test_who_would_have_won_without_a_ballot() -> None:
    """Protects the others: one ballot that alone decides is told, with what would have stood."""
    table = scored(FAIR | {"a": {"A": 100, "B": 1, "C": 2}})
    assert (table.standing, table.concord.selection and table.concord.selection.outcome) == ("A", "accepted")
    assert scoring(table, "a").without.standing == "C"
    assert (scoring(table, "a").without.outcome, scoring(table, "a").without.same) == ("accepted", False)
    assert scoring(table, "b").without.same and scoring(table, "b").without.standing == "A"


def test_without_a_veto_the_outcome_is_another_though_the_option_is_the_same() -> None:
    """Protects the figure: that something stood is not that it was accepted."""
    table = scored({m: {"A": 60, "B": 55} for m in "ab"}, {"a": 70})
    assert table.standing == "A"
    without = scoring(table, "a").without
    assert (without.standing, without.outcome, without.same) == ("A", "accepted", False)


POINTS = st.one_of(st.integers(0, 100), st.sampled_from([0, 50, 100]), st.just("no, never"))


@st.composite
def tables(draw: Any) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
    members = "abcd"[: draw(st.integers(2, 4))]
    titles = [m.upper() for m in members]
    scores = {m: {t: draw(POINTS) for t in titles} for m in members}
    reserves = {m: draw(st.integers(0, 100)) for m in members if draw(st.booleans())}
    return scores, reserves


@settings(calm, max_examples=150)
@given(tables(), st.data())
def test_neither_members_nor_options_nor_arrival_have_an_order_that_counts(
    drawn: tuple[dict[str, dict[str, Any]], dict[str, int]], data: Any
) -> None:
    """Another roster, other first proposers, other ballots first: the same figures for everyone."""
    scores, reserves = drawn
    rules = {"rejects": 4}
    one = scored(scores, reserves, rules=rules)
    order = data.draw(st.permutations(list(scores)))
    shuffled = {m: {t: scores[m][t] for t in data.draw(st.permutations(list(scores[m])))} for m in order}
    roster = "".join(data.draw(st.permutations(list(scores))))
    two = scored(shuffled, reserves, rules=rules, members=roster)
    # A tie goes by the beacon, which the roster and the ids of the room are part of.
    tied = any(
        rule.rule == "beacon"
        for table in (one, two)
        for rule in [table.concord.selection, *(without_ballot(table.concord, m) for m in scores)]
        if rule is not None
    )
    first, second = patterns_of(one.room), patterns_of(two.room)
    if tied:
        first, second = _apart_from_ties(first), _apart_from_ties(second)
    assert first == second
    assert sorted(notes(one)) == sorted(notes(two))


def _apart_from_ties(patterns: dict[str, Pattern]) -> Any:
    return {m: {k: v for k, v in (p.plain()["scoring"] or {}).items() if k != "without"} for m, p in patterns.items()}


@settings(calm, max_examples=150)
@given(tables())
def test_without_a_ballot_is_the_selection_on_the_smaller_table(
    drawn: tuple[dict[str, dict[str, Any]], dict[str, int]],
) -> None:
    """What a figure says is what anyone gets who strikes the member from the table and selects again."""
    scores, reserves = drawn
    table = scored(scores, reserves, rules={"rejects": 4, "floor": 5})
    concord = table.concord
    for member in scores:
        others = [m for m in scores if m != member]
        ballots = {
            m: Ballot(
                {concord_id: s for t, s in scores[m].items() if isinstance(s, int) for concord_id in [table.option(t)]},
                {table.option(t): s for t, s in scores[m].items() if isinstance(s, str)},
                reserves.get(m),
            )
            for m in others
        }
        options = [table.option(m.upper()) for m in scores]
        rules = SelectionRules(bar=50, floor=5, rejects=4)
        expected = select(others, options, ballots, rules, None, concord.beacon)
        assert without_ballot(concord, member) == expected
        told = scoring(table, member).without
        assert (told.outcome, told.standing) == (expected.outcome, table.title(expected.standing))


# -- moving -----------------------------------------------------------------------------------------------------------

ISSUES = {"size": {"values": ["s", "m", "l"]}, "price": {"values": [1, 2, 3]}}


def moved(**ratified: dict[str, Any]) -> Table:
    """A room in which b signs what has nothing of its own first option, and c what has half of it."""
    table = Table("abc", issues=ISSUES).join()
    offers = {"a": ("s", 1), "b": ("l", 3), "c": ("s", 2)}
    table.propose(**{m: {"title": m.upper(), "offer": {"size": s, "price": p}} for m, (s, p) in offers.items()})
    reasons = ratified.pop("reasons", {})
    titles = {"A": 80, "B": 40, "C": 50}
    contents = {m: table.ballot(m, titles) for m in "abc"}
    for member, text in reasons.items():
        contents[member]["reasons"] = {table.option("A"): text}
    table.sealed(contents)
    return signed(table, **ratified)


def test_how_far_one_moved_is_counted_by_issues() -> None:
    """Protects the record: the first sealed option beside the one that was signed, issue by issue."""
    found = {m: p.drift for m, p in patterns_of(moved().room).items()}
    told = {m: (d.first, d.signed, d.changed, d.issues, d.of) for m, d in found.items() if d is not None}
    assert told == {
        "a": ("A", "A", False, (), 2),
        "b": ("B", "A", True, ("size", "price"), 2),
        "c": ("C", "A", True, ("price",), 2),
    }


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        ({}, True),
        ({"b": {"because": "cheaper"}}, False),
        ({"b": {"because": "  "}}, True),
        ({"reasons": {"b": "cheaper"}}, False),
        ({"reasons": {"b": " "}}, True),
        ({"reasons": {"c": "cheaper"}}, True),
        ({"b": {"claims": [{"id": "1", "text": "x", "source": "observed"}], "cites": ["1"]}}, False),
        ({"b": {"cites": ["nothing"]}}, True),
        ({"b": {"accept": False, "because": " "}}, False),
    ],
    ids=str,
)
def test_who_gives_up_everything_is_noted_unless_a_reason_or_a_claim_came_with_it(
    said: dict[str, Any], noted: bool
) -> None:
    """Protects the honest mover: a reason, or a claim that stands, is evidence; blanks and loose ends are none."""
    table = moved(**said)
    expected = [("drift_without_evidence", "b")] if noted else []
    assert notes(table) == expected
    for finding in pattern_findings(table.room, patterns_of(table.room)):
        assert finding.position == table.room.closed["concord.ratify"].answers["b"]


def test_of_one_issue_to_compromise_is_no_note() -> None:
    """Protects the plain compromise: where there is one issue, whoever moves gives up all of it."""
    table = Table("ab", issues={"price": {"values": [1, 2]}}).join()
    table.propose(a={"title": "A", "offer": {"price": 1}}, b={"title": "B", "offer": {"price": 2}})
    table.score(a={"A": 80, "B": 50}, b={"A": 80, "B": 50})
    signed(table)
    assert notes(table) == []


def settled(**settlement: Any) -> Table:
    table = Table("abc", agenda=["accord"], terms=["done"], authority={"terms": {"done": "c"}}).join()
    table.mean({"a": {"done": "merged"}, "b": {"done": "deployed"}, "c": {"done": "merged"}})
    table.read(judgements={"a": {"done": "different"}})
    ids = {m: table.meaning_id("done", m) for m in "ab"}
    for member in table.expected:
        given = settlement.get(member, {"keep": True})
        claims = given.pop("claims", None)
        terms = {"done": {k: ids.get(v, v) if k in ("adopt", "rule") else v for k, v in given.items()}}
        said = {"claims": claims} if claims else {}
        assert set(table.answer(member, "accord.settle", terms=terms, **said)) <= {"divergence_open"}
    return table


SEEN = [{"id": "1", "text": "it runs", "source": "observed"}]


@pytest.mark.parametrize(
    ("said", "adoptions", "noted"),
    [
        ({"a": {"adopt": "b", "because": "it runs"}}, {"a": (True, 0)}, []),
        ({"a": {"adopt": "b", "because": " "}}, {"a": (False, 0)}, ["a"]),
        ({"a": {"adopt": "b", "because": " ", "cites": ["1"], "claims": SEEN}}, {"a": (False, 1)}, []),
        ({"c": {"rule": "b"}}, {"c": (False, 0)}, ["c"]),
        ({"c": {"rule": "b", "because": "so"}}, {"c": (True, 0)}, []),
        ({"c": {"rule": "a"}}, {}, []),
        ({"a": {"adopt": "a", "because": " "}}, {}, []),
        ({}, {}, []),
    ],
    ids=str,
)
def test_taking_over_anothers_meaning_is_counted_with_its_reason(
    said: dict[str, Any], adoptions: dict[str, tuple[bool, int]], noted: list[str]
) -> None:
    """Protects the record of meaning: who moved is told, and whether anything but the move was said."""
    table = settled(**{member: dict(given) for member, given in said.items()})
    found = {m: p.adoptions for m, p in patterns_of(table.room).items() if p.adoptions}
    assert {m: [(a.reason, a.claims) for a in of] for m, of in found.items()} == {m: [a] for m, a in adoptions.items()}
    assert notes(table) == [("adopted_without_reason", m) for m in noted]


def test_a_room_that_never_got_anywhere_has_an_empty_record() -> None:
    """Protects whoever reads a run that was cut short: every member is there, and nothing is made up."""
    assert patterns_of(Table("ab").room) == {"a": Pattern(), "b": Pattern()}
    table = Table("ab").join()
    table.propose(a="A", b="B")
    assert patterns_of(table.room) == {"a": Pattern(), "b": Pattern()}
    table.sealed({"a": table.ballot("a", {"A": 1, "B": 2})})
    assert table.ending[0] == "no_agreement"
    found = patterns_of(table.room)
    assert found["b"] == Pattern() and found["a"].scoring is not None
    assert (found["a"].scoring.sole_minimum, found["a"].scoring.without.outcome) == (0, "no_quorum")
