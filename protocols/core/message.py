"""What every message is: a frozen model that refuses unknown fields and never coerces a value."""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from protocols.core.canonical import JSON
from protocols.core.names import check_name

NAME_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]+$"
DECIMAL_PATTERN = r"^-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?$"

Text = Annotated[str, StringConstraints(max_length=20_000)]
"""Text of a member: data for people and models, never interpreted."""
Words = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Title = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=NAME_PATTERN)]
"""A short text on one line that names nothing in the room: a unit, a model, the id of a report."""
Name = Annotated[Line, AfterValidator(check_name)]
"""The name of a member, term, issue, event, commitment or attribute: only characters from the table of names."""
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Key = Annotated[str, StringConstraints(pattern=r"^U[A-Z2-7]{55}$")]
"""A public key in NATS nkey text."""
Base64Url = Annotated[str, StringConstraints(min_length=1, max_length=400_000, pattern=r"^[A-Za-z0-9_-]+$")]
StepId = Annotated[str, StringConstraints(max_length=80, pattern=r"^[a-z]+(\.[a-z0-9]+)+$")]
DecimalText = Annotated[str, StringConstraints(pattern=DECIMAL_PATTERN)]
"""An amount as text; compared as a decimal."""


_BLANK = re.compile("[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*")


def is_blank(text: str) -> bool:
    """Tell whether *text* contains only white space, according to a list of our own."""
    return _BLANK.fullmatch(text) is not None


class Message(BaseModel):
    """Base of all messages: frozen, strict, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    @classmethod
    def read(cls, plain: Any) -> Self:
        """Return the message for *plain* JSON.

        Fields have one spelling there, which sometimes differs from the attribute.
        Raises pydantic's ``ValidationError``.
        """
        return cls.model_validate(plain, by_alias=True, by_name=False)

    def plain(self) -> dict[str, JSON]:
        """Return the message as JSON, without absent fields: the form that is signed."""
        plain: dict[str, Any] = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return plain
