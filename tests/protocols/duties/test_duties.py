"""Duties: what a member is told when it is asked."""

from protocols.duties.briefing import PromiseKnown
from protocols.duties.duties import OfferAsked, PerformDuty


def test_the_offer_of_a_promise_is_found_by_its_name() -> None:
    """Protects who accepts: the id that is said belongs to the promise that is meant, or to none."""
    promise = PromiseKnown.model_validate(
        {"id": "call", "debtor": "bob", "creditor": "cy", "then": "x", "state": "detached"}
    )
    offer = OfferAsked(id="o1", commitment="call", debtor="bob", creditor="cy", promise=promise)
    duty = PerformDuty(member="ann", reportable=[], awaiting=[], offers=[offer], promises={}, done=[], operations=[])
    assert duty.offer_of("call") == "o1"
    assert duty.offer_of("other") is None
