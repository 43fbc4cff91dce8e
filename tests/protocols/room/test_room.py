"""The room: what may open it, who joins it, how it ends, and what is signed of the end."""

import re
from typing import Any

import pytest

from protocols.core.canonical import digest
from protocols.core.instants import SECOND
from protocols.messages.bodies import parse_body
from protocols.messages.room import MOST_TERMS, room_name
from protocols.room.closing import WITNESSES
from protocols.room.room import Room
from protocols.stage.stage import Refused
from tests.support.unsigned_rooms import STEP_S, Table, event_of, hexed, key_of, open_room, opening_of, state_of

PRICE = {"price": {"values": [1, 2]}}


def _entry(name: str, key: str | None = None) -> dict[str, str]:
    return {"name": name, "key": key or key_of(name)}


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"members": "a"}, "roster"),
        ({"members": [f"m{i}" for i in range(65)]}, "roster"),
        ({"roster": [_entry("a"), _entry("a", key_of("b"))]}, "roster"),
        ({"roster": [_entry("a"), _entry("b", key_of("a"))]}, "roster"),
        ({"roster": [_entry("a"), _entry("b", "no key")]}, "roster.1.key"),
        ({"roster": [_entry("a"), _entry("b\n", key_of("b"))]}, "roster.1.name"),
        ({"agenda": []}, "agenda"),
        ({"agenda": ["concord", "concord"]}, "agenda"),
        ({"agenda": ["concord", "accord"]}, "agenda"),
        ({"agenda": ["vote"]}, "agenda.0"),
        ({"terms": ["done", "done"]}, "terms"),
        ({"terms": ["task"]}, "terms"),
        ({"terms": [f"t{i}" for i in range(MOST_TERMS + 1)]}, "terms"),
        ({"issues": {"price": {"values": []}}}, "issues.price.values"),
        ({"issues": {"price": {"values": [1, "1"]}}}, "issues.price"),
        ({"issues": {"price": {"values": [True]}}}, "issues.price.values.0"),
        ({"issues": {"price": {"values": [2**53]}}}, "issues.price.values.0"),
        ({"issues": PRICE, "authority": {"issues": {"size": "a"}}}, "authority.issues"),
        ({"issues": PRICE, "authority": {"issues": {"price": "z"}}}, "authority.issues.price"),
        ({"authority": {"terms": {"done": "a"}}}, "authority.terms"),
        ({"terms": ["done"], "authority": {"terms": {"done": "z"}}}, "authority.terms.done"),
        ({"rules": {"bar": 50, "floor": 50}}, "rules"),
        ({"rules": {"bar": 101}}, "rules.bar"),
        ({"rules": {"bar": True}}, "rules.bar"),
        ({"rules": {"bar": "50"}}, "rules.bar"),
        ({"rules": {"floor": -1}}, "rules.floor"),
        ({"rules": {"step_seconds": 1}}, "rules.step_seconds"),
        ({"rules": {"step_seconds": 2.5}}, "rules.step_seconds"),
        ({"rules": {"on_divergence": "ignore"}}, "rules.on_divergence"),
        ({"rehearsal": {"agreed_at": "2026-01-01", "second": "1 week"}}, "rehearsal"),
        ({"rehearsal": {"agreed_at": "2026-01-01T00:00:00Z", "second": "0 seconds"}}, "rehearsal"),
        ({"intent": ""}, "intent"),
        ({"slug": "Not A Slug"}, "slug"),
        ({"nonce": "0" * 63}, "nonce"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_an_opening_out_of_bounds_is_refused(fields: dict[str, Any], place: str) -> None:
    """What nobody should sign does not even parse, and the message names the place."""
    with pytest.raises(ValueError) as refused:
        parse_body(opening_of(**fields))
    assert re.match(rf"{re.escape(place)}[.:]", str(refused.value))


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"events": {"done": {"by": "z"}}}, "events.done"),
        ({"events": {"done": {"by": "a", "confirmed_by": "z"}}}, "events.done"),
        ({"powers": {"suspend": ["z"]}}, "powers.suspend"),
        ({"promises": [{"id": "p", "debtor": "a", "creditor": "b", "then": "done"}]}, "promises"),
        (
            {
                "status_quo": {
                    "title": "S",
                    "commitments": [{"id": "p", "debtor": "a", "creditor": "b", "then": "done"}],
                }
            },
            "status_quo",
        ),
        (
            {"agenda": ["commitments"], "promises": [{"id": "p", "debtor": "z", "creditor": "b", "then": "agreed"}]},
            "promises",
        ),
        (
            {"agenda": ["commitments"], "promises": [{"id": "p", "debtor": "a", "creditor": "b", "then": "(("}]},
            "promises",
        ),
        (
            {"agenda": ["commitments"], "promises": [{"id": "p", "debtor": "a", "creditor": "b", "then": "unlisted"}]},
            "promises",
        ),
        (
            {
                "agenda": ["commitments"],
                "promises": 2 * [{"id": "p", "debtor": "a", "creditor": "b", "then": "agreed"}],
            },
            "promises",
        ),
        (
            {
                "agenda": ["concord", "commitments"],
                "status_quo": {
                    "title": "S",
                    "commitments": [{"id": "p", "debtor": "z", "creditor": "b", "then": "agreed"}],
                },
            },
            "status_quo",
        ),
    ],
)
def test_an_opening_that_promises_the_impossible_is_refused(fields: dict[str, Any], place: str) -> None:
    """Promises of an opening name its members and listed events, or the room does not open."""
    with pytest.raises(Refused) as refused:
        open_room(**fields)
    assert refused.value.code == "bad_opening"
    assert refused.value.why.startswith(place)


