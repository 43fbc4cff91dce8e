"""The room: hands events to the stages, keeps the steps, and ends."""

from protocols.room.room import TICK_SPACING, Room

__all__ = ["TICK_SPACING", "Room"]
