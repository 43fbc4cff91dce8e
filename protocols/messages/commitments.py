"""What members say about commitments: the terms of a promise, and every move in its life.

A commitment C(debtor, creditor, antecedent, consequent) is an obligation of the debtor to the creditor: if the
antecedent comes to hold, to bring about the consequent (M. P. Singh, "An ontology for commitments in multiagent
systems", 1999). Conditions are text in the language of `protocols.commitments.conditions`.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from protocols.core.instants import parse_duration, parse_instant
from protocols.core.message import NAME_PATTERN, Line, Message, Name, StepId, Text, Words
from protocols.core.names import check_name

MOST_CREATED = 50
"""Commitments that one entry may create."""
MOST_ATTRIBUTES = 50
AGREED = "agreed"
"""The built-in event: the room agreed, or, without a concord, everyone joined."""
LONGEST_CONDITION = 4_000
"""Characters of a condition; far more than a person could check."""


def _instant_text(text: str) -> str:
    parse_instant(text)
    return text


def _duration_text(text: str) -> str:
    parse_duration(text)
    return text


InstantText = Annotated[str, StringConstraints(max_length=40), AfterValidator(_instant_text)]
DurationText = Annotated[str, StringConstraints(max_length=80), AfterValidator(_duration_text)]
ConditionText = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_CONDITION)]
CommitmentId = Annotated[Name, StringConstraints(pattern=r"^[^\[\]]+$")]
"""The id of a commitment, as its terms give it. Brackets are reserved for instances: ``water[17]``."""
CommitmentName = Annotated[str, StringConstraints(min_length=1, max_length=300)]
"""A commitment or one of its instances, as an act names it."""


ROLE = re.compile(r"(?P<place>debtor|creditor)\((?P<commitment>[^\x00-\x1f\x7f-\x9f\[\]]+)\)")
"""Instead of a party's name: the party that holds that place in that commitment at the time."""


Who = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=NAME_PATTERN), AfterValidator(check_name)]


class EventRule(Message):
    """Who may report an event, who confirms a report, and what settles one that is unanswered or disputed.

    Without ``by``, any member may report. Without ``confirmed_by``, a report holds at once. A report that is not
    answered within ``confirm_within`` counts as ``silence`` says. ``decided_by`` settles disputes. Each of the three is
    a party, or ``debtor(ID)`` or ``creditor(ID)``: whoever is that when the report is made or answered.
    """

    by: Who | None = None
    confirmed_by: Who | None = None
    confirm_within: DurationText | None = None
    silence: Literal["confirms", "denies"] | None = None
    decided_by: Who | None = None

    def names(self) -> list[str]:
        """Return who is named."""
        return [name for name in (self.by, self.confirmed_by, self.decided_by) if name is not None]

    @model_validator(mode="after")
    def _of_use(self) -> "EventRule":
        if self.silence is not None and self.confirm_within is None:
            raise ValueError("silence needs confirm_within: how long an answer may take")
        if self.confirmed_by is None and (self.confirm_within is not None or self.decided_by is not None):
            raise ValueError("confirm_within and decided_by need confirmed_by: without it every report holds at once")
        return self


class CommitmentTerms(Message):
    """The terms of one commitment.

    Without ``antecedent`` (written ``if``), it is unconditional. With ``each``, there is one instance for each value of
    that attribute.
    ``excludes`` names commitments of the same debtor that cannot be kept together with this one.
    """

    id: CommitmentId
    debtor: Name
    creditor: Name
    antecedent: ConditionText | None = Field(default=None, alias="if")
    consequent: ConditionText = Field(alias="then")
    each: Name | None = None
    excludes: Annotated[list[CommitmentId], Field(max_length=50)] | None = None


class CreateCommitment(Message):
    """The debtor's signature under its own promises."""

    kind: Literal["commitment.create"] = "commitment.create"
    step: StepId | None = None
    commitments: Annotated[list[CommitmentTerms], Field(min_length=1, max_length=MOST_CREATED)]


