"""What a mandate allows: every field where it is just kept, and just beyond."""

from typing import Any

import pytest
from pydantic import ValidationError

from protocols.core.event import Event
from protocols.duties.duties import Duty, OptionAsked, PerformDuty, ScoreDuty
from protocols.messages.commitments import CommitmentTerms, EventRule
from protocols.messages.concord import Option
from protocols.room.room import Room
from swarm.scenario.scenario import read_scenario
from swarm.seat.limits import Breach
from swarm.seat.mandate import Mandate, breach, offer_breach, reserve_breach
from swarm.seat.owing import Circumstances, promise_breach
from tests.support.small_rooms import member, room

KEYS = {"ann": "U" + "A" * 55, "bob": "U" + "B" * 55}


def mandate(**fields: Any) -> Mandate:
    return Mandate.model_validate(fields)


def promise(then: str, name: str = "p", debtor: str = "ann", **more: Any) -> CommitmentTerms:
    creditor = "bob" if debtor == "ann" else "ann"
    return CommitmentTerms.model_validate({"id": name, "debtor": debtor, "creditor": creditor, "then": then, **more})


def opened(**scenario: Any) -> Room:
    """Return a room of ann and bob as it is once it is opened."""
    parsed = read_scenario(room(member("ann"), member("bob"), **scenario))
    return Room.open(Event(1, 0, "ann", "0" * 64, 0, parsed.opening(KEYS, "0" * 64)), KEYS["ann"])


def owing(
    held: Mandate,
    member: str,
    made: list[CommitmentTerms],
    known: list[CommitmentTerms] | None = None,
    owed: set[str] | None = None,
    events: dict[str, Any] | None = None,
    reported: list[Any] | None = None,
) -> Breach | None:
    terms = {each.id: each for each in known or ()}
    rules = {name: EventRule.model_validate(rule) for name, rule in (events or {}).items()}
    return promise_breach(held.promises, member, made, Circumstances(terms, rules, owed or (), reported or ()))


def where(found: Breach | None) -> str | None:
    return None if found is None else found.where


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        ({"max": 12}, [12, "12.0", -5, "11.999999999999999999999999999999"], [13, "12.000000000000000000000000000001"]),
        ({"min": "7.5"}, ["7.5", "7.50", 8], [7, "7.499999999999999999999999999999", -8]),
        ({"min": 0, "max": 0}, [0, "-0"], [1, -1]),
        ({"max": 12}, [], ["much", "1e1", "1,5", "", " 12", "½"]),
        (["standard", 12, "7.5"], ["standard", 12, "12", "7.5"], ["Standard", 13, "7.50", ""]),
    ],
)
def test_offers(allowed: Any, inside: list[Any], outside: list[Any]) -> None:
    """Protects the owner's limit: compared digit for digit, both ends included; what is no number is not within it."""
    held = mandate(offers={"discount": allowed})
    assert [value for value in inside if offer_breach(held, {"discount": [value]}, {})] == []
    assert [value for value in outside if not offer_breach(held, {"discount": [value]}, {})] == []
    assert offer_breach(held, {"years": [99]}, {}) is None


def test_one_quoted_value_outside_is_enough() -> None:
    """Protects quotes: every value that a member says it allows is one that it may come to owe."""
    held = mandate(offers={"discount": {"max": 12}})
    assert where(offer_breach(held, {"discount": [10, 12, 15]}, {})) == "offers.discount"


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        ({"min": 40}, [40, 100], [39, 0, None]),
        ({"max": 60}, [60, 0, None], [61]),
        ({"min": 40, "max": 40}, [40], [39, 41, None]),
    ],
)
def test_reserves(bounds: dict[str, int], inside: list[Any], outside: list[Any]) -> None:
    """Protects the last line of a negotiation: no reserve is the lowest one there is."""
    held = mandate(reserve=bounds)
    assert [reserve_breach(held, value) for value in inside] == [None] * len(inside)
    assert [where(reserve_breach(held, value)) for value in outside] == ["reserve"] * len(outside)


INSIDE = [
    "paid(amount = 5000)",
    "paid(amount >= 5000) by 2027-01-01T00:00:00Z",
    "paid(amount > 4999.99)",
    "paid(amount <= 90000)",
    "paid(amount != 90000)",
    "paid(currency = EUR)",
    "paid",
    "at least 2 paid(amount >= 2500)",
    "paid totalling amount >= 5000",
    "paid(amount >= 2500) and refunded(amount >= 2500)",
    "paid(amount >= 5000) or refunded(amount >= 5000)",
    "no paid(amount >= 90000) by 2027-01-01T00:00:00Z",
    "refunded within 3 days of paid(amount >= 90000)",
    "satisfied(small)",
]
OUTSIDE = [
    "paid(amount = 5000.000000000000000000000000000000001)",
    "paid(amount >= 5001)",
    "paid(amount > 5000)",
    "paid(amount >= 1, amount >= 5001)",
    "paid(amount = lots)",
    'paid(amount = "lots")',
    "at least 3 paid(amount >= 2500)",
    "paid totalling amount >= 5000.01",
    "paid(amount >= 2500) and refunded(amount >= 2500.01)",
    "paid(amount >= 6000) and refunded(amount >= -5000)",
    "paid(amount >= 1) or refunded(amount >= 5001)",
    "paid and (refunded(amount >= 5001) by 2027-01-01T00:00:00Z or paid)",
    "satisfied(large)",
    "violated(nobody)",
]


