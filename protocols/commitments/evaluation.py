"""What a condition says of what an instance has seen: true since, impossible since, or open until.

Unsettled reports are read in three ways (docs/tracker.md, clause 15). In `WORST` they count against the condition: what
it wants did not happen, what it forbids did. In `ANSWERED` the unanswered ones count for it and the disputed ones
against it. In `BEST` all of them count for it. Where the worst and the best reading agree, nothing unsettled matters.
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import IntEnum
from typing import Final, NamedTuple

from protocols.commitments.instances import Entry, Hit, Instance, Items, Tally
from protocols.commitments.programs import BEFORE_ALL, NEVER, NO_END, All, End, Leaf, Limit, Node
from protocols.commitments.reports import Report
from protocols.commitments.tree import NUMBER
from protocols.core.instants import Instant


class Verdict(IntEnum):
    """What a condition says: it is open, it holds, or it is impossible."""

    OPEN = 0
    TRUE = 1
    FALSE = 2


class Reading(IntEnum):
    """How unsettled reports are read."""

    WORST = 0
    ANSWERED = 1
    BEST = 2


# Reading an enum member from its class costs as much as reading ten names, and these are read for every event.
OPEN: Final = Verdict.OPEN
TRUE: Final = Verdict.TRUE
FALSE: Final = Verdict.FALSE
WORST: Final = Reading.WORST
ANSWERED: Final = Reading.ANSWERED
BEST: Final = Reading.BEST


class Answer(NamedTuple):
    """What a condition says, since when, and because of which items.

    ``at`` is the instant since which the verdict is ``TRUE`` or ``FALSE``. For ``OPEN``, it is the last instant before
    time alone changes the verdict.
    """

    verdict: Verdict
    at: Instant
    items: Items


ONE = Decimal(1)
_ALWAYS = Answer(TRUE, BEFORE_ALL, ())


def end_of(end: End, instance: Instance) -> Limit:
    """Return one end of a window as it applies to *instance*, suspensions included."""
    shift = 0 if instance.shifts is None else instance.shifts.get(end.number, 0)
    if end.clock is None:
        return Limit(end.last + shift, end.closes + shift, ())
    start = instance.starts[end.clock]
    if start is None:
        return NO_END
    last = start.at + end.duration + shift
    return Limit(last, last, start.items)


def limit_of(leaf: Leaf, instance: Instance) -> Limit:
    """Return the earliest end among the windows of *leaf*."""
    if instance.shifts is not None:
        return min((end_of(end, instance) for end in leaf.ends), default=leaf.limit)
    limit = leaf.limit
    for end in leaf.running:
        start = instance.starts[end.clock]  # type: ignore[index]
        if start is not None and start.at + end.duration < limit.last:
            last = start.at + end.duration
            limit = Limit(last, last, start.items)
    return limit


def amount_of(leaf: Leaf, attributes: Mapping[str, str]) -> Decimal | None:
    """Return what a report with *attributes* adds to *leaf*, or ``None`` if it has no number to add."""
    if leaf.attribute is None:
        return ONE
    text = attributes.get(leaf.attribute)
    return Decimal(text) if text is not None and NUMBER.fullmatch(text) is not None else None


def evaluate(node: Node | None, instance: Instance, now: Instant, reading: Reading = WORST) -> Answer:
    """Return what *node* says at *now*; a missing condition is true since before everything."""
    if type(node) is Leaf:
        return _negated(node, instance, now, reading) if node.negated else _wanted(node, instance, now, reading)
    if node is None:
        return _ALWAYS
    decisive = FALSE if type(node) is All else TRUE
    decided: Answer | None = None
    until: Instant | None = None
    others: list[Answer] = []
    for part in node.parts:  # type: ignore[union-attr]
        answer = evaluate(part, instance, now, reading)
        if answer.verdict is decisive:
            if decided is None or answer.at < decided.at:
                decided = answer
        elif answer.verdict is not OPEN:
            others.append(answer)
        elif until is None or answer.at < until:
            until = answer.at
    if decided is not None:
        return decided
    if until is not None:
        return Answer(OPEN, until, ())
    items = sorted({item for answer in others for item in answer.items})
    return Answer(others[0].verdict, max(answer.at for answer in others), tuple(items))


def _wanted(leaf: Leaf, instance: Instance, now: Instant, reading: Reading) -> Answer:
    # docs/tracker.md, clause 5: `last` itself is still in time.
    last, closes, items = limit_of(leaf, instance)
    assert instance.marks is not None
    mark = instance.marks[leaf.index]
    hit: Hit | None
    if reading is not WORST and instance.unsettled is not None and leaf.index in instance.unsettled:
        hit = _hit_with(leaf, mark, instance, last, [r for r in instance.unsettled[leaf.index] if _for(r, reading)])
    else:
        hit = mark.mark if type(mark) is Tally else mark  # type: ignore[assignment]
    if hit is not None and hit.at <= last:
        return Answer(TRUE, hit.at, hit.items)
    return Answer(FALSE, closes, items) if now > last else Answer(OPEN, last, ())


def _negated(leaf: Leaf, instance: Instance, now: Instant, reading: Reading) -> Answer:
    last, closes, items = limit_of(leaf, instance)
    starts = [instance.starts[end.clock] for end in leaf.running if end.clock is not None]
    # docs/tracker.md, clause 7: `no X` "looks from E to E + D, both included; an earlier X does not break it".
    begins = max((start.at for start in starts if start is not None), default=BEFORE_ALL)
    if None not in starts:
        assert instance.marks is not None
        mark, hit = instance.marks[leaf.index], None
        if reading is not BEST and instance.unsettled is not None and leaf.index in instance.unsettled:
            against = [r for r in instance.unsettled[leaf.index] if r.at >= begins and not _for(r, reading)]
            hit = _hit_with(leaf, mark, instance, last, against)
        elif type(mark) is Tally:
            hit = mark.mark
        if hit is not None and hit.at <= last:
            return Answer(FALSE, hit.at, hit.items)
    return Answer(TRUE, max(closes, begins), items) if now > last else Answer(OPEN, last, ())


def _for(report: Report, reading: Reading) -> bool:
    """Return whether *reading* counts an unsettled report in the condition's favour."""
    return reading is BEST or (reading is ANSWERED and not report.disputed)


