"""A seat: one member in one room. The loop that follows the room's duties and answers them.

Everything it knows it reads off the replica, so a seat that starts again finds only what is still owed. Join,
promise, reveal, close and tick need no mind; all else is asked of the agent, with the step's deadline as the limit.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from agents.agent import Agent
from protocols.canonical import canonical
from protocols.duties import (
    CloseDuty,
    Duty,
    JoinDuty,
    PerformDuty,
    PromiseDuty,
    RevealDuty,
    TickDuty,
    WitnessDuty,
)
from protocols.instants import SECOND, Duration, Instant
from protocols.messages import VERSIONS
from protocols.sealed import SealedRound
from swarm.errors import SwarmError
from swarm.identity import Identity
from swarm.minds import Excused, acts_of, ask, compose
from swarm.outbox import Outbox
from swarm.replica import Replica
from swarm.sealing import open_box
from swarm.speaker import Speaker

MARGIN = SECOND
"""How long before a step's deadline a mind's time is up, so that its excuse is still in time; at most a quarter."""
PERFORM_TIMEOUT_S = 60.0
TICK_AGAIN: Duration = SECOND // 2
UNTICKABLE: Duration = 30 * SECOND
"""How far past a deadline the own clock may be, while ticks change nothing, before the clocks are taken to disagree."""


class ClockApart(SwarmError):
    """The own clock is far past a deadline that the log's time does not reach."""


