"""What must hold after every record of any history of deeds, on histories that dice make.

1. Two plans that conflict have not both begun, unless one lead is behind both (its own hold is not in its way), or one
   of them stood and is undone by order: only then does what it holds grow again.
2. No start is accepted without a grant that an earlier record gave, and under no token but the plan's last.
3. A key belongs to one action, and an action happens once: it is done once, unless it was undone.
4. What has begun ends, or a person is asked, whatever happens next, or nothing.
5. Nothing depends on what comes later, and nothing on what was refused.
6. A plan that waits, waits for somebody; whoever is granted does not wait; a token is the position of a record.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest

from protocols.actions.fold import Record, Referee
from protocols.actions.plans import Plan
from protocols.actions.states import TABLE, Move, State
from protocols.core.instants import DAY
from protocols.messages.actions import StartStep, StepResult
from tests.support.deed_walks import Walk, fold_of

LENGTH = 60
EVER = 40_000 * DAY
"""Longer than any lease, and than any time to decide."""


def shown(fold: Referee) -> dict[str, Any]:
    """Return all that a fold says, by value."""
    return {
        "plans": {
            plan.id: (
                *(plan.state, plan.why, plan.good_token, plan.lease_end, plan.owed(), plan.verified, plan.undecided),
                fold.waits_for(plan),
                [(action.id, action.state, action.attempts, action.start) for action in plan.actions()],
            )
            for plan in fold.plans.values()
        },
        "versions": dict(fold.versions),
        "held": fold.held_by(),
        "findings": list(fold.findings),
        "grants": list(fold.grants),
        "reports": list(fold.reports),
    }


def folded(records: Iterable[Record], opening: dict[str, Any]) -> Referee:
    fold = fold_of(opening)
    for record in records:
        fold.apply(record)
    return fold


def conflict(one: Plan, other: Plan, opening: dict[str, Any]) -> bool:
    """Say from the opening alone whether two plans exclude each other."""
    if any([a.kind.name, b.kind.name] in opening["conflicts"] for a, b in pairs(one, other)):
        return True
    return any(near(x, y, opening["resources"]) for a, b in pairs(one, other) for x in a.on for y in b.on)


def pairs(one: Plan, other: Plan) -> list[Any]:
    return [pair for a in one.weighing() for b in other.weighing() for pair in ((a, b), (b, a))]


def near(x: str, y: str, resources: dict[str, Any]) -> bool:
    above = x
    while above != y and "within" in resources[above]:
        above = resources[above]["within"]
    return above == y or y in resources[x].get("uses", ())


def check_walk(seed: int) -> None:
    """Make one history and check all that must hold after each of its records."""
    walk = Walk(seed)
    done: Counter[str] = Counter()
    stood: set[str] = set()
    refused: set[int] = set()
    cut = walk.dice.randrange(1, LENGTH)
    before: dict[str, Any] = {}
    for _ in range(LENGTH):
        granted = {grant.plan: grant.token for grant in walk.fold.grants}
        record = walk.step()
        if walk.fold.refused and walk.fold.refused[-1].item == record.position:
            refused.add(record.position)
        else:
            check_effect(walk.fold, record, granted, done)
        check_state(walk, stood)
        if record.position == cut:
            before = shown(walk.fold)
    keys = [action.key for plan in walk.fold.plans.values() for action in plan.actions()]
    assert len(keys) == len(set(keys))
    begun = [plan for plan in walk.fold.plans.values() if plan.begun]
    walk.wait(EVER)
    assert all(plan.ended or plan.state is State.IN_QUESTION for plan in begun)
    assert shown(folded(walk.records[:cut], walk.opening)) == before
    whole = shown(walk.fold)
    quiet = [Record(r.position, r.at, r.by, None) if r.position in refused else r for r in walk.records]
    assert shown(folded(quiet, walk.opening)) == whole


def check_effect(fold: Referee, record: Record, granted: dict[str, int], done: Counter[str]) -> None:
    if isinstance(record.body, StartStep):
        plan = fold.plans[record.body.step.split(".")[0]]
        assert plan.token == granted[plan.id] < record.position
        assert record.body.token in (None, plan.token)
    if isinstance(record.body, StepResult) and record.body.outcome == "done":
        done[record.body.step] += 1
        assert done[record.body.step] == 1


def check_state(walk: Walk, stood: set[str]) -> None:
    open_plans = [plan for plan in walk.fold.plans.values() if not plan.ended]
    stood |= {plan.id for plan in open_plans if plan.state is State.STANDING}
    for one, other in combinations([plan for plan in open_plans if plan.begun], 2):
        excused = one.lead == other.lead or any(p.id in stood and p.state is not State.STANDING for p in (one, other))
        assert excused or not conflict(one, other, walk.opening), (one.id, other.id)
    tokens = {grant.token for grant in walk.fold.grants}
    for plan in open_plans:
        waits = walk.fold.waits_for(plan)
        assert bool(waits) == (plan.state is State.WAITING)
        assert all(not walk.fold.plans[name].ended for name in waits)
        assert plan.good_token is None or plan.good_token in tokens


@pytest.mark.parametrize("block", range(6))
def test_what_must_hold_holds(block: int) -> None:
    """Some hundred histories, in blocks so that a failure says where to look."""
    for seed in range(block * 50, block * 50 + 50):
        check_walk(seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_what_must_hold_holds_in_10_000_histories(block: int) -> None:
    """The same, as far as patience reaches."""
    for seed in range(1_000_000 + block * 500, 1_000_000 + block * 500 + 500):
        check_walk(seed)


def test_histories_walk_every_cell_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the picture: a way that no history takes would be a lie, and so would one that is not in it."""
    walked: set[tuple[State, Move]] = set()
    move = Plan.move

    def watched(plan: Plan, made: Move) -> None:
        walked.add((plan.state, made))
        move(plan, made)

    monkeypatch.setattr(Plan, "move", watched)
    for seed in range(400):
        walk = Walk(seed)
        for _ in range(LENGTH):
            walk.step()
    assert walked == {(state, made) for state, row in TABLE.items() for made in row}


def test_the_walks_meet_what_they_should() -> None:
    """The walks prove something only if histories hold what is worth checking."""
    codes: Counter[str] = Counter()
    for seed in range(300):
        walk = Walk(seed)
        for _ in range(LENGTH):
            walk.step()
        codes.update(noted.code for noted in walk.fold.findings)
        codes.update(refusal.code for refusal in walk.fold.refused)
    wanted = "preempted equal in_doubt stuck failed flapping tainted hold_lapsed moved_under not_granted superseded"
    assert {code for code in wanted.split() if codes[code] < 3} == set()
