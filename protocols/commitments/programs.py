"""Terms compiled for the tracker: the leaves of both conditions numbered, windows reduced, events indexed.

A program never changes and is shared by all instances of its commitment. What an instance has seen is in lists that
these numbers index (`protocols.commitments.instances`).
"""

from collections.abc import Container
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

from protocols.commitments.conditions import parse
from protocols.commitments.tree import (
    NUMBER,
    After,
    And,
    AtLeast,
    Before,
    By,
    Condition,
    Counted,
    Event,
    Filter,
    LifeCycle,
    No,
    Or,
    Timed,
    Totalling,
    Window,
    Within,
    event_of,
    leaves,
)
from protocols.core.instants import FIRST, Duration, Instant
from protocols.messages.commitments import CommitmentTerms

BEFORE_ALL = Instant(FIRST - 1)
"""The time of whatever holds since before everything; no clock starts there."""
NEVER = Instant(1 << 62)
"""Later than every instant: the end of a condition without an end."""
FIRST_PLACE: Final = -1
"""The place of something that comes true as an instant begins, before anything else in that instant."""
LAST_PLACE: Final = 1 << 62
"""The place of something that comes true as an instant passes, after everything else in that instant."""


@dataclass(frozen=True, slots=True)
class Test:
    """One filter, with its number parsed in advance."""

    attribute: str
    op: str
    text: str
    number: Decimal | None

    @classmethod
    def of(cls, found: Filter) -> "Test":
        """Return the test for *found*."""
        value = found.value
        return cls(found.attribute, found.op, value.text, Decimal(value.text) if value.is_number else None)

    def passes(self, attributes: Any) -> bool:
        """Return whether a report with *attributes* passes."""
        text = attributes.get(self.attribute)
        if text is None:
            return False
        op, number = self.op, None
        if self.number is not None and NUMBER.fullmatch(text) is not None:
            number = Decimal(text)
        if op == "=":
            return text == self.text if number is None else number == self.number
        if op == "!=":
            return text != self.text if number is None else number != self.number
        if number is None or self.number is None:
            return False
        if op == "<":
            return number < self.number
        if op == "<=":
            return number <= self.number
        return number > self.number if op == ">" else number >= self.number


@dataclass(frozen=True, slots=True)
class End:
    """One end of a window: ``last`` is the last instant inside, ``closes`` the first instant after it.

    For ``within``, the clock with index ``clock`` determines both; ``number`` is where an instance keeps its shift.
    """

    number: int
    last: Instant
    closes: Instant
    clock: int | None = None
    duration: Duration = field(default=Duration(0))


class Limit(NamedTuple):
    """Where windows end: the last instant inside, the first instant after them, and the items that set the end."""

    last: Instant
    closes: Instant
    items: tuple[int, ...]

    @property
    def place(self) -> int:
        """The place in the instant ``closes`` at which it is over: ``before T`` as T begins, ``by T`` as T passes."""
        return LAST_PLACE if self.last == self.closes else FIRST_PLACE


NO_END: Final = Limit(NEVER, NEVER, ())


@dataclass(frozen=True, slots=True)
class Leaf:
    """One counted thing of a condition.

    ``negated`` is set for ``no``; ``simple`` if it is not negated and one report suffices. ``need`` is the count or
    total that makes it hold, ``attribute`` what is summed (``None``: reports are counted). ``first`` is the first
    instant that counts. ``limit`` is the earliest of the ends that no clock sets, ``running`` are the ends that clocks
    set, and ``ends`` are all of them. ``ordered`` is set if everything that the program counts arrives in the order of
    its time. ``clock`` is the clock to whose start this leaf belongs.
    """

    index: int
    negated: bool
    simple: bool
    counts: Counted
    tests: tuple[Test, ...]
    need: Decimal
    attribute: str | None
    first: Instant
    ends: tuple[End, ...]
    limit: Limit
    running: tuple[End, ...]
    ordered: bool
    clock: int | None

    def counts_report(self, attributes: Any) -> bool:
        """Return whether a report with *attributes* counts, regardless of its time."""
        for test in self.tests:  # noqa: SIM110 - for every report; a generator costs as much as a test
            if not test.passes(attributes):
                return False
        return True


@dataclass(frozen=True, slots=True)
class All:
    """Holds if all of ``parts`` do."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Some:
    """Holds if one of ``parts`` does."""

    parts: "tuple[Node, ...]"


Node = Leaf | All | Some


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a ``within D of E``: ``of`` is E, ``bounds`` are the numbers of the leaves that it bounds.

    ``timed`` are the leaves of E that time alone makes true.
    """

    index: int
    of: Node
    of_consequent: bool
    timed: tuple[Leaf, ...]
    bounds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """Where one kind of event goes in a program: the leaves, the clocks owning them, and whether it opens instances."""

    leaves: tuple[Leaf, ...]
    opens: bool

    def __deepcopy__(self, memo: dict[int, Any]) -> "Route":
        return self


@dataclass(frozen=True, slots=True)
class Program:
    """One commitment's terms, compiled.

    ``conditional`` is how many of the leaves, the first, are the antecedent's.
    ``late`` is set if something that the conditions name may become known after it happened: by a confirmation, or as
    the state of another commitment. ``timed`` are the clocks that time alone may start; ``done_by_time`` is set if time
    alone may make the consequent hold.
    """

    id: str
    debtor: str
    creditor: str
    each: str | None
    excludes: tuple[str, ...]
    if_: Condition | None
    then: Condition
    antecedent: Node | None
    consequent: Node
    leaves: tuple[Leaf, ...]
    conditional: int
    late: bool
    clocks: tuple[Clock, ...]
    events: dict[str, Route]
    states: dict[LifeCycle, Route]
    timed: tuple[Clock, ...]
    done_by_time: bool

    def __deepcopy__(self, memo: dict[int, Any]) -> "Program":
        return self

    @property
    def named(self) -> set[str]:
        """The commitments that the conditions name."""
        return {life.commitment for life in self.states}


