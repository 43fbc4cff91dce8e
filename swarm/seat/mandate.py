"""The mandate: what a member's peer may ever sign, whatever its mind answers.

It is written in the member's own part of a file and stays there: it is in no opening and in no entry, and the record of
a breach names the part that was broken, never the limit. The peer judges the very content that it would sign, with
options completed as the room completes them. So no prompt, no text of another member and no mistake of a mind can widen
it. ``docs/mandate.md`` describes the fields.

`breach` is pure: it reads the mandate, the room and what would be said, and changes nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from agents.script import Score, ValueWritten
from protocols.commitments.acts import ANSWERS, OPERATIONS
from protocols.commitments.tree import NUMBER
from protocols.concord.options import complete
from protocols.core.message import Message, Name
from protocols.duties.duties import Duty, PerformDuty, ProposeDuty, RatifyDuty, ScoreDuty
from protocols.messages.bodies import kind_of, parse_body
from protocols.messages.commitments import (
    COMMITMENT_BODIES,
    REPORT,
    AcceptCommitment,
    CommitmentTerms,
    CreateCommitment,
    verb_of,
)
from protocols.messages.concord import BallotContent, Improve, Option, Proposal, Quote, Ratify, Value
from protocols.messages.room import Join
from protocols.room.room import Room
from swarm.files.scalars import DecimalText
from swarm.seat.demand import CannotTell, demand_of

if TYPE_CHECKING:
    Verb = str
else:
    Verb = Literal[(REPORT, *ANSWERS, *OPERATIONS)]
    """What can be said about promises: the last part of the kind of its body."""


@dataclass(frozen=True, slots=True)
class Breach:
    """What a mandate does not allow.

    ``where`` names the part of the mandate (``offers.discount``) and may appear on the record; ``why`` contains values
    and limits, and is only for the mind and the owner of the file.
    """

    where: str
    why: str

    @property
    def public(self) -> str:
        """The reason that an entry may carry."""
        return f"outside its mandate: {self.where}"

    @property
    def private(self) -> str:
        """The reason that the mind is given when it is asked again."""
        return f"outside your mandate: {self.where}: {self.why}"


class Bounds(Message):
    """The least and the greatest number allowed, both included. A value that is not a number is outside."""

    min: DecimalText | None = None
    max: DecimalText | None = None

    @model_validator(mode="after")
    def _of_use(self) -> "Bounds":
        if self.min is None and self.max is None:
            raise ValueError("bounds need min, max or both")
        if self.min is not None and self.max is not None and Fraction(self.min) > Fraction(self.max):
            raise ValueError(f"min {self.min} is above max {self.max}, which leaves nothing")
        return self

    def why_not(self, value: Value) -> str | None:
        """Return why *value* is outside, None if it is inside."""
        text = str(value)
        if NUMBER.fullmatch(text) is None:
            return f"{text!r} is no number"
        if self.max is not None and Fraction(text) > Fraction(self.max):
            return f"{text} is above {self.max}"
        if self.min is not None and Fraction(text) < Fraction(self.min):
            return f"{text} is below {self.min}"
        return None


class ScoreBounds(Message):
    """Bounds on scores. ``outside`` is for options that the mandate's offers or promises do not allow.

    ``outside: reject`` requires that such an option be rejected, or scored 0 if no rejection is left; a number is the
    highest score it may get. ``min`` holds for all other options, and forbids rejecting them; ``max`` holds for every
    option.
    """

    min: Score | None = None
    max: Score | None = None
    outside: Literal["reject"] | Score | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "ScoreBounds":
        _in_order(self.min, self.max)
        if isinstance(self.outside, int) and self.max is not None and self.outside > self.max:
            raise ValueError(f"outside {self.outside} is above max {self.max}")
        return self


class ReserveBounds(Message):
    """The lowest and the highest reserve.

    Without a reserve any deal is accepted, which is outside if there is a ``min``.
    """

    min: Score | None = None
    max: Score | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "ReserveBounds":
        _in_order(self.min, self.max)
        return self


def _in_order(low: int | None, high: int | None) -> None:
    if low is not None and high is not None and low > high:
        raise ValueError(f"min {low} is above max {high}, which leaves nothing")


class Most(Message):
    """The highest amount, a decimal."""

    max: DecimalText


class PromiseBounds(Message):
    """Bounds on what the member promises as debtor.

    ``never_debtor_of`` names events that none of its promises may demand. ``attributes`` is the highest amount of an
    attribute that one promise may demand. ``max`` is how many promises it may make in one room.
    """

    never_debtor_of: list[Name] = Field(default_factory=list)
    attributes: dict[Name, Most] = Field(default_factory=dict)
    max: Annotated[int, Field(ge=0)] | None = None


class Mandate(Message):
    """What may be signed in a member's name. A missing field sets no bound."""

    offers: dict[Name, Bounds | Annotated[list[ValueWritten], Field(min_length=1)]] = Field(default_factory=dict)
    scores: ScoreBounds | None = None
    reserve: ReserveBounds | None = None
    promises: PromiseBounds | None = None
    terms: list[Name] = Field(default_factory=list)
    acts: list[Verb] | None = None
    approve: list[Literal["ratify", "promise"]] = Field(default_factory=list)
    """What a person must approve before it is signed (`swarm.seat.approval`)."""


