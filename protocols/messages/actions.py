"""What members say about deeds: a plan, and every word about it; and the opening's part that bounds them.

A plan is one step or more, done in order; ``PLAN.1`` is its first step, ``PLAN.1.undo`` what compensates for it.
Whoever proposed it is its lead; the executor of a step is its ``by``, else the lead.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, model_validator

from protocols.core.canonical import LARGEST_INTEGER
from protocols.core.message import DecimalText, Hex, Message, Name, Text, Words
from protocols.messages.commitments import DurationText, InstantText, verb_of

MOST_RESOURCES: Final = 1_000
"""Resources that an opening may list."""
MOST_KINDS: Final = 200
"""Kinds of action that an opening may list."""
MOST_PAIRS: Final = 1_000
"""Pairs of kinds that an opening may call conflicts."""
MOST_STEPS: Final = 64
"""Steps of one plan."""
NOTHING: Final = "nothing"
"""In place of a kind: an effect that needs no undoing."""

Whole = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Scalar = bool | Whole | Text
"""An argument as it is given; it is judged by the kind, and never coerced."""
Version = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ActionId = Annotated[str, StringConstraints(min_length=1, max_length=100)]
"""A step ``PLAN.N`` or its undo ``PLAN.N.undo``."""
Members = Annotated[list[Name], Field(min_length=1, max_length=100)]


class Between(Message):
    """A number from ``min`` to ``max``, both included; either may be left out, not both."""

    min: Whole | DecimalText | None = None
    max: Whole | DecimalText | None = None

    @model_validator(mode="after")
    def _of_use(self) -> "Between":
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both")
        return self


Argument = Between | Annotated[list[Scalar], Field(min_length=1, max_length=1_000)] | Literal["text"]
"""What an argument may be: a number within bounds, one of a list, or any text."""


class PriorityClass(Message):
    """One class of priority, and who may claim it."""

    name: Name = Field(alias="class")
    by: Members


class Resource(Message):
    """Something that actions change: its version, what it lies within, what it uses, and who looks after it."""

    version: Version | None = None
    within: Name | None = None
    uses: Annotated[list[Name], Field(max_length=MOST_RESOURCES)] = Field(default_factory=list)
    owner: Name | None = None


class ActionKind(Message):
    """A kind of action: who does it, on what, with which arguments, and how it is undone.

    ``on`` lists resources; all that lies within them is meant too. ``tolerance`` is in per cent. With ``holds``, the
    effect lasts until it is undone. ``idempotent``: the tool answers a repeated key with what it did the first time.
    ``reports`` is the event that a done step reports.
    """

    by: Members
    on: Annotated[list[Name], Field(min_length=1, max_length=MOST_RESOURCES)]
    args: Annotated[dict[Name, Argument], Field(max_length=50)] = Field(default_factory=dict)
    counts: Annotated[list[Name], Field(max_length=50)] = Field(default_factory=list)
    tolerance: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    confirmed_by: Members | None = None
    holds: bool = False
    idempotent: bool = False
    attempts: Annotated[int, Field(ge=1, le=1_000)] = 3
    privileged: bool = False
    reports: Name | None = None
    undo: Name | None = None
    irreversible: bool = False

    @model_validator(mode="after")
    def _can_be_told_how_it_ends(self) -> "ActionKind":
        if (self.undo is not None) == self.irreversible:
            raise ValueError("say exactly one: undo: KIND, undo: nothing, or irreversible: true")
        if self.irreversible and self.confirmed_by is None:
            raise ValueError("what is irreversible needs confirmed_by: somebody who confirms it first")
        if self.holds and self.undo in (None, NOTHING):
            raise ValueError("what holds needs undo: KIND, which ends it")
        return self


class Flapping(Message):
    """How many reversals on one resource within a time are a question for people."""

    reversals: Annotated[int, Field(ge=1, le=1_000)] = 3
    within: DurationText = "1 hour"


class Lease(Message):
    """How long a grant lasts if the plan does not say, and at most, renewals included."""

    usual: DurationText = "10 minutes"
    longest: DurationText = "1 hour"


class Verify(Message):
    """Who checks what was done against the intent, and in what time."""

    by: Members
    within: DurationText


class ActionsOpening(Message):
    """The opening's part about deeds: who decides, what there is to act on, and the closed list of kinds.

    ``priorities`` begins with the highest class; without it all plans are equals. ``decide_within`` left out: an
    answer may take for ever. ``equal``: whether people choose between equals, or the first comes first.
    """

    priorities: Annotated[list[PriorityClass], Field(max_length=50)] = Field(default_factory=list)
    decided_by: Members
    decide_within: DurationText | None = None
    equal: Literal["ask", "first"] = "ask"
    resources: Annotated[dict[Name, Resource], Field(max_length=MOST_RESOURCES)]
    kinds: Annotated[dict[Name, ActionKind], Field(max_length=MOST_KINDS)]
    conflicts: Annotated[
        list[Annotated[list[Name], Field(min_length=2, max_length=2)]], Field(max_length=MOST_PAIRS)
    ] = Field(default_factory=list)
    flapping: Flapping = Field(default_factory=Flapping)
    lease: Lease = Field(default_factory=Lease)
    verify: Verify | None = None


class PlannedStep(Message):
    """One step as it is proposed; ``expects`` are the counts with which the lead reckons."""

    kind: Name
    on: Annotated[list[Name], Field(max_length=MOST_RESOURCES)]
    args: Annotated[dict[Name, Scalar], Field(max_length=50)] = Field(default_factory=dict)
    by: Name | None = None
    expects: Annotated[dict[Name, Scalar], Field(max_length=50)] = Field(default_factory=dict)
    irreversible: bool = False


class ProposePlan(Message):
    """The lead proposes a plan, and says on which versions of which resources it rests.

    ``tainted``: the mind has been shown output of a tool that nobody vouches for.
    """

    kind: Literal["action.propose"] = "action.propose"
    plan: Name
    seen: Annotated[dict[Name, Text], Field(max_length=MOST_RESOURCES)]
    steps: Annotated[list[PlannedStep], Field(max_length=1_000)]
    priority: Name | None = None
    lease: DurationText | None = None
    until: InstantText | None = None
    tainted: bool = False
    because: Words | None = None


class Echo(Message):
    """A step in its executor's words: what it would do, on what, with which arguments."""

    kind: Name | None = None
    on: list[Name] | None = None
    args: dict[Name, Scalar] | None = None


