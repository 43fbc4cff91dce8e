"""How large signed things may be."""

MAX_PAYLOAD_BYTES = 256 * 1024
"""The entry's limit: no payload is larger, on any log."""
MAX_INVITATION_BYTES = 8 * 1024
"""An invitation points to a room; it is no place to say anything."""
