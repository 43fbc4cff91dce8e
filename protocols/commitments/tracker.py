"""The tracker: what became of each commitment, folded from what was said. One for rooms and for histories.

Acts come in the order of their time. Each first lets the deadlines before its instant pass, then changes state or is
refused and changes nothing. The cost of an act does not grow with the history: events are looked up by name,
instances by value, deadlines in a heap; of what has ended only the end is kept.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from protocols.commitments.acts import (
    NOTHING,
    REPORT,
    Act,
    ActRefused,
    Applied,
    Refusal,
    Transition,
    act_of,
)
from protocols.commitments.conditions import AGREED, Condition, ConditionError, Event, leaves, parse
from protocols.commitments.graph import find_troubles
from protocols.commitments.machine import Machine
from protocols.commitments.messages import CommitmentTerms, EventRule
from protocols.commitments.onlooker import came_true
from protocols.commitments.operations import operate
from protocols.commitments.programs import BEFORE_ALL, Program, compile_terms
from protocols.commitments.reports import Report, Reports
from protocols.commitments.status import Status, moving, open_ids, status_of, statuses
from protocols.instants import Instant

MOST_INSTANCES: Final = 10_000
"""Instances that one commitment of a room may have."""


@dataclass(slots=True)
class Tracker:
    """The state of all commitments after a prefix of what was said.

    ``keeps_past`` False forgets what has no effect any more: every commitment is then declared before the first act,
    and `since` cannot be asked.
    """

    parties: Sequence[str]
    events: Mapping[str, EventRule]
    powers: Mapping[str, list[str]] | None = None
    _: object = field(default=None, init=False, repr=False, compare=False)
    listed_events_only: bool = field(default=False, kw_only=True)
    keeps_past: bool = field(default=True, kw_only=True)
    most_instances: int | None = field(default=MOST_INSTANCES, kw_only=True)
    machine: Machine = field(init=False)
    reports: Reports = field(init=False)
    _declared: list[tuple[Program, bool]] = field(default_factory=list, init=False)
    _known: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.machine = Machine(past=[] if self.keeps_past else None)
        self.reports = Reports(frozenset(self.parties), self.events, self.listed_events_only)
