"""A seat: one member in one room. This loop follows the room's duties and answers them.

It reads everything it knows from the replica, so a restarted seat finds only what is still owed. Promise, reveal,
close, witness and tick need no mind; any other duty is put to the agent, with the step's deadline as the limit. An
answer that is not valid, or outside the member's mandate, is sent back to the mind once, while there is time; after
that the peer excuses its member, and at ratification it declines. After the deadline nothing is said any more: ticks
let log time pass the deadline.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup

from agents.agent import Agent
from protocols.core.instants import SECOND, Duration, Instant, later
from protocols.duties.duties import (
    CloseDuty,
    Duty,
    JoinDuty,
    PerformDuty,
    PromiseDuty,
    RatifyDuty,
    RevealDuty,
    TickDuty,
    WitnessDuty,
)
from protocols.messages.concord import Ratify
from protocols.messages.room import VERSIONS
from protocols.views.briefing import briefing
from swarm.clock import earlier
from swarm.errors import BadEntry, ClockApart, SwarmError, TooLarge
from swarm.seat.answers import compose, hold_to, join
from swarm.seat.approval import ApprovalRequest, NotApproved, approved, request_for
from swarm.seat.asking import Mind
from swarm.seat.excuses import Excused, Overstepped, Unfit, public
from swarm.seat.mandated import Mandated
from swarm.seat.outbox import Outbox
from swarm.seat.performer import Performer
from swarm.seat.purse import Purse, total
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.signed.entry import Entry
from swarm.signed.identity import Identity
from swarm.signed.sealing import open_box
from swarm.tasks import Started, start, together, until_first
from swarm.text import visible

T = TypeVar("T")

_log = logging.getLogger(__name__)

MARGIN = SECOND
"""How long before a step's deadline a mind's time ends, so that its excuse is still in time; at most a quarter."""
LONGEST_WAIT_S = 30.0
LAST_ANSWER_S = 3.0
"""How long a question that is under way when the room ends may take, so that its cost gets on record."""
TICK_AGAIN = Duration(SECOND // 2)
MOST_TRIES = 8
FIRST_RETRY = Duration(SECOND // 10)
"""If the log took an entry and the room did not count it, it is said again after this time, then after twice that, and
so on.
"""
UNTICKABLE = Duration(30 * SECOND)
"""How long ticks may change nothing, by this process's clock, before the clocks are considered to disagree."""
FEWEST_IDLE_TICKS = 3


@dataclass(slots=True)
class _Answer:
    """What this member says at one step, how often it has said it, and when it may say it again."""

    body: dict[str, Any]
    tries: int = 0
    not_before: Instant = field(default=Instant(0))
    disputed: bool = False


