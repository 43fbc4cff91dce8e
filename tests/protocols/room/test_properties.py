"""What holds for every room: folds of any cut agree, arrival and roster do not decide, and nothing said breaks it."""

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.core.findings import CODES
from protocols.core.instants import SECOND
from protocols.duties.duties import RevealDuty, TickDuty
from protocols.messages.bodies import KINDS
from protocols.room.outcome import Agreed, decision_of
from tests.support.moves import answer_to, promises_of, samples
from tests.support.unsigned_rooms import STEP_S, TOUR, Table, fold, hexed

# A busy machine is no failure; the same rooms every time, so that a failure is one for everybody.
calm = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, print_blob=True)

OPENINGS: list[dict[str, Any]] = [
    {},
    {"status_quo": {"title": "option 1"}, "rules": {"improvements": 3}},
    {"agenda": ["accord", "concord"], "terms": ["done"], "rules": {"on_divergence": "block"}},
    {"agenda": ["accord"], "terms": ["done", "option"], "authority": {"terms": {"done": "b"}}},
    {
        **TOUR,
        "authority": {"issues": {"price": "b"}, "terms": {"done": "c"}},
        "rules": {"improvements": 2, "rejects": 2},
    },
    {
        "agenda": ["concord", "commitments"],
        "events": TOUR["events"],
        "powers": {"suspend": ["a"], "resume": ["a"]},
        "rehearsal": {"agreed_at": "2027-01-04T09:00:00Z", "second": "1 week"},
    },
]
OPENING = st.sampled_from(OPENINGS)
# Mostly what a member owes, so that rooms get somewhere; the rest is whatever a member could sign.
WHAT = st.sampled_from(
    ["duty"] * 12 + ["any", "any", "late", "promise", "promise", "excuse", "leave", "expire", "wait"]
)
# How many steps a room has gone through in good order before that, and how it was played.
START = st.tuples(st.integers(0, 99), st.integers(0, 25))
MOVE = st.tuples(WHAT, st.integers(0, 3), st.integers(0, 999))


