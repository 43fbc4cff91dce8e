"""The embedded nats-server: configured, started, locked to one directory, stopped."""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.broker.config import server_config
    from swarm.broker.server import Broker, server_binary

__all__ = [
    "Broker",
    "server_binary",
    "server_config",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Broker": "swarm.broker.server",
        "server_binary": "swarm.broker.server",
        "server_config": "swarm.broker.config",
    },
)
