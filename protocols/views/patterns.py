"""How each member scored and moved: plain numbers of one room, so that others can see play for advantage.

None of them is a verdict. A member that alone scores every rival option lowest may be gaming the rule, which looks at
the least satisfied, or may truly stand where the others do not. One that moves without a reason may be easily swayed,
or may simply compromise. No rule cures strategic scoring (Gibbard 1973); a record lets the others see it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from protocols.accord.steps import SETTLE
from protocols.concord.machine import Concord
from protocols.concord.selection import HIGHEST, LOWEST, Selection, SelectionRules, select
from protocols.concord.steps import RATIFY, ballot
from protocols.core.findings import Finding
from protocols.core.message import is_blank
from protocols.messages.concord import option_id
from protocols.room.room import Room
from protocols.stage.table import reveal_of

FEWEST_RIVALS, FEWEST_MEMBERS = 2, 3
"""Below these numbers, it means nothing to score the others' options lowest: of two members, each prefers its own
option.
"""
FEWEST_ISSUES = 2
"""With a single issue, every compromise gives up everything that was asked for."""
_REJECTED = LOWEST - 1


@dataclass(frozen=True, slots=True)
class Without:
    """What the selection would have been without one member's ballot, over the same options.

    ``same`` is set if outcome and standing option are those of the whole table.
    """

    outcome: str
    standing: str | None
    same: bool


@dataclass(frozen=True, slots=True)
class Scoring:
    """How one member used the scale, over everything that it scored.

    ``lowest`` to ``hundreds`` describe its scores; ``rejections`` are counted separately. ``rivals`` are the options of
    the final table that it did not propose; ``sole_minimum`` counts those to which it alone gave the lowest score (a
    rejection is lower than any score). ``all_or_nothing`` is set if it used both ends of the scale and nothing between.
    """

    lowest: int
    highest: int
    distinct: int
    zeros: int
    hundreds: int
    rejections: int
    rivals: int
    sole_minimum: int
    all_or_nothing: bool
    without: Without


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the option that a member signed is from the first option that it sealed.

    ``changed`` is set if they are different options. ``issues`` are those whose value differs, out of ``of``.
    ``reasons`` counts what it said for the move, in its ballot on the signed option or in its ratification; ``claims``
    counts the claims that it cited there.
    """

    first: str
    signed: str
    changed: bool
    issues: tuple[str, ...]
    of: int
    reasons: int
    claims: int


