"""A mind that offers its duties to a program elsewhere, which asks for them instead of being asked.

Each duty waits in the box until it is answered or its time is up; an answer names the step of its duty. Acts on
promises may be given at any time. Peers ask a mind from a thread of its own; any thread may read and answer a box.
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

LOOK_AGAIN = Duration(SECOND // 2)
"""How soon the peer should ask about promises again: acts may be given at any time."""
WAITS = 0.75
"""The fraction of its time for which a question about promises waits for an act."""
UNKNOWN_S = 30.0
"""The time that a duty has if its peer gives none."""


@dataclass(slots=True, eq=False)
class Posted:
    """A duty that can be answered until ``until`` (seconds of this process's monotonic clock)."""

    duty: Duty
    until: float
    answer: "Future[Any]" = field(default_factory=Future)

    @property
    def seconds_left(self) -> float:
        """How much longer an answer is accepted, in seconds."""
        return max(0.0, self.until - time.monotonic())


@dataclass(slots=True, eq=False)
class Batch:
    """Acts on promises to be said together; ``taken`` once the peer has them, ``done`` once it has finished with them.

    ``problem`` is why the peer sent them back.
    """

    acts: Sequence[Message]
    cost: Mapping[str, Any]
    taken: bool = False
    done: bool = False
    problem: str | None = None


class Mailbox(Agent):
    """The duties of one member in one room, offered to whoever reads the box.

    *changed* is called, in any thread, whenever a duty or a batch is added, removed or finished.
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
        """Return the duties that can be answered now, without the standing one about promises."""
        with self._lock:
            return list(self._posted.values())

    def answer(self, posted: Posted, given: Any, cost: Mapping[str, Any] | None = None) -> bool:
        """Answer an offered duty: *given* is what the agent's method returns, or a `NoAnswer`.

        Return whether the answer was still wanted. *cost* is its cost, in the form of `Costed.cost`.
        """
        with suppress(InvalidStateError):
            if isinstance(given, NoAnswer):
                posted.answer.set_exception(NoAnswer(str(given), cost))
            else:
                posted.answer.set_result(Costed(given, **cost) if cost else given)
            return True
        return False

    def join_as(self, model: str | None, nominates: Sequence[str]) -> None:
        """Say who joins, and which terms it adds; call this before joining is answered."""
        self._manifest = Manifest(agent=self.kind, model=model)
        self._nominates = tuple(nominates)

    def act(self, acts: Sequence[Message], cost: Mapping[str, Any] | None = None) -> Batch:
        """Hand over *acts* on promises; the batch tells what became of them."""
        batch = Batch(acts, cost or {})
        with self._lock:
            self._batches.append(batch)
            bell = self._bell
        with suppress(InvalidStateError):
            bell.set_result(None)
        return batch

    def withdraw(self, batch: Batch) -> bool:
        """Take back a batch that the peer has not taken yet; return whether that worked."""
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
        """Wait for the decision to join; raise `NoAnswer` with the reason if it is a no."""
        return await self._put_up(duty)

    def manifest(self) -> Manifest:
        """Return the manifest that `join_as` gave."""
        return self._manifest

    def nominate(self) -> Sequence[str]:
        """Return the terms that `join_as` adds."""
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
        """Return acts on promises as soon as there are any, and ask to be asked again."""
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
        """Note that the peer has finished with what it took last: it asks again."""
        if self._saying is not None:
            self._saying.problem, self._saying.done = problem, True
            self._saying = None
            self._changed()


def _seconds(duty: Duty) -> float | None:
    return None if duty.left is None or duty.left.seconds is None else float(duty.left.seconds)


def _counts_calls(duty: Duty) -> bool:
    """Tell whether the question reserves calls of a budget, for which others would wait while it does."""
    return duty.left is not None and duty.left.calls is not None
