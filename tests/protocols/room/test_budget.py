"""Budgets in the rules: what was used, what is left for whom, and how a room ends that has nothing left."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from protocols.messages.bodies import parse_body
from protocols.messages.budget import Amounts, Budget, Left, Used
from protocols.stage.spending import Spending
from tests.support.unsigned_rooms import Table, fold, opening_of, state_of

CALL = {"tokens_in": 90, "tokens_out": 10, "calls": 1, "seconds": "0.5", "model": "m"}


def table(budget: dict[str, Any], members: str = "abcd", **rules: Any) -> Table:
    return Table(members, rules={"budget": budget, **rules})


def costing(said: Table, cost: dict[str, Any] = CALL) -> Table:
    said.costs = dict.fromkeys(said.members, cost)
    return said


def test_with_one_call_left_and_four_to_ask_exactly_one_may() -> None:
    """Protects the room: members that ask at the same moment, each by itself, cannot use more than there is."""
    room = table({"room": {"calls": 5}})
    costing(room).join()
    assert [room.room.allowance(m).calls for m in "abcd"] == [1, 0, 0, 0]
    room.seal("a", room.proposal("a", "A"))
    assert [room.room.allowance(m).calls for m in "abcd"] == [0, 0, 0, 0]


@given(left=st.integers(0, 50), members=st.integers(1, 9), asked=st.data())
def test_shares_never_exceed_what_the_room_has(left: int, members: int, asked: Any) -> None:
    """Protects the room's budget, whoever asks in which order and however much of a share each uses."""
    names = tuple("abcdefghi"[:members])
    spending = Spending(Budget(room=Amounts(calls=left + 1)), names)
    spending.record("z", {"calls": 1}, coordinating=True)
    spending.share_out(names)
    shares = {name: spending.left(name).calls or 0 for name in names}
    assert sum(shares.values()) == left
    assert max(shares.values()) - min(shares.values()) <= 1
    for name in asked.draw(st.permutations(names)):
        use = asked.draw(st.integers(0, shares[name]))
        spending.record(name, {"calls": use}, coordinating=True)
        assert spending.left(name).calls == shares[name] - use
        assert all(
            spending.left(other).calls == shares[other]
            for other in names
            if other > name and other not in spending.used
        )
    assert spending.room.calls <= left + 1


def test_what_is_left_goes_down_with_every_duty() -> None:
    """Protects who plans with it: each entry's cost is off the member's budget at once, all three amounts."""
    room = costing(table({"member": {"calls": 10, "tokens": 450, "seconds": 2}})).join()
    assert room.room.allowance("a") == Left(calls=9, tokens=350, seconds="1.5")
    room.seal("a", room.proposal("a", "A"))
    assert room.room.allowance("a") == Left(calls=8, tokens=250, seconds="1")
    assert room.room.allowance("b") == Left(calls=9, tokens=350, seconds="1.5")


def test_without_a_budget_nothing_is_limited() -> None:
    """Protects the rooms there are: who sets no budget has none."""
    room = costing(Table("ab")).join()
    assert room.room.allowance("a") == Left()
    assert room.room.spending.room.calls == 2


def test_more_than_the_budget_is_named_once_and_counts_all_the_same() -> None:
    """Protects the record: what was used is used, and who used too much stands there."""
    room = costing(table({"member": {"tokens": 150}}, "ab")).join()
    assert "over_budget" not in room.codes()
    assert room.seal("a", room.proposal("a", "A")) == ["over_budget"]
    assert room.seal("b", room.proposal("b", "B")) == ["over_budget"]
    assert room.reveal("a") == []
    assert room.room.spending.used["a"].amount("tokens") == 300
    assert room.room.allowance("a").tokens == 0


def test_a_room_with_nothing_left_ends_and_says_so() -> None:
    """Protects members from a room that goes on spending: the ending is recorded, with the amount."""
    room = costing(table({"room": {"calls": 6}}, "ab")).join()
    room.propose(a="A", b="B")
    assert room.ending == ("no_agreement", "budget: the room has no calls left")
    assert room.step == "room.closing"


