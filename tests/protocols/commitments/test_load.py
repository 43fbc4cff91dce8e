"""What one record may cost is bounded by rules, before it costs anything."""

from typing import Any

import pytest

from protocols.commitments import load
from protocols.commitments.load import MOST_COMMITMENTS, MOST_INSTANCES, MOST_OWED
from protocols.core.instants import SECOND
from protocols.messages.commitments import MOST_CREATED
from protocols.stage.stage import Refused
from tests.support.unsigned_rooms import Table

HOLD = {"id": "hold", "debtor": "z", "creditor": "a", "then": "never"}
EVENTS: dict[str, Any] = {"asked": {"by": "a"}, "done": {"by": "a"}, "never": {}, "other": {}}


def room(members: str = "abcdz", **fields: Any) -> Table:
    """A room in which nothing has been promised but what keeps it from being over."""
    table = Table(members, **{"agenda": ["commitments"], "events": EVENTS, "promises": [HOLD], **fields}).join()
    assert table.answer("z", "commitment.create", commitments=[HOLD]) == []
    return table


def promises(debtor: str, first: int, count: int, **more: Any) -> list[dict[str, Any]]:
    terms = {"debtor": debtor, "creditor": "z", "if": "asked", "then": "done within 5 days of asked"} | more
    return [{"id": f"{debtor}{number}", **terms} for number in range(first, first + count)]


def create(table: Table, made: list[dict[str, Any]]) -> list[str]:
    """Let the debtor of *made* create it, entry by entry; return the codes of the first refusal."""
    for first in range(0, len(made), MOST_CREATED):
        entry = {"kind": "commitment.create", "commitments": made[first : first + MOST_CREATED]}
        codes = table.say(made[0]["debtor"], entry)
        if codes:
            return codes
    return []


def ask(table: Table, value: str) -> list[str]:
    return table.say("a", {"kind": "event.report", "event": "asked", "attributes": {"x": value}})


def test_an_opening_lists_no_more_of_one_debtor_than_one_entry_creates() -> None:
    """Protects the debtor: it could never make in one answer what it has to, and would break the room by that."""
    fields: dict[str, Any] = {"agenda": ["commitments"], "events": EVENTS}
    Table("az", **fields, promises=promises("a", 0, MOST_CREATED))
    with pytest.raises(Refused, match=f"a has {MOST_CREATED + 1}; one entry creates at most {MOST_CREATED}") as refused:
        Table("az", **fields, promises=promises("a", 0, MOST_CREATED + 1))
    assert refused.value.code == "bad_opening"


def test_a_member_and_a_room_have_so_many_commitments() -> None:
    """Protects everybody's folds: a flood of promises stops at the member's cap, and all members' at the room's."""
    table = room()
    assert create(table, promises("a", 0, MOST_OWED)) == []
    assert create(table, promises("a", MOST_OWED, 1)) == ["bad_commitment"]
    for member in "bc":
        assert create(table, promises(member, 0, MOST_OWED)) == []
    assert create(table, promises("d", 0, MOST_COMMITMENTS - 3 * MOST_OWED - 1)) == []
    assert create(table, promises("d", MOST_OWED, 1)) == ["bad_commitment"]


