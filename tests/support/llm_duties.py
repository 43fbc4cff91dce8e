"""Duties to put to a mind without a room, and a mind to put them to."""

import asyncio
from typing import Any

from agents.agent import Costed, NoAnswer
from agents.llm.mind import Llm, LlmMind
from protocols.duties.briefing import Briefing, SeatTaken
from protocols.duties.duties import CaseAsked, Duty, MeaningAsked, OptionAsked, ReadDuty, ScoreDuty
from protocols.messages.accord import Interpretation
from protocols.messages.budget import Left
from protocols.messages.concord import Issue, Option, option_id
from protocols.messages.room import Authority, Rules
from tests.support.llm_server import Asked, Server

ISSUES = {"price": Issue(values=[5, 10, 15], unit="EUR"), "colour": Issue(values=["red", "blue"])}
OPTIONS = [
    Option(title="Red for ten", offer={"price": 10, "colour": "red"}, rationale="It is the cheaper paint."),
    Option(title="Blue for five", offer={"price": 5, "colour": "blue"}),
]


def asked_option(option: Option) -> OptionAsked:
    return OptionAsked(id=option_id(option, has_issues=True), option=option, proposers=["bob"])


def briefing(**more: Any) -> Briefing:
    base: dict[str, Any] = {
        "room": "paint-abc",
        "intent": "Agree on paint.",
        "members": [SeatTaken(name="ann", role="pays", agent="llm"), SeatTaken(name="bob", agent="llm")],
        "agenda": ["accord", "concord"],
        "terms": ["task"],
        "issues": ISSUES,
        "authority": Authority(),
        "events": {},
        "promises": [],
        "rules": Rules(),
    }
    return Briefing(**{**base, **more})


def score_duty(*options: Option, **more: Any) -> ScoreDuty:
    asked = [asked_option(option) for option in options or OPTIONS]
    base: dict[str, Any] = {
        "member": "ann",
        "step": "concord.ballot.1.seal",
        "options": asked,
        "rejects_left": 1,
        "bar": 50,
        "opens_reserve": True,
        "left": Left(seconds="20"),
        "briefing": briefing(),
    }
    return ScoreDuty(**{**base, **more})


def read_duty(*meanings: str, **more: Any) -> ReadDuty:
    base: dict[str, Any] = {
        "member": "ann",
        "step": "accord.reading.seal",
        "cases": [
            CaseAsked(term="cheap", text="ten euros", verdict="yes"),
            CaseAsked(term="cheap", text="twenty euros"),
            CaseAsked(term="dear", text="a hundred euros"),
        ],
        "meanings": [
            MeaningAsked(term="cheap", id=f"{n:064x}", held_by=["bob"], interpretation=Interpretation(meaning=meaning))
            for n, meaning in enumerate(meanings)
        ],
        "own": {"cheap": Interpretation(meaning="At most ten euros.")},
        "left": Left(seconds="20"),
        "briefing": briefing(),
    }
    return ReadDuty(**{**base, **more})


def scores(asked: Asked) -> dict[str, Any]:
    """Answer a ballot: 70 for the first option, ten less for each further one."""
    options = asked.data["asked"]["options"]
    return {"options": [{"option": o["option"], "score": 70 - 10 * place} for place, o in enumerate(options)]}


def mind(server: Server, **more: Any) -> LlmMind:
    return LlmMind(Llm(**{"model": "scripted", "base_url": server.url, **more}))


def ask(agent: LlmMind, duty: Duty, act: str | None = None) -> Any:
    """Return what the mind answers; an answer or a failure with its cost."""

    async def go() -> Any:
        return await getattr(agent, act or duty.act)(duty)

    return asyncio.run(go())


def failure(agent: LlmMind, duty: Duty) -> tuple[str, dict[str, Any]]:
    """Return the reason for which there is no answer, and what coming to none took."""
    try:
        answer = ask(agent, duty)
    except NoAnswer as none:
        assert none.cost is not None
        return str(none), dict(none.cost)
    raise AssertionError(f"answered: {answer}")


def counts(cost: Any) -> dict[str, int]:
    """Return the counts of a cost, in the form of the server's own."""
    plain = cost.cost() if isinstance(cost, Costed) else cost
    return {name: plain.get(name, 0) for name in ("tokens_in", "tokens_out", "calls")}
