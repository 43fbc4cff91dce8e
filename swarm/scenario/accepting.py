"""Which rooms a standing peer joins: whose, and within which bounds. Only the opening is judged, before joining."""

from collections.abc import Callable, Collection
from typing import Annotated, Final, Literal

from pydantic import Field

from protocols.core.message import Key, Message, Name
from protocols.messages.budget import Amounts, limited
from protocols.messages.room import Agenda, RoomOpen

Seconds = Annotated[int, Field(ge=0)]
MOST_NAMED = 5
"""How many names a reason lists."""


class Deciders(Message):
    """The issues and terms that another member may decide alone; a missing list sets no bound."""

    issues: list[Name] | None = None
    terms: list[Name] | None = None


class Accepts(Message):
    """Which rooms a standing peer joins: whose, and within which bounds. A missing field sets no bound.

    ``issues``, ``agenda`` and ``powers`` list everything that a room may have. ``authority`` lists what others may
    decide alone. A ``rehearsal``, in which promised time runs faster, is ``never`` accepted, or is the ``only`` kind
    accepted.
    ``max_budget`` is the most that a room may let this member use: a room without a limit on that amount is outside.
    """

    openers: list[Key] = Field(default_factory=list)
    min_step_seconds: Annotated[int, Field(ge=1)] | None = None
    max_watch_seconds: Seconds | None = None
    max_skew_seconds: Annotated[int, Field(ge=1)] | None = None
    max_members: Annotated[int, Field(ge=2, le=64)] | None = None
    agenda: list[Agenda] | None = None
    issues: list[Name] | None = None
    authority: Deciders = Field(default_factory=Deciders)
    powers: list[Literal["suspend", "resume"]] | None = None
    rehearsal: Literal["never", "only"] | None = None
    max_budget: Amounts | None = None


def outside(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    """Return why a room is outside the bounds of *accepts* for *member*, in words for others; None if it is within.

    It reads only the opening, in time that grows with its length.
    """
    return next((why for judge in _JUDGES if (why := judge(accepts, opening, member)) is not None), None)


def _times(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    rules = opening.rules
    if accepts.min_step_seconds is not None and rules.step_seconds < accepts.min_step_seconds:
        return f"its steps have {rules.step_seconds} s; this peer needs {accepts.min_step_seconds} s"
    if accepts.max_watch_seconds is not None and rules.watch_seconds > accepts.max_watch_seconds:
        return f"it is watched for {rules.watch_seconds} s; this peer stays at most {accepts.max_watch_seconds} s"
    if accepts.max_skew_seconds is not None and rules.skew_seconds > accepts.max_skew_seconds:
        return f"its clocks may differ by {rules.skew_seconds} s; this peer allows {accepts.max_skew_seconds} s"
    return None


def _size(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    members = len(opening.roster)
    if accepts.max_members is not None and members > accepts.max_members:
        return f"it has {members} members; this peer joins at most {accepts.max_members}"
    return None


def _agenda(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    return _beyond(opening.agenda, accepts.agenda, "its agenda has {}, which this peer does not join")


def _issues(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    return _beyond(opening.issues, accepts.issues, "it decides {}, which this peer does not settle")


def _authority(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    for decided, allowed in (
        (opening.authority.issues, accepts.authority.issues),
        (opening.authority.terms, accepts.authority.terms),
    ):
        others = [name for name, decider in decided.items() if decider != member]
        why = _beyond(others, allowed, "another member alone decides {}, which this peer does not accept")
        if why is not None:
            return why
    return None


def _powers(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    held = [power for power, names in opening.powers.items() if set(names) - {member}]
    return _beyond(held, accepts.powers, "others have the power to {}, which this peer does not accept")


def _rehearsal(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    if accepts.rehearsal == "never" and opening.rehearsal is not None:
        return "it is a rehearsal; this peer joins none"
    if accepts.rehearsal == "only" and opening.rehearsal is None:
        return "it is no rehearsal; this peer joins nothing else"
    return None


def _budget(accepts: Accepts, opening: RoomOpen, member: str) -> str | None:
    budget, most = opening.rules.budget, accepts.max_budget
    for name in limited(most):
        limits = [] if budget is None else [getattr(part, name) for part in (budget.member, budget.room) if part]
        least = min((limit for limit in limits if limit is not None), default=None)
        allowed = getattr(most, name)
        if least is None:
            return f"it sets no limit on {name}; this peer needs one of at most {allowed}"
        if least > allowed:
            return f"it lets a member use {least} {name}; this peer uses at most {allowed}"
    return None


def _beyond(there: Collection[str], allowed: Collection[str] | None, text: str) -> str | None:
    others = [] if allowed is None else sorted(set(there) - set(allowed))
    return text.format(", ".join(others[:MOST_NAMED])) if others else None


_JUDGES: Final[tuple[Callable[[Accepts, RoomOpen, str], str | None], ...]] = (
    _times,
    _size,
    _agenda,
    _issues,
    _authority,
    _powers,
    _rehearsal,
    _budget,
)
