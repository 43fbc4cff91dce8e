"""The life of a plan: its states, its moves, and the one table of which leads where.

::

    reading ─▶ waiting ⇄ granted ── first start ──▶ running ── last step ──▶ DONE, or standing ──▶ DONE
       │          ⇅         │                         │  ⇅
       └──▶ asked before it begins                    │  asked once begun ── a person stops it ──▶ STOPPED
       │                                              ▼  ⇅
       └── anything before its start ──▶ DROPPED   undoing ── nothing is left to undo ──▶ FAILED

Nothing leaves a state in capitals. A question before the start and one after it are two states with one name for
readers: the first ends with the plan dropped or in the queue, the second with an effect in the world to be settled.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from protocols.core.names import fold


class State(StrEnum):
    """Where a plan stands; ``NONE`` is before it is proposed."""

    NONE = "none"
    READING = "reading"
    WAITING = "waiting"
    GRANTED = "granted"
    ASKED = "asked before it begins"
    RUNNING = "running"
    UNDOING = "undoing"
    IN_QUESTION = "asked once begun"
    STANDING = "standing"
    DONE = "done"
    DROPPED = "dropped"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def shown(self) -> str:
        """The state's name for readers: ``asked`` for either kind of question."""
        return "asked" if self in (State.ASKED, State.IN_QUESTION) else self.value


class Move(StrEnum):
    """What moves a plan."""

    PROPOSE = "proposed"
    OWE = "proposed, and a read-back is owed"
    QUEUE = "nothing is owed"
    ASK = "a person is asked"
    GRANT = "waits for nothing"
    WAIT = "something is in its way"
    REREAD = "its executor's pins changed"
    DROP = "dropped"
    BEGIN = "its first start"
    COMPLETE = "its last step is done"
    STAND = "its last step is done, and an effect lasts"
    RELEASE = "the effect is undone, released, lapsed or pre-empted"
    TURN_BACK = "what was done is to be undone"
    GO_ON = "the question is answered"
    UNDO_LAST = "nothing is left to undo"
    STOP = "a person stops it"


AS_BEFORE: Final = None
"""A target in the table: undoing if the plan was being undone when the question came, else running."""

_REST: Final[Mapping[Move, State | None]] = {
    Move.ASK: State.IN_QUESTION,
    Move.UNDO_LAST: State.FAILED,
    Move.STOP: State.STOPPED,
}
_BEFORE: Final[Mapping[Move, State | None]] = {Move.REREAD: State.READING, Move.DROP: State.DROPPED}

TABLE: Final[Mapping[State, Mapping[Move, State | None]]] = {
    State.NONE: {Move.PROPOSE: State.WAITING, Move.OWE: State.READING, Move.ASK: State.ASKED},
    State.READING: {**_BEFORE, Move.QUEUE: State.WAITING, Move.ASK: State.ASKED},
    State.WAITING: {**_BEFORE, Move.GRANT: State.GRANTED, Move.ASK: State.ASKED},
    State.GRANTED: {**_BEFORE, Move.WAIT: State.WAITING, Move.ASK: State.ASKED, Move.BEGIN: State.RUNNING},
    State.ASKED: {
        **_BEFORE,
        Move.GO_ON: State.WAITING,
        Move.WAIT: State.WAITING,
        Move.GRANT: State.GRANTED,
    },
    State.RUNNING: {
        **_REST,
        Move.COMPLETE: State.DONE,
        Move.STAND: State.STANDING,
        Move.TURN_BACK: State.UNDOING,
    },
    State.UNDOING: _REST,
    State.IN_QUESTION: {
        Move.GO_ON: AS_BEFORE,
        Move.COMPLETE: State.DONE,
        Move.STAND: State.STANDING,
        Move.UNDO_LAST: State.FAILED,
        Move.STOP: State.STOPPED,
    },
    State.STANDING: {Move.RELEASE: State.DONE, Move.TURN_BACK: State.UNDOING, Move.STOP: State.STOPPED},
    State.DONE: {},
    State.DROPPED: {},
    State.FAILED: {},
    State.STOPPED: {},
}

ENDED: Final = frozenset(state for state, row in TABLE.items() if not row)
"""The states that nothing leaves."""
QUEUED: Final = frozenset({State.WAITING, State.GRANTED})
"""In the queue; a plan that is asked about as an equal is in it too."""
NOT_BEGUN: Final = frozenset({State.READING, State.WAITING, State.GRANTED, State.ASKED})
BEGUN: Final = frozenset({State.RUNNING, State.UNDOING, State.IN_QUESTION, State.STANDING})
GOOD_TOKEN: Final = frozenset({State.GRANTED, State.RUNNING, State.UNDOING, State.STANDING})
"""The states in which a plan's token is good."""


def target(state: State, move: Move, back: bool) -> State:
    """Return where *move* leads from *state*; *back* says whether the plan is being undone.

    Raises ``KeyError`` for a move that the table does not have: a fault of the caller.
    """
    to = TABLE[state][move]
    if to is not AS_BEFORE:
        return to
    return State.UNDOING if back else State.RUNNING


def picture() -> str:
    """Return the table as a Mermaid state diagram."""
    names = {state: fold(state.name) for state in State}
    lines = ["stateDiagram-v2"]
    lines += [f"    {name} : {state.value}" for state, name in names.items() if state is not State.NONE]
    for state, row in TABLE.items():
        for move, to in row.items():
            begin = "[*]" if state is State.NONE else names[state]
            for end in (State.RUNNING, State.UNDOING) if to is AS_BEFORE else (to,):
                lines.append(f"    {begin} --> {names[end]} : {move.value}")
    lines += [f"    {names[state]} --> [*]" for state in State if state in ENDED]
    return "\n".join(lines)
