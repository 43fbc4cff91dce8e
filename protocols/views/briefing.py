"""A room as one member may know it: this fills the briefing that duties carry from a folded room."""

from typing import Any

from protocols.duties.briefing import Briefing, ClaimKnown, Difference, OptionKnown, OwnAnswers, PromiseKnown, SeatTaken
from protocols.messages.accord import Interpretation
from protocols.room.promised import Standing
from protocols.room.room import Room


def briefing(room: Room, member: str) -> Briefing:
    """Return what *member* may know of *room* at this point."""
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


def _promises(room: Room, member: str) -> list[PromiseKnown]:
    if room.tracker is None or not room.tracker.terms:
        return []
    offered = [offer.commitment for offer in room.tracker.offers(member)]
    return Standing(room.tracker).concerning(member, offered)


def _options(room: Room) -> list[OptionKnown]:
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


def _own(room: Room, member: str) -> OwnAnswers:
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
    return OwnAnswers(**said, promises=_promises(room, member))
