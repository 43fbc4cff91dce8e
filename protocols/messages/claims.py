"""Claims: what a member says is true, and where it has that from.

Claims are part of the answers that they support, and are sealed with them. A claim is *observed* by its author,
*derived* from other claims, or *heard* from somebody. An answer *cites* claims of any member.

A reference to a claim is its id, ``member:label``, or, for one's own claim, the label alone. In the same place, a heard
claim may also name the source it was heard from: a member or anybody else.
"""

import re
from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from protocols.core.canonical import digest
from protocols.core.message import NAME_PATTERN, Message, Words

MOST_CLAIMS = 20
"""How many claims one answer may state, and how many references one claim or citation may hold: as many as a reader can
follow.
"""

ID = re.compile(r"[0-9a-f]{64}")
Source = Literal["observed", "derived", "heard"]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
"""A member's name for its own claim; never mistaken for an id, which is longer, nor for a ``member:label``."""
Reference = Annotated[str, StringConstraints(min_length=1, max_length=121, pattern=NAME_PATTERN)]
Cites = Annotated[list[Reference], Field(min_length=1, max_length=MOST_CLAIMS)]


class Claim(Message):
    """One claim. ``from`` names the claims that a derived claim rests on, or the source of a heard one."""

    id: Label | None = None
    text: Words
    source: Source
    origin: Cites | None = Field(default=None, alias="from")

    @model_validator(mode="after")
    def _rests_on_what_its_source_says(self) -> "Claim":
        if self.source == "observed" and self.origin is not None:
            raise ValueError("an observed claim rests on nobody's word: leave from out, or say derived or heard")
        if self.source != "observed" and self.origin is None:
            raise ValueError(f"a {self.source} claim says what it is {self.source} from: from")
        if self.origin is not None and len(set(self.origin)) < len(self.origin):
            raise ValueError("from: one reference stands twice")
        return self


Claims = Annotated[list[Claim], Field(min_length=1, max_length=MOST_CLAIMS)]


def claim_id(room: str, key: str, claim: Claim, origin: Collection[str]) -> str:
    """Return the id of *claim* by the member with public key *key*; *origin* are the ids and names that it rests on.

    The label is not part of it: one claim under two labels is one claim.
    """
    said = {"text": claim.text, "source": claim.source, "from": sorted(origin)}
    return digest({"room": room, "author": key, **said})
