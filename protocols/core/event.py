"""What a fold sees of the log: one entry with its place, its time and its author."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocols.core.instants import Instant
from protocols.core.message import Message


@dataclass(frozen=True, slots=True)
class Event:
    """One entry that passed the log's own checks.

    ``at`` is the log's time, never a local clock's. ``author`` is the roster's name for the signing key.
    ``seen`` is how far the author had folded the room when it signed; ``cost`` is what the entry cost, as its author
    declares.
    """

    position: int
    at: Instant
    author: str
    id: str
    seen: int
    body: Message
    cost: Mapping[str, Any] | None = None