class CancelCommitment(Message):
    """The debtor withdraws: before detachment this ends the commitment without fault, afterwards it is a breach."""

    kind: Literal["commitment.cancel"] = "commitment.cancel"
    commitment: CommitmentName
    because: Words | None = None


class ReleaseCommitment(Message):
    """The creditor releases the debtor; after a violation this waives the remedies."""

    kind: Literal["commitment.release"] = "commitment.release"
    commitment: CommitmentName
    because: Words | None = None


class WaiveCommitment(Message):
    """The creditor waives the remedies of a violated commitment; the violation stays."""

    kind: Literal["commitment.waive"] = "commitment.waive"
    commitment: CommitmentName
    because: Words | None = None


class DelegateCommitment(Message):
    """The debtor offers the commitment to another party, who becomes debtor by accepting."""

    kind: Literal["commitment.delegate"] = "commitment.delegate"
    commitment: CommitmentName
    to: Name
    because: Words | None = None


class AssignCommitment(Message):
    """The creditor makes another party creditor."""

    kind: Literal["commitment.assign"] = "commitment.assign"
    commitment: CommitmentName
    to: Name
    because: Words | None = None


class AcceptCommitment(Message):
    """The party that a delegation names accepts it and becomes debtor.

    ``offer`` is the id of that delegation's entry.
    """

    kind: Literal["commitment.accept"] = "commitment.accept"
    commitment: CommitmentName
    offer: Line


class SuspendCommitment(Message):
    """An empowered party stops the clocks, until an instant or until they are resumed."""

    kind: Literal["commitment.suspend"] = "commitment.suspend"
    commitment: CommitmentName
    until: InstantText | None = None
    because: Words | None = None


class ResumeCommitment(Message):
    """An empowered party lets the clocks run on."""

    kind: Literal["commitment.resume"] = "commitment.resume"
    commitment: CommitmentName


class ReportEvent(Message):
    """A report that an event happened, at the time of the record, with these attributes; decimals are text."""

    kind: Literal["event.report"] = "event.report"
    event: Name
    attributes: dict[Name, Text] = Field(default_factory=dict, max_length=MOST_ATTRIBUTES)


class ConfirmReport(Message):
    """The confirmer agrees that the reported event happened; this is final."""

    kind: Literal["event.confirm"] = "event.confirm"
    report: Line
    because: Words | None = None


class DisputeReport(Message):
    """The confirmer denies that the reported event happened."""

    kind: Literal["event.dispute"] = "event.dispute"
    report: Line
    because: Words | None = None


class DecideReport(Message):
    """The decider that the opening names settles a disputed report."""

    kind: Literal["event.decide"] = "event.decide"
    report: Line
    holds: bool
    because: Words | None = None


COMMITMENT_BODIES = (
    CreateCommitment,
    CancelCommitment,
    ReleaseCommitment,
    WaiveCommitment,
    DelegateCommitment,
    AssignCommitment,
    AcceptCommitment,
    SuspendCommitment,
    ResumeCommitment,
    ReportEvent,
    ConfirmReport,
    DisputeReport,
    DecideReport,
)
"""Every body about promises. A new act is a model in this tuple; the other tables select from it."""


def verb_of(kind: str) -> str:
    """Return the verb in the *kind* of a body about promises: its last part."""
    return kind.rpartition(".")[2]


ACTS: Final[Mapping[str, type[Message]]] = {
    verb_of(body.model_fields["kind"].default): body for body in COMMITMENT_BODIES
}
"""The acts on promises: the verb, and the model of the body."""
ON_COMMITMENT: Final[Mapping[str, type[Message]]] = {
    verb: body for verb, body in ACTS.items() if "commitment" in body.model_fields
}
"""The acts on one existing commitment."""
ON_REPORT: Final[Mapping[str, type[Message]]] = {
    verb: body for verb, body in ACTS.items() if "report" in body.model_fields
}
"""The answers to a report."""
REPORT: Final = "report"
CREATE: Final = "create"

if TYPE_CHECKING:
    OperationName = str
else:
    OperationName = Literal[tuple(ON_COMMITMENT)]
    """The verb of an act on one commitment, where a file or a mind names it."""
