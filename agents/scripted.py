"""A member that answers from a scenario file."""

from collections.abc import Sequence
from typing import TypeVar

from agents.acting import Actor
from agents.agent import (
    Agent,
    Grounded,
    NoAnswer,
    Performed,
    Proposed,
    Ratified,
    Scored,
    Watch,
    judgement_by_bounds,
    verdict_by_bounds,
)
from agents.script import Script, Settling
from protocols.concord.steps import ballot
from protocols.core.canonical import digest
from protocols.duties.duties import (
    ImproveDuty,
    InterpretDuty,
    MeaningAsked,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Interpretation, Judgement, Readings, Settlement
from protocols.messages.claims import Claim
from protocols.messages.concord import Issue, Option, Value
from protocols.stage.table import seal_of

A = TypeVar("A")
OTHERWISE = "otherwise"
FIRST_BALLOT = seal_of(ballot(1))


class Scripted(Agent):
    """Gives the answers of its script. Where the script has none, the defaults of `Agent` apply."""

    kind = "scripted"
    free = True

    def __init__(self, script: Script) -> None:
        self._script = script
        self._actor = Actor(script)

    def _claims(self, act: str) -> list[Claim]:
        """Return the claims that the script states with *act*."""
        return [
            Claim(id=claim.id, text=claim.text, source=claim.source, origin=claim.origin)
            for claim in self._script.claims
            if claim.stated_with == act
        ]

    def _cites(self, about: str) -> list[str]:
        return self._script.cites.get(about, [])

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation] | Grounded:
        """Give the scripted meanings of the terms asked for."""
        meanings = {term: self._script.reads[term] for term in duty.terms if term in self._script.reads}
        cites = {term: self._cites(term) for term in meanings}
        return _grounded(meanings, self._claims(duty.act), cites)

    async def read(self, duty: ReadDuty) -> Readings:
        """Give scripted verdicts and judgements; otherwise judge by bounds and cases."""
        script = self._script
        verdicts = [
            case.verdict
            or (("yes" if script.verdicts[case.text] else "no") if case.text in script.verdicts else None)
            or verdict_by_bounds(duty, case)
            for case in duty.cases
        ]
        return Readings(verdicts=verdicts, judgements=[self._judge(duty, meaning) for meaning in duty.meanings])

    def _judge(self, duty: ReadDuty, meaning: MeaningAsked) -> Judgement:
        judges = self._script.judges.get(meaning.term, {})
        for member in meaning.held_by:
            if member in judges:
                return judges[member]
        return judgement_by_bounds(duty, meaning)

    async def settle(self, duty: SettleDuty) -> dict[str, Settlement] | Grounded:
        """Settle as scripted, if the named member has revealed a meaning of its own; otherwise keep."""
        settlements = {}
        for term in duty.terms:
            planned = self._script.settles.get(term)
            ids = {member: m.id for m in duty.meanings if m.term == term for member in m.held_by}
            if term in duty.own:
                ids[duty.member] = duty.own[term]
            settlements[term] = _settlement(planned, ids) if planned is not None else Settlement(keep=True)
        return _grounded(settlements, self._claims(duty.act))

    async def quote(self, duty: QuoteDuty) -> dict[str, list[Value]]:
        """Quote the scripted values; all values of an issue that the script does not mention."""
        return {name: list(self._script.quotes.get(name, issue.values)) for name, issue in duty.issues.items()}

    async def propose(self, duty: ProposeDuty) -> Proposed | Grounded:
        """Propose the scripted option."""
        if self._script.proposes is None:
            raise NoAnswer("the script proposes nothing")
        proposed = Proposed(self._script.proposes, self._script.reserve)
        return _grounded(proposed, self._claims(duty.act), self._cites(proposed.option.title))

    async def score(self, duty: ScoreDuty) -> Scored | Grounded:
        """Score by title."""
        scores: dict[str, int] = {}
        rejects: dict[str, str] = {}
        reasons: dict[str, str] = {}
        for asked in duty.options:
            title = asked.option.title
            if title in self._script.rejects and len(rejects) < duty.rejects_left:
                rejects[asked.id] = self._script.rejects[title]
            elif title in self._script.scores or OTHERWISE in self._script.scores:
                scores[asked.id] = self._script.scores.get(title, self._script.scores.get(OTHERWISE, 0))
            else:
                raise NoAnswer(f"the script has no score for {title!r} and no {OTHERWISE!r}")
            if title in self._script.reasons:
                reasons[asked.id] = self._script.reasons[title]
        claims = self._claims(duty.act) if duty.step == FIRST_BALLOT else []
        cites = {asked.id: self._cites(asked.option.title) for asked in duty.options}
        return _grounded(Scored(scores, rejects, reasons), claims, cites)

    async def improve(self, duty: ImproveDuty) -> Option | Grounded | None:
        """Propose the first scripted improvement that nobody has proposed; then pass."""
        known = {_key(asked.option, duty.issues) for asked in duty.options}
        new = [option for option in self._script.improves if _key(option, duty.issues) not in known]
        if not new:
            return None
        claims = self._claims(duty.act) if new[0] == self._script.improves[0] else []
        return _grounded(new[0], claims, self._cites(new[0].title))

    async def ratify(self, duty: RatifyDuty) -> Ratified | Grounded:
        """Sign, or decline with the scripted reason."""
        said = self._script.ratifies
        because = said if isinstance(said, str) else None if said else "the script declines"
        return _grounded(Ratified(because is None, because), self._claims(duty.act), self._cites(duty.outcome.title))

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        """Do what the script says when it is due."""
        return self._actor.perform(duty, watch)


def _grounded(answer: A, claims: list[Claim], cites: dict[str, list[str]] | Sequence[str] = ()) -> A | Grounded:
    """Return *answer*, with its claims and citations if the script gives any."""
    grounds = Grounded(answer, claims, cites)
    return grounds if grounds.plain() else answer


def _key(option: Option, issues: dict[str, Issue]) -> str:
    """Return the identity of an option: its offer, with the first value for a missing issue, and its commitments."""
    offer = {name: str(option.offer.get(name, issue.values[0])) for name, issue in issues.items()}
    offer |= {name: str(value) for name, value in option.offer.items() if name not in issues}
    return digest([offer, [terms.plain() for terms in option.commitments], option.title if not issues else ""])


def _settlement(planned: Settling, ids: dict[str, str]) -> Settlement:
    if planned.keep:
        return Settlement(keep=True, because=planned.because, cites=planned.cites)
    named = (
        [planned.adopt] if planned.adopt else [planned.rule] if planned.rule else list((planned.split or {}).values())
    )
    if any(member not in ids for member in named):
        return Settlement(keep=True, because="the member named has revealed no meaning of its own")
    if planned.adopt:
        return Settlement(adopt=ids[planned.adopt], because=planned.because, cites=planned.cites)
    if planned.rule:
        return Settlement(rule=ids[planned.rule], because=planned.because, cites=planned.cites)
    split = {sense: ids[member] for sense, member in (planned.split or {}).items()}
    return Settlement(split=split, because=planned.because, cites=planned.cites)
