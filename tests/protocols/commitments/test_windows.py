"""Every operator at its edge: one microsecond before, at it, one after. The edge is midnight of the 10th."""

from typing import Any

import pytest

from swarm.history.tracking import track
from tests.support.histories import day, did, follow, history, promise, said, state

EDGE = 10
T = day(EDGE)
MICROS = (-1, 0, 1)

# Promises without antecedent: with the event at the edge −1, 0, +1 µs, are they kept (by the 20th)?
KEPT_BY_THE_EVENT = {
    f"x by {T}": (True, True, False),
    f"x before {T}": (True, False, False),
    f"x after {T} by {day(15)}": (False, False, True),
    "x within 5 days of e": (True, True, False),  # e on the 5th
    f"x within 9 days of e by {T}": (True, True, False),
    f"x within 5 days of e before {day(11)}": (True, True, False),
    f"x by {T} before {T}": (True, False, False),
    f"at least 2 x by {T}": (True, True, False),  # another on the 4th
    f"x totalling n >= 3 by {T}": (True, True, False),
    f"x totalling n >= 3 before {T}": (True, False, False),
    f"no x by {T}": (False, False, True),
    f"no x before {T}": (False, True, True),
    "no x within 5 days of e": (False, False, True),
    f"no x after {T} by {day(15)}": (True, True, False),
}


@pytest.mark.parametrize("then", KEPT_BY_THE_EVENT)
@pytest.mark.parametrize("place", range(3))
def test_the_edge_of_a_window(then: str, place: int) -> None:
    lines = [said(5, "e"), said(day(EDGE, MICROS[place]), "x", n="2")]
    if "least" in then or "totalling" in then:
        lines.append(said(4, "x", n="1"))
    result = follow(*lines, commitments=[promise("c", then)], as_of=20)
    assert state(result, "c")[0] == ("satisfied" if KEPT_BY_THE_EVENT[then][place] else "violated")


# With nothing but e on the 5th: the states at the edge −1, 0, +1 µs, and since when the last one is.
LEFT_ALONE = {
    f"x by {T}": ("detached", "detached", "violated"),
    f"x before {T}": ("detached", "violated", "violated"),
    "x within 5 days of e": ("detached", "detached", "violated"),
    f"no x by {T}": ("detached", "detached", "satisfied"),
    f"no x before {T}": ("detached", "satisfied", "satisfied"),
    "no x within 5 days of e": ("detached", "detached", "satisfied"),
    f"x by {day(3)} or y by {T}": ("detached", "detached", "violated"),
    f"e by {day(6)} and x by {T}": ("detached", "detached", "violated"),
    f"no x by {day(3)} and no y by {T}": ("detached", "detached", "satisfied"),
    f"x within 2 days of (no e by {day(8)} or no y by {day(8)})": ("detached", "detached", "violated"),
}


@pytest.mark.parametrize("then", LEFT_ALONE)
@pytest.mark.parametrize("place", range(3))
def test_the_sweep_at_the_edge(then: str, place: int) -> None:
    result = follow(said(5, "e"), commitments=[promise("c", then)], as_of=day(EDGE, MICROS[place]))
    expected = LEFT_ALONE[then][place]
    assert state(result, "c")[0] == expected
    if expected != "detached":
        assert state(result, "c") == (expected, T)


@pytest.mark.parametrize(("micros", "kept"), [(-1, True), (0, True), (1, False)])
def test_cm_03_fulfilment_at_the_deadline_itself(micros: int, kept: bool) -> None:
    deadline = "2026-03-01T12:00:00Z"
    act = {-1: "2026-03-01T11:59:59.999999Z", 0: deadline, 1: "2026-03-01T12:00:00.000001Z"}[micros]
    result = follow(said(act, "x"), commitments=[promise("c", f"x by {deadline}")], as_of="2026-03-02T00:00:00Z")
    assert state(result, "c") == (("satisfied", act) if kept else ("violated", deadline))


def test_cm_06_instants_are_compared_not_text() -> None:
    terms = promise("c", "x by 2026-02-28T23:00:00Z")
    result = follow(said("2026-03-01T00:30:00+02:00", "x"), commitments=[terms], as_of="2026-03-05T00:00:00Z")
    assert state(result, "c") == ("satisfied", "2026-02-28T22:30:00Z")


@pytest.mark.parametrize(("micros", "code"), [(-1, []), (0, []), (1, ["wrong_state"])])
def test_the_edge_of_silence(micros: int, code: list[str]) -> None:
    events: Any = {"x": {"by": "alice", "confirmed_by": "bob", "confirm_within": "5 days", "silence": "denies"}}
    lines = [said(5, "x", id="r"), did(day(EDGE, micros), "confirm", "bob", report="r")]
    result = follow(*lines, commitments=[promise("c", f"x by {T}")], events=events, as_of=20)
    assert [refusal.code for refusal in result.refused] == code
    assert state(result, "c") == (("violated", T) if code else ("satisfied", day(5)))


@pytest.mark.parametrize(("micros", "resumed"), [(-1, False), (0, True), (1, True)])
def test_the_edge_of_a_suspension(micros: int, resumed: bool) -> None:
    lines = [did(2, "suspend", "bob", commitment="c", until=T)]
    file = history(*lines, commitments=[promise("c", f"x by {T}")], powers={"suspend": ["bob"]})
    result = track(file, day(EDGE, micros))
    assert state(result, "c") == (("detached", T) if resumed else ("pending", day(2)))
