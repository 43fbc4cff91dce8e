"""What a folded room came to. Run and audit share this one function, so that they cannot differ."""

from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from protocols.concord.machine import Concord
from protocols.core.findings import Finding
from protocols.messages.budget import Used, decimal_seconds
from protocols.room.outcome import decision_of, divergences_of, untested_of
from protocols.room.room import Room
from protocols.views.evidence import evidence_findings, evidence_of
from protocols.views.patterns import Pattern, pattern_findings, patterns_of


def summary_of(room: Room) -> dict[str, Any]:
    """Return outcome, decision, divergences, untested pairs, commitment states and findings of *room*.

    It also contains the room's claims with what they rest on, and every member's record of scoring and moving.
    """
    patterns = patterns_of(room)
    at_the_end = [*_troubles(room), *evidence_findings(room), *pattern_findings(room, patterns)]
    return {
        "room": room.setting.room,
        "intent": room.setting.opening.intent,
        "rehearsal": None if room.setting.opening.rehearsal is None else room.setting.opening.rehearsal.plain(),
        "outcome": room.ending.outcome if room.ending is not None else "unfinished",
        "reason": room.ending.reason if room.ending is not None else None,
        "decision": decision_of(room.ending, room.concord),
        "considered": considered_of(room, patterns),
        "divergences": divergences_of(room.accord),
        "untested": untested_of(room.accord),
        "commitments": commitments_of(room),
        "cost": cost_of(room),
        "claims": evidence_of(room),
        "patterns": {member: pattern.plain() for member, pattern in patterns.items()},
        "findings": [finding.plain() for finding in [*room.findings, *at_the_end]],
    }


def _troubles(room: Room) -> list[Finding]:
    """Return the problems of the promises as a whole: circles, deadlocks, conflicts."""
    troubles = [] if room.tracker is None else room.tracker.findings()
    return [Finding(code, 0, "", f"{', '.join(names)}: {text}") for code, names, text in troubles]


def commitments_of(room: Room) -> dict[str, str]:
    """Return the state of each commitment by its id."""
    return {} if room.tracker is None else {name: s.state for name, s in sorted(room.tracker.statuses().items())}


def considered_of(room: Room, patterns: Mapping[str, Pattern]) -> dict[str, Any] | None:
    """Return the table of scores behind the decision, what other rules would have picked, and how members scored."""
    concord = room.concord
    if concord is None or concord.first_selection is None or concord.selection is None:
        return None
    table = concord.table
    titles = {c.id: c.option.title for c in concord.candidates.values()}
    also = concord.selection.also
    first = concord.first_selection.also
    return {
        "options": [
            {
                "id": c.id,
                "title": c.option.title,
                "offer": dict(c.option.offer),
                "by": list(c.proposers),
                "fate": c.fate,
                "scores": table.of(c.id),
                "objections": list(concord.selection.objections.get(c.id, ())),
            }
            for c in concord.candidates.values()
        ],
        "table": _table(concord),
        "standing": titles.get(concord.standing or ""),
        "first": titles.get(concord.first_selection.standing or ""),
        "reserves": dict(sorted(table.reserves.items())),
        "rejections": {
            m: {titles[o]: why for o, why in r.items()} for m, r in sorted(concord.table.rejects.items()) if r
        },
        "also": None if also is None else {"sum": titles[also.sum], "median": titles[also.median]},
        "also_first": None if first is None else {"sum": titles[first.sum], "median": titles[first.median]},
        "tries": [
            {"number": t.number, "by": t.by, "option": titles[t.option], "adopted": t.adopted, "because": t.because}
            for t in concord.tries
        ],
        "patterns": {m: asdict(p.scoring) for m, p in patterns.items() if p.scoring is not None},
    }


def _table(concord: Concord) -> dict[str, Any]:
    """Return the final table as `swarm decide` takes it; options are named by their ids, which the beacon orders."""
    rules = concord.setting.opening.rules
    options = [c.id for c in concord.candidates.values() if c.scored]
    return {
        "members": list(concord.setting.members),
        "options": options,
        "ballots": {
            member: {"scores": dict(ballot.scores), "rejects": dict(ballot.rejects), "reserve": ballot.reserve}
            for member, ballot in concord.table.ballots(options).items()
        },
        "rules": {"bar": rules.bar, "floor": rules.floor, "rejects": rules.rejects},
        "incumbent": concord.standing if concord.tries else concord.status_quo,
        "beacon": concord.beacon,
    }


def cost_of(room: Room) -> dict[str, Any]:
    """Return what the room cost, as the entries declare it: in total, by member, and by purpose.

    ``agreement`` is the total up to the agreement, otherwise null. ``coordinating`` is the share of tokens, calls and
    seconds that went into reaching the result, as decimal text; the rest went into acting on promises.
    """
    spending = room.spending
    agreed = room.ending is not None and room.ending.outcome == "agreed"
    return {
        **_amounts(spending.room),
        "members": {m: {**_amounts(u), "models": list(u.models)} for m, u in sorted(spending.used.items())},
        "agreement": _amounts(spending.room) if agreed else None,
        "coordinating": {
            name: _share(spending.coordinating.amount(name), spending.room.amount(name))
            for name in ("tokens", "calls", "seconds")
        },
    }


def _amounts(used: Used) -> dict[str, Any]:
    return {
        "tokens_in": used.tokens_in,
        "tokens_out": used.tokens_out,
        "calls": used.calls,
        "seconds": decimal_seconds(used.nanos),
    }


def _share(part: int, whole: int) -> str | None:
    """Return *part* of *whole* as decimal text with two digits; None of nothing."""
    return None if whole == 0 else f"{Decimal(part) / Decimal(whole):.2f}"
