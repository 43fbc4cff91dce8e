"""What parties do to commitments: who may, from which state, and with what effect.

Permission is checked before the state.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from protocols.commitments.acts import Act, ActRefused
from protocols.commitments.evaluation import BEST, TRUE, evaluate
from protocols.commitments.instances import Instance, Offer
from protocols.commitments.lifecycle import MAY, OPEN_STATES, TERMINAL, Move, Role, State, allows
from protocols.commitments.machine import REPORTS_STAY, Machine
from protocols.core.instants import Instant

Powers = Mapping[str, Collection[str]]

WAIVED = "waived"


@dataclass(frozen=True, slots=True)
class Offered:
    """A delegation that somebody may accept: the commitment or instance, and the offer that an accept names."""

    commitment: str
    offer: str | int
    debtor: str
    creditor: str


def offers_to(machine: Machine, member: str) -> list[Offered]:
    """Return the offers to *member* that stand as they were made, in the order of declaration."""
    return [
        Offered(instance.name, offer.id, instance.debtor, instance.creditor)
        for name, base in machine.bases.items()
        for instance in (base, *machine.values[name].values())
        if (offer := instance.offer) is not None
        and offer.to == member
        and offer.version == instance.version
        and allows(instance.state, Move.ACCEPT)
    ]


def operate(machine: Machine, act: Act, parties: Collection[str], powers: Powers) -> None:
    """Do what *act* says, or raise `ActRefused` and change nothing.

    An act on a commitment with ``each`` applies to all its instances, and to future ones, for which the base stands. It
    is refused only if all of them refuse it (clause 23).
    """
    move = Move(act.do)
    if move is Move.CREATE and act.commitment not in machine.programs:
        raise ActRefused("unknown_commitment", f"no commitment has the id {act.commitment!r}")
    instances = find(machine, act.commitment or "")
    if act.to is not None and act.to not in parties:
        raise ActRefused("unknown_party", f"{act.to!r} is no party (parties: {', '.join(parties)})")
    willing: list[Instance] = []
    refusals: list[ActRefused] = []
    for instance in instances:
        try:
            _judge(machine, instance, move, act, powers)
            willing.append(instance)
        except ActRefused as refused:
            refusals.append(refused)
    if not willing:
        raise refusals[-1] if instances[0].is_base else refusals[0]
    for instance in willing:
        _do(machine, instance, move, act)


def find(machine: Machine, name: str) -> list[Instance]:
    """Return the instances that *name* stands for, the base first, or raise `ActRefused`."""
    if name in machine.programs:
        opened = [instance for instance in machine.values[name].values() if instance.opened]
        return [machine.bases[name], *opened]
    commitment, bracket, value = name.partition("[")
    if bracket and value.endswith("]") and commitment in machine.programs:
        instance = machine.values[commitment].get(value[:-1])
        if instance is not None and instance.opened:
            return [instance]
    raise ActRefused("unknown_commitment", f"no commitment has the id {name!r}")


def _judge(machine: Machine, instance: Instance, move: Move, act: Act, powers: Powers) -> None:
    # docs/tracker.md, clause 18, gives the order: not_allowed, terminal_state, wrong_state, offer_changed.
    _permit(instance, move, act, powers)
    name, state = instance.name, instance.state
    if not allows(state, move) or (state is State.VIOLATED and WAIVED in instance.notes):
        if state in TERMINAL:
            raise ActRefused("terminal_state", f"{name} is {state} and stays so")
        raise ActRefused("wrong_state", f"{name} is {state}: no {move} from there")
    # Clause 19: "nobody may keep the money by not confirming it".
    if move is Move.CANCEL and instance.standing is State.CONDITIONAL and _is_given(machine, instance):
        raise ActRefused("wrong_state", f"{name}: a report that nobody has settled would detach it")
    if move is Move.DELEGATE and act.to == instance.debtor:
        raise ActRefused("wrong_state", f"{act.to} is the debtor of {name} already")
    if move is Move.ACCEPT:
        _accept(instance, act)
    if move is Move.SUSPEND and act.until is not None and act.until <= act.at:
        raise ActRefused("wrong_state", f"{name}: the suspension would end before it begins")


def _accept(instance: Instance, act: Act) -> None:
    """Refuse an accept unless it names the standing offer, and nothing has changed since that was made."""
    offer = instance.offer
    assert offer is not None
    if act.offer is not None and act.offer != offer.id:
        raise ActRefused("offer_changed", f"{instance.name} is offered by {offer.id}, not by {act.offer}")
    if offer.version != instance.version:
        raise ActRefused("offer_changed", f"{instance.name} has another party or state than when it was offered")


def _permit(instance: Instance, move: Move, act: Act, powers: Powers) -> None:
    role = MAY[move]
    allowed: Collection[str | None]
    match role:
        case Role.DEBTOR:
            # A creation is the debtor's own signature under its own name, whoever owes the commitment later.
            allowed = (instance.program.debtor if move is Move.CREATE else instance.debtor,)
        case Role.CREDITOR:
            allowed = (instance.creditor,)
        case Role.OFFERED:
            allowed = (None if instance.offer is None else instance.offer.to,)
        case Role.EMPOWERED:
            # Clause 21: "If no `resume` power is given, a party that may suspend may also resume."
            allowed = powers.get(move.value, powers.get("suspend", ()))
    if act.by not in allowed:
        named = [name for name in allowed if name is not None]
        raise ActRefused(
            "not_allowed", f"{move} {instance.name} is for {role.value} ({', '.join(named) or 'nobody'}), not {act.by}"
        )


def _is_given(machine: Machine, instance: Instance) -> bool:
    """Return whether the antecedent holds if every report so far does.

    Nobody may then withdraw (docs/tracker.md, clause 19).
    """
    if instance.is_base:
        return False
    seen = instance
    if instance.state is State.PENDING:
        assert instance.suspended_at is not None
        resumed = (*instance.suspensions[:-1], (instance.suspended_at, machine.now))
        seen = replace(instance, suspensions=resumed, moved={})
    return evaluate(instance.program.antecedent, seen, machine.now, BEST).verdict is TRUE


def _do(machine: Machine, instance: Instance, move: Move, act: Act) -> None:
    at, items = machine.now, (act.item,)
    match move:
        case Move.CREATE:
            machine.create(instance, at, items)
        case Move.DELEGATE:
            instance.offer = Offer(act.to or "", act.item if act.offer is None else act.offer, instance.version)
        case Move.ACCEPT:
            # Clause 20: earlier debtors are answerable.
            earlier = (*(name for name in instance.answerable if name != instance.debtor), instance.debtor)
            instance.answerable = tuple(name for name in earlier if name != act.by)
            _leave(machine, instance, instance.debtor)
            instance.debtor, instance.offer = act.by, None
        case Move.ASSIGN if act.to != instance.creditor:
            _leave(machine, instance, instance.creditor)
            instance.creditor = act.to or instance.creditor
        case Move.ASSIGN:
            pass
        case Move.SUSPEND:
            machine.suspend(instance, at, items, None if act.until is None else Instant(act.until - 1))
        case Move.RESUME:
            machine.resume(instance, at, items)
        case Move.RELEASE | Move.WAIVE if instance.state is State.VIOLATED:
            machine.note(instance, WAIVED)
            for remedy in machine.remedies_of(instance):
                if remedy.state in OPEN_STATES:
                    machine.do(remedy, Move.RELEASE, items)
        case _:
            machine.do(instance, move, items)


def _leave(machine: Machine, instance: Instance, party: str) -> None:
    """Let *party* leave its place; if the rules of the events name it directly, its reports still count."""
    instance.version += 1
    if any(party in machine.named.get(event, ()) for event in instance.program.events):
        machine.note(instance, REPORTS_STAY)
