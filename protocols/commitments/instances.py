"""What one instance of a commitment has seen so far: plain data that grows with what is open, not with history."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation, Rounded
from typing import Final, NamedTuple

from protocols.commitments.lifecycle import DISPUTED, PENDING, UNCONFIRMED, State
from protocols.commitments.programs import BEFORE_ALL, FIRST_PLACE, Leaf, Program
from protocols.commitments.reports import Report
from protocols.core.instants import Instant

Items = tuple[int, ...]
Moved = tuple[int, Instant, Instant]
"""What the first suspensions, so many of them, have made of a time's beginning and end."""
Moment = tuple[Instant, int]
"""An instant and the place in it: the items of one instant come in their order."""

START_OF_ALL: Final = (BEFORE_ALL, FIRST_PLACE)
"""The moment of whatever holds since before everything."""


class Hit(NamedTuple):
    """When something came true: the instant, the place in it, and the items that caused it.

    It counts ``since`` then, or since the restart of a clock for whose last run it came too late.
    """

    at: Instant
    place: int
    items: Items
    since: Instant


class Start(NamedTuple):
    """When a clock started: the instant and the place in it at which that was established, and by what."""

    at: Instant
    place: int
    items: Items


class Entry(NamedTuple):
    """A counted report: its time, its items, and what it adds."""

    at: Instant
    items: Items
    amount: Decimal


class Offer(NamedTuple):
    """An offered delegation: to whom, as which entry or place, and the commitment's version at that point."""

    to: str
    id: str | int
    version: int


EXACT: Final = Context(prec=2_500, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, Rounded, InvalidOperation])
"""Sums of amounts, exact: the default context rounds to 28 digits."""


_NO_ENTRY: Final = Entry(BEFORE_ALL, (), Decimal(0))


@dataclass(slots=True)
class Tally:
    """A count or sum of reports, and when it first reached its threshold.

    Reports that arrive in the order of their time are folded into ``total``; ``newest`` is the last of them, with what
    else came at that instant. Other reports are kept one by one in ``entries``, in the order of their time; ``sums``
    are the totals after each.
    """

    total: Decimal = Decimal(0)
    newest: Entry = _NO_ENTRY
    entries: list[Entry] = field(default_factory=list)
    sums: list[Decimal] = field(default_factory=list)
    mark: Hit | None = None

    def add(self, at: Instant, items: Items, amount: Decimal, leaf: Leaf) -> bool:
        """Count one report; return whether it reached the threshold."""
        had = self.mark
        if leaf.ordered:
            self.total = EXACT.add(self.total, amount)
            same = self.newest.amount if self.newest.at == at else Decimal(0)
            self.newest = Entry(at, items, EXACT.add(same, amount))
            if had is None and self.total >= leaf.need:
                self.mark = _hit(at, items)
        # Reports after the threshold matter only to a window of `no` that begins later.
        elif had is None or at <= had.at or leaf.running:
            entry = Entry(at, items, amount)
            place = bisect_right(self.entries, _moment(entry), key=_moment)
            self.entries.insert(place, entry)
            self._sum_from(place, leaf)
        return had is None and self.mark is not None

    def _sum_from(self, place: int, leaf: Leaf) -> None:
        del self.sums[place:]
        total = self.sums[-1] if self.sums else Decimal(0)
        if self.mark is not None and (self.mark.at, self.mark.items) >= _moment(self.entries[place]):
            self.mark = None
        for at, items, amount in self.entries[place:]:
            total = EXACT.add(total, amount)
            self.sums.append(total)
            if self.mark is None and total >= leaf.need:
                self.mark = _hit(at, items)

    def restart(self, at: Instant, leaf: Leaf) -> None:
        """Forget everything before *at*; only for reports that arrive in the order of their time."""
        self.mark = None
        newest_at, items, amount = self.newest
        self.total = amount if newest_at >= at else Decimal(0)
        if newest_at >= at and self.total >= leaf.need:
            self.mark = _hit(newest_at, items)

    def reached(self, leaf: Leaf, begins: Instant, more: list[Entry]) -> Hit | None:
        """Return when reports from *begins* on first reach the threshold, if *more* counts too."""
        if leaf.ordered or (begins <= BEFORE_ALL and not more):
            return self.mark
        entries = self.entries[bisect_left(self.entries, begins, key=_time) :]
        return _first_reached(leaf, sorted(entries + more, key=_moment) if more else entries)


def _first_reached(leaf: Leaf, entries: list[Entry]) -> Hit | None:
    """Return when the sum of *entries*, given in the order of their time, first reaches the threshold of *leaf*."""
    total = Decimal(0)
    for at, items, amount in entries:
        total = EXACT.add(total, amount)
        if total >= leaf.need:
            return _hit(at, items)
    return None


def _hit(at: Instant, items: Items) -> Hit:
    return Hit(at, items[0], items, at)


def _time(entry: Entry) -> Instant:
    return entry.at


def _moment(entry: Entry) -> tuple[Instant, Items]:
    return entry.at, entry.items


@dataclass(slots=True)
class Instance:
    """One commitment; for a commitment with ``each``, its instance for this ``value``.

    With ``each``, the instance without a value is the base that the others copy. It holds the parties and whatever
    concerns all instances; its conditions are never judged. ``opened`` is set once something makes the instance exist.
    ``before`` is the open state under a suspension or an unsettled report. ``floor`` is the earliest moment at which
    the next state may begin. ``marks`` are by leaf and ``starts`` by clock; they are ``None`` once nothing can matter.
    ``runs`` are all starts of each clock, kept where something may become known late. ``created`` and ``detached`` are
    the moments that fix the clocks; ``bound`` is the earliest moment at which detachment can be. ``suspensions`` are
    from and to; one that lasts has no end yet. ``moved`` keeps what they made of each time. ``passed`` and ``denied``
    say when a ``no`` that starts a clock came true, and when a report against it was last denied. ``cleared`` says when
    a clock that started anew undid what had broken a ``no``. ``version`` counts the changes of state and of parties.
    """

    program: Program
    number: int
    value: str | None
    debtor: str
    creditor: str
    opened: bool
    marks: "list[Hit | Tally | None] | None"
    starts: list[Start | None]
    runs: list[list[Start]] | None = None
    state: State = State.NONE
    before: State = State.CONDITIONAL
    since: Instant = BEFORE_ALL
    floor: Moment = START_OF_ALL
    created: Moment = START_OF_ALL
    bound: Moment = START_OF_ALL
    detached: Moment = START_OF_ALL
    because: Items = ()
    due: Instant | None = None
    unsettled: dict[int, list[Report]] | None = None
    suspensions: tuple[tuple[Instant, Instant], ...] = ()
    moved: dict[tuple[Instant, Instant], tuple[int, Instant, Instant]] = field(
        default_factory=dict, compare=False, repr=False
    )
    suspended_at: Instant | None = None
    passed: dict[int, Instant] | None = None
    denied: dict[int, Instant] | None = None
    cleared: dict[int, Instant] | None = None
    offer: Offer | None = None
    version: int = 0
    answerable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The commitment's id, followed by the instance's value in brackets if it has one."""
        return self.program.id if self.value is None else f"{self.program.id}[{self.value}]"

    @property
    def standing(self) -> State:
        """The state in which conditions are judged: the one before the suspension or the unsettled report."""
        state = self.state
        if state is PENDING or state is UNCONFIRMED or state is DISPUTED:
            return self.before
        return state

    @property
    def is_base(self) -> bool:
        """Whether this instance only stands for future instances."""
        return self.value is None and self.program.each is not None
