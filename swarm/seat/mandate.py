"""The mandate: what a member's peer may ever sign, whatever its mind answers.

It is written in the member's own part of a file and stays there: it is in no opening and in no entry, and the record of
a breach names the part that was broken, never the limit. The peer judges the very content that it would sign, with
options completed as the room completes them. So no prompt, no text of another member and no mistake of a mind can widen
it. ``docs/mandate.md`` describes the fields.

`breach` is pure: it reads the mandate, the room and what would be said, and changes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from protocols.commitments.acts import ANSWERS, OPERATIONS
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
    ReportEvent,
    verb_of,
)
from protocols.messages.concord import BallotContent, Improve, Issue, Option, Proposal, Quote, Ratify, Value
from protocols.messages.room import Join
from protocols.room.room import Room
from swarm.seat.limits import Breach, Offered, PromiseBounds, ReserveBounds, ScoreBounds, among
from swarm.seat.owing import Circumstances, promise_breach, report_breach

if TYPE_CHECKING:
    Verb = str
else:
    Verb = Literal[(REPORT, *ANSWERS, *OPERATIONS)]
    """What can be said about promises: the last part of the kind of its body."""


class Mandate(Message):
    """What may be signed in a member's name. A missing field sets no bound."""

    offers: dict[Name, Offered] = Field(default_factory=dict)
    offers_only: bool = False
    """Whether nothing may be offered on issues that ``offers`` does not list."""
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
        return offer_breach(mandate, body.values, room.setting.opening.issues)
    if isinstance(body, Improve):
        return judge.proposal(body.option)
    if isinstance(body, Ratify):
        return judge.outcome(duty) if body.accept and isinstance(duty, RatifyDuty) else None
    if isinstance(body, COMMITMENT_BODIES):
        return judge.act(body, of_its_own=isinstance(duty, PerformDuty))
    return None


def offer_breach(mandate: Mandate, offer: Mapping[str, Iterable[Value]], issues: Mapping[str, Issue]) -> Breach | None:
    """Return what *mandate* does not allow of an *offer*: for each of the room's *issues*, the values offered."""
    for issue, values in offer.items():
        if mandate.offers_only and issue not in mandate.offers:
            return Breach("offers_only", f"{issue} is none of {', '.join(mandate.offers) or 'nothing'}")
        name = among(issue, mandate.offers)
        if name is None:
            continue
        allowed, unit = mandate.offers[name], issues[issue].unit if issue in issues else None
        whys = (
            [] if unit == allowed.unit else [f"the unit of {issue} is {unit or 'none'}, not {allowed.unit or 'none'}"]
        )
        for why in (*whys, *(allowed.why_not(value) for value in values)):
            if why is not None:
                return Breach(f"offers.{name}", why)
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
        offer = {issue: [value] for issue, value in option.offer.items()}
        offered = offer_breach(self.mandate, offer, self.room.setting.opening.issues)
        return offered or self.promises(option.commitments)

    def promises(self, made: Iterable[CommitmentTerms]) -> Breach | None:
        return promise_breach(self.mandate.promises, self.member, made, self._circumstances())

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
        for difference in duty.outcome.open:
            term = among(str(difference["term"]), self.mandate.terms)
            if term is not None:
                return Breach(f"terms.{term}", "its meaning is still open")
        assert self.room.concord is not None
        return self.option(self.room.concord.candidates[duty.outcome.option].option)

    def act(self, body: Message, *, of_its_own: bool) -> Breach | None:
        """Judge an act on promises; to make the promises that the opening lists is not an act of the member's own."""
        verb = verb_of(kind_of(body))
        if of_its_own and self.mandate.acts is not None and verb not in self.mandate.acts:
            return Breach(f"acts.{verb}", f"allowed: {', '.join(self.mandate.acts) or 'none'}")
        if isinstance(body, CreateCommitment):
            return self.promises(body.commitments)
        if isinstance(body, ReportEvent):
            return report_breach(self.mandate.promises, self.member, body.event, body.attributes, self._circumstances())
        if isinstance(body, AcceptCommitment) and self.mandate.promises is not None:
            # A promise that is taken over from its debtor counts like any other.
            terms = taken_over(self.room, body.commitment, self.member)
            if terms is None:
                return Breach("promises", f"what {body.commitment} demands cannot be told")
            return self.promises([terms])
        return None

    def _circumstances(self) -> Circumstances:
        opening, promises = self.room.setting.opening, self.room.promises
        reported = () if promises is None else promises.reported.get(self.member, ())
        return Circumstances(known_terms(self.room), opening.events, self._owed(), reported)

    def _owed(self) -> set[str]:
        """Return the names of what the member has promised in this room, whatever became of it.

        An instance has its own name here if the member owes only that instance.
        """
        statuses = {} if self.room.tracker is None else self.room.tracker.statuses()
        owed = {
            name
            for name, status in statuses.items()
            if status.state != "none" and self.member in (status.debtor, *status.answerable)
        }
        return {name for name in owed if name.partition("[")[0] == name or name.partition("[")[0] not in owed}


def known_terms(room: Room) -> dict[str, CommitmentTerms]:
    """Return the terms of every promise of *room* by id: of its opening, of what was agreed, and those made later.

    Their parties are those in the terms, whoever has taken their places since.
    """
    return {} if room.tracker is None else dict(room.tracker.terms)


def taken_over(room: Room, name: str, member: str) -> CommitmentTerms | None:
    """Return the terms of the commitment or instance *name* with *member* as its debtor; None if it is unknown.

    The creditor is the current one. An instance is a single promise, even if its commitment has ``each``.
    """
    commitment, instance, _ = name.partition("[")
    terms = known_terms(room).get(commitment)
    if terms is None or room.tracker is None:
        return None
    try:
        creditor = room.tracker.status(name).creditor
    except KeyError:
        return None
    each = None if instance else terms.each
    return terms.model_copy(update={"id": name, "debtor": member, "creditor": creditor, "each": each})


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
