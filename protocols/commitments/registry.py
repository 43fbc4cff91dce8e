"""What is known of commitments: programs, their instances, and what waits for what."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from protocols.commitments.deadlines import Deadlines
from protocols.commitments.instances import Instance, Tally
from protocols.commitments.lifecycle import OPEN_STATES, State
from protocols.commitments.programs import Program, Route
from protocols.commitments.tree import mentioned
from protocols.messages.commitments import ROLE


@dataclass(slots=True)
class Registry:
    """All commitments and instances, looked up by what concerns them.

    ``values`` maps a commitment with ``each`` to its instances by value, including those that nothing has opened yet.
    ``ranks`` order commitments so that each comes after those that its conditions name. ``opened_by`` lists the
    commitments whose instances an instance opens; ``remedies`` lists those whose antecedents wait for a violation.
    """

    programs: dict[str, Program] = field(default_factory=dict)
    bases: dict[str, Instance] = field(default_factory=dict)
    values: dict[str, dict[str, Instance]] = field(default_factory=dict)
    instances: list[Instance] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    on_event: dict[str, list[tuple[str, Route]]] = field(default_factory=dict)
    on_state: dict[tuple[str, str], list[tuple[str, str | None, Route]]] = field(default_factory=dict)
    opened_by: dict[str, list[str]] = field(default_factory=dict)
    remedies: dict[str, list[tuple[str, str | None]]] = field(default_factory=dict)
    states: dict[str, dict[str, State]] = field(default_factory=dict)
    """The state of each commitment and of its open instances, by name; kept, so that it need not be recomputed."""
    live: dict[int, Instance] = field(default_factory=dict)
    """The instances that were created and have not ended, by number."""
    deadlines: Deadlines = field(init=False)

    def __post_init__(self) -> None:
        self.deadlines = Deadlines(self.instances)

    def add(self, program: Program) -> None:
        """Add a program; nothing of it exists before it is created."""
        self.programs[program.id] = program
        self.values[program.id] = {}
        self.new(program, None)
        for event, route in program.events.items():
            self.on_event.setdefault(event, []).append((program.id, route))
        for life, route in program.states.items():
            self.on_state.setdefault((life.state, life.commitment), []).append((program.id, life.value, route))

    def settle_order(self, ranks: dict[str, int]) -> None:
        """Take *ranks* as the order of judging, and work out which commitments open and which remedy which."""
        self.ranks = ranks
        self.opened_by, self.remedies = {}, {}
        for name, program in self.programs.items():
            for life, route in program.states.items():
                if route.opens and program.each is not None and self._each(life.commitment) == program.each:
                    opened = self.opened_by.setdefault(life.commitment, [])
                    opened += [] if name in opened else [name]
            for life in () if program.if_ is None else mentioned(program.if_):
                if life.state == "violated":
                    remedies = self.remedies.setdefault(life.commitment, [])
                    remedies += [] if (name, life.value) in remedies else [(name, life.value)]

    def all_of(self, name: str) -> list[Instance]:
        """Return the base of commitment *name* and its instances, including unopened ones."""
        return [self.bases[name], *self.values[name].values()]

    def holder(self, name: str | None, attributes: Mapping[str, str]) -> str | None:
        """Return whom a rule means by *name*: a party, or the present ``debtor(ID)`` or ``creditor(ID)``.

        With ``each``, it is the party of the instance to which *attributes* belong; nobody, if ID is not known.
        """
        place = None if name is None else ROLE.fullmatch(name)
        if place is None:
            return name
        commitment = place["commitment"]
        base = self.bases.get(commitment)
        if base is None:
            return None
        value = attributes.get(base.program.each or "")
        instance = base if value is None else self.values[commitment].get(value)
        if instance is None or not instance.opened:
            instance = base
        return instance.debtor if place["place"] == "debtor" else instance.creditor

    def may_hold(self, name: str | None, member: str) -> bool:
        """Return whether a rule means *member* by *name*, in at least one instance.

        Without a name it means everybody.
        """
        place = None if name is None else ROLE.fullmatch(name)
        if place is None:
            return name in (None, member)
        if place["commitment"] not in self.bases:
            return False
        held = self.all_of(place["commitment"])
        return any(member == getattr(instance, place["place"]) for instance in held if instance.opened)

    def _each(self, commitment: str) -> str | None:
        program = self.programs.get(commitment)
        return None if program is None else program.each

    def new(self, program: Program, value: str | None) -> Instance:
        """Return a new instance for *value*, copied from its base; without a value, the base itself."""
        number = len(self.instances)
        if value is None:
            nothing: list[Any] = [None] * len(program.leaves)
            made = Instance(
                program,
                number,
                None,
                program.debtor,
                program.creditor,
                opened=True,
                marks=nothing,
                starts=[None] * len(program.clocks),
                runs=[[] for _ in program.clocks] if program.late and program.clocks else None,
            )
            self.bases[program.id] = made
            self.states[program.id] = {program.id: made.state}
        else:
            base = self.bases[program.id]
            made = Instance(
                program,
                number,
                value,
                base.debtor,
                base.creditor,
                opened=False,
                marks=[deepcopy(mark) if isinstance(mark, Tally) else mark for mark in base.marks or ()],
                starts=list(base.starts),
                runs=None if base.runs is None else [list(runs) for runs in base.runs],
            )
            self.values[program.id][value] = made
        self.instances.append(made)
        return made

    def moved(self, instance: Instance) -> None:
        """Record the state of *instance*, which has changed or is known for the first time."""
        self.states[instance.program.id][instance.name] = instance.state
        if instance.state in OPEN_STATES and not instance.is_base:
            self.live[instance.number] = instance
        else:
            self.live.pop(instance.number, None)

    def remedies_of(self, instance: Instance) -> list[Instance]:
        """Return the instances whose antecedent waits for the violation of *instance*, whether opened or not."""
        found = []
        for name, wanted in self.remedies.get(instance.program.id, ()):
            program = self.programs[name]
            if wanted is not None and wanted != instance.value:
                continue
            if program.each is None:
                found.append(self.bases[name])
            elif program.each == instance.program.each and wanted is None:
                other = self.values[name].get(instance.value or "")
                found += [] if other is None else [other]
            else:
                found += self.values[name].values()
        return found
