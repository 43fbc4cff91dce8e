"""What a plan must be before it is taken: the checks of a proposal, in their order, step by step."""

from collections.abc import Collection, Mapping

from protocols.actions.opening import MOST_OPEN, Kind, Rules, fits
from protocols.actions.plans import Action, Plan
from protocols.core.canonical import digest
from protocols.core.findings import Refused
from protocols.core.instants import Instant, parse_duration, parse_instant
from protocols.messages.actions import MOST_STEPS, PlannedStep, ProposePlan


def key_of(room: str, action: str) -> str:
    """Return the key under which the effect of *action* happens once: no mind makes it, and no attempt changes it."""
    return digest({"action": action, "room": room})


def make_plan(
    proposal: ProposePlan,
    lead: str,
    position: int,
    at: Instant,
    rules: Rules,
    room: str,
    present: Collection[str],
    versions: Mapping[str, str | None],
    plans: Collection[str],
    open_plans: int,
) -> Plan:
    """Return the plan that *proposal* makes, or raise `Refused` for the first thing that is wrong with it.

    *present* are the members who have not left, *plans* the ids that have been used.
    """
    if proposal.plan in plans:
        raise Refused("repeated_id", f"a plan {proposal.plan!r} was proposed before")
    if not 1 <= len(proposal.steps) <= MOST_STEPS:
        raise Refused("bad_arguments", f"a plan has 1 to {MOST_STEPS} steps")
    steps = tuple(
        _step(step, f"{proposal.plan}.{number}", lead, rules, room, present)
        for number, step in enumerate(proposal.steps, 1)
    )
    rank = _rank(proposal, lead, rules)
    lease = rules.usual if proposal.lease is None else parse_duration(proposal.lease)
    if lease > rules.longest:
        raise Refused("lease_bound", f"a lease lasts at most {rules.opening.lease.longest}")
    until = None if proposal.until is None else parse_instant(proposal.until)
    if until is not None and until < at:
        raise Refused("late", f"{proposal.until} has passed")
    if open_plans >= MOST_OPEN:
        raise Refused("over_budget", f"{MOST_OPEN} plans are open")
    basis = _basis(proposal, steps, rules, versions)
    plan = Plan(proposal.plan, lead, position, rank, steps, basis, lease, until, proposal.tainted)
    for step in steps:
        step.confirmers = _confirmers(step, lead)
    return plan


def _step(step: PlannedStep, name: str, lead: str, rules: Rules, room: str, present: Collection[str]) -> Action:
    kind = rules.kinds.get(step.kind)
    if kind is None:
        raise Refused("unknown_kind", f"{name}: {step.kind!r} is not one of {', '.join(rules.kinds)}")
    for resource in step.on:
        if resource not in rules.bits:
            raise Refused("unknown_resource", f"{name}: {resource!r} is not a resource of the room")
    for resource in step.on:
        if not rules.in_scope(kind, resource):
            raise Refused("out_of_scope", f"{name}: {kind.name} is for {', '.join(kind.rule.on)}, not {resource!r}")
    _check_arguments(step, name, kind)
    by = step.by or lead
    confirmed_by = kind.rule.confirmed_by
    if by not in kind.rule.by:
        raise Refused("not_allowed", f"{name}: {kind.name} is done by {', '.join(kind.rule.by)}, not {by}")
    if by not in present:
        raise Refused("not_allowed", f"{name}: {by} has left")
    if confirmed_by is not None and set(confirmed_by) == {by}:
        raise Refused("not_allowed", f"{name}: nobody but {by} itself could confirm it")
    if kind.rule.irreversible and not step.irreversible:
        raise Refused("irreversible", f"{name}: {kind.name} cannot be undone; the step must say irreversible: true")
    expects = {count: number for count, number in step.expects.items() if type(number) is int}
    return Action(name, kind, tuple(dict.fromkeys(step.on)), step.args, by, key_of(room, name), expects)


def _check_arguments(step: PlannedStep, name: str, kind: Kind) -> None:
    rule = kind.rule
    if not step.on:
        raise Refused("bad_arguments", f"{name}: it acts on nothing")
    if step.args.keys() != rule.args.keys():
        raise Refused("bad_arguments", f"{name}: the arguments of {kind.name} are {', '.join(rule.args) or 'none'}")
    for argument, value in step.args.items():
        if not fits(value, rule.args[argument]):
            raise Refused("bad_arguments", f"{name}: {argument} is not within what {kind.name} allows")
    if step.expects.keys() != set(rule.counts):
        raise Refused("bad_arguments", f"{name}: expects gives {', '.join(rule.counts) or 'nothing'}")
    if any(type(number) is not int for number in step.expects.values()):
        raise Refused("bad_arguments", f"{name}: expects gives whole numbers")


def _rank(proposal: ProposePlan, lead: str, rules: Rules) -> int:
    claims = rules.classes_of(lead)
    if not claims:
        raise Refused("not_allowed", f"{lead} may claim no class")
    if proposal.priority is None:
        return claims[-1]
    rank = rules.class_named(proposal.priority)
    if rank is None or rank not in claims:
        raise Refused("not_allowed", f"the class {proposal.priority!r} is not {lead}'s to claim")
    return rank


def _basis(
    proposal: ProposePlan, steps: tuple[Action, ...], rules: Rules, versions: Mapping[str, str | None]
) -> dict[str, str]:
    basis = list(dict.fromkeys(other for step in steps for name in step.on for other in rules.basis(name)))
    for name in basis:
        if name not in proposal.seen:
            raise Refused("unseen", f"it rests on {name!r} too: say which version was seen")
    for name in basis:
        if versions[name] is None:
            raise Refused("stale", f"the version of {name!r} is not known")
        if versions[name] != proposal.seen[name]:
            raise Refused("stale", f"{name!r} is at another version than was seen")
    return {name: proposal.seen[name] for name in basis}


def _confirmers(step: Action, lead: str) -> frozenset[str] | None:
    """Return who may confirm the read-back of *step*, or None if none is owed."""
    rule = step.kind.rule
    if not rule.counts and rule.confirmed_by is None and step.by == lead:
        return None
    return frozenset(rule.confirmed_by or (lead,)) - {step.by}


def undo_of(step: Action, rules: Rules, room: str) -> Action | None:
    """Return what compensates for *step*, or None where nothing does."""
    if step.kind.undo is None:
        return None
    name = f"{step.id}.undo"
    return Action(name, rules.kinds[step.kind.undo], step.on, step.args, step.by, key_of(room, name), undoes=step)


def reads_digest(plan: Plan) -> str:
    """Return the digest of what was read back of *plan*: which a confirmation may name."""
    return digest({step.id: step.read for step in plan.steps if step.read is not None})
