"""What is done to commitments and what comes of it: acts, refusals, transitions. One form for rooms and histories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from protocols.core.instants import Instant, parse_instant
from protocols.core.message import Message
from protocols.messages.commitments import (
    AcceptCommitment,
    AssignCommitment,
    CancelCommitment,
    ConfirmReport,
    CreateCommitment,
    DecideReport,
    DelegateCommitment,
    DisputeReport,
    ReleaseCommitment,
    ReportEvent,
    ResumeCommitment,
    SuspendCommitment,
    WaiveCommitment,
)

REPORT = "report"
ANSWERS = ("confirm", "dispute", "decide")
OPERATIONS = ("create", "cancel", "release", "waive", "delegate", "accept", "assign", "suspend", "resume")
DOES = (*OPERATIONS, *ANSWERS)
"""Every word that ``do`` may hold in a history."""


@dataclass(frozen=True, slots=True)
class Act:
    """One thing said: when, as which item of its history or log, by whom, and what.

    ``do`` is ``report`` or one of `DOES`. ``report`` is the id of the report made or answered; a report without one
    cannot be answered.
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


@dataclass(frozen=True, slots=True)
class Refusal:
    """An act that changed nothing: its item, a stable code, and why, with what would be valid."""

    item: int
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Transition:
    """A commitment's move from one state to another.

    ``since`` is when it came true (``None``: before everything), ``at`` the time of the log at which it was found,
    ``because`` the items that made it so.
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
    """Raised inside the tracker for an act that is refused; becomes a `Refusal`."""

    def __init__(self, code: str, why: str) -> None:
        self.code, self.why = code, why
        super().__init__(f"{code}: {why}")


_ON_COMMITMENT = {
    CancelCommitment: "cancel",
    ReleaseCommitment: "release",
    WaiveCommitment: "waive",
    AcceptCommitment: "accept",
    ResumeCommitment: "resume",
}


def act_of(body: Message, *, at: Instant, item: int, by: str, entry_id: str) -> Sequence[Act]:
    """Return the acts that a room's body stands for; the id of a report is that of its entry."""
    match body:
        case CreateCommitment():
            return [Act(at, item, by, "create", commitment=terms.id) for terms in body.commitments]
        case ReportEvent():
            return [Act(at, item, by, REPORT, report=entry_id, event=body.event, attributes=dict(body.attributes))]
        case ConfirmReport():
            return [Act(at, item, by, "confirm", report=body.report)]
        case DisputeReport():
            return [Act(at, item, by, "dispute", report=body.report)]
        case DecideReport():
            return [Act(at, item, by, "decide", report=body.report, holds=body.holds)]
        case DelegateCommitment():
            return [Act(at, item, by, "delegate", commitment=body.commitment, to=body.to)]
        case AssignCommitment():
            return [Act(at, item, by, "assign", commitment=body.commitment, to=body.to)]
        case SuspendCommitment():
            until = None if body.until is None else parse_instant(body.until)
            return [Act(at, item, by, "suspend", commitment=body.commitment, until=until)]
        case CancelCommitment() | ReleaseCommitment() | WaiveCommitment() | AcceptCommitment() | ResumeCommitment():
            return [Act(at, item, by, _ON_COMMITMENT[type(body)], commitment=body.commitment)]
    raise TypeError(f"{type(body).__name__} is no body about commitments")
