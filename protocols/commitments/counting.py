"""How an established event enters what an instance has seen: it is counted by leaves, and it starts clocks."""

from collections.abc import Mapping

from protocols.commitments.evaluation import OPEN, TRUE, amount_of, end_of, evaluate, limit_of
from protocols.commitments.instances import Hit, Instance, Items, Tally
from protocols.commitments.lifecycle import CONDITIONAL, NONE
from protocols.commitments.programs import BEFORE_ALL, NEVER, Clock, Leaf, Route
from protocols.core.instants import Duration, Instant


def count(
    instance: Instance,
    route: Route,
    attributes: Mapping[str, str],
    at: Instant,
    known: Instant,
    items: Items,
    now: Instant,
) -> bool:
    """Let the leaves of *route* count an event that happened at *at* and was established at *known*.

    Return whether any did.
    """
    marks = instance.marks
    if marks is None:
        return False
    counted = False
    started: set[int] | None = None
    for leaf in route.leaves:
        if at < leaf.first or (leaf.tests and not leaf.counts_report(attributes)):
            continue
        index, fresh = leaf.index, True
        if leaf.simple:
            mark = marks[index]
            if mark is None or at < mark.at:  # type: ignore[union-attr]
                marks[index] = Hit(at, items)
                counted = True
        else:
            amount = amount_of(leaf, attributes)
            if amount is None:
                continue
            tally = marks[index]
            if tally is None:
                tally = marks[index] = Tally()
            assert isinstance(tally, Tally)
            fresh = tally.add(at, items, amount, leaf)
            # A positive leaf below its threshold changes nothing yet.
            counted = counted or fresh or leaf.negated
        if leaf.clock is not None and fresh:
            started = started or set()
            started.add(leaf.clock)
    if started:
        # A clock inside the E of another clock has the higher number, so it is up to date before that E is evaluated.
        for index in sorted(started, reverse=True):
            clock = instance.program.clocks[index]
            if _happened(clock, instance, at, now):
                restart(instance, clock, known, items)
        return True
    return counted


def _happened(clock: Clock, instance: Instance, at: Instant, now: Instant) -> bool:
    of = clock.of
    if isinstance(of, Leaf):
        return at <= limit_of(of, instance).last
    return evaluate(of, instance, now).verdict is TRUE


def start_by_time(instance: Instance, now: Instant) -> Instant:
    """Start the clocks whose event came true because time passed.

    Return the instant until which no further clock starts.
    """
    until = NEVER
    for clock in reversed(instance.program.timed):
        if instance.starts[clock.index] is None:
            verdict, when, items = evaluate(clock.of, instance, now)
            if verdict is TRUE:
                restart(instance, clock, when, items)
            elif verdict is OPEN:
                until = min(until, when)
    return until


def restart(instance: Instance, clock: Clock, known: Instant, items: Items) -> None:
    """Start *clock* anew from *known*, unless its start is final.

    Detachment fixes a consequent's clock, and creation fixes an antecedent's (docs/tracker.md, clause 6). The first
    start after that is final.
    """
    start = instance.starts[clock.index]
    standing = instance.standing
    fixed = standing is not NONE and (standing is not CONDITIONAL or not clock.of_consequent)
    if known <= BEFORE_ALL or (fixed and start is not None):
        return
    if instance.suspended_at is not None:
        instance.waiting = {**(instance.waiting or {}), clock.index: items}
        return
    marks = instance.marks
    assert marks is not None
    leaves = [instance.program.leaves[index] for index in clock.bounds]
    late = [leaf.index for leaf in leaves if _is_late(leaf, instance)]
    instance.starts[clock.index] = Hit(known, items)
    if instance.shifts is not None:
        instance.shifts = {end: by for end, by in instance.shifts.items() if end not in clock.ends} or None
    for leaf in leaves:
        mark = marks[leaf.index]
        if leaf.negated and isinstance(mark, Tally):
            mark.restart(known, leaf)
        elif leaf.index in late:
            # The report came too late for the clock's last run and is in time for this one: it counts since the restart
            # (clause 6).
            if isinstance(mark, Tally):
                mark.mark = Hit(known, items)
            else:
                marks[leaf.index] = Hit(known, items)


def _is_late(leaf: Leaf, instance: Instance) -> bool:
    assert instance.marks is not None
    mark = instance.marks[leaf.index]
    hit = mark.mark if isinstance(mark, Tally) else mark
    return not leaf.negated and hit is not None and hit.at > limit_of(leaf, instance).last


def shifts_at(instance: Instance, at: Instant) -> dict[int, Duration] | None:
    """Return how far each end has moved when a suspended instance is resumed at *at*: only open ends move."""
    shifts = dict(instance.shifts or {})
    if instance.suspended_at is not None:
        for leaf in instance.program.leaves:
            for end in leaf.ends:
                if instance.suspended_at <= end_of(end, instance).last < NEVER:
                    shifts[end.number] = shifts.get(end.number, 0) + at - instance.suspended_at
    return shifts or None
