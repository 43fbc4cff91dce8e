"""Whose deadline and which clock (GD-04); refusals, faults and successes told apart (GD-05); for any mind."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.agent import Agent, NoAnswer, Scored
from agents.external import Exec, ExternalMind
from protocols.duties.duties import OptionAsked, ScoreDuty
from protocols.messages.budget import Left
from protocols.messages.concord import Option
from swarm.clock import utc_now
from swarm.running.running import run
from swarm.seat.asking import Mind
from swarm.seat.excuses import Excused, Unfit
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.seat import Seat
from tests.support import costly_agents
from tests.support.costly_agents import Costly
from tests.support.small_rooms import Sitting, go
from tests.support.strange_agents import Willing

pytestmark = pytest.mark.usefixtures("without_waiting")

ROOT = str(Path(__file__).resolve().parents[3])
SECOND = 1_000_000
ECHO = """
import json, sys
for line in sys.stdin:
    duty = json.loads(line)
    open("asked", "a").write(json.dumps(duty["left"]) + "\\n")
    if duty["act"] == "score":
        import time
        time.sleep(3600)
    print(json.dumps({"id": duty["id"], "excuse": "nothing to say"}), flush=True)
"""


@pytest.fixture(autouse=True)
def _nobody_asked_yet() -> Iterator[None]:
    costly_agents.ASKED.clear()
    yield
    costly_agents.ASKED.clear()


def ballot(left: Left | None = None) -> ScoreDuty:
    option = OptionAsked(id="a" * 64, option=Option(title="x"), proposers=["ann"])
    return ScoreDuty(member="bob", left=left, options=[option], rejects_left=1, bar=50, opens_reserve=True)


def asked(agent: Agent, timeout_s: float = 30.0) -> Any:
    """What the peer of *agent* gets when it asks it for a ballot."""

    async def work() -> Any:
        mind = Mind(agent)
        try:
            return await mind.ask("score", timeout_s, ballot())
        finally:
            mind.close()

    return go(work())


# -- GD-04 -------------------------------------------------------------------------------------------------------------


@pytest.mark.real_time
def test_a_command_is_told_what_is_left_and_has_at_most_that(tmp_path: Path) -> None:
    """Protects the room's clock: the limit is the lesser of the command's own and what is left, less a margin.

    The line carries the remaining duration, so that the command need not compare clocks.
    """
    (tmp_path / "mind.py").write_text(ECHO, encoding="utf-8")
    config = Exec(command=[sys.executable, "mind.py"], folder=str(tmp_path), timeout_seconds=60)

    async def work() -> str:
        mind = ExternalMind(config, "bob")
        try:
            with pytest.raises(NoAnswer) as caught:
                await mind.score(ballot(Left(seconds="3")))
            return str(caught.value)
        finally:
            mind.close()

    assert go(work()).startswith("no answer to score within 1.")
    assert json.loads((tmp_path / "asked").read_text()) == {"seconds": "3", "tokens": None, "calls": None}


@pytest.mark.real_time
def test_a_duty_is_handed_to_the_mind_once_while_it_is_at_work(tmp_path: Path) -> None:
    """Protects from work done twice: that an answer is awaited no more is not taken for the mind's death."""
    (tmp_path / "mind.py").write_text(ECHO, encoding="utf-8")
    slow = {"name": "slow", "agent": "exec", "command": [sys.executable, "mind.py"], "folder": str(tmp_path)}
    quick = {"proposes": {"title": "mon", "offer": {"day": "mon"}}, "scores": {"otherwise": 70}}
    scenario = {
        "room": "once",
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": {"step_seconds": 3},
        "members": [slow, {"name": "ann", **quick}],
    }
    result = run(scenario, memory=True)
    assert result.outcome == "no_agreement"
    excuses = [f["text"] for f in result.plain()["findings"] if f["code"] == "excused" and f["who"] == "slow"]
    assert any(text.endswith("late: it gave no answer in time") for text in excuses)
    left = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    scored = [each for each in left if each is not None and float(each["seconds"]) < 3]
    # manifest, nominate, propose and one ballot were asked, and each of them once.
    assert len(left) == 4, left
    assert scored


class Hanging(Willing):
    """Never comes back with a ballot."""

    async def score(self, duty: ScoreDuty) -> Scored:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


def test_a_step_of_the_wall_clock_lengthens_no_wait_for_a_mind() -> None:
    """Protects the peer: a clock set back by ten minutes while a mind is asked does not give it ten minutes more."""
    back = 0

    class Stepping(Hanging):
        async def score(self, duty: ScoreDuty) -> Scored:
            nonlocal back
            back = 600 * SECOND
            return await super().score(duty)

    agent = Stepping()

    async def work() -> str:
        mind = Mind(agent)
        try:
            await mind.ask("score", 1.0, ballot())
        except Excused as excuse:
            return str(excuse)
        finally:
            mind.close()
        return "answered"

    assert go(work(), 30) == "no answer to score within 1.0 s"
    assert back


