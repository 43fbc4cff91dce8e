"""Minds of a user's own: one that does its work, and ones that do everything that a mind should not."""

import asyncio
import contextlib
import os
import threading
from typing import Any

from agents import Agent
from agents.agent import NoAnswer, Performed, Proposed, Ratified, Scored, Watch
from protocols.duties.duties import InterpretDuty, PerformDuty, ProposeDuty, RatifyDuty, ScoreDuty
from protocols.messages.accord import Interpretation
from protocols.messages.commitments import ReportEvent
from protocols.messages.concord import Option

RELEASED = threading.Event()
"""Lets the threads of minds that hang end, once a test has seen that nobody waits for them."""


class Willing(Agent):
    """Agrees to whatever is asked, after a while where a test wants to come in between."""

    def __init__(self, day: str = "mon", terms_of: int = 3, tenths: int = 0) -> None:
        self.day = day
        self.length = terms_of
        self.pause_s = tenths / 10

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation]:
        await asyncio.sleep(self.pause_s)
        return {term: Interpretation(meaning="x" * self.length) for term in duty.terms}

    async def propose(self, duty: ProposeDuty) -> Proposed:
        await asyncio.sleep(self.pause_s)
        return Proposed(Option(title=f"custom {self.day}", offer={"day": self.day}))

    async def score(self, duty: ScoreDuty) -> Scored:
        await asyncio.sleep(self.pause_s)
        return Scored({asked.id: 70 for asked in duty.options})

    async def ratify(self, duty: RatifyDuty) -> Ratified:
        await asyncio.sleep(self.pause_s)
        return Ratified(True)


class Strange(Willing):
    """Does as *how* says when it is asked for *at*."""

    def __init__(self, at: str, how: str) -> None:
        super().__init__()
        setattr(self, at, getattr(self, how))

    async def raises(self, *_: Any) -> None:
        raise RuntimeError("boom \ud83d \x1b[2K")

    def raises_plainly(self, *_: Any) -> None:
        raise ValueError("plain boom")

    async def exits(self, *_: Any) -> None:
        raise SystemExit(0)

    def exits_plainly(self, *_: Any) -> None:
        raise SystemExit(0)

    async def cancels(self, *_: Any) -> None:
        raise asyncio.CancelledError

    async def times_out(self, *_: Any) -> None:
        raise TimeoutError("the model's server")

    async def refuses_at_length(self, *_: Any) -> None:
        raise NoAnswer("no" * 150_000)

    async def waits(self, *_: Any) -> None:
        await asyncio.sleep(3600)

    async def waits_stubbornly(self, *_: Any) -> None:
        while not RELEASED.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)

    async def blocks_though_async(self, *_: Any) -> None:
        RELEASED.wait(3600)

    def blocks(self, *_: Any) -> None:
        RELEASED.wait(3600)

    async def nonsense(self, *_: Any) -> object:
        return object()

    def a_generator(self, *_: Any) -> Any:
        yield 1

    async def too_high(self, duty: ScoreDuty) -> Scored:
        return Scored({asked.id: 101 for asked in duty.options})

    async def a_truth_value(self, duty: ScoreDuty) -> Scored:
        return Scored({asked.id: True for asked in duty.options})

    async def half_a_ballot(self, duty: ScoreDuty) -> Scored:
        return Scored({duty.options[0].id: 50})

    async def outside_the_issues(self, duty: ProposeDuty) -> Proposed:
        return Proposed(Option(title="wednesday", offer={"day": "wed"}))

    async def unchecked(self, duty: ProposeDuty) -> Proposed:
        return Proposed(Option.model_construct(title=5, offer={"day": 1.5}))

    async def a_huge_text(self, duty: InterpretDuty) -> dict[str, Interpretation]:
        return {term: Interpretation.model_construct(meaning="x" * 300_000) for term in duty.terms}

    async def much_in_all(self, duty: InterpretDuty) -> dict[str, Interpretation]:
        return {term: Interpretation(meaning="x" * 2_000) for term in duty.terms}

    async def deeply_nested(self, duty: InterpretDuty) -> Any:
        deep: Any = {}
        for _ in range(5_000):
            deep = {"x": deep}
        return deep

    async def spoils_its_duty(self, duty: InterpretDuty) -> Any:
        duty.terms.clear()
        return {}

    def many_nominations(self) -> list[str]:
        return ["a", "b", "c", "d"]


class Reporting(Willing):
    """Reports one event again and again, whatever it has said already, and asks to be asked at once."""

    asked = 0

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        type(self).asked += 1
        assert watch.elapsed("agreed") is None or watch.elapsed("agreed") >= 0  # type: ignore[operator]
        return Performed([ReportEvent(event="signed")] if "signed" in duty.reportable else [], again_in=0)


class Printing(Willing):
    """Prints where it should not, starts a child that outlives it, and hangs while it scores."""

    def __init__(self, pids: str = "") -> None:
        super().__init__()
        print("printed while it is made")
        self.pids = pids

    def score(self, duty: ScoreDuty) -> Scored:  # type: ignore[override]
        print("printed while it scores", flush=True)
        if self.pids:
            child = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1000")
            with open(self.pids, "a") as file:
                file.write(f"{child}\n")
            RELEASED.wait(3600)
        return Scored({asked.id: 60 for asked in duty.options})


class NeedsArguments(Willing):
    def __init__(self, model: str) -> None:
        raise RuntimeError(f"no model {model}")


class NoAgent:
    pass


a_function = NoAgent
