"""The typed tree of a condition: frozen parts whose ``str()`` is canonical text.

Instants and durations are whole microseconds; amounts stay decimal text. A window after parentheses is written to each
of their parts, so that a tree contains no groups.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from protocols.core.instants import Duration, Instant, format_duration, show_instant

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,399})(?:\.[0-9]{1,400})?")
"""What counts as a number in filters and totals; anything else is text."""
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A name that needs no quotes."""
RESERVED = frozenset({"and", "or", "no", "at", "least", "by", "before", "after", "within", "of", "totalling"})
LIFE = frozenset(
    {"created", "detached", "satisfied", "expired", "violated", "terminated", "unconfirmed", "disputed"},
)
_BARE_VALUE = re.compile(r"[A-Za-z0-9_.+:/-]+")


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shown(name: str) -> str:
    """Return *name* as a condition writes it: in quotes unless it is a plain word."""
    return name if BARE.fullmatch(name) else _quote(name)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value to compare with. A ``quoted`` one is text even if it looks like a number."""

    text: str
    quoted: bool = False

    @property
    def is_number(self) -> bool:
        """Whether this is a decimal number."""
        return not self.quoted and NUMBER.fullmatch(self.text) is not None

    def __str__(self) -> str:
        if not self.quoted and _BARE_VALUE.fullmatch(self.text):
            return self.text
        return _quote(self.text)


@dataclass(frozen=True, slots=True)
class Filter:
    """A comparison ``attribute op value``; it fails if the attribute is missing."""

    attribute: str
    op: str
    value: Literal

    def __str__(self) -> str:
        return f"{_shown(self.attribute)} {self.op} {self.value}"


@dataclass(frozen=True, slots=True)
class Event:
    """A report of the event ``name`` that passes all ``filters``."""

    name: str
    filters: tuple[Filter, ...] = ()

    def __str__(self) -> str:
        name = _quote(self.name) if self.name in RESERVED or self.name in LIFE else _shown(self.name)
        return f"{name}({', '.join(map(str, self.filters))})" if self.filters else name


@dataclass(frozen=True, slots=True)
class LifeCycle:
    """The event that ``commitment`` (or its instance ``value``) entered ``state``."""

    state: str
    commitment: str
    value: str | None = None

    def __str__(self) -> str:
        name = _shown(self.commitment)
        return f"{self.state}({name})" if self.value is None else f"{self.state}({name}[{self.value}])"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """``count`` distinct reports of ``event``."""

    count: int
    event: Event

    def __str__(self) -> str:
        return f"at least {self.count} {self.event}"


@dataclass(frozen=True, slots=True)
class Totalling:
    """Distinct reports of ``event`` whose ``attribute`` sums to ``amount`` or more."""

    event: Event
    attribute: str
    amount: str

    def __str__(self) -> str:
        return f"{self.event} totalling {_shown(self.attribute)} >= {self.amount}"


@dataclass(frozen=True, slots=True)
class By:
    """No later than ``at``."""

    at: Instant

    def __str__(self) -> str:
        return f"by {show_instant(self.at)}"


@dataclass(frozen=True, slots=True)
class Before:
    """Earlier than ``at``."""

    at: Instant

    def __str__(self) -> str:
        return f"before {show_instant(self.at)}"


@dataclass(frozen=True, slots=True)
class After:
    """Later than ``at``."""

    at: Instant

    def __str__(self) -> str:
        return f"after {show_instant(self.at)}"


@dataclass(frozen=True, slots=True)
class Within:
    """No later than ``duration`` after ``of`` happened; until it has happened, there is no end."""

    duration: Duration
    of: "Condition"

    def __str__(self) -> str:
        of = str(self.of) if isinstance(self.of, COUNTED) else f"({self.of})"
        return f"within {format_duration(self.duration)} of {of}"


@dataclass(frozen=True, slots=True)
class Timed:
    """``what``, inside all of ``windows``."""

    what: "Counted"
    windows: "tuple[Window, ...]"

    def __str__(self) -> str:
        return f"{self.what} {' '.join(map(str, self.windows))}"


@dataclass(frozen=True, slots=True)
class No:
    """``what`` must not happen before its windows close."""

    what: "Counted"
    windows: "tuple[Window, ...]"
    position: int = field(default=0, compare=False, repr=False)

    def __str__(self) -> str:
        return f"no {self.what} {' '.join(map(str, self.windows))}"


@dataclass(frozen=True, slots=True)
class And:
    """All of ``parts``."""

    parts: "tuple[Condition, ...]"

    def __str__(self) -> str:
        return " and ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """Any of ``parts``."""

    parts: "tuple[Condition, ...]"

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


Counted = Event | LifeCycle | AtLeast | Totalling
COUNTED = (Event, LifeCycle, AtLeast, Totalling)
Window = By | Before | After | Within
Leaf = Counted | Timed | No
Condition = Leaf | And | Or


def leaves(condition: Condition) -> Iterator[Counted]:
    """Yield every event and life-cycle event that *condition* mentions, including those after ``of``."""
    if isinstance(condition, And | Or):
        for part in condition.parts:
            yield from leaves(part)
    elif isinstance(condition, Timed | No):
        yield condition.what
        for window in condition.windows:
            if isinstance(window, Within):
                yield from leaves(window.of)
    else:
        yield condition


def event_of(leaf: Counted) -> Event | None:
    """Return the event that *leaf* counts; ``None`` for a life-cycle event."""
    if isinstance(leaf, LifeCycle):
        return None
    return leaf if isinstance(leaf, Event) else leaf.event


def mentioned(condition: Condition) -> Iterator[LifeCycle]:
    """Yield the life-cycle events in *condition*."""
    return (leaf for leaf in leaves(condition) if isinstance(leaf, LifeCycle))
