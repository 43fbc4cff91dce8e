"""Nobody is sent home while something can still be decided, and nothing is decided once everybody is."""

from typing import Any

import pytest

from protocols.core.instants import SECOND
from protocols.stage.stage import Refused
from tests.support.unsigned_rooms import Table, hexed

WATCH_S, WITHIN_S = 60, 40
DAY_S = 24 * 3600


def paid_room(silence: str | None = "confirms", then: str = "paid", **fields: Any) -> Table:
    """a owes b that paid happens; a reports it, b confirms it or not."""
    rule = {"by": "a", "confirmed_by": "b", "confirm_within": f"{WITHIN_S} seconds", "decided_by": "c"}
    if silence is not None:
        rule["silence"] = silence
    terms = {"id": "p", "debtor": "a", "creditor": "b", "then": then}
    fields = {"agenda": ["commitments"], "events": {"paid": rule}, "promises": [terms], **fields}
    table = Table("abc", **{"rules": {"watch_seconds": WATCH_S}, **fields}).join()
    table.answer("a", "commitment.create", commitments=[terms])
    table.close()
    return table


def report(table: Table, at: int | None = None) -> str:
    assert table.say("a", {"kind": "event.report", "event": "paid", "attributes": {}}, at=at) == []
    return hexed("entry", table.room.position)


def end_of(table: Table) -> int:
    return table.room.watch.end()


def state(table: Table) -> str:
    assert table.room.tracker is not None
    return table.room.tracker.status("p").state


def test_a_report_at_the_end_of_the_watch_can_still_be_disputed() -> None:
    """Protects a creditor: a false report in the last instant is not kept by a silence that nobody could break."""
    table = paid_room()
    end = end_of(table)
    said = report(table, at=end)
    table.tick(end + 1)
    assert not table.room.over
    assert any(duty.member == "b" and duty.awaiting for duty in table.room.duties("b") if duty.act == "perform")
    assert table.room.deadline() == end + WITHIN_S * SECOND
    assert "room_over" not in table.say("b", {"kind": "event.dispute", "report": said}, at=end + WITHIN_S * SECOND)
    assert state(table) == "detached"


@pytest.mark.parametrize(("silence", "then"), [("confirms", "satisfied"), ("denies", "detached"), (None, "detached")])
def test_a_room_is_over_when_the_last_answer_is_due(silence: str | None, then: str) -> None:
    """Protects the members' time: what is within the watch is waited for, for as long as its event says."""
    table = paid_room(silence)
    end = end_of(table)
    report(table, at=end - SECOND)
    due = end + (WITHIN_S - 1) * SECOND
    table.tick(due)
    assert not table.room.over
    codes = table.tick(due + 1)
    assert table.room.over
    assert state(table) == then
    assert ("still_owed" in codes) == (then == "detached")


def test_after_the_watch_nothing_new_is_said_about_promises() -> None:
    """Protects whoever has left: a report, a promise or an act that nobody watches for has no effect."""
    table = paid_room()
    end = end_of(table)
    said = report(table, at=end - SECOND)
    late = {"kind": "event.report", "event": "paid", "attributes": {}}
    assert table.say("a", late, at=end) == []
    for body in (
        late,
        {"kind": "commitment.cancel", "commitment": "p", "because": "no"},
        {"kind": "commitment.create", "commitments": [{"id": "q", "debtor": "a", "creditor": "b", "then": "paid"}]},
    ):
        before = state(table)
        assert table.say("a", body, at=end + 1)[0] == "room_over"
        assert state(table) == before
    assert table.say("b", {"kind": "event.confirm", "report": said}, at=end + 2) == []
    assert table.room.over
    assert table.say("b", {"kind": "commitment.release", "commitment": "p"}) == ["room_over"]
    assert table.say("a", {"kind": "room.tick"}) == []


def test_what_is_over_stays_over() -> None:
    """Protects peers that have left: a promise made once no other can move does not call them back."""
    table = paid_room(then="paid within 5 seconds of agreed")
    table.tick(end_of(table) - 30 * SECOND)
    assert table.room.over and state(table) == "violated"
    more = [{"id": "q", "debtor": "a", "creditor": "b", "then": "paid"}]
    assert table.say("a", {"kind": "commitment.create", "commitments": more}) == ["room_over"]
    assert table.room.over and table.room.duties("a") == []


def test_what_is_owed_at_the_end_of_the_watch_is_said_once() -> None:
    """Protects a reader of the result: neither kept nor broken is told, with whose it is and since which record."""
    table = paid_room()
    assert table.tick(end_of(table)) == []
    assert table.tick(end_of(table) + 1) == ["still_owed"]
    (finding,) = [f for f in table.room.findings if f.code == "still_owed"]
    assert (finding.who, finding.position) == ("a", table.room.position)
    assert table.room.owed == ["p"]
    assert table.tick(end_of(table) + 2) == []


def test_what_nobody_owes_is_not_said_to_be_owed() -> None:
    """Protects a debtor: a promise whose condition has not come true, or that is kept, is none that is owed."""
    terms = {"id": "p", "debtor": "a", "creditor": "b", "if": "asked", "then": "paid"}
    events = {"asked": {"by": "b"}, "paid": {"by": "a"}}
    fields: dict[str, Any] = {"agenda": ["commitments"], "events": events, "promises": [terms]}
    table = Table("ab", **fields, rules={"watch_seconds": WATCH_S}).join()
    table.answer("a", "commitment.create", commitments=[terms])
    table.close()
    assert not table.room.over
    assert table.tick(end_of(table) + 1) == []
    assert table.room.over and table.room.owed == []


@pytest.mark.parametrize(
    ("watch", "within", "rehearsal", "opens"),
    [
        (60, "60 seconds", None, True),
        (60, "61 seconds", None, False),
        (0, "1 seconds", None, False),
        (10, "10 days", {"agreed_at": "2027-01-04T09:00:00Z", "second": "1 days"}, True),
        (10, "11 days", {"agreed_at": "2027-01-04T09:00:00Z", "second": "1 days"}, False),
    ],
)
def test_a_watch_shorter_than_an_answer_may_take_opens_no_room(
    watch: int, within: str, rehearsal: dict[str, str] | None, opens: bool
) -> None:
    """Protects who confirms: its time is within the room's, on the calendar of the promises, or there is no room."""
    fields: dict[str, Any] = {
        "agenda": ["commitments"],
        "events": {"paid": {"by": "a", "confirmed_by": "b", "confirm_within": within, "silence": "confirms"}},
        "rules": {"watch_seconds": watch},
    }
    if rehearsal is not None:
        fields["rehearsal"] = rehearsal
    if opens:
        Table("ab", **fields)
        return
    with pytest.raises(Refused, match=r"watch_seconds: \d+ s are shorter .* paid can be confirmed") as refused:
        Table("ab", **fields)
    assert refused.value.code == "bad_opening"
