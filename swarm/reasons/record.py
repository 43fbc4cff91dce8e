"""A member's record and a claim's roots in words, from a summary (`protocols.views.summary`): numbers, no verdict."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

NO_VERDICT: Final = (
    "numbers, not a verdict: who truly stands alone scores like one who plays the rule, "
    "and a compromise looks like giving way"
)
NOT_TRUTH: Final = "that a claim was observed is its author's own word; of two names, one may have told the other"


def record_of(member: str, summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how *member* scored and moved, and what it claimed, as sentences; empty if it did neither."""
    pattern = summary.get("patterns", {}).get(member)
    told = [] if pattern is None else [*_scored(pattern["scoring"]), *_moved(pattern)]
    if told:
        told.append(NO_VERDICT)
    told += [_claim(claim) for claim in summary.get("claims", ()) if claim["by"] == member]
    return tuple(told)


def find_claim(name: str, summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the claim that *name* refers to, by its id or as ``member:label``."""
    for claim in summary.get("claims", ()):
        if name in (claim["id"], f"{claim['by']}:{claim['label']}"):
            found: Mapping[str, Any] = claim
            return found
    return None


def record_of_claim(claim: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where *claim* comes from and what it carried, as sentences."""
    by_id = {each["id"]: each for each in summary["claims"]}
    told = [f"rests on {_named(by_id[other])}: {by_id[other]['text']}" for other in claim["rests_on"]]
    told += [f"heard from {name}" for name in claim["heard_from"]]
    told.append(_roots(claim))
    told += [f"{each['by']} {each['how']} {each['what']} on it, at {each['position']}" for each in claim["carried"]]
    return (*told, NOT_TRUTH)


def _scored(scoring: Mapping[str, Any] | None) -> Iterator[str]:
    if scoring is None:
        return
    count = f"{scoring['distinct']} different scores, {scoring['lowest']} to {scoring['highest']}"
    ends = f"{scoring['zeros']} times 0, {scoring['hundreds']} times 100, {scoring['rejections']} rejected"
    yield f"scored: {count}; {ends}{'; nothing between the ends' if scoring['all_or_nothing'] else ''}"
    yield f"alone gave the least to {scoring['sole_minimum']} of {scoring['rivals']} options of others"
    without = scoring["without"]
    standing = "no option" if without["standing"] is None else repr(without["standing"])
    yield f"without its ballot: {'the same, ' if without['same'] else ''}{standing}, {without['outcome']}"


def _moved(pattern: Mapping[str, Any]) -> Iterator[str]:
    drift = pattern["drift"]
    if drift is not None:
        moved = "the same option"
        if drift["changed"]:
            said = f"{_count(drift['reasons'], 'reason')} and {_count(drift['claims'], 'claim')} for it"
            moved = f"{len(drift['issues'])} of {drift['of']} issues differ, {said}"
        yield f"first proposed {drift['first']!r}, signed {drift['signed']!r}: {moved}"
    for adoption in pattern["adoptions"]:
        reason = "with a reason" if adoption["reason"] else "without a reason"
        cited = f"{_count(adoption['claims'], 'claim')} cited"
        yield f"took over another's meaning of {adoption['term']!r}, {reason}, {cited}"


def _claim(claim: Mapping[str, Any]) -> str:
    return f"claimed {_named(claim)}, {claim['source']}: {claim['text']}; {_roots(claim)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _named(claim: Mapping[str, Any]) -> str:
    return f"{claim['by']}:{claim['label']}" if claim["label"] else claim["id"][:12]


def _roots(claim: Mapping[str, Any]) -> str:
    verified = "" if claim["verified"] else ", observed by nobody"
    return f"{_count(claim['independent'], 'independent root')} ({', '.join(claim['roots'])}){verified}"
