"""The tracker as a room uses it: acts of bodies, deadlines, who is asked for what, and terms that come late."""

from typing import Any

import pytest
from pydantic import ValidationError

from protocols.commitments.conditions import ConditionError
from protocols.commitments.reports import check_authority
from protocols.commitments.tracker import Act, Tracker, act_of
from protocols.core.instants import DAY
from protocols.messages.commitments import (
    COMMITMENT_BODIES,
    CommitmentTerms,
    CreateCommitment,
    DecideReport,
    EventRule,
    ReportEvent,
    SuspendCommitment,
)
from tests.support.histories import START, day, instant, promise

PARTIES = ["alice", "bob", "carol"]
RULES = {
    "paid": EventRule(by="bob", confirmed_by="alice"),
    "delivered": EventRule(by="alice", confirmed_by="bob", decided_by="carol"),
    "noted": EventRule(),
}


def terms(*given: Any, **fields: Any) -> CommitmentTerms:
    return CommitmentTerms.model_validate(promise(*given, **fields))


def room(*made: CommitmentTerms, **options: Any) -> Tracker:
    """A tracker as a room has it, with commitments created on the first of January."""
    tracker = Tracker(PARTIES, RULES, {"suspend": ["carol"]}, listed_events_only=True, **options)
    tracker.advance(START)
    create(tracker, *made, at=START)
    return tracker


def create(tracker: Tracker, *made: CommitmentTerms, at: int) -> None:
    for one in made:
        tracker.declare(one, assumed=False)
    for one in made:
        assert not tracker.apply(Act(at, 1, one.debtor, "create", commitment=one.id)).refusals


def report(when: int, event: str, by: str, name: str, **attributes: str) -> Act:
    return Act(when, 9, by, "report", report=name, event=event, attributes=attributes)


WATER = terms("water", "delivered within 5 days of paid", f"paid by {day(11)}")
REFUND = terms("refund", "noted within 3 days of violated(water)", "violated(water)")


def test_a_body_becomes_acts_and_a_report_has_the_id_of_its_entry() -> None:
    where: dict[str, Any] = {"at": START, "item": 7, "by": "alice", "entry_id": "f00d"}
    made = act_of(CreateCommitment(commitments=[WATER, REFUND]), **where)
    assert [(act.do, act.commitment, act.item) for act in made] == [("create", "water", 7), ("create", "refund", 7)]
    (said,) = act_of(ReportEvent(event="paid", attributes={"amount": "1"}), **where)
    assert (said.do, said.report, said.event, said.attributes) == ("report", "f00d", "paid", {"amount": "1"})
    (decided,) = act_of(DecideReport(report="f00d", holds=False), **where)
    assert (decided.do, decided.report, decided.holds) == ("decide", "f00d", False)
    (stopped,) = act_of(SuspendCommitment(commitment="water", until=day(3)), **where)
    assert (stopped.do, stopped.until) == ("suspend", instant(3))
    for kind in COMMITMENT_BODIES:
        fields: dict[str, Any] = {
            "commitment": "water",
            "to": "bob",
            "event": "e",
            "report": "r",
            "holds": True,
            "offer": "o",
        }
        fields |= {"commitments": [WATER]}
        body = kind(**{name: value for name, value in fields.items() if name in kind.model_fields})
        assert [act.do for act in act_of(body, **where)] == [body.kind.partition(".")[2]]
        with pytest.raises(ValidationError):
            kind(**{**body.model_dump(), "extra": 1})


def test_terms_have_one_json_form_with_if_and_then() -> None:
    assert terms("c", "x").plain() == {"id": "c", "debtor": "alice", "creditor": "bob", "then": "x"}
    plain = promise("c", "x", "y", each="k", excludes=["d"])
    assert CommitmentTerms.model_validate(plain).plain() == plain