class Seat:
    """The member with the key *identity* in the replica's room, with its mind, and its mandate if it has one.

    An *agent* with a mandate comes as a `swarm.seat.mandated.Mandated`.
    """

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
        name = replica.fold.names.get(identity.public)
        if name is None:
            raise SwarmError(f"the key {identity.public} is no member's of {replica.name}")
        self._name = name
        self._identity = identity
        mind, self._mandate = Mandated.apart(agent)
        self._approver = agent.approver if isinstance(agent, Mandated) else None
        self._free = mind.free
        self._purse = Purse(lambda: replica.room.allowance(name))
        self._mind = Mind(mind, self._purse, lambda: briefing(replica.room, name))
        self._replica = replica
        self._clock = clock
        self._speaker = Speaker(identity, replica, outbox, clock, patience_s=patience_s)
        self._thinking: dict[str, Started[dict[str, Any]]] = {}
        self._woken = asyncio.Event()
        """Set whenever an answer is there."""
        self._group: TaskGroup | None = None
        """What is being thought about; there while `run` runs."""
        self._answers: dict[str, _Answer] = {}
        self._sealing: dict[str, list[dict[str, Any]]] = {}
        """The costs in the box of an answer that has not been said yet, by step."""
        self._opening: list[dict[str, Any]] = []
        """The cost in the box of the answer that is opened next."""
        self._tick_not_before = Instant(0)
        self._idle_ticks: list[Instant] = []
        self._ticked_at: Instant | None = None

    async def run(self) -> None:
        """Do what the room asks of this member until the room is over.

        Raises `SecondProcess`, `ClockApart`, or a `WireError` if the log stays out of reach or refuses.
        """
        performer = Performer(
            self._name,
            self._mind,
            self._mandate,
            self._replica,
            self._speaker,
            self._say,
            self._start,
            self._approver,
        )
        try:
            async with together() as self._group:
                try:
                    await self._keep(performer)
                finally:
                    # The mind's remaining questions may run in this event loop, and end before it does.
                    self._forget(set())
                    performer.close()
                    self._group.cancel_scope.cancel()
        finally:
            self._mind.close()

    async def _keep(self, performer: Performer) -> None:
        """Keep the seat until the room is over."""
        await self._speaker.recover()
        while not self._replica.room.over:
            self._speaker.alone()
            self._woken.clear()
            seen = self._replica.version
            duties = self._replica.room.duties(self._name)
            self._forget({duty.step for duty in duties})
            timer = None
            for duty in duties:
                timer = earlier(timer, await self._follow(duty, performer))
                if self._replica.version != seen:
                    break
            else:
                await self._wait(seen, timer)
        await self._last_words(performer)

    async def _last_words(self, performer: Performer) -> None:
        """Put on record what was used and no entry has carried yet, including a question that is still under way."""
        if not self._free and performer.task is not None:
            with anyio.move_on_after(LAST_ANSWER_S):
                await performer.task.ended.wait()
        if self._purse.unsaid:
            await self._say({"kind": "room.tick"})

    def _forget(self, steps: set[str | None]) -> None:
        """Drop answers to steps other than these: they would be late."""
        for step in [step for step in self._thinking if step not in steps]:
            self._thinking.pop(step).cancel()
        for step in [step for step in self._answers if step not in steps]:
            del self._answers[step]
        for step in [step for step in self._sealing if step not in steps]:
            self._purse.unseal(self._sealing.pop(step))

    async def _wait(self, seen: int, timer: Instant | None) -> None:
        """Wait for a change of the room beyond version *seen*, an answer, or *timer* by the log's clock."""
        left_s = LONGEST_WAIT_S if timer is None else max(0.0, (timer - self._speaker.now()) / SECOND)
        with anyio.move_on_after(min(left_s, LONGEST_WAIT_S)):
            await until_first(partial(self._replica.changed, seen), self._woken.wait)

    def _start(self, work: Callable[[], Awaitable[T]]) -> Started[T]:
        assert self._group is not None
        return start(self._group, work, self._woken.set)

    async def _follow(self, duty: Duty, performer: Performer) -> Instant | None:
        """Do one duty as far as possible now; return when to look again, by the log's clock."""
        if isinstance(duty, TickDuty):
            return await self._tick(duty)
        if isinstance(duty, PerformDuty):
            return await performer.follow(duty)
        assert duty.step is not None and duty.deadline is not None
        if self._speaker.now() > duty.deadline:
            return None
        answer = self._answers.get(duty.step)
        if answer is None:
            body = self._by_itself(duty)
            body = await self._think(duty) if body is None else self._held(duty, body)
            if body is None:
                return None
            answer = self._answers[duty.step] = _Answer(body)
        return await self._give(duty, answer)

    async def _give(self, duty: Duty, answer: _Answer) -> Instant | None:
        """Say *answer*.

        If the log took it and the room did not count it, say it again at growing intervals, then stop.
        """
        now = self._speaker.now()
        if now < answer.not_before:
            return answer.not_before
        if answer.tries == MOST_TRIES:
            if answer.disputed:
                raise ClockApart("clock: this process's clock and the log's differ by more than the room allows")
            return None
        try:
            said = await self._say(answer.body)
        except (ValueError, TooLarge) as error:
            if answer.body["kind"] == "room.excuse":
                raise
            excuse = self._unsaid(duty, "unsayable", f"its answer cannot be said: {error}")
            self._answers[duty.step or ""] = _Answer(excuse)
            return now
        answer.disputed = self._speaker.is_disputed(said)
        answer.not_before = later(self._speaker.now(), Duration(FIRST_RETRY << answer.tries))
        answer.tries += 1
        return answer.not_before

    async def _say(self, body: dict[str, Any]) -> Entry:
        """Say *body*, together with what asking the mind has cost so far.

        A seal carries no cost: tokens and seconds would reveal the length of what it hides. The cost is in the box, so
        that the entry that opens it can carry it, whichever process says that.
        """
        costs = [] if body["kind"] == "seal" else self._purse.unsaid
        opened = self._opening if body["kind"] == "reveal" else []
        said = await self._speaker.say(body, total([*costs, *opened]).cost() or None)
        if not self._speaker.is_disputed(said):
            self._purse.said(costs)
            if body["kind"] == "seal":
                self._sealing.pop(body["step"], None)
            elif body["kind"] == "reveal":
                self._purse.open()
        return said

    def _by_itself(self, duty: Duty) -> dict[str, Any] | None:
        """Return what a peer says without asking its mind; None if the mind must answer."""
        if isinstance(duty, JoinDuty):
            return self._unsupported(duty)
        if isinstance(duty, PromiseDuty):
            body = _promised(duty)
            return body if self._to_approve(duty, body) is None else None
        if isinstance(duty, RevealDuty):
            return self._reveal(duty)
        if isinstance(duty, CloseDuty):
            return {"kind": "room.close", "step": duty.step, "digest": duty.digest}
        if isinstance(duty, WitnessDuty):
            return {"kind": "room.witness", "step": duty.step}
        return None

    def _unsupported(self, duty: JoinDuty) -> dict[str, Any] | None:
        wanted = self._replica.room.setting.opening.rules.versions
        unknown = sorted(name for name in {**VERSIONS, **wanted} if VERSIONS.get(name) != wanted.get(name))
        if not unknown:
            return None
        said = (f"{name} {wanted.get(name, 'not named')}" for name in unknown)
        because = f"unsupported_rules: {', '.join(said)}"
        return {"kind": "room.decline", "step": duty.step, "because": because}

    def _held(self, duty: Duty, body: dict[str, Any]) -> dict[str, Any]:
        """Return *body*, or what is said instead if the member's mandate does not allow it."""
        try:
            self._hold(duty, body)
        except Overstepped as overstepped:
            return self._instead(duty, overstepped)
        return body

    def _hold(self, duty: Duty, body: dict[str, Any]) -> None:
        """Raise `Overstepped` if the member's mandate does not allow *body* as an answer to *duty*."""
        if self._mandate is not None:
            hold_to(self._mandate, duty, body, self._replica.room)

    def _reveal(self, duty: RevealDuty) -> dict[str, Any]:
        try:
            own = open_box(self._identity, self._replica.name, duty.sealed_step, duty.digest, duty.box)
        except BadEntry as error:
            return self._unsaid(duty, "lost", str(error))
        cost = (own.secret or {}).get("cost")
        self._opening = [] if cost is None else [cost]
        return {"kind": "reveal", "step": duty.step, "nonce": own.nonce, "content": own.content}

    # -- minds ----------------------------------------------------------------------------------------------------

    async def _think(self, duty: Duty) -> dict[str, Any] | None:
        """Let the mind answer *duty*; return what to say, or None while there is no answer."""
        assert duty.step is not None
        task = self._thinking.get(duty.step)
        if task is None:
            task = self._thinking[duty.step] = self._start(partial(self._answer, duty))
            # Most minds answer at once; give this one the chance to do so.
            await asyncio.sleep(0)
        if not task.done:
            return None
        del self._thinking[duty.step]
        return task.result()

    async def _answer(self, duty: Duty) -> dict[str, Any]:
        try:
            if isinstance(duty, JoinDuty):
                return self._held(duty, await join(self._mind, duty, self._time_left(duty)))
            if isinstance(duty, PromiseDuty):
                return await self._approved(duty, self._held(duty, _promised(duty)))
            return await self._approved(duty, await self._considered(duty))
        except Excused as excuse:
            return self._instead(duty, excuse)

    def _instead(self, duty: Duty, excuse: Excused) -> dict[str, Any]:
        """Return what is said in place of an answer that is missing or not allowed."""
        if isinstance(duty, RatifyDuty) and isinstance(excuse, Overstepped | NotApproved):
            # What is refused here is public, so the part of the mandate, or the reason, may be public too.
            said = Ratify(step=duty.step or "", outcome=duty.digest, accept=False, because=str(excuse))
            return said.plain()
        if excuse.code is not None:
            self._note(duty, str(excuse))
        step = self._replica.room.step
        # A person's no to something public is theirs to explain.
        own = isinstance(excuse, NotApproved) and step is not None and not step.seals
        kind = "room.decline" if isinstance(duty, JoinDuty) else "room.excuse"
        return {"kind": kind, "step": duty.step, "because": str(excuse) if own else excuse.because}

    def _unsaid(self, duty: Duty, code: str, detail: str) -> dict[str, Any]:
        """Return the excuse of a member whose answer never left it; *detail* stays in its own log."""
        self._note(duty, detail)
        return {"kind": "room.excuse", "step": duty.step, "because": public(code)}

    def _note(self, duty: Duty, detail: str) -> None:
        _log.warning("%s: %s: %s", self._name, duty.step, visible(detail))

    async def _considered(self, duty: Duty) -> dict[str, Any]:
        """Return the mind's answer to *duty*: its first, or the one after it was told what was wrong.

        Otherwise raise `Excused`.
        """
        try:
            return await self._asked(duty)
        except Unfit as unfit:
            first = unfit
        if self._time_left(duty) <= 0:
            raise first
        try:
            return await self._asked(duty.model_copy(update={"problem": first.problem}))
        except Unfit:
            raise
        except Excused as second:
            # The problem of the first answer is the reason; the missing second answer is only added to it.
            raise type(first)(f"{first}; asked again: {second}", code=first.code or "invalid") from None

    async def _approved(self, duty: Duty, body: dict[str, Any]) -> dict[str, Any]:
        """Return *body* once a person has approved it, if the mandate requires that; raise `NotApproved`.

        If its meaning has changed since it was shown, the person is asked again.
        """
        shown, request = None, self._to_approve(duty, body)
        while request is not None and request.id != shown:
            await approved(self._approver, request, self._time_left(duty))
            shown, request = request.id, self._to_approve(duty, body)
        if shown is not None:
            self._hold(duty, body)
        return body

    def _to_approve(self, duty: Duty, body: dict[str, Any]) -> ApprovalRequest | None:
        if self._mandate is None or not self._mandate.approve:
            return None
        until = later(self._speaker.now(), Duration(int(self._time_left(duty) * SECOND)))
        return request_for(self._mandate, self._name, body, self._replica.room, duty, until)

    async def _asked(self, duty: Duty) -> dict[str, Any]:
        answer = await self._mind.ask(duty.act, self._time_left(duty), duty)
        took = self._purse.unsaid
        cost = total(took).cost()
        body = compose(duty, answer, self._replica.room, self._identity, self._mandate, cost)
        if body["kind"] == "seal":
            self._sealing[body["step"]] = took
            self._purse.seal(took)
        return body

    def _time_left(self, duty: Duty) -> float:
        assert duty.deadline is not None
        left = max(0, duty.deadline - self._speaker.now())
        return (left - min(MARGIN, left // 4)) / SECOND

    # -- time -----------------------------------------------------------------------------------------------------

    async def _tick(self, duty: TickDuty) -> Instant:
        if self._ticked_at != duty.deadline:
            self._ticked_at, self._idle_ticks, self._tick_not_before = duty.deadline, [], Instant(0)
        due = max(Instant(duty.at + 1), self._tick_not_before)
        if self._speaker.now() < due:
            return due
        own = self._clock()
        if len(self._idle_ticks) >= FEWEST_IDLE_TICKS and own - self._idle_ticks[0] > UNTICKABLE:
            raise ClockApart("clock: this process's clock is far past a deadline that the log's time does not reach")
        self._idle_ticks.append(own)
        await self._say({"kind": "room.tick"})
        self._tick_not_before = later(self._speaker.now(), TICK_AGAIN)
        return self._tick_not_before


def _promised(duty: PromiseDuty) -> dict[str, Any]:
    promised = [terms.plain() for terms in duty.commitments]
    return {"kind": "commitment.create", "step": duty.step, "commitments": promised}
