"""The referee: a fold of records about deeds, by which everybody computes the same answer to "who may act?".

At each record it takes what time has brought about, then the queue, then what is said, then the queue again. It grants;
no record does. A peer that wants to act writes a start, reads back that it was not refused, and only then calls its
tool. What is refused changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from protocols.actions.board import Board
from protocols.actions.deadlines import keep_dates, pass_deadlines
from protocols.actions.deciding import decide, observe, verify
from protocols.actions.doing import renew, result, start, withdraw
from protocols.actions.opening import Rules
from protocols.actions.plans import Grant, Noted, Plan, Refusal, Reported
from protocols.actions.queue import Queue
from protocols.actions.reading import confirm, dispute, propose, read, repin
from protocols.actions.reversals import Reversals
from protocols.actions.states import State
from protocols.core.findings import Refused
from protocols.core.instants import Instant
from protocols.core.message import Message
from protocols.messages.actions import DEEDS, Repin
from protocols.messages.room import Leave

_HANDLERS: Final[Mapping[str, Callable[[Board, str, Any], None]]] = {
    "propose": propose,
    "read": read,
    "confirm": confirm,
    "dispute": dispute,
    "start": start,
    "result": result,
    "renew": renew,
    "withdraw": withdraw,
    "decide": decide,
    "observe": observe,
    "verify": verify,
}


def _leave(board: Board, by: str, body: Leave) -> None:
    """Let a member go: what it was to do is dropped, or somebody must see to it."""
    board.allow(by, True, "a member")
    board.present.discard(by)
    for plan in list(board.open.values()):
        if by not in plan.parties:
            continue
        if plan.not_begun:
            board.drop(plan, "left")
        elif plan.state is State.STANDING:
            board.note("hold_lapsed", plan.id)
            board.release(plan, "hold_lapsed")
        elif plan.state is not State.IN_QUESTION:
            board.ask(plan, "in_doubt")


_BY_MODEL: Final[Mapping[type[Message], Callable[[Board, str, Any], None]]] = {
    **{model: _HANDLERS[verb] for verb, model in DEEDS.items()},
    Leave: _leave,
    Repin: lambda board, by, body: repin(board, by),
}


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the log: its position from 1, its time, who said it, and what; None: only time passes."""

    position: int
    at: Instant
    by: str
    body: Message | None


class Referee:
    """The state of all deeds of one room after a prefix of its log.

    Records come in the order of the log, so that their times never go back. `apply` returns why a record was refused,
    or None. Everything else is there to be read.
    """

    def __init__(self, rules: Rules, room: str, members: Iterable[str]) -> None:
        self._board = Board(
            rules=rules,
            room=room,
            present=set(members),
            queue=Queue(rules.opening.equal == "first"),
            reversals=Reversals(rules),
            versions={name: each.version for name, each in rules.opening.resources.items()},
        )
        self.refused: list[Refusal] = []

    def apply(self, record: Record) -> Refusal | None:
        """Fold one record; what it may not say changes nothing, and time has passed all the same."""
        board = self._board
        board.position, board.at = record.position, record.at
        pass_deadlines(board)
        board.sort_out()
        refusal = None
        if record.body is not None and type(record.body) in _BY_MODEL:
            try:
                _BY_MODEL[type(record.body)](board, record.by, record.body)
            except Refused as refused:
                refusal = Refusal(record.position, refused.code, refused.why)
                self.refused.append(refusal)
        board.sort_out()
        keep_dates(board)
        return refusal

    @property
    def plans(self) -> Mapping[str, Plan]:
        """All plans that were accepted, in their order."""
        return self._board.plans

    @property
    def versions(self) -> Mapping[str, str | None]:
        """The version of each resource; None where nobody knows it."""
        return self._board.versions

    @property
    def grants(self) -> list[Grant]:
        """Every grant, in order."""
        return self._board.grants

    @property
    def findings(self) -> list[Noted]:
        """What is noteworthy, in order."""
        return self._board.findings

    @property
    def reports(self) -> list[Reported]:
        """The events that done steps report, in order."""
        return self._board.reports

    def waits_for(self, plan: Plan) -> list[str]:
        """Return whom *plan* waits for, by name."""
        return self._board.queue.waiting_for(plan)

    def held_by(self) -> dict[str, list[str]]:
        """Return for each resource the plans that hold it, in the order of their proposals."""
        held: dict[str, list[str]] = {name: [] for name in self._board.versions}
        for plan in self._board.open.values():
            for name in plan.holds:
                held[name].append(plan.id)
        return held
