"""What a promise demands is never read too low: what cannot be told is not signed under a mandate."""

import pytest

from protocols.messages.commitments import CommitmentTerms
from swarm.seat.demand import CannotTell, demand_of


def promise(name: str, then: str, **more: str) -> CommitmentTerms:
    return CommitmentTerms.read({"id": name, "debtor": "ann", "creditor": "bob", "then": then, **more})


@pytest.mark.parametrize("state", ["detached", "violated", "expired", "unconfirmed", "disputed"])
def test_only_the_keeping_of_another_promise_tells_what_it_demands(state: str) -> None:
    """Protects the mandate: to bring about ``detached(q)`` takes the antecedent of q, a million say."""
    known = {"q": promise("q", "called", **{"if": "paid(amount >= 1000000)"})}
    assert demand_of(promise("p", "satisfied(q)"), known).events == {"called"}
    with pytest.raises(CannotTell):
        demand_of(promise("p", f"{state}(q)"), known)


@pytest.mark.parametrize("filters", ["amount = 1, fee = 100", "amount <= 1, fee >= 90", "amount = 60", "fee = 100"])
def test_a_total_of_bounded_reports_is_not_told(filters: str) -> None:
    """Protects the mandate: a total of 100 by ones is a hundred reports, each with its fee."""
    with pytest.raises(CannotTell):
        demand_of(promise("p", f"paid({filters}) totalling amount >= 100"), {})
    plain = demand_of(promise("p", 'paid(currency = "EUR") totalling amount >= 100'), {})
    assert plain.amounts["amount"] == 100
