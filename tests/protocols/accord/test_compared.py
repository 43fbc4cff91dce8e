"""How much a room compares is bounded by its opening, so that no closing step costs a member its next deadline."""

from itertools import combinations

import pytest

from protocols.core.findings import Refused
from protocols.messages.room import MOST_COMPARED, MOST_MEMBERS, MOST_TERMS, most_terms
from tests.support.unsigned_rooms import Table


@pytest.mark.parametrize("members", [2, 10, 28, 29, MOST_MEMBERS])
def test_pairs_and_terms_are_bounded_together(members: int) -> None:
    """Protects everybody: terms times pairs of members stay within the bound, and small rooms lose nothing by it."""
    pairs = len(list(combinations(range(members), 2)))
    assert most_terms(members) * pairs <= MOST_COMPARED or most_terms(members) == MOST_TERMS + 1
    assert (most_terms(members) == MOST_TERMS + 1) == (members < 29)


def test_an_opening_with_more_to_compare_opens_nothing() -> None:
    """Protects against products in an opening: many members with many terms are refused before anybody is asked."""
    names = [f"m{number}" for number in range(MOST_MEMBERS)]
    terms = [f"t{number}" for number in range(most_terms(MOST_MEMBERS))]
    Table(names, agenda=["accord"], terms=terms[:-1])
    with pytest.raises(Refused, match="terms: with 64 members a room has at most 8") as refused:
        Table(names, agenda=["accord"], terms=terms)
    assert refused.value.code == "bad_opening"


def test_terms_nominated_beyond_are_left_out() -> None:
    """Protects the same bound from the members: what they add does not go beyond it, and that is told."""
    names = [f"m{number}" for number in range(MOST_MEMBERS)]
    terms = [f"t{number}" for number in range(most_terms(MOST_MEMBERS) - 1)]
    table = Table(names, agenda=["accord"], terms=terms).join(m0={"nominates": ["more"]})
    assert [f.code for f in table.room.findings] == ["too_many_terms"]
    assert table.room.accord is not None and "more" not in table.room.accord.terms
