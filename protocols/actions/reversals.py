"""Flapping: what one plan does and the next undoes, again and again, is a question of policy and not of priority."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from protocols.actions.opening import Rules
from protocols.actions.plans import Action, Plan
from protocols.core.instants import Instant


@dataclass(slots=True)
class Reversals:
    """What was done last on each resource, and when a plan reversed what another had done there."""

    rules: Rules
    last: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Resource → the kind done last, and the plan that did it."""
    times: dict[str, deque[Instant]] = field(default_factory=dict)

    def done(self, plan: Plan, action: Action, at: Instant, open_plans: Iterable[Plan]) -> None:
        """Count *action* of *plan*, done at *at*; its own compensation is never a reversal."""
        own = _held(plan, action, open_plans)
        for resource in action.on:
            if action.undoes is None and resource not in own and self._reverses(plan, action, resource):
                self.times.setdefault(resource, deque()).append(at)
            self.last[resource] = (action.kind.name, plan.id)

    def too_many(self, plan: Plan, at: Instant, open_plans: Iterable[Plan]) -> bool:
        """Return whether *plan* would reverse what others did once too often on one of its resources."""
        met: set[str] = set()
        held = list(open_plans)
        for step in plan.steps:
            own = _held(plan, step, held)
            for resource in step.on:
                if resource in met:  # by then the plan's own step is the last one done here
                    continue
                met.add(resource)
                if resource in own or not self._reverses(plan, step, resource):
                    continue
                if self._recent(resource, at) + 1 >= self.rules.opening.flapping.reversals:
                    return True
        return False

    def _reverses(self, plan: Plan, action: Action, resource: str) -> bool:
        kind, by = self.last.get(resource, ("", ""))
        return by != plan.id and kind in action.kind.opposes

    def _recent(self, resource: str, at: Instant) -> int:
        times = self.times.get(resource, deque())
        while times and times[0] < at - self.rules.window:
            times.popleft()
        return len(times)


def _held(plan: Plan, action: Action, open_plans: Iterable[Plan]) -> set[str]:
    """Return the resources on which *action* undoes an effect that its lead holds."""
    return {
        resource
        for other in open_plans
        if other.lead == plan.lead and other is not plan
        for step in other.steps
        if step.lasting and step.kind.undo == action.kind.name
        for resource in step.lasting
    }
