"""In a room for a moment: say one thing, watch, ask whether a peer could work."""
