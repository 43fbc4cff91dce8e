"""The opening's part about deeds, checked as a whole and made ready: who may do what, and what is near what.

Sets of resources are whole numbers with a bit a resource, so that asking whether two plans meet costs the same for one
resource and for a thousand.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from protocols.core.graphs import components
from protocols.core.instants import Duration, parse_duration
from protocols.core.message import DECIMAL_PATTERN
from protocols.messages.actions import NOTHING, ActionKind, ActionsOpening, Argument, Between

MOST_OPEN: Final = 256
"""Plans that may be open at once."""
DECIMAL: Final = re.compile(DECIMAL_PATTERN)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of action with what follows from the other kinds.

    ``undo`` is None for what needs no undoing and for what allows none; ``bit`` stands for the kind in sets of kinds,
    ``pairs`` for all kinds with which it conflicts wherever they act.
    """

    name: str
    rule: ActionKind
    undo: str | None
    opposes: frozenset[str]
    bit: int
    pairs: int


@dataclass(slots=True)
class Rules:
    """The opening's part about deeds, ready for the fold."""

    opening: ActionsOpening
    kinds: Mapping[str, Kind]
    usual: Duration
    longest: Duration
    window: Duration
    decide_within: Duration | None
    verify_within: Duration | None
    bits: Mapping[str, int]
    reach: Mapping[str, int]
    """For each resource, those that are near it: itself, what it lies in or contains, what it uses or serves."""
    undoing: frozenset[str]
    """The kinds that undo an effect that lasts."""
    _basis: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def above(self, resource: str) -> list[str]:
        """Return *resource* and all that it lies within, the nearest first."""
        return _above(self.opening, resource)

    def basis(self, resource: str) -> tuple[str, ...]:
        """Return what an act on *resource* rests on: it, all that it lies within, and what any of these use."""
        if resource not in self._basis:
            chain = self.above(resource)
            used = [other for each in chain for other in self.opening.resources[each].uses]
            self._basis[resource] = tuple(dict.fromkeys([*chain, *used]))
        return self._basis[resource]

    def in_scope(self, kind: Kind, resource: str) -> bool:
        """Return whether *kind* may act on *resource*."""
        return any(each in kind.rule.on for each in self.above(resource))

    def span(self, resources: Iterable[str]) -> int:
        """Return *resources* as a set of bits."""
        return _union(self.bits[name] for name in resources)

    def near(self, resources: Iterable[str]) -> int:
        """Return all that is near any of *resources*, as a set of bits."""
        return _union(self.reach[name] for name in resources)

    def classes_of(self, member: str) -> list[int]:
        """Return the classes that *member* may claim, the highest (0) first; without classes all have the one."""
        classes = self.opening.priorities
        return [rank for rank, each in enumerate(classes) if member in each.by] if classes else [0]

    def class_named(self, name: str) -> int | None:
        """Return the rank of the class called *name*, or None."""
        return next((rank for rank, each in enumerate(self.opening.priorities) if each.name == name), None)


def make_rules(opening: ActionsOpening, members: Iterable[str]) -> Rules:
    """Return *opening* ready for the fold of a room of *members*; raise ``ValueError`` for what cannot be."""
    _check_names(opening, frozenset(members))
    _check_kinds(opening)
    usual, longest = parse_duration(opening.lease.usual), parse_duration(opening.lease.longest)
    if usual > longest:
        raise ValueError("lease: usual is longer than longest")
    bits = {name: 1 << place for place, name in enumerate(opening.resources)}
    return Rules(
        opening=opening,
        kinds=_kinds(opening),
        usual=usual,
        longest=longest,
        window=parse_duration(opening.flapping.within),
        decide_within=None if opening.decide_within is None else parse_duration(opening.decide_within),
        verify_within=None if opening.verify is None else parse_duration(opening.verify.within),
        bits=bits,
        reach=_reach(opening, bits),
        undoing=frozenset(kind.undo for kind in opening.kinds.values() if kind.holds and kind.undo is not None),
    )


