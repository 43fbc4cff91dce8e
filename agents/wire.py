"""Duties and answers as lines of JSON: what a peer and a command (``agent: exec``) say to each other.

A duty is its own model as JSON, with an ``id``. Every line is answered by one line with that ``id``: an ``answer`` in
the form for the duty's ``act``, or an ``excuse``. Nothing is coerced: unknown fields, floats, numbers written as text,
and duplicate keys are refused. A failure that is *returned* (``{"status": "failed"}``) fits no form, so that it never
passes for an answer.

Two questions precede the first duty: ``manifest`` (what the mind is) and ``nominate`` (which terms it adds).
"""

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar, Union

from pydantic import ConfigDict, Field, StringConstraints, ValidationError, create_model, model_validator
from pydantic.json_schema import models_json_schema

from agents.agent import BadAnswer, Costed, Grounded, Performed, Proposed, Ratified, Scored
from protocols.core.canonical import LARGEST_INTEGER, read_strict
from protocols.core.instants import SECOND, Duration
from protocols.core.message import Message, Name, Text, Words
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Interpretation, Readings, Settlement
from protocols.messages.bodies import first_problem
from protocols.messages.claims import Cites, Claims
from protocols.messages.commitments import COMMITMENT_BODIES
from protocols.messages.concord import Option, Value
from protocols.messages.room import MOST_NOMINATIONS, Manifest

LONGEST_AGAIN_S = 31_536_000
"""The longest time for which a mind may ask to be left alone about promises, in seconds: a year."""

LONGEST_PROBLEM = 400
"""Characters of the problem of an answer: it may quote a whole line, and it appears in a duty and on the record."""

Count = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
Score = Annotated[int, Field(ge=0, le=100)]
SecondsText = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?$")]
_Act: Any = Annotated[Union[COMMITMENT_BODIES], Field(discriminator="kind")]  # noqa: UP007


class ManifestDuty(Duty):
    """Say who you are, before joining. An excuse means that you have nothing to say."""

    act: Literal["manifest"] = "manifest"


class NominateDuty(Duty):
    """Name up to three terms to add to those of the opening. An excuse means none."""

    act: Literal["nominate"] = "nominate"


class Answer(Message):
    """Base of all answers."""

    @abstractmethod
    def given(self) -> Any:
        """Return what the method of `agents.agent.Agent` for this act returns."""


class GroundedAnswer(Answer):
    """Base of the answers that may contain ``claims``, which are stated and sealed with them."""

    claims: Claims | None = None

    @abstractmethod
    def bare(self) -> Any:
        """Return the answer without its claims and citations."""

    def given(self) -> Any:
        """Return the answer, with its claims and citations if it has any."""
        cites = getattr(self, "cites", None)
        if self.claims is None and cites is None:
            return self.bare()
        return Grounded(self.bare(), self.claims or (), cites or ())


class ManifestAnswer(Answer):
    """What the member's manifest says about this mind."""

    manifest: Manifest

    def given(self) -> Manifest:
        """Return the manifest."""
        return self.manifest


class NominateAnswer(Answer):
    """The terms to add."""

    nominates: Annotated[list[Name], Field(max_length=MOST_NOMINATIONS)]

    def given(self) -> list[str]:
        """Return the terms."""
        return self.nominates


class InterpretAnswer(GroundedAnswer):
    """What each term means; a missing one is recorded as missing. ``cites`` are claims by term."""

    interpretations: dict[Name, Interpretation]
    cites: dict[Name, Cites] | None = None

    def bare(self) -> dict[str, Interpretation]:
        """Return the interpretations by term."""
        return self.interpretations


class ReadAnswer(Readings, Answer):
    """One verdict for each of the duty's ``cases`` and one judgement for each of its ``meanings``, in their order."""

    def given(self) -> Readings:
        """Return the readings."""
        return Readings(verdicts=self.verdicts, judgements=self.judgements)


class SettleAnswer(GroundedAnswer):
    """One settlement for each of the duty's ``terms``."""

    terms: dict[Name, Settlement]

    def bare(self) -> dict[str, Settlement]:
        """Return the settlements by term."""
        return self.terms


class QuoteAnswer(Answer):
    """The values allowed for each of the duty's ``issues``, the standard first."""

    values: dict[Name, Annotated[list[Value], Field(min_length=1, max_length=1000)]]

    def given(self) -> dict[str, list[Value]]:
        """Return the values by issue."""
        return self.values