@pytest.mark.parametrize(("then", "allowed"), [(t, True) for t in INSIDE] + [(t, False) for t in OUTSIDE])
def test_amounts(then: str, allowed: bool) -> None:
    """Protects the purse: whatever way a condition is put, one promise never demands more than the mandate says."""
    held = mandate(promises={"attributes": {"amount": {"max": 5000}}})
    known = [promise("paid(amount >= 5000)", "small", "bob"), promise("paid(amount >= 5001)", "large", "bob")]
    found = owing(held, "ann", [promise(then)], known)
    assert (found is None) == allowed
    assert owing(held, "bob", [promise(then)], known) is None


@pytest.mark.parametrize(
    ("then", "allowed"),
    [
        ("delivered", True),
        ("delivered within 5 days of paid", True),
        ("paid", False),
        ("delivered and (paid or delivered)", False),
        ("at least 2 paid", False),
        ("paid totalling amount >= 1", False),
        ("no paid by 2027-01-01T00:00:00Z", False),
        ("satisfied(theirs)", False),
        ("satisfied(round)", False),
    ],
)
def test_never_debtor_of(then: str, allowed: bool) -> None:
    """Protects against a promise by the back door: through alternatives, counts, or a promise about a promise."""
    held = mandate(promises={"never_debtor_of": ["paid"]})
    circle = [promise("satisfied(back)", "round", "bob"), promise("satisfied(round)", "back", "bob")]
    found = owing(held, "ann", [promise(then)], [promise("paid", "theirs", "bob"), *circle])
    assert (found is None) == allowed


def test_how_many_promises() -> None:
    """Protects against many small ones: what is owed already counts, and one for each of something is any number."""
    held = mandate(promises={"max": 2})
    two = [promise("paid", "a"), promise("paid", "b")]
    theirs = [promise("paid", name, "bob") for name in "cdefg"]
    assert owing(held, "ann", two + theirs) is None
    assert owing(held, "ann", two, owed={"a", "b"}) is None
    assert where(owing(held, "ann", two, owed={"x"})) == "promises.max"
    assert where(owing(held, "ann", [*two, promise("paid", "h")])) == "promises.max"
    assert where(owing(held, "ann", [promise("paid", each="order")])) == "promises.max"
    assert owing(held, "ann", theirs, owed={"x", "y", "z"}) is None
    assert where(owing(mandate(promises={"max": 0}), "ann", two[:1])) == "promises.max"


def asked(name: str, day: str, *commitments: CommitmentTerms) -> OptionAsked:
    return OptionAsked(
        id=name, option=Option(title=name, offer={"day": day}, commitments=list(commitments)), proposers=[]
    )


@pytest.mark.parametrize(
    ("scores", "rejects", "bounds", "allowed"),
    [
        ({"in": 30, "out": 20}, [], {"min": 30, "max": 90, "outside": 20}, True),
        ({"in": 90, "out": 0}, [], {"min": 30, "max": 90, "outside": 20}, True),
        ({"in": 29, "out": 0}, [], {"min": 30}, False),
        ({"in": 91, "out": 0}, [], {"max": 90}, False),
        ({"in": 50, "out": 91}, [], {"max": 90}, False),
        ({"in": 50, "out": 21}, [], {"outside": 20}, False),
        ({"in": 50}, ["out"], {"min": 30, "outside": 20}, True),
        ({"out": 20}, ["in"], {"outside": 20}, True),
        ({"out": 20}, ["in"], {"min": 0}, False),
        ({"in": 50}, ["out"], {"outside": "reject"}, True),
        ({"in": 50, "out": 0}, [], {"outside": "reject"}, False),
        ({"out": 0}, ["in"], {"outside": "reject"}, True),
        ({"out": 1}, ["in"], {"outside": "reject"}, False),
    ],
)
def test_scores(scores: dict[str, int], rejects: list[str], bounds: dict[str, Any], allowed: bool) -> None:
    """Protects the ballot: what the member could never sign gets no score that says otherwise."""
    held = mandate(offers={"day": ["mon"]}, scores=bounds)
    duty = ScoreDuty(
        member="ann", step="s.s", options=[asked("in", "mon"), asked("out", "tue")], rejects_left=1, bar=50,
        opens_reserve=False,
    )  # fmt: skip
    content = {"scores": scores, "rejects": dict.fromkeys(rejects, "no")}
    found = breach(held, duty, content, opened())
    assert where(found) == (None if allowed else "scores")


def test_an_option_is_outside_by_its_promises_too() -> None:
    """Protects the ballot: an option in whose promises the member owes too much is outside like one that offers it."""
    held = mandate(promises={"max": 0}, scores={"outside": 0})
    options = [asked("mine", "mon", promise("paid")), asked("theirs", "mon", promise("paid", "q", "bob"))]
    duty = ScoreDuty(member="ann", step="s.s", options=options, rejects_left=0, bar=50, opens_reserve=False)
    assert breach(held, duty, {"scores": {"mine": 0, "theirs": 90}}, opened()) is None
    assert where(breach(held, duty, {"scores": {"mine": 1, "theirs": 90}}, opened())) == "scores"


