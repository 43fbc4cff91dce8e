"""The referee under load: 1,000 resources, 256 open plans; what a record costs in a log of 1,000 and of 10,000 records.

Machines differ and are shared, so the cost is also given as a share of what making each record's canonical bytes costs.
Each plan acts on one of ten resources that it draws; most wait, and the first of each row acts, renews and ends.
"""

import gc
import random
from collections.abc import Iterator
from time import perf_counter

from protocols.actions.fold import Record, Referee
from protocols.actions.opening import MOST_OPEN, make_rules
from protocols.core.canonical import canonical
from protocols.core.instants import SECOND, Instant, parse_instant
from protocols.core.message import Message
from protocols.messages import actions as said

START = parse_instant("2026-01-01T00:00:00Z")
LEADS = [f"member {number}" for number in range(20)]
RESOURCES = 1_000
ZONES = 20
RUNS = 5


def opening() -> said.ActionsOpening:
    resources = {
        f"r{number}": {"version": "1", **({"within": f"r{number % ZONES}"} if number >= ZONES else {})}
        for number in range(RESOURCES)
    }
    kinds = {"turn": {"by": LEADS, "on": [f"r{zone}" for zone in range(ZONES)], "undo": "nothing"}}
    return said.ActionsOpening.read({"decided_by": ["judge"], "equal": "first", "resources": resources, "kinds": kinds})


def records(fold: Referee, count: int) -> Iterator[Record]:
    """Yield records that keep `MOST_OPEN` plans open, each made by looking at what *fold* says then."""
    dice = random.Random(7)
    open_plans: list[str] = []
    for position in range(1, count + 1):
        by, body = _next(fold, open_plans, dice, position)
        yield Record(position, Instant(START + position * SECOND // 40), by, body)


def _next(fold: Referee, open_plans: list[str], dice: random.Random, position: int) -> tuple[str, Message]:
    open_plans[:] = [name for name in open_plans if not fold.plans[name].ended]
    acting = [name for name in open_plans if fold.plans[name].token is not None]
    if len(open_plans) < MOST_OPEN:
        name = f"p{position}"
        open_plans.append(name)
        resource = dice.randrange(ZONES, RESOURCES)
        seen = {f"r{each}": fold.versions[f"r{each}"] or "" for each in (resource, resource % ZONES)}
        steps = [said.PlannedStep(kind="turn", on=[f"r{resource}"])]
        return dice.choice(LEADS), said.ProposePlan(plan=name, seen=seen, steps=steps)
    plan = fold.plans[dice.choice(acting)]
    if plan.steps[0].state == "planned":
        return plan.lead, said.StartStep(step=plan.steps[0].id, token=plan.token)
    if dice.random() < 0.2:
        return plan.lead, said.RenewPlan(plan=plan.id)
    return plan.lead, said.StepResult(step=plan.steps[0].id, outcome="done", versions=_same(fold, plan.steps[0].on))


def _same(fold: Referee, on: tuple[str, ...]) -> dict[str, str]:
    """Leave versions as they are, so that the plans that wait stay."""
    return {name: fold.versions[name] or "" for name in on}


def new() -> Referee:
    return Referee(make_rules(opening(), [*LEADS, "judge"]), "bench", [*LEADS, "judge"])


def cost(log: list[Record]) -> float:
    """Return the seconds a record, the best of some runs."""
    best = float("inf")
    for _ in range(RUNS):
        fold = new()
        gc.collect()
        gc.disable()
        began = perf_counter()
        for record in log:
            fold.apply(record)
        best = min(best, (perf_counter() - began) / len(log))
        gc.enable()
    return best


def main() -> None:
    made = new()
    log = []
    for record in records(made, 10_000):
        made.apply(record)
        log.append(record)
    open_plans = sum(not plan.ended for plan in made.plans.values())
    short, long = cost(log[:1_000]), cost(log)
    began = perf_counter()
    for record in log:
        canonical(record.body.plain() if record.body else {})
    plain = (perf_counter() - began) / len(log)
    print(f"{RESOURCES:,} resources, {open_plans} open plans at the end, {len(made.refused)} refused")
    print(f"a record of 1,000: {short * 1e6:.0f} µs, of 10,000: {long * 1e6:.0f} µs, {long / short:.2f} times as much")
    print(f"{long / plain:.1f} times what the canonical bytes of its body cost")


if __name__ == "__main__":
    main()
