"""The signed form of an invitation: one line, in a domain of its own."""

import re
from dataclasses import dataclass

from protocols.core.canonical import canonical, read_canonical
from swarm.errors import BadEntry
from swarm.signed import base64url
from swarm.signed.identity import NO_KEY, Identity, is_public_key, verify
from swarm.signed.sizes import MAX_INVITATION_BYTES

DOMAIN = b"swarm/invitation/1"
MOST_TOGETHER = 16
"""How many invitations of one author to one key are kept; a further one replaces the oldest."""
_ROOM = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?-[a-z2-7]{26}")
_FIELDS = {"by", "opener", "room", "sig"}


@dataclass(frozen=True, slots=True)
class Invitation:
    """``by`` (a public key) points to ``room``, which the holder of the key ``opener`` has opened."""

    room: str
    opener: str
    by: str
    sig: str

    @property
    def line(self) -> bytes:
        """The invitation as it is stored."""
        signed = {"by": self.by, "opener": self.opener, "room": self.room, "sig": self.sig}
        return canonical({"invitation": signed})


def is_room_name(text: str) -> bool:
    """Tell whether *text* has the form of a room's full name: a slug, and 26 base32 characters of a digest."""
    return _ROOM.fullmatch(text) is not None


def sign_invitation(identity: Identity, *, room: str, opener: str) -> Invitation:
    """Return *identity*'s invitation to *room*, opened by the holder of the key *opener*."""
    signature = identity.sign(DOMAIN, _message(identity.public, opener, room))
    return Invitation(room, opener, identity.public, base64url.encode(signature))


def _message(by: str, opener: str, room: str) -> bytes:
    return canonical({"by": by, "opener": opener, "room": room})


def read_invitations(author: str, payload: bytes) -> list[Invitation]:
    """Return the invitations of *author* in *payload*, oldest first; raise `BadEntry` unless all are valid.

    Each must be canonical, signed by the key on whose subject it stands, and to a room that this very key has opened.
    Only the opening itself can prove the last; the invitation must at least claim it.
    """
    if len(payload) > MAX_INVITATION_BYTES:
        raise BadEntry("too_large", f"{len(payload)} bytes; an invitation has at most {MAX_INVITATION_BYTES}")
    lines = payload.split(b"\n")
    if len(lines) > MOST_TOGETHER:
        raise BadEntry("bad_envelope", f"at most {MOST_TOGETHER} invitations stand together")
    return [_read(line, author) for line in lines]


def _read(line: bytes, author: str) -> Invitation:
    try:
        plain = read_canonical(line)
    except ValueError:
        raise BadEntry("not_canonical", "an invitation is one object in canonical JSON (RFC 8785)") from None
    inner = plain.get("invitation") if isinstance(plain, dict) and plain.keys() == {"invitation"} else None
    if not isinstance(inner, dict) or inner.keys() != _FIELDS or not all(type(text) is str for text in inner.values()):
        raise BadEntry("bad_envelope", f"an invitation has exactly {', '.join(sorted(_FIELDS))}, as text")
    if not is_room_name(inner["room"]):
        raise BadEntry("bad_envelope", "room: not a room's full name")
    if not is_public_key(inner["by"]) or not is_public_key(inner["opener"]):
        raise BadEntry("bad_key", f"by, or opener, is {NO_KEY}")
    if inner["by"] != author or inner["opener"] != author:
        raise BadEntry("bad_envelope", "it is not by the key on whose subject it stands, or to another's room")
    try:
        signature = base64url.decode(inner["sig"])
    except ValueError:
        raise BadEntry("bad_signature", "sig: 64 bytes in base64url") from None
    if not verify(author, DOMAIN, _message(author, author, inner["room"]), signature):
        raise BadEntry("bad_signature", "the signature is not its author's")
    return Invitation(inner["room"], inner["opener"], inner["by"], inner["sig"])
