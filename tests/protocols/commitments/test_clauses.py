"""The clauses of docs/tracker.md that the cells and edges do not show, by their numbers."""

from typing import Any

import pytest

from swarm.history.tracking import track
from tests.support.histories import (
    NEEDS_CONFIRMATION,
    WATER,
    codes,
    day,
    did,
    follow,
    history,
    promise,
    said,
    state,
)

PAID = said(4, "paid", "bob")
MAKE = did(1, "create", "alice", commitment="water")


def notes(result: Any, name: str = "water") -> tuple[str, ...]:
    return result.commitments[name].notes


# -- times (1–3) ------------------------------------------------------------------------------------------------------


def test_2_what_lies_after_as_of_has_not_happened() -> None:
    lines = [MAKE, PAID, said(20, "delivered"), did(21, "release", "alice", commitment="water")]
    result = follow(*lines, as_of=8)
    assert (state(result), codes(result)) == (("detached", day(4)), [])
    assert track(history(*lines, as_of=8), day(30)).plain()["as_of"] == day(30)


def test_2_without_as_of_the_latest_time_counts_even_of_what_is_refused() -> None:
    result = follow(MAKE, PAID, did(20, "release", "carol", commitment="water"))
    assert (result.plain()["as_of"], state(result)) == (day(20), ("violated", day(9)))


def test_2_a_history_without_any_time_has_no_as_of() -> None:
    result = follow()
    assert (result.plain()["as_of"], state(result)) == (None, ("conditional", None))


def test_3_violated_since_detachment_if_the_window_had_closed_before() -> None:
    late = promise("c", f"x by {day(3)}", "paid")
    result = follow(PAID, commitments=[late], as_of=5)
    assert state(result, "c") == ("violated", day(4))


def test_3_nothing_is_since_before_creation_though_earlier_events_count() -> None:
    lines = [said(2, "paid", "bob"), said(3, "delivered"), did(6, "create", "alice", commitment="water")]
    assert state(follow(*lines)) == ("satisfied", day(6))
    assert state(follow(*lines[:2], did(5, "create", "bob", commitment="water"))) == ("none", None)


# -- conditions (4–11) ------------------------------------------------------------------------------------------------


def test_6_while_conditional_the_clock_runs_from_the_latest() -> None:
    terms = promise("c", "x within 2 days of e", "go")
    lines = [said(2, "e"), said(4, "e"), said(5, "go")]
    assert state(follow(*lines, commitments=[terms], as_of=8), "c") == ("violated", day(6))


def test_6_after_detachment_later_ones_do_not_move_it() -> None:
    terms = promise("c", "x within 2 days of e", "go")
    lines = [said(2, "e"), said(3, "go"), said(4, "e")]
    assert state(follow(*lines, commitments=[terms], as_of=8), "c") == ("violated", day(4))


def test_6_if_none_by_detachment_it_runs_from_the_first_after() -> None:
    terms = promise("c", "x within 2 days of e", "go")
    lines = [said(3, "go"), said(5, "e"), said(6, "e")]
    assert state(follow(*lines, commitments=[terms], as_of=7), "c") == ("detached", day(3))
    assert state(follow(*lines, commitments=[terms], as_of=9), "c") == ("violated", day(7))


def test_6_for_an_antecedent_read_creation_for_detachment() -> None:
    terms = promise("c", "x", "go within 2 days of e")
    make = did(4, "create", "alice", commitment="c")
    before = [said(2, "e"), said(3, "e"), make, said(4, "e")]
    assert state(follow(*before, commitments=[terms], as_of=10), "c") == ("expired", day(5))
    after = [make, said(6, "e"), said(7, "e")]
    assert state(follow(*after, commitments=[terms], as_of=10), "c") == ("expired", day(8))


def test_6_what_came_late_for_one_run_is_early_for_the_next() -> None:
    terms = promise("c", "x within 2 days of e", f"go by {day(20)}")
    lines = [said(2, "e"), said(6, "x")]
    assert state(follow(*lines, commitments=[terms], as_of=8), "c")[0] == "conditional"
    assert state(follow(*lines, said(8, "e"), commitments=[terms]), "c") == ("satisfied", day(8))


def test_7_an_earlier_one_does_not_break_no_within() -> None:
    terms = promise("c", "no x within 3 days of e")
    assert state(follow(said(2, "x"), said(4, "e"), commitments=[terms], as_of=8), "c") == ("satisfied", day(7))
    assert state(follow(said(4, "x"), said(4, "e"), commitments=[terms], as_of=8), "c") == ("violated", day(4))
    assert state(follow(said(5, "x"), said(4, "e"), commitments=[terms], as_of=8), "c") == ("violated", day(5))


