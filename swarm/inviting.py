"""Invitations: signed pointers to rooms, left where the invited key looks.

An invitation is the canonical form of ``{"invitation": {"by", "opener", "room", "sig"}}``. It says where a room is and
who opened it, and nothing else: what the room is about stands in its opening, which proves itself. A log holds one
payload for each pair of invitee and author, so what is left there is up to `MOST_TOGETHER` invitations, a line each,
the newest last: a second room does not hide the first from a peer that was away.
"""

import asyncio
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from protocols.canonical import canonical
from swarm import base64url
from swarm.errors import BadEntry, Unavailable
from swarm.identity import Identity, is_public_key, verify
from swarm.log.port import MAX_INVITATION_BYTES, Log, Stored

DOMAIN = b"swarm/invitation/1"
MOST_TOGETHER = 16
"""How many invitations of one author to one key are kept; a further one takes the place of the oldest."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
"""The first and the longest pause while the log is out of reach."""
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


def read_invitations(stored: Stored) -> list[Invitation]:
    """Return the invitations in *stored*, oldest first; raise `BadEntry` unless all of them are what they say.

    That is: canonical, signed by the key on whose subject they stand, and to rooms that this very key has opened. Only
    the opening itself can show the last; here the invitation must at least claim it.
    """
    if len(stored.payload) > MAX_INVITATION_BYTES:
        raise BadEntry("too_large", f"{len(stored.payload)} bytes; an invitation has at most {MAX_INVITATION_BYTES}")
    lines = stored.payload.split(b"\n")
    if len(lines) > MOST_TOGETHER:
        raise BadEntry("bad_envelope", f"at most {MOST_TOGETHER} invitations stand together")
    return [_read(line, stored.author) for line in lines]


def _read(line: bytes, author: str) -> Invitation:
    try:
        plain: Any = json.loads(line.decode("utf-8"))
        same = canonical(plain) == line
    except (ValueError, TypeError, OverflowError, RecursionError):
        same = False
    if not same:
        raise BadEntry("not_canonical", "an invitation is one object in canonical JSON (RFC 8785)")
    inner = plain.get("invitation") if isinstance(plain, dict) and plain.keys() == {"invitation"} else None
    if not isinstance(inner, dict) or inner.keys() != _FIELDS or not all(type(text) is str for text in inner.values()):
        raise BadEntry("bad_envelope", f"an invitation has exactly {', '.join(sorted(_FIELDS))}, as text")
    if not is_room_name(inner["room"]):
        raise BadEntry("bad_envelope", "room: not a room's full name")
    if not is_public_key(inner["by"]) or not is_public_key(inner["opener"]):
        raise BadEntry("bad_envelope", "by and opener are public keys")
    if inner["by"] != author or inner["opener"] != author:
        raise BadEntry("bad_envelope", "it is not by the key on whose subject it stands, or to another's room")
    try:
        signature = base64url.decode(inner["sig"])
    except ValueError:
        raise BadEntry("bad_signature", "sig: 64 bytes in base64url") from None
    if not verify(author, DOMAIN, _message(author, author, inner["room"]), signature):
        raise BadEntry("bad_signature", "the signature is not its author's")
    return Invitation(inner["room"], inner["opener"], inner["by"], inner["sig"])


async def invite(log: Log, identity: Identity, room: str, invitees: Iterable[str], *, patience_s: float = 30.0) -> None:
    """Leave each of *invitees* (public keys) an invitation to *room*, which *identity* has opened.

    Those that *identity* left before stand beside it, up to `MOST_TOGETHER`. Two processes that invite with one key
    at the same moment may each miss the other's. Raises the `WireError` of the first invitee who could not be invited
    within *patience_s* seconds, after the others were.
    """
    invitation = sign_invitation(identity, room=room, opener=identity.public)
    deadline = asyncio.get_running_loop().time() + patience_s
    left = await asyncio.gather(
        *(_leave(log, invitation, invitee, deadline) for invitee in invitees), return_exceptions=True
    )
    for error in left:
        if error is not None:
            raise error


async def _leave(log: Log, invitation: Invitation, invitee: str, deadline: float) -> None:
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            before = [line for line in await _left_before(log, invitation.by, invitee) if line != invitation.line]
            lines = [*before[-(MOST_TOGETHER - 1) :], invitation.line]
            return await log.invite(invitee, invitation.by, b"\n".join(lines))
        except Unavailable:
            if asyncio.get_running_loop().time() + pause_s > deadline:
                raise
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def _left_before(log: Log, author: str, invitee: str) -> list[bytes]:
    """Return what *author* left for *invitee* and is still stored; what is not its own is nothing to keep."""
    for stored in await log.invitations(invitee):
        if stored.author == author:
            try:
                return [invitation.line for invitation in read_invitations(stored)]
            except BadEntry:
                return []
    return []
