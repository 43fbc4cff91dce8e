"""The subjects of the log: who may write where is read off them, so they are made in one place.

===========================================  ====================================================================
``swarm.room.<room>.<author>``               what *author* says in *room*; stored in the stream ``SWARM``
``swarm.log.<room>.<author>``                the same, once stored, without its payload: a wake-up
``swarm.invite.<invitee>.<author>``          an invitation; stored in the stream ``SWARM_INVITES``
``swarm.invited.<invitee>.<author>``         the same, once stored, without its payload
``_INBOX_<author>.<random>.<call>``          answers to one connection of *author* (``_INBOX_SWARM`` without a key)
===========================================  ====================================================================
"""

import re

ROOMS = "SWARM"
INVITES = "SWARM_INVITES"
ROOM_SUBJECTS = "swarm.room.>"
LOG_SUBJECTS = "swarm.log.>"
INVITE_SUBJECTS = "swarm.invite.>"
INVITED_SUBJECTS = "swarm.invited.>"

_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")


def token(text: str) -> str:
    """Return *text* if it is one plain subject token; otherwise raise ``ValueError``: no dots, wildcards or blanks."""
    if _TOKEN.fullmatch(text) is None:
        raise ValueError(f"{text!r} cannot stand in a subject: 1 to 128 of A–Z, a–z, 0–9, _ and - are valid")
    return text


def room_subject(room: str, author: str) -> str:
    """Return the subject of *author* in *room*."""
    return f"swarm.room.{token(room)}.{token(author)}"


def room_prefix(room: str) -> str:
    """Return the common beginning of the subjects of all authors in *room*."""
    return f"swarm.room.{token(room)}."


def room_subjects(room: str) -> str:
    """Return the wildcard for everything stored in *room*, by any author."""
    return f"swarm.room.{token(room)}.*"


def all_rooms_of(author: str) -> str:
    """Return the wildcard for everything that *author* has stored, in any room."""
    return f"swarm.room.*.{token(author)}"


def room_of(subject: str) -> str:
    """Return the room named in a subject that has the form of `room_subject`."""
    return subject.split(".")[2]


def log_subjects(room: str) -> str:
    """Return the wildcard for the wake-ups of *room*."""
    return f"swarm.log.{token(room)}.>"


def invite_subject(invitee: str, author: str) -> str:
    """Return the subject of *author*'s invitation to *invitee*."""
    return f"swarm.invite.{token(invitee)}.{token(author)}"


def invite_prefix(invitee: str) -> str:
    """Return the common beginning of the subjects of all invitations to *invitee*."""
    return f"swarm.invite.{token(invitee)}."


def invites_of(invitee: str) -> str:
    """Return the wildcard for all invitations to *invitee*."""
    return f"swarm.invite.{token(invitee)}.*"


def invited_subjects(invitee: str) -> str:
    """Return the wildcard for the wake-ups of *invitee*'s invitations."""
    return f"swarm.invited.{token(invitee)}.>"


def direct_get(stream: str) -> str:
    """Return the subject on which *stream* answers direct gets."""
    return f"$JS.API.DIRECT.GET.{stream}"


def inbox_prefix(author: str | None) -> str:
    """Return the common beginning of all inboxes of *author*'s connections; its permissions allow no others."""
    return "_INBOX_SWARM" if author is None else f"_INBOX_{token(author)}"


def writable_by(author: str) -> list[str]:
    """Return the subjects on which *author*'s key may publish, besides the direct gets."""
    return [all_rooms_of(author), f"swarm.invite.*.{author}"]