class Seat:
    """The member *name* in the replica's room, with its key and its mind."""

    def __init__(
        self,
        identity: Identity,
        agent: Agent,
        replica: Replica,
        outbox: Outbox,
        clock: Callable[[], Instant],
        *,
        patience_s: float = 60.0,
    ) -> None:
        self._identity = identity
        self._agent = agent
        self._replica = replica
        self._clock = clock
        self._speaker = Speaker(identity, replica, outbox, clock, patience_s=patience_s)
        self._name = replica.fold.names[identity.public]
        self._minds: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._performing: asyncio.Task[Any] | None = None
        self._performed_at = -1
        self._perform_again: Instant | None = None
        self._acted: set[bytes] = set()
        self._tick_not_before: Instant = 0

    async def run(self) -> None:
        """Do what the room asks of this member until the room is over.

        Raises `SecondProcess`, `ClockApart`, or a `WireError` when the log stays out of reach.
        """
        await self._speaker.recover()
        try:
            while not self._replica.room.over:
                seen = self._replica.version
                timer = None
                for duty in self._replica.room.duties(self._name):
                    timer = _earlier(timer, await self._follow(duty))
                    if self._replica.version != seen:
                        break
                else:
                    await self._wait(seen, timer)
        finally:
            for task in [*self._minds.values(), *([self._performing] if self._performing else [])]:
                task.cancel()

    async def _wait(self, seen: int, timer: Instant | None) -> None:
        changed = asyncio.ensure_future(self._replica.changed(seen))
        waiting = {changed, *self._minds.values()}
        if self._performing is not None:
            waiting.add(self._performing)
        timeout = None if timer is None else max(0.0, (timer - self._clock()) / SECOND)
        try:
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()

    async def _follow(self, duty: Duty) -> Instant | None:
        """Do one duty as far as it can be done now; return when to look again, on the own clock."""
        if isinstance(duty, TickDuty):
            return await self._tick(duty)
        if isinstance(duty, PerformDuty):
            return await self._perform(duty)
        body = self._by_itself(duty)
        if body is not None:
            await self._speaker.say(body)
            return None
        return await self._think(duty)

    def _by_itself(self, duty: Duty) -> dict[str, Any] | None:
        """Return what a peer says without asking its mind; None where the mind must answer."""
        if isinstance(duty, JoinDuty):
            return self._join(duty)
        if isinstance(duty, PromiseDuty):
            promised = [terms.plain() for terms in duty.commitments]
            return {"kind": "commitment.create", "step": duty.step, "commitments": promised}
        if isinstance(duty, RevealDuty):
            round_ = self._round(duty.sealed_step)
            seal, box = round_.seals[self._name], round_.boxes[self._name]
            own = open_box(self._identity, self._replica.name, duty.sealed_step, seal, box)
            return {"kind": "reveal", "step": duty.step, "nonce": own.nonce, "content": own.content}
        if isinstance(duty, CloseDuty):
            return {"kind": "room.close", "step": duty.step, "digest": duty.digest}
        if isinstance(duty, WitnessDuty):
            return {"kind": "room.witness", "step": duty.step}
        return None

    def _join(self, duty: JoinDuty) -> dict[str, Any]:
        wanted = self._replica.room.setting.opening.rules.versions
        unknown = sorted(name for name, version in wanted.items() if VERSIONS.get(name) != version)
        if unknown:
            because = f"unsupported_rules: {', '.join(f'{n} {wanted[n]}' for n in unknown)}"
            return {"kind": "room.decline", "step": duty.step, "because": because}
        body: dict[str, Any] = {
            "kind": "room.join",
            "step": duty.step,
            "opening": duty.opening,
            "manifest": self._agent.manifest().plain(),
        }
        nominated = list(self._agent.nominate())
        return body | {"nominates": nominated} if nominated else body

    def _round(self, sealed_step: str) -> SealedRound[Any]:
        room = self._replica.room
        rounds: list[SealedRound[Any]] = []
        if room.accord is not None:
            rounds += [room.accord.meaning, room.accord.reading]
        if room.concord is not None:
            rounds += [room.concord.proposals, room.concord.ballot]
        return next(r for r in rounds if r.seal_step == sealed_step)

    # -- minds ----------------------------------------------------------------------------------------------------

    async def _think(self, duty: Duty) -> None:
        assert duty.step is not None
        task = self._minds.get(duty.step)
        if task is None:
            for step in [step for step in self._minds if step != duty.step]:
                self._minds.pop(step).cancel()
            self._minds[duty.step] = asyncio.create_task(self._answer(duty))
            # Most minds answer at once; give this one the chance to.
            await asyncio.sleep(0)
            task = self._minds[duty.step]
        if task.done():
            del self._minds[duty.step]
            await self._speaker.say(task.result())

    async def _answer(self, duty: Duty) -> dict[str, Any]:
        try:
            answer = await ask(self._agent, duty, self._time_left(duty))
            return compose(duty, answer, self._replica.room, self._identity)
        except Excused as excuse:
            return {"kind": "room.excuse", "step": duty.step, "because": str(excuse) or "no reason given"}

    def _time_left(self, duty: Duty) -> float:
        assert duty.deadline is not None
        left = max(0, duty.deadline - self._clock())
        return (left - min(MARGIN, left // 4)) / SECOND

    # -- promises -------------------------------------------------------------------------------------------------

    async def _perform(self, duty: PerformDuty) -> Instant | None:
        task = self._performing
        if task is not None:
            if not task.done():
                return None
            self._performing = None
            await self._act(task)
        due = self._perform_again is not None and self._clock() >= self._perform_again
        if self._performed_at != self._replica.version or due:
            self._performed_at, self._perform_again = self._replica.version, None
            duty = next(d for d in self._replica.room.duties(self._name) if isinstance(d, PerformDuty))
            self._performing = asyncio.create_task(ask(self._agent, duty, PERFORM_TIMEOUT_S, self))
            await asyncio.sleep(0)
            if self._performing.done():
                return await self._perform(duty)
        return self._perform_again

    async def _act(self, task: "asyncio.Task[Any]") -> None:
        try:
            performed = acts_of(task.result())
        except Excused:
            return
        if performed.again_in is not None:
            self._perform_again = self._clock() + performed.again_in
        for act in performed.acts:
            body = act.plain()
            key = canonical(body)
            # Answering a report twice can only be refused; asking the mind again must not become a flood.
            if body["kind"] in ("event.confirm", "event.dispute") and key in self._acted:
                continue
            self._acted.add(key)
            await self._speaker.say(body)

    def elapsed(self, condition: str) -> Duration | None:
        """Answer `agents.agent.Watch` from the room and the own clock."""
        return self._replica.room.elapsed_since(condition, self._clock())

    # -- time -----------------------------------------------------------------------------------------------------

    async def _tick(self, duty: TickDuty) -> Instant:
        now = self._clock()
        due = max(duty.at + 1, self._tick_not_before)
        if now < due:
            return due
        if duty.deadline is not None and now > duty.deadline + UNTICKABLE and self._tick_not_before > duty.deadline:
            raise ClockApart("clock: this process's clock is far past a deadline that the log's time does not reach")
        self._tick_not_before = now + TICK_AGAIN
        await self._speaker.say({"kind": "room.tick"})
        return self._tick_not_before


def _earlier(a: Instant | None, b: Instant | None) -> Instant | None:
    return b if a is None else a if b is None else min(a, b)
