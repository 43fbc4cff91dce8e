"""The tools: their arguments, one frozen model for each, and what a client's model is told about them.

The arguments of an answer are the answer's own model (`agents/wire.py`), plus the place to which it belongs. Nothing is
coerced and unknown fields are refused, as everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union

from pydantic import Field, StringConstraints, ValidationError

from agents.wire import (
    Cost,
    GroundedAnswer,
    InterpretAnswer,
    ProposeAnswer,
    QuoteAnswer,
    RatifyAnswer,
    ReadAnswer,
    ScoreAnswer,
    SettleAnswer,
)
from protocols.core.canonical import canonical
from protocols.core.message import Line, Message, Name, StepId, Text, Words
from protocols.messages.claims import Cites
from protocols.messages.commitments import (
    COMMITMENT_BODIES,
    MOST_ATTRIBUTES,
    ConfirmReport,
    DisputeReport,
    ReportEvent,
)
from protocols.messages.concord import Option
from protocols.messages.room import MOST_NOMINATIONS

LONGEST_WAIT_S = 300
USUAL_WAIT_S = 20
"""Well below the minute after which many clients give up on a call."""
MOST_PROBLEMS = 5

RoomName = Annotated[str, StringConstraints(max_length=100), Field(description="The room's full name.")]
Step = Annotated[StepId, Field(description="The step that the duty names; an answer counts for no other.")]
OTHER_ACTS = tuple(b for b in COMMITMENT_BODIES if b not in (ReportEvent, ConfirmReport, DisputeReport))
_OtherAct: Any = Annotated[Union[OTHER_ACTS], Field(discriminator="kind")]  # noqa: UP007


class Arguments(Message):
    """Base of all arguments."""


class InRoom(Arguments):
    """What belongs to a room."""

    room: RoomName


class Costing(Arguments):
    """What may say what coming to it took: the entry that says it carries that."""

    cost: Cost | None = Field(default=None, description="What coming to this took: counts, and the model's name.")

    def taken(self) -> Mapping[str, Any] | None:
        """Return the cost in the form in which an answer carries it."""
        return None if self.cost is None else self.cost.model_dump()


class Answering(InRoom, Costing):
    """What answers the duty of one step."""

    step: Step


class RoomsArguments(Arguments):
    """Nothing."""


class WaitArguments(Arguments):
    """How long to wait at most."""

    seconds: Annotated[int, Field(ge=0, le=LONGEST_WAIT_S)] = USUAL_WAIT_S


class DutiesArguments(Arguments):
    """Of which room, and whether with what the room has said so far."""

    room: RoomName | None = None
    briefing: bool = True


class JoinArguments(InRoom, Costing):
    """Who joins, and the terms that it adds."""

    model: Line | None = Field(default=None, description="The name of the model that will answer, for the others.")
    nominates: Annotated[list[Name], Field(max_length=MOST_NOMINATIONS)] = Field(default_factory=list)


class DeclineArguments(InRoom, Costing):
    """Why the room is not joined."""

    because: Words


class InterpretArguments(Answering, InterpretAnswer):
    """What each term means."""


class ReadArguments(Answering, ReadAnswer):
    """Verdicts and judgements, in the order of the duty's lists."""


class SettleArguments(Answering, SettleAnswer):
    """One settlement for each term."""


class QuoteArguments(Answering, QuoteAnswer):
    """The values allowed, the standard first."""


class ProposeArguments(Answering, ProposeAnswer):
    """An option and a reserve."""


class ScoreArguments(Answering, ScoreAnswer):
    """A ballot."""


class ImproveArguments(Answering, GroundedAnswer):
    """A better option."""

    option: Option
    cites: Cites | None = None

    def bare(self) -> Option:
        """Return the option."""
        return self.option


class PassArguments(Answering):
    """No better option."""


class RatifyArguments(Answering, RatifyAnswer):
    """Whether the outcome is signed."""


class ExcuseArguments(Answering):
    """Why a step is not answered."""

    because: Words


class LeaveArguments(InRoom):
    """Why the room is left."""

    because: Words


class ReportArguments(InRoom, Costing):
    """An event and its attributes."""

    event: Name
    attributes: dict[Name, Text] = Field(default_factory=dict, max_length=MOST_ATTRIBUTES)


class OnReport(InRoom, Costing):
    """The report's id, and a reason."""

    report: Line
    because: Words | None = None


class ActArguments(InRoom, Costing):
    """One act on a promise or a report."""

    act: _OtherAct