def test_the_instances_of_a_room_are_bounded_together() -> None:
    """Protects against products: many promises times many values is what is bounded, whoever made or named them."""
    table = room()
    create(table, promises("a", 0, 200, each="x"))
    refused = [value for value in range(60) if ask(table, str(value)) == ["wrong_state"]]
    assert refused == list(range(MOST_INSTANCES // 200, 60))
    assert ask(table, "0") == [], "a value that is known opens nothing"
    assert table.say("b", {"kind": "event.report", "event": "other", "attributes": {"x": "new"}}) == []
    assert create(table, promises("b", 0, 1, each="x")) == ["bad_commitment"]
    assert create(table, promises("b", 0, 1)) == []


def test_values_named_before_count_for_what_is_made_later() -> None:
    """Protects against the other order: first the values, then the promises that all of them would open."""
    table = room()
    for value in range(60):
        assert ask(table, str(value)) == []
    assert create(table, promises("a", 0, 150, each="x")) == []
    assert create(table, promises("a", 150, 50, each="x")) == ["bad_commitment"]


def test_waiting_for_every_instance_of_another_is_bounded() -> None:
    """Protects against squares: instances of one that wait for all those of another cost their product."""
    table = room()
    assert create(table, promises("a", 0, 1, each="x")) == []
    each_y = {"each": "y", "if": "violated(a0)", "then": "other within 3 days of violated(a0)"}
    assert create(table, promises("b", 0, 20, **each_y)) == []
    codes: set[str] = set()
    for value in range(400):
        codes |= set(ask(table, str(value)))
        codes |= set(table.say("b", {"kind": "event.report", "event": "other", "attributes": {"y": str(value)}}))
    assert codes == {"wrong_state"}
    assert "too long to judge" in table.room.findings[-1].text


def test_conditions_of_many_windows_are_bounded_together() -> None:
    """Protects against conditions: each window of each is looked at when time passes, and there are not too many."""
    table = room()
    long = " or ".join(f"done(k = {number}) within {number + 1} seconds of asked" for number in range(60))
    codes = [create(table, promises("a", number, 1, then=long)) for number in range(40)]
    assert ["bad_commitment"] in codes and codes[0] == []
    ask(table, "0")
    table.tick(table.room.at + 100 * SECOND)
    assert table.room.tracker is not None and table.room.tracker.status("a0").state == "violated"


def test_what_was_said_before_is_not_counted_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects against late promises: each counts all that was said, and all of them together not too much of it."""
    monkeypatch.setattr(load, "MOST_RECALLED", 500)
    table = room()
    for _ in range(100):
        table.say("a", {"kind": "event.report", "event": "asked", "attributes": {}})
    assert create(table, promises("a", 0, 6)) == ["bad_commitment"]
    assert "too much has been said" in table.room.findings[-1].text
    assert create(table, promises("a", 0, 5)) == []
    assert create(table, promises("b", 0, 6, **{"if": "other"})) == ["bad_commitment"], "they are due since `asked`"
    assert create(table, promises("b", 0, 6, **{"if": "other", "then": "never"})) == []


def test_states_and_duties_are_those_of_the_statuses() -> None:
    """Protects what is kept beside the statuses: whatever happened, both say the same."""
    table = room()
    create(table, promises("a", 0, 3, each="x"))
    create(table, promises("b", 0, 2))
    for value in "pq":
        ask(table, value)
    table.say("a", {"kind": "event.report", "event": "done", "attributes": {"x": "p"}})
    table.say("b", {"kind": "commitment.cancel", "commitment": "b1", "because": "no"})
    table.tick(table.room.at + 6 * 24 * 3600 * SECOND)
    tracker = table.room.tracker
    assert tracker is not None
    assert tracker.states() == {name: status.state for name, status in tracker.statuses().items()}
    assert set(tracker.states().values()) >= {"satisfied", "violated"}
    assert tracker.is_moving() == bool(tracker.moving())


def test_an_option_beyond_a_bound_is_void() -> None:
    """Protects those who would agree to it: promises that take too long to judge are none that an option can make."""
    long = " or ".join(f"done(k = {number}) within {number + 1} seconds of agreed" for number in range(60))
    made = [{"id": f"o{n}", "debtor": "a", "creditor": "z", "then": long} for n in range(40)]
    table = room("az", agenda=["concord", "commitments"], issues={"day": {"values": ["mon", "tue"]}})
    options = {
        "a": {"title": "heavy", "offer": {"day": "mon"}, "commitments": made},
        "z": {"title": "light", "offer": {"day": "tue"}, "commitments": made[:1]},
    }
    table.propose(**options)
    assert [f.code for f in table.room.findings] == ["bad_commitment"]
    assert table.room.concord is not None
    assert [c.option.title for c in table.room.concord.candidates.values()] == ["light"]
