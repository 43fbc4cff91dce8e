"""Asking a mind: one duty in, one body to say out, checked by the same rules that everybody applies to it.

If an agent raises, takes too long, or answers outside the model or its mandate, the result is an `Excused` with the
reason; its peer says that, and the others go on. An agent that has answered and may do better is asked once more:
`Unfit`. A mind written by the user runs in threads of its own, on copies of what it is asked, so that its peer keeps
time whatever the mind does.
"""

import asyncio
import copy
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any

from agents.agent import Agent, BadAnswer, CannotAnswer, Costed, NoAnswer
from agents.scripted import Scripted
from agents.utility import UtilityMind
from protocols.core.message import Message
from protocols.duties.briefing import Briefing
from protocols.duties.duties import (
    Duty,
    JoinDuty,
)
from protocols.messages.budget import NANOS, Left, decimal_seconds
from swarm.seat.excuses import Excused, Unfit
from swarm.seat.purse import Purse, UsedUp

_log = logging.getLogger(__name__)

STUCK_S = 1.0
"""How long a mind's own event loop may take to show that a call which timed out has not blocked it."""
NEVER_WAIT = (Scripted, UtilityMind)
"""Minds of ours that answer at once and touch nothing: they are asked directly."""


class Mind:
    """An agent, asked in such a way that neither its errors nor its waiting affect its peer. `close` it after use.

    *purse* is what asking may cost, *brief* gives what the room has said so far; minds that answer at once and at no
    cost need neither.
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

        The cost goes to the purse; an answer that is not in the act's form is `Unfit`.
        """
        method = getattr(self._agent, act, None)
        if method is None:
            raise Excused(f"a {self._agent.kind} agent does not answer {act}", "failed")
        limit = asyncio.timeout(timeout_s)
        try:
            if self._direct:
                answer = method(*arguments)
                answer = await answer if inspect.isawaitable(answer) else answer
            else:
                async with limit, self._admitted(arguments) as left:
                    answer = await self._apart(method, self._briefed(arguments, left, timeout_s))
        except UsedUp as used_up:
            raise Excused(f"budget: no {used_up} left", "budget") from None
        except NoAnswer as reason:
            self._used(reason.cost)
            raise Excused(str(reason), reason.code if isinstance(reason, CannotAnswer) else None) from None
        except BadAnswer as bad:
            self._used(bad.cost)
            raise Unfit(f"its answer to {act} is not valid: {bad}", str(bad)) from None
        except Exception as error:
            if limit.expired():
                self._in_doubt = True
                raise Excused(f"no answer to {act} within {timeout_s:.1f} s", "late") from None
            raise Excused(f"the agent failed at {act}: {in_short(error)}", "failed") from error
        if isinstance(answer, Costed):
            self._used(answer.cost())
            return answer.answer
        return answer

    def _admitted(self, arguments: tuple[Any, ...]) -> AbstractAsyncContextManager[Left]:
        """Reserve what answering a duty may cost; what a mind is, and whether it joins, is asked in any case."""
        of_budget = any(isinstance(a, Duty) and not isinstance(a, JoinDuty) for a in arguments)
        if self._purse is None or self._agent.free or not of_budget:
            return nullcontext(Left())
        return self._purse.hold()

    def _briefed(self, arguments: tuple[Any, ...], left: Left, timeout_s: float) -> tuple[Any, ...]:
        """Return *arguments* as copies for the mind; its duty gets what it needs to judge."""
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
        """Return the event loop of this agent's thread: always the same one, unless a call has blocked it for good."""
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
        """Release the agent's thread; a hanging thread is left behind, and ends with the process."""
        loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)


def in_short(error: BaseException) -> str:
    """Return the kind and the text of *error* on one line."""
    text = f"{type(error).__name__}: {error}"
    return text.rstrip(": ")


class _Broke(Exception):
    """A ``BaseException`` that an agent raised, made harmless: an exit, an interrupt, a cancellation."""


async def _contained(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Await what *ask* returns. It is created lazily: a cancelled call never starts the agent."""
    try:
        return await ask()
    except (Exception, GeneratorExit):
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # Time is up.
        raise _Broke(in_short(error)) from None


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
    """Run *call* in a daemon thread, because a hanging call must not keep the process from ending."""
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
        except StopIteration as raised:  # No future can carry this exception.
            error = _Broke(in_short(raised))
        except Exception as raised:
            error = raised
        except BaseException as raised:
            error = _Broke(in_short(raised))
        with suppress(RuntimeError):  # The peer may be gone by then, and its loop with it.
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=run, daemon=True).start()
    return future