class ProposeAnswer(GroundedAnswer):
    """An option, and the score below which no deal is better (default: any deal will do)."""

    option: Option
    reserve: Score | None = None
    cites: Cites | None = None

    def bare(self) -> Proposed:
        """Return the proposal."""
        return Proposed(self.option, self.reserve)


class ScoreAnswer(GroundedAnswer):
    """A score or a reasoned rejection for each of the duty's ``options``, by option id.

    Reasons for scores, and claims on which they rest (``cites``), are optional.
    """

    scores: dict[str, Score]
    rejects: dict[str, Words] = Field(default_factory=dict)
    reasons: dict[str, Text] = Field(default_factory=dict)
    cites: dict[str, Cites] | None = None

    def bare(self) -> Scored:
        """Return the ballot."""
        return Scored(self.scores, self.rejects, self.reasons)


class ImproveAnswer(GroundedAnswer):
    """An option that is better than the standing one, or ``"pass": true``."""

    model_config = ConfigDict(populate_by_name=False)

    option: Option | None = None
    passes: Literal[True] | None = Field(default=None, alias="pass")
    cites: Cites | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "ImproveAnswer":
        if (self.option is None) == (self.passes is None):
            raise ValueError('give either an option, or "pass": true')
        return self

    def bare(self) -> Option | None:
        """Return the option; None passes."""
        return self.option


class RatifyAnswer(GroundedAnswer):
    """Whether the member signs the outcome; a refusal says why."""

    accept: bool
    because: Words | None = None
    cites: Cites | None = None

    @model_validator(mode="after")
    def _declines_with_a_reason(self) -> "RatifyAnswer":
        if not self.accept and self.because is None:
            raise ValueError("declining the outcome needs a reason: because")
        return self

    def bare(self) -> Ratified:
        """Return the decision."""
        return Ratified(self.accept, self.because)


class PerformAnswer(Answer):
    """What to say about promises now, as bodies of entries (``{"kind": "event.report", …}``), in order.

    ``again_in_seconds`` asks for the duty again after that time, even if nothing changes: an integer, or decimal text.
    """

    acts: list[_Act]
    again_in_seconds: Annotated[int, Field(ge=0, le=LONGEST_AGAIN_S)] | SecondsText | None = None

    @model_validator(mode="after")
    def _not_too_long(self) -> "PerformAnswer":
        if self.again_in_seconds is not None and Decimal(self.again_in_seconds) > LONGEST_AGAIN_S:
            raise ValueError(f"again_in_seconds: at most {LONGEST_AGAIN_S}, a year")
        return self

    def given(self) -> Performed:
        """Return the acts, and the wait in whole microseconds."""
        wait = self.again_in_seconds
        return Performed(self.acts, None if wait is None else Duration(int(Decimal(wait) * SECOND)))


class Cost(Message):
    """What an answer or an excuse cost; the entry that says it carries the cost."""

    tokens_in: Count = 0
    tokens_out: Count = 0
    calls: Count = 0
    model: Annotated[str, StringConstraints(max_length=200)] | None = None
    seconds: SecondsText | None = None


A = TypeVar("A", bound=Answer)


class Line(Message, Generic[A]):
    """One line of a command: the answer to the duty with this id, or the reason why there is none."""

    id: Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
    answer: A | None = None
    excuse: Words | None = None
    cost: Cost | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "Line[A]":
        if (self.answer is None) == (self.excuse is None):
            raise ValueError("give either an answer or an excuse")
        return self


DUTIES: Mapping[str, type[Duty]] = {
    duty.model_fields["act"].default: duty
    for duty in (
        ManifestDuty,
        NominateDuty,
        InterpretDuty,
        ReadDuty,
        SettleDuty,
        QuoteDuty,
        ProposeDuty,
        ScoreDuty,
        ImproveDuty,
        RatifyDuty,
        PerformDuty,
    )
}
"""Every duty that a command may be asked, by act."""

ANSWERS: Mapping[str, type[Answer]] = {
    "manifest": ManifestAnswer,
    "nominate": NominateAnswer,
    "interpret": InterpretAnswer,
    "read": ReadAnswer,
    "settle": SettleAnswer,
    "quote": QuoteAnswer,
    "propose": ProposeAnswer,
    "score": ScoreAnswer,
    "improve": ImproveAnswer,
    "ratify": RatifyAnswer,
    "perform": PerformAnswer,
}
"""The form of the answer to each act."""

_LINES: dict[str, Any] = {act: Line[answer] for act, answer in ANSWERS.items()}  # type: ignore[valid-type]


