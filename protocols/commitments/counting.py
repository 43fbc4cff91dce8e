"""How an established event enters what an instance has seen: it is counted by leaves, and it starts clocks."""

from bisect import insort
from collections.abc import Mapping

from protocols.commitments.evaluation import FALSE, OPEN, TRUE, amount_of, evaluate, limit_of
from protocols.commitments.instances import Hit, Instance, Items, Moment, Start, Tally
from protocols.commitments.lifecycle import CONDITIONAL, NONE
from protocols.commitments.programs import BEFORE_ALL, LAST_PLACE, NEVER, Clock, Leaf, Route
from protocols.core.instants import Instant


def count(
    instance: Instance,
    route: Route,
    attributes: Mapping[str, str],
    at: Instant,
    place: int,
    known: Moment,
    items: Items,
    now: Instant,
) -> bool:
    """Let the leaves of *route* count an event that happened at the moment *at*, *place*.

    It was established at the moment *known*, by *items*. Return whether any leaf counted it.
    """
    marks = instance.marks
    if marks is None:
        return False
    counted = False
    started: set[int] | None = None
    for leaf in route.leaves:
        if at < leaf.first or (leaf.tests and not leaf.counts_report(attributes)):
            continue
        index, happens = leaf.index, True
        if leaf.simple:
            mark = marks[index]
            if mark is None or at < mark.at or (at == mark.at and place < mark.place):  # type: ignore[union-attr]
                marks[index] = Hit(at, place, items, at)
                counted = True
        else:
            amount = amount_of(leaf, attributes)
            if amount is None:
                continue
            tally = marks[index]
            if tally is None:
                tally = marks[index] = Tally()
            assert isinstance(tally, Tally)
            happens = tally.add(at, items, amount, leaf) and not leaf.negated
            # Without late reports, a sum below its threshold changes nothing yet.
            counted = counted or happens or leaf.negated or not leaf.ordered
        if leaf.clock is not None and happens and at <= limit_of(leaf, instance).last:
            started = started or set()
            started.add(leaf.clock)
    if started:
        _happen(instance, started, Start(*known, items), now)
        return True
    return counted


def _happen(instance: Instance, parts: set[int], known: Start, now: Instant) -> None:
    """Start the clocks whose event holds once one of its *parts* has happened.

    A report that was too late for one run of a clock and is in time for the next counts at that point, so one clock may
    start others.
    """
    clocks = instance.program.clocks
    # A clock inside the E of another clock has the higher number, so it is up to date before that E is evaluated.
    for index in range(max(parts), -1, -1):
        if index in parts:
            clock = clocks[index]
            if isinstance(clock.of, Leaf) or evaluate(clock.of, instance, now).verdict is TRUE:
                parts |= {leaf.clock for leaf in restart(instance, clock, known) if leaf.clock is not None}


def start_by_time(instance: Instance, now: Instant) -> Instant:
    """Start the clocks whose event came true because time passed.

    Return the instant until which no further clock starts.
    """
    until = NEVER
    for clock in reversed(instance.program.timed):
        if instance.starts[clock.index] is not None and fixed_at(instance, clock) is not None:
            continue
        for leaf in clock.timed:
            verdict, when, place, items = evaluate(leaf, instance, now)
            if verdict is OPEN:
                until = min(until, when)
            elif verdict is TRUE and (instance.passed or {}).get(leaf.index) != when:
                instance.passed = {**(instance.passed or {}), leaf.index: when}
                denied = (instance.denied or {}).get(leaf.index, BEFORE_ALL)
                if denied > when:
                    when, place = denied, LAST_PLACE
                _happen(instance, {clock.index}, Start(when, place, items), now)
    return until


def fixed_at(instance: Instance, clock: Clock) -> Moment | None:
    """Return the moment that fixes *clock*: detachment for a consequent's clock, creation for an antecedent's."""
    standing = instance.standing
    if standing is NONE or (standing is CONDITIONAL and clock.of_consequent):
        return None
    return instance.detached if clock.of_consequent else instance.created


def restart(instance: Instance, clock: Clock, known: Start) -> list[Leaf]:
    """Let *clock* run from *known*, unless it runs for good; return the leaves that are in time by that alone.

    The latest start up to the moment that fixes a clock stays; if there was none by then, the first after it
    (docs/tracker.md, clause 6).
    """
    start, fixed = instance.starts[clock.index], fixed_at(instance, clock)
    if known.at <= BEFORE_ALL or (fixed is not None and start is not None):
        return []
    leaves = [instance.program.leaves[index] for index in clock.bounds]
    late: list[Leaf] = []
    if start is not None:
        late = [leaf for leaf in leaves if _is_late(leaf, instance)]
        for leaf in leaves:
            if leaf.negated and evaluate(leaf, instance, known.at).verdict is FALSE:
                instance.cleared = {**(instance.cleared or {}), leaf.index: known.at}
    if instance.runs is not None:
        runs = instance.runs[clock.index]
        insort(runs, known)
        instance.starts[clock.index] = runs[-1]
    elif start is None or known[:2] >= start[:2]:
        instance.starts[clock.index] = known
        for leaf in leaves:
            mark = instance.marks[leaf.index] if instance.marks is not None else None
            if leaf.negated and isinstance(mark, Tally):
                mark.restart(known.at, leaf)
    if not late:
        return []
    early = [leaf for leaf in late if not _is_late(leaf, instance)]
    for leaf in early:
        _count_since(leaf, instance, known.at)
    return early


def _count_since(leaf: Leaf, instance: Instance, since: Instant) -> None:
    """Let the reports of *leaf* count *since* then: too late for a clock's last run, they are in time for this one."""
    marks = instance.marks
    assert marks is not None
    mark = marks[leaf.index]
    if isinstance(mark, Tally):
        assert mark.mark is not None
        mark.mark = mark.mark._replace(since=max(since, mark.mark.since))
    else:
        assert mark is not None
        marks[leaf.index] = mark._replace(since=max(since, mark.since))


def starts_at(instance: Instance, detached: Moment) -> list[Start | None]:
    """Return the clocks' starts if *detached* fixes the consequent's: the latest up to it, or the first after it."""
    starts = list(instance.starts)
    for clock in instance.program.clocks if instance.runs is not None else ():
        runs = instance.runs[clock.index]  # type: ignore[index]
        if clock.of_consequent and runs:
            before = [start for start in runs if start[:2] <= detached]
            starts[clock.index] = before[-1] if before else runs[0]
    return starts


def _is_late(leaf: Leaf, instance: Instance) -> bool:
    assert instance.marks is not None
    mark = instance.marks[leaf.index]
    hit = mark.mark if isinstance(mark, Tally) else mark
    return not leaf.negated and hit is not None and hit.at > limit_of(leaf, instance).last


def begin_anew(instance: Instance, stopped: Instant, resumed: Instant) -> None:
    """Look for what a `no` forbids only from *resumed* on, if its clock started under a suspension from *stopped*."""
    if instance.runs is not None or instance.marks is None:
        return
    for clock in instance.program.clocks:
        start = instance.starts[clock.index]
        if start is not None and stopped <= start.at < resumed:
            for index in clock.bounds:
                mark, leaf = instance.marks[index], instance.program.leaves[index]
                if leaf.negated and isinstance(mark, Tally):
                    mark.restart(resumed, leaf)