class ReadBack(Message):
    """The executor of a step reads it back, with the counts that its tool gives."""

    kind: Literal["action.read"] = "action.read"
    step: ActionId
    echo: Echo = Field(default_factory=Echo)
    counts: Annotated[dict[Name, Whole], Field(max_length=50)] = Field(default_factory=dict)


class ConfirmPlan(Message):
    """A confirmer stands by what was read back; ``reads`` is the digest of it."""

    kind: Literal["action.confirm"] = "action.confirm"
    plan: Name
    reads: Hex | None = None
    because: Words | None = None


class DisputePlan(Message):
    """A confirmer says that the plan is not what is meant."""

    kind: Literal["action.dispute"] = "action.dispute"
    plan: Name
    reads: Hex | None = None
    because: Words | None = None


class StartStep(Message):
    """The executor is about to call its tool: under which grant, and with which key."""

    kind: Literal["action.start"] = "action.start"
    step: ActionId
    token: Whole | None = None
    key: Hex | None = None


class StepResult(Message):
    """What came of a call; ``start`` is the position of the start that it answers."""

    kind: Literal["action.result"] = "action.result"
    step: ActionId
    start: Whole | None = None
    outcome: Literal["done", "refused", "failed", "unknown"]
    versions: Annotated[dict[Name, Version], Field(max_length=MOST_RESOURCES)] = Field(default_factory=dict)
    counts: Annotated[dict[Name, Whole], Field(max_length=50)] = Field(default_factory=dict)
    detail: Hex | None = None


class RenewPlan(Message):
    """A party asks for more time under the same grant, or comes back to a plan that is in doubt."""

    kind: Literal["action.renew"] = "action.renew"
    plan: Name


class WithdrawPlan(Message):
    """The lead gives a plan up, has it undone, or releases what it holds."""

    kind: Literal["action.withdraw"] = "action.withdraw"
    plan: Name


class DecidePlan(Message):
    """A person's verdict about a plan."""

    kind: Literal["action.decide"] = "action.decide"
    plan: Name
    verdict: Literal["go", "done", "failed", "undo", "stop"]
    versions: Annotated[dict[Name, Version], Field(max_length=MOST_RESOURCES)] = Field(default_factory=dict)
    because: Words | None = None


class ObserveResource(Message):
    """Whoever looks after a resource has seen it in this version."""

    kind: Literal["action.observe"] = "action.observe"
    resource: Name
    version: Version


class VerifyPlan(Message):
    """A verifier says whether what was done serves the intent, word for word."""

    kind: Literal["action.verify"] = "action.verify"
    plan: Name
    holds: bool
    because: Words | None = None


class Repin(Message):
    """A member's model, or its tools, are others than it said when it joined."""

    kind: Literal["room.repin"] = "room.repin"


ACTION_BODIES = (
    ProposePlan,
    ReadBack,
    ConfirmPlan,
    DisputePlan,
    StartStep,
    StepResult,
    RenewPlan,
    WithdrawPlan,
    DecidePlan,
    ObserveResource,
    VerifyPlan,
)
"""Every body about deeds."""

DEEDS: Final[Mapping[str, type[Message]]] = {verb_of(body.model_fields["kind"].default): body for body in ACTION_BODIES}
"""The words about deeds: the verb, and the model of the body."""
