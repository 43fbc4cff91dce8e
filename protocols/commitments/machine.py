"""The machine under the tracker: events reach the conditions that wait for them, time closes windows, states move.

What is to be judged stands in ``_work``, ordered so that a commitment comes after those that its conditions name:
what is impossible at an instant is only said once everything that the same instant brings is known.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Final

from protocols.commitments.acts import Transition
from protocols.commitments.conditions import AGREED
from protocols.commitments.counting import begin_anew, count, start_by_time, starts_at
from protocols.commitments.deadlines import INSTANCE, SILENCE, Deadline
from protocols.commitments.evaluation import (
    ANSWERED,
    BEST,
    FALSE,
    OPEN,
    TRUE,
    WORST,
    Answer,
    Reading,
    evaluate,
)
from protocols.commitments.instances import START_OF_ALL, Instance, Items, Moment
from protocols.commitments.lifecycle import (
    CONDITIONAL,
    DETACHED,
    NONE,
    PENDING,
    TERMINAL,
    TERMINATED,
    UNSETTLED,
    VIOLATED,
    Move,
    target,
)
from protocols.commitments.programs import BEFORE_ALL, FIRST_PLACE, LAST_PLACE, NEVER, Leaf, Program, Route
from protocols.commitments.registry import Registry
from protocols.commitments.reports import Report
from protocols.core.instants import Instant

REPORTS_STAY: Final = "reports_stay"
"""The note if a party left that the rules of the events name: its reports still count."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that came true, kept for terms that are declared later: an event, or a commitment's new state."""

    at: Instant
    place: int
    known: Moment
    items: Items
    event: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    state: str | None = None
    commitment: str | None = None
    value: str | None = None


_FAVOUR: Final = {FALSE: 0, OPEN: 1, TRUE: 2}


