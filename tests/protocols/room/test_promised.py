"""Promises as they stand: parties of the day, instances, and what is bound up with one."""

from typing import Any

from protocols.commitments.acts import Act
from protocols.commitments.tracker import Tracker
from protocols.messages.commitments import CommitmentTerms
from protocols.room.promised import Standing, as_made

DAY = 86_400 * 1_000_000


def terms(name: str, then: str = "paid", debtor: str = "bob", **more: Any) -> CommitmentTerms:
    return CommitmentTerms.model_validate({"id": name, "debtor": debtor, "creditor": "cy", "then": then, **more})


def tracker(*made: CommitmentTerms) -> Tracker:
    found = Tracker(["ann", "bob", "cy", "dan"], {})
    for each in made:
        found.declare(each, assumed=True)
    return found


def ids(known: list[Any]) -> list[str]:
    return [each.id for each in known]


CHAIN = (
    terms("goods", "delivered within 5 days of paid"),
    terms("fine", **{"if": "violated(goods)"}),
    terms("interest", **{"if": "violated(fine)"}),
    terms("insured", "satisfied(goods) or refunded"),
    terms("premium", "paid", **{"if": "satisfied(insured)"}),
    terms("unrelated", "called"),
)


def test_what_waits_for_a_promise_and_what_all_of_it_names_is_bound_up_with_it() -> None:
    """Protects the yes: fines, interest on fines and what a promise refers to are told, and nothing else is."""
    standing = Standing(tracker(*CHAIN))
    assert ids(standing.bound_up(["goods"])) == ["fine", "interest", "insured", "premium"]
    assert ids(standing.bound_up(["interest"])) == ["goods", "fine"]
    assert ids(standing.bound_up(["unrelated"])) == []
    new = terms("new", "satisfied(fine)")
    assert ids(standing.bound_up(["new"], [new])) == ["goods", "fine"]


def test_the_parties_are_those_of_the_day() -> None:
    """Protects whoever reads the terms: after delegation and assignment they name who owes and who is owed now."""
    found = tracker(terms("call", "called"))
    found.apply(Act(DAY, 1, "bob", "delegate", commitment="call", to="ann", offer="d"))
    found.apply(Act(DAY + 1, 2, "ann", "accept", commitment="call", offer="d"))
    found.apply(Act(DAY + 2, 3, "cy", "assign", commitment="call", to="dan"))
    known = Standing(found).known("call")
    assert known is not None
    assert (known.debtor, known.creditor, known.answerable) == ("ann", "dan", ["bob"])
    taken = Standing(found).taken_over("call", "cy")
    assert taken is not None and (taken.debtor, taken.answerable) == ("cy", ["bob", "ann"])
    assert Standing(found).taken_over("nothing", "cy") is None
    assert ids(Standing(found).concerning("bob")) == ["call"], "who is answerable is concerned"
    assert ids(Standing(found).concerning("cy")) == []


def test_an_instance_whose_parties_are_others_stands_for_itself() -> None:
    """Protects against half a picture: what one owes of many is told by its own name."""
    found = tracker(terms("water", "delivered within 1 day of ordered", each="order", **{"if": "ordered"}))
    for item, order in enumerate("ab", 1):
        attributes = {"order": order}
        found.apply(Act(DAY + item, item, "cy", "report", report=order, event="ordered", attributes=attributes))
    found.apply(Act(DAY + 3, 3, "bob", "delegate", commitment="water[a]", to="ann", offer="d"))
    assert ids(Standing(found).concerning("ann", ["water[a]"])) == ["water[a]"]
    found.apply(Act(DAY + 4, 4, "ann", "accept", commitment="water[a]", offer="d"))
    standing = Standing(found)
    assert ids(standing.concerning("ann")) == ["water[a]"]
    assert ids(standing.concerning("bob")) == ["water", "water[a]"]
    one, all_ = standing.known("water[a]"), standing.known("water")
    assert one is not None and all_ is not None
    assert (one.each, one.debtor, all_.each, all_.debtor) == (None, "ann", "order", "bob")
    assert all_.instances == {"water[a]": "detached", "water[b]": "detached"}
    assert standing.known("water[c]") is None and standing.known("fire") is None


def test_terms_alone_are_a_promise_that_nobody_has_made() -> None:
    """Protects the form: what is only proposed has no state."""
    assert as_made(terms("p", **{"if": "asked"})).plain() == {
        "id": "p", "debtor": "bob", "creditor": "cy", "if": "asked", "then": "paid", "excludes": [], "state": "none",
        "answerable": [], "instances": {},
    }  # fmt: skip