def compile_terms(terms: CommitmentTerms, confirmable: Container[str]) -> Program:
    """Return *terms* as a program; *confirmable* are the events whose reports need a confirmation.

    Raises `protocols.commitments.conditions.ConditionError` for a condition that cannot be read.
    """
    if_ = None if terms.antecedent is None else parse(terms.antecedent)
    then = parse(terms.consequent)
    return compile_conditions(terms, if_, then, confirmable)


def compile_conditions(
    terms: CommitmentTerms, if_: Condition | None, then: Condition, confirmable: Container[str]
) -> Program:
    """Return the program of conditions that have been parsed."""
    conditions = (then,) if if_ is None else (if_, then)
    named = [event_of(leaf) for condition in conditions for leaf in leaves(condition)]
    late = any(event is None or event.name in confirmable for event in named)
    made = _Compiler(late)
    antecedent = None if if_ is None else made.node(if_)
    boundary = len(made.leaves)
    made.of_consequent = True
    consequent = made.node(then)
    events: dict[str, list[Leaf]] = {}
    states: dict[LifeCycle, list[Leaf]] = {}
    for leaf in made.leaves:
        event = event_of(leaf.counts)
        if event is not None:
            events.setdefault(event.name, []).append(leaf)
        elif isinstance(leaf.counts, LifeCycle):
            states.setdefault(leaf.counts, []).append(leaf)
    clocks = made.clocks
    opening = range(boundary) if antecedent is not None else range(len(made.leaves))
    return Program(
        terms.id,
        terms.debtor,
        terms.creditor,
        terms.each,
        tuple(terms.excludes or ()),
        if_,
        then,
        antecedent,
        consequent,
        tuple(made.leaves),
        boundary,
        late,
        clocks,
        {name: Route(tuple(found), any(leaf.index in opening for leaf in found)) for name, found in events.items()},
        {life: Route(tuple(found), any(leaf.index in opening for leaf in found)) for life, found in states.items()},
        tuple(clock for clock in clocks if clock.timed),
        bool(_timed(consequent)),
    )


class _Compiler:
    """Numbers leaves, ends and clocks while it walks both conditions, the antecedent first."""

    def __init__(self, late: bool) -> None:
        self.late = late
        self.of_consequent = False
        self.leaves: list[Leaf] = []
        self._ends = 0
        self._started: dict[tuple[bool, Condition], _Draft] = {}

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The clocks found; a clock inside the E of another has the higher number."""
        return tuple(draft.clock() for draft in self._started.values())

    def node(self, condition: Condition, clock: int | None = None) -> Node:
        if isinstance(condition, And | Or):
            parts = tuple(self.node(part, clock) for part in condition.parts)
            return All(parts) if isinstance(condition, And) else Some(parts)
        if isinstance(condition, Timed | No):
            return self._leaf(condition.what, condition.windows, isinstance(condition, No), clock)
        return self._leaf(condition, (), False, clock)

    def _leaf(self, what: Counted, windows: tuple[Window, ...], negated: bool, clock: int | None) -> Leaf:
        first, ends, drafts = BEFORE_ALL, list[End](), list[_Draft]()
        for window in windows:
            match window:
                case After(at):
                    first = max(first, Instant(at + 1))
                case By(at):
                    ends.append(End(self._ends, at, at))
                case Before(at):
                    ends.append(End(self._ends, Instant(at - 1), at))
                case Within(duration, of):
                    draft = self._clock(of)
                    drafts.append(draft)
                    ends.append(End(self._ends, NEVER, NEVER, draft.index, duration))
            self._ends += 1
        event = event_of(what)
        need, attribute = Decimal(1), None
        if isinstance(what, AtLeast):
            need = Decimal(what.count)
        elif isinstance(what, Totalling):
            need, attribute = Decimal(what.amount), what.attribute
        leaf = Leaf(
            index=len(self.leaves),
            negated=negated,
            simple=not negated and isinstance(what, Event | LifeCycle),
            counts=what,
            tests=() if event is None else tuple(map(Test.of, event.filters)),
            need=need,
            attribute=attribute,
            first=first,
            ends=tuple(ends),
            limit=min((Limit(end.last, end.closes, ()) for end in ends if end.clock is None), default=NO_END),
            running=tuple(end for end in ends if end.clock is not None),
            ordered=not self.late,
            clock=clock,
        )
        for draft in drafts:
            draft.bounds.append(leaf.index)
        self.leaves.append(leaf)
        return leaf

    def _clock(self, of: Condition) -> "_Draft":
        """Return the clock that starts with *of*; all windows of this side that name it share one clock."""
        draft = self._started.get((self.of_consequent, of))
        if draft is None:
            draft = self._started[self.of_consequent, of] = _Draft(len(self._started), self.of_consequent)
            draft.of = self.node(of, draft.index)
        return draft


@dataclass(slots=True)
class _Draft:
    """A clock whose leaves are still being collected."""

    index: int
    of_consequent: bool
    of: Node | None = None
    bounds: list[int] = field(default_factory=list)

    def clock(self) -> Clock:
        assert self.of is not None
        return Clock(self.index, self.of, self.of_consequent, _timed(self.of), tuple(self.bounds))


def _timed(node: Node) -> tuple[Leaf, ...]:
    if isinstance(node, Leaf):
        return (node,) if node.negated else ()
    return tuple(leaf for part in node.parts for leaf in _timed(part))
