"""What a room's claims rest on: a register of what was stated and cited, and the graph from claims to their roots.

An answer may rest on claims that were on the log when its step opened, and on earlier claims in the same answer. So
nothing that members state in one step can rely on each other, and the order of arrival does not affect the result. A
claim that names anything else is named in a finding and does not count, nor does a claim that rests on it.

Nobody decides here whether a claim is true. What is counted is how many independent sources it has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from protocols.core.event import Event
from protocols.core.findings import Finding, Refused
from protocols.core.graphs import components
from protocols.messages.accord import Settle
from protocols.messages.claims import ID, Claim, Source, claim_id
from protocols.messages.concord import Improve, Ratify
from protocols.messages.room import Reveal
from protocols.stage.setting import Setting
from protocols.stage.steps import Step

SHOWN = 80
"""Characters of a claim that a finding repeats."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A claim that stands: who stated it and where, the ids of the claims it rests on, the names it was heard from."""

    id: str
    by: str
    position: int
    label: str | None
    text: str
    source: Source
    rests_on: tuple[str, ...] = ()
    heard_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation: one answer refers to one claim. ``about`` is the option (its id) or the term for which it is cited.

    It is empty if that is clear from the answer: the option proposed, the outcome signed.
    """

    by: str
    position: int
    step: str
    about: str
    claim: str


@dataclass(frozen=True, slots=True)
class Roots:
    """Where a claim ultimately comes from: who observed what it rests on, and the outside names it was heard from."""

    observed_by: frozenset[str] = frozenset()
    heard_from: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The independent roots. One name is one root, however many claims or members lead to it."""
        return self.observed_by | self.heard_from

    @classmethod
    def of_all(cls, roots: Iterable["Roots"]) -> "Roots":
        """Return the combined roots of several claims."""
        several = list(roots)
        return cls(
            frozenset().union(*(each.observed_by for each in several)),
            frozenset().union(*(each.heard_from for each in several)),
        )


