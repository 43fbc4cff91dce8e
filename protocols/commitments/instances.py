"""What one instance of a commitment has seen so far: plain data that grows with what is open, not with history."""

from bisect import bisect_right
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation, Rounded
from typing import Final, NamedTuple

from protocols.commitments.lifecycle import DISPUTED, PENDING, UNCONFIRMED, State
from protocols.commitments.programs import BEFORE_ALL, Leaf, Program
from protocols.commitments.reports import Report
from protocols.core.instants import Duration, Instant

Items = tuple[int, ...]


class Hit(NamedTuple):
    """When something came true, and the items that caused it."""

    at: Instant
    items: Items


class Entry(NamedTuple):
    """A counted report: its time, its items, and what it adds."""

    at: Instant
    items: Items
    amount: Decimal


EXACT: Final = Context(prec=2_500, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, Rounded, InvalidOperation])
"""Sums of amounts, exact: the default context rounds to 28 digits."""


_NO_ENTRY: Final = Entry(BEFORE_ALL, (), Decimal(0))


@dataclass(slots=True)
class Tally:
    """A count or sum of reports, and when it reached its threshold.

    Reports that arrive in the order of their time are folded into ``total``; ``newest`` is the last of them, with what
    else came at that instant. Other reports, and those of a clock that may restart, are kept one by one in ``entries``.
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
                self.mark = Hit(at, items)
        elif had is None or at <= had.at or leaf.negated:
            # Once the threshold is reached, later reports matter only if a clock restarts and counts them anew.
            place = bisect_right(self.entries, at, key=_time)
            self.entries.insert(place, Entry(at, items, amount))
            self._sum_from(place, leaf)
        return had is None and self.mark is not None

    def _sum_from(self, place: int, leaf: Leaf) -> None:
        del self.sums[place:]
        total = self.sums[-1] if self.sums else Decimal(0)
        if self.mark is not None and place < len(self.entries) and self.entries[place].at <= self.mark.at:
            self.mark = None
        for at, items, amount in self.entries[place:]:
            total = EXACT.add(total, amount)
            self.sums.append(total)
            if self.mark is None and total >= leaf.need:
                self.mark = Hit(at, items)

    def restart(self, at: Instant, leaf: Leaf) -> None:
        """Forget everything before *at*."""
        self.mark = None
        if leaf.ordered:
            newest_at, items, amount = self.newest
            self.total = amount if newest_at >= at else Decimal(0)
            if self.total >= leaf.need:
                self.mark = Hit(newest_at, items)
        self.entries = [entry for entry in self.entries if entry.at >= at]
        self.sums = []
        self._sum_from(0, leaf)

    def reached(self, leaf: Leaf, last: Instant, more: list[Entry]) -> Hit | None:
        """Return when the threshold is reached, no later than *last*, if the reports in *more* count too."""
        if not more:
            return self.mark if self.mark is not None and self.mark.at <= last else None
        together = Tally(entries=sorted(self.entries + more))
        together._sum_from(0, leaf)
        return together.mark if together.mark is not None and together.mark.at <= last else None


def _time(entry: Entry) -> Instant:
    return entry.at


@dataclass(slots=True)
class Instance:
    """One commitment; for a commitment with ``each``, its instance for this ``value``.

    With ``each``, the instance without a value is the base that the others copy. It holds the parties and whatever
    concerns all instances; its conditions are never judged. ``opened`` is set once something makes the instance exist.
    ``before`` is the open state under a suspension or an unsettled report. ``floor`` is the earliest time at which the
    next state may begin. ``marks`` are by leaf and ``starts`` by clock; they are ``None`` once nothing can matter.
    """

    program: Program
    number: int
    value: str | None
    debtor: str
    creditor: str
    opened: bool
    marks: "list[Hit | Tally | None] | None"
    starts: list[Hit | None]
    state: State = State.NONE
    before: State = State.CONDITIONAL
    since: Instant = BEFORE_ALL
    floor: Instant = BEFORE_ALL
    because: Items = ()
    due: Instant | None = None
    unsettled: dict[int, list[Report]] | None = None
    shifts: dict[int, Duration] | None = None
    waiting: dict[int, Items] | None = None
    suspended_at: Instant | None = None
    offer: str | None = None
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
