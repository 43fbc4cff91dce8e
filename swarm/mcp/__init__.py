"""A peer for MCP clients (`swarm mcp`): any program that speaks the Model Context Protocol takes part as a member.

`server` speaks the protocol on stdin and stdout, `forms` holds the tools and their arguments, `desk` the rooms and what
is answered in them, `views` what of a room is shown. Inside stands a `swarm.peers.standing.StandingPeer` whose
minds are mailboxes (`agents/mailbox.py`): the client answers duties, the peer signs. The library is called ``mcp``
too; imports are absolute, so that neither hides the other.
"""
