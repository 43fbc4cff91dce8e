"""What the tracker says of a commitment: its state with time and cause, its remedies, and notes."""

from dataclasses import dataclass

from protocols.commitments.evaluation import OPEN, can_close, evaluate, holds_late
from protocols.commitments.instances import Instance
from protocols.commitments.lifecycle import OPEN_STATES, State
from protocols.commitments.machine import Machine
from protocols.commitments.programs import BEFORE_ALL, All, Clock, Leaf, Node, Program
from protocols.commitments.tree import LifeCycle
from protocols.core.instants import Instant

NO_REMEDY, DUE, REMEDIED, VIOLATED = "none", "due", "remedied", "violated"


@dataclass(frozen=True, slots=True)
class Status:
    """The status of one commitment or instance.

    ``since`` is when the state came true; ``None`` means before everything. ``because`` are the items of the history,
    or positions on the log, that caused it. ``remedy`` is ``none``, ``due``, ``remedied`` or ``violated``.
    """

    state: str
    since: Instant | None
    because: tuple[int, ...]
    remedy: str
    debtor: str
    creditor: str
    answerable: tuple[str, ...]
    notes: tuple[str, ...]


def status_of(machine: Machine, instance: Instance) -> Status:
    """Return the status of *instance*."""
    none = instance.state is State.NONE
    return Status(
        instance.state.value,
        None if none or instance.since <= BEFORE_ALL else instance.since,
        instance.because,
        remedy_of(machine, instance),
        instance.debtor,
        instance.creditor,
        instance.answerable,
        _notes(machine, instance),
    )


def statuses(machine: Machine) -> dict[str, Status]:
    """Return the status of every commitment, each followed by its instances in the order in which they were opened."""
    found = {}
    for name, base in machine.bases.items():
        found[name] = status_of(machine, base)
        for instance in machine.values[name].values():
            if instance.opened:
                found[instance.name] = status_of(machine, instance)
    return found


def remedy_of(machine: Machine, instance: Instance) -> str:
    """Return how far the violation of *instance* is remedied (docs/tracker.md, clause 22)."""
    if instance.state is not State.VIOLATED:
        return NO_REMEDY
    states = {remedy.state for remedy in machine.remedies_of(instance)}
    if states & OPEN_STATES:
        return DUE
    if State.VIOLATED in states:
        return VIOLATED
    return REMEDIED if State.SATISFIED in states else NO_REMEDY


def _notes(machine: Machine, instance: Instance) -> tuple[str, ...]:
    notes = list(instance.notes)
    program, state = instance.program, instance.state
    # docs/tracker.md, clauses 16 and 10.
    if state is State.VIOLATED and instance.marks is not None and holds_late(program.consequent, instance, machine.now):
        notes.append("late_performance")
    if state in OPEN_STATES and not instance.is_base:
        stopped = _stopped(machine, program)
        waits_for = program.antecedent if instance.standing is State.CONDITIONAL else None
        if waits_for is not None and not can_close(waits_for, stopped):
            notes.append("never_expires")
        if not can_close(program.consequent, stopped):
            notes.append("never_violated")
    return tuple(notes)


def _stopped(machine: Machine, program: Program) -> frozenset[int]:
    """Return the clocks of *program* that never run, since they wait for a creation that was before everything."""

    def never(clock: Clock) -> bool:
        of = clock.of
        if not isinstance(of, Leaf) or not isinstance(of.counts, LifeCycle):
            return False
        return of.counts.state == "created" and of.counts.commitment in machine.assumed

    return frozenset(clock.index for clock in program.clocks if never(clock))


def open_instances(machine: Machine) -> list[Instance]:
    """Return every instance that was created and has not ended, in the order of declaration."""
    return [
        instance
        for name, base in machine.bases.items()
        for instance in (base, *machine.values[name].values())
        if instance.state in OPEN_STATES and not instance.is_base
    ]


def moving(machine: Machine) -> list[str]:
    """Return the open instances that an act or time can still change.

    An instance does not move if it waits for a state that its commitment can no longer reach.
    """
    waiting = open_instances(machine)
    found: list[str] = []
    alive: set[str] = set()
    while True:
        still = []
        for instance in waiting:
            if _can_change(machine, instance, alive):
                alive |= {instance.name, instance.program.id}
                found.append(instance.name)
            else:
                still.append(instance)
        if len(still) == len(waiting):
            order = {instance.name: place for place, instance in enumerate(open_instances(machine))}
            return sorted(found, key=order.__getitem__)
        waiting = still


def is_moving(machine: Machine) -> bool:
    """Return whether `moving` would find anything, without looking at everything."""
    nothing: set[str] = set()
    return any(_can_change(machine, instance, nothing) for instance in machine.live.values())


def _can_change(machine: Machine, instance: Instance, alive: set[str]) -> bool:
    if instance.due is not None or instance.state not in (State.CONDITIONAL, State.DETACHED):
        return True
    program = instance.program
    node = program.antecedent if instance.state is State.CONDITIONAL else program.consequent
    return node is None or _may_hold(machine, instance, node, alive)


def _may_hold(machine: Machine, instance: Instance, node: Node, alive: set[str]) -> bool:
    if not isinstance(node, Leaf):
        found = (_may_hold(machine, instance, part, alive) for part in node.parts)
        return all(found) if isinstance(node, All) else any(found)
    life = node.counts
    if not isinstance(life, LifeCycle) or evaluate(node, instance, machine.now).verdict is not OPEN:
        return True
    program = machine.programs[life.commitment]
    if program.each is not None or life.value is not None:
        return True
    return life.commitment in alive or machine.bases[life.commitment].state is State.NONE