def test_7_a_restarted_clock_forgets_what_broke_the_last_run() -> None:
    terms = promise("c", "no x within 3 days of e", "go")
    lines = [said(2, "e"), said(3, "x"), said(5, "e"), said(6, "go")]
    assert state(follow(*lines, commitments=[terms], as_of=9), "c") == ("satisfied", day(8))
    assert state(follow(*lines[:2], lines[3], commitments=[terms], as_of=9), "c") == ("violated", day(6))


def test_7_no_counts_and_totals() -> None:
    at_least = promise("c", f"no at least 2 x by {day(9)}")
    assert state(follow(said(2, "x"), commitments=[at_least], as_of=10), "c") == ("satisfied", day(9))
    assert state(follow(said(2, "x"), said(3, "x"), commitments=[at_least], as_of=10), "c") == ("violated", day(3))
    total = promise("c", "no x totalling n >= 5 within 3 days of e")
    lines = [said(3, "x", n="4"), said(4, "e"), said(5, "x", n="4")]
    assert state(follow(*lines, commitments=[total], as_of=10), "c") == ("satisfied", day(7))
    assert state(follow(*lines, said(6, "x", n="1"), commitments=[total], as_of=10), "c") == ("violated", day(6))


@pytest.mark.parametrize(
    ("filter_", "attributes", "passes"),
    [
        ("n = 5", {"n": "5.00"}, True),
        ("n = 5", {"n": "five"}, False),
        ('n = "5"', {"n": "5"}, True),
        ('n = "5"', {"n": "5.0"}, False),
        ('n != "5"', {"n": "5.0"}, True),
        ("n != 5", {"n": "5.0"}, False),
        ("n != 5", {"n": "five"}, True),
        ("n != 5", {}, False),
        ("n != five", {}, False),
        ("n = five", {"n": "five"}, True),
        ("n = five", {"n": "Five"}, False),
        ("n < 10", {"n": "9"}, True),
        ("n < 10", {"n": "9b"}, False),
        ("n < ten", {"n": "9"}, False),
        ("n < ten", {"n": "nine"}, False),
        ('n <= "9"', {"n": "9"}, False),
        ("n <= 9", {"n": "9.000"}, True),
        ("n > 9", {"n": "9.0000000000000000000000000000000000000001"}, True),
        ("n >= 9", {"n": "8.9999999999999999999999999999999999999999"}, False),
        ("n >= 0.1", {"n": "0.1"}, True),
        ("n < 0", {"n": "-1"}, True),
        ("n = 7", {"n": "007"}, False),
        ("n = 1, m = 2", {"n": "1", "m": "2"}, True),
        ("n = 1, m = 2", {"n": "1"}, False),
    ],
)
def test_8_filters(filter_: str, attributes: dict[str, str], passes: bool) -> None:
    result = follow(said(2, "x", **attributes), commitments=[promise("c", f"x({filter_})")])
    assert (state(result, "c")[0] == "satisfied") is passes


def test_9_a_mark_holds_since_the_report_that_reached_it() -> None:
    terms = promise("c", "x totalling n >= 0.3")
    lines = [said(number, "x", n="0.1") for number in (2, 3, 4, 5)]
    assert state(follow(*lines, commitments=[terms]), "c") == ("satisfied", day(4))
    exact = promise("c", "x totalling n >= 10000000000000000000000000000000000000.2")
    lines = [said(2, "x", n="1" + "0" * 37), said(3, "x", n="0.1"), said(4, "x", n="none"), said(5, "x", n="0.1")]
    assert state(follow(*lines, commitments=[exact]), "c") == ("satisfied", day(5))


def test_9_reports_confirmed_out_of_order_count_by_their_own_times() -> None:
    terms = promise("c", "at least 2 delivered")
    lines = [said(number, "delivered", id=f"d{number}") for number in (2, 3, 4)]
    confirmed = [did(when, "confirm", "bob", report=name) for when, name in ((6, "d4"), (7, "d2"))]
    result = follow(*lines, *confirmed, commitments=[terms], events=NEEDS_CONFIRMATION)
    assert state(result, "c") == ("satisfied", day(4))


def test_9_a_mark_moves_to_the_earlier_report_while_something_else_is_missing() -> None:
    terms = promise("c", "at least 1 delivered and billed")
    events = {name: {"by": "alice", "confirmed_by": "bob"} for name in ("delivered", "billed")}
    lines = [said(2, "delivered", id="d1"), said(3, "billed", id="b"), said(4, "delivered", id="d2")]
    answers = [did(when, "confirm", "bob", report=name) for when, name in ((6, "d2"), (7, "d1"), (8, "b"))]
    assert state(follow(*lines, *answers, commitments=[terms], events=events), "c") == ("satisfied", day(3))


def test_10_the_remedy_of_a_kept_promise_stays_conditional() -> None:
    seat, pay = promise("seat", f"x by {day(5)}"), promise("pay", "y within 2 days of violated(seat)", "violated(seat)")
    result = follow(said(2, "x"), commitments=[seat, pay], as_of=365)
    assert (state(result, "pay"), notes(result, "pay")) == (("conditional", None), ("never_expires",))


