"""The result of a run."""

from dataclasses import dataclass, field
from typing import Any

from protocols.accord.machine import Divergence
from protocols.core.findings import Finding
from protocols.room.outcome import Decision, decision_of
from protocols.views.summary import Cost, commitments_of, cost_of, findings_of, summary_of
from swarm.ledger.fold import Fold

EXIT_CODES = {"agreed": 0, "open": 0, "no_agreement": 1, "abandoned": 3}


@dataclass(frozen=True, slots=True)
class Written:
    """The log of the room: where its ledger was written (None if nowhere), its records, and the head over them."""

    path: str | None
    entries: int
    head: str

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"path": self.path, "entries": self.entries, "head": self.head}


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run.

    ``outcome`` is ``agreed``, ``no_agreement``, ``abandoned``, or ``open`` if the room has no concord; ``reason`` says
    why it is not ``agreed``. ``seconds`` is the wall time of the run. ``fold`` holds the folded room.
    """

    room: str
    outcome: str
    reason: str | None
    ledger: Written
    seconds: float
    fold: Fold = field(repr=False, compare=False)

    @property
    def decision(self) -> Decision | None:
        """What was agreed, or None."""
        return decision_of(self.fold.room.ending, self.fold.room.concord)

    @property
    def divergences(self) -> list[Divergence]:
        """Every recorded divergence of meaning, with its evidence and what became of it."""
        accord = self.fold.room.accord
        return [] if accord is None else list(accord.divergences)

    @property
    def untested(self) -> list[tuple[str, tuple[str, str]]]:
        """Terms and pairs of members whose readings were never shown to agree or to differ."""
        accord = self.fold.room.accord
        return [] if accord is None else list(accord.untested)

    @property
    def commitments(self) -> dict[str, str]:
        """The state of each commitment, by its id."""
        return commitments_of(self.fold.room)

    @property
    def findings(self) -> list[Finding]:
        """The findings about the room, in the order in which they were found."""
        return findings_of(self.fold.room)

    @property
    def cost(self) -> Cost:
        """The cost that the members declare for their answers."""
        return cost_of(self.fold.room)

    @property
    def exit_code(self) -> int:
        """The exit code of the verb: 0 agreed or open, 1 no agreement, 3 abandoned."""
        return EXIT_CODES[self.outcome]

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON, as ``swarm run --json`` prints it."""
        head = {"room": self.room, "outcome": self.outcome, "reason": self.reason}
        return {**summary_of(self.fold.room), **head, "ledger": self.ledger.plain(), "seconds": self.seconds}
