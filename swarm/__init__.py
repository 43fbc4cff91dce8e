"""Independent agents settle a question as peers, and can be held to what they said.

The names of the contract. They load what they need when they are first used, so that auditing a ledger or deciding a
table loads neither NATS nor anything else that talks to a network.
"""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.auditing.auditing import audit
    from swarm.files.table import decide
    from swarm.history.tracking import track
    from swarm.peers.single import Peer, open_room
    from swarm.running.running import run
    from swarm.signed.identity import Identity

__all__ = ["Identity", "Peer", "audit", "decide", "open_room", "run", "track"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Identity": "swarm.signed.identity",
        "Peer": "swarm.peers.single",
        "audit": "swarm.auditing.auditing",
        "decide": "swarm.files.table",
        "open_room": "swarm.peers.single",
        "run": "swarm.running.running",
        "track": "swarm.history.tracking",
    },
)
