"""What a promise may demand of its debtor: which events, and how much of an attribute in total.

It is read from the consequent alone, and never underestimated: of alternatives, the most expensive counts; parts that
must all hold are summed; a reference to another commitment demands what that one does. Windows demand nothing, nor does
a condition that something must not happen. Amounts are exact fractions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from protocols.commitments.conditions import parse
from protocols.commitments.tree import NUMBER, And, AtLeast, Condition, Event, LifeCycle, No, Or, Timed, Totalling
from protocols.messages.commitments import CommitmentTerms

_LEAST = ("=", ">=", ">")
"""Comparisons that ask for an amount; the others (``!= < <=``) can be met with none."""


class CannotTell(Exception):
    """A promise refers to a commitment whose terms are not known here, or refers in a circle."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Events that may have to be brought about, and the sum of each attribute that they require.

    ``beyond`` are attributes whose sum must be exceeded (``>``); ``odd`` are those required to be something other than
    a number. ``attributes`` are all attributes of which something is required, upper limits included. ``beside`` holds,
    for each required amount, its attribute and the exact texts that other attributes must have in the same report.
    """

    events: frozenset[str] = frozenset()
    amounts: Mapping[str, Fraction] = field(default_factory=dict)
    beyond: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    beside: frozenset[tuple[str, frozenset[tuple[str, str]]]] = frozenset()

    def exceeds(self, attribute: str, most: str, times: int = 1) -> bool:
        """Return whether more than *most* of *attribute* may be demanded by *times* promises with these terms.

        A value that is not a number counts as more.
        """
        amount = times * self.amounts.get(attribute, Fraction())
        too_much = amount > Fraction(most) or (attribute in self.beyond and amount == Fraction(most))
        return too_much or attribute in self.odd


def demand_of(terms: CommitmentTerms, known: Mapping[str, CommitmentTerms]) -> Demand:
    """Return what *terms* demand of their debtor; *known* are the terms of others by id. Raises `CannotTell`."""
    return _demand(parse(terms.consequent), known, frozenset({terms.id}))


def _demand(condition: Condition, known: Mapping[str, CommitmentTerms], above: frozenset[str]) -> Demand:
    match condition:
        case And(parts=parts):
            return _joined([_demand(part, known, above) for part in parts], summed=True)
        case Or(parts=parts):
            return _joined([_demand(part, known, above) for part in parts], summed=False)
        case Timed(what=what):
            return _demand(what, known, above)
        case No(what=what):
            # To refrain from something is owed too, but it has no amount.
            return Demand(_demand(what, known, above).events)
        case LifeCycle(state=state, commitment=other):
            # To bring about any other state can take the other promise's antecedent, or its breach.
            if state != "satisfied" or other in above or other not in known:
                raise CannotTell(f"what {condition} demands cannot be told")
            return _demand(parse(known[other].consequent), known, above | {other})
        case AtLeast(count=count, event=event):
            once = _of_event(event)
            return replace(once, amounts={name: count * amount for name, amount in once.amounts.items()})
        case Totalling(event=event, attribute=attribute, amount=amount):
            # A bound within each report makes the total a matter of how many reports there have to be.
            if any(each.attribute == attribute or each.value.is_number for each in event.filters):
                raise CannotTell(f"what {condition} demands cannot be told")
            total = Demand(
                amounts={attribute: max(Fraction(amount), Fraction())},
                attributes=frozenset({attribute}),
                beside=frozenset({(attribute, _exact(event))}),
            )
            return _joined([_of_event(event), total], summed=False)
        case Event():
            return _of_event(condition)


def _of_event(event: Event) -> Demand:
    amounts: dict[str, Fraction] = {}
    beyond, odd, required = set(), set(), set()
    for each in event.filters:
        if each.op not in _LEAST:
            continue
        required.add(each.attribute)
        if not each.value.is_number or NUMBER.fullmatch(each.value.text) is None:
            odd.add(each.attribute)
            continue
        # A negative amount must not make room for another amount.
        amounts[each.attribute] = max(amounts.get(each.attribute, Fraction()), Fraction(each.value.text))
        if each.op == ">":
            beyond.add(each.attribute)
    exact = _exact(event)
    return Demand(
        frozenset({event.name}),
        amounts,
        frozenset(beyond),
        frozenset(odd),
        frozenset(each.attribute for each in event.filters),
        frozenset((attribute, exact) for attribute in required),
    )


def _exact(event: Event) -> frozenset[tuple[str, str]]:
    """Return the attributes that a report of *event* must have with exactly one text, and these texts."""
    return frozenset((each.attribute, each.value.text) for each in event.filters if each.op == "=")


def _joined(parts: list[Demand], *, summed: bool) -> Demand:
    amounts: dict[str, Fraction] = {}
    for part in parts:
        for name, amount in part.amounts.items():
            before = amounts.get(name, Fraction())
            amounts[name] = before + amount if summed else max(before, amount)
    return Demand(
        frozenset().union(*(part.events for part in parts)),
        amounts,
        frozenset().union(*(part.beyond for part in parts)),
        frozenset().union(*(part.odd for part in parts)),
        frozenset().union(*(part.attributes for part in parts)),
        frozenset().union(*(part.beside for part in parts)),
    )