class BadLine(ValueError):
    """A line that is not a reply to the question: not strict JSON, not an object, or with another id."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in the form in which an agent gives it: what its method returns (None may be an answer), or an excuse."""

    given: Any = None
    excuse: str | None = None
    cost: Cost | None = None

    def answer(self) -> Any:
        """Return the answer, with its cost if it has one."""
        return self.given if self.cost is None else Costed(self.given, **self.cost.model_dump())


def duty_json(duty: Duty, number: int) -> str:
    """Return *duty* as one line of ASCII JSON without its end, with *number* as its ``id``; the briefing comes last.

    Absent values are ``null``; in the table of an improvement, ``null`` is a rejection.
    """
    plain = {"id": number, **duty.model_dump(mode="json", by_alias=True)}
    plain["briefing"] = plain.pop("briefing")
    return json.dumps(plain, separators=(",", ":"))


def parse_answer(act: str, raw: bytes | str, number: int) -> Reply:
    """Return the reply in the line *raw* to the duty *act* with the id *number*.

    Raises `BadLine` for a line that is not a reply to that duty, and `BadAnswer` if its content does not fit the act's
    form.
    """
    plain = _strict(raw)
    if not isinstance(plain, dict):
        raise BadLine(f"expected a JSON object with id and answer or excuse, found {_brief(raw)}")
    found = plain.get("id")
    if type(found) is not int or found != number:
        raise BadLine(f"expected the id {number}, found {_brief(json.dumps(found))}")
    try:
        line = _LINES[act].model_validate(plain)
    except ValidationError as error:
        raise BadAnswer(_brief(first_problem(error), LONGEST_PROBLEM)) from None
    given = None if line.answer is None else line.answer.given()
    return Reply(given, line.excuse, line.cost)


def _strict(raw: bytes | str) -> Any:
    try:
        return read_strict(raw.decode() if isinstance(raw, bytes) else raw)
    except ValueError as error:
        raise BadLine(f"no strict JSON ({_brief(str(error), 120)}): {_brief(raw)}") from None


def _brief(said: bytes | str, longest: int = 80) -> str:
    text = said[: 4 * longest].decode("utf-8", "backslashreplace") if isinstance(said, bytes) else said
    return text if len(text) <= longest else text[:longest] + "…"


def schema() -> dict[str, Any]:
    """Return one JSON Schema for both directions: a line is a duty (to the command) or a reply (from it).

    ``$defs`` has one form of each for every act: ``ScoreDuty`` and ``ScoreReply``, and so on.
    """
    number: Any = (Annotated[int, Field(ge=1, le=LARGEST_INTEGER)], ...)
    duties = [create_model(duty.__name__, __base__=duty, __doc__=duty.__doc__, id=number) for duty in DUTIES.values()]
    replies = [
        create_model(
            f"{act.capitalize()}Reply",
            __base__=Message,
            __doc__=f"The answer to {act}, under the duty's id.",
            id=number,
            answer=(form, ...),
            cost=(Cost | None, None),
        )
        for act, form in ANSWERS.items()
    ]
    excuse = create_model(
        "Excuse",
        __base__=Message,
        __doc__="Why there is no answer; possible for every act.",
        id=number,
        excuse=(Words, ...),
        cost=(Cost | None, None),
    )
    models: Any = [(model, "validation") for model in (*duties, *replies, excuse)]
    places, definitions = models_json_schema(models, by_alias=True)

    def one_of(chosen: list[Any]) -> dict[str, Any]:
        return {"anyOf": [places[model, "validation"] for model in chosen]}

    defs = {
        **definitions["$defs"],
        "Duty": {"description": "To the command: one line, answered by one line.", **one_of(duties)},
        "Reply": {"description": "From the command: one line for each duty.", **one_of([*replies, excuse])},
    }
    for duty in duties:
        defs[duty.__name__]["required"] = sorted({"act", *defs[duty.__name__]["required"]})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The lines between a peer and a command (agent: exec)",
        "oneOf": [{"$ref": "#/$defs/Duty"}, {"$ref": "#/$defs/Reply"}],
        "$defs": _closed(defs),
    }


def _closed(form: Any) -> Any:
    """Return *form*, changed to refuse keys that its patterns do not name, as the models do."""
    if isinstance(form, list):
        return [_closed(item) for item in form]
    if not isinstance(form, dict):
        return form
    closed = {key: _closed(item) for key, item in form.items()}
    return closed | {"additionalProperties": False} if "patternProperties" in closed else closed
