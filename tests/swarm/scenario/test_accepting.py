"""What a standing peer joins: every bound where it is just kept, and just beyond."""

from typing import Any

import pytest

from protocols.messages.room import RoomOpen
from swarm.scenario.accepting import Accepts, outside

PROMISED = {"agreed_at": "2027-01-04T09:00:00Z", "second": "1 day"}


def opening(**fields: Any) -> RoomOpen:
    roster = [{"name": name, "key": "U" + letter * 55} for name, letter in (("ann", "A"), ("bob", "B"))]
    plain = {"slug": "deal", "intent": "Agree.", "roster": roster, "agenda": ["concord", "commitments"],
             "issues": {"day": {"values": ["mon"]}}, "nonce": "0" * 64}  # fmt: skip
    return RoomOpen.model_validate(plain | fields)


CASES: list[tuple[dict[str, Any], dict[str, Any], str | None]] = [
    ({}, {}, None),
    ({"max_watch_seconds": 3600}, {"rules": {"watch_seconds": 3600}}, None),
    ({"max_watch_seconds": 3600}, {"rules": {"watch_seconds": 315_360_000}}, "it is watched for 315360000 s"),
    ({"max_skew_seconds": 60}, {"rules": {"skew_seconds": 60}}, None),
    ({"max_skew_seconds": 60}, {"rules": {"skew_seconds": 61}}, "its clocks may differ by 61 s"),
    ({"agenda": ["concord", "commitments"]}, {}, None),
    ({"agenda": ["concord"]}, {}, "its agenda has commitments"),
    ({"rehearsal": "never"}, {}, None),
    ({"rehearsal": "never"}, {"rehearsal": PROMISED}, "it is a rehearsal"),
    ({"rehearsal": "only"}, {"rehearsal": PROMISED}, None),
    ({"rehearsal": "only"}, {}, "it is no rehearsal"),
    ({"authority": {"issues": []}}, {"authority": {"issues": {"day": "bob"}}}, None),
    ({"authority": {"issues": []}}, {"authority": {"issues": {"day": "ann"}}}, "another member alone decides day"),
    ({"authority": {"issues": ["day"]}}, {"authority": {"issues": {"day": "ann"}}}, None),
    ({"authority": {"terms": []}}, {"authority": {"terms": {"task": "ann"}}}, "another member alone decides task"),
    ({"powers": []}, {"powers": {"suspend": ["bob"]}}, None),
    ({"powers": []}, {"powers": {"suspend": ["bob", "ann"]}}, "others have the power to suspend"),
    ({"powers": ["resume"]}, {"powers": {"resume": ["ann"]}}, None),
    ({"max_budget": {"calls": 10}}, {}, "it sets no limit on calls"),
    ({"max_budget": {"calls": 10}}, {"rules": {"budget": {"member": {"tokens": 5}}}}, "it sets no limit on calls"),
    ({"max_budget": {"calls": 10}}, {"rules": {"budget": {"member": {"calls": 10}}}}, None),
    ({"max_budget": {"calls": 10}}, {"rules": {"budget": {"room": {"calls": 10}}}}, None),
    ({"max_budget": {"calls": 10}}, {"rules": {"budget": {"member": {"calls": 11}}}}, "it lets a member use 11 calls"),
    ({"max_budget": {"tokens": 9}}, {"rules": {"budget": {"member": {"tokens": 10**9}, "room": {"tokens": 9}}}}, None),
]


@pytest.mark.parametrize(("accepts", "fields", "why"), CASES)
def test_each_bound(accepts: dict[str, Any], fields: dict[str, Any], why: str | None) -> None:
    """Protects the owner's limits: exactly what the file allows is joined, and the no says what is too much."""
    found = outside(Accepts.model_validate(accepts), opening(**fields), "bob")
    assert (found is None) if why is None else (found is not None and found.startswith(why))


def test_every_bound_has_its_case() -> None:
    """Protects the table above: a new bound comes with its edge; the others have theirs with the standing peer."""
    elsewhere = {"openers", "min_step_seconds", "max_members", "issues"}
    assert {name for accepts, _, _ in CASES for name in accepts} | elsewhere == set(Accepts.model_fields)
