"""A tracker that keeps what it saw: the items that were said, and every move that they or time led to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from protocols.commitments.acts import Act, Applied, Transition
from protocols.commitments.status import Status
from protocols.commitments.tracker import Tracker
from protocols.core.canonical import JSON
from protocols.core.instants import LAST, Instant, show_instant
from protocols.messages.commitments import CommitmentTerms

_HAND_OVERS: Final = ("accept", "assign", "waive", "release")
"""Acts that may change who owes whom, or what is noted, and leave the state as it is."""
_WORD: Final = re.compile(r"[\w.+:/-]+")


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a history, or one record of a ledger: ``number`` is its place from 1, ``kind`` what it is.

    ``acts`` is what it does to commitments, ``reason`` what its author gave as one. The texts are members' own.
    """

    number: int
    at: Instant
    by: str
    kind: str
    acts: tuple[Act, ...] = ()
    reason: str = ""
    answers: int | None = None
    """In a ledger: the record of the report that this one answers."""

    @property
    def said(self) -> str:
        """What it says, in words."""
        said = "; ".join(in_words(act, self.answers) for act in self.acts) or self.kind
        return f"{said}, because {_quoted(self.reason)}" if self.reason else said

    def plain(self) -> dict[str, JSON]:
        """Return the item as JSON."""
        return {
            "item": self.number,
            "at": show_instant(self.at),
            "by": self.by,
            "kind": self.kind,
            "acts": [_plain_act(act) for act in self.acts],
            "reason": self.reason or None,
            "said": self.said,
        }


@dataclass(frozen=True, slots=True)
class Move:
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
class Recorder(Tracker):
    """A tracker that keeps every move, and goes from deadline to deadline, so that each is known at its own instant."""

    terms: dict[str, CommitmentTerms] = field(default_factory=dict, init=False)
    moves: list[Move] = field(default_factory=list, init=False)
    item: int | None = field(default=None, init=False)

    @classmethod
    def of(cls, tracker: Tracker, terms: Sequence[CommitmentTerms]) -> "Recorder":
        """Return one in the state of *tracker*, which has been told nothing but *terms*."""
        made = cls(tracker.parties, tracker.events)
        for each in fields(Tracker):
            setattr(made, each.name, getattr(tracker, each.name))
        made.terms = {each.id: each for each in terms}
        return made

    def declare(self, terms: CommitmentTerms, *, assumed: bool) -> None:
        """Make *terms* known, and keep them."""
        Tracker.declare(self, terms, assumed=assumed)
        self.terms[terms.id] = terms

    def apply(self, act: Act) -> Applied:
        """As `Tracker.apply`, every move kept."""
        self._pass(act.at)
        before = self._parties_of(act)
        applied = Tracker.apply(self, act)
        self._keep(applied.transitions, by_time=False)
        after = self._parties_of(act)
        if before is not None and after is not None and not applied.refusals:
            self._hand_over(act, before, after)
        return applied

    def agree(self, at: Instant, item: int) -> None:
        """As `Tracker.agree`, every move kept."""
        self._pass(at)
        Tracker.agree(self, at, item)
        self._keep(Tracker.advance(self, at), by_time=False)

    def advance(self, at: Instant) -> list[Transition]:
        """As `Tracker.advance`, every move kept."""
        return self._pass(at)

    def run_out(self, names: Sequence[str]) -> dict[str, Move]:
        """Let all deadlines pass; return the first move of each of *names*. What was kept before stays."""
        kept, self.moves = self.moves, []
        while (due := self.next_deadline()) is not None:
            self._pass(due + 1)
        first: dict[str, Move] = {}
        for move in self.moves:
            first.setdefault(move.commitment, move)
        self.moves = kept
        return {name: first[name] for name in names if name in first}

    def _pass(self, at: Instant) -> list[Transition]:
        """Let every deadline before *at* pass, each by itself."""
        passed: list[Transition] = []
        while (due := self.next_deadline()) is not None and due < at:
            passed += self._keep(Tracker.advance(self, due + 1), by_time=True)
        return passed + self._keep(Tracker.advance(self, at), by_time=True)

    def _keep(self, transitions: Sequence[Transition], *, by_time: bool) -> list[Transition]:
        self.moves += [
            Move(t.commitment, t.before, t.after, t.since, min(t.at, LAST), t.because, by_time, self.item)
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
                Move(name, after.state, after.state, act.at, act.at, items, False, self.item, "; ".join(changed))
            )


def in_words(act: Act, answers: int | None = None) -> str:
    """Return what *act* does, in words; *answers* is the record of the report that it answers, if that is known."""
    report = f"report {answers}" if answers is not None else f"the report {act.report}"
    match act.do:
        case "report":
            attributes = ", ".join(f"{key} = {_valued(value)}" for key, value in act.attributes.items())
            return f"reports {act.event}" + (f"({attributes})" if attributes else "")
        case "confirm" | "dispute":
            return f"{act.do}s {report}"
        case "decide":
            return f"decides that {report} {'holds' if act.holds else 'does not hold'}"
        case "delegate" | "assign":
            return f"{act.do}s {act.commitment} to {act.to}"
        case "suspend":
            return f"suspends {act.commitment}" + ("" if act.until is None else f" until {show_instant(act.until)}")
        case _:
            return f"{act.do}s {act.commitment}"


def _valued(text: str) -> str:
    """Return an attribute's value, quoted unless it is one plain word: no value passes for words of ours."""
    return text if _WORD.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain_act(act: Act) -> dict[str, JSON]:
    """Return what *act* says as JSON; its texts are exact."""
    said: dict[str, JSON] = {"do": act.do}
    for key in ("commitment", "event", "report", "to", "holds"):
        value = getattr(act, key)
        if value is not None:
            said[key] = value
    if act.attributes:
        said["attributes"] = dict(act.attributes)
    if act.until is not None:
        said["until"] = show_instant(act.until)
    return said
