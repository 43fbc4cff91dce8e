"""Asking a mind: one duty in, one body to say out, checked by the same rules that everybody applies to it.

An agent that raises, takes too long or answers outside the model or its mandate yields an `Excused` with the reason;
its peer says that, and the others go on. Who has answered and may do better is asked once more: `Unfit`. A mind of the
user's runs in threads of its own, on copies of what it is asked, so that whatever it does its peer goes on keeping
time.
"""

import asyncio
import copy
import inspect
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any

from pydantic import ValidationError

from agents.agent import Agent, BadAnswer, Costed, Grounded, NoAnswer, Performed, Proposed, Ratified, Scored
from agents.scripted import Scripted
from agents.utility import UtilityMind
from protocols.accord.messages import Interpretations, Readings, Settle, Settlement
from protocols.bodies import first_problem, parse_body
from protocols.briefing import Briefing
from protocols.budget import NANOS, Left, decimal_seconds
from protocols.commitments.messages import COMMITMENT_BODIES
from protocols.concord.messages import (
    BallotContent,
    Improve,
    Option,
    Pass,
    Proposal,
    Quote,
    Ratify,
    ReserveOpening,
    reserve_digest,
)
from protocols.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.machine import Refused
from protocols.message import Message
from protocols.messages import Join, Manifest
from protocols.room import Room
from swarm.identity import Identity
from swarm.mandate import Breach, Mandate, breach
from swarm.purse import Purse, UsedUp
from swarm.sealing import open_box, seal

_log = logging.getLogger(__name__)

LONGEST_REASON = 500
STUCK_S = 1.0
"""How long a mind's own event loop may take to show that a call which timed out has not stopped it."""
NEVER_WAIT = (Scripted, UtilityMind)
"""Minds of ours, which answer at once and touch nothing: they are asked directly."""


class Excused(Exception):
    """The mind gave no usable answer; the text says why, for the record."""

    def __init__(self, because: str) -> None:
        """Keep *because* as it can stand in an entry: cut, and nothing in it that has no UTF-8 form."""
        text = because[:LONGEST_REASON].encode("utf-8", "backslashreplace").decode()
        super().__init__(text or "no reason given")


class Unfit(Excused):
    """The mind has answered, and its answer is outside the model: `problem` is what it is told when asked again."""

    def __init__(self, because: str, problem: str | None = None) -> None:
        """Keep *because* for the record, and *problem*, which defaults to the same, for the mind."""
        super().__init__(because)
        self.problem = problem or str(self)


class Overstepped(Unfit):
    """The mind's answer is outside its mandate."""

    @classmethod
    def by(cls, found: Breach) -> "Overstepped":
        """Return the error for a breach of the mandate: the record does not learn what the mind is told."""
        return cls(found.public, found.private)


