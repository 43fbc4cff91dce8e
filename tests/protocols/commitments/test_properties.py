"""What must be so of every history: drawn ones, with distinct times and all that the life cycle has."""

from copy import deepcopy
from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols.commitments.lifecycle import TERMINAL
from protocols.commitments.tracker import Act, Tracker
from protocols.core.instants import DAY, HOUR, parse_instant
from protocols.messages.commitments import CommitmentTerms, EventRule
from swarm.history.tracking import track
from tests.support.histories import START, day, did, history, promise, said

IDS = ("a", "b", "c", "d", "e", "f")
TERMS = [
    promise("a", "x within 5 days of p", f"p by {day(11)}"),
    promise("b", "y within 3 days of violated(a) or no x within 4 days of p", "violated(a) or at least 2 x"),
    promise("c", f"no q by {day(12)} and x totalling n >= 3 by {day(14)}", debtor="bob"),
    promise("d", f"(x or y before {day(9)}) after {day(3)} within 6 days of (p and q)", f"not_q by {day(8)}"),
    promise("e", "x(n >= 2) within 4 days of p", f"p by {day(12)}", each="k"),
    promise("f", f"q by {day(16)}", "violated(e) or unconfirmed(a)", each="k"),
]
EVENTS = {
    "x": {"by": "alice", "confirmed_by": "bob", "decided_by": "carol", "confirm_within": "3 days", "silence": "denies"},
    "p": {"by": "bob", "confirmed_by": "alice"},
}
SETTING: dict[str, Any] = {"commitments": TERMS, "events": EVENTS, "powers": {"suspend": ["carol"]}}

names = st.sampled_from(IDS)
operations = st.one_of(
    st.tuples(st.sampled_from(["cancel", "release", "waive", "suspend", "resume"]), names, st.just(None)),
    st.tuples(st.sampled_from(["delegate", "assign"]), names, st.sampled_from(["alice", "bob", "carol"])),
    st.tuples(st.just("accept"), names, st.just(None)),
)
PARTIES = st.sampled_from(["alice", "bob", "carol"])