@pytest.mark.parametrize(
    ("then", "if_", "expected"),
    [
        ("x", "y", ("never_expires", "never_violated")),
        ("x", f"y by {day(9)}", ("never_violated",)),
        ("x within 1 day of y", f"y by {day(9)}", ()),
        ("x and z", None, ("never_violated",)),
        (f"x and z by {day(9)}", None, ()),
        (f"x or z by {day(9)}", None, ("never_violated",)),
        (f"no x by {day(9)}", None, ()),
        ("x within 1 day of created(c2)", None, ("never_violated",)),
    ],
)
def test_10_what_has_no_end_is_noted(then: str, if_: str | None, expected: tuple[str, ...]) -> None:
    result = follow(commitments=[promise("c", then, if_), promise("c2", f"w by {day(30)}")], as_of=2)
    assert notes(result, "c") == expected


def test_11_a_circle_through_others_waits_and_is_found() -> None:
    one = promise("one", "x", "detached(two)")
    two = promise("two", "y", "detached(one)")
    result = follow(commitments=[one, two], as_of=9)
    assert {state(result, name)[0] for name in ("one", "two")} == {"conditional"}
    assert [(code, ids) for code, ids, _ in result.findings] == [("circle", ("one", "two"))]


# -- reports (12–16) --------------------------------------------------------------------------------------------------


def test_12_a_non_party_and_one_not_allowed_may_not_report() -> None:
    events = {"paid": {"by": "bob"}}
    result = follow(MAKE, said(2, "paid", "alice"), said(3, "paid", "zoe"), said(4, "other", "zoe"), events=events)
    assert codes(result) == ["not_allowed"] * 3
    assert state(result) == ("conditional", day(1))


def test_12_other_content_under_one_id_conflicts_whatever_differs() -> None:
    first = said(4, "x", id="r", n="1")
    for other in (
        said(4, "x", id="r", n="2"),
        said(4, "x", "bob", id="r", n="1"),
        said(4, "y", id="r", n="1"),
        said(5, "x", id="r", n="1"),
        said(4, "x", id="r"),
    ):
        result = follow(first, other, commitments=[promise("c", "at least 2 x")])
        assert (codes(result), state(result, "c")[0]) == (["conflicting_report"], "detached")


def test_12_a_repetition_is_noted_where_it_would_count() -> None:
    terms = [promise("c", "x(n = 1)"), promise("d", "x(n = 2)"), promise("e", "y")]
    result = follow(said(4, "x", id="r", n="1"), said(4, "x", id="r", n="1"), commitments=terms)
    assert [notes(result, name) for name in "cde"] == [("duplicate",), ("never_violated",), ("never_violated",)]


def test_12_a_refused_report_does_not_use_up_its_id() -> None:
    lines = [said(2, "delivered", "bob", id="r"), said(3, "delivered", id="r")]
    result = follow(*lines, commitments=[promise("c", "delivered")], events={"delivered": {"by": "alice"}})
    assert (codes(result), state(result, "c")[0]) == (["not_allowed"], "satisfied")


def test_12_reports_without_an_id_are_distinct() -> None:
    result = follow(said(4, "x"), said(4, "x"), commitments=[promise("c", "at least 2 x")])
    assert state(result, "c") == ("satisfied", day(4))


def test_13_it_holds_from_the_report_and_its_clock_runs_from_the_confirmation() -> None:
    events = {"paid": {"by": "bob", "confirmed_by": "alice"}}
    lines = [said(4, "paid", "bob", id="p"), did(8, "confirm", "alice", report="p")]
    assert state(follow(*lines, events=events)) == ("detached", day(4))
    assert state(follow(*lines, events=events, as_of=20)) == ("violated", day(13))


def test_13_a_clock_on_a_violation_found_late_runs_from_when_it_was_found() -> None:
    events = {"paid": {"by": "bob", "confirmed_by": "alice"}}
    terms = [promise("c", f"x by {day(6)}", "paid"), promise("fee", "y within 2 days of violated(c)", "violated(c)")]
    lines = [said(4, "paid", "bob", id="p"), did(12, "confirm", "alice", report="p")]
    result = follow(*lines, commitments=terms, events=events, as_of=20)
    assert [state(result, name) for name in ("c", "fee")] == [("violated", day(6)), ("violated", day(14))]


CONFIRMED = did(5, "confirm", "bob", report="d")
DISPUTED = did(5, "dispute", "bob", report="d")


