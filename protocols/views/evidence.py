"""What claims carried in a folded room, and the findings that follow."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from protocols.accord.steps import SETTLE
from protocols.accord.steps import TABLE as ACCORD
from protocols.concord.steps import RATIFY, ballot_number
from protocols.concord.steps import TABLE as CONCORD
from protocols.core.findings import Finding
from protocols.room.evidence import Citation, Evidence, Roots, short
from protocols.room.room import Room
from protocols.stage.table import name_of


@dataclass(frozen=True, slots=True)
class Carried:
    """An answer that stands on a claim: whose and where, for which option or meaning, and how.

    ``weighty`` is set for scores at or above the bar, and for signatures under the outcome.
    """

    by: str
    position: int
    claim: str
    thing: tuple[str, str]
    """An option's id, or a term and the id of a meaning."""
    words: str
    """What the thing is, for people."""
    how: str
    weighty: bool = False


def carried_in(room: Room) -> Iterator[Carried]:
    """Yield what claims carried in *room*: meanings, options, scores at or above the bar, signatures."""
    for said in room.evidence.citations:
        found = None
        if name_of(said.step) in ACCORD:
            found = _in_accord(room, said)
        elif name_of(said.step) in CONCORD:
            found = _in_concord(room, said)
        if found is not None:
            yield found


def _in_accord(room: Room, said: Citation) -> Carried | None:
    assert room.accord is not None
    meaning = room.accord.ids.get(said.about, {}).get(said.by, "")
    if said.step == SETTLE:
        settled = room.accord.settlements[said.about][said.by]
        meaning = settled.adopt or settled.rule or meaning
    return Carried(
        said.by, said.position, said.claim, (said.about, meaning), f"a meaning of {said.about!r}", "gives a meaning"
    )


def _in_concord(room: Room, said: Citation) -> Carried | None:
    concord = room.concord
    assert concord is not None
    how, option, weighty = "proposes", "", False
    if said.step == concord.proposals.reveal_step:
        own = [c.id for c in concord.candidates.values() if said.by in c.proposers and c.fate == "initial"]
        option = own[0] if own else ""
    elif said.step == RATIFY:
        if concord.ratified[said.by].accept:
            how, option, weighty = "signs", concord.standing or "", True
    elif ballot_number(said.step) is not None:
        score = concord.table.scores.get(said.by, {}).get(said.about)
        if score is not None and score >= room.setting.opening.rules.bar:
            how, option, weighty = f"scores {score}", said.about, True
    else:
        improved = [c.id for c in concord.candidates.values() if c.position == said.position and c.fate != "initial"]
        option = improved[0] if improved else ""
    if not option:
        return None
    title = repr(concord.candidates[option].option.title)
    return Carried(said.by, said.position, said.claim, (option, ""), title, how, weighty)


def evidence_of(room: Room) -> list[dict[str, Any]]:
    """Return every claim of *room* that stands, as JSON, with its independent roots and what it carried."""
    roots = room.evidence.roots()
    carried: dict[str, list[dict[str, Any]]] = {}
    for each in carried_in(room):
        carried.setdefault(each.claim, []).append(
            {"by": each.by, "position": each.position, "how": each.how, "what": each.words}
        )
    return [
        {
            "id": claim.id,
            "by": claim.by,
            "position": claim.position,
            "label": claim.label,
            "text": claim.text,
            "source": claim.source,
            "rests_on": list(claim.rests_on),
            "heard_from": list(claim.heard_from),
            "observed_by": sorted(roots[claim.id].observed_by),
            "roots": sorted(roots[claim.id].names),
            "independent": len(roots[claim.id].names),
            "verified": bool(roots[claim.id].observed_by),
            "carried": carried.get(claim.id, []),
        }
        for claim in sorted(room.evidence.claims.values(), key=lambda claim: (claim.position, claim.id))
    ]


def evidence_findings(room: Room) -> list[Finding]:
    """Return where several members have one source, and where an unobserved claim carried a score or a signature."""
    evidence, carried = room.evidence, list(carried_in(room))
    roots = evidence.roots()
    findings = list(_one_source(evidence, carried, roots))
    for each in carried:
        if each.weighty and not roots[each.claim].observed_by:
            claim = short(evidence.claims[each.claim].text)
            text = f"{each.how} {each.words} on {claim!r}, which nobody claims to have observed"
            findings.append(Finding("unverified_claim", each.position, each.by, text))
    return findings


def _one_source(evidence: Evidence, carried: Iterable[Carried], roots: Mapping[str, Roots]) -> Iterator[Finding]:
    """Find what several members support, or state in the same words, although everything has one root."""
    voices: dict[tuple[str, ...], dict[str, set[str]]] = {}
    told: dict[tuple[str, ...], tuple[int, str]] = {}
    said: list[tuple[tuple[str, ...], str, str, int, str]] = [
        (("claim", c.text, ""), c.by, c.id, c.position, f"the claim {short(c.text)!r}")
        for c in evidence.claims.values()
    ]
    said += [(each.thing, each.by, each.claim, each.position, each.words) for each in carried]
    for thing, by, claim, position, words in said:
        voices.setdefault(thing, {}).setdefault(by, set()).add(claim)
        told[thing] = max(position, told.get(thing, (0, ""))[0]), words
    for thing, cited in voices.items():
        names = Roots.of_all(roots[claim] for claims in cited.values() for claim in claims).names
        if len(cited) > 1 and len(names) == 1:
            position, words = told[thing]
            text = f"{len(cited)} voices ({', '.join(sorted(cited))}) for {words}, one source: {min(names)}"
            yield Finding("one_source", position, "", text)
