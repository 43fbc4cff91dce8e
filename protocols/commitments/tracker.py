"""The tracker: what became of each commitment, folded from acts. Rooms and histories share it.

Acts come in the order of their time. Each act first lets the deadlines before its instant pass, then changes state, or
is refused and changes nothing. The cost of an act does not grow with the history: events are looked up by name,
instances by value, and deadlines in a heap. Of an ended instance only its end is kept.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from protocols.commitments.acts import (
    ANSWERS,
    NOTHING,
    Act,
    ActRefused,
    Applied,
    Refusal,
    Transition,
    act_of,
)
from protocols.commitments.conditions import AGREED, ConditionError, parse
from protocols.commitments.graph import Trouble, find_troubles, ranks
from protocols.commitments.lifecycle import State
from protocols.commitments.load import MOST_INSTANCES, Load
from protocols.commitments.machine import Machine
from protocols.commitments.onlooker import came_true
from protocols.commitments.operations import Offered, find, offers_to, operate
from protocols.commitments.programs import BEFORE_ALL, Program, compile_terms
from protocols.commitments.registry import Registry
from protocols.commitments.reports import Awaited, Reports
from protocols.commitments.status import Status, is_moving, moving, open_instances, status_of, statuses
from protocols.commitments.tree import Condition, LifeCycle, event_of, leaves
from protocols.core.instants import Instant, later
from protocols.messages.commitments import REPORT, CommitmentTerms, EventRule


@dataclass(slots=True)
class Tracker:
    """The state of all commitments after a prefix of the acts.

    ``powers`` say who may suspend and resume. With ``listed_events_only``, conditions and reports may only name events
    that have a rule. With ``keeps_past`` False, only what can still have an effect is kept: every commitment must then
    be declared before the first act, and `since` cannot be asked. ``most_instances`` bounds the instances of all
    commitments, and with them what one act may cost (`protocols.commitments.load`); None bounds nothing.
    """

    parties: Sequence[str]
    events: Mapping[str, EventRule]
    powers: Mapping[str, list[str]] | None = None
    listed_events_only: bool = field(default=False, kw_only=True)
    keeps_past: bool = field(default=True, kw_only=True)
    most_instances: int | None = field(default=MOST_INSTANCES, kw_only=True)
    _machine: Machine = field(init=False, repr=False)
    _reports: Reports = field(init=False, repr=False)
    _load: Load | None = field(init=False, repr=False)
    _known: dict[str, CommitmentTerms] = field(default_factory=dict, init=False, repr=False)
    _declared: list[tuple[Program, bool]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        named = {event: frozenset(rule.names()) for event, rule in self.events.items()}
        self._machine = Machine(past=[] if self.keeps_past else None, named=named)
        self._reports = Reports(frozenset(self.parties), self.events, self.listed_events_only, self._machine.holder)
        self._load = None if self.most_instances is None else Load(self.most_instances)

    # -- terms ----------------------------------------------------------------------------------------------------

    @property
    def terms(self) -> Mapping[str, CommitmentTerms]:
        """The terms of every commitment that was declared, by its id."""
        return self._known

    def knows(self, name: str) -> bool:
        """Return whether a commitment with the id *name* was declared."""
        return name in self._known

    def check(self, terms: CommitmentTerms, known: Collection[str] = frozenset()) -> None:
        """Raise `ConditionError` if *terms* are impossible.

        *known* are ids of commitments that are made together with them.
        """
        for role, name in (("debtor", terms.debtor), ("creditor", terms.creditor)):
            if name not in self.parties:
                raise ConditionError(f"{role}: {name!r} is no party (parties: {', '.join(self.parties)})")
        for field_name, text in (("if", terms.antecedent), ("then", terms.consequent)):
            if text is not None:
                self._check_names(terms, field_name, parse(text), known)
        for other in terms.excludes or ():
            if other == terms.id or not (self.knows(other) or other in known):
                raise ConditionError(f"excludes: no other commitment has the id {other!r}")

    def _check_names(self, terms: CommitmentTerms, where: str, condition: Condition, known: Collection[str]) -> None:
        for leaf in leaves(condition):
            event = event_of(leaf)
            if event is not None:
                if self.listed_events_only and event.name != AGREED and event.name not in self.events:
                    listed = ", ".join([*self.events, AGREED])
                    raise ConditionError(f"{where}: {event.name!r} is no event of this room (events: {listed})")
            elif isinstance(leaf, LifeCycle):
                if leaf.commitment == terms.id:
                    raise ConditionError(f"{where}: {leaf} is about this commitment itself")
                if not self.knows(leaf.commitment) and leaf.commitment not in known:
                    raise ConditionError(f"{where}: {leaf} names no commitment that is known")
                other = self._known.get(leaf.commitment)
                if leaf.value is not None and other is not None and other.each is None:
                    raise ConditionError(f"{where}: {leaf.commitment} has no instances, so {leaf} cannot be")

    def declare(self, terms: CommitmentTerms, *, assumed: bool) -> None:
        """Add *terms*, without creating them; *assumed* ones count as created before everything.

        Terms that name each other are declared together, before the next act. Raises ``ValueError`` for an id that is
        already known, and for terms that come too late for a tracker that forgot the past.
        """
        if self.knows(terms.id):
            raise ValueError(f"two commitments have the id {terms.id!r}")
        if not self.keeps_past and self._machine.log > BEFORE_ALL:
            raise ValueError("a tracker that keeps no past takes no terms once something was said")
        confirmable = frozenset(name for name, rule in self.events.items() if rule.confirmed_by is not None)
        program = compile_terms(terms, confirmable)
        self._declared.append((program, assumed))
        self._known[terms.id] = terms
        if self._load is not None:
            self._load.add([program], self._named([program]))

    def check_load(self, made: Sequence[CommitmentTerms]) -> None:
        """Raise `ConditionError` if a room with the additional commitments *made* could take too long to fold."""
        if self._load is None:
            return
        confirmable = frozenset(name for name, rule in self.events.items() if rule.confirmed_by is not None)
        programs = [compile_terms(terms, confirmable) for terms in made]
        told = self._machine.told
        recalled = sum(
            sum(told[event] for event in program.events)
            + sum(told[life.state, life.commitment] for life in program.states)
            for program in programs
        )
        self._load.check(programs, self._named(programs), recalled)

    def _named(self, programs: Sequence[Program]) -> dict[str, set[str]]:
        """Return the values that past reports have named for the ``each`` of *programs*."""
        found: dict[str, set[str]] = {program.each: set() for program in programs if program.each is not None}
        for fact in self._machine.past or () if found else ():
            for program in programs:
                value = fact.attributes.get(program.each or "")
                if value is not None and fact.event in program.events:
                    found[program.each or ""].add(value)
        return found

    def _integrate(self) -> None:
        """Bring newly declared terms up to date: events from before their declaration count for them too."""
        if not self._declared:
            return
        machine, declared, self._declared = self._machine, self._declared, []
        for program, _ in declared:
            machine.add(program)
        machine.settle_order(ranks(machine.programs))
        new, only = frozenset(program.id for program, _ in declared), Registry()
        for program, _ in declared:
            only.add(program)
        now, stamp = machine.now, machine.stamp
        for fact in machine.past or ():
            machine.now, machine.stamp, machine.place = fact.known[0], *fact.known
            machine.recall(fact, machine.programs, only)
        machine.open_with_others(new)
        machine.now, machine.stamp = now, stamp
        for report in self._reports.unsettled.values():
            machine.expect(report, None, new)
        machine.run()
        machine.assume([program.id for program, assumed in declared if assumed])

    # -- acts -----------------------------------------------------------------------------------------------------

    def apply(self, act: Act) -> Applied:
        """Let time reach the act's instant, then do what it says or refuse it. Time never runs backwards."""
        self._reach(act.at)
        machine = self._machine
        if act.at != machine.log:
            act = replace(act, at=machine.log)
        machine.place = act.item
        refusals: tuple[Refusal, ...] = ()
        notes: list[str] = []
        try:
            if act.do == REPORT:
                notes = self._report(act)
            elif act.do in ANSWERS:
                self._answer(act)
            else:
                operate(machine, act, self.parties, self.powers or {})
        except ActRefused as refused:
            refusals = (Refusal(act.item, refused.code, refused.why),)
        machine.run()
        if not refusals and not notes and not machine.transitions:
            return NOTHING
        return Applied(refusals, self._moved(), tuple((name, "duplicate") for name in notes))

    def agree(self, at: Instant, item: int) -> None:
        """Let the built-in event ``agreed`` happen, as *item* of the log."""
        self._reach(at)
        self._machine.place = item
        self._machine.happened(AGREED, {}, self._machine.log, self._machine.log, (item,))
        self._machine.run()

    def advance(self, at: Instant, item: int | None = None) -> list[Transition]:
        """Let every deadline before *at* pass: a deadline itself is still in time, one microsecond later is not.

        *item* is the item of the log that shows it, for a tracker that keeps its moves (`Chronicle`).
        """
        self._reach(at)
        return list(self._moved())

    def _moved(self) -> tuple[Transition, ...]:
        moved = tuple(self._machine.transitions)
        self._machine.transitions.clear()
        return moved

    def _reach(self, at: Instant) -> None:
        if self._declared:
            self._integrate()
        machine = self._machine
        if at > machine.log:
            machine.log = at
            deadlines = machine.deadlines.heap
            if deadlines and deadlines[0].last < at:
                for number in machine.due(at):
                    self._be_silent(number)
            machine.now = machine.stamp = at

    def _be_silent(self, number: int) -> None:
        report = self._reports.unsettled[number]
        _, confirms = self._reports.silence_after(report) or (0, False)
        self._reports.settle(report, "silence confirmed it" if confirms else "silence denied it")
        self._machine.settle(report, self._machine.stamp if confirms else None, (report.item,))

    def _report(self, act: Act) -> list[str]:
        reports, machine = self._reports, self._machine
        rule = reports.judge(act)
        event = act.event or ""
        if reports.is_repeated(act):
            return machine.note_repeated(event, act.attributes)
        problem = None if self._load is None else self._load.report(event, act.attributes)
        if problem is not None:
            raise ActRefused("wrong_state", problem)
        report = reports.take(act, rule)
        if report is None:
            machine.happened(event, act.attributes, act.at, act.at, (act.item,))
        else:
            silence = reports.silence_after(report)
            machine.expect(report, None if silence is None else later(report.at, silence[0]))
        return []

    def _answer(self, act: Act) -> None:
        reports, machine = self._reports, self._machine
        report = reports.answer_of(act)
        if act.do == "dispute":
            report.disputed_at = act.at
            machine.disputed(report)
            return
        holds = act.do == "confirm" or bool(act.holds)
        reports.settle(
            report, "confirmed" if act.do == "confirm" else f"decided, {'holds' if holds else 'does not hold'}"
        )
        machine.settle(report, act.at if holds else None, (report.item, act.item))

    # -- questions ------------------------------------------------------------------------------------------------

    def next_deadline(self) -> Instant | None:
        """Return the earliest instant after which something changes without a new act."""
        self._integrate()
        deadlines = self._machine.deadlines.heap
        return deadlines[0].last if deadlines else None

    def status(self, name: str) -> Status:
        """Return the status of the commitment or instance *name*; raises ``KeyError`` if there is none."""
        self._integrate()
        try:
            return status_of(self._machine, find(self._machine, name)[0])
        except ActRefused:
            raise KeyError(name) from None

    def statuses(self) -> dict[str, Status]:
        """Return the status of every commitment and instance, in the order of declaration."""
        self._integrate()
        return statuses(self._machine)

    def states(self) -> dict[str, str]:
        """Return the state of every commitment, each followed by its instances: the states of `statuses`, at once."""
        self._integrate()
        return {name: state.value for states in self._machine.states.values() for name, state in states.items()}

    def is_moving(self) -> bool:
        """Return whether anything is open that an act, or time alone, can still change."""
        self._integrate()
        return is_moving(self._machine)

    def open(self) -> list[str]:
        """Return everything that was created and has not ended."""
        self._integrate()
        return [instance.name for instance in open_instances(self._machine)]

    def moving(self) -> list[str]:
        """Return everything that is open and can still change, by an act or by time."""
        self._integrate()
        return moving(self._machine)

    def answerable_until(self) -> Instant | None:
        """Return the last instant at which a report made so far can be answered in time; None if no report waits."""
        return self._reports.answerable_until()

    def awaiting(self, member: str) -> list[Awaited]:
        """Return the reports that *member* should confirm or dispute, in the order of their time."""
        self._integrate()
        return self._reports.awaiting(member)

    def offers(self, member: str) -> list[Offered]:
        """Return the delegations that *member* may accept, each of a commitment or of one instance."""
        self._integrate()
        return offers_to(self._machine, member)

    def named(self) -> dict[str, set[str]]:
        """Return for each commitment the others that its conditions name."""
        self._integrate()
        return {name: program.named for name, program in self._machine.programs.items()}

    def reportable(self, member: str) -> list[str]:
        """Return the listed events that *member* may report."""
        self._integrate()
        return [event for event, rule in self.events.items() if self._machine.may_hold(rule.by, member)]

    def since(self, condition: str | Condition) -> Instant | None:
        """Return when *condition* came to hold for an onlooker, who knows only what is established.

        If it does not hold, the result is ``None``. Raises `ConditionError` for text that is not a condition.
        """
        self._integrate()
        confirmable = frozenset(name for name, rule in self.events.items() if rule.confirmed_by is not None)
        read = parse(condition) if isinstance(condition, str) else condition
        return came_true(read, self._machine, confirmable)

    def findings(self) -> list[Trouble]:
        """Return the circles, deadlocks and conflicts among the created commitments."""
        self._integrate()
        bases = self._machine.bases
        programs = {name: base.program for name, base in bases.items() if base.state is not State.NONE}
        return find_troubles(programs, {name: bases[name].debtor for name in programs})


__all__ = [
    "MOST_INSTANCES",
    "Act",
    "Applied",
    "Awaited",
    "Offered",
    "Refusal",
    "Status",
    "Tracker",
    "Transition",
    "act_of",
]