@pytest.mark.parametrize(
    "rule",
    [
        {"silence": "confirms", "confirmed_by": "bob"},
        {"confirm_within": "1 day", "silence": "denies"},
        {"decided_by": "bob"},
        {"confirmed_by": "bob", "confirm_within": "1 month", "silence": "denies"},
        {"confirmed_by": "bob", "confirm_within": "1 day", "silence": "maybe"},
        {"by": "bob", "reported_by": "bob"},
    ],
)
def test_rules_that_could_have_no_effect_are_refused(rule: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        EventRule.model_validate(rule)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (terms("c", "delivered", debtor="zoe"), "debtor: 'zoe' is no party"),
        (terms("c", "delivered", creditor="zoe"), "creditor: 'zoe' is no party"),
        (terms("c", "shipped"), "then: 'shipped' is no event of this room (events: paid, delivered, noted, agreed)"),
        (terms("c", "delivered", "shipped or paid"), "if: 'shipped' is no event"),
        (terms("c", "delivered within 1 day of (paid and shipped)"), "'shipped' is no event"),
        (terms("c", "violated(c)"), "then: violated(c) is about this commitment itself"),
        (terms("c", "delivered", "violated(zzz)"), "if: violated(zzz) names no commitment that is known"),
        (terms("c", "delivered", "violated(water[1])"), "water has no instances"),
        (terms("c", "no delivered"), "no delivered has no end"),
        (terms("c", "delivered by tomorrow"), "'tomorrow' is not a time"),
        (terms("c", "delivered", excludes=["zzz"]), "excludes: no other commitment has the id 'zzz'"),
        (terms("c", "delivered", excludes=["c"]), "excludes: no other commitment has the id 'c'"),
    ],
)
def test_terms_that_cannot_be_are_refused_with_what_is_valid(made: CommitmentTerms, message: str) -> None:
    with pytest.raises(ConditionError) as refused:
        room(WATER).check(made)
    assert message in str(refused.value)


def test_terms_that_can_be_are_checked_with_those_that_come_along() -> None:
    tracker = room(WATER)
    tracker.check(terms("c", "delivered and agreed", "violated(water) or created(d)"), frozenset({"d"}))
    assert (tracker.knows("water"), tracker.knows("c")) == (True, False)
    with pytest.raises(ValueError, match="two commitments have the id 'water'"):
        tracker.declare(WATER, assumed=False)


@pytest.mark.parametrize(
    ("events", "powers", "message"),
    [
        ({"e": EventRule(by="zoe")}, {}, "events.e.by: 'zoe' is no party"),
        ({"e": EventRule(confirmed_by="zoe")}, {}, "events.e.confirmed_by: 'zoe' is no party"),
        ({}, {"suspend": ["zoe"]}, "powers.suspend: 'zoe' is no party"),
        ({}, {"fire": ["bob"]}, "'fire' is no power (valid: suspend, resume)"),
    ],
)
def test_authority_names_only_parties(events: Any, powers: Any, message: str) -> None:
    with pytest.raises(ValueError, match="no p") as refused:
        check_authority(PARTIES, events, powers)
    assert message in str(refused.value)


def test_in_a_room_only_listed_events_are_reported_and_agreed_by_nobody() -> None:
    tracker = room(terms("c", "delivered", "agreed"))
    for event in ("shipped", "agreed"):
        (refused,) = tracker.apply(report(START, event, "alice", event)).refusals
        assert refused.code == "not_allowed"
    tracker.agree(instant(2), 5)
    assert (tracker.status("c").state, tracker.status("c").because) == ("detached", (5,))


def test_deadlines_are_told_and_nothing_changes_at_them() -> None:
    tracker = room(WATER, REFUND)
    assert tracker.next_deadline() == instant(11)
    tracker.apply(report(instant(4), "paid", "bob", "p"))
    tracker.apply(Act(instant(5), 2, "alice", "confirm", report="p"))
    assert tracker.next_deadline() == instant(10)
    assert tracker.advance(instant(10)) == []
    moved = tracker.advance(instant(12))
    assert [(m.commitment, m.before, m.after, m.since, m.at) for m in moved] == [
        ("water", "detached", "violated", instant(10), instant(12)),
        ("refund", "conditional", "detached", instant(10), instant(12)),
    ]
    assert tracker.next_deadline() == instant(13)
    tracker.advance(instant(13, 1))
    assert (tracker.next_deadline(), tracker.open(), tracker.moving()) == (None, [], [])


def test_time_never_runs_backwards() -> None:
    tracker = room(terms("c", f"noted by {day(3)}"))
    tracker.advance(instant(5))
    tracker.apply(report(instant(2), "noted", "alice", "n"))
    assert tracker.status("c").state == "violated"


