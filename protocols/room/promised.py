"""Promises as they stand, in full: what a member needs to know before it accepts one.

The terms of a commitment never change, but its parties do, and its effect depends on others: those that its conditions
name, and those that wait for it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from protocols.commitments.conditions import parse
from protocols.commitments.status import Status
from protocols.commitments.tracker import Tracker
from protocols.commitments.tree import mentioned
from protocols.duties.briefing import PromiseKnown
from protocols.messages.commitments import CommitmentTerms


def as_made(terms: CommitmentTerms) -> PromiseKnown:
    """Return a promise that nobody has made yet, from its terms alone."""
    return PromiseKnown.model_validate({**terms.plain(), "state": "none"})


@dataclass(slots=True)
class Standing:
    """All promises of one tracker at this point."""

    tracker: Tracker
    statuses: Mapping[str, Status] = field(init=False)
    instances: dict[str, dict[str, str]] = field(init=False, default_factory=dict)
    """The states of the instances of each commitment, by their names."""

    def __post_init__(self) -> None:
        self.statuses = self.tracker.statuses()
        for name, status in self.statuses.items():
            commitment, instance, _ = name.partition("[")
            if instance:
                self.instances.setdefault(commitment, {})[name] = status.state

    def known(self, name: str) -> PromiseKnown | None:
        """Return the commitment or instance *name*; None if there is none."""
        commitment, instance, _ = name.partition("[")
        terms, status = self.tracker.terms.get(commitment), self.statuses.get(name)
        if terms is None or status is None:
            return None
        return PromiseKnown(
            id=name,
            debtor=status.debtor,
            creditor=status.creditor,
            antecedent=terms.antecedent,
            consequent=terms.consequent,
            each=None if instance else terms.each,
            excludes=list(terms.excludes or ()),
            state=status.state,
            answerable=list(status.answerable),
            instances={} if instance else self.instances.get(commitment, {}),
        )

    def taken_over(self, name: str, member: str) -> PromiseKnown | None:
        """Return the commitment or instance *name* with *member* as its debtor; None if it is unknown."""
        found = self.known(name)
        if found is None:
            return None
        earlier = [*(each for each in found.answerable if each not in (found.debtor, member)), found.debtor]
        return found.model_copy(update={"debtor": member, "answerable": earlier})

    def bound_up(self, names: Iterable[str], made: Collection[CommitmentTerms] = ()) -> list[PromiseKnown]:
        """Return the promises related to *names*, without themselves: those that wait for them, and what these name.

        *made* are terms that the tracker does not know yet.
        """
        terms = {**self.tracker.terms, **{each.id: each for each in made}}
        named = {**self.tracker.named(), **{each.id: _named(each) for each in made}}
        waiting: dict[str, set[str]] = {}
        for name, others in named.items():
            for other in others:
                waiting.setdefault(other, set()).add(name)
        start = {name.partition("[")[0] for name in names}
        around = _reached(_reached(start, waiting), named) - start
        return [self.known(name) or as_made(terms[name]) for name in terms if name in around]

    def concerning(self, member: str, offered: Iterable[str] = ()) -> list[PromiseKnown]:
        """Return the promises to which *member* is or was a party, those *offered* to it, and what these depend on.

        An instance is listed by itself if its parties differ from those of its commitment.
        """
        offers, names = set(offered), []
        for name, status in self.statuses.items():
            base = self.statuses[name.partition("[")[0]]
            parties = status.debtor, status.creditor, *status.answerable
            apart = parties != (base.debtor, base.creditor, *base.answerable)
            if name in offers or (member in parties and ("[" not in name or apart)):
                names.append(name)
        own = [found for name in names if (found := self.known(name)) is not None]
        return [*own, *self.bound_up(names)]


def _named(terms: CommitmentTerms) -> set[str]:
    texts = [text for text in (terms.antecedent, terms.consequent) if text is not None]
    return {life.commitment for text in texts for life in mentioned(parse(text))}


def _reached(start: Collection[str], to: Mapping[str, Collection[str]]) -> set[str]:
    """Return *start* and everything that can be reached from it."""
    found, look = set(start), list(start)
    while look:
        new = set(to.get(look.pop(), ())) - found
        found |= new
        look += new
    return found
