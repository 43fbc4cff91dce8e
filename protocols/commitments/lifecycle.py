"""The life of a commitment: its states, its moves, who may make them, and the one table of which leads where.

::

    none ── create ──▶ conditional ── antecedent holds ──▶ detached ── consequent holds ──▶ SATISFIED
                        │  │  │  └──── consequent holds ───────│──────────────────────────▶ SATISFIED
                        │  │  └─ antecedent fails ─▶ EXPIRED   └─ consequent fails, cancel ─▶ VIOLATED
                        │  └─ cancel, release ─▶ TERMINATED ◀─ release ─┘
                        │
      conditional, detached ── suspend ──▶ pending ── resume ──▶ as before, its open windows moved
      conditional, detached ── the window closed, a report in time unanswered / disputed ──▶ unconfirmed / disputed
      unconfirmed, disputed ── the report is settled ──▶ what would have been; release ──▶ TERMINATED
      unconfirmed, disputed ── more is missing than an answer ──▶ as before

Nothing leaves a state in capitals. A violated commitment's remedies may be waived; it stays violated.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a commitment stands."""

    NONE = "none"
    CONDITIONAL = "conditional"
    DETACHED = "detached"
    SATISFIED = "satisfied"
    EXPIRED = "expired"
    VIOLATED = "violated"
    TERMINATED = "terminated"
    PENDING = "pending"
    UNCONFIRMED = "unconfirmed"
    DISPUTED = "disputed"


class Move(StrEnum):
    """What moves a commitment: first the acts of parties, then the effects of reports and time."""

    CREATE = "create"
    CANCEL = "cancel"
    RELEASE = "release"
    WAIVE = "waive"
    DELEGATE = "delegate"
    ACCEPT = "accept"
    ASSIGN = "assign"
    SUSPEND = "suspend"
    RESUME = "resume"
    DETACH = "the antecedent holds"
    EXPIRE = "the antecedent can no longer hold"
    SATISFY = "the consequent holds"
    VIOLATE = "the consequent can no longer hold"
    MISS_ANSWER = "the window closed on an unanswered report"
    MEET_DISPUTE = "the window closed on a disputed report"
    REOPEN = "an answer leaves more missing than answers"


class Role(StrEnum):
    """The party that may make a move."""

    DEBTOR = "its debtor"
    CREDITOR = "its creditor"
    OFFERED = "the one it is offered to"
    EMPOWERED = "one with that power"


# Reading an enum member from its class costs as much as reading ten names, and these are read for every event.
NONE: Final = State.NONE
CONDITIONAL: Final = State.CONDITIONAL
DETACHED: Final = State.DETACHED
PENDING: Final = State.PENDING
UNCONFIRMED: Final = State.UNCONFIRMED
DISPUTED: Final = State.DISPUTED
VIOLATED: Final = State.VIOLATED
TERMINATED: Final = State.TERMINATED

TERMINAL: Final = frozenset({State.SATISFIED, State.EXPIRED, State.VIOLATED, State.TERMINATED})
OPEN_STATES: Final = frozenset(
    {State.CONDITIONAL, State.DETACHED, State.PENDING, State.UNCONFIRMED, State.DISPUTED},
)
UNSETTLED: Final = frozenset({State.UNCONFIRMED, State.DISPUTED})

MAY: Final[Mapping[Move, Role]] = {
    Move.CREATE: Role.DEBTOR,
    Move.CANCEL: Role.DEBTOR,
    Move.RELEASE: Role.CREDITOR,
    Move.WAIVE: Role.CREDITOR,
    Move.DELEGATE: Role.DEBTOR,
    Move.ACCEPT: Role.OFFERED,
    Move.ASSIGN: Role.CREDITOR,
    Move.SUSPEND: Role.EMPOWERED,
    Move.RESUME: Role.EMPOWERED,
}

AS_BEFORE: Final = None
"""A target in the table: the state before the suspension, or where the move leads from that state."""

_UNSETTLED_ROW: Final[Mapping[Move, State | None]] = {
    Move.DETACH: State.DETACHED,
    Move.EXPIRE: State.EXPIRED,
    Move.SATISFY: State.SATISFIED,
    Move.VIOLATE: State.VIOLATED,
    Move.MISS_ANSWER: State.UNCONFIRMED,
    Move.MEET_DISPUTE: State.DISPUTED,
    Move.REOPEN: AS_BEFORE,
    Move.RELEASE: State.TERMINATED,
}

TABLE: Final[Mapping[State, Mapping[Move, State | None]]] = {
    State.NONE: {Move.CREATE: State.CONDITIONAL},
    State.CONDITIONAL: {
        Move.DETACH: State.DETACHED,
        Move.EXPIRE: State.EXPIRED,
        Move.SATISFY: State.SATISFIED,
        Move.MISS_ANSWER: State.UNCONFIRMED,
        Move.MEET_DISPUTE: State.DISPUTED,
        Move.CANCEL: State.TERMINATED,
        Move.RELEASE: State.TERMINATED,
        Move.DELEGATE: State.CONDITIONAL,
        Move.ACCEPT: State.CONDITIONAL,
        Move.ASSIGN: State.CONDITIONAL,
        Move.SUSPEND: State.PENDING,
    },
    State.DETACHED: {
        Move.SATISFY: State.SATISFIED,
        Move.VIOLATE: State.VIOLATED,
        Move.MISS_ANSWER: State.UNCONFIRMED,
        Move.MEET_DISPUTE: State.DISPUTED,
        Move.CANCEL: State.VIOLATED,
        Move.RELEASE: State.TERMINATED,
        Move.DELEGATE: State.DETACHED,
        Move.ACCEPT: State.DETACHED,
        Move.ASSIGN: State.DETACHED,
        Move.SUSPEND: State.PENDING,
    },
    State.PENDING: {
        Move.RESUME: AS_BEFORE,
        Move.CANCEL: AS_BEFORE,
        Move.RELEASE: State.TERMINATED,
    },
    State.UNCONFIRMED: _UNSETTLED_ROW,
    State.DISPUTED: _UNSETTLED_ROW,
    State.SATISFIED: {},
    State.EXPIRED: {},
    State.VIOLATED: {Move.WAIVE: State.VIOLATED, Move.RELEASE: State.VIOLATED},
    State.TERMINATED: {},
}


def allows(state: State, move: Move) -> bool:
    """Return whether the table has *move* in the row of *state*."""
    return move in TABLE[state]


def target(state: State, move: Move, before: State) -> State:
    """Return where *move* leads from *state*; *before* is the open state under a suspension."""
    to = TABLE[state][move]
    if to is not AS_BEFORE:
        return to
    return before if move in (Move.RESUME, Move.REOPEN) else target(before, move, before)
