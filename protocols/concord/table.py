"""The table of a room's Concord: what every member revealed about every option."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from protocols.concord.selection import Ballot
from protocols.messages.concord import BallotContent


@dataclass(slots=True)
class ScoreTable:
    """Scores, reasoned rejections and reasons by member and option id, and the opened reserves.

    It contains valid ballots only; a missing ballot is missing, and never a value.
    """

    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    rejects: dict[str, dict[str, str]] = field(default_factory=dict)
    reasons: dict[str, dict[str, str]] = field(default_factory=dict)
    reserves: dict[str, int | None] = field(default_factory=dict)

    def record(self, ballots: Mapping[str, BallotContent]) -> None:
        """Add one round of valid ballots; earlier rounds stay."""
        for member, content in ballots.items():
            self.scores.setdefault(member, {}).update(content.scores)
            self.rejects.setdefault(member, {}).update(content.rejects)
            self.reasons.setdefault(member, {}).update(content.reasons)
            if content.reserve is not None:
                self.reserves[member] = content.reserve.reserve

    def ballots(self, options: Container[str] | None = None) -> dict[str, Ballot]:
        """Return each member's ballot in the form that the selection takes, over *options* or over all."""
        return {
            member: Ballot(
                {o: s for o, s in scores.items() if options is None or o in options},
                {o: r for o, r in self.rejects[member].items() if options is None or o in options},
                self.reserves.get(member),
            )
            for member, scores in self.scores.items()
        }

    def of(self, option: str) -> dict[str, int | None]:
        """Return what members gave *option*: a score, or None for a rejection.

        Members that gave neither are left out.
        """
        return {
            member: None if option in self.rejects[member] else scores[option]
            for member, scores in self.scores.items()
            if option in scores or option in self.rejects[member]
        }

    def rejections(self, member: str) -> int:
        """Return how many options *member* has rejected so far."""
        return len(self.rejects.get(member, {}))