class Mind:
    """An agent, asked so that neither its errors nor its waiting become its peer's. `close` it when it is done with.

    *purse* is what asking may take, *brief* gives what the room has said so far; minds that answer at once and for
    nothing need neither.
    """

    def __init__(self, agent: Agent, purse: Purse | None = None, brief: Callable[[], Briefing] | None = None) -> None:
        self._agent = agent
        self._purse = purse
        self._brief = brief
        self._direct = type(agent) in NEVER_WAIT
        self._loop: asyncio.AbstractEventLoop | None = None
        self._in_doubt = False

    async def ask(self, act: str, timeout_s: float, *arguments: Any) -> Any:
        """Return what the agent's method *act* returns within *timeout_s*, unchecked, or raise `Excused`.

        What it took goes to the purse; an answer that is not of the act's form is `Unfit`.
        """
        method = getattr(self._agent, act)
        limit = asyncio.timeout(timeout_s)
        try:
            if self._direct:
                answer = method(*arguments)
                answer = await answer if inspect.isawaitable(answer) else answer
            else:
                async with limit, self._admitted(arguments) as left:
                    answer = await self._apart(method, self._briefed(arguments, left, timeout_s))
        except UsedUp as used_up:
            raise Excused(f"budget: no {used_up} left") from None
        except NoAnswer as reason:
            self._used(reason.cost)
            raise Excused(str(reason)) from None
        except BadAnswer as bad:
            self._used(bad.cost)
            raise Unfit(f"its answer to {act} is not valid: {bad}", str(bad)) from None
        except Exception as error:
            if limit.expired():
                self._in_doubt = True
                raise Excused(f"no answer to {act} within {timeout_s:.1f} s") from None
            raise Excused(f"the agent failed at {act}: {_named(error)}") from error
        if isinstance(answer, Costed):
            self._used(answer.cost())
            return answer.answer
        return answer

    def _admitted(self, arguments: tuple[Any, ...]) -> AbstractAsyncContextManager[Left]:
        """Hold what answering a duty may take; who a mind is and whether it joins is asked whatever is left."""
        of_budget = any(isinstance(a, Duty) and not isinstance(a, JoinDuty) for a in arguments)
        if self._purse is None or self._agent.free or not of_budget:
            return nullcontext(Left())
        return self._purse.hold()

    def _briefed(self, arguments: tuple[Any, ...], left: Left, timeout_s: float) -> tuple[Any, ...]:
        """Return *arguments* as the mind's own copies, the duty among them with what it needs to judge."""
        of_time = decimal_seconds(int(min(timeout_s, float(left.seconds or timeout_s)) * NANOS))
        told = {"left": left.model_copy(update={"seconds": of_time}), "briefing": self._brief and self._brief()}
        copies = (copy.deepcopy(a) if isinstance(a, Message) else a for a in arguments)
        return tuple(a.model_copy(update=told) if isinstance(a, Duty) else a for a in copies)

    def _used(self, cost: Mapping[str, Any] | None) -> None:
        if self._purse is not None:
            self._purse.used(cost)

    async def _apart(self, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if inspect.iscoroutinefunction(method):
            contained = _contained(lambda: method(*arguments))
        else:
            answer = await _in_thread(lambda: method(*arguments))
            if not inspect.isawaitable(answer):
                return answer
            contained = _contained(lambda: answer)
        try:
            loop = await self._own_loop()
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(contained, loop))
        finally:
            if inspect.getcoroutinestate(contained) == inspect.CORO_CREATED:
                contained.close()

    async def _own_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of this agent's thread: always the same one, unless a call has stopped it for good."""
        if self._loop is not None and self._in_doubt:
            beat = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop)
            try:
                async with asyncio.timeout(STUCK_S):
                    await asyncio.wrap_future(beat)
            except TimeoutError:
                self.close()
        self._in_doubt = False
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()
        return self._loop

    def close(self) -> None:
        """Let go of the agent's thread; one that hangs is left behind, and ends with the process."""
        loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)


