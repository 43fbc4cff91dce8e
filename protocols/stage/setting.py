"""What is fixed for a room's whole life: its name, its opening, its members and their keys."""

from dataclasses import dataclass

from protocols.messages.room import RoomOpen, room_name


@dataclass(frozen=True, slots=True)
class Setting:
    """A room's name, opening (and the id of its entry), members in roster order, and the public key of each."""

    room: str
    opening: RoomOpen
    opening_id: str
    members: tuple[str, ...]
    keys: dict[str, str]

    @classmethod
    def of(cls, opening: RoomOpen, *, opening_id: str, author_key: str) -> "Setting":
        """Return the setting that *opening* fixes; *author_key* signed it."""
        return cls(
            room=room_name(opening.slug, author_key, opening.plain()),
            opening=opening,
            opening_id=opening_id,
            members=tuple(entry.name for entry in opening.roster),
            keys={entry.name: entry.key for entry in opening.roster},
        )
