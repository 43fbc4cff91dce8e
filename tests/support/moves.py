"""What members may say: a sample of every kind of body, and answers to duties that depend on a number only."""

from typing import Any

from protocols.duties.duties import (
    CloseDuty,
    Duty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    PromiseDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    RevealDuty,
    ScoreDuty,
    SettleDuty,
    TickDuty,
    WitnessDuty,
)
from protocols.messages.bodies import KINDS
from protocols.messages.commitments import COMMITMENT_BODIES
from tests.support.unsigned_rooms import PROMISE, Table, hexed

ON_PROMISES = {body.model_fields["kind"].default for body in COMMITMENT_BODIES}


def samples(table: Table, member: str, step: str) -> dict[str, dict[str, Any]]:
    """One body of every kind by *member*, naming *step*: right for the step where the kind belongs to it."""
    room, chair = table.room, {"commitment": "chair"}
    bodies: dict[str, dict[str, Any]] = {
        "room.open": room.setting.opening.plain(),
        "room.join": {"opening": room.setting.opening_id, "manifest": {"agent": "test"}},
        "room.decline": {"because": "no"},
        "room.excuse": {"because": "no"},
        "room.leave": {"because": "no"},
        "room.tick": {},
        "room.close": {"digest": hexed(0)},
        "room.witness": {},
        "seal": {"digest": hexed(0), "box": "AA"},
        "reveal": {"nonce": hexed(0), "content": {}},
        "accord.settle": {"terms": {}},
        "concord.quote": {"values": {"price": [1]}},
        "concord.improve": {"option": {"title": "N", "offer": {"size": "l"}}},
        "concord.pass": {"standing": hexed(0)},
        "concord.ratify": {"outcome": hexed(0), "accept": True},
        "commitment.create": {"commitments": [{"id": "lamp", "debtor": member, "creditor": "a", "then": "moved"}]},
        "commitment.cancel": chair,
        "commitment.release": chair,
        "commitment.waive": chair,
        "commitment.delegate": chair | {"to": "c"},
        "commitment.assign": chair | {"to": "c"},
        "commitment.accept": chair | {"offer": hexed("entry", 1)},
        "commitment.suspend": chair,
        "commitment.resume": chair,
        "event.report": {"event": "moved"},
        "event.confirm": {"report": hexed("entry", 1)},
        "event.dispute": {"report": hexed("entry", 1)},
        "event.decide": {"report": hexed("entry", 1), "holds": True},
    }
    assert bodies.keys() == KINDS.keys()
    for kind, body in bodies.items():
        names_step = "step" in KINDS[kind].model_fields and kind not in ON_PROMISES
        bodies[kind] = body | {"kind": kind} | ({"step": step} if names_step else {})
    if room.step is not None and step == table.step:
        if step.startswith("concord.improve"):
            bodies["concord.pass"]["standing"] = table.concord.standing
        elif member in table.expected:
            right = answer_to(table, table.duty(member), 0)
            bodies[right["kind"]] = right
    return bodies


