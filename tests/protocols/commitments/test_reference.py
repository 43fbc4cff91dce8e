"""The tracker against a second one, written from the clauses alone, and against itself told sooner.

One thing happens a day, so that whatever changes on a day is since that day.
"""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.commitments.tree import After, And, AtLeast, Before, By, Condition, Event, No, Or, Timed, Within
from protocols.core.instants import DAY
from tests.support.fuzz_values import fuzzed
from tests.support.histories import START, day, did, follow, instant, said
from tests.support.slow_fold import Slow

DAYS = 14
EVENTS = "abcd"
ASKED = {"c": {"confirmed_by": "bob", "decided_by": "carol"}, "d": {"confirmed_by": "bob", "decided_by": "carol"}}
"""Of the events, those whose reports bob confirms."""

times = st.integers(1, DAYS).map(instant)
durations = st.integers(0, 5).map(lambda days: days * DAY)
events = st.sampled_from(EVENTS).map(Event)
ends = st.one_of(st.builds(By, times), st.builds(Before, times))


def conditions(inner: st.SearchStrategy[Any] | None) -> st.SearchStrategy[Any]:
    """Conditions whose clocks start with *inner*, or with any event."""
    starts = events if inner is None else st.one_of(events, events, inner)
    windows = st.one_of(ends, st.builds(Within, durations, starts))
    several = st.tuples(windows, st.lists(windows | st.builds(After, times), max_size=1))
    windowed = several.map(lambda found: (found[0], *found[1]))
    counted = events | st.builds(AtLeast, st.integers(1, 3), events)
    leaves = st.one_of(
        counted,
        st.builds(Timed, counted, windowed),
        st.builds(Timed, counted, windowed),
        st.builds(No, counted, windowed),
    )
    return st.one_of(
        leaves,
        leaves,
        st.tuples(leaves, leaves).map(And),
        st.tuples(leaves, leaves).map(Or),
        st.tuples(leaves, st.tuples(leaves, leaves).map(Or)).map(And),
    )


trees = conditions(conditions(None))

Line = tuple[str, str | int]
reports = st.sampled_from(EVENTS).map(lambda event: ("report", event))
answers = st.tuples(st.sampled_from(["confirm", "confirm", "dispute", "uphold", "deny"]), st.integers(0, 7))
operations = st.sampled_from(["suspend", "resume", "suspend", "resume", "cancel", "release"]).map(lambda do: (do, ""))
days = st.one_of(
    *[st.none()] * 2,
    *[reports] * 4,
    *[answers] * 3,
    operations,
)
lines = st.lists(days, min_size=DAYS, max_size=DAYS + 4).map(
    lambda found: {number: line for number, line in enumerate(found, 1) if line is not None}
)


