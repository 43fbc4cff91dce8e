"""One key in many rooms: the standing peer, its invitations, hooks and discovery."""
