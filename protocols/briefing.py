"""What a room has said so far, as a mind needs it to judge: one view of the fold for one member.

It holds what the log shows to everybody and no more: while a step is sealed, nothing of what others sealed in it. So a
mind may keep no memory of its own, and one that starts again knows what it knew.
"""

from typing import TYPE_CHECKING, Any

from pydantic import Field

from protocols.accord.messages import Interpretation
from protocols.claims import Source
from protocols.commitments.messages import CommitmentTerms, EventRule
from protocols.concord.messages import Issue, Option, Value
from protocols.message import Message
from protocols.messages import Authority, Rehearsal, Rules

if TYPE_CHECKING:
    from protocols.room import Room


class SeatTaken(Message):
    """One member: its name, the role it speaks in, and the kind of mind it announced."""

    name: str
    role: str | None = None
    agent: str | None = None
    left: bool = False


class Difference(Message):
    """Two members' differing readings of one term, and what became of that: open, settled, carried or blocked."""

    term: str
    between: list[str]
    status: str


class OptionKnown(Message):
    """An option on the table: who proposed it, its fate, and what was revealed of its scores.

    ``scores`` gives None for a rejection, whose reason is in ``reasons`` as those for scores are.
    """

    id: str
    option: Option
    proposers: list[str]
    fate: str
    scores: dict[str, int | None]
    reasons: dict[str, str]


class ClaimKnown(Message):
    """A claim that stands. ``ref`` is what to cite it by; ``origin`` are ids of claims, and names it was heard from."""

    ref: str
    id: str
    by: str
    text: str
    source: Source
    origin: list[str] = Field(default_factory=list)


class OwnAnswers(Message):
    """What this member said before, as far as it is open: its option's id, its reserve once its ballot opened it."""

    interpretations: dict[str, Interpretation] = Field(default_factory=dict)
    settled: dict[str, dict[str, Any]] = Field(default_factory=dict)
    option: str | None = None
    reserve: int | None = None
    scores: dict[str, int | None] = Field(default_factory=dict)


class Briefing(Message):
    """A room as its log shows it to one member."""

    room: str
    intent: str
    members: list[SeatTaken]
    agenda: list[str]
    terms: list[str]
    issues: dict[str, Issue]
    authority: Authority
    events: dict[str, EventRule]
    promises: list[CommitmentTerms]
    rules: Rules
    rehearsal: Rehearsal | None = None
    meanings: dict[str, dict[str, Interpretation]] = Field(default_factory=dict)
    differences: list[Difference] = Field(default_factory=list)
    quotes: dict[str, list[Value]] = Field(default_factory=dict)
    options: list[OptionKnown] = Field(default_factory=list)
    standing: str | None = None
    claims: list[ClaimKnown] = Field(default_factory=list)
    outcome: str | None = None
    own: OwnAnswers = Field(default_factory=OwnAnswers)


def briefing(room: "Room", member: str) -> Briefing:
    """Return what *member* may know of *room* now."""
    opening, accord, concord = room.setting.opening, room.accord, room.concord
    manifests = {name: manifest.agent for name, manifest in room.joining.manifests.items()}
    meanings: dict[str, dict[str, Interpretation]] = {}
    differences: list[Difference] = []
    if accord is not None:
        for term in accord.terms:
            held = {m: said[term] for m, said in accord.meaning.contents.items() if term in said}
            if held:
                meanings[term] = held
        differences = [Difference(term=d.term, between=list(d.between), status=d.status) for d in accord.divergences]
    return Briefing(
        room=room.setting.room,
        intent=opening.intent,
        members=[
            SeatTaken(name=seat.name, role=seat.role, agent=manifests.get(seat.name), left=seat.name in room.left)
            for seat in opening.roster
        ],
        agenda=list(opening.agenda),
        terms=list(opening.terms) if accord is None else list(accord.terms),
        issues=dict(opening.issues),
        authority=opening.authority,
        events=dict(opening.events),
        promises=list(opening.promises),
        rules=opening.rules,
        rehearsal=opening.rehearsal,
        meanings=meanings,
        differences=differences,
        quotes={} if concord is None else dict(concord.quotes),
        options=_options(room),
        standing=None if concord is None else concord.standing,
        claims=[
            ClaimKnown(
                ref=claim.id if claim.label is None else f"{claim.by}:{claim.label}",
                id=claim.id,
                by=claim.by,
                text=claim.text,
                source=claim.source,
                origin=[*claim.rests_on, *claim.heard_from],
            )
            for claim in room.evidence.claims.values()
        ],
        outcome=None if room.ending is None else room.ending.outcome,
        own=_own(room, member),
    )


def _options(room: "Room") -> list[OptionKnown]:
    if room.concord is None:
        return []
    table = room.concord.table
    return [
        OptionKnown(
            id=candidate.id,
            option=candidate.option,
            proposers=list(candidate.proposers),
            fate=candidate.fate,
            scores=table.of(candidate.id),
            reasons={
                m: text
                for said in (table.reasons, table.rejects)
                for m, texts in said.items()
                if (text := texts.get(candidate.id)) is not None
            },
        )
        for candidate in room.concord.candidates.values()
    ]


def _own(room: "Room", member: str) -> OwnAnswers:
    accord, concord = room.accord, room.concord
    said: dict[str, Any] = {}
    if accord is not None:
        said["interpretations"] = dict(accord.meaning.contents.get(member, {}))
        said["settled"] = {
            term: by[member].plain() for term, by in accord.settlements.items() if by.get(member) is not None
        }
    if concord is not None:
        own = [c.id for c in concord.candidates.values() if member in c.proposers]
        scores = {c.id: concord.table.of(c.id) for c in concord.candidates.values()}
        said["option"] = own[0] if own else None
        said["reserve"] = concord.table.reserves.get(member)
        said["scores"] = {option: by[member] for option, by in scores.items() if member in by}
    return OwnAnswers(**said)