@dataclass(slots=True)
class Machine(Registry):
    """The registry, in motion. It has three clocks, which agree unless a deadline is passing.

    ``log`` is the log's own time: that of the latest act.
    ``now`` is the instant that is judged: one microsecond after the deadline that is passing.
    ``stamp`` is the time since which whatever is found then counts as known: the deadline itself, at ``place`` in that
    instant.
    Example: a window closes at 12:00, and the next act comes at 14:00. The closing is judged with ``log`` at 14:00,
    ``now`` one microsecond after 12:00, and ``stamp`` at 12:00.

    ``answered`` are the items of the last answer. ``named`` maps each event to the parties that its rule names.
    """

    now: Instant = BEFORE_ALL
    log: Instant = BEFORE_ALL
    stamp: Instant = BEFORE_ALL
    place: int = LAST_PLACE
    answered: Items = ()
    named: Mapping[str, frozenset[str]] = field(default_factory=dict)
    assumed: set[str] = field(default_factory=set)
    transitions: list[Transition] = field(default_factory=list)
    past: list[Fact] | None = None
    told: Counter[str | tuple[str, str]] = field(default_factory=Counter)
    """How many past facts there are of each event, and of each state of a commitment."""
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
        place, established = items[0], (known, self.place)
        if self.past is not None:
            self.past.append(Fact(at, place, established, items, event, attributes))
            self.told[event] += 1
        for name, route in self.on_event.get(event, ()):
            for instance in self.reached(name, event, route, attributes):
                if count(instance, route, attributes, at, place, established, items, self.now):
                    heappush(self._work, (self.ranks[name], instance.number))

    def recall(self, fact: Fact, sources: Mapping[str, Program], only: Registry) -> None:
        """Let a past fact reach the commitments in *only*; *sources* are those that the fact may be about."""
        if fact.event is not None:
            for name, route in only.on_event.get(fact.event, ()):
                for instance in self.reached(name, fact.event, route, fact.attributes):
                    self._recall_in(instance, route, fact)
            return
        for name, wanted, route in only.on_state.get((fact.state or "", fact.commitment or ""), ()):
            each = sources[fact.commitment or ""].each
            self._hear(name, wanted, route, each, fact.value, fact)

    def _recall_in(self, instance: Instance, route: Route, fact: Fact) -> bool:
        return count(instance, route, fact.attributes, fact.at, fact.place, fact.known, fact.items, self.now)

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
        instance.debtor, instance.creditor, instance.answerable = base.debtor, base.creditor, base.answerable
        if REPORTS_STAY in base.notes:
            self.note(instance, REPORTS_STAY)
        instance.suspensions = base.suspensions
        self.moved(instance)
        if base.state is not NONE:
            created = BEFORE_ALL if base.program.id in self.assumed else max(self.stamp, base.floor[0])
            self.create(instance, created, base.because)
            if base.state is PENDING and instance.state not in TERMINAL:
                instance.suspensions = base.suspensions[:-1]
                self.suspend(instance, self.stamp, base.because, base.due)
                instance.suspensions, instance.suspended_at = base.suspensions, base.suspended_at
        if base.offer is not None:
            stands = base.offer.version == base.version
            instance.offer = base.offer._replace(version=instance.version if stands else -1)
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
            if known is None and leaf.negated and leaf.clock is not None:
                instance.denied = {**(instance.denied or {}), leaf.index: self.stamp}
            waiting = instance.unsettled
            if waiting is not None and leaf.index in waiting:
                waiting[leaf.index] = [r for r in waiting[leaf.index] if r.number != report.number]
                if not waiting[leaf.index]:
                    del waiting[leaf.index]
                if not waiting:
                    instance.unsettled = None
            heappush(self._work, (self.ranks[instance.program.id], instance.number))
        self.answered = items
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
            self.now, self.stamp, self.place = Instant(last + 1), last, LAST_PLACE
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
                    self.resume(instance, Instant(last + 1), instance.because)
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
        """Judge the antecedent and the consequent.

        The result is *until*, or an earlier instant at which time changes more.
        """
        program = instance.program
        holds = evaluate(program.antecedent, instance, self.now)
        if holds.verdict is TRUE:
            self._detach(instance, holds)
            return until
        done = self._judge_consequent(instance, WORST, holds)
        if done.verdict is TRUE and (holds.verdict is OPEN or _is_before(done, holds, instance)):
            self.move(instance, Move.SATISFY, done)
            return until
        if done.verdict is OPEN and program.done_by_time:
            until = min(until, done.at)
        if holds.verdict is FALSE:
            return min(until, self._lapse(instance, holds, done))
        if instance.state is not CONDITIONAL:
            self._reopen(instance)
        return min(until, holds.at)

    def _judge_consequent(self, instance: Instance, reading: Reading, holds: Answer | None = None) -> Answer:
        """Return what the consequent says in *reading*, whatever becomes of the reports that would fix its clocks.

        An antecedent that lapsed, as *holds* says, fixes them as well: what starts a clock later comes too late.
        """
        program, fixed = instance.program, instance
        if holds is not None and holds.verdict is FALSE and instance.runs is not None:
            fixed = replace(instance, starts=starts_at(instance, max(holds.moment, instance.floor)))
        found = evaluate(program.consequent, fixed, self.now, reading)
        if instance.unsettled is None or instance.runs is None or all(len(runs) < 2 for runs in instance.runs):
            return found
        for detached in self._detachments(instance, reading):
            seen = replace(instance, starts=starts_at(instance, detached))
            other = evaluate(program.consequent, seen, self.now, reading)
            if reading is ANSWERED:
                return other
            better = _FAVOUR[other.verdict] - _FAVOUR[found.verdict]
            if (better < 0) if reading is WORST else (better > 0):
                found = other
        return found

    def _detachments(self, instance: Instance, reading: Reading) -> list[Moment]:
        """Return since when *instance* may come to be detached, earlier than it is, once its reports are settled."""
        program, bound = instance.program, instance.bound
        standing = instance.standing is DETACHED
        if not standing:
            bound = instance.floor
        holds = evaluate(program.antecedent, instance, self.now, ANSWERED if reading is ANSWERED else BEST)
        if holds.verdict is not TRUE:
            return []
        found = {holds.moment}
        if reading is not ANSWERED:
            unsettled = (instance.unsettled or {}).items()
            reports = [report for index, reports in unsettled if index < program.conditional for report in reports]
            found |= {(report.at, report.item) for report in reports if (report.at, report.item) > holds.moment}
        moments = sorted(max(moment, bound) for moment in found)
        return [moment for moment in moments if not standing or moment < instance.detached]

    def _detach(self, instance: Instance, holds: Answer) -> None:
        instance.bound = instance.floor
        instance.detached = max(holds.moment, instance.floor)
        self.move(instance, Move.DETACH, holds)
        instance.starts = starts_at(instance, instance.detached)

    def _lapse(self, instance: Instance, holds: Answer, done: Answer) -> Instant:
        """Judge a conditional instance whose antecedent fails in the worst reading; return when time changes more.

        A performance up to the lapse satisfies the commitment; an unsettled one is waited for, as the antecedent is.
        """
        if instance.unsettled is None:
            self.move(instance, Move.EXPIRE, holds)
            return NEVER
        best = evaluate(instance.program.antecedent, instance, self.now, BEST)
        if best.verdict is OPEN:
            self._reopen(instance)
            return best.at
        if best.verdict is TRUE:
            self._wait(instance, max(holds.at, best.at), self._is_met(instance, ANSWERED))
        elif self._is_met(instance, BEST) is not None:
            self._wait(instance, best.at, self._is_met(instance, ANSWERED))
        else:
            self.move(instance, Move.EXPIRE, best)
        return NEVER

    def _is_met(self, instance: Instance, reading: Reading) -> Items | None:
        """Return the items that detach or satisfy a conditional instance in *reading*; ``None`` if nothing does."""
        program = instance.program
        holds = evaluate(program.antecedent, instance, self.now, reading)
        if holds.verdict is TRUE:
            return holds.items
        done = self._judge_consequent(instance, reading, holds)
        in_time = done.verdict is TRUE and (holds.verdict is OPEN or _is_before(done, holds, instance))
        return done.items if in_time else None

    def _judge_detached(self, instance: Instance, until: Instant) -> Instant:
        program = instance.program
        if instance.runs is not None and program.antecedent is not None:
            self._detach_earlier(instance)
        # docs/tracker.md, clause 15: "A state is reached when all readings agree." If only unsettled reports leave it
        # open, the state is unconfirmed (the unanswered ones would suffice) or disputed.
        done = self._judge_consequent(instance, WORST)
        if done.verdict is TRUE:
            self.move(instance, Move.SATISFY, done)
            return until
        if done.verdict is OPEN:
            if instance.state is not DETACHED:
                self._reopen(instance)
            return min(until, done.at)
        best = done if instance.unsettled is None else self._judge_consequent(instance, BEST)
        if best.verdict is FALSE:
            self.move(instance, Move.VIOLATE, best)
        elif best.verdict is TRUE:
            answered = self._judge_consequent(instance, ANSWERED)
            met = answered.items if answered.verdict is TRUE else None
            self._wait(instance, max(done.at, best.at), met, best.items)
        else:
            self._reopen(instance)
            until = min(until, best.at)
        return until

    def _detach_earlier(self, instance: Instance) -> None:
        """Fix the clocks of the consequent by the time at which, as is known now, the antecedent came to hold."""
        holds = evaluate(instance.program.antecedent, instance, self.now)
        if holds.verdict is TRUE and max(holds.moment, instance.bound) < instance.detached:
            instance.detached = max(holds.moment, instance.bound)
            instance.starts = starts_at(instance, instance.detached)

    def _wait(self, instance: Instance, since: Instant, answered: Items | None, disputed: Items = ()) -> None:
        """Let *instance* wait for an answer, or for a decision if the unanswered reports alone would not suffice."""
        move = Move.MEET_DISPUTE if answered is None else Move.MISS_ANSWER
        if instance.state is target(instance.state, move, instance.before):
            return
        if instance.state in UNSETTLED:
            # Clause 15: "since the deadline, or since what made it so if that is later".
            since = max(since, self.stamp)
        else:
            instance.before = instance.standing
        items = disputed if answered is None else answered
        self.move(instance, move, Answer(OPEN, since, LAST_PLACE, items))

    def _reopen(self, instance: Instance) -> None:
        """End the waiting of *instance* for an answer: more than answers is missing now."""
        if instance.state in UNSETTLED:
            floor = instance.floor
            self.move(instance, Move.REOPEN, Answer(OPEN, self.stamp, self.place, self.answered))
            instance.floor = floor

    def move(self, instance: Instance, move: Move, why: Answer) -> None:
        """Make a move of the table and tell everything that waits for it; *why* says since when and because of what."""
        before, after = instance.state, target(instance.state, move, instance.before)
        # docs/tracker.md, clause 3: `since` is "never before creation, nor before the `since` of the preceding state".
        at, items, moment = why.at, why.items, (why.at, why.place)
        moment = max(moment, instance.floor)
        since = moment[0]
        instance.state, instance.since, instance.because = after, since, items
        instance.version += 1
        self.moved(instance)
        if after is CONDITIONAL or after is DETACHED:
            instance.floor = moment
        name = instance.name
        if self.log > BEFORE_ALL:
            shown = None if since <= BEFORE_ALL else since
            self.transitions.append(Transition(name, before.value, after.value, shown, self.log, items))
        if after in TERMINAL:
            instance.due = instance.suspended_at = None
            if after is not VIOLATED and not instance.is_base:
                instance.marks, instance.unsettled, instance.runs = None, None, None
        if move is not Move.RESUME and move is not Move.REOPEN and after is not PENDING:
            state = "created" if move is Move.CREATE else after.value
            if self.past is not None or (state, instance.program.id) in self.on_state:
                known = (self.stamp, self.place) if at <= self.stamp else (at, why.place)
                self.tell(instance, state, moment, known, items)

    def tell(self, source: Instance, state: str, when: Moment, known: Moment, items: Items) -> None:
        """Tell everything that waits for it that *source* entered *state* at *when*, known since *known*."""
        program = source.program
        if known[0] <= BEFORE_ALL or when[0] <= BEFORE_ALL:
            when = known = START_OF_ALL
        fact = Fact(*when, known, items, state=state, commitment=program.id, value=source.value)
        if self.past is not None:
            self.past.append(fact)
            self.told[state, program.id] += 1
        for name, wanted, route in self.on_state.get((state, program.id), ()):
            self._hear(name, wanted, route, source.program.each, source.value, fact)

    def _hear(
        self, name: str, wanted: str | None, route: Route, each: str | None, value: str | None, fact: Fact
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
            if self._recall_in(instance, route, fact):
                heappush(self._work, (self.ranks[name], instance.number))

    def create(self, instance: Instance, at: Instant, items: Items) -> None:
        """Bring an instance into being."""
        self.move(instance, Move.CREATE, self._act(at, items))
        instance.created = instance.floor
        heappush(self._work, (self.ranks[instance.program.id], instance.number))

    def _act(self, at: Instant, items: Items) -> Answer:
        """Return the reason of a move that is made by an act, or by the end of a suspension."""
        return Answer(TRUE, at, self.place if BEFORE_ALL < at <= self.stamp else FIRST_PLACE, items)

    def do(self, instance: Instance, move: Move, items: Items) -> None:
        """Make a party's move now; *items* is its act."""
        self.move(instance, move, self._act(self.now, items))

    def suspend(self, instance: Instance, at: Instant, items: Items, last: Instant | None) -> None:
        """Stop an instance's clocks; *last* is the last instant of a suspension that ends by itself."""
        instance.before = instance.state
        self.move(instance, Move.SUSPEND, self._act(at, items))
        instance.suspended_at = at
        # While it lasts, no end that it found open can pass, and a clock that starts waits until it is over.
        instance.suspensions = (*instance.suspensions, (at, NEVER))
        self._schedule(instance, last)

    def resume(self, instance: Instance, at: Instant, items: Items) -> None:
        """Let the clocks run again: every end that was open moves by the duration of the suspension (clause 21)."""
        stopped = instance.suspended_at
        assert stopped is not None
        instance.suspensions, instance.suspended_at = (*instance.suspensions[:-1], (stopped, at)), None
        self._schedule(instance, None)
        self.move(instance, Move.RESUME, self._act(at, items))
        begin_anew(instance, stopped, at)
        heappush(self._work, (self.ranks[instance.program.id], instance.number))


def _is_before(done: Answer, lapsed: Answer, instance: Instance) -> bool:
    """Return whether the promise was performed by the time the antecedent lapsed; neither is before the state."""
    return max(done.moment, instance.floor) <= max(lapsed.moment, instance.floor)
