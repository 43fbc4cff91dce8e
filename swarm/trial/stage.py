"""One room of a trial: scripts bring it to the duty in question, then a real seat asks the mind, and both are watched.

The member on trial sits down twice. Up to the duty, its seat follows a script. Then that seat leaves, and another one,
with the mind and its mandate, takes its place as after a restart, and finds exactly what is owed. The outcome is read
from the log: what the peer said at that step counts, whatever the mind did.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agents.agent import Agent, BadAnswer, Costed, NoAnswer, Performed
from agents.script import Script
from agents.scripted import Scripted
from protocols.duties.duties import Duty, PerformDuty
from protocols.messages.room import RoomOpen
from protocols.room.room import Room
from swarm.clock import elapsed_s, utc_now
from swarm.log.memory import MemoryLog
from swarm.seat.mandate import Mandate
from swarm.seat.mandated import Mandated
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.identity import Identity
from swarm.tasks import end

ACTS = ("join", "interpret", "read", "settle", "quote", "propose", "score", "improve", "ratify", "perform")
"""The acts that are tried, in the order of a room."""
BEFORE_JOINING = ("manifest", "nominate")
"""The questions that are asked together with ``join``."""
REACH_S = 30.0
"""How long scripts may take to bring a room to its duty; they need milliseconds."""
OVERTIME_S = 3.0
"""How long after a step's deadline to look for what the peer said, before it counts as nothing."""
IDLE_S = 0.3
"""How long nothing may happen before a mind is considered to have finished with its promises."""
MOST_PERFORMED = 3
"""How often a mind is asked about promises: it may say one thing at a time, but a trial must end."""
POLL_S = 0.01


