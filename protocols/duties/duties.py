"""Duties: what a member is expected to do next, with everything it needs to answer.

This is the whole interface between the rules and a peer. Every duty is plain data with a JSON form, so that a mind may
live in another process or be written in another language. ``step`` and ``deadline`` say to what the answer belongs.
"""

from typing import Any, Literal

from pydantic import Field

from protocols.core.instants import Instant
from protocols.core.message import Message
from protocols.duties.briefing import Briefing, PromiseKnown
from protocols.messages.accord import Interpretation, Judgement, Verdict
from protocols.messages.budget import Left
from protocols.messages.commitments import CommitmentTerms
from protocols.messages.concord import Issue, Option, Value


class Duty(Message):
    """Base of all duties of one member. ``deadline`` is a log time in microseconds, inclusive; None means no deadline.

    ``problem`` says why this duty is asked a second and last time: what was wrong with the first answer.
    ``left`` and ``briefing`` are added when a mind is asked: what it may still use, and what the room has said.
    """

    act: str
    member: str
    step: str | None = None
    deadline: Instant | None = None
    problem: str | None = None
    left: Left | None = None
    briefing: Briefing | None = None


class JoinDuty(Duty):
    """Join the room whose opening has this id, or decline."""

    act: Literal["join"] = "join"
    opening: str


class PromiseDuty(Duty):
    """Create the promises that the opening lists for this debtor."""

    act: Literal["promise"] = "promise"
    commitments: list[CommitmentTerms]


class RevealDuty(Duty):
    """Open the member's seal of ``sealed_step``: its ``digest`` and ``box`` are as on the log. It needs no mind."""

    act: Literal["reveal"] = "reveal"
    sealed_step: str
    digest: str
    box: str


class InterpretDuty(Duty):
    """Say, sealed, what each term means."""

    act: Literal["interpret"] = "interpret"
    intent: str
    terms: list[str]


class CaseAsked(Message):
    """A revealed case of a term; ``verdict`` is the member's own verdict if the case is its own."""

    term: str
    text: str
    values: dict[str, str] = Field(default_factory=dict)
    verdict: Verdict | None = None


class MeaningAsked(Message):
    """A distinct meaning of a term that other members hold."""

    term: str
    id: str
    held_by: list[str]
    interpretation: Interpretation


class ReadDuty(Duty):
    """Say, sealed, one verdict for each of ``cases`` and one judgement for each of ``meanings``, in their order."""

    act: Literal["read"] = "read"
    cases: list[CaseAsked]
    meanings: list[MeaningAsked]
    own: dict[str, Interpretation]


class SettleDuty(Duty):
    """Settle each of ``terms``: terms on which this member differs from others, or over which it has authority.

    ``own`` is the id of the member's own meaning, ``meanings`` are those of the others.
    """

    act: Literal["settle"] = "settle"
    terms: list[str]
    own: dict[str, str]
    meanings: list[MeaningAsked]
    authority: list[str]


class QuoteDuty(Duty):
    """Say which values of each issue under this member's authority it allows, the standard one first."""

    act: Literal["quote"] = "quote"
    issues: dict[str, Issue]


class ProposeDuty(Duty):
    """Propose, sealed, one option, and commit to a reserve.

    ``issues`` are all issues with the values that this member may use; ``optional`` are the issues under another
    member's authority, which may be left out.
    """

    act: Literal["propose"] = "propose"
    issues: dict[str, Issue]
    optional: list[str]
    status_quo: Option | None = None


class OptionAsked(Message):
    """An option with its id and those who proposed it."""

    id: str
    option: Option
    proposers: list[str]


class ScoreDuty(Duty):
    """Score, sealed, each of ``options`` with an integer 0–100, or reject it with a reason within the budget."""

    act: Literal["score"] = "score"
    options: list[OptionAsked]
    rejects_left: int
    bar: int
    opens_reserve: bool


class ImproveDuty(Duty):
    """Propose an option that is better than ``standing``, or pass.

    ``table`` holds what everyone revealed: option → member → score, None for a rejection. ``reserves`` are the opened
    ones; a member without a reserve may agree to anything.
    """

    act: Literal["improve"] = "improve"
    standing: str
    objections: list[str]
    options: list[OptionAsked]
    table: dict[str, dict[str, int | None]]
    reserves: dict[str, int | None]
    issues: dict[str, Issue]
    optional: list[str]
    floor: int
    tries_left: int


class Outcome(Message):
    """What is up for ratification: the option, its vector of scores, the rule that decided, the open differences."""

    room: str
    option: str
    title: str
    offer: dict[str, Value]
    vector: list[int]
    rule: str
    open: list[dict[str, Any]]


class RatifyDuty(Duty):
    """Sign the outcome with this digest, or decline with a reason."""

    act: Literal["ratify"] = "ratify"
    outcome: Outcome
    digest: str


class WitnessDuty(Duty):
    """Sign that the member has seen everyone's signature under the end. It needs no mind."""

    act: Literal["witness"] = "witness"


class CloseDuty(Duty):
    """Sign how the agenda ended. It needs no mind."""

    act: Literal["close"] = "close"
    digest: str


class TickDuty(Duty):
    """Let log time move, once the member's clock reads ``at`` (microseconds) and no record has passed the deadline."""

    act: Literal["tick"] = "tick"
    at: Instant


class ReportAsked(Message):
    """A report that this member should confirm or dispute."""

    id: str
    event: str
    by: str
    attributes: dict[str, str]


class OfferAsked(Message):
    """A delegation that this member may accept, by its id: it would then owe it in its debtor's place.

    ``promise`` is the commitment as it stands, ``because`` what its debtor gave as the reason.
    """

    id: str
    commitment: str
    debtor: str
    creditor: str
    because: str | None = None
    promise: PromiseKnown


class OperationDone(Message):
    """An operation on a commitment that this member has said."""

    do: str
    commitment: str
    because: str | None = None


class PerformDuty(Duty):
    """Report what happened, answer others' reports, and act on promises, as the member sees fit.

    This is a standing duty: it is asked again whenever something may have changed the promises, and an empty answer is
    an answer. ``done`` and ``operations`` are what this member has said so far, accepted or refused.
    """

    act: Literal["perform"] = "perform"
    reportable: list[str]
    awaiting: list[ReportAsked]
    offers: list[OfferAsked] = Field(default_factory=list)
    promises: dict[str, str]
    done: list[ReportAsked]
    operations: list[OperationDone]

    def offer_of(self, commitment: str) -> str | None:
        """Return the id of the delegation of *commitment* that this member may accept, None if there is none."""
        return next((offer.id for offer in self.offers if offer.commitment == commitment), None)


Answerable = Literal["interpret", "read", "settle", "quote", "propose", "score", "improve", "ratify", "perform"]
"""The acts that need a mind; a peer answers the other duties by itself."""

__all__ = [
    "Answerable",
    "Briefing",
    "CaseAsked",
    "CloseDuty",
    "Duty",
    "ImproveDuty",
    "InterpretDuty",
    "JoinDuty",
    "Judgement",
    "Left",
    "MeaningAsked",
    "OfferAsked",
    "OperationDone",
    "OptionAsked",
    "Outcome",
    "PerformDuty",
    "PromiseDuty",
    "ProposeDuty",
    "QuoteDuty",
    "RatifyDuty",
    "ReadDuty",
    "ReportAsked",
    "RevealDuty",
    "ScoreDuty",
    "SettleDuty",
    "TickDuty",
    "Verdict",
    "WitnessDuty",
]
