"""From a mind's answer to the body that its member signs."""

import os
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from agents.agent import Grounded, Performed, Proposed, Ratified, Scored
from protocols.core.message import Message
from protocols.duties.duties import (
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
from protocols.messages.accord import Interpretations, Readings, Settle, Settlement
from protocols.messages.bodies import first_problem, parse_body
from protocols.messages.commitments import COMMITMENT_BODIES
from protocols.messages.concord import (
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
from protocols.messages.room import Join, Manifest
from protocols.room.room import Room
from protocols.stage.stage import Refused
from swarm.seat.asking import Mind, in_short
from swarm.seat.excuses import Excused, Overstepped, Unfit
from swarm.seat.mandate import Mandate, breach
from swarm.signed.identity import Identity
from swarm.signed.sealing import open_box, seal


async def join(mind: Mind, duty: JoinDuty, timeout_s: float) -> dict[str, Any]:
    """Return the body that joins: what the agent says it is, and the terms that it adds; raise `Excused`."""
    await mind.ask("join", timeout_s, duty)
    manifest = await mind.ask("manifest", timeout_s)
    nominated = await mind.ask("nominate", timeout_s)
    try:
        manifest = _expect(Manifest, manifest)
        said = Join(step=duty.step or "", opening=duty.opening, manifest=manifest, nominates=list(nominated))
    except ValidationError as error:
        raise Excused(f"what it nominates is not valid: {first_problem(error)}", "invalid") from None
    except Exception as error:
        raise Excused(f"what it says of itself is not valid: {in_short(error)}", "invalid") from None
    return {name: value for name, value in said.plain().items() if value != []}


def compose(
    duty: Duty,
    answer: Any,
    room: Room,
    identity: Identity,
    mandate: Mandate | None = None,
    cost: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the body that says *answer*, sealed if the step seals; its *cost* then goes into the box with it.

    Raises `Unfit` if the answer is not valid, and `Overstepped` if *mandate* does not allow what would be signed.
    """
    if room.step is None or room.step.id != duty.step:
        raise Excused(f"{duty.step} is not open any more", "late")
    try:
        grounds = answer.plain() if isinstance(answer, Grounded) else {}
        said, secret = _said(duty, answer.answer if isinstance(answer, Grounded) else answer, room, identity)
        plain = said.plain() if isinstance(said, Message) else said
        sealed = room.step.seals
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
        raise Unfit(f"its answer to {duty.act} is not valid: {in_short(error)}") from error
    return {"kind": "seal", "step": duty.step, "digest": hidden.digest, "box": hidden.box}


def hold_to(
    mandate: Mandate, duty: Duty, plain: dict[str, Any], room: Room, secret: dict[str, Any] | None = None
) -> None:
    """Raise `Overstepped` if *mandate* does not allow *plain* as the answer to *duty*, with the reserve in *secret*."""
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
    if isinstance(duty, RatifyDuty):
        said = _expect(Ratified, answer)
        return Ratify(step=step, outcome=duty.digest, accept=said.accept, because=said.because), None
    # A duty without an answer form of its own is answered with the very body or content.
    return _expect(Message, answer), None


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
    """Return what the agent wants to say about promises; raise `Unfit` if it is something else."""
    if not isinstance(answer, Performed) or not isinstance(answer.acts, list | tuple):
        raise Unfit(f"its answer to perform is not a Performed with a list of acts, but {type(answer).__name__}")
    for act in answer.acts:
        if not isinstance(act, COMMITMENT_BODIES):
            raise Unfit(f"its answer to perform holds a {type(act).__name__}, which is no act on promises")
        try:
            parse_body(act.plain())
        except Exception as error:
            raise Unfit(f"its answer to perform is not valid: {in_short(error)}") from error
    if answer.again_in is not None and type(answer.again_in) is not int:
        raise Unfit("its answer to perform asks to be asked again in something other than whole microseconds")
    return answer
