"""What a folded room came to. Run and audit share this one function, so that they cannot differ."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
    patterns, decision = patterns_of(room), decision_of(room.ending, room.concord)
    return {
        "room": room.setting.room,
        "intent": room.setting.opening.intent,
        "rehearsal": None if room.setting.opening.rehearsal is None else room.setting.opening.rehearsal.plain(),
        "outcome": room.ending.outcome if room.ending is not None else "unfinished",
        "reason": room.ending.reason if room.ending is not None else None,
        "decision": None if decision is None else decision.plain(),
        "considered": considered_of(room, patterns),
        "divergences": divergences_of(room.accord),
        "untested": untested_of(room.accord),
        "commitments": commitments_of(room),
        "cost": cost_of(room).plain(),
        "claims": evidence_of(room),
        "patterns": {member: pattern.plain() for member, pattern in patterns.items()},
        "findings": [finding.plain() for finding in findings_of(room)],
    }


def findings_of(room: Room) -> list[Finding]:
    """Return the findings about *room*: first those of the fold, then those about the room as a whole."""
    return [
        *room.findings,
        *_troubles(room),
        *evidence_findings(room),
        *pattern_findings(room, patterns_of(room)),
    ]


def _troubles(room: Room) -> list[Finding]:
    """Return the problems of the promises as a whole: circles, deadlocks, conflicts."""
    troubles = [] if room.tracker is None else room.tracker.findings()
    return [Finding(code, 0, "", f"{', '.join(names)}: {text}") for code, names, text in troubles]


def commitments_of(room: Room) -> dict[str, str]:
    """Return the state of each commitment by its id."""
    return {} if room.tracker is None else dict(sorted(room.tracker.states().items()))


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


@dataclass(frozen=True, slots=True)
class Amounts:
    """Tokens, model calls and seconds, as entries declare them; ``seconds`` is decimal text."""

    tokens_in: int
    tokens_out: int
    calls: int
    seconds: str

    def plain(self) -> dict[str, Any]:
        """Return the amounts as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cost:
    """What the room cost: in total, by member with the models that it named, and by purpose.

    ``agreement`` is the same as ``total`` if the room agreed, otherwise None. ``coordinating`` is the share of tokens,
    calls and seconds that went into reaching the result, as decimal text; the rest went into acting on promises.
    """

    total: Amounts
    members: dict[str, Amounts]
    models: dict[str, tuple[str, ...]]
    agreement: Amounts | None
    coordinating: dict[str, str | None]

    def plain(self) -> dict[str, Any]:
        """Return the cost as JSON."""
        return {
            **self.total.plain(),
            "members": {m: {**each.plain(), "models": list(self.models[m])} for m, each in self.members.items()},
            "agreement": None if self.agreement is None else self.agreement.plain(),
            "coordinating": self.coordinating,
        }


def cost_of(room: Room) -> Cost:
    """Return the use that the entries of *room* declare."""
    spending = room.spending
    agreed = room.ending is not None and room.ending.outcome == "agreed"
    used = dict(sorted(spending.used.items()))
    return Cost(
        _amounts(spending.room),
        {member: _amounts(each) for member, each in used.items()},
        {member: tuple(each.models) for member, each in used.items()},
        _amounts(spending.room) if agreed else None,
        {
            name: _share(spending.coordinating.amount(name), spending.room.amount(name))
            for name in ("tokens", "calls", "seconds")
        },
    )


def _amounts(used: Used) -> Amounts:
    return Amounts(used.tokens_in, used.tokens_out, used.calls, decimal_seconds(used.nanos))


def _share(part: int, whole: int) -> str | None:
    """Return *part* of *whole* as decimal text with two digits; None of nothing."""
    return None if whole == 0 else f"{Decimal(part) / Decimal(whole):.2f}"