def slow(if_: Condition | None, then: Condition, happening: dict[int, Line], end: int) -> tuple[str, str | None]:
    """Return the state and since when, by the second fold."""
    fold = Slow(if_, then, START)
    for phase in range(3, 3 * end + 2):
        fold.now = phase
        if phase % 3 == 1 and phase // 3 in happening:
            do, what = happening[phase // 3]
            if do == "report":
                fold.report(str(what), what in ASKED)
            elif isinstance(what, int):
                fold.answer(do, what)
            else:
                fold.act(do)
        fold.settle()
    return fold.state, None if fold.since is None else day(fold.since)


def quick(if_: Condition | None, then: Condition, happening: dict[int, Line], end: int) -> tuple[str, str | None]:
    """Return the state and since when, by the tracker."""
    made: list[dict[str, Any]] = []
    count = 0
    for number, (do, what) in sorted(happening.items()):
        if do == "report":
            made.append(said(number, str(what), id=f"r{count}"))
            count += 1
        elif isinstance(what, int):
            by, named = ("bob", do) if do in ("confirm", "dispute") else ("carol", "decide")
            holds = {} if named != "decide" else {"holds": do == "uphold"}
            made.append(did(number, named, by, report=f"r{what}", **holds))
        else:
            by = {"suspend": "carol", "resume": "carol", "release": "bob"}.get(do, "alice")
            made.append(did(number, do, by, commitment="c"))
    terms = {"id": "c", "debtor": "alice", "creditor": "bob", "then": str(then)}
    if if_ is not None:
        terms["if"] = str(if_)
    result = follow(*made, commitments=[terms], events=ASKED, powers={"suspend": ["carol"]}, as_of=end)
    status = result.plain()["commitments"]["c"]
    return status["state"], status["since"]


@fuzzed(short=300, long=10_000)
def test_two_folds_say_the_same(examples: settings) -> None:
    """Whatever is promised, reported, answered, suspended and withdrawn: state and since, by two independent folds."""

    @examples
    @given(st.none() | trees, trees, lines, st.integers(1, 4), st.integers(4, DAYS + 8))
    @example(
        Event("a"),
        No(Event("b"), (Within(0, Event("b")), By(instant(1)))),
        {1: ("report", "b"), 3: ("report", "b")},
        2,
        3,
    )
    def holds(if_: Condition | None, then: Condition, happening: dict[int, Line], created: int, end: int) -> None:
        history = {**happening, created: ("create", "")}
        assert quick(if_, then, history, end) == slow(if_, then, history, end)

    holds()


@fuzzed(short=200, long=10_000)
def test_whoever_waits_changes_nothing(examples: settings) -> None:
    """A report answered at once or at the end: the state is the same, though no clock starts with what is confirmed."""
    plain = conditions(None).filter(lambda found: not {"c", "d"} & _clock_events(found))

    @examples
    @given(
        st.none() | plain,
        plain,
        st.lists(st.sampled_from(f"{EVENTS}-"), min_size=5, max_size=DAYS - 1),
        st.sets(st.integers(0, 7)),
        st.randoms(use_true_random=False),
    )
    def holds(if_: Condition | None, then: Condition, happened: list[str], false: set[int], dice: Any) -> None:
        told = [(number, event) for number, event in enumerate(happened, 2) if event != "-"]
        answers = [
            (f"r{place}", "dispute" if place in false else "confirm")
            for place, (_, event) in enumerate(told)
            if event in ASKED
        ]
        terms = {"id": "c", "debtor": "alice", "creditor": "bob", "then": str(then)}
        if if_ is not None:
            terms["if"] = str(if_)
        make = did(1, "create", "alice", commitment="c")
        reported = [said(number, event, id=f"r{place}") for place, (number, event) in enumerate(told)]
        states = []
        for late in (False, True):
            made = list(reported)
            order = list(answers)
            if late:
                dice.shuffle(order)
            for place, (report, do) in enumerate(order):
                at = DAYS + 10 + place if late else told[int(report[1:])][0]
                made.append(did(at, do, "bob", report=report))
                if do == "dispute":
                    made.append(did(at, "decide", "carol", report=report, holds=False))
            result = follow(make, *made, commitments=[terms], events=ASKED, as_of=DAYS + 30)
            states.append(result.plain()["commitments"]["c"]["state"])
        assert states[0] == states[1]

    holds()


def _clock_events(condition: Condition) -> set[str]:
    if isinstance(condition, And | Or):
        return set().union(*map(_clock_events, condition.parts))
    windows = condition.windows if isinstance(condition, Timed | No) else ()
    return {window.of.name for window in windows if isinstance(window, Within) and isinstance(window.of, Event)}


def test_the_second_fold_itself_tells_kept_from_broken() -> None:
    within = Timed(Event("a"), (Within(2 * DAY, Event("b")),))
    made = {1: ("create", ""), 3: ("report", "b")}
    assert slow(None, within, {**made, 5: ("report", "a")}, 9) == ("satisfied", day(5))
    assert slow(None, within, {**made, 6: ("report", "a")}, 9) == ("violated", day(5))
    asked = Timed(Event("c"), (By(instant(5)),))
    told: dict[int, Line] = {1: ("create", ""), 3: ("report", "c")}
    assert slow(None, asked, told, 9) == ("unconfirmed", day(5))
    assert slow(None, asked, {**told, 7: ("dispute", 0)}, 9) == ("disputed", day(7))
    assert slow(None, asked, {**told, 7: ("confirm", 0)}, 9) == ("satisfied", day(3))
