"""What a room came to: the result that every member signs, and the decision on record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protocols.room import Room


def decision_of(room: Room) -> dict[str, Any] | None:
    """Return the agreed decision: option, vector, scores, the rule that decided, and how it was improved."""
    concord = room.concord
    if room.ending is None or room.ending.outcome != "agreed" or concord is None or concord.selection is None:
        return None
    standing, selection = concord.standing, concord.selection
    assert standing is not None
    option = concord.candidates[standing].option
    return {
        "option": {"title": option.title, "offer": dict(option.offer)},
        "id": standing,
        "vector": list(selection.vector or ()),
        "scores": {m: concord.scores[m][standing] for m in room.setting.members},
        "rule": selection.rule,
        "least_satisfied": selection.least_satisfied,
        "improvements": len(concord.tries),
    }


def divergences_of(room: Room) -> list[dict[str, Any]]:
    """Return every recorded divergence with its evidence and status."""
    return [] if room.accord is None else [d.plain() for d in room.accord.divergences]


def untested_of(room: Room) -> list[dict[str, Any]]:
    """Return the pairs whose readings were never shown to agree or to differ."""
    return [] if room.accord is None else [{"term": t, "between": list(pair)} for t, pair in room.accord.untested]


def result_of(room: Room) -> dict[str, Any]:
    """Return what `room.close` signs the digest of; what becomes of the promises is not in it."""
    assert room.ending is not None
    created = [] if room.tracker is None else sorted(n for n, s in room.tracker.statuses().items() if s.state != "none")
    return {
        "room": room.setting.room,
        "outcome": room.ending.outcome,
        "reason": room.ending.reason,
        "decision": decision_of(room),
        "divergences": divergences_of(room),
        "untested": untested_of(room),
        "commitments": created,
    }
