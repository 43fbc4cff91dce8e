"""Random histories of deeds from a seed: mostly what members would do next, and now and then what they may not."""

import random
from collections.abc import Callable
from typing import Any

from protocols.actions.fold import Record, Referee
from protocols.actions.opening import make_rules
from protocols.actions.plans import Plan
from protocols.actions.proposing import key_of
from protocols.core.instants import MINUTE, SECOND, Instant, parse_instant
from protocols.core.message import Message
from protocols.messages import actions as said
from protocols.messages.room import Leave

ROOM = "walk"
MEMBERS = ("ann", "ben", "cem", "dee", "eva", "fay")
_ACT = ["ann", "ben", "cem", "dee"]
OPENING: dict[str, Any] = {
    "priorities": [{"class": "high", "by": ["ann"]}, {"class": "low", "by": ["ann", "ben", "cem", "dee"]}],
    "decided_by": ["eva"],
    "decide_within": "30 minutes",
    "lease": {"usual": "10 minutes", "longest": "25 minutes"},
    "flapping": {"reversals": 2, "within": "1 hour"},
    "verify": {"by": ["fay"], "within": "20 minutes"},
    "conflicts": [["drain", "burn"]],
    "resources": {
        "zone": {"version": "1"},
        "node": {"version": "1", "within": "zone", "owner": "fay"},
        "db": {"version": "1"},
        "api": {"version": "1", "uses": ["db"]},
        "far": {"version": "1"},
    },
    "kinds": {
        "drain": {"by": _ACT, "on": ["zone", "far"], "undo": "fill", "holds": True, "idempotent": True},
        "fill": {"by": _ACT, "on": ["zone", "far"], "undo": "drain", "idempotent": True},
        "up": {"by": _ACT, "on": ["api", "node"], "undo": "down", "attempts": 2},
        "down": {"by": _ACT, "on": ["api", "node"], "undo": "up", "attempts": 2, "reports": "lowered"},
        "kick": {"by": _ACT, "on": ["db"], "undo": "nothing"},
        "sweep": {
            "by": _ACT,
            "on": ["db", "api"],
            "undo": "nothing",
            "counts": ["rows"],
            "tolerance": 10,
            "attempts": 1,
        },
        "burn": {
            "by": _ACT,
            "on": ["node", "far"],
            "irreversible": True,
            "confirmed_by": ["dee", "fay"],
            "privileged": True,
        },
    },
}
_ON = {
    "drain": ("zone", "far"),
    "fill": ("zone", "far"),
    "up": ("api", "node"),
    "down": ("api", "node"),
    "kick": ("db",),
    "sweep": ("db", "api"),
    "burn": ("node", "far"),
}
BEGINNING = parse_instant("2026-01-01T00:00:00Z")
_PAUSES = (0, SECOND, 20 * SECOND, MINUTE, 3 * MINUTE)
_LONG = (9 * MINUTE, 16 * MINUTE, 40 * MINUTE)


def fold_of(opening: dict[str, Any] = OPENING, members: tuple[str, ...] = MEMBERS) -> Referee:
    """Return a referee that has seen nothing."""
    return Referee(make_rules(said.ActionsOpening.read(opening), members), ROOM, members)