@st.composite
def lines(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Creations on the first day, then up to 25 lines at distinct times of the next three weeks, often by who may."""
    times = draw(st.lists(st.integers(4, 21 * 4), unique=True, max_size=25))
    made: list[dict[str, Any]] = [
        did(f"2026-01-01T00:00:0{place}Z", "create", "bob" if name == "c" else "alice", commitment=name)
        for place, name in enumerate(IDS)
        if draw(st.integers(0, 9)) > 0
    ]
    for number, time in enumerate(sorted(times)):
        at = day(1, time * 6 * HOUR)
        kind = draw(st.integers(0, 9))
        if kind < 6:
            event = draw(st.sampled_from(["x", "x", "p", "p", "q", "y", "not_q"]))
            by = {"x": "alice", "p": "bob"}.get(event, "alice")
            fields = {"n": draw(st.sampled_from(["1", "2", "2.5"])), "k": draw(st.sampled_from(["1", "2"]))}
            made.append(said(at, event, by, id=f"r{number}", **fields))
        elif kind < 8:
            do, by = draw(st.sampled_from([("confirm", "alice"), ("confirm", "bob"), ("dispute", "bob")]))
            made.append(did(at, do, by, report=f"r{draw(st.integers(0, 25))}"))
        else:
            do, name, to = draw(operations)
            extra = {} if to is None else {"to": to}
            by = "carol" if do in ("suspend", "resume") else draw(PARTIES)
            made.append(did(at, do, by, commitment=name, **extra))
    return made


def outcome(file: Any, as_of: str | None = None) -> dict[str, Any]:
    plain = track(file, as_of).plain()
    for status in plain["commitments"].values():
        del status["because"]
    return plain


@given(lines(), st.randoms(use_true_random=False))
def test_the_order_in_the_file_does_not_matter(found: list[Any], dice: Any) -> None:
    shuffled = list(found)
    dice.shuffle(shuffled)
    one, other = outcome(history(*found, **SETTING)), outcome(history(*shuffled, **SETTING))
    assert one["commitments"] == other["commitments"]
    assert [refusal["code"] for refusal in one["refused"]] == [refusal["code"] for refusal in other["refused"]]


@given(lines(), st.integers(0, 30 * 4), st.sampled_from([-1, 0, 1]))
def test_the_whole_as_of_a_time_is_the_history_cut_there(found: list[Any], quarter: int, micros: int) -> None:
    as_of = day(2, quarter * 6 * HOUR + micros)  # every creation lies before
    cut = [line for line in found if parse_instant(line["at"]) <= parse_instant(as_of)]
    assert outcome(history(*found, **SETTING), as_of) == outcome(history(*cut, **SETTING), as_of)


def fresh(**options: Any) -> Tracker:
    rules = {name: EventRule.model_validate(rule) for name, rule in EVENTS.items()}
    made = Tracker(["alice", "bob", "carol"], rules, {"suspend": ["carol"]}, **options)
    for terms in TERMS:
        made.declare(CommitmentTerms.model_validate(terms), assumed=False)
    return made


def acts(found: list[Any]) -> list[Act]:
    made = []
    for item, line in enumerate(found, 1):
        attributes = {key: line[key] for key in ("n", "k") if key in line}
        fields = {key: line[key] for key in ("commitment", "to", "event", "report") if key in line}
        if "event" in line:
            fields |= {"report": line["id"], "attributes": attributes}
        made.append(Act(parse_instant(line["at"]), item, line["by"], line.get("do", "report"), **fields))
    return made


END = START + 40 * DAY


def views(tracker: Tracker) -> Any:
    return tracker.statuses(), tracker.open(), tracker.moving(), tracker.next_deadline(), tracker.findings()


@given(lines(), st.integers(0, 30))
def test_replaying_in_two_parts_is_replaying_once(found: list[Any], cut: int) -> None:
    whole, first = fresh(), fresh()
    for act in acts(found):
        whole.apply(act)
    for act in acts(found)[:cut]:
        first.apply(act)
    second = deepcopy(first)
    kept = views(first)
    for act in acts(found)[cut:]:
        second.apply(act)
    whole.advance(END)
    second.advance(END)
    assert views(second) == views(whole)
    assert second == whole
    assert views(first) == kept, "the copy shares nothing with the original"


@given(lines())
def test_a_terminal_state_never_changes(found: list[Any]) -> None:
    tracker = fresh()
    ended: dict[str, tuple[Any, ...]] = {}
    for act in [*acts(found), None]:
        if act is None:
            tracker.advance(END)
        else:
            tracker.apply(act)
        for name, status in tracker.statuses().items():
            now = (status.state, status.since, status.debtor, status.creditor)
            assert ended.get(name, now) == now
            if status.state in TERMINAL:
                ended[name] = now


@given(lines())
def test_transitions_tell_every_change_of_state_and_refusals_change_nothing(found: list[Any]) -> None:
    tracker = fresh()
    states: dict[str, str] = {}
    for act in acts(found):
        moved = tracker.advance(act.at)
        before = tracker.statuses()
        applied = tracker.apply(act)
        if applied.refusals:
            assert tracker.statuses() == before
        for transition in [*moved, *applied.transitions]:
            assert states.get(transition.commitment, "none") == transition.before != transition.after
            assert transition.since is None or transition.since <= transition.at == act.at
            states[transition.commitment] = transition.after
        now = {name: status.state for name, status in tracker.statuses().items() if status.state != "none"}
        assert now == states


@given(lines())
def test_nothing_changes_before_the_next_deadline_and_asking_changes_nothing(found: list[Any]) -> None:
    tracker = fresh()
    tracker.advance(START)
    for act in acts(found):
        tracker.apply(act)
    asked = deepcopy(tracker)
    views(asked)
    assert asked == tracker
    while (deadline := tracker.next_deadline()) is not None:
        states = {name: status.state for name, status in tracker.statuses().items()}
        tracker.advance(deadline)
        assert {name: status.state for name, status in tracker.statuses().items()} == states
        assert tracker.next_deadline() == deadline
        tracker.advance(deadline + 1)
    final = tracker.statuses()
    tracker.advance(END + 3650 * DAY)
    assert tracker.statuses() == final


@given(lines())
def test_sweeping_often_is_sweeping_once(found: list[Any]) -> None:
    often, once = fresh(), fresh()
    for act in acts(found):
        for moment in range(START, act.at, 3 * DAY):
            often.advance(moment)
        often.apply(act)
        once.apply(act)
    for moment in range(START, END, 6 * HOUR):
        often.advance(moment)
    often.advance(END)
    once.advance(END)
    assert often.statuses() == once.statuses()


@given(lines())
def test_terms_declared_late_see_the_same_past(found: list[Any]) -> None:
    """A promise made in a room knows what was reported before it; one in a file is there from the start."""
    made = [act for act in acts(found) if act.do != "create"]
    rules = {name: EventRule.model_validate(rule) for name, rule in EVENTS.items()}
    trackers = [Tracker(["alice", "bob", "carol"], rules, {"suspend": ["carol"]}) for _ in range(2)]
    terms = [CommitmentTerms.model_validate(plain) for plain in TERMS]
    half = len(made) // 2
    reports = [act for act in made[:half] if act.do in ("report", "confirm", "dispute")]
    middle = reports[-1].at if reports else START
    for tracker, declared_late in zip(trackers, (False, True), strict=True):
        if not declared_late:
            for one in terms:
                tracker.declare(one, assumed=False)
        for act in reports:
            tracker.apply(act)
        if declared_late:
            for one in terms:
                tracker.declare(one, assumed=False)
        for number, one in enumerate(terms):
            tracker.apply(Act(middle, 100 + number, one.debtor, "create", commitment=one.id))
        for act in made[half:]:
            tracker.apply(act)
        tracker.advance(END)
    plain = [
        {name: (status.state, status.since, status.remedy) for name, status in tracker.statuses().items()}
        for tracker in trackers
    ]
    assert plain[0] == plain[1]


def test_tr_05_orders_of_arrival_end_the_same() -> None:
    """What is early waits in the history for its time: any order of the lines, each once or twice."""
    base = [
        did(1, "create", "alice", commitment="a"),
        said(2, "p", "bob", id="p1"),
        did(3, "confirm", "alice", report="p1"),
        said(4, "y", id="y1"),
        did(5, "release", "bob", commitment="a"),
    ]
    expected = outcome(history(*base, **SETTING))["commitments"]
    for order in permutations(base):
        assert outcome(history(*order, **SETTING))["commitments"] == expected
    twice = outcome(history(*base, *base, **SETTING))
    assert twice["commitments"]["a"]["state"] == expected["a"]["state"]
    assert {refusal["code"] for refusal in twice["refused"]} == {"wrong_state", "terminal_state"}
