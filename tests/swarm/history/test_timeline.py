"""What changed between two instants, and what comes next: against readings of the same file as of each instant."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.core.instants import DAY, parse_instant, show_instant
from swarm.auditing.auditing import audit
from swarm.errors import BadInput
from swarm.history.timeline import read_span, read_timeline
from swarm.history.tracking import track

NOON = parse_instant("2026-03-01T12:00:00Z")
LEDGERS = Path(__file__).resolve().parents[2] / "ledgers"
EVENTS = ("paid", "sent", "outage")


def history(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "parties": ["ann", "bob", "cyd"],
        "events": {"paid": {"by": "bob", "confirmed_by": "ann", "confirm_within": "2 days", "silence": "denies"}},
        "powers": {"suspend": ["cyd"]},
        "commitments": [
            {"id": "goods", "debtor": "ann", "creditor": "bob", "if": "paid by 2026-03-04T12:00:00Z",
             "then": "sent within 2 days of paid"},
            {"id": "refund", "debtor": "ann", "creditor": "bob", "if": "violated(goods)",
             "then": "refunded within 1 day of violated(goods)"},
            {"id": "up", "debtor": "cyd", "creditor": "bob", "then": "no outage by 2026-03-05T12:00:00Z"},
            {"id": "order", "debtor": "ann", "creditor": "cyd", "each": "order", "if": "paid",
             "then": "sent within 1 day of paid"},
        ],
        "history": lines,
    }  # fmt: skip


def states(source: Any, at: int) -> dict[str, tuple[str, int | None]]:
    return {name: (s.state, s.since) for name, s in track(source, as_of=at).commitments.items()}


hours = st.integers(0, 120).map(lambda hour: NOON + hour * DAY // 24)
said = st.one_of(
    st.builds(
        lambda at, event, by, order: {"at": show_instant(at), "event": event, "by": by, **order},
        hours, st.sampled_from(EVENTS), st.sampled_from(["ann", "bob"]),
        st.sampled_from([{}, {"order": "1"}, {"order": "2", "id": "r2"}, {"id": "r1"}]),
    ),
    st.builds(
        lambda at, do, by: {"at": show_instant(at), "do": do, "report": "r1", "by": by},
        hours, st.sampled_from(["confirm", "dispute"]), st.just("ann"),
    ),
    st.builds(
        lambda at, do, name, by: {"at": show_instant(at), "do": do, "commitment": name, "by": by},
        hours, st.sampled_from(["cancel", "release", "suspend", "resume", "waive"]),
        st.sampled_from(["goods", "refund", "order", "up"]), st.sampled_from(["ann", "bob", "cyd"]),
    ),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(said, max_size=8), st.lists(st.tuples(hours, st.sampled_from([-1, 0, 1])), min_size=2, max_size=5))
def test_changes_lead_from_one_reading_to_the_next(lines: list[dict[str, Any]], asked: list[tuple[int, int]]) -> None:
    """Protects --diff: the states as of T1 and the changes after it give the states as of T2, instances included."""
    source = history(lines)
    instants = sorted({at + step for at, step in asked})
    whole = read_timeline(source, instants[-1])
    for earlier, later in pairwise(instants):
        now = states(source, earlier)
        for move in whole.changes(earlier, later):
            if move.before != move.after:
                assert now.get(move.commitment, ("none", None))[0] == move.before
                now[move.commitment] = (move.after, move.since)
        assert now == states(source, later)


def test_a_change_shows_from_the_very_microsecond() -> None:
    """Protects the edge (CM-03): at the deadline nothing has happened, a microsecond later it has, as track says."""
    source = {
        "parties": ["ann", "bob"],
        "commitments": [{"id": "c", "debtor": "ann", "creditor": "bob", "then": "done by 2026-03-01T12:00:00Z"}],
        "history": [{"at": "2026-02-01T00:00:00Z", "do": "create", "commitment": "c", "by": "ann"}],
    }
    for at, state in ((NOON - 1, "detached"), (NOON, "detached"), (NOON + 1, "violated")):
        timeline = read_timeline(source, at)
        assert timeline.statuses["c"].state == track(source, as_of=at).commitments["c"].state == state
        assert [m.after for m in timeline.changes(at - 1, at)] == (["violated"] if at == NOON + 1 else [])
    (move,) = read_timeline(source, NOON + DAY).changes(NOON, NOON + 1)
    assert (move.since, move.known, move.by_time, move.because) == (NOON, NOON + 1, True, ())


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_a_fulfilment_around_the_deadline(step: int) -> None:
    """Protects the edge from the other side: a report at the deadline is in time, one after it changes nothing."""
    source = {
        "parties": ["ann", "bob"],
        "commitments": [{"id": "c", "debtor": "ann", "creditor": "bob", "then": "done by 2026-03-01T12:00:00Z"}],
        "history": [{"at": show_instant(NOON + step), "event": "done", "by": "ann"}],
    }
    (move,) = read_timeline(source, NOON + DAY).changes(NOON - DAY, NOON + DAY)
    assert move.after == ("violated" if step == 1 else "satisfied")
    assert move.since == (NOON if step == 1 else NOON + step)
    assert move.because == (() if step == 1 else (1,))


def test_what_was_confirmed_later_shows_later_and_holds_from_its_report() -> None:
    """Protects the two times of a change: when it came true, and since when anybody could know."""
    lines = [
        {"at": "2026-03-01T13:00:00Z", "event": "paid", "by": "bob", "id": "p"},
        {"at": "2026-03-02T13:00:00Z", "do": "confirm", "report": "p", "by": "ann"},
    ]
    move = next(m for m in read_timeline(history(lines)).moves if (m.commitment, m.after) == ("goods", "detached"))
    assert show_instant(move.since or 0) == "2026-03-01T13:00:00Z"
    assert show_instant(move.known) == "2026-03-02T13:00:00Z"
    assert (move.because, move.noted) == ((1, 2), 2)


def test_due_time_and_time_of_detection_are_both_kept() -> None:
    """Protects what downtime leaves: the deadline is when it broke, and the line that found it is named beside it."""
    lines = [{"at": "2026-03-20T00:00:00Z", "event": "outage", "by": "ann"}]
    move = read_timeline(history(lines)).changes(NOON, NOON + 30 * DAY)[0]
    assert (move.commitment, move.after, show_instant(move.since or 0)) == ("goods", "expired", "2026-03-04T12:00:00Z")
    assert move.by_time and move.noted == 1


def test_a_hand_over_is_a_change_without_a_new_state() -> None:
    """Protects who owes: a delegation that was accepted is told, with the line that made it so."""
    lines = [
        {"at": "2026-03-01T13:00:00Z", "do": "delegate", "commitment": "up", "to": "ann", "by": "cyd"},
        {"at": "2026-03-02T13:00:00Z", "do": "accept", "commitment": "up", "by": "ann"},
    ]
    (move,) = read_timeline(history(lines)).changes(NOON, NOON + 2 * DAY)
    assert move.before == move.after == "detached"
    assert (move.text, move.because) == ("debtor is ann, was cyd", (2,))


def test_what_comes_next_is_what_a_later_reading_shows() -> None:
    """Protects the due table: the foretold move is the one that happens if nothing more is said."""
    lines = [{"at": "2026-03-01T13:00:00Z", "event": "sent", "by": "ann"}]
    timeline = read_timeline(history(lines))
    before = dict(timeline.statuses)
    for name, move in timeline.ahead().items():
        assert move.since is not None
        assert states(history(lines), move.since)[name][0] == timeline.statuses[name].state
        assert states(history(lines), move.known)[name] == (move.after, move.since)
    assert timeline.statuses == before and timeline.ahead() is timeline.ahead()


def instants_of(path: Path) -> Iterator[int]:
    whole = read_timeline(path)
    for at in sorted({item.at for item in whole.items.values()} | {move.known for move in whole.moves}):
        yield from (at - 1, at, at + 1)


def test_a_ledger_is_read_as_its_audit_reads_it() -> None:
    """Protects the second reading: at every record and deadline, a microsecond around, it agrees with the audit."""
    path = LEDGERS / "good.jsonl"
    whole = read_timeline(path)
    for at in instants_of(path):
        timeline = read_timeline(path, at)
        shown = {name: status.state for name, status in timeline.statuses.items()}
        assert shown == audit(path, as_of=show_instant(at)).summary["commitments"]
        so_far = [replace(move, noted=None) for move in whole.moves if move.known <= at]
        assert so_far == [replace(move, noted=None) for move in timeline.moves]


def test_of_a_failed_ledger_nothing_is_concluded_from_silence() -> None:
    """Protects the accused: what was cut from a ledger may hold the fulfilment, so no deadline passes after the cut."""
    timeline = read_timeline(LEDGERS / "tampered.jsonl", "2028-01-01T00:00:00Z")
    assert timeline.verdict == "failed"
    assert timeline.as_of is not None and timeline.as_of < parse_instant("2027-01-05T00:00:00Z")
    assert {status.state for status in timeline.statuses.values()} == {"conditional", "detached"}


@pytest.mark.parametrize("span", [("2026-01-01", "2026-02-01T00:00:00Z"), ("2026-02-01T00:00:00Z", "soon")])
def test_a_bad_instant_says_what_is_valid(span: tuple[str, str]) -> None:
    """Protects typing errors: the message holds the text and a form that would do."""
    with pytest.raises(BadInput, match="is not a time such as"):
        read_span(*span)


def test_the_later_instant_first_is_refused() -> None:
    """Protects against an empty answer that looks like no change."""
    with pytest.raises(BadInput, match="later than"):
        read_span("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z")
