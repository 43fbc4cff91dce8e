"""In a room for a moment: say one thing, watch, check whether a peer could work."""