@pytest.mark.parametrize(
    ("answers", "expected", "refused"),
    [
        ([CONFIRMED], "satisfied", []),
        ([DISPUTED, did(6, "confirm", "bob", report="d")], "satisfied", []),
        ([DISPUTED, did(6, "dispute", "bob", report="d")], "disputed", ["wrong_state"]),
        ([CONFIRMED, did(6, "dispute", "bob", report="d")], "satisfied", ["wrong_state"]),
        ([CONFIRMED, did(6, "confirm", "bob", report="d")], "satisfied", ["wrong_state"]),
        ([did(6, "confirm", "alice", report="d")], "unconfirmed", ["not_allowed"]),
        ([did(6, "confirm", "carol", report="d")], "unconfirmed", ["not_allowed"]),
        ([did(6, "confirm", "bob", report="e")], "unconfirmed", ["unknown_report"]),
        ([did(6, "decide", "carol", report="d", holds=True)], "unconfirmed", ["wrong_state"]),
        ([DISPUTED, did(6, "decide", "carol", report="d", holds=True)], "satisfied", []),
        ([DISPUTED, did(6, "decide", "carol", report="d", holds=False)], "violated", []),
        ([DISPUTED, did(6, "decide", "bob", report="d", holds=True)], "disputed", ["not_allowed"]),
        (
            [DISPUTED, did(6, "decide", "carol", report="d", holds=False), did(7, "confirm", "bob", report="d")],
            "violated",
            ["wrong_state"],
        ),
    ],
)
def test_13_14_answers(answers: list[Any], expected: str, refused: list[str]) -> None:
    events = {"delivered": {"by": "alice", "confirmed_by": "bob", "decided_by": "carol"}}
    lines = [said(4, "delivered", id="d"), *answers]
    result = follow(*lines, commitments=[promise("c", f"delivered by {day(9)}")], events=events, as_of=10)
    assert (state(result, "c")[0], codes(result)) == (expected, refused)


def test_13_the_reporter_never_confirms_itself() -> None:
    events = {"delivered": {"confirmed_by": "bob", "decided_by": "bob"}}
    lines = [said(4, "delivered", "bob", id="d"), *(did(5, do, "bob", report="d") for do in ("confirm", "dispute"))]
    result = follow(*lines, commitments=[promise("c", f"delivered by {day(9)}")], events=events, as_of=10)
    assert (codes(result), state(result, "c")[0]) == (["not_allowed"] * 2, "unconfirmed")


def test_14_silence_confirms_at_its_end_and_clocks_run_from_there() -> None:
    events = {"paid": {"by": "bob", "confirmed_by": "alice", "confirm_within": "3 days", "silence": "confirms"}}
    result = follow(MAKE, said(4, "paid", "bob", id="p"), events=events, as_of=day(7, 1))
    assert state(result) == ("detached", day(4))
    assert state(follow(MAKE, said(4, "paid", "bob", id="p"), events=events, as_of=day(12, 1))) == ("violated", day(12))


def test_14_silence_at_the_last_instant_of_a_suspension_still_falls_into_it() -> None:
    events = {"e": {"confirmed_by": "bob", "confirm_within": "3 days", "silence": "confirms"}}
    lines = [did(2, "suspend", "carol", commitment="c", until=day(7, 1)), said(4, "e")]
    setting: dict[str, Any] = {"events": events, "powers": {"suspend": ["carol"]}}
    result = follow(*lines, commitments=[promise("c", "x within 1 day of e")], **setting, as_of=20)
    assert state(result, "c") == ("violated", day(8, 1))


def test_14_a_dispute_ends_the_wait_for_silence() -> None:
    events = {"delivered": {"confirmed_by": "bob", "confirm_within": "3 days", "silence": "confirms"}}
    lines = [said(4, "delivered", id="d"), did(5, "dispute", "bob", report="d")]
    result = follow(*lines, commitments=[promise("c", f"delivered by {day(9)}")], events=events, as_of=20)
    assert state(result, "c") == ("disputed", day(9))


def test_14_several_silences_at_one_instant_are_heard_before_a_window_closes_there() -> None:
    events = {"delivered": {"confirmed_by": "bob", "confirm_within": "5 days", "silence": "confirms"}}
    terms = [promise("c", f"at least 2 delivered by {day(9)}"), promise("d", "y", "unconfirmed(c)")]
    result = follow(said(4, "delivered"), said(4, "delivered"), commitments=terms, events=events, as_of=20)
    assert (state(result, "c"), state(result, "d")[0]) == (("satisfied", day(4)), "conditional")


def test_15_unconfirmed_since_the_deadline_disputed_since_the_dispute_if_later() -> None:
    terms = [promise("c", f"delivered by {day(9)}")]
    lines = [said(4, "delivered", id="d")]
    assert state(follow(*lines, commitments=terms, events=NEEDS_CONFIRMATION, as_of=9), "c")[0] == "detached"
    assert state(follow(*lines, commitments=terms, events=NEEDS_CONFIRMATION, as_of=20), "c") == ("unconfirmed", day(9))
    for when, since in ((5, 9), (12, 12)):
        disputed = did(when, "dispute", "bob", report="d")
        result = follow(*lines, disputed, commitments=terms, events=NEEDS_CONFIRMATION, as_of=20)
        assert state(result, "c") == ("disputed", day(since))


