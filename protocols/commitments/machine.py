"""The machine under the tracker: events reach the conditions that wait for them, time closes windows, states move.

What is to be judged stands in ``_work``, ordered so that a commitment comes after those that its conditions name:
what is impossible at an instant is only said once everything that the same instant brings is known.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from protocols.commitments.acts import Transition
from protocols.commitments.conditions import AGREED
from protocols.commitments.counting import count, restart, shifts_at, start_by_time
from protocols.commitments.deadlines import INSTANCE, SILENCE, Deadline
from protocols.commitments.evaluation import (
    ANSWERED,
    BEST,
    FALSE,
    OPEN,
    TRUE,
    Answer,
    evaluate,
)
from protocols.commitments.instances import Instance, Items
from protocols.commitments.lifecycle import (
    CONDITIONAL,
    DETACHED,
    NONE,
    PENDING,
    TERMINAL,
    TERMINATED,
    VIOLATED,
    Move,
    target,
)
from protocols.commitments.programs import BEFORE_ALL, NEVER, Leaf, Program, Route
from protocols.commitments.registry import Registry
from protocols.commitments.reports import Report
from protocols.core.instants import Instant


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that came true, kept for terms that are declared later: an event, or a commitment's new state."""

    at: Instant
    known: Instant
    items: Items
    event: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    state: str | None = None
    commitment: str | None = None
    value: str | None = None


