"""Steps: when they open and close, who is waited for, and what an answer out of place changes, which is nothing."""

import json
from typing import Any

import pytest

from protocols.core.findings import CODES
from protocols.core.instants import SECOND
from protocols.duties.duties import TickDuty
from protocols.room.room import TICK_SPACING
from protocols.stage.steps import is_late
from tests.support.unsigned_rooms import STEP_S, Table, event_of, state_of, tour


def test_a_step_closes_at_the_last_answer_and_the_next_opens_there() -> None:
    """The record that completes a step is part of it, and the place from which the next one counts."""
    table = Table()
    table.join("c")
    assert table.step == "room.joining"
    table.join_as("c")
    assert table.room.closed["room.joining"].closed == table.room.position == 4
    step = table.room.step
    assert step is not None
    assert (step.id, step.opened, step.opened_at) == ("concord.option.seal", 4, table.room.at)
    assert step.deadline == table.room.at + STEP_S * SECOND


def test_a_deadline_is_inclusive() -> None:
    """An answer at the very deadline counts."""
    table = Table().join()
    table.seal("a", table.proposal("a", "X"), at=table.deadline)
    assert table.room.step is not None and "a" in table.room.step.answers


def test_one_microsecond_later_is_late_and_judged_by_the_next_step() -> None:
    """The first record past a deadline closes the step: it is late for the old one and cannot have seen the new one."""
    table = Table().join()
    table.seal("a", table.proposal("a", "X"))
    content = table.proposal("b", "Y")
    assert table.seal("b", content, at=table.deadline + 1) == ["silent", "silent", "late"]
    assert table.step == "concord.option.reveal" and table.expected == ["a"]
    assert table.room.closed["concord.option.seal"].closed == table.room.position
    table = Table().join()
    table.seal("a", table.proposal("a", "X"))
    late = {"kind": "reveal", "step": "concord.option.reveal", "nonce": "0" * 64, "content": {}}
    assert table.say("a", late, at=table.deadline + 1) == ["silent", "silent", "seen_stale"]
    assert table.expected == ["a"]


def test_one_predicate_decides_late() -> None:
    """Before, at and after a deadline: in time, in time, late."""
    assert [is_late(100, at) for at in (99, 100, 101)] == [False, False, True]


def test_log_time_never_runs_back() -> None:
    """A record with an earlier time than one before it does not reopen or prolong anything."""
    table = Table().join()
    before, deadline = table.room.at, table.deadline
    table.tick(before - 5 * SECOND)
    assert (table.room.at, table.deadline) == (before, deadline)


def _ready() -> Table:
    """A room at its first selection's sealing step; a has sealed, c has excused itself."""
    table = Table().join()
    table.propose(a="X", b="Y", c="Z")
    table.seal("a", table.ballot("a", dict.fromkeys("XYZ", 60)))
    table.excuse("c")
    return table


SEAL = {"kind": "seal", "digest": "0" * 64, "box": "AA"}


@pytest.mark.parametrize(
    ("author", "body", "code"),
    [
        ("b", SEAL | {"step": "concord.option.seal"}, "late"),
        ("b", SEAL | {"step": "room.joining"}, "late"),
        ("b", SEAL | {"step": "concord.ballot.2.seal"}, "not_open"),
        ("b", SEAL | {"step": "accord.meaning.seal"}, "not_open"),
        ("a", SEAL | {"step": "concord.ballot.1.seal"}, "already_answered"),
        ("a", {"kind": "room.excuse", "step": "concord.ballot.1.seal", "because": "no"}, "already_answered"),
        ("c", SEAL | {"step": "concord.ballot.1.seal"}, "already_excused"),
        ("c", {"kind": "room.excuse", "step": "concord.ballot.1.seal", "because": "no"}, "already_excused"),
        ("b", {"kind": "room.decline", "step": "concord.ballot.1.seal", "because": "no"}, "wrong_kind"),
        ("b", {"kind": "concord.pass", "step": "concord.ballot.1.seal", "standing": "0" * 64}, "wrong_kind"),
        ("mallory", SEAL | {"step": "concord.ballot.1.seal"}, "not_a_member"),
    ],
)
def test_an_answer_out_of_place_is_refused_and_changes_nothing(author: str, body: dict[str, Any], code: str) -> None:
    """A refused event leaves a finding with its author and reason, and no other trace."""
    table = _ready()
    before = state_of(table.room)
    assert table.say(author, body) == [code]
    finding = table.room.findings[-1]
    assert (finding.who, finding.position) == (author, table.room.position)
    assert finding.text.startswith(f"{body['kind']} refused: ")
    assert state_of(table.room) == before


