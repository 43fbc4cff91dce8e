"""The steps of Concord, and which step follows which.

Members with authority over issues first quote the values that they allow (`QUOTE`). Everybody proposes, sealed, an
option (`OPTION`), then scores all of them, sealed (`BALLOT`, number 1). The selection makes one option the standing
one. From then on the right to improve goes to one member at a time (`IMPROVE`): to the one that has tried least since
the last change, and among equals to the least satisfied. It proposes something new, which goes to a ballot of its own
and becomes the standing option only if it is strictly better; or it passes. When everybody has passed, or no tries are
left, the standing option is put up for everybody's signature (`RATIFY`) if it is accepted. A majority overrides nobody.
"""

from typing import Final

from protocols.stage.table import (
    AGREED,
    CLOSED,
    NO_AGREEMENT,
    START,
    Table,
    name_of,
    number_of,
    numbered,
    reveal_of,
    seal_of,
)

QUOTE: Final = "concord.quote"
OPTION: Final = "concord.option"
BALLOT: Final = "concord.ballot.N"
IMPROVE: Final = "concord.improve.N"
RATIFY: Final = "concord.ratify"

AUTHORITY: Final = "somebody has authority over an issue"
NO_AUTHORITY: Final = "nobody has"
QUOTED: Final = "every issue under authority has been quoted"
UNQUOTED: Final = "an issue has not been quoted"
OPTIONS: Final = "there are options"
NO_OPTIONS: Final = "there are none"
RIGHT: Final = "somebody may try to improve"
NOTHING_STANDS: Final = "a member has no valid ballot, or every option has objections"
NEW_OPTION: Final = "a new option"
ACCEPTED: Final = "nobody may, and the selection is accepted"
NOT_ACCEPTED: Final = "nobody may, and it is not accepted"
SIGNED: Final = "everybody has accepted"
UNSIGNED: Final = "a signature is missing"

_AFTER_A_TRY: Final = {RIGHT: IMPROVE, ACCEPTED: RATIFY, NOT_ACCEPTED: NO_AGREEMENT}

TABLE: Final[Table] = {
    START: {AUTHORITY: QUOTE, NO_AUTHORITY: seal_of(OPTION)},
    QUOTE: {QUOTED: seal_of(OPTION), UNQUOTED: NO_AGREEMENT},
    seal_of(OPTION): {CLOSED: reveal_of(OPTION)},
    reveal_of(OPTION): {OPTIONS: seal_of(BALLOT), NO_OPTIONS: NO_AGREEMENT},
    seal_of(BALLOT): {CLOSED: reveal_of(BALLOT)},
    reveal_of(BALLOT): {NOTHING_STANDS: NO_AGREEMENT, **_AFTER_A_TRY},
    IMPROVE: {NEW_OPTION: seal_of(BALLOT), **_AFTER_A_TRY},
    RATIFY: {SIGNED: AGREED, UNSIGNED: NO_AGREEMENT},
}


def ballot(number: int) -> str:
    """Return the prefix of the ballot with this *number*, from 1."""
    return numbered(BALLOT, number)


def improvement(number: int) -> str:
    """Return the id of the step that gives the right to improve for the *number*-th time, from 1."""
    return numbered(IMPROVE, number)


def ballot_number(step: str) -> int | None:
    """Return the number of the ballot to which the step with the id *step* belongs, or None."""
    return number_of(step) if name_of(step) in (seal_of(BALLOT), reveal_of(BALLOT)) else None
