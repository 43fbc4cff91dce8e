"""The interface between a peer and a mind.

A peer asks its room for the duties of its member, lets the agent answer each one that needs a mind, checks the answer
against the same models as everybody else, and only then signs it. An agent therefore never sees a key, a broker or
the log: it gets a duty, which holds all that its step allows it to know, and returns an answer.

To write one, subclass `Agent` and override what your agent has an opinion on; every method has a default except
`propose` and `score`. Raise `NoAnswer` with a reason to be excused from a step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from protocols.accord.compare import differ, within
from protocols.core.instants import Duration
from protocols.core.message import Message
from protocols.duties.duties import (
    CaseAsked,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    MeaningAsked,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Interpretation, Judgement, Readings, Settlement, Verdict
from protocols.messages.claims import Claim
from protocols.messages.concord import Option, Value
from protocols.messages.room import Manifest


class NoAnswer(Exception):
    """The agent will not answer this duty; its peer excuses it with this reason, which everybody in the room reads.

    ``cost`` is what coming to no answer took, in the form of `Costed.cost`; the entry that excuses carries it.
    """

    def __init__(self, because: str = "", cost: Mapping[str, Any] | None = None) -> None:
        super().__init__(because)
        self.cost = cost


class CannotAnswer(NoAnswer):
    """The agent came to no answer, and did not choose so. The record says ``code``, and the text stays with the member.

    What an agent was about to answer may stand in the text; before a reveal nobody else may read it. ``code`` is one of
    those of `swarm.seat.excuses`: ``failed``, ``late``, ``invalid``, ``refused``, ``budget``.
    """

    def __init__(self, problem: str, code: str = "failed", cost: Mapping[str, Any] | None = None) -> None:
        super().__init__(problem, cost)
        self.code = code


class BadAnswer(ValueError):
    """The mind has answered, and not in the form of the act; the text is what it is told when it is asked once more."""

    def __init__(self, problem: str, cost: Mapping[str, Any] | None = None) -> None:
        super().__init__(problem)
        self.cost = cost


@dataclass(frozen=True, slots=True)
class Proposed:
    """An option, and the score below which the member would rather have no deal (None: any deal will do)."""

    option: Option
    reserve: int | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A ballot by option id: integers 0–100, reasoned rejections, and reasons where the agent likes."""

    scores: dict[str, int]
    rejects: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ratified:
    """Whether the member signs the outcome; a refusal needs a reason."""

    accept: bool
    because: str | None = None


@dataclass(frozen=True, slots=True)
class Performed:
    """What the member says about promises now (reports, confirmations, cancellations …), in order.

    ``again_in`` asks for the duty again after so many microseconds, even if nothing changes.
    """

    acts: Sequence[Message] = ()
    again_in: Duration | None = None


@dataclass(frozen=True, slots=True)
class Grounded:
    """An answer to interpret, settle, propose, score, improve or ratify, and what it rests on.

    ``claims`` are stated with it and sealed with it. ``cites`` are references to claims: by term for interpret, by
    option id for score, else one list; a settlement holds its own. What is cited wrongly is recorded and counts for
    nothing; the answer counts all the same.
    """

    answer: Any
    claims: Sequence[Claim] = ()
    cites: Mapping[str, Sequence[str]] | Sequence[str] = ()

    def plain(self) -> dict[str, Any]:
        """Return claims and citations as the answer's entry carries them; what is empty is left out."""
        said: dict[str, Any] = {"claims": [claim.plain() for claim in self.claims], "cites": []}
        if isinstance(self.cites, Mapping):
            said["cites"] = {about: list(references) for about, references in self.cites.items() if references}
        else:
            said["cites"] = list(self.cites)
        return {name: value for name, value in said.items() if value}


