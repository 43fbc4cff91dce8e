"""Independent agents settle a question as peers, and can be held to what they said.

The names of the contract. They load what they need when they are first used, so that auditing a ledger or deciding a
table loads neither NATS nor anything else that talks to a network.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swarm.auditing import audit
    from swarm.deciding import decide
    from swarm.identity import Identity
    from swarm.peer import Peer, open_room
    from swarm.running import run
    from swarm.tracking import track

__all__ = ["Identity", "Peer", "audit", "decide", "open_room", "run", "track"]

_HOMES = {
    "Identity": "swarm.identity",
    "Peer": "swarm.peer",
    "audit": "swarm.auditing",
    "decide": "swarm.deciding",
    "open_room": "swarm.peer",
    "run": "swarm.running",
    "track": "swarm.tracking",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
