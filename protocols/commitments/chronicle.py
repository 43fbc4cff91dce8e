"""A tracker that keeps its past: every move, with the instant at which it became known and the item that showed it.

The plain `Tracker` forgets a move once it has reported it, so that its memory does not grow with the history. If a view
asks what happened in between, its room or history is given a `Chronicle` from the beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from protocols.commitments.acts import Act, Applied, Transition
from protocols.commitments.status import Status
from protocols.commitments.tracker import Tracker
from protocols.core.canonical import JSON
from protocols.core.instants import LAST, Instant, show_instant

_HAND_OVERS: Final = ("accept", "assign", "waive", "release")
"""Acts that may change who owes whom, or what is noted, and leave the state as it is."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A commitment's or instance's move, or (with ``before`` equal to ``after``) a change of its parties or notes.

    ``since`` is when it came true (``None``: before everything), ``known`` the first instant as of which it shows,
    ``noted`` the item that was the first to find it so (``None``: none yet), ``because`` the items that made it so.
    ``by_time``: a deadline passed, and nobody said anything. ``text`` says what changed besides the state.
    """

    commitment: str
    before: str
    after: str
    since: Instant | None
    known: Instant
    because: tuple[int, ...]
    by_time: bool = False
    noted: int | None = None
    text: str = ""

    def plain(self) -> dict[str, JSON]:
        """Return the move as JSON."""
        return {
            "commitment": self.commitment,
            "before": self.before,
            "after": self.after,
            "since": None if self.since is None else show_instant(self.since),
            "known": show_instant(self.known),
            "because": list(self.because),
            "by_time": self.by_time,
            "noted": self.noted,
            "text": self.text,
        }


@dataclass(slots=True)
class Chronicle(Tracker):
    """A tracker that keeps every move, and goes from deadline to deadline, so that each is known at its own instant."""

    moves: list[Passage] = field(default_factory=list, init=False)

    def apply(self, act: Act) -> Applied:
        """As `Tracker.apply`, every move kept."""
        self._pass(act.at, act.item)
        before = self._parties_of(act)
        applied = Tracker.apply(self, act)
        self._keep(applied.transitions, act.item, by_time=False)
        after = self._parties_of(act)
        if before is not None and after is not None and not applied.refusals:
            self._hand_over(act, before, after)
        return applied

    def agree(self, at: Instant, item: int) -> None:
        """As `Tracker.agree`, every move kept."""
        self._pass(at, item)
        Tracker.agree(self, at, item)
        self._keep(Tracker.advance(self, at), item, by_time=False)

    def advance(self, at: Instant, item: int | None = None) -> list[Transition]:
        """As `Tracker.advance`, every move kept."""
        return self._pass(at, item)

    def run_out(self, names: Sequence[str]) -> dict[str, Passage]:
        """Let all deadlines pass; return the first move of each of *names*. What was kept before stays."""
        kept, self.moves = self.moves, []
        while (due := self.next_deadline()) is not None:
            self._pass(Instant(due + 1), None)
        first: dict[str, Passage] = {}
        for move in self.moves:
            first.setdefault(move.commitment, move)
        self.moves = kept
        return {name: first[name] for name in names if name in first}

    def _pass(self, at: Instant, item: int | None) -> list[Transition]:
        """Let every deadline before *at* pass, one by one; *item* is what shows that they have."""
        passed: list[Transition] = []
        while (due := self.next_deadline()) is not None and due < at:
            passed += self._keep(Tracker.advance(self, Instant(due + 1)), item, by_time=True)
        return passed + self._keep(Tracker.advance(self, at), item, by_time=True)

    def _keep(self, transitions: Sequence[Transition], item: int | None, *, by_time: bool) -> list[Transition]:
        self.moves += [
            Passage(t.commitment, t.before, t.after, t.since, min(t.at, LAST), t.because, by_time, item)
            for t in transitions
        ]
        return list(transitions)

    def _parties_of(self, act: Act) -> Status | None:
        if act.do not in _HAND_OVERS:
            return None
        try:
            return self.status(act.commitment or "")
        except KeyError:
            return None

    def _hand_over(self, act: Act, before: Status, after: Status) -> None:
        changed = [
            f"{role} is {new}, was {old}"
            for role, old, new in (
                ("debtor", before.debtor, after.debtor),
                ("creditor", before.creditor, after.creditor),
            )
            if old != new
        ]
        changed += [note for note in after.notes if note not in before.notes and before.state == after.state]
        if changed:
            name, items = act.commitment or "", (act.item,)
            self.moves.append(
                Passage(name, after.state, after.state, act.at, act.at, items, False, act.item, "; ".join(changed))
            )