def test_who_is_asked_to_confirm_and_who_may_report() -> None:
    tracker = room(WATER)
    tracker.apply(report(instant(2), "paid", "bob", "p", amount="1"))
    tracker.apply(report(instant(3), "delivered", "alice", "d"))
    (asked,) = tracker.awaiting("alice")
    assert (asked.id, asked.event, asked.by, asked.at, asked.attributes) == (
        "p",
        "paid",
        "bob",
        instant(2),
        {"amount": "1"},
    )
    assert [asked.id for asked in tracker.awaiting("bob")] == ["d"]
    assert tracker.awaiting("carol") == []
    tracker.apply(Act(instant(4), 3, "bob", "dispute", report="d"))
    tracker.apply(Act(instant(4), 4, "alice", "confirm", report="p"))
    assert tracker.awaiting("alice") == tracker.awaiting("bob") == []
    assert tracker.reportable("alice") == ["delivered", "noted"]
    assert tracker.reportable("carol") == ["noted"]


def test_a_remedy_of_what_was_kept_is_open_and_does_not_move() -> None:
    second = terms("second", "noted", "violated(refund)")
    tracker = room(WATER, REFUND, second)
    assert tracker.moving() == ["water", "refund", "second"]
    tracker.apply(report(instant(2), "paid", "bob", "p"))
    tracker.apply(Act(instant(2), 2, "alice", "confirm", report="p"))
    tracker.apply(report(instant(3), "delivered", "alice", "d"))
    assert tracker.moving() == ["water", "refund", "second"]
    tracker.apply(Act(instant(4), 3, "bob", "confirm", report="d"))
    assert (tracker.open(), tracker.moving()) == (["refund", "second"], [])


def test_what_waits_for_itself_in_a_circle_does_not_move_and_what_has_an_end_does() -> None:
    circle = [terms("one", "noted", "detached(two)"), terms("two", "noted", "detached(one)")]
    assert room(*circle).moving() == []
    ending = terms("ending", "noted", f"detached(one) by {day(9)}")
    assert room(*circle, ending).moving() == ["ending"]


def test_since_tells_an_onlooker_when_it_came_true() -> None:
    tracker = room(WATER, REFUND)
    asked = ["paid", "agreed", "created(water)", "expired(water)", "detached(refund)", "at least 2 noted"]
    assert [tracker.since(condition) for condition in asked] == [None, None, START, None, None, None]
    tracker.apply(report(instant(2), "paid", "bob", "p"))
    assert tracker.since("paid") is None
    tracker.apply(Act(instant(3), 2, "alice", "confirm", report="p"))
    tracker.agree(instant(3, 5), 3)
    for number in (4, 5, 6):
        tracker.apply(report(instant(number), "noted", "carol", f"n{number}"))
    assert tracker.since("paid") == instant(3), "an onlooker knows it once it is established"
    assert tracker.since("agreed") == instant(3, 5)
    assert tracker.since("at least 2 noted and agreed") == instant(5)
    assert tracker.since(f"no delivered by {day(5)}") == instant(5)
    assert tracker.since("no delivered within 2 days of agreed") == instant(5, 5)
    assert tracker.since(f"noted before {day(4)}") is None
    tracker.advance(instant(20))
    assert tracker.since("violated(water)") == instant(8)
    assert tracker.since("satisfied(refund)") == instant(4), "noted early counts"
    assert tracker.since("expired(water)") is None
    with pytest.raises(ConditionError):
        tracker.since("violated(")


def test_what_was_reported_before_terms_came_counts_for_them() -> None:
    tracker = room()
    tracker.agree(instant(2), 1)
    tracker.apply(report(instant(3), "noted", "bob", "n", n="2"))
    tracker.apply(report(instant(4), "delivered", "alice", "d"))
    create(
        tracker,
        terms("late", f"delivered by {day(9)}", "agreed and noted(n >= 2)"),
        terms("clock", f"noted(n = 3) within 5 days of agreed by {day(9)}"),
        terms("each", "at least 2 noted", each="n"),
        at=instant(5),
    )
    assert (tracker.status("late").state, tracker.status("late").since) == ("detached", instant(5))
    assert tracker.status("each[2]").state == "detached"
    tracker.apply(Act(instant(6), 5, "bob", "confirm", report="d"))
    assert (tracker.status("late").state, tracker.status("late").since) == ("satisfied", instant(5))
    tracker.advance(instant(8))
    assert (tracker.status("clock").state, tracker.status("clock").since) == ("violated", instant(7))