class Walk:
    """One history, made record by record by looking at what its own fold says."""

    def __init__(self, seed: int, opening: dict[str, Any] = OPENING) -> None:
        self.dice = random.Random(seed)
        self.opening = {**opening, "equal": "first"} if seed % 5 == 0 else opening
        self.fold = fold_of(self.opening)
        self.records: list[Record] = []
        self._at = int(BEGINNING)
        self._here = list(MEMBERS)

    def step(self) -> Record:
        """Add one record, fold it, and return it."""
        self._at += self.dice.choice(_LONG if self.dice.random() < 0.06 else _PAUSES)
        by, body = self._say()
        record = Record(len(self.records) + 1, Instant(self._at), by, body)
        self.records.append(record)
        self.fold.apply(record)
        return record

    def wait(self, pause: int) -> Record:
        """Let time pass."""
        self._at += pause
        record = Record(len(self.records) + 1, Instant(self._at), "", None)
        self.records.append(record)
        self.fold.apply(record)
        return record

    def _say(self) -> tuple[str, Message | None]:
        plans = [plan for plan in self.fold.plans.values() if not plan.ended]
        if self.dice.random() < 0.08:
            plans = list(self.fold.plans.values())
        chance = self.dice.random()
        if not plans or chance < 0.22:
            return self._propose()
        plan = self.dice.choice(plans)
        if chance < 0.70:
            by, body = self._next_of(plan)
        elif chance < 0.985:
            by, body = self._beside(plan)
        else:
            by, body = self._of_the_room()
        return (self.dice.choice(self._here) if self._here and self.dice.random() < 0.05 else by), body

    def _propose(self) -> tuple[str, Message]:
        lead = self.dice.choice(_ACT)
        steps = []
        for _ in range(self.dice.choice((1, 1, 1, 2, 3))):
            kind = self.dice.choice(list(_ON))
            step: dict[str, Any] = {"kind": kind, "on": [self.dice.choice(_ON[kind])], "irreversible": kind == "burn"}
            if kind == "sweep":
                step["expects"] = {"rows": 100}
            if self.dice.random() < 0.15:
                step["by"] = self.dice.choice(_ACT)
            steps.append(said.PlannedStep.read(step))
        seen = {name: version or "?" for name, version in self.fold.versions.items()}
        if self.dice.random() < 0.05:
            seen.popitem()
        until = f"2026-01-01T{self.dice.randrange(24):02}:00:00Z" if self.dice.random() < 0.1 else None
        return lead, said.ProposePlan(
            plan=f"p{len(self.records) + 1}" if self.dice.random() < 0.98 else "p1",
            seen=seen,
            steps=steps,
            priority="low" if lead == "ann" and self.dice.random() < 0.4 else None,
            lease=self.dice.choice((None, None, "5 minutes", "20 minutes", "26 minutes")),
            until=until,
            tainted=self.dice.random() < 0.05,
        )

    def _next_of(self, plan: Plan) -> tuple[str, Message]:
        """Return what somebody would say next who wants *plan* to go on."""
        unread = [step for step in plan.steps if step.confirmers is not None and step.read is None]
        if plan.not_begun and unread:
            step = unread[0]
            rows = self.dice.choice((100, 100, 105, 105, 150))
            return step.by, said.ReadBack(step=step.id, counts={name: rows for name in step.kind.rule.counts})
        if plan.state.value == "reading":
            confirmers = sorted({who for step in plan.steps for who in step.confirmers or ()})
            by = self.dice.choice(confirmers or ["fay"])
            body = said.ConfirmPlan if self.dice.random() < 0.95 else said.DisputePlan
            return by, body(plan=plan.id)
        if plan.state.shown == "asked":
            return self._answer(plan)
        if plan.state.value == "standing":
            return self._end_hold(plan)
        action = plan.in_flight()
        if action is not None:
            return action.by, self._result(action.id, action.start, action.on, bool(action.read))
        action = plan.next_action() or plan.steps[-1]
        token = plan.token if self.dice.random() < 0.9 else None
        return action.by, said.StartStep(step=action.id, token=token, key=key_of(ROOM, action.id))

    def _result(self, step: str, start: int | None, on: tuple[str, ...], counted: bool) -> Message:
        outcome = self.dice.choice(("done", "done", "done", "done", "failed", "refused", "unknown"))
        versions = {on[0]: f"v{len(self.records)}"} if self.dice.random() < 0.2 else {}
        counts = {"rows": self.dice.choice((100, 100, 200))} if counted else {}
        start = start if self.dice.random() < 0.9 else self.dice.choice((None, 1))
        return said.StepResult(step=step, start=start, outcome=outcome, versions=versions, counts=counts)

    def _answer(self, plan: Plan) -> tuple[str, Message]:
        verdict = self.dice.choice(("go", "go", "done", "failed", "undo", "stop"))
        if plan.begun and self.dice.random() < 0.4:
            action = plan.in_question()
            if action is not None and action.state == "unknown" and self.dice.random() < 0.6:
                return action.by, self._result(action.id, action.start, action.on, counted=False)
            return plan.lead, said.RenewPlan(plan=plan.id)
        return "eva", said.DecidePlan(plan=plan.id, verdict=verdict)

    def _end_hold(self, plan: Plan) -> tuple[str, Message]:
        if self.dice.random() < 0.5:
            return plan.lead, self.dice.choice((said.RenewPlan, said.WithdrawPlan))(plan=plan.id)
        seen = {name: version or "?" for name, version in self.fold.versions.items()}
        lasting = sorted({name for step in plan.steps for name in step.lasting})
        step = said.PlannedStep(kind="fill", on=lasting)
        return plan.lead, said.ProposePlan(plan=f"p{len(self.records) + 1}", seen=seen, steps=[step])

    def _beside(self, plan: Plan) -> tuple[str, Message]:
        """Return something about *plan* that may come at any time."""
        resource = self.dice.choice(list(self.fold.versions))
        step = self.dice.choice(plan.steps)
        undo = f"{step.id}.undo"
        choices: list[Callable[[], tuple[str, Message]]] = [
            lambda: (plan.lead, said.RenewPlan(plan=plan.id)),
            lambda: (plan.lead, said.WithdrawPlan(plan=plan.id)),
            lambda: ("eva", said.DecidePlan(plan=plan.id, verdict=self.dice.choice(("undo", "stop", "go", "done")))),
            lambda: ("eva", said.DecidePlan(plan=plan.id, verdict="stop", versions={step.on[0]: "w"})),
            lambda: ("fay" if resource == "node" else "eva", self._observation(resource)),
            lambda: ("fay", said.VerifyPlan(plan=plan.id, holds=self.dice.random() < 0.7)),
            lambda: (step.by, said.StartStep(step=step.id, token=plan.token)),
            lambda: (step.by, said.StartStep(step=undo, token=1)),
            lambda: (step.by, said.StartStep(step=step.id, key="0" * 64)),
            lambda: (step.by, self._result(step.id, step.start, ("far",), counted=False)),
            lambda: (step.by, self._result(undo, None, step.on, counted=False)),
            lambda: (step.by, said.ReadBack(step=step.id, echo=said.Echo(kind="kick"))),
            lambda: ("dee", said.DisputePlan(plan=plan.id)),
        ]
        return self.dice.choice(choices)()

    def _observation(self, resource: str) -> Message:
        version = f"o{len(self.records)}" if self.dice.random() < 0.3 else self.fold.versions[resource] or "known"
        return said.ObserveResource(resource=resource, version=version)

    def _of_the_room(self) -> tuple[str, Message]:
        by = self.dice.choice(MEMBERS[:4])
        if self.dice.random() < 0.75:
            return by, said.Repin()
        if by in self._here:
            self._here.remove(by)
        return by, Leave(because="enough")
