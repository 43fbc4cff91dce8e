"""Asking a mind: one duty in, one body to say out, checked by the same rules that everybody applies to it.

An agent that raises, takes too long or answers outside the model yields a `Excused` with the reason; its peer says
that, and the others go on.
"""

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError

from agents.agent import Agent, NoAnswer, Performed, Proposed, Ratified, Scored, Watch
from protocols.accord.messages import Interpretations, Readings, Settle, Settlement
from protocols.bodies import first_problem
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
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.machine import Refused
from protocols.message import Message
from protocols.room import Room
from swarm.identity import Identity
from swarm.sealing import open_box, seal

LONGEST_REASON = 500


class Excused(Exception):
    """The mind gave no usable answer; the text says why, for the record."""


async def ask(agent: Agent, duty: Duty, timeout_s: float, watch: Watch | None = None) -> Any:
    """Return the agent's raw answer to *duty*, or raise `Excused`."""
    method = getattr(agent, duty.act)
    arguments = (duty, watch) if isinstance(duty, PerformDuty) else (duty,)
    try:
        async with asyncio.timeout(timeout_s):
            if inspect.iscoroutinefunction(method):
                return await method(*arguments)
            return await _in_thread(lambda: method(*arguments))
    except TimeoutError:
        raise Excused(f"no answer to {duty.act} within {timeout_s:.1f} s") from None
    except NoAnswer as reason:
        raise Excused(str(reason)) from None
    except Exception as error:
        raise Excused(f"the agent failed: {type(error).__name__}: {error}"[:LONGEST_REASON]) from error


def _in_thread(call: Callable[[], Any]) -> Awaitable[Any]:
    """Run *call* in a daemon thread: one that hangs must not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def finish(result: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def run() -> None:
        try:
            result, error = call(), None
        except Exception as raised:
            result, error = None, raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=run, daemon=True).start()
    return future


def compose(duty: Duty, answer: Any, room: Room, identity: Identity) -> dict[str, Any]:
    """Return the body that says *answer*, sealed where the step seals; raise `Excused` if it is not valid."""
    try:
        said, secret = _said(duty, answer, room, identity)
        plain = said.plain() if isinstance(said, Message) else said
        sealed = isinstance(duty, InterpretDuty | ReadDuty | ProposeDuty | ScoreDuty)
        room.check(duty.member, plain if sealed else said)
        assert duty.step is not None
        if not sealed:
            return plain
        hidden = seal(identity, room.setting.room, duty.step, plain, secret)
    except Refused as refused:
        raise Excused(f"its answer to {duty.act} is not valid: {refused.why}"[:LONGEST_REASON]) from None
    except ValidationError as error:
        raise Excused(f"its answer to {duty.act} is not valid: {first_problem(error)}"[:LONGEST_REASON]) from None
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise Excused(f"its answer to {duty.act} is not valid: {error}"[:LONGEST_REASON]) from None
    return {"kind": "seal", "step": duty.step, "digest": hidden.digest, "box": hidden.box}


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
        content["reserve"] = own.secret
    return content


def acts_of(answer: Any) -> Performed:
    """Return what the agent wants to say about promises; raise `Excused` if it is not that."""
    if not isinstance(answer, Performed) or not all(isinstance(act, Message) for act in answer.acts):
        raise Excused("its answer to perform is not a Performed with messages in it")
    return answer