def test_the_smallest_and_the_largest_room_open() -> None:
    """Two members and sixty-four are both a room; two seconds are a step."""
    assert open_room(members="ab", author="a", rules={"step_seconds": 2}).step is not None
    assert len(open_room(members=[f"m{i}" for i in range(64)], author="m0").setting.members) == 64


def test_a_room_begins_with_an_opening_by_one_of_its_members() -> None:
    """Anything else at position 1, an opening elsewhere, or a stranger's opening makes no room."""
    for event, key, code in [
        (event_of({"kind": "room.tick"}, "a", 1, 0), key_of("a"), "not_opened"),
        (event_of(opening_of(), "a", 2, 0), key_of("a"), "not_opened"),
        (event_of(opening_of(), "z", 1, 0), key_of("z"), "bad_opening"),
        (event_of(opening_of(), "a", 1, 0), key_of("b"), "bad_opening"),
    ]:
        with pytest.raises(Refused) as refused:
            Room.open(event, key)
        assert refused.value.code == code


def test_a_room_is_opened_once() -> None:
    """A second opening is refused, at any time, and changes nothing."""
    table = Table()
    before = state_of(table.room)
    assert table.say("b", opening_of()) == ["already_open"]
    assert state_of(table.room) == before


def test_a_rooms_name_is_of_its_opening_and_author() -> None:
    """Nobody can squat on a name: another author or one other field gives another name."""
    body = open_room().setting.opening.plain()
    names = {
        room_name("try", key_of("a"), body),
        room_name("try", key_of("b"), body),
        room_name("try", key_of("a"), body | {"nonce": hexed("other")}),
    }
    assert len(names) == 3
    assert open_room().setting.room in names
    assert all(name.startswith("try-") and len(name) == 4 + 26 for name in names)


# -- joining ----------------------------------------------------------------------------------------------------------


def test_all_join_and_the_agenda_starts() -> None:
    """The opener joins like everybody else."""
    table = Table()
    assert table.expected == ["a", "b", "c"]
    assert not table.room.started
    table.join()
    assert table.room.started
    assert table.step == "concord.option.seal"
    assert table.codes() == []


