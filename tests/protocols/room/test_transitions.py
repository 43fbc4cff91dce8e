"""Every kind of body at every step: accepted, or refused by a code. The table of what a room takes when."""

from copy import deepcopy

import pytest

from protocols.messages.bodies import KINDS, parse_body
from tests.support.moves import ON_PROMISES, samples
from tests.support.unsigned_rooms import Table, state_of, tour

STEPS = [
    *("room.joining", "room.promising"),
    *(f"accord.{part}.{how}" for part in ("meaning", "reading") for how in ("seal", "reveal")),
    *("accord.settle", "concord.quote", "concord.option.seal", "concord.option.reveal"),
    *("concord.ballot.1.seal", "concord.ballot.1.reveal", "concord.improve.1"),
    *("concord.ballot.2.seal", "concord.ballot.2.reveal", "concord.ratify", "room.closing", "room.witnessing"),
    "no.step",
]

ACCEPTED = "accepted"
ANSWERS: dict[str, dict[str, str]] = {
    "room.joining": {"room.join": ACCEPTED, "room.decline": "declined"},
    "room.promising": {"commitment.create": ACCEPTED},
    "accord.settle": {"accord.settle": ACCEPTED},
    "concord.quote": {"concord.quote": ACCEPTED},
    "concord.improve.1": {"concord.improve": ACCEPTED, "concord.pass": ACCEPTED},
    "concord.ratify": {"concord.ratify": ACCEPTED},
    "room.closing": {"room.close": ACCEPTED},
    "room.witnessing": {"room.witness": ACCEPTED},
    **{step: {"seal": ACCEPTED} for step in STEPS if step.endswith(".seal")},
    **{step: {"reveal": ACCEPTED} for step in STEPS if step.endswith(".reveal")},
}
"""What each step takes from those it expects; any other answer of theirs is ``wrong_kind``, anybody else's
``not_expected``, and in a room without an open step all are ``not_open``."""

ANY_TIME = {"room.open": "already_open", "room.leave": "left", "room.tick": ACCEPTED}

# One promise stands, of b to a: who may do what to it is the tracker's to say, at any step once all have joined.
PROMISES = {
    "commitment.create": {"a": ACCEPTED, "b": ACCEPTED, "c": ACCEPTED},
    "commitment.cancel": {"a": "not_allowed", "b": ACCEPTED, "c": "not_allowed"},
    "commitment.release": {"a": ACCEPTED, "b": "not_allowed", "c": "not_allowed"},
    "commitment.waive": {"a": "wrong_state", "b": "not_allowed", "c": "not_allowed"},
    "commitment.delegate": {"a": "not_allowed", "b": ACCEPTED, "c": "not_allowed"},
    "commitment.assign": {"a": ACCEPTED, "b": "not_allowed", "c": "not_allowed"},
    "commitment.accept": {"a": "not_allowed", "b": "not_allowed", "c": "not_allowed"},
    "commitment.suspend": {"a": "not_allowed", "b": "not_allowed", "c": "not_allowed"},
    "commitment.resume": {"a": "not_allowed", "b": "not_allowed", "c": "not_allowed"},
    "event.report": {"a": "not_allowed", "b": ACCEPTED, "c": "not_allowed"},
    "event.confirm": dict.fromkeys("abc", "unknown_report"),
    "event.dispute": dict.fromkeys("abc", "unknown_report"),
    "event.decide": dict.fromkeys("abc", "unknown_report"),
}

# While the promise is listed but not made, there is nothing to move yet.
UNMADE = {
    "commitment.cancel": {"a": "not_allowed", "b": "wrong_state", "c": "not_allowed"},
    "commitment.release": {"a": "wrong_state", "b": "not_allowed", "c": "not_allowed"},
    "commitment.delegate": {"a": "not_allowed", "b": "wrong_state", "c": "not_allowed"},
    "commitment.assign": {"a": "wrong_state", "b": "not_allowed", "c": "not_allowed"},
}


@pytest.fixture(scope="module")
def rooms() -> dict[str, Table]:
    """The room of the tour, as it is at each step."""
    return {table.step: deepcopy(table) for table in tour()}


def test_the_table_has_every_step_and_kind(rooms: dict[str, Table]) -> None:
    """No cell is left out."""
    assert list(rooms) == STEPS
    assert PROMISES.keys() == ON_PROMISES
    answering = {kind for row in ANSWERS.values() for kind in row}
    assert KINDS.keys() == answering | ANY_TIME.keys() | ON_PROMISES | {"room.excuse"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_a_step_takes(rooms: dict[str, Table], step: str, kind: str) -> None:
    """Each cell, for each member: accepted with exactly the finding that belongs to it, or refused without effect."""
    for member in "abc":
        table = deepcopy(rooms[step])
        expected = _expected(table, step, kind, member)
        before = state_of(table.room)
        body = samples(table, member, step)[kind]
        codes = table.say(member, body)
        if expected == ACCEPTED:
            assert not any(" refused: " in f.text for f in table.room.findings[-len(codes) :] if codes), codes
        else:
            assert codes[:1] == [expected]
            if expected not in ("left", "excused", "declined"):
                assert state_of(table.room) == before or kind in ON_PROMISES


def _expected(table: Table, step: str, kind: str, member: str) -> str:
    if kind in ANY_TIME:
        return ANY_TIME[kind]
    row = ANSWERS.get(step, {})
    if kind in ON_PROMISES:
        if step == "room.joining":
            return "not_open"
        if step == "room.promising":
            return UNMADE.get(kind, PROMISES[kind])[member]
        return PROMISES[kind][member]
    if table.room.step is None:
        return "not_open"
    if member not in table.expected:
        return ACCEPTED if kind == "concord.pass" and step == "concord.improve.1" else "not_expected"
    return "excused" if kind == "room.excuse" else row.get(kind, "wrong_kind")


@pytest.mark.parametrize("step", STEPS[1:])
@pytest.mark.parametrize("kind", sorted(k for k, body in KINDS.items() if "step" in body.model_fields))
def test_what_names_a_closed_step_is_late(rooms: dict[str, Table], step: str, kind: str) -> None:
    """Whatever it is: it is kept, and counts for nothing, least of all for the step that is open now."""
    table = deepcopy(rooms[step])
    before = state_of(table.room)
    body = samples(table, "a", "room.joining")[kind] | {"step": "room.joining"}
    assert table.say("a", body) == ["late"]
    assert state_of(table.room) == before


@pytest.mark.parametrize("ours", ["antecedent", "consequent"])
def test_a_field_has_one_spelling_in_what_is_signed(ours: str) -> None:
    """Protects signatures: two spellings of one field would be two texts of one thing; ours is for Python alone."""
    terms = {"id": "lamp", "debtor": "a", "creditor": "b", "then": "moved"}
    spelled = {("consequent" if key == "then" and ours == "consequent" else key): v for key, v in terms.items()}
    if ours == "antecedent":
        spelled["antecedent"] = "moved"
    with pytest.raises(ValueError, match=r"commitments\.0\.(then|antecedent)"):
        parse_body({"kind": "commitment.create", "commitments": [spelled]})
    table = Table("ab", agenda=["concord", "commitments"], events={"moved": {}}).join()
    content = table.proposal("a", {"title": "A", "commitments": [spelled]})
    assert "void_option" in table.sealed({"a": content})["a"]