def test_15_an_unanswered_report_beside_a_disputed_one_leaves_it_unconfirmed() -> None:
    terms = [promise("c", f"delivered by {day(9)}")]
    lines = [said(4, "delivered", id="d"), said(5, "delivered", id="e"), did(6, "dispute", "bob", report="d")]
    result = follow(*lines, commitments=terms, events=NEEDS_CONFIRMATION, as_of=20)
    assert state(result, "c")[0] == "unconfirmed"


def test_15_a_late_report_does_not_stand_in_the_way_of_violation() -> None:
    terms = [promise("c", f"delivered by {day(9)}")]
    result = follow(said(10, "delivered", id="d"), commitments=terms, events=NEEDS_CONFIRMATION, as_of=20)
    assert state(result, "c") == ("violated", day(9))


def test_15_on_the_antecedent_it_stands_for_expired_and_a_confirmation_moves_on_as_of_the_report() -> None:
    events = {"paid": {"by": "bob", "confirmed_by": "alice"}}
    lines = [MAKE, said(4, "paid", "bob", id="p")]
    assert state(follow(*lines, events=events, as_of=12)) == ("unconfirmed", day(11))
    confirmed = did(14, "confirm", "alice", report="p")
    assert state(follow(*lines, confirmed, events=events)) == ("detached", day(4))
    disputed, decided = did(13, "dispute", "alice", report="p"), did(14, "decide", "carol", report="p", holds=False)
    events["paid"]["decided_by"] = "carol"
    assert state(follow(*lines, disputed, decided, events=events)) == ("expired", day(11))


def test_15_an_open_window_keeps_the_state_though_another_part_is_unanswered() -> None:
    terms = [promise("c", f"delivered by {day(5)} and billed by {day(9)}")]
    lines = [said(4, "delivered", id="d")]
    assert state(follow(*lines, commitments=terms, events=NEEDS_CONFIRMATION, as_of=8), "c")[0] == "detached"
    result = follow(*lines, commitments=terms, events=NEEDS_CONFIRMATION, as_of=10)
    assert state(result, "c") == ("violated", day(9))
    result = follow(*lines, said(7, "billed"), commitments=terms, events=NEEDS_CONFIRMATION, as_of=10)
    assert state(result, "c") == ("unconfirmed", day(7))


def test_15_what_must_not_happen_and_is_unanswered_is_neither_kept_nor_broken() -> None:
    events = {"outage": {"by": "bob", "confirmed_by": "alice", "decided_by": "carol"}}
    terms = [promise("c", f"no outage by {day(9)}")]
    lines = [said(4, "outage", "bob", id="o")]
    assert state(follow(*lines, commitments=terms, events=events, as_of=8), "c")[0] == "detached"
    assert state(follow(*lines, commitments=terms, events=events, as_of=10), "c") == ("unconfirmed", day(9))
    confirmed = did(12, "confirm", "alice", report="o")
    assert state(follow(*lines, confirmed, commitments=terms, events=events), "c") == ("violated", day(4))
    disputed, decided = did(12, "dispute", "alice", report="o"), did(13, "decide", "carol", report="o", holds=False)
    assert state(follow(*lines, disputed, commitments=terms, events=events), "c") == ("disputed", day(12))
    assert state(follow(*lines, disputed, decided, commitments=terms, events=events), "c") == ("satisfied", day(9))


@pytest.mark.parametrize(
    ("then", "late", "noted"),
    [
        (f"x by {day(5)}", [said(9, "x")], True),
        (f"x by {day(5)}", [], False),
        (f"x by {day(5)} after {day(3)}", [said(2, "x")], False),
        (f"at least 2 x by {day(5)}", [said(9, "x")], False),
        (f"at least 2 x by {day(5)}", [said(4, "x"), said(9, "x")], True),
        (f"x by {day(5)} and y by {day(5)}", [said(4, "y"), said(9, "x")], True),
        (f"no x by {day(5)}", [said(4, "x")], False),
        ("x within 2 days of e", [said(2, "e"), said(9, "x")], True),
    ],
)
def test_16_late_performance(then: str, late: list[Any], noted: bool) -> None:
    result = follow(*late, commitments=[promise("c", then)], as_of=20)
    if then.startswith("x within") or late or noted:
        assert state(result, "c")[0] == "violated"
    assert ("late_performance" in notes(result, "c")) is noted


# -- operations (17–23) -----------------------------------------------------------------------------------------------