def test_joining_signs_this_very_opening() -> None:
    """A signature under another opening is refused, and the true one may follow."""
    table = Table()
    before = state_of(table.room)
    wrong = {"opening": "0" * 64, "manifest": {"agent": "test"}}
    assert table.answer("b", "room.join", **wrong) == ["wrong_opening"]
    assert state_of(table.room) == before
    assert table.join_as("b") == []


def test_declining_ends_the_wait_at_once() -> None:
    """One no is enough: the room is abandoned, says who, and calls nobody else silent."""
    table = Table()
    table.join_as("a")
    assert table.answer("b", "room.decline", because="no mandate") == ["declined", "abandoned"]
    assert table.ending == ("abandoned", "declined: b")
    assert table.room.findings[0].text == "declines the opening: no mandate"


def test_leaving_before_everyone_has_joined_is_declining() -> None:
    """Whether it had joined or not, a member that leaves is not waited for and not called missing."""
    for joins in (True, False):
        table = Table()
        if joins:
            table.join_as("b")
        assert table.leave("b") == ["left", "abandoned"]
        assert table.ending == ("abandoned", "declined: b")


def test_who_is_missing_at_the_deadline_is_named() -> None:
    """The room does not start, and says for whom it waited."""
    table = Table().join("b", "c")
    assert table.expire() == ["silent", "silent", "abandoned"]
    assert table.ending == ("abandoned", "missing: b, c")
    assert table.join_as("b") == ["not_open"]
    late = {"opening": table.room.setting.opening_id, "manifest": {"agent": "test"}}
    assert table.answer("b", "room.join", step="room.joining", **late) == ["late"]


def test_who_excuses_itself_from_joining_is_missing() -> None:
    """An excuse is no signature."""
    table = Table().join("c")
    table.excuse("c")
    assert table.ending == ("abandoned", "missing: c")


def test_an_abandoned_room_owes_nothing_and_signs_nothing() -> None:
    """No closing, no ticks, no promises: it is over."""
    table = Table(agenda=["concord", "commitments"])
    table.answer("b", "room.decline", because="no")
    assert table.room.over and table.room.closing is None and table.room.deadline() is None
    assert all(table.room.duties(m) == [] for m in "abc")
    promise = {"id": "p", "debtor": "a", "creditor": "b", "then": "agreed"}
    assert table.say("a", {"kind": "commitment.create", "commitments": [promise]}) == ["not_open"]
    assert table.room.tracker is not None and table.room.tracker.statuses() == {}


def test_a_member_that_joined_cannot_decline() -> None:
    """The first answer stands; leaving is still open to it."""
    table = Table()
    table.join_as("b")
    assert table.answer("b", "room.decline", because="changed my mind") == ["already_answered"]


def test_nominations_follow_the_roster_and_not_the_clock() -> None:
    """Who joins first does not decide the order of the terms; a term nominated twice is one."""
    orders = []
    for order in ("abc", "cba"):
        table = Table(agenda=["accord"], terms=["done"])
        for member in order:
            table.join_as(member, nominates=[f"of {member}", "shared", "done"])
        assert table.room.accord is not None
        orders.append(table.room.accord.terms)
    assert orders[0] == orders[1] == ["task", "done", "of a", "shared", "of b", "of c"]


def test_a_nomination_without_a_place_is_named() -> None:
    """Nothing is quietly dropped: a term beyond the limit is a finding with its nominator."""
    table = Table(agenda=["accord"], terms=[f"t{i}" for i in range(MOST_TERMS - 1)])
    table.join_as("a", nominates=["x"])
    table.join_as("b", nominates=["y"])
    assert table.join_as("c", nominates=["x"]) == ["too_many_terms"]
    assert table.room.findings[-1].who == "b"
    assert table.room.accord is not None
    assert len(table.room.accord.terms) == MOST_TERMS + 1


def test_at_most_three_nominations() -> None:
    """A join with four does not fit its model."""
    with pytest.raises(ValueError, match="nominates"):
        Table().join_as("a", nominates=["w", "x", "y", "z"])


