"""Every kind of body that an entry may carry, in one table."""

from typing import Annotated, Any, Union

from pydantic import Field, TypeAdapter, ValidationError

from protocols.core.message import Message
from protocols.messages.accord import Settle
from protocols.messages.commitments import COMMITMENT_BODIES
from protocols.messages.concord import Improve, Pass, Quote, Ratify
from protocols.messages.room import Close, Decline, Excuse, Join, Leave, Reveal, RoomOpen, Seal, Tick, Witness

ROOM_BODIES: tuple[type[Message], ...] = (RoomOpen, Join, Decline, Excuse, Leave, Tick, Close, Witness, Seal, Reveal)
BODIES: tuple[type[Message], ...] = (*ROOM_BODIES, Settle, Quote, Improve, Pass, Ratify, *COMMITMENT_BODIES)
KINDS: dict[str, type[Message]] = {body.model_fields["kind"].default: body for body in BODIES}

_union: Any = Annotated[Union[BODIES], Field(discriminator="kind")]  # noqa: UP007
_adapter: TypeAdapter[Any] = TypeAdapter(_union)


def kind_of(body: Message) -> str:
    """Return the ``kind`` of a body."""
    kind: str = getattr(body, "kind")  # noqa: B009 - the base class does not declare it
    return kind


def parse_body(plain: dict[str, Any]) -> Message:
    """Return the model of a body, or raise ``ValueError`` naming the field and what is valid."""
    try:
        body: Message = _adapter.validate_python(plain, by_alias=True, by_name=False)
        return body
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None


def first_problem(error: ValidationError) -> str:
    """Say the first problem of a failed validation in one line: the place, then what is wrong."""
    problem = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in problem["loc"] if part not in KINDS)
    message = problem["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
