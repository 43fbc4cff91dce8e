"""Sealing: a member commits to an answer by its digest, and keeps it on the log in a box that only the member can open.

To prevent members from copying each other, an answer is sealed first and revealed when all have sealed. The box
contains the answer, encrypted to its own author, so that any restarted process of that member finds it on the log
itself. It is padded to one of four sizes; the smallest is enough for all but extraordinary answers. Everybody sees
which size it is, and nothing else of the answer's length.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from protocols.core.canonical import canonical
from protocols.messages.room import seal_digest
from swarm.errors import BadEntry
from swarm.signed import base64url
from swarm.signed.identity import Identity

INFO = b"swarm/box/1"
SIZES = (4_096, 16_384, 65_536, 131_072)
"""The sizes to which a box is padded, in bytes; the last is the largest that an entry can hold (docs/adr/0018)."""
SEAL_NONCE_BYTES = 32
NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed answer: what its `seal` says, and what its `reveal` will say. ``secret`` stays with the author."""

    digest: str
    box: str
    nonce: str
    content: dict[str, Any]
    secret: dict[str, Any] | None


def seal(
    identity: Identity,
    room: str,
    step: str,
    content: dict[str, Any],
    secret: dict[str, Any] | None = None,
    *,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> Sealed:
    """Seal *content* for the sealing step *step*; *secret* goes into the box and is never revealed with the content.

    *random_bytes* gives the seal's 32 bytes, then the box's 12; only test vectors replace the random source.
    """
    nonce = random_bytes(SEAL_NONCE_BYTES).hex()
    digest = seal_digest(room, identity.public, step, nonce, content)
    plain = canonical({"nonce": nonce, "content": content, "secret": secret})
    start = random_bytes(NONCE_BYTES)
    padded = plain.ljust(size_class(len(plain)), b"\0")
    hidden = AESGCM(_key(identity, room, step)).encrypt(start, padded, digest.encode())
    return Sealed(digest, base64url.encode(start + hidden), nonce, content, secret)


def size_class(length: int) -> int:
    """Return the padded size for *length* bytes: the next of `SIZES`.

    If none is large enough, the entry is too large.
    """
    return next((size for size in SIZES if size >= length), length)


def open_box(identity: Identity, room: str, step: str, digest: str, box: str) -> Sealed:
    """Open this member's own *box* of the sealing step *step*.

    Raises `BadEntry` ``box_unreadable`` if it is not its own.
    """
    try:
        raw = base64url.decode(box)
        plain = AESGCM(_key(identity, room, step)).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], digest.encode())
        held = json.loads(plain.rstrip(b"\0"))
        return Sealed(digest, box, held["nonce"], held["content"], held["secret"])
    except (InvalidTag, ValueError, KeyError, TypeError) as error:
        raise BadEntry("box_unreadable", f"the box of {step} does not open with this key") from error


def _key(identity: Identity, room: str, step: str) -> bytes:
    return identity.derive(b"\0".join([INFO, room.encode(), identity.public.encode(), step.encode()]))
