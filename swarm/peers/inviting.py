"""Invitations: signed pointers to rooms, left where the invited key looks.

An invitation is the canonical form of ``{"invitation": {"by", "opener", "room", "sig"}}``. It says where a room is and
who opened it, and nothing else: the room's opening says what it is about, and proves itself. A log keeps one payload
for each pair of invitee and author, so the payload is up to `MOST_TOGETHER` invitations, one per line, the newest last:
a second room does not hide the first from a peer that was away.
"""

import asyncio
from collections.abc import Iterable

from swarm.backoff import Backoff
from swarm.errors import BadEntry, Unavailable
from swarm.log.port import Log
from swarm.signed.identity import Identity
from swarm.signed.invitation import MOST_TOGETHER, Invitation, read_invitations, sign_invitation

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
"""The first and the longest pause while the log is out of reach."""


async def invite(log: Log, identity: Identity, room: str, invitees: Iterable[str], *, patience_s: float = 30.0) -> None:
    """Leave each of *invitees* (public keys) an invitation to *room*, which *identity* has opened.

    Earlier invitations by *identity* stay beside it, up to `MOST_TOGETHER`. Two processes that invite with one key at
    the same moment may each miss the other's invitations. Raises the `WireError` of the first invitee that could not be
    invited within *patience_s* seconds, after the others were.
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
    backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
    while True:
        try:
            before = [line for line in await _left_before(log, invitation.by, invitee) if line != invitation.line]
            lines = [*before[-(MOST_TOGETHER - 1) :], invitation.line]
            return await log.invite(invitee, invitation.by, b"\n".join(lines))
        except Unavailable:
            pause_s = backoff.pause_s()
            if asyncio.get_running_loop().time() + pause_s > deadline:
                raise
        await asyncio.sleep(pause_s)


async def _left_before(log: Log, author: str, invitee: str) -> list[bytes]:
    """Return what *author* left for *invitee* and is still stored; anything that is not its own is not kept."""
    for stored in await log.invitations(invitee):
        if stored.author == author:
            try:
                return [invitation.line for invitation in read_invitations(stored.author, stored.payload)]
            except BadEntry:
                return []
    return []
