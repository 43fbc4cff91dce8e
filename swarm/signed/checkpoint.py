"""Checkpoints: a signature, by a member or an exporter, under how far a room's log goes and its head there."""

import re
from dataclasses import dataclass
from typing import Any

from protocols.core.canonical import canonical
from swarm.errors import BadEntry
from swarm.signed import base64url
from swarm.signed.identity import NO_KEY, Identity, is_public_key, verify

DOMAIN = b"swarm/checkpoint/1"
_HEX = re.compile(r"[0-9a-f]{64}")
_FIELDS = {"by", "count", "head", "room", "sig"}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """``by`` (a public key) has folded ``count`` records of ``room``, and the running head there is ``head``."""

    by: str
    count: int
    head: str
    room: str
    sig: str

    def plain(self) -> dict[str, Any]:
        """Return the checkpoint as the ledger file contains it."""
        return {
            "checkpoint": {"by": self.by, "count": self.count, "head": self.head, "room": self.room, "sig": self.sig}
        }

    def is_signed(self) -> bool:
        """Tell whether the signature is by the key ``by``."""
        try:
            signature = base64url.decode(self.sig)
        except ValueError:
            return False
        return verify(self.by, DOMAIN, _message(self.by, self.count, self.head, self.room), signature)


def _message(by: str, count: int, head: str, room: str) -> bytes:
    return canonical({"by": by, "count": count, "head": head, "room": room})


def sign_checkpoint(identity: Identity, *, room: str, count: int, head: str) -> Checkpoint:
    """Return *identity*'s checkpoint of *room* after *count* records."""
    signature = identity.sign(DOMAIN, _message(identity.public, count, head, room))
    return Checkpoint(identity.public, count, head, room, base64url.encode(signature))


def parse_checkpoint(plain: Any) -> Checkpoint:
    """Return the checkpoint in a line ``{"checkpoint": …}``, or raise `BadEntry`."""
    inner = plain.get("checkpoint") if isinstance(plain, dict) and plain.keys() == {"checkpoint"} else None
    if not isinstance(inner, dict) or inner.keys() != _FIELDS:
        raise BadEntry("bad_envelope", f"a checkpoint has exactly {', '.join(sorted(_FIELDS))}")
    texts = all(type(inner[name]) is str for name in ("by", "head", "room", "sig"))
    if not texts or type(inner["count"]) is not int or inner["count"] < 0 or _HEX.fullmatch(inner["head"]) is None:
        raise BadEntry("bad_envelope", "a checkpoint's count is a number, the rest is text")
    if not is_public_key(inner["by"]):
        raise BadEntry("bad_key", f"by is {NO_KEY}")
    return Checkpoint(inner["by"], inner["count"], inner["head"], inner["room"], inner["sig"])
