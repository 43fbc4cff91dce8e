"""The promises of a room: what members say about them, tracked in the promises' own time.

First come the promises of the opening, made by their debtors, and those of an agreed option. Members add to them,
report, confirm and act on them for as long as the room lives. The tracker knows what became of each promise; this
machine says who may say what in a room, and keeps what each member has said, so that a restarted peer repeats nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from protocols.commitments.acts import Act, Transition, act_of
from protocols.commitments.chronicle import Chronicle
from protocols.commitments.conditions import parse
from protocols.commitments.reports import check_authority
from protocols.commitments.tracker import Tracker
from protocols.commitments.tree import Totalling, event_of, leaves
from protocols.concord.options import check_commitments
from protocols.core.canonical import digest
from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.core.instants import Duration, Instant, show_instant
from protocols.core.names import Apart, check_apart, check_name
from protocols.duties.duties import OfferAsked, OperationDone, PerformDuty, ReportAsked
from protocols.messages.bodies import kind_of
from protocols.messages.commitments import (
    MOST_CREATED,
    CommitmentTerms,
    CreateCommitment,
    DelegateCommitment,
    ReportEvent,
    verb_of,
)
from protocols.messages.room import RoomOpen
from protocols.room.calendar import Calendar
from protocols.room.loops import Exchange
from protocols.room.promised import Standing
from protocols.stage.setting import Setting
from protocols.stage.stage import Refused

HANGING = ("violated", "unconfirmed", "disputed")
"""States that deserve a finding when a promise enters them."""


@dataclass(slots=True)
class Promises:
    """The tracker of one room, its calendar, and what each member said about promises."""

    setting: Setting
    calendar: Calendar
    tracker: Tracker
    apart: Apart = field(default_factory=Apart)
    """The ids of the promises, no two of which look alike."""
    reported: dict[str, list[ReportAsked]] = field(default_factory=dict)
    operated: dict[str, list[OperationDone]] = field(default_factory=dict)
    delegated: dict[str, str] = field(default_factory=dict)
    """The reasons of delegations that have one, by their entries."""
    exchanges: dict[str, Exchange] = field(default_factory=dict)
    """The acts on each commitment since the last new fact, with the state that each one met."""
    vain: dict[str, Exchange] = field(default_factory=dict)
    """What each member said that was refused, since it last said something that was accepted."""

    @classmethod
    def open(cls, setting: Setting, calendar: Calendar, *, keeps_moves: bool = False) -> "Promises | None":
        """Return the promises of a room, or None if they are not on its agenda.

        Raises `Refused` if the opening promises something impossible.
        """
        tracker = _tracker(setting.opening, Chronicle if keeps_moves else Tracker)
        if tracker is None:
            return None
        promises = cls(setting, calendar, tracker)
        for terms in setting.opening.promises:
            promises.apart.add(terms.id)
        return promises

    @property
    def chronicle(self) -> Chronicle | None:
        """The tracker with every move that it saw; None unless the room was opened to keep moves."""
        return self.tracker if isinstance(self.tracker, Chronicle) else None

    # -- the fold -------------------------------------------------------------------------------------------------

    def pass_time(self, at: Instant, position: int) -> list[Finding]:
        """Let the windows pass that have ended by log time *at*; return what broke, as found at *position*."""
        return self._moved(self.tracker.advance(self.calendar.promised(at), position), position)

    def agree(self, at: Instant, position: int) -> None:
        """Let the built-in event ``agreed`` happen; the calendar has been started before."""
        self.tracker.agree(self.calendar.promised(at), position)

    def create(self, promised: Sequence[CommitmentTerms], at: Instant, position: int) -> None:
        """Create the commitments of an agreed option: every debtor has signed it."""
        for terms in promised:
            self.tracker.declare(terms, assumed=False)
            self.apart.add(terms.id)
        for terms in promised:
            act = Act(self.calendar.promised(at), position, terms.debtor, "create", commitment=terms.id)
            self.tracker.apply(act)

    def take(self, event: Event, optional: Collection[str]) -> list[Finding]:
        """Take what a member says about promises; *optional* are ids that options would create, which are not free.

        Raises `Refused` if nothing of it can stand; what the tracker refuses becomes a finding.
        """
        self._remember(event)
        if isinstance(event.body, CreateCommitment):
            self._declare(event.body, event.author, optional)
        at = self.calendar.promised(event.at)
        findings = []
        for act in act_of(event.body, at=at, item=event.position, by=event.author, entry_id=event.id):
            # A step is a digest and costs time; an accepted fact keeps no step in any exchange.
            step = self._step(event, act) if act.commitment else ""
            self._check_loop(act, step)
            applied = self.tracker.apply(act)
            if applied.refusals and not step:
                step = self._step(event, act)
            findings += [
                Finding(r.code, event.position, event.author, f"{act.do} refused: {r.why}", refused=True)
                for r in applied.refusals
            ]
            findings += self._follow(event, act, step, refused=bool(applied.refusals))
            findings += self._moved(applied.transitions, event.position)
        return findings

    def _step(self, event: Event, act: Act) -> str:
        """Return *act* as a step of its exchange: who says what, in which state of the commitment."""
        step = f"{event.author} {act.do}" + (f" to {act.to}" if act.to else "")
        met = ""
        if act.commitment and act.do != "create":
            try:
                status = self.tracker.status(act.commitment)
                met = f" while {status.state}, {status.debtor} to {status.creditor}"
            except KeyError:
                met = " of nothing known"
        said = event.body.plain()
        said.pop("offer", None)  # To accept another one of two equal delegations is not a new answer.
        return f"{step}{met} [{digest(said)[:16]}]"

    def _check_loop(self, act: Act, step: str) -> None:
        """Raise `Refused` if *step* would complete a third round of the same acts on one commitment."""
        exchange = self.exchanges.get(act.commitment or "")
        length = None if exchange is None else exchange.closes(step)
        # docs/protocol/rooms.md, "Budgets and loops": the act "that would complete a third round" is refused.
        if exchange is not None and length is not None:
            raise Refused("loop", f"{act.commitment}: {_told(exchange, step, length)}")

    def _follow(self, event: Event, act: Act, step: str, *, refused: bool) -> list[Finding]:
        """Record *step* for the detection of loops; return a finding if it was refused for the third time."""
        if not refused:
            self.vain.pop(event.author, None)
            if act.commitment and act.do != "create":
                self.exchanges.setdefault(act.commitment, Exchange()).add(step)
            else:
                self.exchanges.clear()  # A new fact.
            return []
        vain = self.vain.setdefault(event.author, Exchange())
        length = vain.closes(step)
        told = "" if length is None else _told(vain, step, length)
        vain.add(step)
        return [Finding("loop", event.position, event.author, told)] if told else []

    def _remember(self, event: Event) -> None:
        body = event.body
        if isinstance(body, ReportEvent):
            said = ReportAsked(id=event.id, event=body.event, by=event.author, attributes=dict(body.attributes))
            self.reported.setdefault(event.author, []).append(said)
        elif not isinstance(body, CreateCommitment) and hasattr(body, "commitment"):
            done = OperationDone(
                do=verb_of(kind_of(body)),
                commitment=body.commitment,
                because=getattr(body, "because", None),
            )
            self.operated.setdefault(event.author, []).append(done)
            if isinstance(body, DelegateCommitment) and body.because is not None:
                self.delegated[event.id] = body.because

    def _declare(self, body: CreateCommitment, author: str, optional: Collection[str]) -> None:
        ids = [terms.id for terms in body.commitments]
        listed = {terms.id: terms for terms in self.setting.opening.promises}
        for terms in body.commitments:
            # docs/protocol/rooms.md, "Promises": "Only the debtor may create it (`not_allowed`)."
            if terms.debtor != author:
                raise Refused("not_allowed", f"{terms.id}: only its debtor {terms.debtor} can create it")
            if terms != listed.get(terms.id, terms):
                raise Refused("wrong_promise", f"{terms.id}: the opening lists it with other terms")
            if ids.count(terms.id) > 1:
                raise Refused("bad_commitment", f"two commitments have the id {terms.id!r}")
            if terms.id in optional:
                raise Refused("bad_commitment", f"{terms.id}: an option would create a commitment with this id")
            other = self.apart.like(terms.id)
            if other is not None:
                raise Refused("bad_commitment", f"{terms.id}: it looks like {other!r}")
        new = [terms for terms in body.commitments if not self.tracker.knows(terms.id)]
        try:
            check_apart("commitments", ids)
            for terms in new:
                self.tracker.check(terms, frozenset(ids))
            self.tracker.check_load(new)
        except ValueError as error:
            raise Refused("bad_commitment", str(error)) from None
        for terms in new:
            self.tracker.declare(terms, assumed=False)
            self.apart.add(terms.id)

    def _moved(self, transitions: Sequence[Transition], position: int) -> list[Finding]:
        """Return a finding for each promise that broke or hangs: since when, and when that was found."""
        findings = []
        for move in transitions:
            if move.after in HANGING and move.since is not None:
                found = f", found at {show_instant(move.at)}" if move.at > move.since else ""
                text = f"{move.commitment} is {move.after} since {show_instant(move.since)}{found}"
                findings.append(Finding(move.after, position, self.tracker.status(move.commitment).debtor, text))
        return findings

    # -- what is owed ---------------------------------------------------------------------------------------------

    def is_moving(self) -> bool:
        """Return whether the state of any commitment can still change."""
        return self.tracker.is_moving()

    def moving(self) -> list[str]:
        """Return the ids of the commitments whose state can still change."""
        return list(self.tracker.moving())

    def answerable_until(self) -> Instant | None:
        """Return the last log time at which a report made so far can be answered in time; None if no report waits."""
        until = self.tracker.answerable_until()
        return None if until is None else self.calendar.logged(until)

    def deadline(self, at: Instant) -> Instant | None:
        """Return the next log time, not before *at*, after which a promise changes state without a new act."""
        promised = self.tracker.next_deadline()
        logged = None if promised is None else self.calendar.logged(promised)
        return logged if logged is not None and logged >= at else None

    def elapsed_since(self, condition: str, now: Instant) -> Duration | None:
        """Return how long ago *condition* came true, in microseconds of the log before *now*; None if it has not."""
        since = self.tracker.since(condition)
        if since is None:
            return None
        logged = self.calendar.logged(since)
        return Duration(0 if logged is None else max(0, now - logged))

    def offers(self, member: str) -> list[OfferAsked]:
        """Return the delegations that *member* may accept, in full: each of a commitment, or of a single instance."""
        offers = self.tracker.offers(member)
        if not offers:
            return []
        standing, whole = Standing(self.tracker), {(o.commitment, o.offer) for o in offers}
        found = []
        for o in offers:
            promise = standing.known(o.commitment)
            of_base = (o.commitment.partition("[")[0], o.offer) in whole and "[" in o.commitment
            if promise is not None and not of_base:
                found.append(
                    OfferAsked(
                        id=str(o.offer),
                        commitment=o.commitment,
                        debtor=o.debtor,
                        creditor=o.creditor,
                        because=self.delegated.get(str(o.offer)),
                        promise=promise,
                    )
                )
        return found

    def duty(self, member: str) -> PerformDuty:
        """Return the standing duty of *member*."""
        return PerformDuty(
            member=member,
            reportable=list(self.tracker.reportable(member)),
            awaiting=[
                ReportAsked(id=r.id, event=r.event, by=r.by, attributes=dict(r.attributes))
                for r in self.tracker.awaiting(member)
            ],
            offers=self.offers(member),
            promises=self.tracker.states(),
            done=list(self.reported.get(member, ())),
            operations=list(self.operated.get(member, ())),
        )


def _told(exchange: Exchange, step: str, length: int) -> str:
    """Return a cycle in words: its length, and its steps."""
    steps = [*exchange.last(length - 1), step] if length > 1 else [step]
    shown = ", then ".join(text.partition(" [")[0] for text in steps)
    return f"a cycle of {length}, the third time: {shown}"


def _tracker(opening: RoomOpen, kind: type[Tracker]) -> Tracker | None:
    parties = [entry.name for entry in opening.roster]
    try:
        check_authority(parties, opening.events, opening.powers)
    except ValueError as error:
        raise Refused("bad_opening", str(error)) from None
    if "commitments" not in opening.agenda:
        if opening.promises:
            raise Refused("bad_opening", "promises: the agenda has no commitments")
        if opening.status_quo is not None and opening.status_quo.commitments:
            raise Refused("bad_opening", "status_quo: it has commitments, the agenda has none")
        return None
    tracker = kind(parties, opening.events, opening.powers, listed_events_only=True)
    ids = [terms.id for terms in opening.promises]
    for place, terms in enumerate(opening.promises):
        if ids.count(terms.id) > 1:
            raise Refused("bad_opening", f"promises.{place}: two have the id {terms.id!r}")
        try:
            tracker.check(terms, frozenset(ids))
        except ValueError as error:
            raise Refused("bad_opening", f"promises.{place}: {terms.id}: {error}") from None
    try:
        tracker.check_load(opening.promises)
    except ValueError as error:
        raise Refused("bad_opening", f"promises: {error}") from None
    debtor, most = max(Counter(terms.debtor for terms in opening.promises).items(), key=lambda c: c[1], default=("", 0))
    if most > MOST_CREATED:
        raise Refused("bad_opening", f"promises: {debtor} has {most}; one entry creates at most {MOST_CREATED}")
    for terms in opening.promises:
        tracker.declare(terms, assumed=False)
    if opening.status_quo is not None:
        try:
            check_commitments(opening.status_quo, opening, tracker)
        except Refused as refused:
            raise Refused("bad_opening", f"status_quo: {refused.why}") from None
    promised = [*opening.promises, *(opening.status_quo.commitments if opening.status_quo is not None else ())]
    try:
        check_apart("attributes", map(check_name, _attributes(promised)))
    except ValueError as error:
        raise Refused("bad_opening", str(error)) from None
    return tracker


def _attributes(promised: Iterable[CommitmentTerms]) -> Iterator[str]:
    """Yield the attributes of reports to which *promised* refer."""
    for terms in promised:
        if terms.each is not None:
            yield terms.each
        for text in (terms.antecedent, terms.consequent):
            for leaf in () if text is None else leaves(parse(text)):
                event = event_of(leaf)
                yield from () if event is None else (each.attribute for each in event.filters)
                if isinstance(leaf, Totalling):
                    yield leaf.attribute
