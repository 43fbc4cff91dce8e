"""A mind that puts its duties up and lets somebody elsewhere answer them: a program that asks, rather than is asked.

Each duty waits in the box until it is answered or its time is up; the step's name is the slip that an answer is given
under. Acts on promises are given whenever there is something to say. Peers ask a mind from a thread of its own; a box
may be emptied and answered from any thread.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agents.agent import Agent, Costed, Grounded, NoAnswer, Performed, Proposed, Ratified, Scored, Watch
from protocols.core.instants import SECOND, Duration
from protocols.core.message import Message
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Interpretation, Readings, Settlement
from protocols.messages.concord import Option, Value
from protocols.messages.room import Manifest

LOOK_AGAIN: Duration = SECOND // 2
"""How soon to be asked about promises again: what is to be said of them comes at any time."""
WAITS = 0.75
"""The part of its time for which a question about promises waits for something to say."""
UNKNOWN_S = 30.0
"""The time that a duty has where its peer does not tell."""


@dataclass(slots=True, eq=False)
class Posted:
    """A duty that is up for an answer until ``until`` (seconds of this process's monotonic clock)."""

    duty: Duty
    until: float
    answer: "Future[Any]" = field(default_factory=Future)

    @property
    def seconds_left(self) -> float:
        """How long an answer is still taken."""
        return max(0.0, self.until - time.monotonic())


@dataclass(slots=True, eq=False)
class Batch:
    """Acts on promises to be said together; ``taken`` once their peer has them, ``done`` once it is through with them.

    ``problem`` is why it sent them back.
    """

    acts: Sequence[Message]
    cost: Mapping[str, Any]
    taken: bool = False
    done: bool = False
    problem: str | None = None


class Mailbox(Agent):
    """The duties of one member in one room, put up for whoever empties the box.

    *changed* is called, in whichever thread, whenever something was put up, taken down or is done.
    """

    kind = "mcp"

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._posted: dict[str, Posted] = {}
        self._batches: deque[Batch] = deque()
        self._saying: Batch | None = None
        self._bell: Future[None] = Future()
        self._manifest = Manifest(agent=self.kind)
        self._nominates: Sequence[str] = ()

    # -- for whoever answers --------------------------------------------------------------------------------------

    def posted(self) -> list[Posted]:
        """Return the duties that are up now; the standing one about promises is not among them."""
        with self._lock:
            return list(self._posted.values())

    def answer(self, posted: Posted, given: Any, cost: Mapping[str, Any] | None = None) -> bool:
        """Give the answer to a duty that is up: what the agent's method returns, or a `NoAnswer`.

        Return whether it was still wanted. *cost* is what coming to it took, in the form of `Costed.cost`.
        """
        with suppress(InvalidStateError):
            if isinstance(given, NoAnswer):
                posted.answer.set_exception(NoAnswer(str(given), cost))
            else:
                posted.answer.set_result(Costed(given, **cost) if cost else given)
            return True
        return False

    def join_as(self, model: str | None, nominates: Sequence[str]) -> None:
        """Say who joins, and which terms it adds; to be said before joining is answered."""
        self._manifest = Manifest(agent=self.kind, model=model)
        self._nominates = tuple(nominates)

    def act(self, acts: Sequence[Message], cost: Mapping[str, Any] | None = None) -> Batch:
        """Have *acts* on promises said; the batch tells what became of them."""
        batch = Batch(acts, cost or {})
        with self._lock:
            self._batches.append(batch)
            bell = self._bell
        with suppress(InvalidStateError):
            bell.set_result(None)
        return batch

    def withdraw(self, batch: Batch) -> bool:
        """Take back what was not taken yet; return whether it could be."""
        with self._lock:
            if batch.taken:
                return False
            self._batches.remove(batch)
            return True

    # -- for its peer ---------------------------------------------------------------------------------------------

    async def _put_up(self, duty: Duty) -> Any:
        left_s = _seconds(duty)
        posted = Posted(duty, time.monotonic() + (UNKNOWN_S if left_s is None else left_s))
        slip = duty.step or ""
        with self._lock:
            self._posted[slip] = posted
        self._changed()
        try:
            return await asyncio.wrap_future(posted.answer)
        finally:
            with self._lock:
                if self._posted.get(slip) is posted:
                    del self._posted[slip]
            self._changed()

    async def join(self, duty: JoinDuty) -> Any:  # type: ignore[override]
        """Wait for the decision to join; raise `NoAnswer` with the reason if it is to decline."""
        return await self._put_up(duty)

    def manifest(self) -> Manifest:
        """Return what whoever joined said that it is."""
        return self._manifest

    def nominate(self) -> Sequence[str]:
        """Return the terms that whoever joined adds."""
        return self._nominates

    async def interpret(self, duty: InterpretDuty) -> dict[str, Interpretation] | Grounded:
        """Wait for the meanings."""
        given: dict[str, Interpretation] | Grounded = await self._put_up(duty)
        return given

    async def read(self, duty: ReadDuty) -> Readings:
        """Wait for the judgements."""
        given: Readings = await self._put_up(duty)
        return given

    async def settle(self, duty: SettleDuty) -> dict[str, Settlement] | Grounded:
        """Wait for the settlements."""
        given: dict[str, Settlement] | Grounded = await self._put_up(duty)
        return given

    async def quote(self, duty: QuoteDuty) -> dict[str, list[Value]]:
        """Wait for the quotes."""
        given: dict[str, list[Value]] = await self._put_up(duty)
        return given

    async def propose(self, duty: ProposeDuty) -> Proposed | Grounded:
        """Wait for the option."""
        given: Proposed | Grounded = await self._put_up(duty)
        return given

    async def score(self, duty: ScoreDuty) -> Scored | Grounded:
        """Wait for the ballot."""
        given: Scored | Grounded = await self._put_up(duty)
        return given

    async def improve(self, duty: ImproveDuty) -> Option | Grounded | None:
        """Wait for a better option, or a pass."""
        given: Option | Grounded | None = await self._put_up(duty)
        return given

    async def ratify(self, duty: RatifyDuty) -> Ratified | Grounded:
        """Wait for the signature, or the refusal."""
        given: Ratified | Grounded = await self._put_up(duty)
        return given

    async def perform(self, duty: PerformDuty, watch: Watch) -> Any:
        """Return what is to be said about promises as soon as there is something, and ask to be asked again."""
        self._finish(duty.problem)
        batch = self._take()
        if batch is None and not _counts_calls(duty):
            with self._lock:
                bell = self._bell = Future[None]()
                waiting = not self._batches
            if waiting:
                with suppress(TimeoutError):
                    async with asyncio.timeout(WAITS * (_seconds(duty) or UNKNOWN_S)):
                        await asyncio.wrap_future(bell)
            batch = self._take()
        if batch is None:
            return Performed(again_in=LOOK_AGAIN)
        performed = Performed(batch.acts, again_in=LOOK_AGAIN)
        return Costed(performed, **batch.cost) if batch.cost else performed

    def _take(self) -> Batch | None:
        with self._lock:
            if not self._batches:
                return None
            self._saying = self._batches.popleft()
            self._saying.taken = True
            return self._saying

    def _finish(self, problem: str | None) -> None:
        """Note that the peer is through with what it took last: it asks again."""
        if self._saying is not None:
            self._saying.problem, self._saying.done = problem, True
            self._saying = None
            self._changed()


def _seconds(duty: Duty) -> float | None:
    return None if duty.left is None or duty.left.seconds is None else float(duty.left.seconds)


def _counts_calls(duty: Duty) -> bool:
    """Tell whether the question holds calls of a budget: while it waits, others would wait for them."""
    return duty.left is not None and duty.left.calls is not None
