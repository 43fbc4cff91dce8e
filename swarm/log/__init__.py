"""The log: its port; `swarm.log.memory` and `swarm.log.jetstream` are the two implementations.

To import this package loads neither NATS nor a store, so that an auditor needs neither.
"""

from swarm.errors import RolledBack
from swarm.log.port import AUTHOR_RECORDS, MAX_AUTHORS, MAX_MESSAGE_BYTES, Cut, Log, Stored, Wakeups
from swarm.signed.sizes import MAX_PAYLOAD_BYTES

__all__ = [
    "AUTHOR_RECORDS",
    "MAX_AUTHORS",
    "MAX_MESSAGE_BYTES",
    "MAX_PAYLOAD_BYTES",
    "Cut",
    "Log",
    "RolledBack",
    "Stored",
    "Wakeups",
]
