"""Bounds of a mandate: units, closed lists, promises for each of something, and names that look like a bounded one."""

from typing import Any

import pytest
from pydantic import ValidationError

from protocols.duties.duties import ReportAsked
from protocols.messages.commitments import CommitmentTerms, EventRule
from protocols.messages.concord import Issue
from swarm.seat.limits import Breach, PromiseBounds
from swarm.seat.mandate import Mandate, offer_breach
from swarm.seat.owing import Circumstances, promise_breach, report_breach

CYRILLIC = {"discount": "disc\u043eunt", "paid": "p\u0430id", "amount": "am\u043eunt"}


def issues(**units: str | None) -> dict[str, Issue]:
    return {name: Issue(values=[1, 2], unit=unit) for name, unit in units.items()}


def bounds(**fields: Any) -> PromiseBounds:
    return PromiseBounds.model_validate(fields)


def promise(then: str, name: str = "p", **more: Any) -> CommitmentTerms:
    return CommitmentTerms.model_validate({"id": name, "debtor": "ann", "creditor": "bob", "then": then, **more})


def where(found: Breach | None) -> str | None:
    return None if found is None else found.where


def judged(held: PromiseBounds, made: CommitmentTerms, around: Circumstances | None = None) -> str | None:
    return where(promise_breach(held, "ann", [made], around or Circumstances()))


# -- offers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "unit", "inside"),
    [
        ({"max": 5, "unit": "EUR"}, "EUR", True),
        ({"max": 5, "unit": "EUR"}, "cents", False),
        ({"max": 5, "unit": "EUR"}, None, False),
        ({"max": 5}, "EUR", False),
        ({"max": 5}, None, True),
        ([1, 2], None, True),
        ([1, 2], "kEUR", False),
        ({"values": [1, 2], "unit": "EUR"}, "EUR", True),
        ({"values": [1, 2], "unit": "EUR"}, "kEUR", False),
    ],
)
def test_a_bound_holds_in_its_own_unit_only(allowed: Any, unit: str | None, inside: bool) -> None:
    """Protects the owner's number: 5 EUR is no bound on an issue in thousands of EUR, nor in no unit at all."""
    held = Mandate.model_validate({"offers": {"price": allowed}})
    found = offer_breach(held, {"price": [1]}, issues(price=unit))
    assert where(found) == (None if inside else "offers.price")


def test_what_is_not_listed_is_not_offered() -> None:
    """Protects a closed list: with offers_only an issue that the owner never thought of cannot be bargained away."""
    held = Mandate.model_validate({"offers": {"price": {"max": 5}}, "offers_only": True})
    around = issues(price=None, warranty=None)
    assert offer_breach(held, {"price": [5]}, around) is None
    assert where(offer_breach(held, {"price": [5], "warranty": [1]}, around)) == "offers_only"
    assert where(offer_breach(Mandate(offers_only=True), {"price": [1]}, around)) == "offers_only"


def test_an_issue_that_looks_like_a_bounded_one_is_bounded_and_not_listed() -> None:
    """Protects against letters of another script: the bound holds for the lookalike, and no list allows it."""
    held = Mandate.model_validate({"offers": {"discount": {"max": 5}}})
    like = CYRILLIC["discount"]
    assert where(offer_breach(held, {like: [6]}, {like: Issue(values=[6])})) == "offers.discount"
    closed = held.model_copy(update={"offers_only": True})
    assert where(offer_breach(closed, {like: [5]}, {like: Issue(values=[5])})) == "offers_only"


# -- promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "part"),
    [
        ("paid(amount >= 5000, currency = EUR)", None),
        ("paid(currency = EUR) totalling amount >= 5000", None),
        ("paid(currency = EUR)", None),
        ("paid", None),
        ("paid(amount >= 5000)", "promises.attributes.amount"),
        ("paid(amount >= 1, currency = BTC)", "promises.attributes.amount"),
        ("paid(amount >= 1, currency != EUR)", "promises.attributes.amount"),
        ("paid totalling amount >= 1", "promises.attributes.amount"),
        ("paid(amount >= 1, currency = EUR) or paid(amount >= 1)", "promises.attributes.amount"),
        ("paid(amount >= 1, currency = eur)", "promises.attributes.amount"),
    ],
)
def test_an_amount_is_demanded_in_its_unit(then: str, part: str | None) -> None:
    """Protects the purse: 5,000 EUR allow no amount that is demanded without its currency, or in another."""
    held = bounds(attributes={"amount": {"max": "5000", "unit": {"currency": "EUR"}}})
    assert judged(held, promise(then)) == part


