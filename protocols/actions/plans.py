"""Plans and their steps, as the fold keeps them, and what the fold puts on record about them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from protocols.actions.opening import Kind
from protocols.actions.states import BEGUN, ENDED, GOOD_TOKEN, NOT_BEGUN, Move, State, target
from protocols.core.instants import FIRST, Duration, Instant
from protocols.messages.actions import Scalar

ActionState = Literal["planned", "started", "done", "refused", "failed", "unknown", "undone"]


@dataclass(slots=True, eq=False)
class Action:
    """One step of a plan, or its undo: an effect that happens once, under one key.

    ``start`` is the position of its last start; ``lasting`` are the resources on which its effect lasts; ``expects``
    and ``read`` are its counts as proposed and as read back.
    """

    id: str
    kind: Kind
    on: tuple[str, ...]
    args: dict[str, Scalar]
    by: str
    key: str
    expects: dict[str, int] = field(default_factory=dict)
    undoes: "Action | None" = None
    confirmers: frozenset[str] | None = None
    """Who may confirm its read-back; None: none is owed; empty: nobody need confirm it."""
    read: dict[str, int] | None = None
    state: ActionState = "planned"
    attempts: int = 0
    start: int | None = None
    lasting: set[str] = field(default_factory=set)

    @property
    def again(self) -> bool:
        """Whether an attempt is left."""
        return self.attempts < self.kind.rule.attempts

    @property
    def in_doubt(self) -> bool:
        """Whether nobody knows what came of it, and trying again is not the way to know."""
        return self.state == "unknown" and not (self.kind.rule.idempotent and self.again)


@dataclass(slots=True, eq=False)
class Plan:
    """A plan, from its proposal to its end.

    ``rank`` is its class, 0 the highest; ``basis`` the versions on which it rests. ``asked_at`` is when a person was
    asked what is still to be answered, ``undecided`` whether it was said that nobody did. ``favoured``: a person lets
    it go before its equals; ``cleared``: a person lets it into the queue; ``halted``: it was stopped in mid-step.
    ``setback`` is how a step failed for good while the plan was in question, ``cause`` why it is undone. ``slot`` and
    ``waits`` are the queue's.
    """

    id: str
    lead: str
    position: int
    rank: int
    steps: tuple[Action, ...]
    basis: dict[str, str]
    lease: Duration
    until: Instant | None
    tainted: bool
    state: State = State.NONE
    why: str | None = None
    token: int | None = None
    granted_at: Instant = FIRST
    lease_end: Instant = FIRST
    asked_at: Instant | None = None
    undecided: bool = False
    favoured: bool = False
    cleared: bool = False
    halted: bool = False
    back: bool = False
    setback: str | None = None
    cause: str | None = None
    confirmed: set[str] = field(default_factory=set)
    undos: tuple[Action, ...] = ()
    """What is to be undone, in this order."""
    verified: bool | None = None
    slot: int = -1
    waits: int = 0

    @property
    def parties(self) -> frozenset[str]:
        """Its lead and its executors."""
        return frozenset({self.lead, *(step.by for step in self.steps)})

    @property
    def begun(self) -> bool:
        """Whether a start was accepted and it has not ended."""
        return self.state in BEGUN

    @property
    def not_begun(self) -> bool:
        """Whether it may still be dropped as if it had never been proposed."""
        return self.state in NOT_BEGUN

    @property
    def ended(self) -> bool:
        """Whether nothing more can come of it."""
        return self.state in ENDED

    @property
    def good_token(self) -> int | None:
        """Its token, while that is good."""
        return self.token if self.state in GOOD_TOKEN else None

    @property
    def holds(self) -> tuple[str, ...]:
        """The resources that it holds, each once."""
        if self.state is not State.GRANTED and not self.begun:
            return ()
        return tuple(dict.fromkeys(name for step in self.weighing() for name in step.on))

    def weighing(self) -> list[Action]:
        """Return the steps that count against others: all, or, while it stands, those whose effect lasts."""
        if self.state is State.STANDING:
            return [step for step in self.steps if step.lasting]
        return list(self.steps)

    def actions(self) -> Iterator[Action]:
        """Yield its steps, then its undos."""
        yield from self.steps
        yield from self.undos

    def unread(self) -> bool:
        """Return whether a read-back is owed."""
        return any(step.confirmers is not None and step.read is None for step in self.steps)

    def unconfirmed(self) -> bool:
        """Return whether a read-back, or the confirmation of one, is owed."""
        return self.unread() or any(step.confirmers and not step.confirmers & self.confirmed for step in self.steps)

    def in_flight(self) -> Action | None:
        """Return the action that was started and has no result, or None; there is never a second one."""
        return next((each for each in self.actions() if each.state == "started"), None)

    def in_question(self) -> Action | None:
        """Return the action that a verdict is about: the unknown one, else the last that failed or was refused."""
        actions = self.undos if self.back else self.steps
        unknown = next((each for each in actions if each.state == "unknown"), None)
        last = next((each for each in reversed(actions) if each.state in ("failed", "refused")), None)
        return unknown or last

    def past_pivot(self) -> bool:
        """Return whether the point of no return lies behind it: its first irreversible step is done."""
        pivot = next((step for step in self.steps if step.kind.rule.irreversible), None)
        return pivot is not None and pivot.state == "done"

    def next_action(self) -> Action | None:
        """Return the action whose turn it is, or None if all are done."""
        return next((each for each in (self.undos if self.back else self.steps) if each.state != "done"), None)

    def owed(self) -> list[str]:
        """Return the ids of the undos that are owed, in their order."""
        return [each.id for each in self.undos if each.state != "done"] if self.back and not self.ended else []

    def move(self, move: Move) -> None:
        """Go where the table leads; every change of state is a move of it."""
        self.state = target(self.state, move, self.back)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that changes nothing: its position, the code, and what would be valid."""

    item: int
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Something noteworthy: at which position, the code, and about which plan or member."""

    item: int
    code: str
    what: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A plan may act under a token: the position of the record that gave it."""

    plan: str
    token: int


@dataclass(frozen=True, slots=True)
class Reported:
    """A done step is the report of an event, by its executor, at this position."""

    event: str
    by: str
    item: int


UNDO: Final = ".undo"
NUMBER: Final = re.compile("[1-9][0-9]{0,2}")
"""The number of a step in an action's id."""


def split_id(action: str) -> tuple[str, int, bool]:
    """Return the plan, the number of the step, and whether its undo is meant; the number is 0 if there is none."""
    undo = action.endswith(UNDO)
    plan, _, number = action.removesuffix(UNDO).rpartition(".")
    return plan, int(number) if NUMBER.fullmatch(number) else 0, undo