def test_improvement_ends_while_enough_is_left_to_sign() -> None:
    """Protects agreement: a room does not spend on improving what it needs for its signatures."""
    room = costing(table({"room": {"calls": 14}}, "ab", improvements=5)).join()
    room.costs = {}
    room.propose(a="A", b="B")
    room.costs = dict.fromkeys("ab", CALL)
    room.score(a={"A": 90, "B": 60}, b={"A": 60, "B": 80})
    assert room.room.spending.room.calls == 6
    room.improve("C")
    assert room.step == "concord.ballot.2.seal"
    room.score(a={"C": 50}, b={"C": 50})
    assert room.room.spending.room.calls == 11
    assert room.step == "concord.ratify"
    room.ratify_all()
    assert room.ending == ("agreed", None)


def test_the_quarter_kept_holds_for_each_amount() -> None:
    """Protects the signatures where tokens or seconds are short and calls are not."""
    spending = Spending(Budget(room=Amounts(calls=1000, tokens=400)), ("a", "b"))
    spending.record("a", {"tokens_in": 300, "calls": 1}, coordinating=True)
    assert spending.pays_for_a_try(2)
    spending.record("a", {"tokens_in": 1}, coordinating=True)
    assert not spending.pays_for_a_try(2)


def test_signatures_are_asked_for_though_nothing_is_left() -> None:
    """Protects an agreement that is there: members whose mind takes nothing can still sign it."""
    room = table({"room": {"calls": 7}}, "ab", improvements=0).join()
    room.propose(a="A", b="B")
    room.costs = dict.fromkeys("ab", CALL | {"calls": 2})
    room.score(a=70, b=70)
    assert room.room.spending.used_up() == "calls"
    assert room.step == "concord.ratify"
    room.costs = {}
    room.ratify_all()
    assert room.ending == ("agreed", None)


def test_acting_on_promises_is_no_coordinating() -> None:
    """Protects the share that a reader is told: what keeping promises took is not what agreeing took."""
    room = Table("ab", agenda=["commitments"], events={"moved": {"by": "b"}}).join()
    room.costs = {"b": CALL}
    room.say("b", {"kind": "event.report", "event": "moved", "attributes": {}})
    assert room.room.spending.room.calls == 1
    assert room.room.spending.coordinating.calls == 0


def test_folding_a_prefix_and_the_rest_equals_folding_the_whole() -> None:
    """Protects restarts: what is left does not depend on where reading began."""
    room = costing(table({"room": {"calls": 40}, "member": {"tokens": 5000}})).join()
    room.propose(a="A", b="B", c="C", d="D")
    half = len(room.said) // 2
    whole, parts = fold(room, room.said), fold(room, room.said[half:], fold(room, room.said[:half]))
    assert state_of(whole) == state_of(parts)
    assert [whole.allowance(m) for m in "abcd"] == [room.room.allowance(m) for m in "abcd"]


@pytest.mark.parametrize("amounts", [{"calls": 0}, {"tokens": -1}, {"seconds": "3"}, {"calls": True}, {"money": 3}])
def test_a_budget_that_is_none_is_refused(amounts: dict[str, Any]) -> None:
    """Protects openings: amounts are whole numbers from 1, of things that are counted."""
    with pytest.raises((ValidationError, ValueError)):
        parse_body(opening_of(rules={"budget": {"room": amounts}}))


def test_costs_add_up_exactly() -> None:
    """Protects the sum: seconds have nine digits, and no float touches them."""
    used = Used()
    for _ in range(10):
        used.add({"seconds": "0.1", "tokens_in": 1})
    assert used.cost() == {"tokens_in": 10, "seconds": "1"}
    assert Left(seconds="0.3").less(used) == Left(seconds="0")