def _check_names(opening: ActionsOpening, members: frozenset[str]) -> None:
    resources = opening.resources
    named: list[tuple[str, Iterable[str]]] = [("decided_by", opening.decided_by)]
    named += [(f"priorities: {each.name}", each.by) for each in opening.priorities]
    named += [(f"kinds: {name}: by", kind.by) for name, kind in opening.kinds.items()]
    named += [(f"kinds: {name}: confirmed_by", kind.confirmed_by or ()) for name, kind in opening.kinds.items()]
    named += [(f"resources: {name}: owner", (each.owner,)) for name, each in resources.items() if each.owner]
    named += [("verify", opening.verify.by if opening.verify else ())]
    for place, names in named:
        for name in names:
            if name not in members:
                raise ValueError(f"{place}: {name!r} is not a member")
    if len({each.name for each in opening.priorities}) < len(opening.priorities):
        raise ValueError("priorities: a class stands twice")
    pointed = [(name, [*each.uses, *((each.within,) if each.within else ())]) for name, each in resources.items()]
    pointed += [(f"kinds: {name}: on", kind.on) for name, kind in opening.kinds.items()]
    for place, names in pointed:
        for name in names:
            if name not in resources:
                raise ValueError(f"{place}: {name!r} is not a resource")
    within = {name: [each.within] if each.within else [] for name, each in resources.items()}
    for part in components(within):
        if len(part) > 1 or part[0] in within[part[0]]:
            raise ValueError(f"resources: {part[0]!r} lies within itself")


def _check_kinds(opening: ActionsOpening) -> None:
    kinds = opening.kinds
    if NOTHING in kinds:
        raise ValueError(f"kinds: {NOTHING!r} is no name for a kind; undo uses the word")
    for name, kind in kinds.items():
        if len(set(kind.counts)) < len(kind.counts):
            raise ValueError(f"kinds: {name}: a count stands twice")
        if kind.undo is None or kind.undo == NOTHING:
            continue
        if kind.undo not in kinds:
            raise ValueError(f"kinds: {name}: undo: {kind.undo!r} is not a kind")
        if kinds[kind.undo].args != kind.args:
            raise ValueError(f"kinds: {name}: {kind.undo!r}, which undoes it, takes other arguments")
    for pair in opening.conflicts:
        for name in pair:
            if name not in kinds:
                raise ValueError(f"conflicts: {name!r} is not a kind")


def _kinds(opening: ActionsOpening) -> dict[str, Kind]:
    bits = {name: 1 << place for place, name in enumerate(opening.kinds)}
    pairs = dict.fromkeys(bits, 0)
    for one, other in opening.conflicts:
        pairs[one] |= bits[other]
        pairs[other] |= bits[one]
    made = {}
    for name, rule in opening.kinds.items():
        undo = None if rule.undo in (None, NOTHING) else rule.undo
        opposes = {other for other, each in opening.kinds.items() if each.undo == name}
        if undo is not None:
            opposes.add(undo)
        made[name] = Kind(name, rule, undo, frozenset(opposes), bits[name], pairs[name])
    return made


def _above(opening: ActionsOpening, resource: str) -> list[str]:
    chain = [resource]
    while (parent := opening.resources[chain[-1]].within) is not None:
        chain.append(parent)
    return chain


def _reach(opening: ActionsOpening, bits: Mapping[str, int]) -> dict[str, int]:
    reach = dict(bits)
    for name, resource in opening.resources.items():
        for other in (*_above(opening, name), *resource.uses):
            reach[name] |= bits[other]
            reach[other] |= bits[name]
    return reach


def _union(sets: Iterable[int]) -> int:
    union = 0
    for each in sets:
        union |= each
    return union


def fits(value: Any, argument: Argument) -> bool:
    """Return whether *value* is what *argument* allows: a whole number or decimal text is never made from another."""
    if argument == "text":
        return isinstance(value, str)
    if isinstance(argument, Between):
        number = _number(value)
        return (
            number is not None
            and (argument.min is None or number >= Decimal(argument.min))
            and (argument.max is None or number <= Decimal(argument.max))
        )
    return any(type(value) is type(each) and value == each for each in argument)


def _number(value: Any) -> Decimal | None:
    if type(value) is int:
        return Decimal(value)
    return Decimal(value) if isinstance(value, str) and DECIMAL.fullmatch(value) else None