class ExplainArguments(Arguments):
    """What to explain, and in which room."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    room: RoomName | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """One tool: its arguments, its description, and whether it changes nothing."""

    arguments: type[Arguments]
    text: str
    reads: bool = False


_ANSWERED = (
    " Returns what became of it: said (its position in the room's log), or sent_back with the problem (answer once "
    "more; a second failure becomes an excuse), or too_late."
)
_SEALED = " The answer is sealed: the others see it once everybody has answered."

FORMS: Mapping[str, Form] = {
    "rooms": Form(
        RoomsArguments,
        "List your rooms: name, intent, the open step, what it wants of you and the seconds left, or how it ended.",
        reads=True,
    ),
    "wait": Form(
        WaitArguments,
        f"Wait until something is wanted of you, at most `seconds` (0–{LONGEST_WAIT_S}, {USUAL_WAIT_S} if left out). "
        "Returns at once if a duty is open. `news` holds what else happened since the last wait: reports to confirm, "
        "promises that changed, rooms that ended. Nothing new is an empty result: wait again.",
        reads=True,
    ),
    "duties": Form(
        DutiesArguments,
        "List what you still owe, in one room or in all: act, step, seconds left, the tools that answer it, and its "
        "content; with `briefing` (default) also what the room has said so far. What you have done is not listed.",
        reads=True,
    ),
    "join": Form(
        JoinArguments,
        "Join a room that you are invited to: this signs its opening, with its rules and the promises that it lists "
        "for you. Read the briefing of its join duty first. `nominates` adds up to three terms to be interpreted."
        + _ANSWERED,
    ),
    "decline": Form(
        DeclineArguments, "Refuse to join a room, with the reason, which everybody can read. Final." + _ANSWERED
    ),
    "interpret": Form(
        InterpretArguments,
        "Say what each term of the duty means: in words, with bounds on quantities (min and max are decimals as text) "
        "and up to five cases with your verdict. Say what a term means, not what you want." + _SEALED + _ANSWERED,
    ),
    "read": Form(
        ReadArguments,
        "Judge what the others meant: one verdict (yes, no, unsure) for each of the duty's cases, one judgement (same, "
        "different, unsure) for each of its meanings, as lists in the duty's order." + _SEALED + _ANSWERED,
    ),
    "settle": Form(
        SettleArguments,
        "Settle each term on which you differ: adopt a meaning by its id with a reason, split it into named senses, "
        "keep your own (keep: true), or rule where you have authority." + _ANSWERED,
    ),
    "quote": Form(
        QuoteArguments,
        "Say which values you allow for each issue that is yours to decide, the standard first." + _ANSWERED,
    ),
    "propose": Form(
        ProposeArguments,
        "Propose one option: a title, a value for every issue not under another's authority, why, and the promises it "
        "would create. `reserve` is the score (0–100) below which you would rather have no deal; left out, any deal "
        "will do." + _SEALED + _ANSWERED,
    ),
    "score": Form(
        ScoreArguments,
        "Score every option of the duty by its id with an integer 0–100, or reject it with a reason (a veto, as many "
        "as the duty's rejects_left); an id is in `scores` or in `rejects`." + _SEALED + _ANSWERED,
    ),
    "improve": Form(ImproveArguments, "Propose an option that lifts the standing one for those worst off." + _ANSWERED),
    "pass": Form(PassArguments, "Pass on improving the standing option; this holds while it stands." + _ANSWERED),
    "ratify": Form(
        RatifyArguments,
        "Sign the outcome (accept: true), which binds you to its promises, or decline with a reason. Final."
        + _ANSWERED,
    ),
    "excuse": Form(
        ExcuseArguments,
        "Excuse yourself from the step, with a reason that everybody can read; nobody waits for you there." + _ANSWERED,
    ),
    "leave": Form(
        LeaveArguments,
        "Leave a room, with the reason. Before agreement this is to decline it; your promises stay. Final.",
    ),
    "report": Form(
        ReportArguments,
        "Report that an event of the room happened now; attributes are text, decimals too. Only who may report an "
        "event can, and promises move by it. Returns what became of it.",
    ),
    "confirm": Form(OnReport, "Confirm a report by its id: what it says happened. Final. Returns what became of it."),
    "dispute": Form(OnReport, "Dispute a report by its id: what it says did not happen. Returns what became of it."),
    "act": Form(
        ActArguments,
        "Do something else about promises: create, cancel, release, waive, delegate, accept, assign, suspend or resume "
        "a commitment, or decide a disputed report. What the rules would refuse is not said. Returns what became of "
        "it.",
    ),
    "status": Form(
        InRoom,
        "Show how a room stands: its step and who is awaited, the decision, differences of meaning, and every promise "
        "with its state, debtor and creditor.",
        reads=True,
    ),
    "explain": Form(
        ExplainArguments,
        "Explain a word of ours (the code of a finding, a promise's state) and, with `room`, how a commitment, a "
        "member or the record at a position stands there and what made it so.",
        reads=True,
    ),
}
"""Every tool, in the order in which they are listed."""


class WrongArguments(ValueError):
    """Arguments that do not fit their tool; the text says where, and what the tool takes."""


def read_arguments(tool: str, given: Mapping[str, Any] | None) -> Arguments:
    """Return the arguments of *tool*; raise `WrongArguments`."""
    model = FORMS[tool].arguments
    plain = dict(given or {})
    try:
        arguments = model.model_validate(plain)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        more = len(problems) - MOST_PROBLEMS
        told = "; ".join(problems[:MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        raise WrongArguments(f"{told}. {tool} takes: {_takes(model)}") from None
    try:
        canonical(plain)
    except (ValueError, RecursionError) as error:
        raise WrongArguments(f"what cannot be signed: {error}") from None
    return arguments


def _takes(model: type[Arguments]) -> str:
    names = [
        field.alias or name if field.is_required() else f"{field.alias or name} (optional)"
        for name, field in model.model_fields.items()
    ]
    return ", ".join(names) or "nothing"


def input_schema(tool: str) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of *tool*, without titles that only repeat names."""
    schema: dict[str, Any] = _untitled(FORMS[tool].arguments.model_json_schema(by_alias=True))
    return schema


def _untitled(form: Any) -> Any:
    if isinstance(form, list):
        return [_untitled(item) for item in form]
    if not isinstance(form, dict):
        return form
    return {key: _untitled(item) for key, item in form.items() if key != "title" or not isinstance(item, str)}
