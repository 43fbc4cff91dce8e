"""Whoever wants a yes to more than it looks like: promises that multiply, change their unit, or hide behind a name."""

from typing import Any

import pytest

from tests.support.held_rooms import play, said

A_CYRILLIC_I = "\u0456"
OWED = {"id": "p", "debtor": "ann", "creditor": "bob"}


def asked_to_promise(then: str, *, issues: dict[str, Any] | None = None, **terms: Any) -> dict[str, Any]:
    """A room in which bob proposes what ann is to promise, and ann's mind likes whatever it sees."""
    option = {"title": "bob's", "offer": {"price": 50}, "commitments": [{**OWED, "then": then, **terms}]}
    return {
        "room": "deal",
        "intent": "Agree.",
        "agenda": ["concord", "commitments"],
        "issues": issues or {"price": [40, 50]},
        "events": {"paid": {}, "ordered": {}, "del\u0456vered": {}},
        "rules": {"step_seconds": 5, "improvements": 0, "watch_seconds": 1},
        "members": [
            {"name": "bob", "proposes": option, "scores": {"otherwise": 70}},
            {"name": "ann", "scores": {"otherwise": 70}},
        ],
    }


SMALL = {"attributes": {"amount": {"max": "100"}}}
IN_EUR = {"attributes": {"amount": {"max": "100", "unit": {"currency": "EUR"}}}}
ATTEMPTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "each multiplies a bounded amount": (
        asked_to_promise("paid(amount >= 100)", each="order"),
        {"promises": SMALL},
        "promises.attributes",
    ),
    "each for what others report": (
        asked_to_promise("paid(amount >= 1) within 1 day of ordered", each="order"),
        {"promises": {**SMALL, "instances": 5}},
        "promises.instances",
    ),
    "an issue in another unit": (
        asked_to_promise("paid", issues={"price": {"values": [40, 50], "unit": "kEUR"}}),
        {"offers": {"price": {"max": 50, "unit": "EUR"}}},
        "offers.price",
    ),
    "a share that is an amount": (
        asked_to_promise("paid", issues={"price": {"values": [40, 50], "unit": "EUR"}}),
        {"offers": {"price": {"max": 50, "unit": "%"}}},
        "offers.price",
    ),
    "an amount in another currency": (
        asked_to_promise("paid(amount >= 100, currency = BTC)"),
        {"promises": IN_EUR},
        "promises.attributes.amount",
    ),
    "an amount of anything": (
        asked_to_promise("paid(amount >= 100)"),
        {"promises": IN_EUR},
        "promises.attributes.amount",
    ),
    "an attribute that is not listed": (
        asked_to_promise("paid(amount >= 1, surcharge >= 1000000)"),
        {"promises": {"attributes": {"amount": {"max": "100"}, "other": "forbid"}}},
        "promises.attributes.other",
    ),
    "an event in letters that look like a forbidden one": (
        asked_to_promise(f'"del{A_CYRILLIC_I}vered"'),
        {"promises": {"never_debtor_of": ["delivered"]}},
        "promises.never_debtor_of.delivered",
    ),
    "an issue that nobody listed": (
        asked_to_promise("paid"),
        {"offers": {"discount": {"max": 5}}, "offers_only": True},
        "offers_only",
    ),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_promise_that_is_more_than_it_looks_like_is_declined(attempt: str) -> None:
    """The peer reads what would be owed and not what it is called: nothing of it is signed, whatever the mind says."""
    scenario, mandate, part = ATTEMPTS[attempt]
    fold = play(scenario, mandate)
    assert [(b["accept"], b["because"]) for b in said(fold, kind="concord.ratify")] == [
        (False, f"outside its mandate: {part}")
    ]
    assert fold.room.ending is not None and fold.room.ending.outcome == "no_agreement"


def test_what_just_fits_is_signed() -> None:
    """The same room with terms inside: the refusals above are about the terms, and the honest deal is made."""
    held = {
        "offers": {"price": {"max": 50, "unit": "EUR"}},
        "offers_only": True,
        "promises": {**IN_EUR, "never_debtor_of": ["delivered"]},
    }
    scenario = asked_to_promise(
        "paid(amount >= 100, currency = EUR)", issues={"price": {"values": [40, 50], "unit": "EUR"}}
    )
    fold = play(scenario, held)
    assert fold.room.ending is not None and fold.room.ending.outcome == "agreed"