# -- promises of the opening ------------------------------------------------------------------------------------------

WATER = {"id": "water", "debtor": "a", "creditor": "b", "if": "agreed", "then": "brought within 5 days of agreed"}
REFUND = {"id": "refund", "debtor": "c", "creditor": "b", "if": "violated(water)", "then": "refunded"}
PROMISING: dict[str, Any] = {
    "agenda": ["concord", "commitments"],
    "promises": [WATER, REFUND],
    "events": {"brought": {}, "refunded": {}},
}


def test_promises_of_the_opening_are_made_by_their_debtors() -> None:
    """Only debtors are asked, in any order, even where one promise speaks of another's."""
    table = Table(**PROMISING).join()
    assert (table.step, table.expected) == ("room.promising", ["a", "c"])
    assert table.answer("b", "commitment.create", commitments=[WATER]) == ["not_expected"]
    assert table.answer("a", "commitment.create", commitments=[WATER | {"then": "brought"}]) == ["wrong_promise"]
    assert table.answer("c", "commitment.create", commitments=[REFUND]) == []
    assert table.answer("a", "commitment.create", commitments=[WATER]) == []
    assert table.step == "concord.option.seal"
    assert table.room.tracker is not None
    assert {n: s.state for n, s in table.room.tracker.statuses().items()} == {
        "water": "conditional",
        "refund": "conditional",
    }


def test_a_promise_not_made_does_not_exist() -> None:
    """A commitment comes into being only by its debtor's own signature: silence makes none."""
    table = Table(**PROMISING).join()
    table.answer("c", "commitment.create", commitments=[REFUND])
    assert table.expire() == ["silent"]
    assert table.room.tracker is not None
    assert table.room.tracker.statuses()["water"].state == "none"
    table.expire()
    assert table.room.result is not None
    assert table.room.result["commitments"] == ["refund"]


def test_nobody_takes_the_name_of_another_promise() -> None:
    """An id that the opening or an option on the table gives to a commitment is not free for another."""
    option = {"title": "X", "commitments": [{"id": "pay", "debtor": "b", "creditor": "a", "then": "brought"}]}
    table = Table(**PROMISING, status_quo={"title": "S", "commitments": [{**WATER, "id": "quo"}]})
    table.join()

    def create(author: str, *terms: dict[str, Any]) -> list[str]:
        return table.say(author, {"kind": "commitment.create", "commitments": list(terms)})

    own = {"debtor": "b", "creditor": "c", "then": "refunded"}
    assert create("b", {"id": "water", **own}) == ["wrong_promise"]
    assert create("b", {"id": "quo", **own}) == ["bad_commitment"]
    assert create("b", {"id": "free", **own}, {"id": "free", **own}) == ["bad_commitment"]
    assert create("c", {"id": "free", **own}) == ["not_allowed"]
    assert create("b", {"id": "free", **own}) == []
    table.expire()
    table.propose(a=option, b="Y", c="Z")
    assert create("b", {"id": "pay", **own}) == ["bad_commitment"]
    table.score(a={"X": 90, "Y": 60, "Z": 60, "S": 10}, b={"X": 90, "Y": 60, "Z": 60, "S": 10}, c=80)
    table.all_pass()
    table.ratify_all()
    assert table.ending == ("agreed", None)
    assert table.room.tracker is not None
    assert table.room.tracker.statuses()["pay"].state != "none"


def test_a_promise_waits_until_everyone_has_joined() -> None:
    """Before that there is no room in which to owe anything."""
    table = Table(**PROMISING)
    before = state_of(table.room)
    assert table.say("a", {"kind": "commitment.create", "commitments": [WATER]}) == ["not_open"]
    assert table.say("a", {"kind": "event.report", "event": "brought"}) == ["not_open"]
    assert state_of(table.room) == before


def test_commitments_need_their_place_on_the_agenda() -> None:
    """Where the agenda has no commitments, nothing about them is taken."""
    table = Table().join()
    assert table.say("a", {"kind": "commitment.create", "commitments": [WATER]}) == ["not_on_agenda"]


