"""Every signed form, byte for byte: keys, entries, boxes, checkpoints, invitations."""
