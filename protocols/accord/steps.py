"""The steps of Accord, and which step follows which.

Everybody says, sealed, what each term means (`MEANING`). Then everybody says, sealed, how it reads the others'
meanings, case by case (`READING`). Once that is open, every pair of members is compared on every term. The members that
are party to a difference and still present settle it, together with a term's authority (`SETTLE`). Nothing that was
said is replaced there: a member that adopts another's meaning keeps its own on record. What stays open is carried along
or, if the room's rules say so, ends the agenda.
"""

from typing import Final

from protocols.stage.table import CLOSED, DONE, NO_AGREEMENT, START, Table, reveal_of, seal_of

MEANING: Final = "accord.meaning"
READING: Final = "accord.reading"
SETTLE: Final = "accord.settle"

DIFFERENT: Final = "somebody present is party to a difference"
GO_ON: Final = "nothing that would block is open"
BLOCKED: Final = "a difference is open, and blocks"

TABLE: Final[Table] = {
    START: {CLOSED: seal_of(MEANING)},
    seal_of(MEANING): {CLOSED: reveal_of(MEANING)},
    reveal_of(MEANING): {CLOSED: seal_of(READING)},
    seal_of(READING): {CLOSED: reveal_of(READING)},
    reveal_of(READING): {DIFFERENT: SETTLE, GO_ON: DONE, BLOCKED: NO_AGREEMENT},
    SETTLE: {GO_ON: DONE, BLOCKED: NO_AGREEMENT},
}
