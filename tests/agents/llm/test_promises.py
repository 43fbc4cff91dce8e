"""When a model is asked about promises: not without need, and not again while nothing has changed."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from agents.agent import Costed, NoAnswer, Performed
from agents.llm.mind import LlmMind
from protocols.duties.duties import PerformDuty, ReportAsked
from protocols.messages.budget import Left
from protocols.messages.commitments import CommitmentTerms, ReportEvent
from tests.support.llm_duties import briefing, counts, mind
from tests.support.llm_server import Asked, Server, serving

TERMS = CommitmentTerms.model_validate(
    {"id": "paid", "debtor": "ann", "creditor": "bob", "then": "paid within 2 days of agreed"}
)


class Watch:
    def elapsed(self, condition: str) -> int | None:
        raise AssertionError("a model is not told how long ago things were")


def duty(state: str = "detached", **more: Any) -> PerformDuty:
    base: dict[str, Any] = {
        "member": "ann",
        "reportable": ["paid"],
        "awaiting": [],
        "promises": {"paid": state},
        "done": [],
        "operations": [],
        "left": Left(seconds="10"),
        "briefing": briefing(promises=[TERMS]),
    }
    return PerformDuty(**{**base, **more})


def put(agent: LlmMind, *duties: PerformDuty) -> list[Any]:
    async def go() -> list[Any]:
        given: list[Any] = []
        for each in duties:
            try:
                given.append(await agent.perform(each, Watch()))
            except NoAnswer as none:
                given.append(none)
        return given

    return asyncio.run(go())


def pay(asked: Asked) -> dict[str, Any]:
    return {"events": [] if asked.data["asked"]["said"]["reported"] else [{"event": "paid"}]}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(pay) as running:
        yield running


def test_a_change_is_asked_about_once(server: Server) -> None:
    """Protects the budget: a room full of changes that do not concern this member costs it nothing."""
    said = ReportAsked(id="a" * 64, event="paid", by="ann", attributes={})
    elsewhere = briefing(promises=[TERMS], intent="Other words.")
    answers = put(
        mind(server), duty(), duty(), duty(briefing=elsewhere), duty(done=[said]), duty("satisfied", done=[said])
    )
    assert answers[0].answer == Performed([ReportEvent(event="paid")])
    assert answers[1:] == [Performed()] * 4
    assert server.requests == 1
    assert counts(answers[0]) == server.counted


def test_a_report_that_awaits_an_answer_and_a_state_that_changed_are_asked_about(server: Server) -> None:
    """Protects promises: what does concern the member is asked about again, and a sent-back answer always."""
    waiting = ReportAsked(id="b" * 64, event="delivered", by="bob", attributes={})
    put(mind(server), duty(), duty(awaiting=[waiting]), duty("disputed"), duty("disputed", problem="not like this"))
    assert server.requests == 4
    assert server.asked[3].data["refused"] == {"why": "not like this"}


def test_a_model_may_ask_to_be_asked_again(server: Server) -> None:
    """Protects windows: the wait that the model asked for is kept until it is over, and is not forgotten before."""
    server.answers = lambda asked: {"again_in_seconds": 600}
    first, second = put(mind(server), duty(), duty())
    assert first.answer == Performed([], 600_000_000)
    assert 0 < second.again_in <= 600_000_000
    assert server.requests == 1


def test_a_server_that_is_down_for_a_while_is_let_rest(server: Server) -> None:
    """Protects both sides: no call for every record of the room, and no promise forgotten; the cost is told."""
    server.order("status:503,3600")
    first, second, third = put(mind(server), duty(), duty(), duty("disputed"))
    assert isinstance(first, Costed)
    assert first.answer.acts == ()
    assert 0 < second.again_in <= first.answer.again_in
    assert isinstance(third, Costed)
    assert server.requests == 2
    assert counts(first)["calls"] + counts(third)["calls"] == 2


def test_an_excuse_about_promises_holds_until_something_changes(server: Server) -> None:
    """Protects the budget: a model that will not speak of this is not asked for ever."""
    server.order("excuse:I leave this to my owner.")
    first, second, third = put(mind(server), duty(), duty(), duty("disputed"))
    assert str(first) == "I leave this to my owner."
    assert second == Performed()
    assert isinstance(third, Costed)
    assert server.requests == 2