def test_17_assumed_only_without_any_create_and_no_clock_runs_from_before_everything() -> None:
    terms = [promise("c", f"x by {day(9)}"), promise("d", "y within 2 days of created(c)")]
    result = follow(commitments=terms, as_of=20)
    assert [state(result, name) for name in "cd"] == [("violated", day(9)), ("detached", None)]
    later = follow(did(25, "create", "alice", commitment="c"), commitments=terms, as_of=20)
    assert [state(later, name) for name in "cd"] == [("none", None), ("detached", None)]
    made = follow(did(3, "create", "alice", commitment="c"), commitments=terms, as_of=20)
    assert [state(made, name) for name in "cd"] == [("violated", day(9)), ("violated", day(5))]


def test_19_nobody_keeps_the_money_by_not_confirming_it() -> None:
    events = {"paid": {"by": "bob", "confirmed_by": "alice"}}
    cancel = did(5, "cancel", "alice", commitment="water")
    result = follow(MAKE, said(4, "paid", "bob", id="p"), cancel, events=events)
    assert (codes(result), state(result)[0]) == (["wrong_state"], "conditional")
    result = follow(
        MAKE,
        said(4, "paid", "bob", id="p"),
        did(5, "dispute", "alice", report="p"),
        {**cancel, "at": day(6)},
        events=events,
    )
    assert (codes(result), state(result)[0]) == (["wrong_state"], "conditional")


def test_19_also_while_suspended() -> None:
    lines = [MAKE, did(2, "suspend", "carol", commitment="water"), said(4, "paid", "bob")]
    result = follow(*lines, did(5, "cancel", "alice", commitment="water"), powers={"suspend": ["carol"]})
    assert (codes(result), state(result)[0]) == (["wrong_state"], "pending")


def test_20_a_second_offer_replaces_the_first_and_earlier_debtors_answer() -> None:
    lines = [
        MAKE,
        did(2, "delegate", "alice", commitment="water", to="bob"),
        did(3, "delegate", "alice", commitment="water", to="carol"),
        did(4, "accept", "bob", commitment="water"),
        did(5, "accept", "carol", commitment="water"),
        did(6, "cancel", "alice", commitment="water"),
        did(7, "delegate", "carol", commitment="water", to="alice"),
        did(8, "accept", "alice", commitment="water"),
        did(9, "accept", "alice", commitment="water"),
    ]
    result = follow(*lines[:6])
    assert codes(result) == ["not_allowed", "not_allowed"]
    assert (result.commitments["water"].debtor, result.commitments["water"].answerable) == ("carol", ("alice",))
    result = follow(*lines)
    assert codes(result) == ["not_allowed"] * 3
    assert (result.commitments["water"].debtor, result.commitments["water"].answerable) == ("alice", ("carol",))


SUSPENDED = [did(5, "suspend", "bob", commitment="c"), did(7, "resume", "bob", commitment="c")]
POWERS = {"suspend": ["bob"]}


@pytest.mark.parametrize(
    ("then", "before", "end"),
    [
        (f"x by {day(9)}", [], 11),
        (f"x before {day(9)}", [], 11),
        ("x within 5 days of e", [said(4, "e")], 11),
        ("x within 5 days of e", [said(6, "e")], 12),  # its clock starts at the resume
        (f"x by {day(4)} or y by {day(9)}", [], 11),  # what was closed stays closed
        (f"x by {day(5)}", [], 7),  # open to the end of the 5th's first instant: moved by two days
    ],
)
def test_21_open_ends_move_by_the_time_suspended(then: str, before: list[Any], end: int) -> None:
    setting: dict[str, Any] = {"commitments": [promise("c", then)], "powers": POWERS}
    last = day(end, -1) if "before" in then else day(end)
    assert state(follow(*before, *SUSPENDED, **setting, as_of=last), "c")[0] == "detached"
    assert state(follow(*before, *SUSPENDED, **setting, as_of=day(end, 1)), "c") == ("violated", day(end))


def test_21_a_closed_end_stays_closed_and_after_does_not_move() -> None:
    setting: dict[str, Any] = {"powers": POWERS}
    closed = promise("c", f"x by {day(4)} or y by {day(9)}")
    assert state(follow(*SUSPENDED, said(8, "x"), commitments=[closed], **setting, as_of=20), "c")[0] == "violated"
    after = promise("c", f"x after {day(6)} by {day(9)}")
    result = follow(*SUSPENDED, said(day(6, 1), "x"), commitments=[after], **setting, as_of=20)
    assert state(result, "c") == ("satisfied", day(7))


def test_21_events_count_and_the_state_moves_only_at_the_resume() -> None:
    terms = promise("c", f"x by {day(9)}", f"go by {day(9)}")
    lines = [SUSPENDED[0], said(6, "go"), said(6, "x")]
    assert state(follow(*lines, commitments=[terms], powers=POWERS), "c") == ("pending", day(5))
    assert state(follow(*lines, SUSPENDED[1], commitments=[terms], powers=POWERS), "c") == ("satisfied", day(7))


