"""The verdict on a ledger, on several of one room, and on a proof."""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.auditing.auditing import AuditResult, audit

__all__ = [
    "AuditResult",
    "audit",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "AuditResult": "swarm.auditing.auditing",
        "audit": "swarm.auditing.auditing",
    },
)