def _move(table: Table, what: str, who: int, number: int) -> None:
    """Let one member do one thing."""
    member = table.members[who % len(table.members)]
    kinds = sorted(KINDS)
    if what == "duty":
        _do_duty(table, (table.expected or [member])[who % max(1, len(table.expected))], number)
    elif what == "any":
        step = table.step if number % 3 else "concord.ballot.2.reveal"
        table.say(member, samples(table, member, step)[kinds[number % len(kinds)]])
    elif what == "late":
        closed = [*table.room.closed, "room.joining"]
        table.say(member, samples(table, member, closed[number % len(closed)])[kinds[number % len(kinds)]])
    elif what == "promise":
        table.say(member, promises_of(member, number))
    elif what == "excuse":
        table.excuse(member)
    elif what == "leave" and number % 5 == 0:
        table.leave(member)
    elif what == "expire" and table.room.deadline() is not None:
        table.tick((table.room.deadline() or 0) + number % 2)
    elif what == "wait":
        table.tick(table.room.at + number * SECOND // 7)


def _do_duty(table: Table, member: str, number: int) -> None:
    for duty in table.room.duties(member):
        if duty.step is not None:
            if isinstance(duty, RevealDuty) and not table.has_sealed(member):
                continue
            table.say(member, answer_to(table, duty, number))
            return


@settings(calm, max_examples=400)
@given(OPENING, START, st.lists(MOVE, min_size=5, max_size=80), st.integers(0, 60))
def test_no_sequence_breaks_a_room_and_every_cut_folds_the_same(
    opening: dict[str, Any], start: tuple[int, int], moves: list[tuple[str, int, int]], cut: int
) -> None:
    """Nothing that fits its model raises; a copy of any prefix, folded on, is the room; every finding has its code."""
    table = _play(Table(**opening), *start)
    half = deepcopy(table.room)
    for number, move in enumerate(moves):
        if number == cut:
            half = deepcopy(table.room)
        _move(table, *move)
    assert {f.code for f in table.room.findings} <= CODES.keys()
    assert fold(table, table.said) == table.room
    assert fold(table, table.said[half.position - 1 :], half) == table.room
    for member in table.members:
        for duty in table.room.duties(member):
            assert type(duty).model_validate_json(duty.model_dump_json(by_alias=True)) == duty
    if table.room.result is not None:
        json.dumps(table.room.result, allow_nan=False)
    assert table.room.over or any(table.room.duties(m) for m in table.members)


@settings(calm, max_examples=100)
@given(OPENING, START, st.lists(MOVE, max_size=40))
def test_every_room_ends_by_ticks_alone(
    opening: dict[str, Any], start: tuple[int, int], moves: list[tuple[str, int, int]]
) -> None:
    """Whatever was said, a room that falls silent reaches its end: each deadline that passes brings it nearer."""
    table = _play(Table(**opening), *start)
    for move in moves:
        _move(table, *move)
    for _ in range(100):
        deadline = table.room.deadline()
        if deadline is None:
            break
        assert deadline >= table.room.at
        owed = [d.at for m in table.members for d in table.room.duties(m) if isinstance(d, TickDuty)]
        assert owed == [deadline + i * SECOND // 5 for i in range(len(table.members))]
        table.tick(deadline + 1)
    assert table.room.over


def _number(*words: object) -> int:
    return int(hexed(*words)[:8], 16)


def _play(table: Table, seed: int, steps: int = 200, order: Any = lambda _, members: members) -> Table:
    """Play a room for so many *steps*: what each says depends on seed, step and name; *order* is who speaks first."""
    for _ in range(steps):
        if table.room.step is None:
            return table
        step = table.step
        silent = [m for m in table.expected if _number("silent", seed, m, step) % 40 == 0]
        for member in order(step, [m for m in table.expected if m not in silent]):
            if step == table.step:
                _do_duty(table, member, _number(seed, member, step))
        if step == table.step:
            table.expire()
    return table


def _shuffled(key: int) -> Any:
    return lambda step, members: sorted(members, key=lambda m: hexed(key, step, m))


@settings(calm, max_examples=150)
@given(OPENING, st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_order_of_arrival_decides_nothing(opening: dict[str, Any], seed: int, key: int) -> None:
    """Within a step, whoever answers first: one result, down to the digest that everyone signs."""
    one = _play(Table("abcd", **opening), seed)
    two = _play(Table("abcd", **opening), seed, order=_shuffled(key))
    assert one.room.ending == two.room.ending
    if one.room.closing is not None:
        assert two.room.closing is not None
        assert one.room.result == two.room.result
        assert one.room.closing.digest == two.room.closing.digest


@settings(calm, max_examples=150)
@given(st.sampled_from(OPENINGS[:5]), st.integers(0, 10**6), st.permutations("abcd"))
def test_the_order_of_the_roster_decides_nothing_but_ties(
    opening: dict[str, Any], seed: int, roster: list[str]
) -> None:
    """The roster's order fixes the beacon and whose title an option bears; no other choice depends on it."""
    played = [_play(Table(members, **opening), seed, order=_shuffled(seed)) for members in ("abcd", roster)]
    one, two = (t.room for t in played)
    concords = [r.concord for r in (one, two)]
    if any(c is not None and c.first_selection is not None and c.first_selection.rule == "beacon" for c in concords):
        return
    assert one.ending is not None and two.ending is not None
    assert one.ending.outcome == two.ending.outcome
    first, second = decision_of(one.ending, one.concord), decision_of(two.ending, two.concord)
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert replace(first, option=Agreed("", first.option.offer)) == replace(
            second, option=Agreed("", second.option.offer)
        )
    if one.accord is not None and two.accord is not None:
        assert _relations(one) == _relations(two)


def _relations(room: Any) -> set[tuple[str, frozenset[str], str]]:
    accord = room.accord
    differences = {(d.term, frozenset(d.between), d.status) for d in accord.divergences}
    return differences | {(term, frozenset(pair), "untested") for term, pair in accord.untested}


def test_the_players_reach_every_ending() -> None:
    """The properties above are worth something only if their rooms get as far as agreement."""
    endings = set()
    for opening in OPENINGS:
        for seed in range(40):
            table = _play(Table("abcd", **opening), seed)
            assert table.room.ending is not None
            endings.add((table.room.ending.outcome, (table.room.ending.reason or "").split(":")[0]))
            assert table.room.at - table.said[0].at < 200 * STEP_S * SECOND
    assert endings >= {
        *(("agreed", ""), ("open", ""), ("abandoned", "missing"), ("no_agreement", "no_quorum")),
        *(("no_agreement", "below_bar"), ("no_agreement", "declined"), ("no_agreement", "divergence")),
    }
