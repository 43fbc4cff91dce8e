"""The mailbox between a peer's mind, which runs in a thread of its own, and whoever empties it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agents.agent import NoAnswer, Performed, Scored
from agents.mailbox import Mailbox, Posted
from protocols.duties.duties import OptionAsked, PerformDuty, ScoreDuty
from protocols.messages.budget import Left
from protocols.messages.commitments import ReportEvent
from protocols.messages.concord import Option
from protocols.messages.room import Manifest
from swarm.seat.asking import Mind
from swarm.seat.excuses import Excused
from swarm.seat.purse import Purse
from tests.support.mcp_desks import go

OPTION = "a" * 64
BALLOT = Scored({OPTION: 60})
PAID = ReportEvent(event="paid")


def ballot() -> ScoreDuty:
    asked = OptionAsked(id=OPTION, option=Option(title="x"), proposers=["ann"])
    step = "concord.ballot.1.seal"
    return ScoreDuty(member="bob", step=step, options=[asked], rejects_left=1, bar=50, opens_reserve=True)


def standing(**more: Any) -> PerformDuty:
    return PerformDuty(member="bob", reportable=["paid"], awaiting=[], promises={}, done=[], operations=[], **more)


async def up(box: Mailbox) -> Posted:
    """Return the duty that is up, once there is one."""
    while not box.posted():
        await asyncio.sleep(0.005)
    return box.posted()[0]


def asked(work: Callable[[Mailbox, Mind, Purse], Awaitable[Any]], left: Left | None = None) -> Any:
    async def with_mind() -> Any:
        box, purse = Mailbox(), Purse(lambda: left or Left())
        mind = Mind(box, purse)
        try:
            return await work(box, mind, purse)
        finally:
            mind.close()

    return go(with_mind(), 20)


def test_a_duty_is_up_until_it_is_answered_and_its_cost_is_passed_on() -> None:
    """Protects the way of an answer: from the client's thread to the peer's, once, with what it took."""

    async def work(box: Mailbox, mind: Mind, purse: Purse) -> None:
        asking = asyncio.create_task(mind.ask("score", 10.0, ballot()))
        posted = await up(box)
        assert posted.duty.step == ballot().step
        assert 0 < posted.seconds_left <= 10
        assert box.answer(posted, BALLOT, {"tokens_in": 5, "calls": 1})
        assert not box.answer(posted, BALLOT)
        assert await asking == BALLOT
        assert [(cost["tokens_in"], cost["calls"]) for cost in purse.unsaid] == [(5, 1)]
        assert box.posted() == []

    asked(work)


def test_what_is_answered_after_its_time_is_not_taken() -> None:
    """Protects the next step: an answer that nobody waits for any more is refused, and the duty is down."""

    async def work(box: Mailbox, mind: Mind, purse: Purse) -> None:
        asking = asyncio.create_task(mind.ask("score", 0.2, ballot()))
        posted = await up(box)
        with pytest.raises(Excused, match=r"no answer to score within 0\.2 s"):
            await asking
        while box.posted():
            await asyncio.sleep(0.005)
        assert not box.answer(posted, BALLOT)

    asked(work)


def test_an_excuse_is_the_reason_and_the_next_question_is_a_new_one() -> None:
    """Protects reasons: they reach the record as given, and a duty asked again waits for an answer of its own."""

    async def work(box: Mailbox, mind: Mind, purse: Purse) -> None:
        asking = asyncio.create_task(mind.ask("score", 10.0, ballot()))
        first = await up(box)
        box.answer(first, NoAnswer("no idea"))
        with pytest.raises(Excused, match=r"^no idea$"):
            await asking
        again = asyncio.create_task(mind.ask("score", 10.0, ballot().model_copy(update={"problem": "no"})))
        second = await up(box)
        assert second is not first
        assert second.duty.problem == "no"
        assert not box.answer(first, BALLOT)
        assert box.answer(second, BALLOT)
        assert await again == BALLOT

    asked(work)


def test_acts_wait_for_the_peer_and_tell_when_it_is_through_with_them() -> None:
    """Protects promises: what is given is taken once, whether the peer asks before or after, and can be taken back."""

    async def work(box: Mailbox, mind: Mind, purse: Purse) -> None:
        asking = asyncio.create_task(mind.ask("perform", 10.0, standing(), None))
        await asyncio.sleep(0.1)
        assert not asking.done()
        batch = box.act([PAID], {"calls": 1})
        performed = await asking
        assert isinstance(performed, Performed)
        assert list(performed.acts) == [PAID]
        assert performed.again_in is not None
        assert (batch.taken, batch.done) == (True, False)
        assert not box.withdraw(batch)
        second, third = box.act([PAID]), box.act([PAID])
        assert box.withdraw(second)
        assert list((await mind.ask("perform", 10.0, standing(problem="not yours"), None)).acts) == [PAID]
        assert (batch.done, batch.problem) == (True, "not yours")
        assert (second.taken, third.taken) == (False, True)

    asked(work)


def test_a_question_that_holds_calls_of_a_budget_does_not_wait() -> None:
    """Protects the steps of a room with a budget of calls: they would wait for what the standing duty holds."""

    async def work(box: Mailbox, mind: Mind, purse: Purse) -> None:
        performed = await asyncio.wait_for(mind.ask("perform", 60.0, standing(), None), 5)
        assert (list(performed.acts), performed.again_in is not None) == ([], True)

    asked(work, Left(calls=1))


def test_who_joins_is_what_it_said() -> None:
    """Protects the manifest: an MCP client, the model that it names, and the terms that it adds."""
    box = Mailbox()
    assert box.manifest() == Manifest(agent="mcp")
    box.join_as("some-model", ["soon"])
    assert box.manifest() == Manifest(agent="mcp", model="some-model")
    assert list(box.nominate()) == ["soon"]
