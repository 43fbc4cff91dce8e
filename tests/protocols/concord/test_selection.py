"""The selection against a second, naive definition of it, and against everything that must not touch it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.concord.selection import (
    Ballot,
    Selection,
    SelectionRules,
    check_ballot,
    least_satisfied,
    order_key,
    select,
)

# A busy machine is no failure.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = st.text(alphabet="abzZé\U0001f600", min_size=1, max_size=3)
# Heaped scores, as people and models give them: ties are the interesting case.
SCORES = st.sampled_from([0, 0, 30, 50, 50, 51, 70, 100])


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    members = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    options = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    ballots = {}
    for member in members:
        rejected = draw(st.lists(st.sampled_from(options), max_size=1))
        ballots[member] = Ballot(
            {option: draw(SCORES) for option in options if option not in rejected},
            {option: "because" for option in rejected},
            draw(st.none() | SCORES),
        )
    return {
        "members": members,
        "options": options,
        "ballots": ballots,
        "rules": SelectionRules(bar=draw(SCORES), floor=draw(st.sampled_from([0, 0, 30, 60]))),
        "incumbent": draw(st.none() | st.sampled_from(options)),
        "beacon": draw(st.sampled_from(["", "a1", "ü"])),
    }


def _before(first: str, second: str, table: Mapping[str, Any]) -> str | None:
    """Return the rule by which *first* comes before *second*, or ``None`` if it comes after.

    Leximin by counting: of two options the worse one has more members at the lowest level where the counts differ.
    """
    ballots: Mapping[str, Ballot] = table["ballots"]
    floor = Fraction(table["rules"].floor, 100)

    def objections(option: str) -> int:
        return sum(
            option in ballot.rejects or (ballot.reserve is not None and ballot.scores[option] < ballot.reserve)
            for ballot in ballots.values()
        )

    def levels(option: str) -> list[Fraction]:
        return [
            floor if option in ballot.rejects else max(floor, Fraction(ballot.scores[option], 100))
            for ballot in ballots.values()
        ]

    if objections(first) != objections(second):
        return "objections" if objections(first) < objections(second) else None
    ours, theirs = levels(first), levels(second)
    if min(ours) != min(theirs):
        return "maximin" if min(ours) > min(theirs) else None
    for level in sorted({*ours, *theirs}):
        at_first, at_second = ours.count(level), theirs.count(level)
        if at_first != at_second:
            return "leximin" if at_first < at_second else None
    if table["incumbent"] in (first, second):
        return "incumbent" if table["incumbent"] == first else None
    hashes = [sha256(f"{table['beacon']}:{option}".encode()).hexdigest() for option in (first, second)]
    return "beacon" if hashes[0] < hashes[1] else None


@calm
@given(tables())
def test_agrees_with_the_naive_definition(table: dict[str, Any]) -> None:
    found = select(**table)
    others = [option for option in table["options"] if option != found.standing]
    assert found.standing is not None
    rules = [_before(found.standing, other, table) for other in others]
    assert None not in rules
    # The second is the one that all others but the first come after.
    second = [
        rule
        for other, rule in zip(others, rules, strict=True)
        if all(_before(other, third, table) for third in others if third != other)
    ]
    assert [found.rule] == (second or ["only"])
    equal = {other for other, rule in zip(others, rules, strict=True) if rule in ("incumbent", "beacon")}
    assert found.tied == tuple(sorted({found.standing, *equal}))
    assert (found.winner is not None) == (
        found.standing not in found.objections and found.vector[0] >= table["rules"].bar
    )


@calm
@given(tables(), st.randoms(use_true_random=False))
def test_no_order_touches_the_result(table: dict[str, Any], random: Any) -> None:
    def shuffled(mapping: Mapping[str, Any]) -> dict[str, Any]:
        return dict(random.sample(list(mapping.items()), len(mapping)))

    again = {
        **table,
        "members": random.sample(table["members"], len(table["members"])),
        "options": random.sample(table["options"], len(table["options"])),
        "ballots": shuffled(
            {
                member: replace(ballot, scores=shuffled(ballot.scores), rejects=shuffled(ballot.rejects))
                for member, ballot in table["ballots"].items()
            }
        ),
    }
    # As text: the order inside the result is part of what a record shows.
    assert json.dumps(select(**again).plain()) == json.dumps(select(**table).plain())


@calm
@given(tables(), st.data())
def test_more_points_for_the_winner_never_cost_it_the_win(table: dict[str, Any], data: st.DataObject) -> None:
    before = select(**table)
    standing = before.standing
    scorers = [member for member, ballot in table["ballots"].items() if standing in ballot.scores]
    if standing is None or not scorers:
        return
    member = data.draw(st.sampled_from(sorted(scorers)))
    ballot = table["ballots"][member]
    raised = data.draw(st.integers(ballot.scores[standing], 100))
    after = select(
        **{
            **table,
            "ballots": {**table["ballots"], member: replace(ballot, scores={**ballot.scores, standing: raised})},
        }
    )
    assert after.standing == standing
    assert after.vector >= before.vector
    assert before.winner is None or after.winner == before.winner


@calm
@given(tables())
def test_a_dominated_option_never_stands(table: dict[str, Any]) -> None:
    """An option that everybody scores below another one that nobody rejects cannot come first."""
    found = select(**table)
    ballots = table["ballots"].values()
    floor = table["rules"].floor
    for option in table["options"]:
        assert not all(
            option in ballot.scores and ballot.scores[option] > max(floor, ballot.scores.get(found.standing, 0))
            for ballot in ballots
        )


@calm
@given(tables())
def test_better_than_is_the_order_without_its_tie_breakers(table: dict[str, Any]) -> None:
    ballots, floor = table["ballots"].values(), table["rules"].floor
    for first in table["options"]:
        for second in table["options"]:
            expected = first != second and _before(first, second, {**table, "incumbent": None}) in (
                "objections",
                "maximin",
                "leximin",
            )
            assert order_key(first, ballots, floor).better_than(order_key(second, ballots, floor)) == expected


def test_the_hash_seed_does_not_touch_the_result() -> None:
    program = """