def _hit_with(leaf: Leaf, mark: object, instance: Instance, last: Instant, reports: list[Report]) -> Hit | None:
    """Return when *leaf* is reached, no later than *last*, if the unsettled *reports* hold too."""
    if leaf.simple:
        assert mark is None or isinstance(mark, Hit)
        hits = [Hit(report.at, (report.item,)) for report in reports]
        if mark is not None:
            hits.append(mark)
        return min(hits, default=None)
    more: list[Entry] = []
    for report in reports:
        amount = amount_of(leaf, report.attributes)
        if amount is not None:
            more.append(Entry(report.at, (report.item,), amount))
    return (mark if isinstance(mark, Tally) else Tally()).reached(leaf, last, more)


def holds_late(node: Node, instance: Instance) -> bool:
    """Return whether *node* holds if the ends of its windows are ignored; ``no`` keeps its own (clause 16)."""
    if isinstance(node, Leaf):
        assert instance.marks is not None
        if node.negated:
            return _negated(node, instance, NEVER, WORST).verdict is TRUE
        mark = instance.marks[node.index]
        return mark is not None and (not isinstance(mark, Tally) or mark.mark is not None)
    found = (holds_late(part, instance) for part in node.parts)
    return all(found) if isinstance(node, All) else any(found)


def can_close(node: Node, stopped: frozenset[int]) -> bool:
    """Return whether *node* can become impossible: because a window ends, or because something forbidden happens.

    *stopped* are the clocks that never run.
    """
    if isinstance(node, Leaf):
        return node.negated or any(end.clock is None or end.clock not in stopped for end in node.ends)
    found = (can_close(part, stopped) for part in node.parts)
    return any(found) if isinstance(node, All) else all(found)
