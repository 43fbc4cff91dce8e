"""A peer for MCP clients (`swarm mcp`): any program that speaks the Model Context Protocol takes part as a member.

`server` speaks the protocol on stdin and stdout, `forms` defines the tools and their arguments, `desk` manages the
rooms and what is answered in them, and `views` defines what is shown of a room. Inside is a
`swarm.peers.standing.StandingPeer` whose minds are mailboxes (`agents/mailbox.py`): the client answers duties, and the
peer signs. The library is called ``mcp`` too; imports are absolute, so neither hides the other.
"""