def test_a_ballot_opens_no_reserve_outside() -> None:
    """Protects a reserve that was sealed under an older mandate: the ballot that opens it is not signed."""
    duty = ScoreDuty(member="ann", step="s.s", options=[], rejects_left=0, bar=50, opens_reserve=True)
    content = {"scores": {}, "reserve": {"reserve": 39, "nonce": "0" * 64}}
    assert where(breach(mandate(reserve={"min": 40}), duty, content, opened())) == "reserve"


SAYINGS: dict[str, dict[str, Any]] = {
    "report": {"kind": "event.report", "event": "paid"},
    "confirm": {"kind": "event.confirm", "report": "r"},
    "dispute": {"kind": "event.dispute", "report": "r"},
    "decide": {"kind": "event.decide", "report": "r", "holds": True},
    "create": {"kind": "commitment.create", "commitments": [promise("paid").plain()]},
    "cancel": {"kind": "commitment.cancel", "commitment": "p"},
    "release": {"kind": "commitment.release", "commitment": "p"},
    "waive": {"kind": "commitment.waive", "commitment": "p"},
    "delegate": {"kind": "commitment.delegate", "commitment": "p", "to": "bob"},
    "accept": {"kind": "commitment.accept", "commitment": "p", "offer": "d"},
    "assign": {"kind": "commitment.assign", "commitment": "p", "to": "bob"},
    "suspend": {"kind": "commitment.suspend", "commitment": "p"},
    "resume": {"kind": "commitment.resume", "commitment": "p"},
}
ACTING = PerformDuty(member="ann", reportable=[], awaiting=[], promises={}, done=[], operations=[])


@pytest.mark.parametrize("verb", SAYINGS)
def test_acts(verb: str) -> None:
    """Protects promises from their own debtor's mind: only the acts that are listed are said, and each can be."""
    body = SAYINGS[verb]
    others = [other for other in SAYINGS if other != verb]
    assert breach(mandate(acts=[verb]), ACTING, body, opened()) is None
    assert where(breach(mandate(acts=others), ACTING, body, opened())) == f"acts.{verb}"
    assert where(breach(mandate(acts=[]), ACTING, body, opened())) == f"acts.{verb}"
    assert breach(mandate(), ACTING, body, opened()) is None


def test_what_is_taken_over_is_judged_as_promised() -> None:
    """Protects against delegation: a promise taken over is one's own, and one that cannot be looked up is not taken."""
    large = promise("paid(amount >= 5001)", "large", "bob").plain()
    sitting = opened(
        agenda=["concord", "commitments"], events={"paid": {}}, promises=[large], issues={"day": ["mon", "tue"]}
    )
    held = mandate(promises={"attributes": {"amount": {"max": 5000}}})
    found = breach(held, ACTING, {"kind": "commitment.accept", "commitment": "large", "offer": "d"}, sitting)
    assert where(found) == "promises.attributes.amount"
    assert (
        where(breach(held, ACTING, {"kind": "commitment.accept", "commitment": "x[1]", "offer": "d"}, sitting))
        == "promises"
    )
    higher = mandate(promises={"attributes": {"amount": {"max": 5001}}, "max": 1})
    assert breach(higher, ACTING, {"kind": "commitment.accept", "commitment": "large", "offer": "d"}, sitting) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"offers": {"discount": {}}},
        {"offers": {"discount": {"min": 2, "max": 1}}},
        {"offers": {"discount": {"max": 12.5}}},
        {"offers": {"discount": []}},
        {"offers": {"discount": {"max": "1e9"}}},
        {"scores": {"min": 2, "max": 1}},
        {"scores": {"max": 10, "outside": 11}},
        {"scores": {"outside": "ignore"}},
        {"reserve": {"min": 101}},
        {"reserve": {"min": 60, "max": 50}},
        {"promises": {"max": -1}},
        {"promises": {"attributes": {"amount": 5000}}},
        {"acts": ["shout"]},
        {"offer": {}},
    ],
)
def test_a_mandate_that_says_nothing_clear_is_refused(fields: dict[str, Any]) -> None:
    """Protects the owner: a misspelt or contradictory limit is an error and never no limit."""
    with pytest.raises(ValidationError):
        mandate(**fields)


def test_a_reason_for_the_record_tells_no_limit() -> None:
    """Protects the limit itself: the others learn that there is one, and not where."""
    found = offer_breach(mandate(offers={"discount": {"max": 12}}), {"discount": [15]}, {})
    assert found is not None
    assert found.public == "outside its mandate: offers.discount"
    assert found.private == "outside your mandate: offers.discount: 15 is above 12"


def test_a_duty_asked_once_says_nothing_of_a_problem() -> None:
    """Protects the duty's JSON form: the field appears only where there is something to say."""
    assert "problem" not in Duty(act="x", member="ann").plain()
