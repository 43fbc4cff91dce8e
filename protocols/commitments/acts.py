"""What is done to commitments and what follows: acts, refusals, transitions. Rooms and histories share these forms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from protocols.commitments.lifecycle import MAY
from protocols.core.instants import Instant, parse_instant
from protocols.core.message import Message
from protocols.messages.commitments import (
    ACTS,
    CREATE,
    ON_REPORT,
    REPORT,
    CreateCommitment,
    DelegateCommitment,
    ReportEvent,
)

ANSWERS: Final = tuple(ON_REPORT)
OPERATIONS: Final = tuple(move.value for move in MAY)
"""What parties do to commitments, in the order of the table that says who may."""
DOES = (*OPERATIONS, *ANSWERS)
"""Every word that ``do`` may take in a history."""


@dataclass(frozen=True, slots=True)
class Act:
    """One act: when, as which item of its history or log, by whom, and what.

    ``do`` is ``report`` or one of `DOES`. ``report`` is the id of the report that is made or answered; a report without
    an id cannot be answered. ``offer`` is the id of the delegation that is made or accepted: its entry's id, or its
    place in a history.
    """

    at: Instant
    item: int
    by: str
    do: str
    commitment: str | None = None
    report: str | None = None
    event: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    to: str | None = None
    until: Instant | None = None
    holds: bool | None = None
    offer: str | int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An act that changed nothing: its item, a stable code, and a reason that says what would be valid."""

    item: int
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Transition:
    """A commitment's move from one state to another.

    ``since`` is when the new state came true (``None``: before everything), ``at`` is the log time at which that was
    found, and ``because`` are the items that caused it.
    """

    commitment: str
    before: str
    after: str
    since: Instant | None
    at: Instant
    because: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """What one act did. ``notes`` pair a commitment with a note such as ``duplicate``."""

    refusals: tuple[Refusal, ...] = ()
    transitions: tuple[Transition, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


NOTHING = Applied()


class ActRefused(Exception):
    """Raised inside the tracker when an act is refused; the tracker turns it into a `Refusal`."""

    def __init__(self, code: str, why: str) -> None:
        self.code, self.why = code, why
        super().__init__(f"{code}: {why}")


_VERBS: Final = {body: verb for verb, body in ACTS.items()}
_TAKEN: Final = {
    body: tuple(name for name in ("commitment", "report", "to", "holds", "until", "offer") if name in body.model_fields)
    for body in ACTS.values()
}
"""The fields of a body that are part of the act for which it stands."""


def act_of(body: Message, *, at: Instant, item: int, by: str, entry_id: str) -> Sequence[Act]:
    """Return the acts that the *body* of a room's entry stands for; a report or an offer takes the id of its entry.

    Raises ``TypeError`` for a body that is not about promises.
    """
    if isinstance(body, CreateCommitment):
        return [Act(at, item, by, CREATE, commitment=terms.id) for terms in body.commitments]
    if isinstance(body, ReportEvent):
        return [Act(at, item, by, REPORT, report=entry_id, event=body.event, attributes=dict(body.attributes))]
    if type(body) not in _VERBS:
        raise TypeError(f"{type(body).__name__} is no body about commitments")
    said: dict[str, Any] = {name: getattr(body, name) for name in _TAKEN[type(body)]}
    if said.get("until") is not None:
        said["until"] = parse_instant(said["until"])
    if isinstance(body, DelegateCommitment):
        said["offer"] = entry_id
    return [Act(at, item, by, _VERBS[type(body)], **said)]