@dataclass(slots=True)
class Evidence:
    """The claims of one room that stand, and what cites them."""

    setting: Setting
    claims: dict[str, Stated] = field(default_factory=dict)
    labels: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    """Member → label → the claim's id, and the position of the answer that gave it this label."""
    citations: list[Citation] = field(default_factory=list)

    # -- the fold -------------------------------------------------------------------------------------------------

    def take(self, event: Event, step: Step) -> list[Finding]:
        """Record what an answer to *step* states and cites; the stage has already accepted the answer."""
        claims, cites = _said(event)
        if not claims and not cites:
            return []
        findings: list[Finding] = []
        circles = self._in_circles(event.author, claims)
        for place, claim in enumerate(claims):
            later = {other.id for other in claims[place:] if other.id is not None}
            try:
                if place in circles:
                    raise Refused("claim_circle", "rests on itself, by a circle of claims")
                self._state(claim, later, event, step.opened)
            except Refused as refused:
                text = f"the claim {claim.id or short(claim.text)!r} {refused.why}; it counts for nothing"
                findings.append(Finding(refused.code, event.position, event.author, text))
        for about, references in cites:
            found = {reference: self._find(reference, event, step.opened) for reference in references}
            for reference in [reference for reference, identifier in found.items() if identifier is None]:
                text = f"cites {reference!r}, which is no claim that stood when {step.id} opened"
                findings.append(Finding("unknown_claim", event.position, event.author, text))
            self.citations += [
                Citation(event.author, event.position, step.id, about, identifier)
                for identifier in dict.fromkeys(found.values())
                if identifier is not None
            ]
        return findings

    def _state(self, claim: Claim, later: set[str], event: Event, opened: int) -> None:
        """Add *claim*, or raise `Refused` if it cannot stand; *later* are the labels that follow in the same answer."""
        rests_on, heard_from = set[str](), set[str]()
        for reference in claim.origin or ():
            if not self._is_of_a_claim(reference, claim):
                heard_from.add(reference)
                continue
            comes_later = reference.removeprefix(f"{event.author}:") in later
            found = None if comes_later else self._find(reference, event, opened)
            if found is not None:
                rests_on.add(found)
            elif comes_later:
                raise Refused("later_claim", f"rests on {reference!r}, which comes after it")
            else:
                raise Refused("unknown_claim", f"rests on {reference!r}, no claim that stood when the step opened")
        key = self.setting.keys[event.author]
        identifier = claim_id(self.setting.room, key, claim, rests_on | heard_from)
        labels = self.labels.setdefault(event.author, {})
        if claim.id is not None and labels.setdefault(claim.id, (identifier, event.position))[0] != identifier:
            raise Refused("repeated_label", "has the label of another one of its author's, which stands")
        stated = Stated(
            id=identifier,
            by=event.author,
            position=event.position,
            label=claim.id,
            text=claim.text,
            source=claim.source,
            rests_on=tuple(sorted(rests_on)),
            heard_from=tuple(sorted(heard_from)),
        )
        self.claims.setdefault(identifier, stated)

    def _is_of_a_claim(self, reference: str, claim: Claim) -> bool:
        """Tell whether *reference* in *claim* refers to a claim, rather than naming a source from whom it was heard."""
        return claim.source == "derived" or ID.fullmatch(reference) is not None or self._author(reference) is not None

    def _author(self, reference: str) -> str | None:
        """Return the member named in a ``member:label``."""
        member, colon, _ = reference.rpartition(":")
        return member if colon and member in self.setting.keys else None

    def _find(self, reference: str, event: Event, opened: int) -> str | None:
        """Return the id of the claim to which *reference* may refer in this answer; None if there is none.

        A label, too, can be used only from the next step on.
        """
        if ID.fullmatch(reference):
            identifier = reference
            stated = self.claims[reference].position if reference in self.claims else None
        else:
            author = self._author(reference)
            label = reference if author is None else reference.rpartition(":")[2]
            identifier, stated = self.labels.get(author or event.author, {}).get(label, ("", None))
        # docs/evidence.md: "An answer may rest on claims that were on the log when its step opened, and on earlier
        # claims in the same answer."
        known = stated is not None and (stated <= opened or stated == event.position)
        return identifier if known else None

    def _in_circles(self, author: str, claims: Sequence[Claim]) -> set[int]:
        """Return the indices of those of *claims*, all stated in one answer, that rest on themselves."""
        places = {claim.id: place for place, claim in enumerate(claims) if claim.id is not None}
        inner: dict[int, list[int]] = {}
        for place, claim in enumerate(claims):
            for reference in claim.origin or ():
                own = reference.removeprefix(f"{author}:")
                if self._is_of_a_claim(reference, claim) and own in places:
                    inner.setdefault(place, []).append(places[own])
        circles = (part for part in components(inner) if len(part) > 1 or part[0] in inner.get(part[0], ()))
        return {place for part in circles for place in part}

    # -- the graph ------------------------------------------------------------------------------------------------

    def roots(self) -> dict[str, Roots]:
        """Return the roots of every claim, including those of the claims that it rests on; the graph has no circle."""
        found: dict[str, Roots] = {}
        for (identifier,) in components({claim.id: claim.rests_on for claim in self.claims.values()}):
            claim = self.claims[identifier]
            observed = frozenset({claim.by} if claim.source == "observed" else ())
            own = Roots(observed, frozenset(claim.heard_from))
            found[identifier] = Roots.of_all([own, *(found[other] for other in dict.fromkeys(claim.rests_on))])
        return found


def _said(event: Event) -> tuple[list[Claim], list[tuple[str, Sequence[str]]]]:
    """Return the claims that an answer states, and what it cites for what; the stage has already checked their form."""
    body = event.body
    if isinstance(body, Reveal):
        claims = [Claim.read(plain) for plain in body.content.get("claims") or ()]
        cites = body.content.get("cites") or []
        return claims, list(cites.items()) if isinstance(cites, Mapping) else [("", cites)]
    if isinstance(body, Settle):
        return list(body.claims or ()), [(term, said.cites) for term, said in body.terms.items() if said.cites]
    if isinstance(body, Improve | Ratify):
        return list(body.claims or ()), [("", body.cites)] if body.cites else []
    return [], []


def short(text: str) -> str:
    """Return a claim's text, shortened as findings repeat it."""
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


# -- what the claims carried -----------------------------------------------------------------------------------------