def test_21_until_resumes_by_itself() -> None:
    lines = [did(5, "suspend", "bob", commitment="c", until=day(7))]
    setting: dict[str, Any] = {"commitments": [promise("c", f"x by {day(9)}")], "powers": POWERS}
    assert state(follow(*lines, **setting, as_of=8), "c") == ("detached", day(7))
    assert state(follow(*lines, **setting, as_of=20), "c") == ("violated", day(11))
    sooner = did(6, "resume", "bob", commitment="c")
    assert state(follow(*lines, sooner, **setting, as_of=20), "c") == ("violated", day(10))
    past = did(5, "suspend", "bob", commitment="c", until=day(5))
    assert codes(follow(past, **setting)) == ["wrong_state"]


SEAT = promise("seat", f"x by {day(3)}")
PAY = promise("pay", "y within 2 days of violated(seat)", "violated(seat)")
FEE = promise("fee", f"z by {day(20)}", f"violated(seat) or w by {day(30)}")


@pytest.mark.parametrize(
    ("terms", "lines", "as_of", "remedy"),
    [
        ([SEAT], [], 9, "none"),
        ([SEAT, PAY], [said(2, "x")], 9, "none"),
        ([SEAT, PAY], [], 4, "due"),
        ([SEAT, PAY], [said(4, "y")], 9, "remedied"),
        ([SEAT, PAY], [], 9, "violated"),
        ([SEAT, PAY, FEE], [], 9, "due"),
        ([SEAT, PAY, FEE], [said(8, "z")], 9, "violated"),
        ([SEAT, PAY, FEE], [said(4, "y"), said(8, "z")], 9, "remedied"),
        ([SEAT, PAY], [did(4, "release", "bob", commitment="pay")], 9, "none"),
    ],
)
def test_22_remedies(terms: list[Any], lines: list[Any], as_of: int, remedy: str) -> None:
    assert follow(*lines, commitments=terms, as_of=as_of).commitments["seat"].remedy == remedy


@pytest.mark.parametrize("do", ["waive", "release"])
def test_22_a_waiver_is_noted_and_terminates_the_open_remedies(do: str) -> None:
    result = follow(did(4, do, "bob", commitment="seat"), commitments=[SEAT, PAY], as_of=9)
    assert (state(result, "seat"), notes(result, "seat")) == (("violated", day(3)), ("waived",))
    assert state(result, "pay") == ("terminated", day(4))
    assert result.clean
    again = follow(*(did(when, do, "bob", commitment="seat") for when in (4, 5)), commitments=[SEAT, PAY])
    assert codes(again) == ["terminal_state"]


EACH = {**WATER, "each": "order"}
REFUND = promise("refund", "refunded within 3 days of violated(water)", "violated(water)", each="order")


def test_23_early_performance_counts_for_an_instance_opened_later() -> None:
    lines = [said(2, "delivered", order="1"), said(4, "paid", "bob", order="1")]
    result = follow(*lines, commitments=[EACH])
    assert state(result, "water[1]") == ("satisfied", day(4))
    assert "water[1]" not in follow(lines[0], commitments=[EACH]).commitments


def test_23_reports_without_the_attribute_belong_to_no_instance() -> None:
    result = follow(PAID, said(5, "delivered"), commitments=[EACH])
    assert list(result.commitments) == ["water"]
    assert state(result, "water") == ("conditional", None)


def test_23_an_instance_opens_those_of_commitments_that_name_it_and_each_hears_its_own() -> None:
    lines = [said(4, "paid", "bob", order="1"), said(4, "paid", "bob", order="2"), said(5, "delivered", order="2")]
    result = follow(*lines, commitments=[EACH, REFUND], as_of=10)
    assert {name: status.state for name, status in result.commitments.items()} == {
        "water": "conditional",
        "water[1]": "violated",
        "water[2]": "satisfied",
        "refund": "conditional",
        "refund[1]": "detached",
        "refund[2]": "conditional",
    }
    assert result.commitments["water[1]"].remedy == "due"
    result = follow(*lines, said(10, "refunded", order="1"), commitments=[EACH, REFUND])
    assert (state(result, "refund[1]"), result.commitments["water[1]"].remedy) == (("satisfied", day(10)), "remedied")


def test_23_elsewhere_any_instance_counts_or_the_one_that_is_named() -> None:
    report = promise("report", "told", "violated(water)")
    first = promise("first", "told", "violated(water[1])")
    lines = [said(4, "paid", "bob", order="1"), said(5, "paid", "bob", order="2"), said(6, "delivered", order="1")]
    result = follow(*lines, commitments=[EACH, report, first], as_of=12)
    assert state(result, "report") == ("detached", day(10))
    assert state(result, "first") == ("conditional", None)
    assert result.commitments["water[2]"].remedy == "due"


