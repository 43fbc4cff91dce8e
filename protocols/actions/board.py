"""What the referee knows, and the small consequences from which all rules are made.

Every change of a plan's state goes through `Board.change`, so that the queue is sorted anew, the next deadline is found
anew, and what has ended makes room.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

from protocols.actions.opening import Rules
from protocols.actions.plans import Action, Grant, Noted, Plan, Reported, split_id
from protocols.actions.proposing import undo_of
from protocols.actions.queue import Queue
from protocols.actions.reversals import Reversals
from protocols.actions.states import Move, State
from protocols.core.findings import Refused
from protocols.core.instants import FIRST, Instant, later


@dataclass(slots=True)
class Board:
    """The state of all deeds after a prefix of the log; ``position`` and ``at`` are the record's that is folded."""

    rules: Rules
    room: str
    present: set[str]
    queue: Queue
    reversals: Reversals
    versions: dict[str, str | None]
    position: int = 0
    at: Instant = FIRST
    plans: dict[str, Plan] = field(default_factory=dict)
    open: dict[str, Plan] = field(default_factory=dict)
    tainted: set[str] = field(default_factory=set)
    """The leads whose mind was shown what nobody vouches for."""
    findings: list[Noted] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    reports: list[Reported] = field(default_factory=list)
    to_verify: list[tuple[Instant, int, str]] = field(default_factory=list)
    """A heap: until when, which plan (its position and id) is to be verified."""
    due: list[tuple[Instant, int, str]] = field(default_factory=list)
    """A heap: when a deadline of which plan (its position and id) passes; some may have moved since."""
    redated: dict[str, Plan] = field(default_factory=dict)
    """The plans of which a deadline may have moved at this record."""
    unsorted: bool = False

    def note(self, code: str, what: str) -> None:
        """Put *code* about the plan or member *what* on record."""
        self.findings.append(Noted(self.position, code, what))

    def report(self, event: str, by: str) -> None:
        """Take a done step as the report of *event* by its executor."""
        self.reports.append(Reported(event, by, self.position))

    def plan(self, name: str) -> Plan:
        """Return the plan called *name*, or refuse."""
        if name not in self.plans:
            raise Refused("unknown_action", f"no plan {name!r} was accepted")
        return self.plans[name]

    def action(self, name: str) -> tuple[Plan, Action]:
        """Return a plan and the step or undo called *name*, or refuse; an undo is found before it is owed."""
        plan_id, number, undo = split_id(name)
        plan = self.plans.get(plan_id)
        if plan is not None and 1 <= number <= len(plan.steps):
            step = plan.steps[number - 1]
            owed = next((each for each in plan.undos if each.undoes is step), None)
            found = owed or undo_of(step, self.rules, self.room) if undo else step
            if found is not None:
                return plan, found
        raise Refused("unknown_action", f"no plan has a step {name!r}")

    def allow(self, by: str, allowed: bool, whose: str) -> None:
        """Refuse what *by* may not say; *whose* tells whose it is to say."""
        if by not in self.present:
            raise Refused("not_allowed", f"{by} is not in the room")
        if not allowed:
            raise Refused("not_allowed", f"that is {whose}'s to say, not {by}'s")

    def change(self, plan: Plan, move: Move, why: str | None = None) -> None:
        """Make *move* with *plan*, for the reason *why*."""
        plan.move(move)
        plan.why = why
        if plan.state is not State.IN_QUESTION and plan.state is not State.ASKED:
            plan.asked_at = None
        self.unsorted = True
        self.redated[plan.id] = plan
        if plan.ended:
            del self.open[plan.id]
            self.queue.leave(plan)

    def enter(self, plan: Plan) -> None:
        """Take *plan* in, before its first move."""
        self.plans[plan.id] = self.open[plan.id] = plan
        names = {name for step in plan.steps for name in step.on}
        self.queue.enter(plan, self.rules.span(names), self.rules.near(names))

    def weigh(self, plan: Plan) -> None:
        """Find anew what *plan* is in the way of."""
        names = {name for step in plan.weighing() for name in step.on}
        self.queue.weigh(plan, self.rules.span(names), self.rules.near(names))
        self.unsorted = True

    def drop(self, plan: Plan, why: str) -> None:
        """End *plan*, of which nothing has begun."""
        self.change(plan, Move.DROP, why)

    def ask(self, plan: Plan, why: str) -> None:
        """Put *plan* before a person; what is in flight is unknown from then on."""
        if (action := plan.in_flight()) is not None:
            action.state = "unknown"
        if plan.state is not State.IN_QUESTION:
            self.change(plan, Move.ASK, why)
        plan.why, plan.asked_at, plan.undecided = why, self.at, False
        plan.token = None
        self.redated[plan.id] = plan
        self.note(why, plan.id)

    def grant(self, plan: Plan, end: Instant | None = None) -> None:
        """Give *plan* a token and a lease, which lasts to *end*, else as long as the plan says from here on."""
        plan.token = self.position
        if end is None:
            plan.granted_at = self.at
        plan.lease_end = later(self.at, plan.lease) if end is None else end
        self.grants.append(Grant(plan.id, self.position))
        self.redated[plan.id] = plan

    def release(self, plan: Plan, why: str) -> None:
        """End the hold of a standing plan."""
        self.change(plan, Move.RELEASE, why)

    def move_versions(self, versions: Mapping[str, str | None]) -> None:
        """Take *versions* as those that are, and drop each plan not begun that rests on others."""
        moved = {name: version for name, version in versions.items() if self.versions[name] != version}
        self.versions.update(moved)
        if not moved:
            return
        for plan in list(self.open.values()):
            if plan.not_begun and any(plan.basis.get(name, version) != version for name, version in moved.items()):
                self.note("stale", plan.id)
                self.drop(plan, "stale")

    def turn_back(self, plan: Plan, cause: str) -> None:
        """Have what was done undone, the last first; without anything to undo the plan has failed."""
        done = [step for step in reversed(plan.steps) if step.state == "done"]
        undos = [undo_of(step, self.rules, self.room) for step in done]
        plan.undos = tuple(undo for undo in undos if undo is not None)
        plan.back, plan.cause, plan.setback = True, cause, None
        was_standing = plan.state is State.STANDING
        self.change(plan, Move.TURN_BACK if plan.undos else Move.UNDO_LAST, cause)
        if was_standing:
            self.weigh(plan)

    def resume(self, plan: Plan) -> None:
        """Go on with a plan in question, forward or back."""
        plan.halted = False
        self.change(plan, Move.GO_ON, plan.cause if plan.back else None)

    def advance(self, plan: Plan) -> None:
        """End *plan*, or let it stand, if nothing of it is left to do."""
        in_question = plan.state is State.IN_QUESTION
        if plan.next_action() is not None or (in_question and (plan.halted or plan.why != "in_doubt")):
            return
        if plan.back:
            self.change(plan, Move.UNDO_LAST, plan.cause)
            return
        lasts = any(step.lasting for step in plan.steps)
        self.change(plan, Move.STAND if lasts else Move.COMPLETE)
        if lasts:
            self.weigh(plan)
        if lasts and in_question:
            self.grant(plan)
        if self.rules.verify_within is not None:
            heapq.heappush(self.to_verify, (later(self.at, self.rules.verify_within), plan.position, plan.id))

    def sort_out(self) -> None:
        """Let the queue move on: grant, pre-empt, ask about equals, and break rings."""
        while self.unsorted:
            order = self.queue.sort_out()
            if (last := order.last_in_ring()) is not None:
                self.note("deadlock", last.id)
                self.drop(last, "deadlock")
                continue
            for plan in order.plans:
                if plan.waits:
                    self._hold_back(plan)
                elif order.has_equal(plan):
                    if plan.state is not State.ASKED:
                        self.ask(plan, "equal")
                elif plan.state is not State.GRANTED:
                    self.change(plan, Move.GRANT)
                    self.grant(plan)
            self.unsorted = False

    def _hold_back(self, plan: Plan) -> None:
        if plan.state is State.GRANTED:
            self.note("preempted", plan.id)
        if plan.state is not State.WAITING:
            plan.token = None
            self.change(plan, Move.WAIT)
