"""What members say in Accord: interpretations, readings of the others', and how they settle a difference."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from protocols.core.canonical import digest
from protocols.core.message import DecimalText, Hex, Line, Message, Name, StepId, Text, Words
from protocols.messages.claims import Cites, Claims

Verdict = Literal["yes", "no", "unsure"]
Judgement = Literal["same", "different", "unsure"]

MOST_CASES = 5


class Bound(Message):
    """A typed bound on one quantity: a range of decimals in a unit, or a closed list of values."""

    min: DecimalText | None = None
    max: DecimalText | None = None
    unit: Line | None = None
    values: Annotated[list[Line], Field(min_length=1, max_length=100)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Bound":
        if self.values is None and self.min is None and self.max is None:
            raise ValueError("a bound needs min, max or values")
        if self.values is not None and (self.min is not None or self.max is not None):
            raise ValueError("a bound is a range (min, max) or a closed list (values), not both")
        return self


class Case(Message):
    """One example and whether the term applies to it; ``values`` may be tested against others' bounds."""

    text: Words
    applies: bool
    values: dict[Name, DecimalText] = Field(default_factory=dict, max_length=20)


class Interpretation(Message):
    """What one member means by one term. There is no field for what the member wants."""

    meaning: Words
    bounds: dict[Name, Bound] = Field(default_factory=dict, max_length=20)
    cases: list[Case] = Field(default_factory=list, max_length=MOST_CASES)

    @model_validator(mode="after")
    def _one_verdict_a_case(self) -> "Interpretation":
        texts = [case.text for case in self.cases]
        if len(set(texts)) != len(texts):
            raise ValueError("two cases have the same text")
        return self


def interpretation_id(term: str, interpretation: Interpretation) -> str:
    """Return the id of *interpretation* as a reading of *term*; equal interpretations have one id."""
    return digest({"term": term, "interpretation": interpretation.plain()})


class Interpretations(Message):
    """The sealed answer of ``accord.meaning``: an interpretation of each term, and the claims cited, by term."""

    interpretations: dict[Name, Interpretation]
    claims: Claims | None = None
    cites: dict[Name, Cites] | None = None


class Readings(Message):
    """The sealed answer of ``accord.reading``, in the order of the sorted (term, case) and (term, meaning)."""

    verdicts: list[Verdict]
    judgements: list[Judgement]


class Settlement(Message):
    """How one member settles its difference on one term: exactly one of adopt, split, rule or keep."""

    adopt: Hex | None = None
    split: dict[Name, Hex] | None = Field(default=None, min_length=2, max_length=10)
    rule: Hex | None = None
    keep: Literal[True] | None = None
    because: Text | None = None
    cites: Cites | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "Settlement":
        if sum(x is not None for x in (self.adopt, self.split, self.rule, self.keep)) != 1:
            raise ValueError("say exactly one of adopt, split, rule or keep")
        if self.adopt is not None and not self.because:
            raise ValueError("adopting another's meaning needs a reason: because")
        return self


class Settle(Message):
    """The body that answers ``accord.settle``: one settlement for each of the member's open terms."""

    kind: Literal["accord.settle"] = "accord.settle"
    step: StepId
    terms: dict[Name, Settlement]
    claims: Claims | None = None
