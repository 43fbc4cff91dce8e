"""Every cell of the life cycle: in each state, each operation by each party gives the state and the code it must."""

from typing import Any

import pytest

from tests.support.histories import NEEDS_CONFIRMATION, codes, did, follow, promise, said, state

# alice owes, bob is owed, carol may suspend and is offered the commitment where the table can offer it, dave is nobody.
PARTIES = ["alice", "bob", "carol", "dave"]
TERMS = promise("c", "delivered by 2026-01-21T00:00:00Z", "paid by 2026-01-11T00:00:00Z")
BREACH = promise("c", "delivered by 2026-01-04T00:00:00Z")
MAKE = did(1, "create", "alice", commitment="c")
OFFER = did(2, "delegate", "alice", commitment="c", to="carol")
PAID = said(3, "paid", "bob")
ANEW = did(4, "delegate", "alice", commitment="c", to="carol")

REACHED: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    # state: its terms, and what brings it about by the 12th
    "none": (TERMS, []),
    "conditional": (TERMS, [MAKE, OFFER]),
    "detached": (TERMS, [MAKE, OFFER, PAID, ANEW]),
    "satisfied": (TERMS, [MAKE, OFFER, PAID, said(4, "delivered")]),
    "expired": (TERMS, [MAKE, OFFER]),
    "violated": (BREACH, [MAKE, OFFER]),
    "terminated": (TERMS, [MAKE, OFFER, did(4, "cancel", "alice", commitment="c")]),
    "pending": (TERMS, [MAKE, OFFER, did(4, "suspend", "carol", commitment="c")]),
    "pending detached": (TERMS, [MAKE, OFFER, PAID, did(4, "suspend", "carol", commitment="c")]),
    "unconfirmed": (BREACH, [MAKE, OFFER, said(3, "delivered", id="r")]),
    "disputed": (BREACH, [MAKE, OFFER, said(3, "delivered", id="r"), did(4, "dispute", "bob", report="r")]),
}
WHEN = {"expired": 12, "violated": 12, "unconfirmed": 12, "disputed": 12}

MAY = {
    "create": "alice",
    "cancel": "alice",
    "release": "bob",
    "waive": "bob",
    "delegate": "alice",
    "accept": "carol",
    "assign": "bob",
    "suspend": "carol",
    "resume": "carol",
}
ENDED = dict.fromkeys(MAY, "terminal_state")
WRONG = dict.fromkeys(MAY, "wrong_state")
CELLS = {
    # state: operation by the party that may → the state after it, or the code of its refusal
    "none": {**WRONG, "create": "conditional"},
    "conditional": {
        **WRONG,
        "cancel": "terminated",
        "release": "terminated",
        "delegate": "conditional",
        "accept": "conditional",
        "assign": "conditional",
        "suspend": "pending",
    },
    "detached": {
        **WRONG,
        "cancel": "violated",
        "release": "terminated",
        "delegate": "detached",
        "accept": "detached",
        "assign": "detached",
        "suspend": "pending",
    },
    "satisfied": ENDED,
    "expired": ENDED,
    "violated": {**ENDED, "release": "violated", "waive": "violated"},
    "terminated": ENDED,
    "pending": {**WRONG, "cancel": "terminated", "release": "terminated", "resume": "conditional"},
    "pending detached": {**WRONG, "cancel": "violated", "release": "terminated", "resume": "detached"},
    "unconfirmed": {**WRONG, "release": "terminated"},
    "disputed": {**WRONG, "release": "terminated"},
}
STATES = {"conditional", "detached", "violated", "terminated", "pending"}


@pytest.mark.parametrize("before", REACHED)
@pytest.mark.parametrize("do", MAY)
@pytest.mark.parametrize("by", [*PARTIES, "stranger"])
def test_cell(before: str, do: str, by: str) -> None:
    terms, lines = REACHED[before]
    when = WHEN.get(before, 5)
    now = before.removesuffix(" detached")
    setting: dict[str, Any] = {
        "commitments": [terms],
        "parties": PARTIES,
        "powers": {"suspend": ["carol"]},
        "events": NEEDS_CONFIRMATION if now in ("unconfirmed", "disputed") else {},
    }
    if before == "none":
        # A create that is refused leaves the commitment uncreated, and nobody was offered anything.
        lines = [did(1, "create", "bob", commitment="c")]
    reached = follow(*lines, **setting, as_of=when)
    assert state(reached, "c")[0] == now
    already = codes(reached)

    fields = {"to": "dave"} if do in ("delegate", "assign") else {}
    after = follow(*lines, did(when, do, by, commitment="c", **fields), **setting, as_of=when)
    refused = codes(after)[len(already) :]
    may = "nobody" if do == "accept" and before == "none" else MAY[do]
    if by != may:
        expected, code = now, "not_allowed"
    elif CELLS[before][do] in STATES:
        expected, code = CELLS[before][do], None
    else:
        expected, code = now, CELLS[before][do]
    assert refused == ([] if code is None else [code])
    assert state(after, "c")[0] == expected


def test_an_unknown_party_to_hand_over_to_is_refused_before_permission_and_state() -> None:
    for do, by in (("delegate", "alice"), ("assign", "bob"), ("delegate", "carol")):
        for lines in ([MAKE], [MAKE, did(2, "cancel", "alice", commitment="c")]):
            result = follow(*lines, did(3, do, by, commitment="c", to="zoe"), commitments=[TERMS])
            assert codes(result) == ["unknown_party"]


def test_an_unknown_commitment_or_instance_is_refused() -> None:
    for name in ("zzz", "c[1]"):
        result = follow(MAKE, did(3, "cancel", "alice", commitment=name), commitments=[TERMS])
        assert codes(result) == ["unknown_commitment"]


def test_the_refusal_names_who_may_and_its_item() -> None:
    (refused,) = follow(MAKE, did(3, "release", "alice", commitment="c"), commitments=[TERMS]).refused
    assert (refused.item, refused.why) == (2, "release c is for its creditor (bob), not alice")


@pytest.mark.parametrize("powers", [{"suspend": ["bob"], "resume": ["carol"]}])
def test_resuming_may_be_given_to_others_than_suspending(powers: dict[str, list[str]]) -> None:
    lines = [MAKE, did(2, "suspend", "bob", commitment="c"), did(3, "resume", "bob", commitment="c")]
    result = follow(*lines, commitments=[TERMS], powers=powers, as_of=4)
    assert (codes(result), state(result, "c")[0]) == (["not_allowed"], "pending")
