"""A member that scores every offer by its own points, and learns the others' points from the scores they reveal."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from agents.acting import Actor
from agents.agent import Agent, NoAnswer, Performed, Proposed, Scored, Watch
from agents.script import Acting, Reading, Score, as_text
from protocols.core.message import Name
from protocols.duties.duties import ImproveDuty, InterpretDuty, OptionAsked, PerformDuty, ProposeDuty, ScoreDuty
from protocols.messages.accord import Interpretation
from protocols.messages.concord import Issue, Option, Value

if TYPE_CHECKING:
    from agents.utility_model import Offer, UtilityModel


def _texts_for_keys(value: Any) -> Any:
    """Let keys be written as numbers: a key names a value by its text."""
    if not isinstance(value, dict):
        return value
    return {issue: {as_text(key): p for key, p in points.items()} if isinstance(points, dict) else points
            for issue, points in value.items()}  # fmt: skip


class Utility(Acting):
    """What a scenario file says for a utility member: points by issue and value, and its reserve."""

    values: Annotated[dict[Name, dict[str, Score]], BeforeValidator(_texts_for_keys)]
    reserve: Score | None = None
    reads: dict[Name, Reading] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _at_most_100(self) -> "Utility":
        best = sum(max(points.values(), default=0) for points in self.values.values())
        if best > 100:
            raise ValueError(f"values: the best of every issue come to {best} points; at most 100 are a score")
        return self


class UtilityMind(Agent):
    """Scores by its own points; proposes what it predicts to lift the standing option most, or passes."""

    kind = "utility"
    free = True

    def __init__(self, utility: Utility) -> None:
        self._utility = utility
        self._actor = Actor(utility)

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation]:
        """Give the meanings that the file contains."""
        return {term: self._utility.reads[term] for term in duty.terms if term in self._utility.reads}

    async def propose(self, duty: ProposeDuty) -> Proposed:
        """Propose the member's own best offer: it tells the others most."""
        model = self._model(duty.issues, [], duty.member)
        return Proposed(_option(model, model.first_proposal(), duty.issues), self._utility.reserve)

    async def score(self, duty: ScoreDuty) -> Scored:
        """Score every option by its points; an issue without a value adds none."""
        return Scored({asked.id: self._points(asked) for asked in duty.options})

    def _points(self, asked: OptionAsked) -> int:
        points = self._utility.values
        return sum(points.get(issue, {}).get(str(value), 0) for issue, value in asked.option.offer.items())

    async def improve(self, duty: ImproveDuty) -> Option | None:
        """Propose the offer predicted to lift the standing option most, if this member prefers it; otherwise pass."""
        from agents.utility_model import Row

        members = sorted({member for scores in duty.table.values() for member in scores})
        model = self._model(duty.issues, members, duty.member)
        rows: list[Row] = []
        standing = None
        for asked in duty.options:
            if duty.table.get(asked.id):
                if asked.id == duty.standing:
                    standing = len(rows)
                rows.append(Row(_offer(model, asked.option), duty.table[asked.id]))
        if standing is None:
            raise NoAnswer("the standing option has no scores")
        tried = [offer for asked in duty.options if (offer := _offer(model, asked.option)) is not None]
        found = model.improve(rows, standing, duty.reserves, duty.floor, tried)
        return None if found is None else _option(model, found, duty.issues)

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        """Do what the file says when it is due."""
        return self._actor.perform(duty, watch)

    def _model(self, issues: dict[str, Issue], members: list[str], me: str) -> "UtilityModel":
        # Imported on use: the numeric library takes longer to import than a scripted member takes to start.
        from agents.utility_model import UtilityModel

        texts = {name: [str(value) for value in issue.values] for name, issue in issues.items()}
        return UtilityModel(texts, self._utility.values, self._utility.reserve, members, me)


def _offer(model: "UtilityModel", option: Option) -> "Offer | None":
    if not set(model.issues) <= option.offer.keys():
        return None
    return model.offer({name: str(option.offer[name]) for name in model.issues})


def _option(model: "UtilityModel", offer: "Offer", issues: dict[str, Issue]) -> Option:
    texts = model.values(offer)
    values: dict[str, Value] = {
        name: next(value for value in issue.values if str(value) == texts[name]) for name, issue in issues.items()
    }
    return Option(title=_title(texts, issues), offer=values)


def _title(texts: dict[str, str], issues: dict[str, Issue]) -> str:
    """Name an offer by its values; a bare number says little, so its issue and unit are added."""
    parts = []
    for name, text in texts.items():
        unit = issues[name].unit
        bare = not any(character.isalpha() for character in text)
        parts.append(f"{name} {text} {unit}".strip() if bare and unit else f"{name} {text}" if bare else text)
    return ", ".join(parts)[:200]
