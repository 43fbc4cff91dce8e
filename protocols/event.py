"""What a fold sees of the log: one said thing, its place, its time and its author."""

from dataclasses import dataclass, field

from protocols.instants import Instant
from protocols.message import Message


@dataclass(frozen=True, slots=True)
class Event:
    """One entry that passed the log's own checks.

    ``at`` is the log's time, never a local clock's. ``seen`` is how far the author had folded the room when it
    signed. ``digests`` are those the log computed of sealed content, so that no rule hashes twice.
    """

    position: int
    at: Instant
    author: str
    id: str
    body: Message
    seen: int = 0
    digests: dict[str, str] = field(default_factory=dict)
