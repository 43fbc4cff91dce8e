"""When a condition came true for an onlooker: the past is replayed once, and the present decides."""

from protocols.commitments.counting import start_by_time
from protocols.commitments.evaluation import TRUE, evaluate
from protocols.commitments.instances import Instance
from protocols.commitments.lifecycle import State
from protocols.commitments.machine import Machine
from protocols.commitments.programs import Program, compile_conditions
from protocols.commitments.tree import Condition, Event
from protocols.core.instants import FIRST, Instant
from protocols.messages.commitments import CommitmentTerms

_NOBODY = "-"


def came_true(condition: Condition, machine: Machine, confirmable: frozenset[str]) -> Instant | None:
    """Return when *condition* came to hold as far as is known by now: when the fact that made it true was established.

    Raises ``ValueError`` if the past was not kept.
    """
    if machine.past is None:
        raise ValueError("this tracker does not keep the past, so nothing can be asked of it")
    terms = CommitmentTerms(id=_NOBODY, debtor=_NOBODY, creditor=_NOBODY, consequent="never")
    looking = _looking(compile_conditions(terms, condition, Event("never"), confirmable))
    base = looking.bases[_NOBODY]
    for fact in machine.past:
        true_at = _true_at(looking, base, fact.known[0])
        if true_at is not None:
            return true_at
        looking.recall(fact, machine.programs, looking)
        true_at = _true_at(looking, base, fact.known[0])
        if true_at is not None:
            return max(true_at, fact.known[0])
    return _true_at(looking, base, machine.now)


def _true_at(looking: Machine, base: Instance, now: Instant) -> Instant | None:
    looking.now = now
    start_by_time(base, now)
    found = evaluate(base.program.antecedent, base, now)
    return max(found.at, FIRST) if found.verdict is TRUE else None


def _looking(program: Program) -> Machine:
    looking = Machine()
    looking.add(program)
    looking.ranks[program.id] = 0
    looking.bases[program.id].state = State.CONDITIONAL
    return looking
