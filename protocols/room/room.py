"""The room: hands each event of the log to the machine that it concerns, and keeps the steps.

The stages of a room follow one another: joining, then the items of `AGENDA` that the opening lists. When one of them
ends the agenda, or none is left, the result is fixed, and closing follows: everybody signs the result. Promises run
beside all of this, from their creation until none can change state or the watch is over.

One step is open at a time. It closes at the first record with which everyone expected has answered, that record
included, or at the first record whose log time is past its deadline; that record is judged by the step that opens next.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from protocols.accord.machine import Accord
from protocols.commitments.tracker import Tracker
from protocols.concord.machine import Concord
from protocols.core.canonical import digest
from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.core.instants import SECOND, Duration, Instant
from protocols.duties.duties import Duty, TickDuty
from protocols.messages.bodies import kind_of
from protocols.messages.budget import Budget, Left
from protocols.messages.commitments import COMMITMENT_BODIES, CreateCommitment
from protocols.messages.room import Excuse, Leave, RoomOpen, Tick, most_terms
from protocols.room.calendar import Calendar
from protocols.room.closing import Closing
from protocols.room.evidence import Evidence
from protocols.room.joining import REFUSED, Joining, Promising
from protocols.room.outcome import result_of
from protocols.room.promises import Promises
from protocols.room.watch import Watch, check_watch, still_owed
from protocols.stage.setting import Setting
from protocols.stage.spending import Spending
from protocols.stage.stage import Ending, Refused, Stage
from protocols.stage.steps import Plan, Step, is_late
from protocols.stage.table import ABANDONED, AGREED, CLOSED, DONE, NO_AGREEMENT, OPEN, START, Table
from protocols.stage.usage import used_terms, words_of

TICK_SPACING = Duration(SECOND // 5)
"""Members owe a tick one after another, in roster order, so that one record suffices."""


@dataclass(slots=True)
class Room:
    """The state of one room after a prefix of its log."""

    setting: Setting
    position: int
    at: Instant
    calendar: Calendar
    joining: Joining
    spending: Spending
    evidence: Evidence
    watch: Watch
    promises: Promises | None = None
    stages: dict[str, Stage] = field(default_factory=dict)
    """The stages that have begun, by their item of the agenda."""
    closing: Closing | None = None
    stage: Stage | None = None
    step: Step | None = None
    closed: dict[str, Step] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    ending: Ending | None = None
    result: dict[str, Any] | None = None
    over: bool = False
    """Whether the room is over: the agenda is signed, and no promise can change state or the watch has passed."""
    owed: list[str] = field(default_factory=list)
    """The promises that were still owed when the watch had passed."""
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def open(cls, event: Event, author_key: str, *, keeps_moves: bool = False) -> "Room":
        """Open the room from its first record, or raise `Refused` and say what is out of bounds.

        With *keeps_moves* its promises keep every move they make (`Promises.chronicle`), and memory grows with them.
        """
        if event.position != 1 or not isinstance(event.body, RoomOpen):
            raise Refused("not_opened", "a room begins with room.open at position 1")
        setting = Setting.of(event.body, opening_id=event.id, author_key=author_key)
        if setting.keys.get(event.author) != author_key:
            raise Refused("bad_opening", "roster: the author of an opening is one of its members")
        most = most_terms(len(setting.members))
        if len(event.body.terms) >= most:
            raise Refused("bad_opening", f"terms: with {len(setting.members)} members a room has at most {most - 1}")
        calendar = Calendar.of(event.body.rehearsal)
        spending = Spending(event.body.rules.budget or Budget(), setting.members)
        promises = Promises.open(setting, calendar, keeps_moves=keeps_moves)
        rules = event.body.rules
        if promises is not None:
            check_watch(rules.watch_seconds, event.body.events, calendar)
        watch = Watch(rules.watch_seconds)
        room = cls(setting, 1, event.at, calendar, Joining(setting), spending, Evidence(setting), watch, promises)
        room._spend(event)
        room._enter(room.joining)
        return room

    # -- the fold -------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> list[Finding]:
        """Fold one event: let log time move, judge the body, close the step if it is complete."""
        # docs/protocol/rooms.md, "Steps": time moves (1, 2), the cost is counted and the body is judged (3), and a step
        # that everybody has answered closes at this record (4).
        before = len(self.findings)
        self.position = event.position
        self.pass_time(event.at)
        self._spend(event)
        try:
            self.findings += self._take(event)
        except Refused as refused:
            text = f"{kind_of(event.body)} refused: {refused.why}"
            self.findings.append(Finding(refused.code, event.position, event.author, text, refused=True))
        self._close_if_complete()
        self._end_if_over()
        return self.findings[before:]

    def pass_time(self, at: Instant) -> None:
        """Let log time reach *at*: close a step whose deadline has passed, and let promises' windows pass."""
        self.at = max(self.at, at)
        # "Steps", 1: "If the open step's deadline is before log time, the step closes at this record."
        if self.step is not None and is_late(self.step.deadline, self.at):
            self._close_step()
        if self.promises is not None:
            self.findings += self.promises.pass_time(self.at, self.position)
        self._end_if_over()

    def _end_if_over(self) -> None:
        """Note that the room is over, once and finally, and what is owed at that point."""
        if self.over or self.ending is None or self.step is not None:
            return
        passed = self.watch.has_passed(self.promises, self.at)
        self.over = passed or self.ending.outcome == ABANDONED or self.promises is None or not self.promises.is_moving()
        if passed and self.promises is not None:
            owed = still_owed(self.promises, self.position)
            self.owed += owed
            self.findings += owed.values()

    def _spend(self, event: Event) -> None:
        """Count what this entry cost, whatever becomes of it."""
        if not event.cost:
            return
        coordinating = not isinstance(event.body, COMMITMENT_BODIES)
        for who, amount in self.spending.record(event.author, event.cost, coordinating=coordinating):
            text = f"{who or 'the room'} has used more {amount} than its budget"
            self.findings.append(Finding("over_budget", event.position, event.author, text))

    def _take(self, event: Event) -> list[Finding]:
        body = event.body
        if event.author not in self.setting.members:
            raise Refused("not_a_member", "only members of the roster speak in a room")
        # "Steps": `room.tick` is accepted always, `room.leave` once.
        if isinstance(body, Tick):
            return []
        if isinstance(body, RoomOpen):
            raise Refused("already_open", "a room is opened once, at position 1")
        if isinstance(body, Leave):
            if event.author in self.left:
                raise Refused("left", f"{event.author} has left already")
            self.left[event.author] = body.because
            return [Finding("left", event.position, event.author, f"leaves: {body.because}")]
        if isinstance(body, Excuse):
            step = self._step_for(event)
            step.excused[event.author] = body.because
            return [Finding("excused", event.position, event.author, f"{step.id}: {body.because}")]
        if isinstance(body, COMMITMENT_BODIES):
            return self._take_commitment(event)
        return self._answer(event)

    def _step_for(self, event: Event) -> Step:
        """Return the open step that *event* may answer, or raise `Refused`."""
        # "Steps": a body "is refused with the code of the first condition that holds", in the order of that table.
        named, step = getattr(event.body, "step", ""), self.step
        if step is None or named != step.id:
            if named in self.closed:
                raise Refused(
                    "late", f"{named} closed at position {self.closed[named].closed}; kept, counts for nothing"
                )
            now = step.id if step is not None else "none"
            raise Refused("not_open", f"{named} is not open; the open step is {now}")
        if event.author in self.left:
            raise Refused("left", f"{event.author} has left the room")
        if event.seen < step.opened:
            raise Refused("seen_stale", f"{step.id} opened at position {step.opened}, its author had seen {event.seen}")
        kind, volunteers = kind_of(event.body), kind_of(event.body) in step.volunteers
        if event.author not in step.expected and not volunteers:
            raise Refused("not_expected", f"{step.id} is for {', '.join(step.expected)} to answer")
        if event.author in step.answers:
            raise Refused("already_answered", f"{step.id} was answered at position {step.answers[event.author]}")
        if event.author in step.excused:
            raise Refused("already_excused", f"{event.author} excused itself from {step.id}")
        if kind not in (*step.kinds, *step.volunteers, "room.excuse"):
            raise Refused("wrong_kind", f"{step.id} is answered by {' or '.join(step.kinds)}, not by {kind}")
        return step

    def _answer(self, event: Event) -> list[Finding]:
        step = self._step_for(event)
        assert self.stage is not None
        findings = self.stage.answer(step, event)
        # "A body that they refuse is not an answer, and another may follow": a refusal has left this method already.
        if event.author in step.expected:
            step.answers[event.author] = event.position
        if not self.stage.is_void(step, event.author):
            findings += self.evidence.take(event, step)
        return findings

    def _take_commitment(self, event: Event) -> list[Finding]:
        if self.promises is None:
            raise Refused("not_on_agenda", "this room's agenda has no commitments")
        if not self.started:
            raise Refused("not_open", "promises are for a room that everyone has joined")
        if self.over:
            raise Refused("room_over", "the room is over, and nobody watches it any more")
        self.watch.hold(event.body, self.at)
        body, step = event.body, None
        findings: list[Finding] = []
        if isinstance(body, CreateCommitment):
            if body.step is not None:
                step = self._step_for(event)
                assert self.stage is not None
                findings += self.stage.answer(step, event)
            findings += self._open_terms_used(body, event)
        findings += self.promises.take(event, self._optional_commitments())
        if step is not None:
            step.answers[event.author] = event.position
        return findings

    def _optional_commitments(self) -> set[str]:
        """Return the ids of the commitments that options would create on agreement.

        Until then these ids are reserved.
        """
        if self.ending is not None:
            return set()
        options = [] if self.concord is None else [c.option for c in self.concord.candidates.values()]
        if self.setting.opening.status_quo is not None:
            options.append(self.setting.opening.status_quo)
        return {terms.id for option in options for terms in option.commitments}

    def _open_terms_used(self, body: CreateCommitment, event: Event) -> list[Finding]:
        open_terms = [difference["term"] for difference in self.open_differences()]
        return [
            Finding("uses_open_term", event.position, event.author, f"{terms.id} uses {term!r}, whose meaning is open")
            for terms in body.commitments
            for term in used_terms(open_terms, words_of(terms))
        ]

    # -- steps and stages -----------------------------------------------------------------------------------------

    @property
    def accord(self) -> Accord | None:
        """The Accord, once it has begun."""
        stage = self.stages.get("accord")
        return stage if isinstance(stage, Accord) else None

    @property
    def concord(self) -> Concord | None:
        """The Concord, once it has begun."""
        stage = self.stages.get("concord")
        return stage if isinstance(stage, Concord) else None

    @property
    def tracker(self) -> Tracker | None:
        """What became of each promise; None if commitments are not on the agenda."""
        return None if self.promises is None else self.promises.tracker

    @property
    def started(self) -> bool:
        """Whether everyone has joined."""
        return self.stage is not self.joining and (self.ending is None or self.ending.outcome != ABANDONED)

    @property
    def present(self) -> list[str]:
        """The members who have not left, in roster order."""
        return [member for member in self.setting.members if member not in self.left]

    def _close_if_complete(self) -> None:
        if self.step is None or self.stage is None:
            return
        if self.stage.is_decided(self.present) or not self.step.awaited(self.present):
            self._close_step()

    def _close_step(self) -> None:
        step, stage = self.step, self.stage
        assert step is not None and stage is not None
        step.closed, self.step = self.position, None
        self.closed[step.id] = step
        # "If a step closes by 1, each member that is still awaited is `silent`."
        if is_late(step.deadline, self.at):
            self.findings += [
                Finding("silent", self.position, member, f"{member} did not answer {step.id} by its deadline")
                for member in step.awaited(self.present)
            ]
        following, findings = stage.close(step, self.present)
        self.findings += findings
        # "Budgets and loops": with nothing left of an amount, no further step opens, except those beyond the budget.
        spent = self.spending.used_up()
        if spent is not None and isinstance(following, Plan) and self.ending is None and not following.beyond_budget:
            following = Ending(NO_AGREEMENT, f"budget: the room has no {spent} left")
        self.spending.share_out(self.present)
        self._follow(following)

    def _follow(self, following: Plan | Ending | None) -> None:
        if isinstance(following, Plan):
            seconds = self.setting.opening.rules.step_seconds
            self.step = Step.open(following, position=self.position, at=self.at, seconds=seconds)
            self.spending.share_out(self.step.expected)
            # "Steps", 4: "A step that waits for nobody closes where it opens."
            self._close_if_complete()
        elif isinstance(following, Ending):
            self._end(following)
        else:
            self._next_stage()

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self._follow(stage.begin(self.present))

    def _next_stage(self) -> None:
        agenda = self.setting.opening.agenda
        if self.closing is not None:
            # The result is signed: the rest of the agenda is not carried out.
            self.stage = None
            return
        # "Joining": "Without `concord` on the agenda, the room is *agreed* at this record."
        if self.stage is self.joining and "concord" not in agenda:
            self._agree()
        for item, stage_of in AGENDA.items():
            if item in agenda and item not in self.stages:
                self.stages[item] = stage_of(self)
                return self._enter(self.stages[item])
        return self._end(Ending(OPEN))

    def open_differences(self) -> list[dict[str, Any]]:
        """Return the differences of meaning that stay open; each ratification signs them together with the outcome."""
        if self.accord is None:
            return []
        carried = [d for d in self.accord.divergences if d.status == "carried"]
        return [{"term": d.term, "between": list(d.between)} for d in carried]

    def _agree(self) -> None:
        self.calendar.start(self.at)
        if self.promises is not None:
            self.promises.agree(self.at, self.position)

    def _end(self, ending: Ending) -> None:
        self.ending, self.watch.began, self.stage = ending, self.at, None
        if ending.outcome == AGREED:
            self._agree()
            if self.promises is not None and self.concord is not None:
                chosen = self.concord.candidates[self.concord.standing or ""].option
                self.promises.create(chosen.commitments, self.at, self.position)
        if ending.outcome == ABANDONED:
            self.findings.append(Finding("abandoned", self.position, "", ending.reason or ""))
        self.result = result_of(self.setting, ending, self.accord, self.concord, self.tracker)
        if ending.outcome != ABANDONED:
            self.closing = Closing(digest(self.result))
            self._enter(self.closing)

    # -- what is owed ---------------------------------------------------------------------------------------------

    def moving(self) -> list[str]:
        """Return the ids of the commitments whose state can still change."""
        return [] if self.promises is None else self.promises.moving()

    def deadline(self) -> Instant | None:
        """Return the next log time after which something changes even if nobody speaks."""
        if self.over:
            return None
        deadlines = [self.step.deadline] if self.step is not None else []
        due = None if self.promises is None else self.promises.deadline(self.at)
        if due is not None:
            deadlines.append(due)
        if self.ending is not None and self.step is None:
            deadlines.append(self.watch.last(self.promises))
        return min(deadlines, default=None)

    def duties(self, member: str) -> list[Duty]:
        """Return what *member* is expected to do next, without what it has done already."""
        if self.over:
            return []
        duties: list[Duty] = []
        if self.step is not None and self.stage is not None and member in self.step.awaited(self.present):
            duties.append(self.stage.duty(self.step, member))
        if self.promises is not None and self.started:
            duties.append(self.promises.duty(member))
        deadline = self.deadline()
        if deadline is not None:
            turn = self.setting.members.index(member)
            duties.append(TickDuty(member=member, deadline=deadline, at=Instant(deadline + turn * TICK_SPACING)))
        return duties

    def allowance(self, member: str) -> Left:
        """Return what *member* may still use of its own budget and of its share of the room's."""
        return self.spending.left(member)

    def check(self, member: str, said: Any) -> None:
        """Raise `Refused` if *said* (sealed content, or a body) is not a valid answer of *member* to the open step."""
        if self.step is not None and self.stage is not None:
            self.stage.check(self.step, member, said)

    def elapsed_since(self, condition: str, now: Instant) -> Duration | None:
        """Return how long ago *condition* on promises came true, in microseconds of the log before *now*.

        If it has not, the result is None.
        """
        return None if self.promises is None else self.promises.elapsed_since(condition, now)


AGENDA: Final[Mapping[str, Callable[[Room], Stage]]] = {
    "commitments": lambda room: Promising(room.setting),
    "accord": lambda room: Accord(room.setting, room.joining.terms()),
    "concord": lambda room: Concord(room.setting, room.tracker, room.open_differences(), spending=room.spending),
}
"""The stages in the order in which a room goes through them, by their item of the opening's agenda.

Promises are made first, so that options and meanings may name them; what follows from them runs beside everything.
"""


def _order() -> Table:
    rows = {"joining": [*AGENDA]} | {item: [*AGENDA][place + 1 :] for place, item in enumerate(AGENDA)}
    table = {stage: {f"{item} is next on the agenda": item for item in later} for stage, later in rows.items()}
    table["joining"][REFUSED] = ABANDONED
    for row in table.values():
        row["nothing is left of it, or a stage has ended it"] = "closing"
    return {START: {CLOSED: "joining"}, **table, "closing": {CLOSED: DONE}}


STAGES: Final[Table] = _order()
"""Stage → turn → stage: how `Room` goes through the agenda."""
