"""The summary: what a finished room came to, as data that a reader can recompute."""

from typing import Any

from protocols.views.summary import cost_of, summary_of
from tests.support.unsigned_rooms import Table


def agreed(**fields: Any) -> Table:
    table = Table("abc", **fields).join()
    table.propose(a="tea", b="soup")
    table.score(a={"tea": 80, "soup": 60}, b={"tea": 70, "soup": 90}, c={"tea": 75, "soup": "no: salt"})
    table.all_pass()
    table.ratify_all()
    return table


def test_a_room_that_agreed_is_told_whole() -> None:
    """Protects readers of a verdict: the choice, the table behind it and every member's record stand together."""
    found = summary_of(agreed().room)
    assert (found["outcome"], found["reason"], found["rehearsal"]) == ("agreed", None, None)
    assert found["decision"]["option"]["title"] == "tea"
    considered = found["considered"]
    assert [each["title"] for each in considered["options"]] == ["tea", "soup"]
    ballots = considered["table"]["ballots"]
    assert set(ballots) == set(considered["table"]["members"]) == {"a", "b", "c"}
    assert set(ballots["c"]["rejects"]) <= set(considered["table"]["options"])
    assert set(found["patterns"]) == {"a", "b", "c"}
    assert found["commitments"] == {}
    assert [(each["code"], each["who"]) for each in found["findings"]] == [("silent", "c")]


def test_a_room_that_is_not_over_has_no_outcome() -> None:
    """Protects readers of a half ledger: nothing is said to be decided, and nothing to have been considered."""
    found = summary_of(Table("abc").join().room)
    assert (found["outcome"], found["decision"], found["considered"]) == ("unfinished", None, None)


def test_costs_are_summed_by_member_and_by_purpose() -> None:
    """Protects who pays: the total is the members' sum, and no share is given of nothing."""
    table = Table("ab")
    table.costs["a"] = {"calls": 2, "tokens_in": 30, "tokens_out": 10, "seconds": "1.5", "model": "m-1"}
    cost = cost_of(table.join().room)
    assert (cost.total.calls, cost.total.tokens_in, cost.total.seconds) == (2, 30, "1.5")
    assert cost.members["a"] == cost.total
    assert cost.models["a"] == ("m-1",)
    assert cost.agreement is None
    assert cost.coordinating == {"tokens": "1.00", "calls": "1.00", "seconds": "1.00"}
    assert cost.plain()["members"]["a"]["models"] == ["m-1"]
    assert cost_of(Table("ab").join().room).coordinating == {"tokens": None, "calls": None, "seconds": None}