def test_a_room_ends_though_a_member_s_clock_steps_back() -> None:
    """Protects everybody: one clock set back by ten minutes in the middle delays nobody by that."""
    member = {"proposes": {"title": "mon", "offer": {"day": "mon"}}, "scores": {"otherwise": 70}}
    scenario = {
        "room": "stepping",
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": {"step_seconds": 4, "skew_seconds": 3600},
        "members": [{"name": "ann", **member}, {"name": "bob", **member}],
    }
    stepped = 0

    def clock() -> int:
        return utc_now() - stepped

    async def work() -> str:
        nonlocal stepped
        sitting = Sitting(scenario)
        await sitting.open()
        replica = await sitting.replica()
        sitting.agents["bob"] = Hanging()
        clocks = {"ann": utc_now, "bob": clock}
        seats = [
            asyncio.create_task(Seat(i, sitting.agents[n], replica, MemoryOutbox(), clocks[n]).run())
            for n, i in sitting.identities.items()
        ]
        follow = asyncio.create_task(replica.follow())
        while replica.room.concord is None or replica.room.concord.ballots != 1 or not replica.room.concord.candidates:
            await replica.changed(replica.version)
        stepped = 600 * SECOND
        while not replica.room.over:
            await replica.changed(replica.version)
        for task in (*seats, follow):
            task.cancel()
        await asyncio.gather(*seats, follow, return_exceptions=True)
        return replica.room.ending.outcome if replica.room.ending else "unfinished"

    assert go(work(), 60) == "no_agreement"


# -- GD-05 -------------------------------------------------------------------------------------------------------------


class PolicyRefusal(NoAnswer):
    """A refusal of a library's own: what counts is what it is, not what it is called."""


class TransportError(ConnectionError):
    """A fault of a library's own."""


def raising(error: BaseException) -> Agent:
    class Raising(Costly):
        count = 0

        async def score(self, duty: ScoreDuty) -> Any:
            type(self).count += 1
            raise error

    return Raising()


def test_a_refusal_is_asked_once_and_its_reason_shown() -> None:
    """Protects the record: who declines has declined, and is not asked until it gives in."""
    agent = raising(PolicyRefusal("I do not vote on that", {"calls": 1}))
    with pytest.raises(Excused, match=r"^I do not vote on that$") as caught:
        asked(agent)
    assert not isinstance(caught.value, Unfit)
    assert agent.count == 1  # type: ignore[attr-defined]


def test_a_fault_is_named_as_one() -> None:
    """Protects who looks for the cause: an error is no refusal, and no answer."""
    with pytest.raises(Excused, match="the agent failed at score: TransportError: gone"):
        asked(raising(TransportError("gone")))


def test_a_failure_that_is_returned_is_no_answer() -> None:
    """Protects the room from a swallowed exception: a returned failure has no form that a ballot has."""
    scenario = {
        "room": "failing",
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": {"step_seconds": 5},
        "members": [
            {"name": "ann", "agent": "tests.swarm.seat.test_mind_faults:ReturnsFailure", "folder": ROOT},
            {"name": "bob", "proposes": {"title": "t", "offer": {"day": "tue"}}, "scores": {"otherwise": 60}},
        ],
    }
    result = run(scenario, memory=True)
    excuses = [f["text"] for f in result.plain()["findings"] if f["code"] == "excused"]
    assert result.outcome == "no_agreement"
    assert len(excuses) == 1
    assert excuses == ["concord.ballot.1.seal: invalid: its answer is not valid"]
    assert [act for _, act, _ in costly_agents.ASKED].count("score") == 2  # Sent back once, and no more.


class ReturnsFailure(Costly):
    """Returns what went wrong instead of raising it."""

    async def score(self, duty: ScoreDuty) -> Any:
        costly_agents.ASKED.append((duty.member, "score", None))
        return {"status": "failed"}


def test_a_cancellation_is_neither_failure_nor_success() -> None:
    """Protects who stops waiting: the cancellation goes through, and the mind can be asked again."""
    agent = Willing(tenths=20)

    async def work() -> Any:
        mind = Mind(agent)
        try:
            task = asyncio.create_task(mind.ask("score", 30, ballot()))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            agent.pause_s = 0
            return await mind.ask("score", 30, ballot())
        finally:
            mind.close()

    assert go(work()) == Scored({"a" * 64: 70})


def test_refusing_to_act_breaks_no_promise_by_itself() -> None:
    """Protects a debtor that declines to act now: the promise is as it was until its window closes."""
    scenario = {
        "room": "declining",
        "intent": "Pick a day.",
        "agenda": ["commitments"],
        "events": {"signed": {"by": "bob"}},
        "rules": {"step_seconds": 5, "watch_seconds": 1},
        "promises": [{"id": "sign", "debtor": "bob", "creditor": "ann", "then": "signed within 5 days of agreed"}],
        "members": [
            {"name": "ann"},
            {"name": "bob", "agent": "tests.swarm.seat.test_mind_faults:NotNow", "folder": ROOT},
        ],
    }
    assert run(scenario, memory=True).commitments == {"sign": "detached"}


class NotNow(Costly):
    """Declines to act."""

    async def perform(self, duty: Any, watch: Any) -> Any:
        raise NoAnswer("not now")
