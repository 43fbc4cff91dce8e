"""Names that people could confuse are refused when a room opens; a member's identity is its key."""

import re
import unicodedata
from collections.abc import Sequence

from confusable_homoglyphs.confusables import confusables_data

from swarm.text import is_invisible

_MARKS_OF_DIRECTION = "\u200e\u200f"
_DOT_ON_DOT = re.compile("([ijl])\u0307+")
"""A combining dot over a letter that already has a dot, or nearly, is invisible. The tables lack this, and the dotless
j.
"""


def check_names(names: Sequence[str]) -> None:
    """Raise ``ValueError`` if one of *names* contains invisible characters or looks like another.

    Two names look alike if fonts show them alike (the skeletons of Unicode's UTS 39, with ``1`` and ``l``, ``0`` and
    ``O``, ``rn`` and ``m`` among them), in their own case or in lower case.
    """
    known: dict[tuple[str, str], int] = {}
    for place, name in enumerate(names):
        if not name or name != name.strip() or any(character != " " and is_invisible(character) for character in name):
            raise ValueError(f"the name {name!r} holds characters that cannot be seen")
        for skeleton in (("as written", _skeleton(name)), ("lower case", _skeleton(name.casefold()).casefold())):
            other = known.setdefault(skeleton, place)
            if other != place:
                raise ValueError(f"the names {names[other]!r} and {name!r} look alike")


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", name))
    alike = unicodedata.normalize("NFD", " ".join("".join(map(_prototype, plain)).split()))
    return _DOT_ON_DOT.sub(r"\1", alike.replace("\u0237", "j"))


def _prototype(character: str) -> str:
    """Return the character that *character* can be taken for; it is the same for all characters that look alike."""
    alike = _alike(character)
    if len(alike) != 1:
        # Either None, or *character* is a prototype itself: it lists all characters that look like it.
        return character
    other = alike[0].strip(_MARKS_OF_DIRECTION)
    # If two characters list only each other, either may be the prototype; a sequence always is.
    both_may = len(other) == 1 and len(_alike(other)) == 1
    return min(character, other) if both_may else other


def _alike(text: str) -> list[str]:
    return [found["c"] for found in confusables_data.get(text, ())]
