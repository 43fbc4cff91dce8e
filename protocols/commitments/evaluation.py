"""What a condition says of what an instance has seen: true since, impossible since, or open until.

Unsettled reports are read in three ways (docs/tracker.md, clause 15). In `WORST` they count against the condition: what
it wants did not happen, what it forbids did. In `ANSWERED` the unanswered ones count for it and the disputed ones
against it. In `BEST` all of them count for it. Where the worst and the best reading agree, nothing unsettled matters.
"""

from collections.abc import Mapping
from decimal import Decimal
from enum import IntEnum
from typing import Final, NamedTuple

from protocols.commitments.instances import Entry, Hit, Instance, Items, Moment, Start, Tally
from protocols.commitments.programs import (
    BEFORE_ALL,
    FIRST_PLACE,
    LAST_PLACE,
    NEVER,
    NO_END,
    All,
    End,
    Leaf,
    Limit,
    Node,
)
from protocols.commitments.reports import Report
from protocols.commitments.tree import NUMBER
from protocols.core.instants import Duration, Instant, later


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

    ``at`` is the instant since which the verdict is ``TRUE`` or ``FALSE``, ``place`` where in that instant. For
    ``OPEN``, ``at`` is the last instant before time alone changes the verdict.
    """

    verdict: Verdict
    at: Instant
    place: int
    items: Items

    @property
    def moment(self) -> Moment:
        """The instant and the place in it, to be compared."""
        return self.at, self.place


ONE = Decimal(1)
_ALWAYS = Answer(TRUE, BEFORE_ALL, FIRST_PLACE, ())


def end_of(end: End, instance: Instance) -> Limit:
    """Return one end of a window as it applies to *instance*: each suspension that found it open moves it."""
    if end.clock is None:
        last = _moved(BEFORE_ALL, end.last, instance)[1]
        return Limit(last, Instant(end.closes + last - end.last), ())
    start = instance.starts[end.clock]
    if start is None:
        return NO_END
    last = last_of_run(start, end.duration, instance)
    return Limit(last, last, start.items)


def last_of_run(start: Start, duration: Duration, instance: Instance) -> Instant:
    """Return the last instant of a clock's run from *start*; a run that began under a suspension waits for its end."""
    return _moved(start.at, later(start.at, duration), instance)[1]


def begin_of_run(start: Start, instance: Instance) -> Instant:
    """Return when a clock's run began: at *start*, or when the suspension ended under which it began."""
    return _moved(start.at, start.at, instance)[0]


def _moved(began: Instant, last: Instant, instance: Instance) -> tuple[Instant, Instant]:
    """Return what the suspensions of *instance* have made of a time that *began* then and was to *last* until then.

    Suspensions that are over change no more, so that each is looked at once.
    """
    if not instance.suspensions:
        return began, last
    key, length = (began, last), last - began
    seen, began, last = instance.moved.get(key, (0, began, last))
    for stopped, resumed in instance.suspensions[seen:]:
        if stopped <= began < resumed:
            began, last = resumed, Instant(resumed + length)
        elif began < stopped <= last:
            last = Instant(last + resumed - stopped)
        if resumed < NEVER:
            seen += 1
            instance.moved[key] = seen, began, last
    return began, last


def limit_of(leaf: Leaf, instance: Instance) -> Limit:
    """Return the earliest end among the windows of *leaf*."""
    if instance.suspensions:
        return min((end_of(end, instance) for end in leaf.ends), default=leaf.limit)
    limit = leaf.limit
    for end in leaf.running:
        start = instance.starts[end.clock]  # type: ignore[index]
        if start is not None and start.at + end.duration < limit.last:
            last = later(start.at, end.duration)
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
            if decided is None or (answer.at <= decided.at and answer.moment < decided.moment):
                decided = answer
        elif answer.verdict is not OPEN:
            others.append(answer)
        elif until is None or answer.at < until:
            until = answer.at
    if decided is not None:
        return decided
    if until is not None:
        return Answer(OPEN, until, LAST_PLACE, ())
    items = sorted({item for answer in others for item in answer.items})
    at, place = max(answer.moment for answer in others)
    return Answer(others[0].verdict, at, place, tuple(items))


def _wanted(leaf: Leaf, instance: Instance, now: Instant, reading: Reading) -> Answer:
    limit = limit_of(leaf, instance)
    assert instance.marks is not None
    mark = instance.marks[leaf.index]
    hit: Hit | None
    if instance.unsettled is not None and _may_matter(leaf, instance, reading, WORST):
        hit = _hit_with(leaf, mark, BEFORE_ALL, _read(leaf, instance, reading, wanted=True))
    else:
        hit = mark.mark if type(mark) is Tally else mark  # type: ignore[assignment]
    # docs/tracker.md, clause 5: `last` itself is still in time.
    if hit is not None and hit.at <= limit.last:
        since = hit.since
        if instance.runs is not None and leaf.running:
            since = _counts_since(leaf, hit, instance)
        return Answer(TRUE, since, hit.place if since == hit.at else LAST_PLACE, hit.items)
    if now > limit.last:
        return Answer(FALSE, limit.closes, limit.place, limit.items)
    return Answer(OPEN, limit.last, LAST_PLACE, ())


