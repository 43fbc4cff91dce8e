"""Loops: found at the third round, at any length, by looking only; what changes is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.room.loops import LONGEST_CYCLE, Exchange, cycle_closed
from tests.support.unsigned_rooms import Table, codes, hexed

PROMISE = {"id": "chair", "debtor": "a", "creditor": "b", "then": "moved by 2099-01-01T00:00:00Z"}


def said(*steps: str) -> list[int | None]:
    """What each of *steps* closes when they are said one after another."""
    exchange, found = Exchange(), []
    for step in steps:
        found.append(exchange.closes(step))
        exchange.add(step)
    return found


def test_the_third_of_the_same_is_a_loop() -> None:
    """Protects who waits for an answer that never changes: two may be chance, three are not."""
    assert said("a", "a", "a") == [None, None, 1]


def test_a_b_a_b_stops_at_the_end_of_the_third_round() -> None:
    """Protects two members that undo each other's doing."""
    assert said(*"ababab") == [None, None, None, None, None, 2]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=LONGEST_CYCLE, unique=True), st.integers(0, 5))
def test_a_cycle_of_any_length_is_found_at_its_third_round(cycle: list[int], before: int) -> None:
    """Protects longer circles, whatever was said before them."""
    steps = [f"x{n}" for n in range(before)] + [str(n) for n in cycle * 3]
    found = said(*steps)
    assert found[-1] == len(cycle)
    assert not any(found[:-1])


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_nothing_is_a_loop_that_is_not_three_rounds(steps: list[str]) -> None:
    """Protects honest members: the detector agrees with the plain meaning of "three times the same in a row"."""
    for end in range(1, len(steps) + 1):
        tail = steps[:end]
        naive = next(
            (
                n
                for n in range(1, LONGEST_CYCLE + 1)
                if len(tail) >= 3 * n and tail[-n:] == tail[-2 * n : -n] == tail[-3 * n : -2 * n]
            ),
            None,
        )
        assert cycle_closed(tail[:-1], tail[-1]) == naive


def test_asking_changes_nothing() -> None:
    """Protects the state: a room that was asked whether it loops is the room that it was."""
    exchange = Exchange(["a", "a"])
    assert [exchange.closes("a") for _ in range(3)] == [1, 1, 1]
    assert exchange == Exchange(["a", "a"])


def test_an_exchange_keeps_no_more_than_it_needs() -> None:
    """Protects memory: a room that lives for years keeps a bounded tail."""
    exchange = Exchange()
    for n in range(10_000):
        exchange.add(str(n))
    assert len(exchange.steps) == 3 * LONGEST_CYCLE


# -- in a room ---------------------------------------------------------------------------------------------------------


def promising(members: str = "abc", **more: Any) -> Table:
    room = Table(
        members,
        agenda=["commitments"],
        events={"moved": {"by": "a"}, "seen": {"by": "b"}},
        powers={"suspend": ["b"], "resume": ["b"]},
        promises=[PROMISE],
        **more,
    ).join()
    room.answer("a", "commitment.create", commitments=[PROMISE])
    return room


def act(room: Table, who: str, do: str, **more: Any) -> list[str]:
    if do == "accept":
        more["offer"] = hexed("entry", room.room.position)
    return room.say(who, {"kind": f"commitment.{do}", "commitment": "chair", **more})


def test_a_promise_sent_in_a_circle_stops_at_its_third_return() -> None:
    """Protects the promise (delegated to and fro with no new fact): the third return is refused, one owner remains."""
    room = promising()
    circle = [("a", "delegate", {"to": "c"}), ("c", "accept", {}), ("c", "delegate", {"to": "a"}), ("a", "accept", {})]
    for _ in range(2):
        for who, do, more in circle:
            assert act(room, who, do, **more) == []
    for who, do, more in circle[:-1]:
        assert act(room, who, do, **more) == []
    assert room.room.tracker is not None
    before = room.room.tracker.status("chair")
    assert act(room, "a", "accept") == ["loop"]
    assert room.room.tracker.status("chair") == before
    text = room.room.findings[-1].text
    assert "a cycle of 4, the third time" in text
    assert "c delegate to a" in text


def test_suspending_and_resuming_stops_and_another_act_goes_on() -> None:
    """Protects the room after a loop: only what would go on with it is refused."""
    room = promising()
    for n in range(3):
        assert act(room, "b", "suspend") == []
        assert act(room, "b", "resume") == (["loop"] if n == 2 else [])
    assert act(room, "b", "resume") == ["loop"]
    assert act(room, "b", "release") == []


def test_a_new_fact_begins_anew() -> None:
    """Protects those who come back to a thing because something happened: answers that change are no loop."""
    room = promising()
    for n in range(6):
        assert act(room, "b", "suspend") == []
        assert act(room, "b", "resume") == []
        assert room.say("b", {"kind": "event.report", "event": "seen", "attributes": {"n": str(n % 2)}}) == []


def test_other_words_are_another_answer() -> None:
    """Protects who gives a new reason each time: what changes is no loop."""
    room = promising()
    for n in range(6):
        assert act(room, "b", "suspend", until=f"20{30 + n}-01-01T00:00:00Z") == []
        assert act(room, "b", "resume") == []


def test_what_is_refused_a_third_time_over_is_named() -> None:
    """Protects who reads the record: a member that repeats what cannot be stands there as one; nothing else changes."""
    room = promising()
    for code in (["not_allowed"], ["not_allowed"], ["not_allowed", "loop"]):
        assert room.say("c", {"kind": "event.report", "event": "moved", "attributes": {}}) == code
    assert room.say("c", {"kind": "commitment.release", "commitment": "chair"}) == ["not_allowed"]
    assert codes(room.room.findings).count("loop") == 1


def test_the_same_report_again_is_no_loop_while_it_counts() -> None:
    """Protects honest repetition: three deliveries are three deliveries, though their words are the same."""
    room = promising()
    for _ in range(9):
        assert room.say("b", {"kind": "event.report", "event": "seen", "attributes": {}}) == []


@pytest.mark.parametrize("unknown", ["no such promise", "chair[1]"])
def test_acts_on_nothing_known_are_refused_as_ever(unknown: str) -> None:
    """Protects the rules: looking for loops does not turn a refusal into a crash."""
    room = promising()
    found = room.say("a", {"kind": "commitment.cancel", "commitment": unknown})
    assert found and "loop" not in found
