"""The steps of Accord, and what leads from one to the next.

Everybody says, sealed, what each term means to it (`MEANING`). Everybody then says, sealed, how it reads the meanings
of the others, case by case (`READING`). When that is open, every pair of members is compared on every term. Those who
are party to a difference and still present settle it, together with a term's authority (`SETTLE`). Nothing said is
replaced there: who adopts another's meaning keeps its own on record. What stays open is carried along, or, where the
room's rules say so, ends the agenda.
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
