"""The minds: how one member makes up its mind. This package knows the rules and nothing of the world.

It exports what an agent's author needs: `Agent` to subclass, the answers that its methods return, the duties that they
get, and the parts of both.
"""

from agents.agent import (
    Agent,
    BadAnswer,
    Costed,
    Grounded,
    NoAnswer,
    Performed,
    Proposed,
    Ratified,
    Scored,
    Watch,
)
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Bound, Case, Interpretation, Readings, Settlement
from protocols.messages.claims import Claim
from protocols.messages.concord import Option
from protocols.messages.room import Manifest

__all__ = [  # noqa: RUF022 - in groups
    # the interface
    "Agent",
    "NoAnswer",
    "BadAnswer",
    "Watch",
    # answers
    "Interpretation",
    "Readings",
    "Settlement",
    "Proposed",
    "Option",
    "Scored",
    "Ratified",
    "Performed",
    "Grounded",
    "Costed",
    "Manifest",
    # parts of answers
    "Bound",
    "Case",
    "Claim",
    # duties
    "Duty",
    "JoinDuty",
    "InterpretDuty",
    "ReadDuty",
    "SettleDuty",
    "QuoteDuty",
    "ProposeDuty",
    "ScoreDuty",
    "ImproveDuty",
    "RatifyDuty",
    "PerformDuty",
]