def _named(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text.rstrip(": ")


class _Broke(Exception):
    """What an agent raised that is no ``Exception``, made harmless: an exit, an interrupt, a cancellation."""


async def _contained(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Await what *ask* returns; it is called only here, so that what is cancelled before has not begun."""
    try:
        return await ask()
    except (Exception, GeneratorExit):
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # Time is up.
        raise _Broke(_named(error)) from None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(lambda _, context: _log.debug("in an agent's thread: %s", context.get("message")))
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=STUCK_S))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _in_thread(call: Callable[[], Any]) -> Awaitable[Any]:
    """Run *call* in a daemon thread: one that hangs must not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def finish(result: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def run() -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = call()
        except StopIteration as raised:  # No future can hold this one.
            error = _Broke(_named(raised))
        except Exception as raised:
            error = raised
        except BaseException as raised:
            error = _Broke(_named(raised))
        with suppress(RuntimeError):  # The peer may have gone meanwhile, and its loop with it.
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=run, daemon=True).start()
    return future


async def join(mind: Mind, duty: JoinDuty, timeout_s: float) -> dict[str, Any]:
    """Return the body that joins: what the agent says it is, and the terms it adds; raise `Excused`."""
    await mind.ask("join", timeout_s, duty)
    manifest = await mind.ask("manifest", timeout_s)
    nominated = await mind.ask("nominate", timeout_s)
    try:
        manifest = _expect(Manifest, manifest)
        said = Join(step=duty.step or "", opening=duty.opening, manifest=manifest, nominates=list(nominated))
    except ValidationError as error:
        raise Excused(f"what it nominates is not valid: {first_problem(error)}") from None
    except Exception as error:
        raise Excused(f"what it says of itself is not valid: {_named(error)}") from None
    return {name: value for name, value in said.plain().items() if value != []}


def compose(
    duty: Duty,
    answer: Any,
    room: Room,
    identity: Identity,
    mandate: Mandate | None = None,
    cost: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body that says *answer*, sealed where the step seals; its *cost* then goes into the box with it.

    Raises `Unfit` if it is not valid, `Overstepped` if *mandate* does not allow what would be signed.
    """
    if room.step is None or room.step.id != duty.step:
        raise Excused(f"{duty.step} is not open any more")
    try:
        grounds = answer.plain() if isinstance(answer, Grounded) else {}
        said, secret = _said(duty, answer.answer if isinstance(answer, Grounded) else answer, room, identity)
        plain = said.plain() if isinstance(said, Message) else said
        sealed = isinstance(duty, InterpretDuty | ReadDuty | ProposeDuty | ScoreDuty)
        plain |= grounds
        room.check(duty.member, plain if sealed else said)
        if not sealed:
            parse_body(plain)
        if mandate is not None:
            hold_to(mandate, duty, plain, room, secret)
        if not sealed:
            return plain
        kept = (secret or {}) | ({"cost": dict(cost)} if cost else {})
        hidden = seal(identity, room.setting.room, duty.step or "", plain, kept or None)
    except Overstepped:
        raise
    except Refused as refused:
        raise Unfit(f"its answer to {duty.act} is not valid: {refused.why}") from None
    except ValidationError as error:
        raise Unfit(f"its answer to {duty.act} is not valid: {first_problem(error)}") from None
    except Exception as error:
        raise Unfit(f"its answer to {duty.act} is not valid: {_named(error)}") from error
    return {"kind": "seal", "step": duty.step, "digest": hidden.digest, "box": hidden.box}


def hold_to(
    mandate: Mandate, duty: Duty, plain: dict[str, Any], room: Room, secret: dict[str, Any] | None = None
) -> None:
    """Raise `Overstepped` if *mandate* does not allow *plain* in answer to *duty*, with the reserve in *secret*."""
    found = breach(mandate, duty, plain, room, reserve=(secret or {}).get("reserve"))
    if found is not None:
        raise Overstepped.by(found)


def _said(duty: Duty, answer: Any, room: Room, identity: Identity) -> tuple[Any, dict[str, Any] | None]:
    step = duty.step or ""
    if isinstance(duty, InterpretDuty):
        return Interpretations(interpretations=answer).plain(), None
    if isinstance(duty, ReadDuty):
        return _expect(Readings, answer).plain(), None
    if isinstance(duty, SettleDuty):
        return Settle(step=step, terms={term: _expect(Settlement, s) for term, s in answer.items()}), None
    if isinstance(duty, QuoteDuty):
        return Quote(step=step, values=answer), None
    if isinstance(duty, ProposeDuty):
        return _proposal(_expect(Proposed, answer), room, identity)
    if isinstance(duty, ScoreDuty):
        return _ballot(duty, _expect(Scored, answer), room, identity), None
    if isinstance(duty, ImproveDuty):
        if answer is None:
            return Pass(step=step, standing=duty.standing), None
        return Improve(step=step, option=_expect(Option, answer)), None
    assert isinstance(duty, RatifyDuty)
    said = _expect(Ratified, answer)
    return Ratify(step=step, outcome=duty.digest, accept=said.accept, because=said.because), None


def _expect(kind: type[Any], answer: Any) -> Any:
    if not isinstance(answer, kind):
        raise TypeError(f"expected {kind.__name__}, the agent returned {type(answer).__name__}")
    return answer


def _proposal(answer: Proposed, room: Room, identity: Identity) -> tuple[dict[str, Any], dict[str, Any]]:
    opening = ReserveOpening(reserve=answer.reserve, nonce=_nonce())
    hidden = reserve_digest(room.setting.room, identity.public, opening.reserve, opening.nonce)
    content = Proposal(option=answer.option, reserve=hidden).plain()
    return content, {"reserve": opening.reserve, "nonce": opening.nonce}


def _nonce() -> str:
    return os.urandom(32).hex()


def _ballot(duty: ScoreDuty, answer: Scored, room: Room, identity: Identity) -> dict[str, Any]:
    content = BallotContent(scores=dict(answer.scores), rejects=answer.rejects, reasons=answer.reasons).plain()
    if duty.opens_reserve:
        assert room.concord is not None
        round_ = room.concord.proposals
        own = open_box(
            identity, room.setting.room, round_.seal_step, round_.seals[duty.member], round_.boxes[duty.member]
        )
        content["reserve"] = {name: (own.secret or {})[name] for name in ReserveOpening.model_fields}
    return content


def acts_of(answer: Any) -> Performed:
    """Return what the agent wants to say about promises; raise `Unfit` if it is not that."""
    if not isinstance(answer, Performed) or not isinstance(answer.acts, list | tuple):
        raise Unfit(f"its answer to perform is not a Performed with a list of acts, but {type(answer).__name__}")
    for act in answer.acts:
        if not isinstance(act, COMMITMENT_BODIES):
            raise Unfit(f"its answer to perform holds a {type(act).__name__}, which is no act on promises")
        try:
            parse_body(act.plain())
        except Exception as error:
            raise Unfit(f"its answer to perform is not valid: {_named(error)}") from error
    if answer.again_in is not None and type(answer.again_in) is not int:
        raise Unfit("its answer to perform asks to be asked again in something other than whole microseconds")
    return answer
