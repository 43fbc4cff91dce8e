"""Size limits of signed forms."""

MAX_PAYLOAD_BYTES = 256 * 1024
"""The limit of an entry: no payload is larger, on any log."""
MAX_INVITATION_BYTES = 8 * 1024
"""The limit of an invitation. It points to a room and has no room for anything else."""
