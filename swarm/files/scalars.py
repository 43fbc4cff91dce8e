"""Scalars in our files: no value is rounded, repaired or guessed.

Whole numbers become ``int``; numbers with a fraction or an exponent become ``Decimal``, so floats never occur. A number
that JSON cannot represent (NaN, the infinities, 1e999, an integer of 5,000 digits) becomes `UnheldNumber`, so that the
rule for its place can refuse it there. Anything that YAML 1.2's core schema does not call null, a boolean or a number
is text, including ``no``, ``12:30`` and ``2026-01-01T00:00:00Z``.
"""

import re
import sys
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import BeforeValidator, StringConstraints, WithJsonSchema

LONGEST_NUMBER = 400
"""Characters of a number. The largest double has 309 digits; longer literals are noise, or an attack on the parser."""

LARGEST_EXPONENT = 400
"""Larger decimal exponents overflow or vanish in a double, and would be written out with that many zeros."""

NOT_A_NUMBER = "a number that JSON cannot hold"

_PLAIN_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FRACTION = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_UNHELD = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True, slots=True)
class UnheldNumber:
    """A number that JSON cannot represent, as it was written; ``integer`` if only its size is wrong."""

    text: str
    integer: bool = False

    def __str__(self) -> str:
        return self.text if len(self.text) <= 24 else f"{self.text[:12]}… ({len(self.text)} characters)"


Scalar = None | bool | int | Decimal | str | UnheldNumber


def read_integer(text: str) -> int | UnheldNumber:
    """Read decimal digits with an optional sign."""
    return int(text) if len(text) <= LONGEST_NUMBER and _fits(float(text)) else UnheldNumber(text, integer=True)


def read_fraction(text: str) -> Decimal | UnheldNumber:
    """Read a number with a fraction or an exponent, digit for digit."""
    if len(text) > LONGEST_NUMBER:
        return UnheldNumber(text)
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent that even decimals cannot represent
        return UnheldNumber(text)
    return number if hold_decimal(number) else UnheldNumber(text)


def hold_decimal(number: Decimal) -> bool:
    """Return whether JSON can represent *number*: it is finite and within the range of a double."""
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and abs(exponent) <= LARGEST_EXPONENT and _fits(float(number))


def _fits(double: float) -> bool:
    return abs(double) <= sys.float_info.max


def read_plain(text: str) -> Scalar:
    """Resolve an unquoted YAML scalar by the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return read_integer(text)
    if _FRACTION.fullmatch(text):
        return read_fraction(text)
    for form, base in ((_OCTAL, 8), (_HEXADECIMAL, 16)):
        if form.fullmatch(text):
            return int(text, base) if len(text) <= 64 else UnheldNumber(text, integer=True)
    return UnheldNumber(text) if _UNHELD.fullmatch(text) else text


def write_decimal(number: Decimal) -> str:
    """Write *number* without an exponent and with its digits kept: ``1.50`` stays ``1.50``, ``2E+3`` is ``2000``."""
    return format(number, "f")


def _decimal_text(value: Any) -> Any:
    if isinstance(value, Decimal) and hold_decimal(value):
        value = write_decimal(value)
    elif type(value) is int:
        value = str(value)
    if isinstance(value, str) and len(value) <= LONGEST_NUMBER and _PLAIN_DECIMAL.fullmatch(value):
        return value
    raise ValueError(f"expected a decimal such as 12 or 12.50, found {describe(value)}")


def _value_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal) and hold_decimal(value):
        return write_decimal(value)
    if isinstance(value, str):
        return value
    raise ValueError(f"expected text or a number, found {describe(value)}")


DecimalText = Annotated[
    str,
    BeforeValidator(_decimal_text),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": rf"^{_PLAIN_DECIMAL.pattern}$"}]}),
]
"""A decimal as text: given as a number or as text, kept digit for digit, never a float."""

ValueText = Annotated[
    str,
    BeforeValidator(_value_text),
    StringConstraints(min_length=1, max_length=200),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
"""One of an issue's values, or another scalar that is named by its text: ``10``, ``1.50``, ``same-day``, ``true``."""


def quote(text: str, limit: int = 60) -> str:
    """Show foreign text on one line: quoted, cut to *limit*, with everything unprintable as a visible escape."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def describe(value: Any) -> str:
    """Describe *value* for messages: ``text '85'``, ``the number 0.8``, ``a list``, ``nothing``."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, str):
        return f"text {quote(value)}" if value else "empty text"
    if isinstance(value, UnheldNumber):
        return f"{value}, {NOT_A_NUMBER}"
    if isinstance(value, int | Decimal):
        digits = str(value) if isinstance(value, Decimal) or abs(value) < 10**24 else f"one of {len(str(value))} digits"
        return f"the number {digits}"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else f"a {type(value).__name__}"