def test_what_answers_a_step_has_seen_its_opening() -> None:
    """An answer signed before its step opened cannot be one: it is refused, and the true one may follow."""
    table = Table().join()
    table.propose(a="X", b="Y", c="Z")
    assert table.room.step is not None
    opened, before = table.room.step.opened, state_of(table.room)
    content = table.ballot("a", dict.fromkeys("XYZ", 60))
    body = SEAL | {"step": table.step}
    assert table.say("a", body, seen=opened - 1) == ["seen_stale"]
    assert state_of(table.room) == before
    assert table.seal("a", content) == []
    assert table.say("b", body, seen=opened) == []


def test_only_those_expected_answer() -> None:
    """A member whose seal does not count is not asked to reveal, and may not."""
    table = Table().join()
    table.seal("a", table.proposal("a", "X"))
    table.seal("b", table.proposal("b", "Y"))
    table.expire()
    before = state_of(table.room)
    assert table.answer("c", "reveal", nonce="0" * 64, content={}) == ["not_expected"]
    assert state_of(table.room) == before


def test_those_who_excused_themselves_are_not_waited_for() -> None:
    """An excuse is a recorded reason, for one step only."""
    table = Table().join()
    table.seal("a", table.proposal("a", "X"))
    table.seal("b", table.proposal("b", "Y"))
    assert table.excuse("c", "the model is down") == ["excused"]
    assert table.room.findings[-1].text == "concord.option.seal: the model is down"
    assert table.step == "concord.option.reveal"
    table.reveal("a")
    table.reveal("b")
    assert table.expected == ["a", "b", "c"]


def test_those_who_left_are_not_waited_for_and_not_heard() -> None:
    """Leaving closes a step that waited for nobody else, and ends a member's say in all later ones."""
    table = Table().join()
    table.seal("a", table.proposal("a", "X"))
    table.seal("b", table.proposal("b", "Y"))
    assert table.leave("c") == ["left"]
    assert table.step == "concord.option.reveal"
    table.reveal("a")
    table.reveal("b")
    assert table.expected == ["a", "b"]
    before = state_of(table.room)
    assert table.answer("c", "seal", digest="0" * 64, box="AA") == ["left"]
    assert table.leave("c") == ["left"]
    assert state_of(table.room) == before


def test_silence_is_named_at_the_deadline() -> None:
    """Every member that a step waited for in vain is named once, with the step."""
    table = Table().join()
    table.seal("b", table.proposal("b", "Y"))
    assert table.expire() == ["silent", "silent"]
    said = [(f.who, f.text) for f in table.room.findings]
    assert said == [(m, f"{m} did not answer concord.option.seal by its deadline") for m in "ac"]


def test_a_step_with_nobody_expected_closes_where_it_opens() -> None:
    """Without seals there is nothing to reveal, and nobody waits for it."""
    table = Table().join()
    for member in "abc":
        table.excuse(member)
    reveal = table.room.closed["concord.option.reveal"]
    assert (reveal.expected, reveal.opened, reveal.closed) == ((), table.room.position, table.room.position)
    assert table.ending == ("no_agreement", "no_options")