@dataclass(slots=True)
class Machine(Registry):
    """The registry, in motion. It has three clocks, which agree unless a deadline is passing.

    ``log`` is the log's own time: that of the latest act.
    ``now`` is the instant that is judged: one microsecond after the deadline that is passing.
    ``stamp`` is the time since which whatever is found then counts as known: the deadline itself.
    Example: a window closes at 12:00, and the next act comes at 14:00. The closing is judged with ``log`` at 14:00,
    ``now`` one microsecond after 12:00, and ``stamp`` at 12:00.
    """

    now: Instant = BEFORE_ALL
    log: Instant = BEFORE_ALL
    stamp: Instant = BEFORE_ALL
    assumed: set[str] = field(default_factory=set)
    transitions: list[Transition] = field(default_factory=list)
    past: list[Fact] | None = None
    _work: list[tuple[int, int]] = field(default_factory=list)

    # -- terms ----------------------------------------------------------------------------------------------------

    def assume(self, names: Iterable[str]) -> None:
        """Bring commitments into being as if they were created before everything (docs/tracker.md, clause 17)."""
        self.assumed.update(names)
        now, stamp, self.stamp = self.now, self.stamp, BEFORE_ALL
        for name in sorted(names, key=self.ranks.__getitem__):
            for instance in self.all_of(name):
                if instance.opened:
                    self.create(instance, BEFORE_ALL, ())
        self.run()
        self.now, self.stamp = now, stamp

    # -- events ---------------------------------------------------------------------------------------------------

    def happened(self, event: str, attributes: Mapping[str, str], at: Instant, known: Instant, items: Items) -> None:
        """Let an established event reach everything that counts it: it happened at *at* and is known since *known*."""
        if self.past is not None:
            self.past.append(Fact(at, known, items, event, attributes))
        for name, route in self.on_event.get(event, ()):
            for instance in self.reached(name, event, route, attributes):
                if count(instance, route, attributes, at, known, items, self.now):
                    heappush(self._work, (self.ranks[name], instance.number))

    def recall(self, fact: Fact, sources: Mapping[str, Program], only: Container[str]) -> None:
        """Let a past fact reach the commitments in *only*; *sources* are those that the fact may be about."""
        if fact.event is not None:
            for name, route in self.on_event.get(fact.event, ()):
                if name in only:
                    for instance in self.reached(name, fact.event, route, fact.attributes):
                        count(instance, route, fact.attributes, fact.at, fact.known, fact.items, self.now)
            return
        for name, wanted, route in self.on_state.get((fact.state or "", fact.commitment or ""), ()):
            if name in only:
                each = sources[fact.commitment or ""].each
                self._hear(name, wanted, route, each, fact.value, fact.at, fact.known, fact.items)

    def open_with_others(self, only: Container[str]) -> None:
        """Open the instances of *only* that open instances of other commitments bring with them (clause 23)."""
        for source, names in self.opened_by.items():
            for instance in self.values[source].values():
                if instance.opened:
                    self._open_along(instance, [name for name in names if name in only])

    def reached(self, name: str, event: str, route: Route, attributes: Mapping[str, str]) -> Iterable[Instance]:
        """Return the instances of commitment *name* that a report concerns.

        Open an instance if the report opens one.
        """
        each = self.programs[name].each
        if each is None:
            return (self.bases[name],)
        if event == AGREED:
            return self.all_of(name)
        value = attributes.get(each)
        if value is None:
            return ()
        instance = self.values[name].get(value)
        if instance is None:
            instance = self.new(self.programs[name], value)
        if route.opens and not instance.opened:
            self._open(instance)
        return (instance,)

    def _open(self, instance: Instance) -> None:
        base = self.bases[instance.program.id]
        if base.state is TERMINATED:
            return
        instance.opened = True
        if base.state is not NONE:
            created = BEFORE_ALL if base.program.id in self.assumed else max(self.stamp, base.floor)
            self.create(instance, created, base.because)
            if base.state is PENDING and instance.state not in TERMINAL:
                self.suspend(instance, self.stamp, base.because, base.due)
        self._open_along(instance, self.opened_by.get(instance.program.id, ()))

    def _open_along(self, instance: Instance, names: Iterable[str]) -> None:
        assert instance.value is not None
        for name in names:
            other = self.values[name].get(instance.value) or self.new(self.programs[name], instance.value)
            if not other.opened:
                self._open(other)

    # -- reports that wait for an answer --------------------------------------------------------------------------

    def expect(self, report: Report, until: Instant | None, only: Container[str] | None = None) -> None:
        """Let an unsettled report wait wherever it would count; silence settles it at *until*."""
        for instance, leaf in self._touched(report):
            if only is not None and instance.program.id not in only:
                continue
            if instance.unsettled is None:
                instance.unsettled = {}
            instance.unsettled.setdefault(leaf.index, []).append(report)
            heappush(self._work, (self.ranks[instance.program.id], instance.number))
        if until is not None:
            self.deadlines.silences.add(report.number)
            self.deadlines.push(Deadline(until, SILENCE, report.number))

    def disputed(self, report: Report) -> None:
        """Judge again wherever *report* would count; silence can no longer settle it."""
        self.deadlines.silences.discard(report.number)
        for instance, _ in self._touched(report):
            heappush(self._work, (self.ranks[instance.program.id], instance.number))

    def settle(self, report: Report, known: Instant | None, items: Items) -> None:
        """Remove *report* from where it waits; if it holds, it is known since *known*."""
        self.deadlines.silences.discard(report.number)
        for instance, leaf in self._touched(report):
            waiting = instance.unsettled
            if waiting is not None and leaf.index in waiting:
                waiting[leaf.index] = [r for r in waiting[leaf.index] if r.number != report.number]
                if not waiting[leaf.index]:
                    del waiting[leaf.index]
                if not waiting:
                    instance.unsettled = None
            heappush(self._work, (self.ranks[instance.program.id], instance.number))
        if known is not None:
            self.happened(report.event, report.attributes, report.at, known, items)

    def _touched(self, report: Report) -> Iterator[tuple[Instance, Leaf]]:
        for name, route in self.on_event.get(report.event, ()):
            for instance in self.reached(name, report.event, route, report.attributes):
                if instance.marks is not None:
                    for leaf in route.leaves:
                        if report.at >= leaf.first and leaf.counts_report(report.attributes):
                            yield instance, leaf

    def note_repeated(self, event: str, attributes: Mapping[str, str]) -> list[str]:
        """Note a repeated report wherever it would have counted twice; return those commitments."""
        noted = []
        for name, route in self.on_event.get(event, ()):
            for instance in self.reached(name, event, route, attributes):
                if any(leaf.counts_report(attributes) for leaf in route.leaves):
                    noted.append(instance.name)
                    self.note(instance, "duplicate")
        return noted

    @staticmethod
    def note(instance: Instance, word: str) -> None:
        """Add *word* to the notes of an instance, once."""
        if word not in instance.notes:
            instance.notes = (*instance.notes, word)

    # -- time -----------------------------------------------------------------------------------------------------

    def due(self, before: Instant) -> "Iterator[int]":
        """Let every deadline before the instant *before* pass, in order; yield the reports that silence settles.

        The caller must settle each report before it asks for the next one.
        """
        deadlines = self.deadlines.heap
        while deadlines and deadlines[0].last < before:
            last = deadlines[0].last
            self.now, self.stamp = last + 1, last
            while deadlines and deadlines[0].last == last:
                _, kind, number = heappop(deadlines)
                if kind is SILENCE:
                    if number in self.deadlines.silences:
                        yield number
                    continue
                instance = self.instances[number]
                if instance.due != last:
                    continue
                instance.due = None
                if instance.state is PENDING:
                    self.resume(instance, last + 1, instance.because)
                else:
                    heappush(self._work, (self.ranks[instance.program.id], number))
            self.run()

    def _schedule(self, instance: Instance, last: Instant | None) -> None:
        if last is not None and last >= NEVER:
            last = None
        if last != instance.due:
            instance.due = last
            if last is not None:
                self.deadlines.push(Deadline(last, INSTANCE, instance.number))

    # -- states ---------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Judge everything that may have changed until nothing moves.

        Afterwards the earliest deadline is one that still matters.
        """
        work = self._work
        while work:
            number = heappop(work)[1]
            while work and work[0][1] == number:
                heappop(work)
            self._judge(self.instances[number])
        self.deadlines.drop_stale()

    def _judge(self, instance: Instance) -> None:
        state = instance.state
        if state is NONE or state in TERMINAL or state is PENDING or instance.is_base:
            return
        until = start_by_time(instance, self.now) if instance.program.timed else NEVER
        if instance.standing is CONDITIONAL:
            until = self._judge_conditional(instance, until)
        if instance.standing is DETACHED:
            until = self._judge_detached(instance, until)
        if instance.state not in TERMINAL:
            self._schedule(instance, until)

    def _judge_conditional(self, instance: Instance, until: Instant) -> Instant:
        """Judge the antecedent, then the consequent.

        The result is *until*, or an earlier instant at which time changes more.
        """
        program = instance.program
        holds = evaluate(program.antecedent, instance, self.now)
        if holds.verdict is TRUE:
            self.move(instance, Move.DETACH, holds.at, holds.items)
            return until
        if holds.verdict is OPEN:
            until = min(until, holds.at)
        if instance.state is CONDITIONAL:
            done = evaluate(program.consequent, instance, self.now)
            if done.verdict is TRUE:
                self.move(instance, Move.SATISFY, done.at, done.items)
                return until
            if done.verdict is OPEN and program.done_by_time:
                until = min(until, done.at)
        if holds.verdict is FALSE:
            until = min(until, self._fail(instance, Move.EXPIRE, holds))
        return until

    def _judge_detached(self, instance: Instance, until: Instant) -> Instant:
        done = evaluate(instance.program.consequent, instance, self.now)
        if done.verdict is TRUE:
            self.move(instance, Move.SATISFY, done.at, done.items)
            return until
        return min(until, done.at if done.verdict is OPEN else self._fail(instance, Move.VIOLATE, done))

    def _fail(self, instance: Instance, move: Move, worst: Answer) -> Instant:
        """Move an instance whose condition fails in the worst reading; return when time alone changes more."""
        # docs/tracker.md, clause 15: "A state is reached when all readings agree." If only unsettled reports leave it
        # open, the state is unconfirmed (the unanswered ones would suffice) or disputed.
        program = instance.program
        node = program.antecedent if move is Move.EXPIRE else program.consequent
        best = worst if instance.unsettled is None else evaluate(node, instance, self.now, BEST)
        if best.verdict is FALSE:
            self.move(instance, move, best.at, best.items)
        elif best.verdict is TRUE:
            answered = evaluate(node, instance, self.now, ANSWERED)
            since = max(worst.at, best.at)
            if answered.verdict is TRUE:
                self._wait(instance, Move.MISS_ANSWER, since, answered.items)
            else:
                # Clause 15: "since the deadline, or since the dispute if that is later".
                since = max(since, self._last_dispute(instance, best.items))
                self._wait(instance, Move.MEET_DISPUTE, since, best.items)
        return best.at if best.verdict is OPEN else NEVER

    @staticmethod
    def _last_dispute(instance: Instance, items: Items) -> Instant:
        """Return when the last of those disputes began that keep a condition from holding because of *items*."""
        leaves = instance.program.leaves
        return max(
            (
                report.disputed_at
                for index, reports in (instance.unsettled or {}).items()
                for report in reports
                if report.disputed_at is not None and (report.item in items or leaves[index].negated)
            ),
            default=BEFORE_ALL,
        )

    def _wait(self, instance: Instance, move: Move, since: Instant, items: Items) -> None:
        if instance.state is not target(instance.state, move, instance.before):
            instance.before = instance.standing
            self.move(instance, move, since, items)

    def move(self, instance: Instance, move: Move, since: Instant, items: Items) -> None:
        """Make a move of the table and tell everything that waits for it."""
        before, after = instance.state, target(instance.state, move, instance.before)
        known = max(since, self.stamp)
        # docs/tracker.md, clause 3: `since` is "never before creation, nor before the `since` of the preceding state".
        since = max(since, instance.floor)
        instance.state, instance.since, instance.because = after, since, items
        if after is CONDITIONAL or after is DETACHED:
            instance.floor = since
        name = instance.name
        if self.log > BEFORE_ALL:
            shown = None if since <= BEFORE_ALL else since
            self.transitions.append(Transition(name, before.value, after.value, shown, self.log, items))
        if after in TERMINAL:
            instance.due = instance.offer = instance.suspended_at = instance.waiting = None
            if after is not VIOLATED and not instance.is_base:
                instance.marks, instance.unsettled = None, None
        if move is not Move.RESUME and after is not PENDING:
            self.tell(instance, "created" if move is Move.CREATE else after.value, since, known, items)

    def tell(self, source: Instance, state: str, at: Instant, known: Instant, items: Items) -> None:
        """Tell everything that waits for it that *source* entered *state*."""
        program = source.program
        if known <= BEFORE_ALL or at <= BEFORE_ALL:
            at = known = BEFORE_ALL
        if self.past is not None:
            self.past.append(Fact(at, known, items, state=state, commitment=program.id, value=source.value))
        for name, wanted, route in self.on_state.get((state, program.id), ()):
            self._hear(name, wanted, route, source.program.each, source.value, at, known, items)

    def _hear(
        self,
        name: str,
        wanted: str | None,
        route: Route,
        each: str | None,
        value: str | None,
        at: Instant,
        known: Instant,
        items: Items,
    ) -> None:
        """Let commitment *name* count another's state.

        With the same ``each``, only the instance of that value counts it.
        """
        if wanted is not None and wanted != value:
            return
        listener = self.programs[name]
        if wanted is None and each is not None and listener.each == each:
            if value is None:
                return
            instance = self.values[name].get(value)
            if instance is None:
                instance = self.new(listener, value)
            hearing = [instance]
        else:
            hearing = self.all_of(name)
        for instance in hearing:
            if count(instance, route, {}, at, known, items, self.now):
                heappush(self._work, (self.ranks[name], instance.number))

    def create(self, instance: Instance, at: Instant, items: Items) -> None:
        """Bring an instance into being."""
        self.move(instance, Move.CREATE, at, items)
        heappush(self._work, (self.ranks[instance.program.id], instance.number))

    def suspend(self, instance: Instance, at: Instant, items: Items, last: Instant | None) -> None:
        """Stop an instance's clocks; *last* is the last instant of a suspension that ends by itself."""
        instance.before = instance.state
        self.move(instance, Move.SUSPEND, at, items)
        instance.suspended_at = at
        self._schedule(instance, last)

    def resume(self, instance: Instance, at: Instant, items: Items) -> None:
        """Let the clocks run again: every end that was open moves by the duration of the suspension (clause 21)."""
        instance.shifts = shifts_at(instance, at)
        waiting, instance.suspended_at, instance.waiting = instance.waiting, None, None
        self._schedule(instance, None)
        self.move(instance, Move.RESUME, at, items)
        for index, started_by in (waiting or {}).items():
            restart(instance, instance.program.clocks[index], at, started_by)
        heappush(self._work, (self.ranks[instance.program.id], instance.number))
