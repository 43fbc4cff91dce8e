"""The ground: canonical bytes, instants, findings, the base of all messages, the event."""
