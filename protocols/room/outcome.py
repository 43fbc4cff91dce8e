"""What a room came to: the result that every member signs, and the decision on record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from protocols.accord.machine import Accord
from protocols.commitments.tracker import Tracker
from protocols.concord.machine import Concord
from protocols.messages.concord import Value
from protocols.stage.setting import Setting
from protocols.stage.stage import Ending


@dataclass(frozen=True, slots=True)
class Agreed:
    """The agreed option: its title, and its value for each issue."""

    title: str
    offer: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Decision:
    """An agreed decision, and what decided it.

    ``vector`` is the members' scores of the option in ascending order; ``scores`` has the same by member (None for a
    rejection). ``rule`` separated it from the second (see `protocols.concord.selection`). ``least_satisfied`` names the
    member with the lowest score, None if all gave 100. ``improvements`` counts the improvements that were tried.
    """

    option: Agreed
    id: str
    vector: tuple[int, ...]
    scores: dict[str, int | None]
    rule: str | None
    least_satisfied: str | None
    improvements: int

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Return the decision that `plain` wrote."""
        fields = {**plain, "option": Agreed(**plain["option"]), "vector": tuple(plain["vector"])}
        return cls(**fields)

    def plain(self) -> dict[str, Any]:
        """Return the decision as JSON."""
        return {
            "option": {"title": self.option.title, "offer": self.option.offer},
            "id": self.id,
            "vector": list(self.vector),
            "scores": self.scores,
            "rule": self.rule,
            "least_satisfied": self.least_satisfied,
            "improvements": self.improvements,
        }


def decision_of(ending: Ending | None, concord: Concord | None) -> Decision | None:
    """Return what was agreed, or None."""
    if ending is None or ending.outcome != "agreed" or concord is None or concord.selection is None:
        return None
    standing, selection = concord.standing, concord.selection
    assert standing is not None
    option = concord.candidates[standing].option
    return Decision(
        Agreed(option.title, dict(option.offer)),
        standing,
        tuple(selection.vector or ()),
        {m: concord.table.scores[m][standing] for m in concord.setting.members},
        selection.rule,
        selection.least_satisfied,
        len(concord.tries),
    )


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
    decision = decision_of(ending, concord)
    created = [] if tracker is None else sorted(n for n, s in tracker.statuses().items() if s.state != "none")
    return {
        "room": setting.room,
        "outcome": ending.outcome,
        "reason": ending.reason,
        "decision": None if decision is None else decision.plain(),
        "divergences": divergences_of(accord),
        "untested": untested_of(accord),
        "commitments": created,
    }
