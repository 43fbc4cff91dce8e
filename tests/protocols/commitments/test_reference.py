"""The tracker against a slow model that judges every condition anew, at every instant, from all that was said.

One thing happens a day, so that whatever changes on a day is since that day. The model knows nothing of marks, clocks
that run, deadlines or order of work: it goes through the days and asks of each what the clauses say.
"""

from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.commitments.tree import (
    After,
    And,
    AtLeast,
    Before,
    By,
    Condition,
    Event,
    No,
    Or,
    Timed,
    Within,
)
from protocols.core.instants import DAY
from tests.support.histories import START, day, did, follow, instant, said

DAYS = 14
TRUE, FALSE, OPEN = "true", "false", "open"

times = st.integers(1, DAYS).map(instant)
events = st.sampled_from("abc").map(Event)
starts = st.sampled_from("abcd").map(Event)
windows = st.one_of(
    st.builds(By, times),
    st.builds(Before, times),
    st.builds(Within, st.integers(0, 5).map(lambda days: days * DAY), starts),
)
more = st.lists(windows | st.builds(After, times), max_size=1)
ends = st.tuples(windows, more).map(lambda found: (found[0], *found[1]))
counted = events | st.builds(AtLeast, st.integers(1, 3), events)
leaves = st.one_of(
    counted, st.builds(Timed, counted, ends), st.builds(Timed, counted, ends), st.builds(No, counted, ends)
)
conditions = st.one_of(
    leaves,
    leaves,
    st.tuples(leaves, leaves).map(And),
    st.tuples(leaves, leaves).map(Or),
    st.tuples(leaves, st.tuples(leaves, leaves).map(Or)).map(And),
)


@dataclass
class Model:
    """What has happened so far: events with their times, when it was created and when detached, and the present."""

    happened: list[tuple[str, int]] = field(default_factory=list)
    created: int | None = None
    detached: int | None = None
    now: int = 0

    def judge(self, condition: Condition, fixed: int | None) -> str:
        """Say whether *condition* is true, impossible or open; its clocks are fixed since *fixed* (5–7, 9)."""
        if isinstance(condition, And | Or):
            found = [self.judge(part, fixed) for part in condition.parts]
            decisive, other = (FALSE, TRUE) if isinstance(condition, And) else (TRUE, FALSE)
            return decisive if decisive in found else OPEN if OPEN in found else other
        what, windows = (condition.what, condition.windows) if isinstance(condition, Timed | No) else (condition, ())
        clocks = {window: self.clock(window.of, fixed) for window in windows if isinstance(window, Within)}
        last = min([10**18, *(self.last(window, clocks) for window in windows if not isinstance(window, After))])
        first = max([0, *(window.at + 1 for window in windows if isinstance(window, After))])
        need, event = (what.count, what.event) if isinstance(what, AtLeast) else (1, what)
        if isinstance(condition, No):
            if None in clocks.values():
                return TRUE if self.now > last else OPEN
            first = max([first, *clocks.values()])
        inside = [at for name, at in self.happened if name == event.name and first <= at <= last]
        reached = len(inside) >= need
        if isinstance(condition, No):
            return FALSE if reached else TRUE if self.now > last else OPEN
        return TRUE if reached else FALSE if self.now > last else OPEN

    def clock(self, of: Event, fixed: int | None) -> int | None:
        """Say when the clock of *of* started (6)."""
        starts = [at for name, at in self.happened if name == of.name]
        before = [at for at in starts if fixed is None or at <= fixed]
        return before[-1] if before else starts[0] if starts else None

    def last(self, window: object, clocks: dict[Within, int | None]) -> int:
        if isinstance(window, By):
            return window.at
        if isinstance(window, Before):
            return window.at - 1
        start = clocks[window]
        return 10**18 if start is None else start + window.duration


def expected(
    if_: Condition | None, then: Condition, happening: dict[int, str], created: int, end: int
) -> tuple[str, str | None]:
    """Go through the days and return the state and since when (the table of the life cycle)."""
    model, state, since = Model(), "none", None
    for number in range(1, end + 1):
        for phase in ("the day begins", "something happens", "a microsecond later"):
            if phase == "something happens":
                if number == created:
                    model.created, state, since = instant(number), "conditional", day(number)
                elif number in happening:
                    model.happened.append((happening[number], instant(number)))
            if phase == "a microsecond later" and number == end:
                break
            model.now = instant(number, 1 if phase == "a microsecond later" else 0)
            antecedent = TRUE if if_ is None else model.judge(if_, model.created)
            if state == "conditional" and antecedent == TRUE:
                state, since, model.detached = "detached", day(number), instant(number)
            done = model.judge(then, model.detached)
            if state in ("conditional", "detached") and done == TRUE:
                state, since = "satisfied", day(number)
            elif state == "conditional" and antecedent == FALSE:
                state, since = "expired", day(number)
            elif state == "detached" and done == FALSE:
                state, since = "violated", day(number)
    return state, since


@example(
    Event("a"),
    No(Event("c"), (Within(0, Event("c")), By(instant(1)))),
    {1: "c", 3: "c"},
    2,
    3,
)
@settings(max_examples=500, deadline=None)
@given(
    st.none() | conditions,
    conditions,
    st.dictionaries(st.integers(1, DAYS), st.sampled_from("aaabbbccd"), max_size=10),
    st.integers(1, 8),
    st.integers(1, DAYS + 8),
)
def test_the_tracker_says_what_the_clauses_say(
    if_: Condition | None, then: Condition, happening: dict[int, str], created: int, end: int
) -> None:
    lines = [said(number, event) for number, event in happening.items() if number != created]
    terms = {"id": "c", "debtor": "alice", "creditor": "bob", "then": str(then)}
    if if_ is not None:
        terms["if"] = str(if_)
    result = follow(*lines, did(created, "create", "alice", commitment="c"), commitments=[terms], as_of=end)
    status = result.plain()["commitments"]["c"]
    assert (status["state"], status["since"]) == expected(if_, then, happening, created, end)


def test_the_model_itself_tells_kept_from_broken() -> None:
    within = Timed(Event("a"), (Within(2 * DAY, Event("b")),))
    assert instant(1) == START
    assert expected(None, within, {3: "b", 5: "a"}, 1, 9) == ("satisfied", day(5))
    assert expected(None, within, {3: "b", 6: "a"}, 1, 9) == ("violated", day(5))
