"""What passes between a mind and a language model: data that cannot be taken for instructions, and strict answers.

Everything that other members wrote reaches a model as JSON between two lines that contain a marker. The marker is drawn
anew for every request and does not occur in the data, so no text can close its fence. The data contains no invisible
characters (control characters, and characters that change the direction of writing, or join or hide others) and no
``<``, with which the special tokens of many models begin: all of these are written as JSON escapes.

Answers are read strictly: no floats, no duplicate keys, nothing around the object.
"""

import json
import secrets
from typing import Any

from protocols.core.canonical import canonical, read_strict

LONGEST_QUOTE = 2_000
"""Characters of an unusable answer that are sent back together with what was wrong with it."""


class NotRead(ValueError):
    """The model's answer is not a JSON object of ours; the text says why, for the model."""


def fenced(data: Any) -> str:
    """Return *data* as JSON between two lines with a marker that does not occur in it."""
    text = _shown(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    marker = secrets.token_hex(16)
    while marker in text:
        marker = secrets.token_hex(16)
    return f"<data {marker}>\n{text}\n</data {marker}>"


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() and c != "<" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in *text*; raise `NotRead` for anything else, and for numbers that are not integers."""
    try:
        plain = read_strict(text)
    except ValueError as error:
        raise NotRead(f"no strict JSON: {error}"[:200]) from None
    return as_object(plain)


def as_object(plain: Any) -> dict[str, Any]:
    """Return *plain*, decoded elsewhere, if `read_object` could have returned it; otherwise raise `NotRead`."""
    if not isinstance(plain, dict):
        raise NotRead(f"a JSON object is expected, not {json.dumps(plain)[:40]}")
    try:
        canonical(plain)
    except ValueError as error:
        raise NotRead(str(error)[:200]) from None
    return plain