def breach(
    mandate: Mandate, duty: Duty, plain: Mapping[str, Any], room: Room, *, reserve: int | None = None
) -> Breach | None:
    """Return what *mandate* does not allow of *plain*; None if it allows it.

    *plain* is what would be signed in answer to *duty*: the content of a seal, or a body, in JSON. It must be valid for
    *room*, because only a valid option can be completed. An option comes with the *reserve* to which it commits.
    """
    judge = _Judge(mandate, duty.member, room)
    if isinstance(duty, ProposeDuty):
        return judge.proposal(Proposal.read(plain).option) or reserve_breach(mandate, reserve)
    if isinstance(duty, ScoreDuty):
        return judge.ballot(duty, BallotContent.read(plain))
    if room.step is not None and room.step.id == duty.step and room.step.seals:
        return None  # Other sealed contents: no part of a mandate bounds them.
    body = parse_body(dict(plain))
    if isinstance(body, Join):
        return judge.promises(room.setting.opening.promises)
    if isinstance(body, Quote):
        return offer_breach(mandate, body.values)
    if isinstance(body, Improve):
        return judge.proposal(body.option)
    if isinstance(body, Ratify):
        return judge.outcome(duty) if body.accept and isinstance(duty, RatifyDuty) else None
    if isinstance(body, COMMITMENT_BODIES):
        return judge.act(body, of_its_own=isinstance(duty, PerformDuty))
    return None


def offer_breach(mandate: Mandate, offer: Mapping[str, Iterable[Value]]) -> Breach | None:
    """Return what *mandate* does not allow of an *offer*, given as the values that it proposes for each issue."""
    for issue, allowed in mandate.offers.items():
        for value in offer.get(issue, ()):
            why = _why_not_offered(allowed, value)
            if why is not None:
                return Breach(f"offers.{issue}", why)
    return None


def reserve_breach(mandate: Mandate, reserve: int | None) -> Breach | None:
    """Return what *mandate* does not allow of a *reserve*; None means no reserve."""
    bounds = mandate.reserve
    if bounds is None:
        return None
    if bounds.min is not None and (reserve is None or reserve < bounds.min):
        return Breach("reserve", f"{'none' if reserve is None else reserve} is below {bounds.min}")
    if bounds.max is not None and reserve is not None and reserve > bounds.max:
        return Breach("reserve", f"{reserve} is above {bounds.max}")
    return None


def promise_breach(
    mandate: Mandate,
    member: str,
    made: Iterable[CommitmentTerms],
    known: Iterable[CommitmentTerms] = (),
    owed: Collection[str] = (),
) -> Breach | None:
    """Return what *mandate* does not allow of those promises in *made* whose debtor is *member*.

    *known* are the terms to which they may refer; *owed* are the ids of what the member has promised before.
    """
    bounds = mandate.promises
    made = list(made)
    mine = [terms for terms in made if terms.debtor == member]
    if bounds is None or not mine:
        return None
    by_id = {terms.id: terms for terms in [*known, *made]}
    for terms in mine if bounds.never_debtor_of or bounds.attributes else ():
        try:
            demand = demand_of(terms, by_id)
        except CannotTell as unknown:
            return Breach("promises", f"{terms.id}: {unknown}")
        for event in bounds.never_debtor_of:
            if event in demand.events:
                return Breach(f"promises.never_debtor_of.{event}", f"{terms.id} demands {event}")
        for attribute, most in bounds.attributes.items():
            if demand.exceeds(attribute, most.max):
                return Breach(f"promises.attributes.{attribute}", f"{terms.id} may demand more than {most.max}")
    if bounds.max is not None:
        for terms in mine:
            if terms.each is not None:
                return Breach("promises.max", f"{terms.id} is a promise for each {terms.each}, however many there are")
        count = len({*owed, *(terms.id for terms in mine)})
        if count > bounds.max:
            return Breach("promises.max", f"{count} promises are more than {bounds.max}")
    return None


