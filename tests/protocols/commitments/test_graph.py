"""Findings about commitments as a whole: circles, parties that wait for each other, promises that exclude others."""

from typing import Any

import pytest

from tests.support.histories import day, did, follow, promise


def found(*terms: Any, lines: Any = ()) -> list[tuple[str, tuple[str, ...]]]:
    return [(code, ids) for code, ids, _ in follow(*lines, commitments=terms, as_of=2).findings]


GOODS = promise("goods", f"delivered by {day(9)}", "paid")
MONEY = promise("money", f"paid by {day(9)}", "delivered", debtor="bob")


def test_parties_that_wait_for_each_other_are_a_deadlock() -> None:
    assert found(GOODS, MONEY) == [("deadlock", ("goods", "money"))]
    (finding,) = follow(commitments=[GOODS, MONEY], as_of=2).findings
    assert finding[2] == "alice and bob wait for each other (goods, money): none has to act first"


def test_clocks_that_wait_for_each_other_are_one_too() -> None:
    goods = promise("goods", "delivered within 1 day of paid")
    money = promise("money", "paid within 1 day of delivered", debtor="bob")
    assert found(goods, money) == [("deadlock", ("goods", "money"))]
    assert found(goods, {**money, "then": f"paid within 1 day of delivered by {day(9)}"}) == []


@pytest.mark.parametrize(
    "terms",
    [
        (GOODS, promise("money", f"paid by {day(9)}", debtor="bob")),
        (GOODS, MONEY, promise("first", f"paid by {day(9)}", "agreed", debtor="bob")),
        (GOODS, {**MONEY, "if": f"delivered or no storm by {day(3)}"}),
        (GOODS, promise("money", "paid", "delivered", debtor="alice")),
        (GOODS, promise("money", f"no paid by {day(9)}", "delivered", debtor="bob")),
    ],
)
def test_no_deadlock_if_one_has_to_act_or_only_one_waits(terms: Any) -> None:
    assert found(*terms) == []


def test_three_in_a_circle_and_one_who_only_waits_for_them() -> None:
    terms = [
        promise("a", "x", "z"),
        promise("b", "y", "x", debtor="bob"),
        promise("c", "z", "y", debtor="carol"),
        promise("d", "w", "x", debtor="bob"),
    ]
    assert found(*terms) == [("deadlock", ("a", "b", "c"))]


def test_promises_of_one_debtor_that_exclude_each_other() -> None:
    one, two = promise("one", f"x by {day(9)}", excludes=["two"]), promise("two", f"y by {day(9)}", excludes=["one"])
    assert found(one, two) == [("conflict", ("one", "two"))]
    assert found(one, {**two, "debtor": "bob"}) == []
    made = [did(1, "create", "bob", commitment="two")]
    assert found(one, two, lines=made) == [], "what was never created excludes nothing"
    handed = [did(1, "delegate", "alice", commitment="two", to="bob"), did(1, "accept", "bob", commitment="two")]
    assert found(one, two, lines=handed) == [], "another owes it now"


def test_circles_are_each_found_once() -> None:
    terms = [
        promise("a", "x", "satisfied(b)"),
        promise("b", "x", "satisfied(c) or expired(a)"),
        promise("c", "x", "satisfied(a)"),
        promise("d", "x", "satisfied(a)"),
    ]
    assert found(*terms) == [("circle", ("a", "b", "c"))]