@dataclass(slots=True)
class Attempt:
    """One question to the mind, and what it did: answered, excused, bad (in form), raised, or unfinished."""

    act: str
    duty: Duty | None
    did: str = "unfinished"
    answer: Any = None
    because: str | None = None
    cost: Mapping[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=elapsed_s)
    seconds: float = 0.0

    def end(self, did: str, because: str | None = None, cost: Mapping[str, Any] | None = None) -> None:
        """Record how the attempt ended."""
        self.did, self.because, self.seconds = did, because, elapsed_s() - self.began
        self.cost = dict(cost or {})

    def answered(self, answer: Any) -> None:
        """Record an answer, whatever it is worth."""
        self.end("answered", cost=answer.cost() if isinstance(answer, Costed) else None)
        self.answer = answer.answer if isinstance(answer, Costed) else answer

    def raised(self, error: BaseException) -> None:
        """Record the exception that came in place of an answer."""
        if isinstance(error, NoAnswer):
            self.end("excused", str(error), error.cost)
        elif isinstance(error, BadAnswer):
            self.end("bad", str(error), error.cost)
        elif isinstance(error, asyncio.CancelledError):
            self.end("unfinished")
        else:
            self.end("raised", f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class Said:
    """The outcome of one duty: each attempt, and the body that the peer said at the step (None: nothing in time)."""

    duty: Duty | None
    attempts: list[Attempt]
    body: dict[str, Any] | None
    counted: bool
    acts: list[dict[str, Any]] = field(default_factory=list)
    """What the peer said about promises."""


class NotReached(Exception):
    """The room never came to the duty on trial; the text says where it went instead."""


class _Noted:
    """A pending answer that is watched; the question is asked when this is awaited."""

    def __init__(self, attempt: Attempt, answer: Callable[[], Awaitable[Any]]) -> None:
        self._attempt = attempt
        self._answer = answer

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        try:
            answer = await self._answer()
        except BaseException as error:
            self._attempt.raised(error)
            raise
        self._attempt.answered(answer)
        return answer


class _Watched(Agent):
    """The mind at the act on trial; later duties are not put to it."""

    def __init__(self, mind: Agent, act: str, attempts: list[Attempt], *, step: str | None) -> None:
        self.kind = mind.kind
        self.free = mind.free
        self._attempts = attempts
        self._step = step
        for each in ACTS:
            if each == act:
                setattr(self, each, self._noting(mind, each))
            elif each not in ("join", "perform"):
                setattr(self, each, _over)
        if act == "join":
            for each in BEFORE_JOINING:
                setattr(self, each, self._noting(mind, each))

    def _noting(self, mind: Agent, act: str) -> Callable[..., Any]:
        method = getattr(mind, act)
        if inspect.iscoroutinefunction(method):

            async def asked(*arguments: Any) -> Any:
                return await self._ask(act, arguments, lambda: method(*arguments))

            return asked

        def blocking(*arguments: Any) -> Any:
            if self._is_another_step(arguments):
                return _over()
            attempt = self._attempt(act, arguments)
            try:
                answer = method(*arguments)
            except BaseException as error:
                attempt.raised(error)
                raise
            if inspect.isawaitable(answer):
                return _Noted(attempt, lambda: answer)
            attempt.answered(answer)
            return answer

        return blocking

    async def _ask(self, act: str, arguments: tuple[Any, ...], answer: Callable[[], Awaitable[Any]]) -> Any:
        if self._is_another_step(arguments):
            _over()
        return await _Noted(self._attempt(act, arguments), answer)

    def _is_another_step(self, arguments: tuple[Any, ...]) -> bool:
        return bool(arguments) and getattr(arguments[0], "step", None) != self._step

    def _attempt(self, act: str, arguments: tuple[Any, ...]) -> Attempt:
        attempt = Attempt(act, arguments[0] if arguments else None)
        self._attempts.append(attempt)
        return attempt


def _over(*_: Any) -> Any:
    raise NoAnswer("the trial is over")


def _prelude(script: Script, act: str) -> Scripted:
    """Return a mind that follows *script* and stops where the mind on trial takes over."""
    mind = Scripted(script)  # Exactly this type, so that it is asked directly, and stopping it leaves nothing behind.
    if act != "perform":
        setattr(mind, act, _never)
    return mind


async def _never(*_: Any) -> Any:
    await asyncio.Event().wait()


class Stage:
    """A room that *opening* describes, with *identities* for its members, everybody's scripts, and *me* on trial."""

    def __init__(
        self, opening: RoomOpen, identities: Mapping[str, Identity], scripts: Mapping[str, Script], me: str
    ) -> None:
        self._opening = opening
        self._identities = identities
        self._scripts = scripts
        self._me = me

    async def ask(self, agent: Agent, act: str, seconds: float) -> Said:
        """Bring the room to the duty *act* and let *agent* answer it; *seconds* bounds what has no step.

        Raises `NotReached`.
        """
        async with MemoryLog() as log:
            opener = self._identities[self._opening.roster[0].name]
            entry = sign_opening(opener, self._opening, utc_now())
            await publish_opening(log, entry)
            replica = Replica(log, entry.room, opener.public, utc_now)
            await replica.open()
            tasks = [asyncio.create_task(replica.follow())]
            try:
                for name, script in self._scripts.items():
                    if name != self._me:
                        tasks.append(self._seat(name, Scripted(script), replica, MemoryOutbox()))
                return await self._try(agent, act, replica, seconds)
            finally:
                await end(tasks)

    def _seat(self, name: str, agent: Agent, replica: Replica, outbox: MemoryOutbox) -> "asyncio.Task[None]":
        return asyncio.create_task(Seat(self._identities[name], agent, replica, outbox, utc_now).run())

    async def _try(self, agent: Agent, act: str, replica: Replica, seconds: float) -> Said:
        outbox = MemoryOutbox()
        if act != "join":
            before = self._seat(self._me, _prelude(self._scripts[self._me], act), replica, outbox)
            try:
                await _until(lambda: self._is_reached(replica.room, act), REACH_S, before)
            finally:
                await end([before])
        duty = self._due(replica.room, act)
        if duty is None:
            room = replica.room
            at = room.step.id if room.step is not None else "its end" if room.ending is None else room.ending.outcome
            raise NotReached(f"the room comes to no {act} for {self._me}; it came to {at}")
        start = len(replica.fold.records)
        attempts: list[Attempt] = []
        mind, mandate = Mandated.apart(agent)
        seat = self._seat(self._me, _under(mandate, _Watched(mind, act, attempts, step=duty.step)), replica, outbox)
        try:
            if act == "perform":
                await self._performed(replica, attempts, seconds, seat)
            else:
                left_s = (cast(int, duty.deadline) - utc_now()) / 1_000_000
                await _until(lambda: self._has_answered(replica.room, duty), left_s + OVERTIME_S, seat)
        finally:
            await end([seat])
        return self._said(replica, duty, attempts, start)

    def _is_reached(self, room: Room, act: str) -> bool:
        """Tell whether the duty on trial is there, or can no longer come."""
        missed = room.ending is not None and (act != "perform" or room.ending.outcome in ("no_agreement", "abandoned"))
        return missed or self._due(room, act) is not None

    def _due(self, room: Room, act: str) -> Duty | None:
        """Return the duty on trial once it is due; promises are due when everything else is signed."""
        duties = [duty for duty in room.duties(self._me) if duty.act == act]
        if act != "perform":
            return duties[0] if duties else None
        fixed = room.ending is not None and room.step is None
        return next((d for d in duties if fixed and isinstance(d, PerformDuty) and d.awaiting), None)

    def _has_answered(self, room: Room, duty: Duty) -> bool:
        step = room.step
        if step is None or step.id != duty.step:
            return True
        return self._me in step.answers or self._me in step.excused

    async def _performed(
        self, replica: Replica, attempts: list[Attempt], seconds: float, seat: "asyncio.Task[None]"
    ) -> None:
        """Wait until the mind has said what it wants to about promises."""
        deadline = elapsed_s() + seconds
        while elapsed_s() < deadline and not seat.done():
            seen = len(attempts), replica.version
            last = attempts[-1] if attempts else None
            if last is not None and last.did != "unfinished":
                silent = isinstance(last.answer, Performed) and not last.answer.acts
                if last.did == "answered" and silent:
                    return
                await asyncio.sleep(IDLE_S)
                if seen == (len(attempts), replica.version) or len(attempts) >= MOST_PERFORMED:
                    return
            await asyncio.sleep(POLL_S)

    def _said(self, replica: Replica, duty: Duty, attempts: list[Attempt], start: int) -> Said:
        """Read from the log what the peer said since the record at *start*."""
        for attempt in attempts:
            if attempt.did == "unfinished" and not attempt.seconds:
                attempt.end("unfinished")
        key = self._identities[self._me].public
        entries = [record.entry for record in replica.fold.records[start:] if record.entry is not None]
        bodies = [entry.body for entry in entries if entry.author == key]
        if duty.step is None:
            acts = [body for body in bodies if not body["kind"].startswith("room.")]
            return Said(duty, attempts, None, True, acts)
        answers = [body for body in bodies if body.get("step") == duty.step]
        room = replica.room
        step = room.closed.get(duty.step) or room.step
        counted = step is not None and (self._me in step.answers or self._me in step.excused)
        return Said(duty, attempts, answers[0] if answers else None, counted)


def _under(mandate: Mandate | None, mind: Agent) -> Agent:
    return mind if mandate is None else Mandated(mind, mandate)


async def _until(holds: Callable[[], bool], seconds: float, seat: "asyncio.Task[None]") -> None:
    """Wait until *holds*, *seconds* have passed, or the seat has ended; an error that ended it is raised."""
    deadline = elapsed_s() + seconds
    while not holds() and elapsed_s() < deadline:
        if seat.done():
            seat.result()
            return
        await asyncio.sleep(POLL_S)
