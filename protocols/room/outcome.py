"""What a room came to: the result that every member signs, and the decision on record."""

from typing import Any

from protocols.accord.machine import Accord
from protocols.commitments.tracker import Tracker
from protocols.concord.machine import Concord
from protocols.stage.setting import Setting
from protocols.stage.stage import Ending


def decision_of(ending: Ending | None, concord: Concord | None) -> dict[str, Any] | None:
    """Return the agreed decision: option, vector, scores, the rule that decided, and the number of improvements."""
    if ending is None or ending.outcome != "agreed" or concord is None or concord.selection is None:
        return None
    standing, selection = concord.standing, concord.selection
    assert standing is not None
    option = concord.candidates[standing].option
    return {
        "option": {"title": option.title, "offer": dict(option.offer)},
        "id": standing,
        "vector": list(selection.vector or ()),
        "scores": {m: concord.table.scores[m][standing] for m in concord.setting.members},
        "rule": selection.rule,
        "least_satisfied": selection.least_satisfied,
        "improvements": len(concord.tries),
    }


def divergences_of(accord: Accord | None) -> list[dict[str, Any]]:
    """Return every recorded divergence with its evidence and status."""
    return [] if accord is None else [d.plain() for d in accord.divergences]


def untested_of(accord: Accord | None) -> list[dict[str, Any]]:
    """Return the pairs whose readings were never shown to agree or to differ."""
    return [] if accord is None else [{"term": t, "between": list(pair)} for t, pair in accord.untested]


def result_of(
    setting: Setting, ending: Ending, accord: Accord | None, concord: Concord | None, tracker: Tracker | None
) -> dict[str, Any]:
    """Return the result whose digest `room.close` signs; the fate of the promises is not part of it."""
    created = [] if tracker is None else sorted(n for n, s in tracker.statuses().items() if s.state != "none")
    return {
        "room": setting.room,
        "outcome": ending.outcome,
        "reason": ending.reason,
        "decision": decision_of(ending, concord),
        "divergences": divergences_of(accord),
        "untested": untested_of(accord),
        "commitments": created,
    }