@dataclass(frozen=True, slots=True)
class _Judge:
    """One mandate in one room, for one member."""

    mandate: Mandate
    member: str
    room: Room

    def proposal(self, option: Option) -> Breach | None:
        """Judge *option* as the room will hold it: with the issues that it leaves to the quotes of others."""
        quotes = {} if self.room.concord is None else self.room.concord.quotes
        completed, _, _ = complete(option, self.member, self.room.setting.opening, quotes, self.room.tracker, 0)
        return self.option(completed)

    def option(self, option: Option) -> Breach | None:
        offered = offer_breach(self.mandate, {issue: [value] for issue, value in option.offer.items()})
        return offered or self.promises(option.commitments)

    def promises(self, made: Iterable[CommitmentTerms]) -> Breach | None:
        return promise_breach(self.mandate, self.member, made, self._known(), self._owed())

    def ballot(self, duty: ScoreDuty, content: BallotContent) -> Breach | None:
        opened = None if content.reserve is None else reserve_breach(self.mandate, content.reserve.reserve)
        if opened is not None or self.mandate.scores is None:
            return opened
        spent = len(content.rejects) >= duty.rejects_left
        for asked in duty.options:
            score = None if asked.id in content.rejects else int(content.scores[asked.id])
            why = _why_not_scored(self.mandate.scores, score, self.option(asked.option), spent)
            if why is not None:
                return Breach("scores", f"{asked.option.title!r}: {why}")
        return None

    def outcome(self, duty: RatifyDuty) -> Breach | None:
        still_open = sorted({str(difference["term"]) for difference in duty.outcome.open} & set(self.mandate.terms))
        if still_open:
            return Breach(f"terms.{still_open[0]}", "its meaning is still open")
        assert self.room.concord is not None
        return self.option(self.room.concord.candidates[duty.outcome.option].option)

    def act(self, body: Message, *, of_its_own: bool) -> Breach | None:
        """Judge an act on promises; to make the promises that the opening lists is not an act of the member's own."""
        verb = verb_of(kind_of(body))
        if of_its_own and self.mandate.acts is not None and verb not in self.mandate.acts:
            return Breach(f"acts.{verb}", f"allowed: {', '.join(self.mandate.acts) or 'none'}")
        if isinstance(body, CreateCommitment):
            return self.promises(body.commitments)
        if isinstance(body, AcceptCommitment) and self.mandate.promises is not None:
            # A promise that is taken over from its debtor counts like any other.
            terms = next((terms for terms in self._known() if terms.id == body.commitment.partition("[")[0]), None)
            if terms is None:
                return Breach("promises", f"what {body.commitment} demands cannot be told")
            return self.promises([terms.model_copy(update={"debtor": self.member})])
        return None

    def _known(self) -> list[CommitmentTerms]:
        return known_terms(self.room)

    def _owed(self) -> set[str]:
        """Return the ids of what the member has promised in this room, whatever became of it."""
        statuses = {} if self.room.tracker is None else self.room.tracker.statuses()
        return {
            name.partition("[")[0]
            for name, status in statuses.items()
            if status.state != "none" and self.member in (status.debtor, *status.answerable)
        }


def known_terms(room: Room) -> list[CommitmentTerms]:
    """Return the terms that exist in *room* whatever is chosen, and those of what was agreed."""
    known = list(room.setting.opening.promises)
    concord, ending = room.concord, room.ending
    if concord is not None and concord.standing is not None and ending is not None and ending.outcome == "agreed":
        known += concord.candidates[concord.standing].option.commitments
    return known


def _why_not_offered(allowed: Bounds | list[Value], value: Value) -> str | None:
    if isinstance(allowed, Bounds):
        return allowed.why_not(value)
    texts = [str(each) for each in allowed]
    return None if str(value) in texts else f"{str(value)!r} is not one of {', '.join(texts)}"


def _why_not_scored(bounds: ScoreBounds, score: int | None, beyond: Breach | None, spent: bool) -> str | None:
    """Return why *score* (None: a rejection) is outside *bounds*; *spent*: no rejection is left."""
    if beyond is None:
        if bounds.min is not None and (score is None or score < bounds.min):
            return f"{'a rejection' if score is None else score} is below {bounds.min}"
    elif score is not None and bounds.outside is not None:
        odd = f"{beyond.where}: {beyond.why}"
        if bounds.outside == "reject":
            if not spent:
                return f"reject it ({odd})"
            if score > 0:
                return f"no rejection is left, so score it 0 ({odd})"
        elif score > bounds.outside:
            return f"{score} is above {bounds.outside} ({odd})"
    if score is not None and bounds.max is not None and score > bounds.max:
        return f"{score} is above {bounds.max}"
    return None