# -- the end ----------------------------------------------------------------------------------------------------------


def _agreed(**fields: Any) -> Table:
    table = Table(**fields).join()
    table.propose(a="X", b="Y", c="Z")
    table.score(a={"X": 90, "Y": 60, "Z": 10}, b={"X": 20, "Y": 70, "Z": 30}, c={"X": 50, "Y": 65, "Z": 40})
    table.all_pass()
    table.ratify_all()
    return table


def test_the_end_is_signed_by_everyone_and_then_witnessed() -> None:
    """All close with one digest, two sign to have seen that, and the room is over."""
    table = _agreed()
    assert table.ending == ("agreed", None)
    assert table.room.result is not None and table.room.closing is not None
    assert table.room.closing.digest == digest(table.room.result)
    assert set(table.room.result) == {
        *("room", "outcome", "reason", "decision", "divergences", "untested", "commitments"),
    }
    assert (table.step, table.expected) == ("room.closing", ["a", "b", "c"])
    for member in "bca":
        table.answer(member, "room.close", digest=table.room.closing.digest)
    assert table.room.closing.matches("abc")
    assert table.room.closing.signed_up_to == table.room.position
    assert (table.step, table.expected) == ("room.witnessing", ["a", "b"][:WITNESSES])
    assert not table.room.over
    for member in table.expected:
        table.answer(member, "room.witness")
    assert table.room.over and table.room.deadline() is None
    assert all(table.room.duties(m) == [] for m in "abc")


def test_a_signature_under_another_end_is_kept_and_named() -> None:
    """It answers the step, and the end does not match for that member."""
    table = _agreed()
    assert table.answer("a", "room.close", digest="0" * 64) == ["close_mismatch"]
    assert table.expected == ["b", "c"]
    table.close()
    assert table.room.closing is not None
    assert not table.room.closing.matches("abc")
    assert table.room.closing.matches("bc")


def test_whoever_is_silent_at_the_end_does_not_keep_the_room_open() -> None:
    """Closing and witnessing have deadlines like every step."""
    table = _agreed()
    assert table.expire() == ["silent"] * 3
    assert table.expire() == ["silent"] * WITNESSES
    assert table.room.over
    assert table.room.closing is not None and not table.room.closing.matches("abc")


def test_a_room_without_a_concord_ends_open() -> None:
    """There was nothing to agree on; the meaning is on record, and signed."""
    table = Table("ab", agenda=["accord"]).join()
    table.mean({"a": {"task": "x"}, "b": {"task": "x"}})
    table.read()
    assert table.ending == ("open", None)
    table.close()
    assert table.room.over


