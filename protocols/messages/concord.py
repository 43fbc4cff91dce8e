"""What members say in Concord: quotes, options, ballots, improvements, passes and ratifications."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from protocols.core.canonical import LARGEST_INTEGER, digest
from protocols.core.message import Hex, Line, Message, Name, StepId, Text, Title
from protocols.messages.claims import Cites, Claims
from protocols.messages.commitments import CommitmentTerms

Value = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)] | Title
"""A value of an issue: an integer, or text (a decimal is text). Values with the same text are the same value."""


class Issue(Message):
    """What is to be decided: the possible values, and their unit."""

    values: Annotated[list[Value], Field(min_length=1, max_length=1000)]
    unit: Line | None = None


class Option(Message):
    """An option that a member proposes."""

    title: Title
    offer: dict[Name, Value] = Field(default_factory=dict, max_length=100)
    rationale: Text | None = None
    commitments: list[CommitmentTerms] = Field(default_factory=list, max_length=50)


def option_id(option: Option, *, has_issues: bool) -> str:
    """Return the id of *option*: of its offer and commitments, and of its title if the room has no issues."""
    said: dict[str, Any] = {"offer": option.offer, "commitments": [c.plain() for c in option.commitments]}
    if not has_issues:
        said["title"] = option.title
    return digest(said)


class ReserveOpening(Message):
    """The reserve to which the member committed with its option, and the nonce that hid it; None means no reserve."""

    reserve: Annotated[int, Field(ge=0, le=100)] | None = None
    nonce: Hex


def reserve_digest(room: str, key: str, reserve: int | None, nonce: str) -> str:
    """Return the commitment to a reserve by the member with public key *key*."""
    return digest({"room": room, "author": key, "reserve": reserve, "nonce": nonce})


class Proposal(Message):
    """The sealed answer of ``concord.option``: an option, the claims it cites, and the commitment to a reserve."""

    option: Option
    reserve: Hex
    claims: Claims | None = None
    cites: Cites | None = None


class BallotContent(Message):
    """The sealed answer of ``concord.ballot.N``: a score or a reasoned rejection for every option asked about.

    ``cites`` holds, by option, the claims on which the member bases its score.
    The rules check its fields, not the model, so that every mistake has a code and a name.
    """

    scores: dict[str, Any]
    rejects: dict[str, Any] = Field(default_factory=dict)
    reasons: dict[str, Text] = Field(default_factory=dict)
    reserve: ReserveOpening | None = None
    claims: Claims | None = None
    cites: dict[str, Cites] | None = None


class Quote(Message):
    """The values that a member with authority over issues allows; the first is its standard."""

    kind: Literal["concord.quote"] = "concord.quote"
    step: StepId
    values: dict[Name, Annotated[list[Value], Field(min_length=1, max_length=1000)]]


class Improve(Message):
    """An option that is meant to be better than the standing one."""

    kind: Literal["concord.improve"] = "concord.improve"
    step: StepId
    option: Option
    claims: Claims | None = None
    cites: Cites | None = None


class Pass(Message):
    """A pass: the member has nothing better to propose while ``standing`` stands."""

    kind: Literal["concord.pass"] = "concord.pass"
    step: StepId
    standing: Hex


class Ratify(Message):
    """The signature under the outcome with this digest, or a reasoned refusal of it."""

    kind: Literal["concord.ratify"] = "concord.ratify"
    step: StepId
    outcome: Hex
    accept: bool
    because: Text | None = None
    claims: Claims | None = None
    cites: Cites | None = None

    @model_validator(mode="after")
    def _declines_with_a_reason(self) -> "Ratify":
        if not self.accept and not self.because:
            raise ValueError("declining the outcome needs a reason: because")
        return self