@dataclass(frozen=True, slots=True)
class Adoption:
    """One adoption: a member took over another's meaning of a term, with or without a reason, citing so many claims."""

    term: str
    reason: bool
    claims: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """One member's record; ``scoring`` is None if it was in no table, ``drift`` if it was in no outcome."""

    scoring: Scoring | None = None
    drift: Drift | None = None
    adoptions: tuple[Adoption, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the record as JSON."""
        plain = asdict(self) | {"adoptions": [asdict(each) for each in self.adoptions]}
        if self.drift is not None:
            plain["drift"]["issues"] = list(self.drift.issues)
        return plain


def patterns_of(room: Room) -> dict[str, Pattern]:
    """Return the record of every member of *room*, by name; options are called by their titles."""
    found = {member: Pattern(adoptions=_adoptions(room, member)) for member in sorted(room.setting.members)}
    concord = room.concord
    if concord is not None and concord.selection is not None:
        for member in concord.table.scores:
            found[member] = replace(found[member], scoring=_scoring(concord, member))
        found = {m: replace(pattern, drift=_drift(room, concord, m)) for m, pattern in found.items()}
    return found


def pattern_findings(room: Room, patterns: dict[str, Pattern]) -> list[Finding]:
    """Return the parts of *patterns* that deserve a note, each at the answer in which it shows."""
    findings = []
    for member, pattern in patterns.items():
        scoring, drift = pattern.scoring, pattern.drift
        scored = _answered(room, reveal_of(ballot(1)), member)
        several = len(room.setting.members) >= FEWEST_MEMBERS
        if several and scoring is not None and scoring.rivals == scoring.sole_minimum >= FEWEST_RIVALS:
            text = f"alone gave the least to each of the {scoring.rivals} options of others"
            findings.append(Finding("sole_minimum", scored, member, text))
        if scoring is not None and scoring.all_or_nothing:
            text = f"{scoring.hundreds} times 100, {scoring.zeros} times 0, {scoring.rejections} rejected, none between"
            findings.append(Finding("all_or_nothing", scored, member, text))
        if drift is not None and len(drift.issues) == drift.of >= FEWEST_ISSUES and not drift.reasons + drift.claims:
            text = (
                f"signed {drift.signed!r}, in none of {drift.of} issues what it had proposed, without a reason or claim"
            )
            findings.append(Finding("drift_without_evidence", _answered(room, RATIFY, member), member, text))
        for adoption in pattern.adoptions:
            if not adoption.reason and not adoption.claims:
                text = f"took over another's meaning of {adoption.term!r}, without a reason or claim"
                findings.append(Finding("adopted_without_reason", _answered(room, SETTLE, member), member, text))
    return findings


def _answered(room: Room, step: str, member: str) -> int:
    """Return the position of *member*'s answer to *step*, or 0."""
    return room.closed[step].answers.get(member, 0) if step in room.closed else 0


def without_ballot(concord: Concord, member: str) -> Selection:
    """Return the selection over the final table without *member*: its ballot is left out."""
    rules = concord.setting.opening.rules
    options = [c.id for c in concord.candidates.values() if c.scored]
    ballots = concord.table.ballots(options)
    ballots.pop(member, None)
    return select(
        [m for m in concord.setting.members if m != member],
        options,
        ballots,
        SelectionRules(bar=rules.bar, floor=rules.floor, rejects=rules.rejects),
        concord.standing if concord.tries else concord.status_quo,
        concord.beacon,
    )


def _scoring(concord: Concord, member: str) -> Scoring:
    scores = list(concord.table.scores[member].values())
    rejections = concord.table.rejections(member)
    rivals = [c.id for c in concord.candidates.values() if c.scored and member not in c.proposers]
    without = without_ballot(concord, member)
    assert concord.selection is not None
    standing = None if without.standing is None else concord.candidates[without.standing].option.title
    return Scoring(
        lowest=min(scores, default=0),
        highest=max(scores, default=0),
        distinct=len(set(scores)),
        zeros=scores.count(LOWEST),
        hundreds=scores.count(HIGHEST),
        rejections=rejections,
        rivals=len(rivals),
        sole_minimum=sum(_alone_lowest(concord.table.of(option), member) for option in rivals),
        all_or_nothing=HIGHEST in scores and {*scores} <= {LOWEST, HIGHEST} and (LOWEST in scores or rejections > 0),
        without=Without(
            without.outcome,
            standing,
            (without.outcome, without.standing) == (concord.selection.outcome, concord.selection.standing),
        ),
    )


def _alone_lowest(given: dict[str, int | None], member: str) -> bool:
    points = {m: _REJECTED if score is None else score for m, score in given.items()}
    others = [score for m, score in points.items() if m != member]
    return member in points and bool(others) and points[member] < min(others)


def _drift(room: Room, concord: Concord, member: str) -> Drift | None:
    ratified, proposed = concord.ratified.get(member), concord.proposals.contents.get(member)
    if ratified is None or not ratified.accept or proposed is None or concord.standing is None:
        return None
    issues, signed = concord.setting.opening.issues, concord.candidates[concord.standing]
    first, last = proposed.option, signed.option
    said = [concord.table.reasons.get(member, {}).get(signed.id), ratified.because]
    return Drift(
        first=first.title,
        signed=last.title,
        changed=option_id(first, has_issues=bool(issues)) != signed.id,
        issues=tuple(name for name in issues if str(first.offer.get(name)) != str(last.offer.get(name))),
        of=len(issues),
        reasons=_reasons(said),
        claims=len(
            {
                cited.claim
                for cited in room.evidence.citations
                if cited.by == member and (cited.about == signed.id or cited.step == RATIFY)
            }
        ),
    )


def _reasons(said: Sequence[str | None]) -> int:
    return sum(text is not None and not is_blank(text) for text in said)


def _adoptions(room: Room, member: str) -> tuple[Adoption, ...]:
    """Return the terms on which *member* itself moved to a meaning that is not its own."""
    accord = room.accord
    if accord is None:
        return ()
    found = []
    for term, settlements in sorted(accord.settlements.items()):
        said = settlements.get(member)
        taken = None if said is None else said.adopt or said.rule
        if said is not None and taken is not None and taken != accord.ids[term].get(member):
            cited = {c.claim for c in room.evidence.citations if (c.by, c.step, c.about) == (member, SETTLE, term)}
            found.append(Adoption(term, _reasons([said.because]) > 0, len(cited)))
    return tuple(found)
