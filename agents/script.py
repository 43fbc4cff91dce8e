"""What a scenario file says for a scripted member: its answers, in the places where the duties ask for them.

Numbers may be written as numbers; they become decimal text, as in entries.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from protocols.commitments.conditions import parse
from protocols.core.instants import parse_duration
from protocols.core.message import Line, Message, Name, Text, Title, Words
from protocols.messages.accord import Interpretation, Judgement
from protocols.messages.claims import Cites, Claim
from protocols.messages.commitments import OperationName
from protocols.messages.concord import Option, Value

Score = Annotated[int, Field(ge=0, le=100)]


def as_text(value: Any) -> Any:
    """Turn numbers at any depth into the decimal text that entries carry; leave everything else."""
    if isinstance(value, dict):
        return {key: as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value) if type(value) is int else value


def as_value(value: Any) -> Any:
    """Turn a decimal into text and leave an integer, as the values of issues are stored."""
    return format(value, "f") if isinstance(value, Decimal) else value


def as_option(value: Any) -> Any:
    """Write the numbers of an option's offer as its issues write them."""
    if isinstance(value, dict) and isinstance(value.get("offer"), dict):
        return value | {"offer": {name: as_value(item) for name, item in value["offer"].items()}}
    return value


def _condition(text: str) -> str:
    parse(text)
    return text


def _duration(text: str) -> str:
    parse_duration(text)
    return text


Condition = Annotated[Words, AfterValidator(_condition)]
DurationText = Annotated[str, AfterValidator(_duration)]
Reading = Annotated[Interpretation, BeforeValidator(as_text)]
Offered = Annotated[Option, BeforeValidator(as_option)]
ValueWritten = Annotated[Value, BeforeValidator(as_value)]


class Settling(Message):
    """How to settle one term; a member's name stands for the meaning that it revealed."""

    adopt: Name | None = None
    split: dict[Name, Name] | None = None
    rule: Name | None = None
    keep: Literal[True] | None = None
    because: Text | None = None
    cites: Cites | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "Settling":
        if sum(x is not None for x in (self.adopt, self.split, self.rule, self.keep)) != 1:
            raise ValueError("say exactly one of adopt, split, rule or keep")
        if self.adopt is not None and not self.because:
            raise ValueError("adopting another's meaning needs a reason: because")
        return self


class StatedClaim(Claim):
    """A claim, and the kind of answer in which it is stated (``with``): the first of that kind."""

    stated_with: Literal["interpret", "settle", "propose", "score", "improve", "ratify"] = Field(
        default="propose", alias="with"
    )


class Performance(Message):
    """One act on promises, ``after`` a duration since ``when`` came true (default: at once).

    It is either an ``event`` to report, with ``attributes``, or an operation ``do`` on a ``commitment``. Further fields
    beside an ``event`` are its attributes.
    """

    model_config = ConfigDict(json_schema_extra={"additionalProperties": {"type": ["string", "number"]}})

    event: Name | None = None
    attributes: dict[Name, Text] = Field(default_factory=dict)
    do: OperationName | None = None
    commitment: Line | None = None
    to: Name | None = None
    until: Line | None = None
    because: Text | None = None
    when: Condition | None = None
    after: DurationText | None = None

    @model_validator(mode="before")
    @classmethod
    def _gather_attributes(cls, value: Any) -> Any:
        """Collect all other fields of an event as its attributes, as in a history."""
        if not isinstance(value, dict) or "event" not in value:
            return value
        known = cls.model_fields.keys()
        extra = {key: as_text(item) for key, item in value.items() if key not in known}
        plain = {key: item for key, item in value.items() if key in known}
        return plain | {"attributes": extra} if extra else plain

    @model_validator(mode="after")
    def _one_of_two(self) -> "Performance":
        if (self.event is None) == (self.do is None):
            raise ValueError("name either an event to report, or what to do with a commitment")
        if (self.do is None) != (self.commitment is None):
            raise ValueError("an operation (do) names its commitment")
        return self


class Acting(Message):
    """What a member does about promises: the part that every kind of configured member shares."""

    performs: list[Performance] = Field(default_factory=list)
    confirms: bool | dict[Name, bool | Literal["confirm", "dispute"]] = True


class Script(Acting):
    """All answers of a scripted member; ``cites`` are the claims on which it relies, by term or by option title."""

    reads: dict[Name, Reading] = Field(default_factory=dict)
    judges: dict[Name, dict[Name, Judgement]] = Field(default_factory=dict)
    verdicts: dict[Text, bool] = Field(default_factory=dict)
    settles: dict[Name, Settling] = Field(default_factory=dict)
    quotes: dict[Name, list[ValueWritten]] = Field(default_factory=dict)
    proposes: Offered | None = None
    reserve: Score | None = None
    scores: dict[Title, Score] = Field(default_factory=dict)
    reasons: dict[Title, Text] = Field(default_factory=dict)
    rejects: dict[Title, Words] = Field(default_factory=dict)
    improves: list[Offered] = Field(default_factory=list)
    ratifies: bool | Words = True
    claims: Annotated[list[StatedClaim], Field(max_length=100)] = Field(default_factory=list)
    cites: dict[Title, Cites] = Field(default_factory=dict)