def test_a_remedy_declared_after_the_violation_is_detached_by_it() -> None:
    tracker = room(terms("seat", f"delivered by {day(2)}", each="k"), terms("one", f"paid by {day(2)}"))
    tracker.apply(report(instant(1), "delivered", "alice", "d", k="7"))
    tracker.advance(instant(5))
    tracker.apply(Act(instant(6), 1, "bob", "dispute", report="d"))
    tracker.apply(Act(instant(6), 1, "carol", "decide", report="d", holds=False))
    late = [terms("pay", "noted", "violated(one)"), terms("pay7", "noted", "violated(seat)", each="k")]
    create(tracker, *late, at=instant(8))
    assert (tracker.status("pay").state, tracker.status("pay").since) == ("detached", instant(8))
    assert (tracker.status("pay7[7]").state, tracker.status("pay7[7]").since) == ("detached", instant(8))
    assert tracker.status("one").remedy == tracker.status("seat[7]").remedy == "due"


def test_a_forgetful_tracker_takes_no_late_terms_and_no_questions_about_the_past() -> None:
    tracker = Tracker(PARTIES, RULES, keeps_past=False)
    tracker.declare(WATER, assumed=True)
    tracker.advance(START)
    with pytest.raises(ValueError, match="takes no terms once something was said"):
        tracker.declare(REFUND, assumed=True)
    with pytest.raises(ValueError, match="does not keep the past"):
        tracker.since("paid")


def test_instances_are_bounded_in_a_room() -> None:
    tracker = room(terms("c", "noted", "paid", each="k"), most_instances=2)
    for number in ("1", "2"):
        assert not tracker.apply(report(START, "paid", "bob", number, k=number)).refusals
    (refused,) = tracker.apply(report(START, "paid", "bob", "3", k="3")).refusals
    assert (refused.code, refused.why) == ("wrong_state", "the commitments of a room have at most 2 instances")
    assert not tracker.apply(report(START, "paid", "bob", "4", k="2")).refusals


def test_what_has_ended_is_not_kept_and_deadlines_do_not_pile_up() -> None:
    tracker = Tracker(PARTIES, {}, keeps_past=False, most_instances=None)
    tracker.declare(terms("c", "noted within 300 days of paid", "paid", each="k"), assumed=True)
    for number in range(5_000):
        at = START + number
        tracker.apply(Act(at, 1, "bob", "report", event="paid", attributes={"k": str(number)}))
        tracker.apply(Act(at, 2, "alice", "report", event="noted", attributes={"k": str(number)}))
    machine = tracker._machine
    assert len(machine.deadlines.heap) < 1_100
    assert all(instance.marks is None for instance in machine.instances if instance.value is not None)
    assert tracker.next_deadline() is None


def test_status_of_an_unknown_commitment_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        room(WATER).status("fire")


def test_a_chain_of_remedies_falls_in_one_sweep_in_its_order() -> None:
    chain = [terms("c0", f"noted by {day(2)}")]
    for number in range(1, 30):
        name = f"violated(c{number - 1})"
        chain.append(terms(f"c{number}", f"noted within 1 day of {name}", f"{name} by {day(2 + number)}"))
    tracker = room(*reversed(chain))
    moved = [m for m in tracker.advance(START + 60 * DAY) if m.after == "violated"]
    assert [(m.commitment, m.since) for m in moved] == [(f"c{n}", instant(2 + n)) for n in range(30)]


def test_at_one_instant_what_others_come_to_is_known_before_anything_is_called_impossible() -> None:
    """Both windows close at the same instant; the one that waits for the other's end still gets it."""
    late = terms("late", "noted", f"violated(a) by {day(5)} and expired(b) by {day(5)}")
    a, b = terms("a", f"noted by {day(5)}"), terms("b", "noted", f"noted by {day(5)}")
    for order in ([late, a, b], [a, b, late]):
        tracker = room(*order)
        tracker.advance(instant(6))
        assert (tracker.status("late").state, tracker.status("late").since) == ("detached", instant(5))