@dataclass(frozen=True, slots=True)
class Costed:
    """An answer of any of the kinds above, and what giving it took; the entry that says it carries the cost.

    ``tokens_in``, ``tokens_out`` and ``calls`` are counts, ``seconds`` decimal text, ``model`` the model's own name.
    """

    answer: Any
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    seconds: str | None = None
    model: str | None = None

    def cost(self) -> dict[str, Any]:
        """Return the cost as entries carry it; what is not known is left out."""
        counts = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "calls": self.calls}
        texts = {"seconds": self.seconds, "model": self.model}
        return {name: value for name, value in {**counts, **texts}.items() if value}


class Watch(Protocol):
    """What `Agent.perform` may ask its peer about the room."""

    def elapsed(self, condition: str) -> Duration | None:
        """Return how long ago, in microseconds of the log, *condition* came true; None if it has not."""


class Agent:
    """One member's mind. Methods may be plain or ``async``; plain ones run in a thread and may block."""

    kind = "custom"
    """What the member's manifest calls this mind."""
    free = False
    """Whether asking this mind takes nothing that a budget counts: then no budget keeps it from being asked."""

    def join(self, duty: JoinDuty) -> None:
        """Look at the opening (``duty.briefing``) before it is signed. Default: fine; `NoAnswer` declines it."""

    def manifest(self) -> Manifest:
        """Return what the member announces about itself on joining."""
        return Manifest(agent=self.kind)

    def nominate(self) -> Sequence[str]:
        """Return up to three terms to add to those of the opening."""
        return ()

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation] | Grounded:
        """Say what each of ``duty.terms`` means. Default: nothing, which is recorded as missing."""
        return {}

    async def read(self, duty: ReadDuty) -> Readings:
        """Judge others' cases and meanings. Default: by own bounds and cases, else unsure."""
        return Readings(
            verdicts=[case.verdict or verdict_by_bounds(duty, case) for case in duty.cases],
            judgements=[judgement_by_bounds(duty, meaning) for meaning in duty.meanings],
        )

    async def settle(self, duty: SettleDuty) -> dict[str, Settlement] | Grounded:
        """Settle each of ``duty.terms``. Default: keep one's own meaning."""
        return {term: Settlement(keep=True) for term in duty.terms}

    async def quote(self, duty: QuoteDuty) -> dict[str, list[Value]]:
        """Say which values one allows for one's own issues, the standard first. Default: all of them."""
        return {name: list(issue.values) for name, issue in duty.issues.items()}

    async def propose(self, duty: ProposeDuty) -> Proposed | Grounded:
        """Propose one option."""
        raise NoAnswer(f"a {self.kind} agent proposes nothing")

    async def score(self, duty: ScoreDuty) -> Scored | Grounded:
        """Score or reject each of ``duty.options``."""
        raise NoAnswer(f"a {self.kind} agent scores nothing")

    async def improve(self, duty: ImproveDuty) -> Option | Grounded | None:
        """Propose something better than the standing option, or None to pass. Default: pass."""
        return None

    async def ratify(self, duty: RatifyDuty) -> Ratified | Grounded:
        """Sign the outcome or decline. Default: sign."""
        return Ratified(True)

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        """Report, confirm, dispute or withdraw, as it is time. Default: nothing."""
        return Performed()


def verdict_by_bounds(duty: ReadDuty, case: CaseAsked) -> Verdict:
    """Return whether *case* falls under one's own bounds on its term; unsure where they do not say."""
    own = duty.own.get(case.term)
    inside = within(own.bounds, case.values) if own is not None else None
    return "unsure" if inside is None else "yes" if inside else "no"


def judgement_by_bounds(duty: ReadDuty, meaning: MeaningAsked) -> Judgement:
    """Return whether bounds or verdicts on shared cases set *meaning* apart from one's own; else unsure."""
    own = duty.own.get(meaning.term)
    if own is None:
        return "unsure"
    theirs = meaning.interpretation
    for quantity in own.bounds.keys() & theirs.bounds.keys():
        if own.bounds[quantity].unit == theirs.bounds[quantity].unit and differ(
            own.bounds[quantity], theirs.bounds[quantity]
        ):
            return "different"
    applies = {case.text: case.applies for case in own.cases}
    if any(applies.get(case.text, case.applies) != case.applies for case in theirs.cases):
        return "different"
    return "unsure"