def test_ticks_are_owed_one_after_another_in_roster_order() -> None:
    """Member i owes a tick i × 0.2 s after the deadline, so that one record is enough."""
    table = Table().join()
    assert TICK_SPACING == SECOND // 5
    assert table.ticks() == {m: table.deadline + i * 200_000 for i, m in enumerate("abc")}
    duties = [d for m in "abc" for d in table.room.duties(m) if isinstance(d, TickDuty)]
    assert {d.deadline for d in duties} == {table.deadline}


def test_a_tick_changes_nothing_before_the_deadline_and_closes_the_step_after_it() -> None:
    """Ticks carry time and nothing else; anyone's will do, and a second one finds nothing to do."""
    table = Table().join()
    before, deadline = state_of(table.room), table.deadline
    assert table.tick(deadline) == []
    assert state_of(table.room) == before
    assert table.tick(deadline + 1) == ["silent"] * 3
    assert table.step == "room.closing"
    after = state_of(table.room)
    assert table.tick(deadline + 2) == []
    assert state_of(table.room) == after


def test_a_long_silence_closes_one_step_a_record() -> None:
    """A step opens at the record that closes the one before it, however late: nobody can miss what nobody saw."""
    table = Table(agenda=["accord", "concord"]).join()
    table.seal("a", {"interpretations": {}})
    table.tick(table.deadline + 100 * STEP_S * SECOND)
    assert table.step == "accord.meaning.reveal"
    assert table.deadline == table.room.at + STEP_S * SECOND


def test_duties_vanish_once_done() -> None:
    """What a member has answered, excused or left is no duty any more; after a restart nothing is done twice."""
    table = Table().join()
    for member, act in zip("abc", (table.seal, None, None), strict=True):
        assert [d.act for d in table.room.duties(member)] == ["propose", "tick"]
        if act is not None:
            act(member, table.proposal(member, "X"))
            assert [d.act for d in table.room.duties(member)] == ["tick"]
    table.excuse("b")
    assert [d.act for d in table.room.duties("b")] == ["tick"]
    table.leave("c")
    assert [d.act for d in table.room.duties("c")] == ["tick"]


def test_every_duty_at_every_step_is_json() -> None:
    """A mind may live in another process or language: each duty survives a round trip through JSON."""
    acts = set()
    for table in tour():
        for member in table.members:
            for duty in table.room.duties(member):
                text = duty.model_dump_json(by_alias=True)
                assert type(duty).model_validate_json(text) == duty
                json.dumps(duty.plain(), allow_nan=False)
                acts.add(duty.act)
                assert duty.deadline is not None or duty.act == "perform"
    assert acts == {
        *("join", "promise", "interpret", "read", "settle", "quote", "propose", "score", "improve"),
        *("ratify", "close", "witness", "reveal", "tick", "perform"),
    }


def test_the_tour_goes_through_every_step_without_a_refusal() -> None:
    """What duties ask for, and nothing else, leads from the first step to the last."""
    *_, table = tour()
    assert table.room.over or table.room.moving()
    refused = [f for f in table.room.findings if " refused: " in f.text or CODES[f.code][0] == "fault"]
    assert refused == []
    assert list(table.room.closed) == [
        *("room.joining", "room.promising"),
        *(f"accord.{part}.{how}" for part in ("meaning", "reading") for how in ("seal", "reveal")),
        *("accord.settle", "concord.quote", "concord.option.seal", "concord.option.reveal"),
        *("concord.ballot.1.seal", "concord.ballot.1.reveal", "concord.improve.1"),
        *("concord.ballot.2.seal", "concord.ballot.2.reveal", "concord.ratify", "room.closing", "room.witnessing"),
    ]


def test_an_event_is_judged_by_its_own_position_and_author_only() -> None:
    """Answers are keyed by step and member: one member's answer is never taken for another's."""
    table = Table().join()
    event = event_of(SEAL | {"step": table.step}, "a", table.room.position + 1, table.room.at)
    table.room.apply(event)
    assert table.expected == ["b", "c"]