def test_a_room_watches_open_promises_until_its_watch_is_over() -> None:
    """Signed is not over while a promise can move; the end of its window and of the watch are deadlines too."""
    terms = {"id": "p", "debtor": "a", "creditor": "b", "then": "brought within 20 seconds of agreed"}
    fields: dict[str, Any] = {
        "agenda": ["commitments"],
        "events": {"brought": {"by": "a"}},
        "promises": [terms],
        "rules": {"watch_seconds": 60},
    }
    table = Table("ab", **fields).join()
    agreed_at = table.room.at
    table.answer("a", "commitment.create", commitments=[terms])
    ended_at = table.room.at
    table.close()
    assert not table.room.over
    assert table.room.deadline() == agreed_at + 20 * SECOND
    assert table.ticks() == {"a": agreed_at + 20 * SECOND, "b": agreed_at + 20 * SECOND + SECOND // 5}
    table.tick(agreed_at + 20 * SECOND)
    assert not table.room.over
    table.tick(agreed_at + 20 * SECOND + 1)
    assert table.room.over
    assert table.room.tracker is not None
    assert table.room.tracker.statuses()["p"].state == "violated"

    endless = terms | {"then": "brought"}
    table = Table("ab", **{**fields, "promises": [endless]}).join()
    table.answer("a", "commitment.create", commitments=[endless])
    ended_at = table.room.at
    table.close()
    assert table.room.deadline() == ended_at + 60 * SECOND
    table.tick(ended_at + 60 * SECOND)
    assert not table.room.over
    table.tick(ended_at + 60 * SECOND + 1)
    assert table.room.over


def test_a_claim_after_the_end_of_a_promise_moves_nothing() -> None:
    """CM-04: what comes after a terminal state is kept as a finding; the state and the signed result stay."""
    terms = {"id": "p", "debtor": "a", "creditor": "b", "then": "brought within 20 seconds of agreed"}
    table = Table("ab", agenda=["commitments"], events={"brought": {"by": "a"}}, promises=[terms]).join()
    agreed_at = table.room.at
    table.answer("a", "commitment.create", commitments=[terms])
    result = table.room.result
    table.tick(agreed_at + 25 * SECOND)
    assert table.room.tracker is not None
    before = table.room.tracker.statuses()["p"]
    assert before.state == "violated"
    table.say("a", {"kind": "event.report", "event": "brought"})
    table.say("b", {"kind": "commitment.release", "commitment": "p"})
    assert table.say("a", {"kind": "commitment.cancel", "commitment": "p"}) == ["terminal_state"]
    after = table.room.tracker.statuses()["p"]
    assert (after.state, after.since) == ("violated", before.since)
    assert table.room.result == result


def test_the_result_is_fixed_before_promises_move() -> None:
    """What every member signs does not depend on how long the signatures take."""
    option = {"title": "X", "commitments": [{"id": "pay", "debtor": "b", "creditor": "a", "then": "paid"}]}
    table = Table("ab", agenda=["concord", "commitments"], events={"paid": {}}).join()
    table.propose(a=option, b="Y")
    table.score(a={"X": 90, "Y": 10}, b={"X": 90, "Y": 10})
    table.all_pass()
    table.ratify_all()
    assert table.room.result is not None and table.room.closing is not None
    assert table.room.result["commitments"] == ["pay"]
    signed = table.room.closing.digest
    table.say("b", {"kind": "event.report", "event": "paid"})
    assert table.room.tracker is not None
    assert table.room.tracker.statuses()["pay"].state == "satisfied"
    assert table.room.closing.digest == signed == digest(table.room.result)


def test_a_rehearsal_counts_from_the_agreement() -> None:
    """One second of the log is a week for promises, from the agreement on and not before."""
    table = Table("ab", agenda=["concord"], rehearsal={"agreed_at": "2027-01-04T09:00:00Z", "second": "1 week"})
    calendar, start = table.room.calendar, table.room.at
    assert calendar.promised(start + 100 * SECOND) == calendar.agreed_at
    assert calendar.logged(calendar.promised(start)) is None
    table.join()
    table.propose(a="X", b="Y")
    table.score(a=90, b=80)
    table.all_pass()
    table.ratify_all()
    assert calendar.agreed_at is not None
    week = 7 * 86_400 * SECOND
    agreed_at = table.room.at
    assert calendar.promised(agreed_at + 3 * SECOND) == calendar.agreed_at + 3 * week
    for at in (calendar.agreed_at + 3 * week, calendar.agreed_at + 3 * week + 1):
        logged = calendar.logged(at)
        assert logged is not None
        assert calendar.promised(logged) <= at < calendar.promised(logged + 1)


def test_a_rehearsal_does_not_run_off_the_calendar() -> None:
    """However fast its clock, a rehearsed time can be written."""
    from protocols.core.instants import LAST, format_instant

    table = Table("ab", rehearsal={"agreed_at": "2027-01-04T09:00:00Z", "second": "99999 weeks"}).join()
    table.room.calendar.start(table.room.at)
    assert table.room.calendar.promised(table.room.at + 10 * STEP_S * SECOND) == LAST
    assert format_instant(LAST).startswith("9999-12-31")