@pytest.mark.parametrize(
    ("then", "part"),
    [
        ("paid(amount >= 5)", None),
        ("paid", None),
        ("no paid(fee >= 5) by 2027-01-01T00:00:00Z", None),
        ("paid(fee >= 1)", "promises.attributes.other"),
        ("paid(fee <= 1)", "promises.attributes.other"),
        ("paid(amount >= 5, fee = 0)", "promises.attributes.other"),
        ("paid totalling fee >= 1", "promises.attributes.other"),
        (f'paid("{CYRILLIC["amount"]}" >= 5)', "promises.attributes.other"),
    ],
)
def test_other_attributes_can_be_forbidden(then: str, part: str | None) -> None:
    """Protects against the attribute nobody listed: a fee beside an amount, or an amount in other letters."""
    assert judged(bounds(attributes={"amount": {"max": "5"}, "other": "forbid"}), promise(then)) == part


def test_names_that_look_like_a_bounded_one_are_bounded() -> None:
    """Protects limits by name: an event or attribute in letters of another script is under the limit it evades."""
    paid, amount = CYRILLIC["paid"], CYRILLIC["amount"]
    assert judged(bounds(never_debtor_of=["paid"]), promise(f'"{paid}"')) == "promises.never_debtor_of.paid"
    most = bounds(attributes={"amount": {"max": "5"}})
    assert judged(most, promise(f'paid("{amount}" >= 6)')) == "promises.attributes.amount"
    assert judged(most, promise(f'paid("{amount}" >= 5)')) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": {"other": {"max": "5"}}},
        {"attributes": {"amount": "forbid"}},
        {"attributes": {"other": "allow"}},
        {"instances": 0},
    ],
)
def test_a_bound_that_says_nothing_clear_is_refused(fields: dict[str, Any]) -> None:
    """Protects the owner: a slip is an error and never no limit."""
    with pytest.raises(ValidationError):
        bounds(**fields)


# -- a promise for each of something ----------------------------------------------------------------------------------

PER_ORDER = promise("paid(amount >= 100) within 1 day of ordered", each="order")
OWN = {"ordered": EventRule(by="ann"), "paid": EventRule(by="ann")}


def around(
    events: dict[str, EventRule] | None = None, known: tuple[CommitmentTerms, ...] = (), **more: Any
) -> Circumstances:
    return Circumstances({terms.id: terms for terms in known}, OWN if events is None else events, **more)


def reports(*orders: str) -> list[ReportAsked]:
    return [ReportAsked(id=f"r{n}", event="ordered", by="ann", attributes={"order": o}) for n, o in enumerate(orders)]


@pytest.mark.parametrize("limits", [{"max": 5}, {"attributes": {"amount": {"max": "5000"}}}])
def test_each_is_any_number(limits: dict[str, Any]) -> None:
    """Protects an amount from being multiplied: 100 for each order is no bound, since others may order for ever."""
    part = f"promises.{next(iter(limits))}"
    assert judged(bounds(**limits), PER_ORDER, around()) == part
    assert judged(bounds(never_debtor_of=["delivered"]), PER_ORDER, around()) is None


@pytest.mark.parametrize(
    ("limits", "part"),
    [
        ({"max": 3}, None),
        ({"max": 2}, "promises.max"),
        ({"attributes": {"amount": {"max": "300"}}}, None),
        ({"attributes": {"amount": {"max": "299"}}}, "promises.attributes.amount"),
    ],
)
def test_instances_bound_each_where_the_member_alone_opens_them(limits: dict[str, Any], part: str | None) -> None:
    """Protects the sum: three instances are three promises and three times the amount."""
    assert judged(bounds(instances=3, **limits), PER_ORDER, around()) == part


@pytest.mark.parametrize("by", [None, "bob", "debtor(p)"])
def test_what_others_may_open_is_not_bounded(by: str | None) -> None:
    """Protects against the creditor's own reports: who may open instances decides how many there are."""
    shared = {**OWN, "ordered": EventRule(by=by)}
    assert judged(bounds(instances=3, max=3), PER_ORDER, around(shared)) == "promises.instances"


def test_instances_that_others_bring_along_count() -> None:
    """Protects against a detour: a promise whose instances another one's open is as bounded as that one."""
    first = promise("shipped", "first", each="order", **{"if": "asked"})
    second = promise("paid(amount >= 1)", "second", each="order", **{"if": "violated(first)"})
    held = bounds(instances=3, max=3)
    assert judged(held, second, around({"asked": EventRule(by="bob")}, (first,))) == "promises.instances"
    assert judged(held, second, around({"asked": EventRule(by="ann")}, (first,))) is None


def test_one_more_instance_is_not_reported() -> None:
    """Protects the count: the member's own report that would open one instance too many is not signed."""
    held = bounds(instances=2, max=9)
    owing = around(known=(PER_ORDER,), owed={"p"}, reported=reports("17", "18"))
    assert report_breach(held, "ann", "ordered", {"order": "18"}, owing) is None
    assert where(report_breach(held, "ann", "ordered", {"order": "19"}, owing)) == "promises.instances"
    assert report_breach(held, "ann", "paid", {"amount": "100"}, owing) is None
    assert report_breach(held, "ann", "ordered", {"order": "19"}, around(known=(PER_ORDER,))) is None
    assert judged(held, PER_ORDER, around(reported=reports("1", "2", "3"))) == "promises.instances"