def _counts_since(leaf: Leaf, hit: Hit, instance: Instance) -> Instant:
    """Return since when *hit* counts: at once, or since the run of each clock for which it is not too late."""
    since = hit.at
    assert instance.runs is not None
    for end in leaf.running:
        assert end.clock is not None
        for number, start in enumerate(instance.runs[end.clock]):
            if last_of_run(start, end.duration, instance) >= hit.at:
                since = max(since, begin_of_run(start, instance) if number else hit.at)
                break
    return since


def _negated(leaf: Leaf, instance: Instance, now: Instant, reading: Reading) -> Answer:
    # docs/tracker.md, clause 7: `no X` "looks from E to E + D, both included; an earlier X does not break it".
    limit = limit_of(leaf, instance)
    begins, running = BEFORE_ALL, True
    for end in leaf.running:
        start = instance.starts[end.clock]  # type: ignore[index]
        if start is None:
            running = False
        else:
            begins = max(begins, begin_of_run(start, instance))
    if running:
        assert instance.marks is not None
        mark = instance.marks[leaf.index]
        if instance.unsettled is not None and _may_matter(leaf, instance, reading, BEST):
            hit = _hit_with(leaf, mark, begins, _read(leaf, instance, reading, wanted=False))
        else:
            hit = mark.reached(leaf, begins, []) if type(mark) is Tally else None
        if hit is not None and hit.at <= limit.last:
            return Answer(FALSE, hit.at, hit.place, hit.items)
    if now > limit.last:
        cleared = BEFORE_ALL if instance.cleared is None else instance.cleared.get(leaf.index, BEFORE_ALL)
        if cleared > limit.closes:
            return Answer(TRUE, cleared, LAST_PLACE, limit.items)
        return Answer(TRUE, limit.closes, limit.place, limit.items)
    return Answer(OPEN, limit.last, LAST_PLACE, ())


def _may_matter(leaf: Leaf, instance: Instance, reading: Reading, unless: Reading) -> bool:
    """Return whether unsettled reports may change what *leaf* says; in *unless* only those that reduce a total can."""
    if instance.unsettled is None or leaf.index not in instance.unsettled:
        return False
    return reading is not unless or leaf.attribute is not None


def _read(leaf: Leaf, instance: Instance, reading: Reading, wanted: bool) -> list[Report]:
    """Return the unsettled reports that hold in *reading*.

    A report that brings *leaf* closer to its threshold helps the condition if it is ``wanted`` and harms it otherwise;
    a report that reduces a total does the opposite.
    """
    found = []
    assert instance.unsettled is not None
    for report in instance.unsettled[leaf.index]:
        amount = amount_of(leaf, report.attributes)
        helps = (amount is None or amount >= 0) == wanted
        if helps == (reading is BEST or (reading is ANSWERED and not report.disputed)):
            found.append(report)
    return found


def _hit_with(leaf: Leaf, mark: object, begins: Instant, reports: list[Report]) -> Hit | None:
    """Return when reports from *begins* on reach *leaf*, if the unsettled *reports* hold too."""
    if leaf.simple:
        assert mark is None or isinstance(mark, Hit)
        hits = [Hit(report.at, report.item, (report.item,), report.at) for report in reports]
        return min(hits if mark is None else [*hits, mark], default=None)
    more: list[Entry] = []
    for report in reports:
        amount = amount_of(leaf, report.attributes)
        if amount is not None and report.at >= begins:
            more.append(Entry(report.at, (report.item,), amount))
    return (mark if isinstance(mark, Tally) else Tally()).reached(leaf, begins, more)


def holds_late(node: Node, instance: Instance, now: Instant) -> bool:
    """Return whether *node* holds at *now* if the ends of its windows are ignored; ``no`` keeps its own (clause 16)."""
    if isinstance(node, Leaf):
        assert instance.marks is not None
        if node.negated:
            return _negated(node, instance, now, WORST).verdict is TRUE
        mark = instance.marks[node.index]
        return mark is not None and (not isinstance(mark, Tally) or mark.mark is not None)
    found = (holds_late(part, instance, now) for part in node.parts)
    return all(found) if isinstance(node, All) else any(found)


def can_close(node: Node, stopped: frozenset[int]) -> bool:
    """Return whether *node* can become impossible: because a window ends, or because something forbidden happens.

    *stopped* are the clocks that never run.
    """
    if isinstance(node, Leaf):
        return node.negated or any(end.clock is None or end.clock not in stopped for end in node.ends)
    found = (can_close(part, stopped) for part in node.parts)
    return any(found) if isinstance(node, All) else all(found)
