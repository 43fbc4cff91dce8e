"""The tracker once more, written from docs/tracker.md alone: slow, and without marks, clocks that run or deadlines.

One thing happens a day, at midnight. A day has three phases: it begins (what was ``before`` it is over), its thing
happens, and it has happened (what was ``by`` it is over). At each phase every condition is judged anew from all that
is known. Of the code it shares the parsed tree of a condition, and nothing else. Numbers in brackets are clauses.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from protocols.commitments.tree import After, And, AtLeast, Before, By, Condition, Event, No, Or, Timed, Within
from protocols.core.instants import DAY

TRUE, FALSE, OPEN = "true", "false", "open"
WORST, ANSWERED, BEST = "worst", "answered", "best"
ENDLESS = 10**9
ENDED = ("satisfied", "expired", "violated", "terminated")


@dataclass
class Said:
    """A report: its day, since when it is established, and whether it is disputed, denied or still unanswered."""

    event: str
    day: int
    known: int | None = None
    disputed: bool = False
    denied: bool = False

    @property
    def phase(self) -> int:
        return 3 * self.day + 1

    @property
    def unsettled(self) -> bool:
        return self.known is None and not self.denied


@dataclass
class Slow:
    """One commitment and all that is said, from *first*, the instant of day 1, on; phases are counted from day 0."""

    antecedent: Condition | None
    consequent: Condition
    first: int
    reports: list[Said] = field(default_factory=list)
    happened: dict[tuple[str, Condition], list[int]] = field(default_factory=dict)
    held: dict[tuple[str, Condition], bool] = field(default_factory=dict)
    suspensions: list[list[int]] = field(default_factory=list)
    state: str = "none"
    before: str = ""
    since: int | None = None
    now: int = 0
    created: int | None = None
    detached: int | None = None
    floor: int = -1
    done: int = -1
    bound: int = -1

    def day_of(self, instant: int) -> int:
        return (instant - self.first) // DAY + 1

    # -- windows ------------------------------------------------------------------------------------------------------

    def start(self, side: str, of: Condition, at: int) -> int | None:
        """The day from which the clock of *of* runs at the phase *at* (6), at a resume if it started before it (21)."""
        fixed = self.created if side == "if" else self.detached
        seen = [phase for phase in self.happened.get((side, of), []) if phase <= at]
        up_to = seen if fixed is None else [phase for phase in seen if phase <= fixed]
        if not seen:
            return None
        day = (up_to[-1] if up_to else seen[0]) // 3
        for stopped, resumed in self.suspensions:
            if stopped <= day < resumed:
                day = resumed
        return day

    def last(self, side: str, window: object, at: int) -> int:
        """The last phase inside a window (5), moved by the suspensions that found it open (21)."""
        begins = -ENDLESS
        match window:
            case By(instant):
                end = 3 * self.day_of(instant) + 1
            case Before(instant):
                end = 3 * self.day_of(instant) - 1
            case Within(duration, of):
                day = self.start(side, of, at)
                if day is None or day >= ENDLESS:
                    return ENDLESS
                begins, end = day, 3 * (day + duration // DAY) + 1
            case _:
                return ENDLESS
        for stopped, resumed in self.suspensions:
            if begins < stopped and end >= 3 * stopped + 1:
                end = ENDLESS if resumed >= ENDLESS else end + 3 * (resumed - stopped)
        return end

    # -- conditions ---------------------------------------------------------------------------------------------------

    def judge(self, side: str, condition: Condition | None, at: int, reading: str = WORST) -> str:
        """Say whether *condition* is true, impossible or open at the phase *at*, by what is known now (5-7, 9, 15)."""
        if condition is None:
            return TRUE
        if isinstance(condition, And | Or):
            found = [self.judge(side, part, at, reading) for part in condition.parts]
            decisive, other = (FALSE, TRUE) if isinstance(condition, And) else (TRUE, FALSE)
            return decisive if decisive in found else OPEN if OPEN in found else other
        what, windows = (condition.what, condition.windows) if isinstance(condition, Timed | No) else (condition, ())
        last = min([ENDLESS, *(self.last(side, window, at) for window in windows)])
        first = max([-1, *(3 * self.day_of(window.at) + 2 for window in windows if isinstance(window, After))])
        forbids = isinstance(condition, No)
        if forbids:
            starts = [self.start(side, window.of, at) for window in windows if isinstance(window, Within)]
            if None in starts:
                return TRUE if at > last else OPEN
            first = max([first, *(3 * day for day in starts if day is not None)])
        helps = {WORST: forbids, BEST: not forbids}
        count = 0
        for said in self.reports:
            counts = said.known is not None
            if said.unsettled:
                counts = helps.get(reading, said.disputed == forbids)
            if counts and said.event == _event(what) and first <= said.phase <= min(last, at):
                count += 1
        reached = count >= (what.count if isinstance(what, AtLeast) else 1)
        if forbids:
            return FALSE if reached else TRUE if at > last else OPEN
        return TRUE if reached else FALSE if at > last else OPEN

    def kept(self, reading: str = WORST) -> str:
        """Say what the consequent says in *reading*, whenever the unsettled reports may come to detach it (6, 15)."""
        detached, found = self.detached, [self.judge("then", self.consequent, self.now, reading)]
        assumed = ANSWERED if reading == ANSWERED else BEST
        if self.judge("if", self.antecedent, self.now, assumed) == TRUE:
            since = self.since_when("if", self.antecedent, assumed)
            named = {
                _event(leaf.what if isinstance(leaf, Timed | No) else leaf) for leaf in _all_leaves(self.antecedent)
            }
            later = [
                said.phase for said in self.reports if said.unsettled and said.phase > since and said.event in named
            ]
            bound = self.bound if self.standing == "detached" else self.floor
            for phase in sorted(max(at, bound) for at in ([since] if reading == ANSWERED else [since, *later])):
                if detached is None or phase < detached:
                    self.detached = phase
                    found.append(self.judge("then", self.consequent, self.now, reading))
            self.detached = detached
        if reading == ANSWERED:
            return found[-1] if len(found) > 1 else found[0]
        ranks = [FALSE, OPEN, TRUE] if reading == WORST else [TRUE, OPEN, FALSE]
        return min(found, key=ranks.index)

    def since_when(self, side: str, condition: Condition | None, reading: str = WORST) -> int:
        """The phase since which *condition* says what it says now."""
        verdict, phase = self.judge(side, condition, self.now, reading), self.now
        while phase >= 0 and self.judge(side, condition, phase - 1, reading) == verdict:
            phase -= 1
        return phase

    def let_clocks_start(self) -> None:
        """Note which E happen now (6): they come true, or a part of them happens while they hold."""
        for side, condition in (("if", self.antecedent), ("then", self.consequent)):
            for of in _events_of(condition):
                happens = any(self.part_happens(side, of, leaf) for leaf in _leaves(of))
                true = self.judge(side, of, self.now) == TRUE
                if true and (happens or not self.held.get((side, of), False)):
                    self.happened.setdefault((side, of), []).append(self.now)
                self.held[side, of] = self.judge(side, of, self.now) == TRUE

    def part_happens(self, side: str, of: Condition, leaf: Condition) -> bool:
        what, windows = (leaf.what, leaf.windows) if isinstance(leaf, Timed | No) else (leaf, ())
        if isinstance(leaf, No) or isinstance(what, AtLeast):
            true, key = self.judge(side, leaf, self.now) == TRUE, (f"{side} {of}", leaf)
            before, self.held[key] = self.held.get(key, False), true
            return true and not before
        last = min([ENDLESS, *(self.last(side, window, self.now) for window in windows)])
        first = max([-1, *(3 * self.day_of(window.at) + 2 for window in windows if isinstance(window, After))])
        return any(
            said.known == self.now and said.event == _event(what) and first <= said.phase <= last
            for said in self.reports
        )

    # -- the life cycle -----------------------------------------------------------------------------------------------

    def become(self, state: str, since: int) -> None:
        since = max(since, self.floor)
        self.state, self.since = state, since // 3
        if state in ("conditional", "detached"):
            self.floor = since

    @property
    def standing(self) -> str:
        return self.before if self.state in ("unconfirmed", "disputed", "pending") else self.state

    def settle(self) -> None:
        """Move as far as what is known now allows."""
        self.let_clocks_start()
        if self.state in ("none", "pending", *ENDED):
            return
        if self.standing == "conditional":
            self.settle_conditional()
        if self.standing == "detached":
            self.settle_detached()

    def settle_conditional(self) -> None:
        holds = self.judge("if", self.antecedent, self.now)
        if holds == TRUE:
            since = self.since_when("if", self.antecedent)
            self.bound, self.detached = self.floor, max(since, self.floor)
            self.become("detached", since)
        elif self.met(WORST):
            self.become("satisfied", self.done)
        elif holds == FALSE and self.judge("if", self.antecedent, self.now, BEST) != OPEN:
            best = self.judge("if", self.antecedent, self.now, BEST)
            lapsed = self.since_when("if", self.antecedent, BEST)
            if best == TRUE:
                self.wait(max(lapsed, self.since_when("if", self.antecedent)), answered=self.met(ANSWERED))
            elif self.met(BEST):
                self.wait(lapsed, answered=self.met(ANSWERED))
            else:
                self.become("expired", lapsed)
        else:
            self.go_back()

    def met(self, reading: str) -> bool:
        """Whether in *reading* the antecedent holds, or what is promised was done before it lapsed (15)."""
        holds = self.judge("if", self.antecedent, self.now, reading)
        if holds == TRUE:
            return True
        lapsed = ENDLESS
        if holds == FALSE:
            # What starts a clock after the lapse comes too late.
            self.detached = lapsed = max(self.since_when("if", self.antecedent, reading), self.floor)
        true = self.kept(reading) == TRUE
        self.done = self.since_when("then", self.consequent, reading)
        self.detached = None
        return true and max(self.done, self.floor) <= lapsed

    def settle_detached(self) -> None:
        assert self.detached is not None
        if self.judge("if", self.antecedent, self.now) == TRUE:
            self.detached = min(self.detached, max(self.since_when("if", self.antecedent), self.bound))
        found = {reading: self.kept(reading) for reading in (WORST, ANSWERED, BEST)}
        since = self.since_when("then", self.consequent, BEST)
        if found[WORST] == TRUE:
            self.become("satisfied", self.since_when("then", self.consequent))
        elif found[BEST] == FALSE:
            self.become("violated", since)
        elif found[WORST] == FALSE and found[BEST] == TRUE:
            self.wait(max(since, self.since_when("then", self.consequent)), answered=found[ANSWERED] == TRUE)
        else:
            self.go_back()

    def wait(self, since: int, *, answered: bool) -> None:
        state = "unconfirmed" if answered else "disputed"
        if self.state == state:
            return
        if self.state not in ("unconfirmed", "disputed"):
            self.before = self.state
            self.become(state, since)
        else:
            self.become(state, self.now)

    def go_back(self) -> None:
        if self.state in ("unconfirmed", "disputed"):
            self.state, self.since = self.before, self.now // 3

    # -- what is said -------------------------------------------------------------------------------------------------

    def report(self, event: str, needs_answer: bool) -> None:
        self.reports.append(Said(event, self.now // 3, None if needs_answer else self.now))

    def answer(self, do: str, number: int) -> None:
        """Answer the *number*-th report, if it is there and can be answered so (13, 14)."""
        if number < len(self.reports) and self.reports[number].unsettled:
            said = self.reports[number]
            if do == "confirm":
                said.known = self.now
            elif do == "dispute":
                said.disputed = True
            elif said.disputed:
                said.known, said.denied = (self.now, False) if do == "uphold" else (None, True)

    def act(self, do: str) -> None:
        """What the parties and who has the power may do, each by whom it is for (the table of operations)."""
        day, open_ = self.now // 3, self.state in ("conditional", "detached")
        if do == "create" and self.state == "none":
            self.created = self.now
            self.become("conditional", self.now)
        elif do == "release" and (open_ or self.state in ("pending", "unconfirmed", "disputed")):
            self.become("terminated", self.now)
        elif do == "suspend" and open_:
            self.before = self.state
            self.become("pending", self.now)
            self.suspensions.append([day, ENDLESS])
        elif do == "resume" and self.state == "pending":
            self.suspensions[-1][1] = day
            self.become(self.before, self.now)
        elif do == "cancel" and (open_ or self.state == "pending"):
            standing = self.standing
            if standing == "conditional" and self.would_detach():
                return
            self.become("terminated" if standing == "conditional" else "violated", self.now)

    def would_detach(self) -> bool:
        """Whether the antecedent would hold if all that was reported held, and a suspension were over now (19)."""
        if self.state == "pending":
            self.suspensions[-1][1] = self.now // 3
        given = self.judge("if", self.antecedent, self.now, BEST) == TRUE
        if self.state == "pending":
            self.suspensions[-1][1] = ENDLESS
        return given


def _event(what: object) -> str:
    event = what.event if isinstance(what, AtLeast) else what
    assert isinstance(event, Event)
    return event.name


def _leaves(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, And | Or):
        for part in condition.parts:
            yield from _leaves(part)
    else:
        yield condition


def _all_leaves(condition: Condition | None) -> Iterator[Condition]:
    for leaf in () if condition is None else _leaves(condition):
        yield leaf
        for of in _events_of(leaf):
            yield from _leaves(of)


def _events_of(condition: Condition | None) -> list[Condition]:
    """The E of every ``within D of E``, those inside others first."""
    found: list[Condition] = []
    for leaf in () if condition is None else _leaves(condition):
        for window in leaf.windows if isinstance(leaf, Timed | No) else ():
            if isinstance(window, Within):
                found += [of for of in [*_events_of(window.of), window.of] if of not in found]
    return found
