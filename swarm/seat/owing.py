"""What a mandate says of promises: those that a member makes or takes over, and events that open more of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from protocols.commitments.conditions import parse
from protocols.commitments.tree import Condition, LifeCycle, event_of, leaves
from protocols.core.names import look_alike
from protocols.duties.duties import ReportAsked
from protocols.messages.commitments import CommitmentTerms, EventRule
from swarm.seat.demand import CannotTell, Demand, demand_of
from swarm.seat.limits import Breach, Most, PromiseBounds, among


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is needed to judge promises: the terms to which they may refer, who may report what, and what came before.

    ``owed`` are the names of what the member has promised so far; an instance has its own name if the member owes only
    that instance. ``reported`` is what it has reported.
    """

    known: Mapping[str, CommitmentTerms] = field(default_factory=dict)
    events: Mapping[str, EventRule] = field(default_factory=dict)
    owed: Collection[str] = ()
    reported: Collection[ReportAsked] = ()


def promise_breach(
    bounds: PromiseBounds | None, member: str, made: Iterable[CommitmentTerms], where: Circumstances
) -> Breach | None:
    """Return what *bounds* do not allow of those promises among *made* whose debtor is *member*."""
    made = list(made)
    mine = [terms for terms in made if terms.debtor == member]
    if bounds is None or not mine:
        return None
    known = {**where.known, **{terms.id: terms for terms in made}}
    for terms in mine:
        found = _one(bounds, member, terms, known, where)
        if found is not None:
            return found
    return _too_many(bounds, mine, known, where)


def report_breach(
    bounds: PromiseBounds | None, member: str, event: str, attributes: Mapping[str, str], where: Circumstances
) -> Breach | None:
    """Return what *bounds* do not allow of a report by *member* that opens one more instance of its own promise."""
    if bounds is None or bounds.instances is None:
        return None
    said = [(report.event, report.attributes) for report in where.reported]
    for name in where.owed:
        terms = where.known.get(name)
        if terms is None or terms.each is None:
            continue
        values = _opened(terms, where.known, [*said, (event, attributes)])
        if len(values) > max(bounds.instances, len(_opened(terms, where.known, said))):
            return Breach("promises.instances", f"{terms.id} would have {len(values)}, more than {bounds.instances}")
    return None


def _one(
    bounds: PromiseBounds,
    member: str,
    terms: CommitmentTerms,
    known: Mapping[str, CommitmentTerms],
    where: Circumstances,
) -> Breach | None:
    """Return what *bounds* do not allow of one promise."""
    if not (bounds.never_debtor_of or bounds.attributes):
        return _uncounted(bounds, member, terms, known, where)
    try:
        demand = demand_of(terms, known)
    except CannotTell as unknown:
        return Breach("promises", f"{terms.id}: {unknown}")
    for event in sorted(demand.events):
        never = among(event, bounds.never_debtor_of)
        if never is not None:
            return Breach(f"promises.never_debtor_of.{never}", f"{terms.id} demands {event}")
    if bounds.only_listed:
        listed = {*bounds.amounts, *(name for most in bounds.amounts.values() for name in most.unit)}
        for attribute in sorted(demand.attributes - listed):
            return Breach("promises.attributes.other", f"{terms.id} demands something of {attribute}")
    return _uncounted(bounds, member, terms, known, where) or _amounts(bounds, terms, demand)


def _uncounted(
    bounds: PromiseBounds,
    member: str,
    terms: CommitmentTerms,
    known: Mapping[str, CommitmentTerms],
    where: Circumstances,
) -> Breach | None:
    """Return the breach by a promise with ``each``, of which there may be any number; None if the number is bounded."""
    if terms.each is None or (bounds.max is None and not bounds.amounts):
        return None
    part = "max" if bounds.max is not None else "attributes"
    if bounds.instances is None:
        return Breach(f"promises.{part}", f"{terms.id} is a promise for each {terms.each}, however many there are")
    for event in sorted(_openers(terms, known)):
        rule = where.events.get(event)
        if rule is None or rule.by != member:
            return Breach("promises.instances", f"{terms.id}: others may report {event}, which opens instances of it")
    said = [(report.event, report.attributes) for report in where.reported]
    if len(_opened(terms, known, said)) > bounds.instances:
        return Breach("promises.instances", f"{terms.id} has more instances than {bounds.instances} already")
    return None


def _amounts(bounds: PromiseBounds, terms: CommitmentTerms, demand: Demand) -> Breach | None:
    times = 1 if terms.each is None else bounds.instances or 1
    for attribute, most in bounds.amounts.items():
        for demanded in (name for name in sorted(demand.attributes) if look_alike(name, attribute)):
            if demand.exceeds(demanded, most.max, times):
                return Breach(f"promises.attributes.{attribute}", f"{terms.id} may demand more than {most.max}")
            if not _in_unit(most, demanded, demand):
                unit = ", ".join(f"{name} = {text}" for name, text in most.unit.items())
                return Breach(f"promises.attributes.{attribute}", f"{terms.id} demands {demanded} without {unit}")
    return None


def _in_unit(most: Most, attribute: str, demand: Demand) -> bool:
    return all(most.unit.items() <= beside for name, beside in demand.beside if name == attribute)


def _too_many(
    bounds: PromiseBounds, mine: list[CommitmentTerms], known: Mapping[str, CommitmentTerms], where: Circumstances
) -> Breach | None:
    if bounds.max is None:
        return None
    count = 0
    for name in {*where.owed, *(terms.id for terms in mine)}:
        terms = known.get(name)
        count += 1 if terms is None or terms.each is None else bounds.instances or 1
    return Breach("promises.max", f"{count} promises are more than {bounds.max}") if count > bounds.max else None


# -- instances --------------------------------------------------------------------------------------------------------


def _openers(terms: CommitmentTerms, known: Mapping[str, CommitmentTerms]) -> set[str]:
    """Return the events whose reports open instances of *terms* (docs/tracker.md, clause 23)."""
    return {event for each in _opening(terms, known) for event in _events(each)}


def _opening(terms: CommitmentTerms, known: Mapping[str, CommitmentTerms]) -> list[CommitmentTerms]:
    """Return *terms*, and the commitments with the same ``each`` whose instances bring those of *terms* with them."""
    found, look = [terms], [terms]
    while look:
        for leaf in leaves(_opening_condition(look.pop())):
            other = known.get(leaf.commitment) if isinstance(leaf, LifeCycle) else None
            if other is not None and other.each == terms.each and other not in found:
                found.append(other)
                look.append(other)
    return found


def _opening_condition(terms: CommitmentTerms) -> Condition:
    return parse(terms.consequent if terms.antecedent is None else terms.antecedent)


def _events(terms: CommitmentTerms) -> Iterator[str]:
    for leaf in leaves(_opening_condition(terms)):
        event = event_of(leaf)
        if event is not None:
            yield event.name


def _opened(
    terms: CommitmentTerms, known: Mapping[str, CommitmentTerms], said: Iterable[tuple[str, Mapping[str, str]]]
) -> set[str]:
    """Return the values for which these reports open an instance of *terms*."""
    assert terms.each is not None
    openers = _openers(terms, known)
    return {attributes[terms.each] for event, attributes in said if event in openers and terms.each in attributes}