def test_23_an_operation_is_on_all_and_refused_only_if_all_refuse() -> None:
    lines = [
        did(1, "create", "alice", commitment="water"),
        said(4, "paid", "bob", order="1"),
        said(4, "paid", "bob", order="2"),
        said(5, "delivered", order="1"),
    ]
    release = did(6, "release", "bob", commitment="water")
    result = follow(*lines, release, commitments=[EACH])
    assert [state(result, name)[0] for name in ("water[1]", "water[2]")] == ["satisfied", "terminated"]
    assert codes(result) == []
    assert codes(follow(*lines, release, {**release, "at": day(7)}, commitments=[EACH])) == ["terminal_state"]
    one = did(6, "release", "bob", commitment="water[1]")
    assert codes(follow(*lines, one, commitments=[EACH])) == ["terminal_state"]
    assert codes(follow(*lines, did(6, "release", "alice", commitment="water"), commitments=[EACH])) == ["not_allowed"]


def test_23_an_operation_that_all_refuse_leaves_the_offer_as_it_is() -> None:
    done = [said(4, "paid", "bob", order="1"), said(5, "delivered", order="1")]
    resume = did(6, "resume", "carol", commitment="water")
    result = follow(*done, resume, said(7, "paid", "bob", order="2"), commitments=[EACH], powers={"suspend": ["carol"]})
    assert codes(result) == ["terminal_state"]
    assert state(result, "water[2]") == ("detached", day(7))


def test_23_a_standing_offer_whose_instances_have_all_ended_can_be_withdrawn() -> None:
    done = [said(4, "paid", "bob", order="1"), said(5, "delivered", order="1")]
    for do, by in (("release", "bob"), ("cancel", "alice")):
        withdrawn = did(6, do, by, commitment="water")
        result = follow(*done, withdrawn, said(7, "paid", "bob", order="2"), commitments=[EACH])
        assert not codes(result)
        assert {name: status.state for name, status in result.commitments.items()} == {
            "water": "terminated",
            "water[1]": "satisfied",
        }


def test_23_what_concerns_all_instances_concerns_later_ones_too() -> None:
    terms = promise("c", "x within 2 days of agreed and y", f"paid by {day(9)}", each="order")
    lines = [said(3, "agreed"), said(4, "paid", "bob", order="1"), said(4, "paid", "bob", order="2")]
    result = follow(*lines, commitments=[terms], as_of=9)
    assert [state(result, f"c[{value}]") for value in (1, 2)] == [("violated", day(5))] * 2


def test_23_what_is_withdrawn_opens_nothing_more() -> None:
    lines = [did(2, "cancel", "alice", commitment="water"), said(4, "paid", "bob", order="1")]
    result = follow(*lines, commitments=[EACH])
    assert {name: status.state for name, status in result.commitments.items()} == {"water": "terminated"}


def test_23_an_instance_is_not_older_than_what_opened_it() -> None:
    terms = {**EACH, "if": f"at least 2 paid by {day(11)}"}
    make = did(1, "create", "alice", commitment="water")
    result = follow(make, said(4, "paid", "bob", order="1"), commitments=[terms])
    assert state(result, "water[1]") == ("conditional", day(4))


def test_23_without_an_antecedent_events_of_the_consequent_open() -> None:
    terms = promise("c", f"at least 2 x by {day(9)}", each="order")
    result = follow(said(4, "x", order="1"), commitments=[terms], as_of=10)
    assert state(result, "c[1]") == ("violated", day(9))


# -- output (24) ------------------------------------------------------------------------------------------------------


def test_24_because_names_the_places_in_the_file() -> None:
    lines = [said(7, "delivered"), MAKE, PAID]
    result = follow(*lines)
    assert result.commitments["water"].because == (1,)
    assert follow(*lines[1:]).commitments["water"].because == (2,)
    assert follow(MAKE, PAID, as_of=20).commitments["water"].because == (2,)  # the payment that started the clock
    confirmed = follow(
        said(4, "delivered", id="d"),
        did(5, "confirm", "bob", report="d"),
        commitments=[promise("c", "delivered")],
        events=NEEDS_CONFIRMATION,
    )
    assert confirmed.commitments["c"].because == (1, 2)


@pytest.mark.parametrize(
    ("terms", "lines", "clean"),
    [
        ([SEAT], [said(2, "x")], True),
        ([SEAT], [], False),
        ([SEAT, FEE], [], True),
        ([SEAT, PAY], [], False),
        ([SEAT], [did(5, "waive", "bob", commitment="seat")], True),
    ],
)
def test_24_strict(terms: list[Any], lines: list[Any], clean: bool) -> None:
    assert follow(*lines, commitments=terms, as_of=9).clean is clean
