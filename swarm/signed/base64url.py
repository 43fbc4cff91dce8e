"""Base64url without padding, in which every byte string has exactly one text.

The library's decoder skips characters outside the alphabet and ignores the spare bits of the last character, so that
many texts mean the same bytes. Here, a changed text is a changed value.
"""

import base64
import re

_ALPHABET = re.compile(r"[A-Za-z0-9_-]*")


def encode(raw: bytes) -> str:
    """Return the only text for *raw*."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Return the bytes of *text*; raise ``ValueError`` if it is not the canonical text of any."""
    if _ALPHABET.fullmatch(text) is None:
        raise ValueError("not base64url: only A–Z, a–z, 0–9, _ and -")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encode(raw) != text:
        raise ValueError("not base64url: the last character has bits to spare that are not zero")
    return raw
