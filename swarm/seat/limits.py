"""The bounds of which a mandate consists, and what it says about something outside them.

A limit is written for one name. A name that can be confused with it has the same limit, and never matches a list of
allowed names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from agents.script import Score, ValueWritten
from protocols.commitments.tree import NUMBER
from protocols.core.message import Message, Name
from protocols.core.names import look_alike
from protocols.messages.concord import Value
from swarm.files.scalars import DecimalText


def among(name: str, names: Iterable[str]) -> str | None:
    """Return the one of *names* that equals *name*; otherwise one with which it can be confused; otherwise None."""
    known = list(names)
    return name if name in known else next((each for each in known if look_alike(each, name)), None)


@dataclass(frozen=True, slots=True)
class Breach:
    """What a mandate does not allow.

    ``where`` names the part of the mandate (``offers.discount``) and may appear on the record; ``why`` contains values
    and limits, and is only for the mind and the owner of the file.
    """

    where: str
    why: str

    @property
    def public(self) -> str:
        """The reason that an entry may carry."""
        return f"outside its mandate: {self.where}"

    @property
    def private(self) -> str:
        """The reason that the mind is given when it is asked again."""
        return f"outside your mandate: {self.where}: {self.why}"


class Bounds(Message):
    """The least and the greatest number allowed, both included. A value that is not a number is outside.

    ``unit`` is the unit of the issue in the room. An issue with a different unit is outside, and so is one that has a
    unit if the bounds give none.
    """

    min: DecimalText | None = None
    max: DecimalText | None = None
    unit: Name | None = None

    @model_validator(mode="after")
    def _of_use(self) -> "Bounds":
        if self.min is None and self.max is None:
            raise ValueError("bounds need min, max or both")
        if self.min is not None and self.max is not None and Fraction(self.min) > Fraction(self.max):
            raise ValueError(f"min {self.min} is above max {self.max}, which leaves nothing")
        return self

    def why_not(self, value: Value) -> str | None:
        """Return why *value* is outside, None if it is inside."""
        text = str(value)
        if NUMBER.fullmatch(text) is None:
            return f"{text!r} is no number"
        if self.max is not None and Fraction(text) > Fraction(self.max):
            return f"{text} is above {self.max}"
        if self.min is not None and Fraction(text) < Fraction(self.min):
            return f"{text} is below {self.min}"
        return None


def _or_bare(schema: dict[str, Any]) -> None:
    """Let a bare list of values stand for the whole form."""
    whole = dict(schema)
    schema.clear()
    schema["anyOf"] = [whole["properties"]["values"], whole]


class Listed(Message):
    """The only values allowed, for an issue with this unit; a bare list is for an issue without a unit."""

    model_config = ConfigDict(json_schema_extra=_or_bare)

    values: Annotated[list[ValueWritten], Field(min_length=1)]
    unit: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        return {"values": value} if isinstance(value, list) else value

    def why_not(self, value: Value) -> str | None:
        """Return why *value* is outside, None if it is inside."""
        texts = [str(each) for each in self.values]
        return None if str(value) in texts else f"{str(value)!r} is not one of {', '.join(texts)}"


def _kind(allowed: Any) -> str:
    """Return the model that is meant, so that errors are about that one."""
    listed = isinstance(allowed, list | Listed) or (isinstance(allowed, dict) and "values" in allowed)
    return Listed.__name__ if listed else Bounds.__name__


Offered = Annotated[Annotated[Bounds, Tag("Bounds")] | Annotated[Listed, Tag("Listed")], Discriminator(_kind)]
"""What may be offered on one issue."""


class ScoreBounds(Message):
    """Bounds on scores. ``outside`` is for options that the mandate's offers or promises do not allow.

    ``outside: reject`` requires that such an option be rejected, or scored 0 if no rejection is left; a number is the
    highest score it may get. ``min`` holds for all other options, and forbids rejecting them; ``max`` holds for every
    option.
    """

    min: Score | None = None
    max: Score | None = None
    outside: Literal["reject"] | Score | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "ScoreBounds":
        _in_order(self.min, self.max)
        if isinstance(self.outside, int) and self.max is not None and self.outside > self.max:
            raise ValueError(f"outside {self.outside} is above max {self.max}")
        return self


class ReserveBounds(Message):
    """The lowest and the highest reserve.

    Without a reserve any deal is accepted, which is outside if there is a ``min``.
    """

    min: Score | None = None
    max: Score | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "ReserveBounds":
        _in_order(self.min, self.max)
        return self


def _in_order(low: int | None, high: int | None) -> None:
    if low is not None and high is not None and low > high:
        raise ValueError(f"min {low} is above max {high}, which leaves nothing")


class Most(Message):
    """The highest amount, a decimal.

    ``unit`` names attributes and the text that each must have wherever this amount is demanded: ``{currency: EUR}``. An
    amount that is demanded without them is outside.
    """

    max: DecimalText
    unit: dict[Name, Name] = Field(default_factory=dict)


OTHER = "other"


class PromiseBounds(Message):
    """Bounds on what the member promises as debtor.

    ``never_debtor_of`` names events that none of its promises may demand. ``attributes`` is the highest amount of an
    attribute that one promise may demand; with ``other: forbid`` it may demand nothing of any other attribute. ``max``
    is how many promises it may make in one room.

    A promise with ``each`` counts as any number of promises, which neither ``max`` nor an amount allows. With
    ``instances`` it counts as that many if only the member itself reports what opens them; a report that would open one
    more is then not made.
    """

    never_debtor_of: list[Name] = Field(default_factory=list)
    attributes: dict[Name, Most | Literal["forbid"]] = Field(default_factory=dict)
    max: Annotated[int, Field(ge=0)] | None = None
    instances: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _forbids_others(self) -> "PromiseBounds":
        for name, most in self.attributes.items():
            if (name == OTHER) != (most == "forbid"):
                raise ValueError(f"attributes.{name}: an attribute has its max, and `other: forbid` is all the others")
        return self

    @property
    def amounts(self) -> dict[str, Most]:
        """The attributes that may be demanded, with their highest amounts."""
        return {name: most for name, most in self.attributes.items() if isinstance(most, Most)}

    @property
    def only_listed(self) -> bool:
        """Whether nothing may be demanded of attributes that are not listed."""
        return OTHER in self.attributes
