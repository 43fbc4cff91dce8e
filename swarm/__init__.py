"""Independent agents settle a question as peers, and can be held to what they said.

These are the names that users import. Each loads its module on first use, so that auditing a ledger or deciding a table
loads nothing that talks to a network.
"""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from protocols.accord.machine import Divergence
    from protocols.concord.selection import Selection
    from protocols.core.findings import Finding
    from protocols.room.outcome import Decision
    from protocols.views.summary import Cost
    from swarm.auditing.auditing import audit
    from swarm.auditing.comparing import Comparison, compare
    from swarm.auditing.verdict import AuditResult
    from swarm.errors import (
        BadEntry,
        BadInput,
        ClockApart,
        Denied,
        LogFull,
        RolledBack,
        SecondProcess,
        SwarmError,
        TooLarge,
        Unavailable,
        Unsaid,
        Untrusted,
        WireError,
        WrongLast,
    )
    from swarm.files.table import decide
    from swarm.history.refereeing import RefereeResult, referee
    from swarm.history.tracking import TrackResult, track
    from swarm.peers.peer import Peer, RoomAddress, aopen_room, open_room
    from swarm.reasons.explain import Explanation, explain
    from swarm.running.result import RunResult
    from swarm.running.running import arun, run
    from swarm.signed.identity import Identity

__all__ = [  # noqa: RUF022 - in groups
    # calls
    "run",
    "arun",
    "audit",
    "compare",
    "decide",
    "track",
    "referee",
    "explain",
    "open_room",
    "aopen_room",
    "Peer",
    "Identity",
    # results
    "RunResult",
    "AuditResult",
    "Comparison",
    "Selection",
    "TrackResult",
    "RefereeResult",
    "Explanation",
    "RoomAddress",
    "Decision",
    "Divergence",
    "Cost",
    "Finding",
    # errors
    "SwarmError",
    "BadInput",
    "BadEntry",
    "SecondProcess",
    "ClockApart",
    "WireError",
    "Unavailable",
    "WrongLast",
    "LogFull",
    "TooLarge",
    "Unsaid",
    "Denied",
    "Untrusted",
    "RolledBack",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "run": "swarm.running.running",
        "arun": "swarm.running.running",
        "audit": "swarm.auditing.auditing",
        "compare": "swarm.auditing.comparing",
        "decide": "swarm.files.table",
        "track": "swarm.history.tracking",
        "referee": "swarm.history.refereeing",
        "explain": "swarm.reasons.explain",
        "open_room": "swarm.peers.peer",
        "aopen_room": "swarm.peers.peer",
        "Peer": "swarm.peers.peer",
        "Identity": "swarm.signed.identity",
        "RunResult": "swarm.running.result",
        "AuditResult": "swarm.auditing.verdict",
        "Comparison": "swarm.auditing.comparing",
        "Selection": "protocols.concord.selection",
        "TrackResult": "swarm.history.tracking",
        "RefereeResult": "swarm.history.refereeing",
        "Explanation": "swarm.reasons.explain",
        "RoomAddress": "swarm.peers.peer",
        "Decision": "protocols.room.outcome",
        "Divergence": "protocols.accord.machine",
        "Cost": "protocols.views.summary",
        "Finding": "protocols.core.findings",
        "SwarmError": "swarm.errors",
        "BadInput": "swarm.errors",
        "BadEntry": "swarm.errors",
        "SecondProcess": "swarm.errors",
        "ClockApart": "swarm.errors",
        "WireError": "swarm.errors",
        "Unavailable": "swarm.errors",
        "WrongLast": "swarm.errors",
        "LogFull": "swarm.errors",
        "TooLarge": "swarm.errors",
        "Unsaid": "swarm.errors",
        "Denied": "swarm.errors",
        "Untrusted": "swarm.errors",
        "RolledBack": "swarm.errors",
    },
)
