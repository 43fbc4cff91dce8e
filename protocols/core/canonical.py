"""Canonical JSON bytes (RFC 8785) and digests over them.

Everything that is signed, sealed or named by a digest uses these bytes, so that one object has one id everywhere.
Floats are refused: amounts are decimal strings, and integers stay within ±(2^53−1).
"""

import json
import re
from hashlib import sha256
from typing import Any, NoReturn

import rfc8785

JSON = Any
"""A JSON value without floats: ``None``, ``bool``, ``int``, ``str``, ``list`` or ``dict`` with text keys."""

LARGEST_INTEGER = 2**53 - 1
DEEPEST = 32
"""How deep lists and objects may nest: far more than any message needs, far less than any decoder can take."""

_encoder = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)
# `json`'s own `encode` makes a new encoder for every value, which costs more than encoding a small value.
_make_encoder = getattr(json.encoder, "c_make_encoder", None)
_chunks = _make_encoder and _make_encoder(
    None, _encoder.default, json.encoder.encode_basestring, None, ":", ",", True, False, False
)
# RFC 8785 sorts keys by UTF-16, which differs from Python's order only beyond U+DFFF; the escapes are the same.
_BEYOND = re.compile("[\ue000-\U0010ffff]")


def canonical(value: JSON) -> bytes:
    """Return the RFC 8785 bytes of *value*.

    Raises ``ValueError`` for what has no canonical form here: floats, integers beyond ±(2^53−1), lone surrogates.
    """
    try:
        _refuse_unexact(value, DEEPEST)
        return canonical_of_exact(value)
    except UnicodeEncodeError as error:
        raise ValueError("text holds a lone surrogate, which has no UTF-8 form") from error
    except (TypeError, RecursionError, rfc8785.CanonicalizationError) as error:
        raise ValueError(f"no canonical JSON: {error}") from error


def canonical_of_exact(value: JSON) -> bytes:
    """Return the same as `canonical` for a value just decoded from JSON by a decoder that refuses inexact numbers.

    For callers that have decoded the value and checked its depth; raises ``ValueError`` for a lone surrogate.
    """
    text = "".join(_chunks(value, 0)) if _chunks else _encoder.encode(value)
    if not text.isascii() and _BEYOND.search(text):
        return rfc8785.dumps(value)
    return text.encode()


def read_strict(text: str | bytes) -> JSON:
    """Return the JSON value in *text* if it has a canonical form and no object contains a key twice.

    Raises ``ValueError``.
    """
    try:
        value = json.loads(text, parse_float=_no_float, parse_constant=_no_float, object_pairs_hook=_unique)
    except RecursionError as error:
        raise ValueError(f"nested deeper than {DEEPEST}") from error
    canonical(value)
    return value


def read_canonical(text: bytes) -> JSON:
    """Return the JSON value whose canonical bytes are *text*; raise ``ValueError`` for any other bytes."""
    value = read_strict(text)
    if canonical(value) != text:
        raise ValueError("not in canonical form")
    return value


def _no_float(number: str) -> NoReturn:
    raise ValueError(f"{number[:40]} is no integer; a decimal is text")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _refuse_unexact(value: JSON, depth: int) -> None:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return
    if kind is dict or kind is list or kind is tuple:
        if depth == 0:
            raise ValueError(f"no canonical JSON: nested deeper than {DEEPEST}")
        if kind is dict:
            for key in value:
                if type(key) is not str:
                    raise ValueError(f"no canonical JSON: the key {key!r} is not text")
            value = value.values()
        for item in value:
            if type(item) is not str:
                _refuse_unexact(item, depth - 1)
    elif kind is int:
        if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
            raise ValueError(f"no canonical JSON: the integer {value} is beyond ±(2^53−1)")
    else:
        raise ValueError(f"no canonical JSON: {kind.__name__} {value!r}; amounts are decimal strings")


def digest(value: JSON) -> str:
    """Return the SHA-256 of the canonical bytes of *value* as lower-case hex."""
    return sha256(canonical(value)).hexdigest()