def answer_to(table: Table, duty: Duty, number: int) -> dict[str, Any]:
    """A valid answer to *duty*, the same for the same *number*; a seal can be opened with `Table.reveal`."""
    member, step = duty.member, duty.step or ""
    match duty:
        case JoinDuty():
            body = {"kind": "room.join", "opening": duty.opening, "manifest": {"agent": "test"}}
            return body | {"step": step, "nominates": [f"term {number % 3}"] if number % 2 else []}
        case PromiseDuty():
            return {"kind": "commitment.create", "step": step, "commitments": [t.plain() for t in duty.commitments]}
        case InterpretDuty():
            return table.seal_of(member, {"interpretations": {t: _meaning(_mix(number, t)) for t in duty.terms}})
        case ReadDuty():
            verdicts = [c.verdict or ("yes", "no", "unsure")[_mix(number, c.term, c.text) % 3] for c in duty.cases]
            judgements = [("same", "different", "unsure")[_mix(number, m.term, m.id) % 3] for m in duty.meanings]
            return table.seal_of(member, {"verdicts": verdicts, "judgements": judgements})
        case ProposeDuty():
            table.reserves[member] = (None, 20, 55)[number % 3]
            return table.seal_of(member, table.proposal(member, _option(duty, number), table.reserves[member]))
        case ScoreDuty():
            titles = sorted(o.option.title for o in duty.options)
            scores: dict[str, Any] = {t: 101 * (_mix(number, t) % 12 + 3) // 15 for t in titles}
            if number % 7 == 0 and duty.rejects_left:
                scores[titles[0]] = "no"
            return table.seal_of(member, table.ballot(member, scores))
        case RevealDuty():
            return table.reveal_of(member)
        case SettleDuty():
            return {
                "kind": "accord.settle",
                "step": step,
                "terms": {t: _settlement(duty, t, number) for t in duty.terms},
            }
        case QuoteDuty():
            values = {name: issue.values[number % len(issue.values) :] for name, issue in duty.issues.items()}
            return {"kind": "concord.quote", "step": step, "values": values}
        case ImproveDuty():
            if number % 3 == 0:
                return {"kind": "concord.pass", "step": step, "standing": duty.standing}
            return {"kind": "concord.improve", "step": step, "option": _option(duty, number)}
        case RatifyDuty():
            said = {"accept": False, "because": "no"} if number % 5 == 0 else {"accept": True}
            return {"kind": "concord.ratify", "step": step, "outcome": duty.digest, **said}
        case CloseDuty():
            return {"kind": "room.close", "step": step, "digest": duty.digest}
        case WitnessDuty():
            return {"kind": "room.witness", "step": step}
        case TickDuty():
            return {"kind": "room.tick"}
    raise AssertionError(duty.act)


def promises_of(member: str, number: int) -> dict[str, Any]:
    """Something that *member* says about promises."""
    others = {"a": "b", "b": "c", "c": "a"}
    terms = {
        "id": f"p{number % 4}",
        "debtor": member,
        "creditor": others.get(member, "a"),
        "then": "moved within 9 seconds of agreed",
    }
    report = {"report": hexed("entry", number % 40)}
    return [
        {"kind": "commitment.create", "commitments": [terms]},
        {"kind": "commitment.create", "step": "room.promising", "commitments": [PROMISE]},
        {"kind": "event.report", "event": "moved", "attributes": {"amount": str(number)}},
        {"kind": "event.confirm", **report},
        {"kind": "event.dispute", **report},
        *(
            {"kind": f"commitment.{do}", "commitment": f"p{number % 4}"}
            for do in ("cancel", "release", "suspend", "resume")
        ),
        {"kind": "commitment.delegate", "commitment": "chair", "to": others.get(member, "a")},
        {"kind": "commitment.accept", "commitment": "chair", "offer": report["report"]},
    ][number % 11]


def _mix(number: int, *words: str) -> int:
    """A number that depends on *number* and what it is for, and not on any order."""
    return int(hexed(number, *words)[:8], 16)


def _meaning(number: int) -> dict[str, Any]:
    which = number % 4
    meaning: dict[str, Any] = {"meaning": f"sense {which % 2}"}
    if which == 2:
        meaning["bounds"] = {"weight": {"min": str(number // 4 % 3), "unit": "kg"}}
    if which == 3:
        meaning["cases"] = [{"text": "a box", "applies": bool(number // 4 % 2), "values": {"weight": "2"}}]
    return meaning


def _option(duty: ProposeDuty | ImproveDuty, number: int) -> dict[str, Any]:
    offer = {
        n: i.values[number % len(i.values)] for n, i in duty.issues.items() if n not in duty.optional or number % 2
    }
    titles = offer.values() if offer else [number % 6]
    return {"title": "option " + " ".join(str(t) for t in titles), "offer": offer}


def _settlement(duty: SettleDuty, term: str, number: int) -> dict[str, Any]:
    ids = sorted({m.id for m in duty.meanings if m.term == term} | ({duty.own[term]} if term in duty.own else set()))
    choice = number % 4
    if choice == 0 and term in duty.authority:
        return {"rule": ids[0]}
    if choice == 1:
        return {"adopt": ids[0], "because": "first"}
    if choice == 2 and len(ids) > 1:
        return {"split": {"one": ids[0], "other": ids[1]}}
    return {"keep": True}
