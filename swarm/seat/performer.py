"""A member acting on its promises: the standing duty, asked again whenever something may have changed them.

Each act that the mind wants is checked against the member's mandate, and said once. A mind that repeats itself is
slowed down, so that it cannot become a flood.
"""

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from agents.agent import Performed
from protocols.core.canonical import canonical, digest
from protocols.core.instants import SECOND, Duration, Instant, later
from protocols.duties.duties import PerformDuty
from protocols.messages.bodies import kind_of
from protocols.room.loops import Exchange
from swarm.clock import earlier
from swarm.errors import TooLarge
from swarm.seat.answers import acts_of, hold_to
from swarm.seat.approval import Approver, NotApproved, Pending
from swarm.seat.asking import Mind
from swarm.seat.excuses import Excused, Overstepped, Unfit
from swarm.seat.mandate import Mandate
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.tasks import Started

_log = logging.getLogger(__name__)

PERFORM_TIMEOUT_S = 60.0
ELAPSED_TIMEOUT_S = 5.0
SOONEST_AGAIN = Duration(SECOND // 10)
"""How soon a mind may ask to be asked about promises again."""
SAME_ACT_AGAIN: Duration = SECOND
"""How soon the very same act on promises may be said again."""

APPROVAL_AGAIN = Duration(SECOND // 4)
"""How soon to check again whether a person has approved an act."""


def _situation(duty: PerformDuty) -> str:
    """Return a digest of what can be acted on; what was said so far is not part of it."""
    asked = {"awaiting": [r.id for r in duty.awaiting], "offers": [o.id for o in duty.offers]}
    return digest({"reportable": duty.reportable, **asked, "promises": duty.promises})


class Performer:
    """Lets the mind of the member *name* act on promises.

    It also answers the mind's questions about the room (`Watch`).
    """

    def __init__(
        self,
        name: str,
        mind: Mind,
        mandate: Mandate | None,
        replica: Replica,
        speaker: Speaker,
        say: Callable[[dict[str, Any]], Awaitable[Any]],
        think: Callable[[Callable[[], Awaitable[Performed]]], Started[Performed]],
        approver: Approver | None = None,
    ) -> None:
        self._think = think
        self.task: Started[Performed] | None = None
        """The question that the mind is still thinking about, if any."""
        self._name = name
        self._mind = mind
        self._mandate = mandate
        self._replica = replica
        self._speaker = speaker
        self._say = say
        self._performed_at = -1
        self._perform_again: Instant | None = None
        self._complaint = ""
        self._explained: str | None = None
        self._acted: dict[bytes, Instant] = {}
        self._pending = Pending(name, mandate, approver)
        self._vain = Exchange()
        self._asked = ""
        self._given_up: set[str] = set()
        self._home = threading.get_ident(), asyncio.get_running_loop()

    def close(self) -> None:
        """Abandon whatever the mind is still thinking about."""
        if self.task is not None:
            self.task.cancel()
        self._pending.close()

    def _hold(self, duty: PerformDuty, body: dict[str, Any]) -> None:
        """Raise `Overstepped` if the member's mandate does not allow *body*."""
        if self._mandate is not None:
            hold_to(self._mandate, duty, body, self._replica.room)

    async def follow(self, duty: PerformDuty) -> Instant | None:
        """Let the mind answer the standing *duty*, and say what it wants; return when to look again."""
        look = await self._approved(duty)
        task = self.task
        if task is not None:
            if not task.done:
                return look
            self.task = None
            await self._act(duty, task)
        due = self._perform_again is not None and self._speaker.now() >= self._perform_again
        if self._performed_at != self._replica.version or due:
            self._performed_at, self._perform_again = self._replica.version, None
            now = [d for d in self._replica.room.duties(self._name) if isinstance(d, PerformDuty)]
            self._asked = _situation(now[0]) if now else ""
            if not now or self._asked in self._given_up:
                return look
            self.task = self._think(partial(self._performed, now[0]))
            await asyncio.sleep(0)
            if self.task.done:
                return await self.follow(now[0])
        return earlier(self._perform_again, later(self._speaker.now(), APPROVAL_AGAIN) if self._pending else None)

    async def _approved(self, duty: PerformDuty) -> Instant | None:
        """Say what a person has approved; return when to look again for open requests."""
        for body, refused in self._pending.settled(self._replica.room):
            try:
                if refused is None:
                    self._hold(duty, body)
                    await self._say(body)
                else:
                    self._complain(f"{body['kind']}: {refused}")
            except Overstepped as overstepped:
                self._complain(overstepped.problem)
            except (ValueError, TooLarge) as error:
                _log.warning("%s: an act on promises cannot be said: %s", self._name, error)
        return later(self._speaker.now(), APPROVAL_AGAIN) if self._pending else None

    async def _performed(self, duty: PerformDuty) -> Performed:
        """Return what the mind wants to say about promises; an unfit answer is sent back once, as at a step."""

        async def ask(asked: PerformDuty) -> Performed:
            return acts_of(await self._mind.ask("perform", PERFORM_TIMEOUT_S, asked, self))

        performed: Performed | None = None
        try:
            performed = await ask(duty)
            for act in performed.acts:
                self._hold(duty, act.plain())
        except Unfit as unfit:
            try:
                # The duty comes back with every change in the room; the same mistake is not explained each time.
                if unfit.problem != self._explained:
                    self._explained = unfit.problem
                    performed = await ask(duty.model_copy(update={"problem": unfit.problem}))
            except Excused as second:
                self._complain(str(second))
            if performed is None:
                raise
        return performed

    async def _act(self, duty: PerformDuty, task: Started[Performed]) -> None:
        """Say the acts that *task* returned, one by one.

        An act outside the mandate is left out, and the others are said.
        """
        try:
            performed = task.result()
        except Excused as excuse:
            self._complain(str(excuse))
            return
        now = self._speaker.now()
        if performed.again_in is not None:
            self._perform_again = later(now, max(performed.again_in, SOONEST_AGAIN))
        if not performed.acts:
            return  # To say nothing is never a step of a loop.
        noted = len(self._replica.room.findings)
        said, paced = 0, False
        said_before = dict(self._acted)
        for act in performed.acts:
            body = act.plain()
            try:
                self._hold(duty, body)
                waits = self._pending.takes(body, self._replica.room)
            except Overstepped as overstepped:
                self._complain(overstepped.problem)
                continue
            except NotApproved as no:
                self._complain(f"{body['kind']}: {no}")
                continue
            if waits:
                paced = True
                continue
            key = canonical(body)
            # A second answer to a report can only be refused.
            if key in said_before and body["kind"] in ("event.confirm", "event.dispute"):
                continue
            again_at = later(said_before.get(key, Instant(0)), SAME_ACT_AGAIN)
            if now < again_at:
                self._perform_again, paced = earlier(self._perform_again, again_at), True
                continue
            self._acted[key] = now
            try:
                await self._say(body)
                said += 1
            except (ValueError, TooLarge) as error:
                _log.warning("%s: an act on promises cannot be said: %s", self._name, error)

        news = self._replica.room.findings[noted:]
        refused = {finding.position for finding in news if finding.refused and finding.who == self._name}
        if not paced:
            self._mind_loop(performed, in_vain=said <= len(refused))

    def _mind_loop(self, performed: Performed, *, in_vain: bool) -> None:
        """Stop asking in a situation in which the mind says the same thing in vain for three rounds."""
        if not in_vain:
            self._vain = Exchange()
            return
        step = f"{self._asked} {digest([act.plain() for act in performed.acts])}"
        length = self._vain.closes(step)
        self._vain.add(step)
        if length is not None:
            self._given_up |= {step.partition(" ")[0] for step in self._vain.last(length)}
            kinds = ", ".join(kind_of(act) for act in performed.acts)
            self._complain(f"loop: {kinds}: a cycle of {length}, the third time in vain; not asked again about this")

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            self._complaint = text
            _log.warning("%s: %s", self._name, text)

    def elapsed(self, condition: str) -> Duration | None:
        """Answer `agents.agent.Watch` from the room and the log's clock, from any thread."""
        thread, loop = self._home
        if threading.get_ident() == thread:
            return self._elapsed(condition)
        answer: concurrent.futures.Future[Duration | None] = concurrent.futures.Future()

        def look() -> None:
            try:
                answer.set_result(self._elapsed(condition))
            except Exception as error:
                answer.set_exception(error)

        loop.call_soon_threadsafe(look)
        return answer.result(ELAPSED_TIMEOUT_S)

    def _elapsed(self, condition: str) -> Duration | None:
        return self._replica.room.elapsed_since(condition, self._speaker.now())