import random
from protocols.concord.selection import Ballot, select
r = random.Random(7)
for _ in range(200):
    options = r.sample("abcdefgh", r.randrange(1, 6))
    ballots = {m: Ballot({o: r.choice((0, 50, 70)) for o in options}, {}, r.choice((None, 50))) for m in "PQRS"}
    ballots["T"] = Ballot({**dict.fromkeys(options, 5), "zz": 1, "yy": True})
    print(select("PQRST", options, ballots).plain())
    del ballots["T"]
    print(select("PQRS", options, ballots, beacon=r.choice("ab")).plain())
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "4294967295")
    }
    assert len(outputs) == 1
    assert b"beacon" in outputs.pop()


WEIRD = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals() | st.lists(st.integers())


@calm
@given(
    st.dictionaries(st.sampled_from("XYZ"), WEIRD | st.integers(0, 100)),
    st.dictionaries(st.sampled_from("XYZ"), WEIRD),
)
def test_nothing_but_whole_scores_and_reasons_is_counted(scores: dict[str, Any], rejects: dict[str, Any]) -> None:
    found = select(["A"], ["X", "Y"], {"A": Ballot(scores, rejects)}, SelectionRules(quorum=1))
    sound = (
        {*scores, *rejects} == {"X", "Y"}
        and len(scores) + len(rejects) == 2
        and len(rejects) <= 1
        and all(type(score) is int and 0 <= score <= 100 for score in scores.values())
        and all(isinstance(reason, str) and reason.strip() for reason in rejects.values())
    )
    assert (found.outcome != "no_quorum") == sound
    assert all(type(score) is int for score in found.vector)


@pytest.mark.parametrize("score", [True, 70.0, Decimal(70), "70", None, float("nan")])
def test_no_value_is_coerced_into_a_score(score: Any) -> None:
    assert check_ballot(Ballot({"X": score}), {"X"}, 1) == "score_not_integer"


def test_least_satisfied_ranks_by_shortfall_score_regret_name() -> None:
    ballots = {
        "short": Ballot({"X": 60, "Y": 60}, {}, 90),
        "veto": Ballot({"Y": 10}, {"X": "no"}),
        "low": Ballot({"X": 10, "Y": 10}),
        "b": Ballot({"X": 50, "Y": 90}),
        "a": Ballot({"X": 50, "Y": 90}),
        "even": Ballot({"X": 50, "Y": 50}),
        "best": Ballot({"X": 100, "Y": 0}),
    }
    ranked = []
    left = set(ballots)
    while (least := least_satisfied("X", ballots, left)) is not None:
        ranked.append(least)
        left.remove(least)
    assert ranked == ["short", "veto", "low", "a", "b", "even"]
    assert left == {"best"}


def test_a_veto_is_less_content_than_any_score_whatever_the_floor() -> None:
    ballots = {"one": Ballot({"X": 1, "Y": 50}), "veto": Ballot({"Y": 50}, {"X": "no"})}
    assert least_satisfied("X", ballots) == "veto"
    assert select(ballots, ["X", "Y"], ballots, SelectionRules(floor=30), incumbent="X").standing == "Y"


def test_order_key_counts_rejections_and_reserves() -> None:
    ballots = [Ballot({"X": 20}, {}, 30), Ballot({}, {"X": "no"}), Ballot({"X": 90})]
    assert order_key("X", ballots, floor=25) == (2, (25, 25, 90))


@pytest.mark.parametrize(
    ("members", "options", "ballots", "incumbent"),
    [
        (["A", "A"], ["X"], {}, None),
        (["A"], ["X", "X"], {}, None),
        (["A"], ["X"], {"B": Ballot({"X": 1})}, None),
        (["A"], ["X"], {"A": Ballot({"X": 1})}, "Y"),
    ],
)
def test_impossible_tables_are_a_callers_error(
    members: list[str], options: list[str], ballots: dict[str, Ballot], incumbent: str | None
) -> None:
    with pytest.raises(ValueError):
        select(members, options, ballots, incumbent=incumbent)


def test_plain_is_json_with_every_field() -> None:
    found = select(["A", "B"], ["X"], {"A": Ballot({"X": 1}), "B": Ballot({"X": 101})})
    assert json.loads(json.dumps(found.plain())) == {
        "outcome": "no_quorum",
        "winner": None,
        "standing": None,
        "vector": [],
        "rule": None,
        "tied": [],
        "least_satisfied": None,
        "objections": {},
        "void": {"B": "score_out_of_range"},
        "why_void": {"B": "X: expected an integer from 0 to 100"},
        "missing": [],
        "also": None,
    }
    assert isinstance(found, Selection)
