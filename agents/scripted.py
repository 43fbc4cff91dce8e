"""A member that answers from a scenario file."""

from agents.acting import Actor
from agents.agent import (
    Agent,
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
from protocols.accord.messages import Interpretation, Judgement, Readings, Settlement
from protocols.canonical import digest
from protocols.concord.messages import Issue, Option, Value
from protocols.duties import (
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

OTHERWISE = "otherwise"


class Scripted(Agent):
    """Says what its script says. What the script leaves out follows the defaults of `Agent`."""

    kind = "scripted"
    free = True

    def __init__(self, script: Script) -> None:
        self._script = script
        self._actor = Actor(script)

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation]:
        """Give the scripted meanings of the terms asked for."""
        return {term: self._script.reads[term] for term in duty.terms if term in self._script.reads}

    async def read(self, duty: ReadDuty) -> Readings:
        """Give scripted verdicts and judgements; else by bounds and cases."""
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

    async def settle(self, duty: SettleDuty) -> dict[str, Settlement]:
        """Settle as scripted, where the member named has revealed a meaning of its own; else keep."""
        settlements = {}
        for term in duty.terms:
            planned = self._script.settles.get(term)
            ids = {member: m.id for m in duty.meanings if m.term == term for member in m.held_by}
            if term in duty.own:
                ids[duty.member] = duty.own[term]
            settlements[term] = _settlement(planned, ids) if planned is not None else Settlement(keep=True)
        return settlements

    async def quote(self, duty: QuoteDuty) -> dict[str, list[Value]]:
        """Quote the scripted values; all values of an issue that the script leaves out."""
        return {name: list(self._script.quotes.get(name, issue.values)) for name, issue in duty.issues.items()}

    async def propose(self, duty: ProposeDuty) -> Proposed:
        """Propose the scripted option."""
        if self._script.proposes is None:
            raise NoAnswer("the script proposes nothing")
        return Proposed(self._script.proposes, self._script.reserve)

    async def score(self, duty: ScoreDuty) -> Scored:
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
        return Scored(scores, rejects, reasons)

    async def improve(self, duty: ImproveDuty) -> Option | None:
        """Propose the first scripted improvement that nobody has proposed; then pass."""
        known = {_key(asked.option, duty.issues) for asked in duty.options}
        return next((option for option in self._script.improves if _key(option, duty.issues) not in known), None)

    async def ratify(self, duty: RatifyDuty) -> Ratified:
        """Sign, or decline with the scripted reason."""
        said = self._script.ratifies
        if isinstance(said, str):
            return Ratified(False, said)
        return Ratified(said, None if said else "the script declines")

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        """Do what the script says once it is time."""
        return self._actor.perform(duty, watch)


def _key(option: Option, issues: dict[str, Issue]) -> str:
    """Return what makes two options one: the offer, an issue left out taking its first value, and the commitments."""
    offer = {name: str(option.offer.get(name, issue.values[0])) for name, issue in issues.items()}
    offer |= {name: str(value) for name, value in option.offer.items() if name not in issues}
    return digest([offer, [terms.plain() for terms in option.commitments], option.title if not issues else ""])


def _settlement(planned: Settling, ids: dict[str, str]) -> Settlement:
    if planned.keep:
        return Settlement(keep=True, because=planned.because)
    named = (
        [planned.adopt] if planned.adopt else [planned.rule] if planned.rule else list((planned.split or {}).values())
    )
    if any(member not in ids for member in named):
        return Settlement(keep=True, because="the member named has revealed no meaning of its own")
    if planned.adopt:
        return Settlement(adopt=ids[planned.adopt], because=planned.because)
    if planned.rule:
        return Settlement(rule=ids[planned.rule], because=planned.because)
    split = {sense: ids[member] for sense, member in (planned.split or {}).items()}
    return Settlement(split=split, because=planned.because)
