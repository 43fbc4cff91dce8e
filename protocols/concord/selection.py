"""concord-select/1: which option a table of scores selects, and why.

A pure function over integers. A member *objects* to an option that it rejects or scores below its reserve. Options are
ordered by fewest objections, then by the greatest vector: the members' scores, each raised to at least ``floor`` (a
rejection counts as ``floor``), sorted ascending and compared lexicographically, so that the worst-off member counts
first, then the second worst-off, and so on (leximin; Sen 1970, Rawls's difference principle carried through the ties).
Options equal in both are separated by the incumbent, otherwise by the smallest SHA-256(beacon ":" option).

Nothing else can affect the result: no float, tolerance, clock or hash seed, and no order of members, options or
arrival. Whatever depends on names alone (``tied``, the last resort of ``least_satisfied``) is ordered by code points.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from protocols.core.message import is_blank

VERSION = "concord-select/1"

LOWEST, HIGHEST = 0, 100
"""The range of a score, in points; reserve, bar and floor lie in it too."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one member thinks of the options: a score or a reasoned rejection for each.

    ``reserve`` is the score below which the member would rather have no deal; ``None`` objects to no score.
    """

    scores: Mapping[str, int]
    rejects: Mapping[str, str] = field(default_factory=dict)
    reserve: int | None = None


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """``quorum`` is the number of valid ballots needed, ``None`` for all.

    ``rejects`` is how many one ballot may contain.
    """

    quorum: int | None = None
    bar: int = 50
    floor: int = 0
    rejects: int = 1


DEFAULT_RULES = SelectionRules()


class Also(NamedTuple):
    """What other rules would have picked; a rejection counts as 0, and the smaller option wins a tie."""

    sum: str
    median: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome of a table, with everything that a reader needs to check it.

    ``standing`` is the first in the order; ``winner`` is the same if it was accepted. ``rule`` is what separated the
    first from the second; ``tied`` is every option equal to the first in objections and vector. ``void`` maps each void
    ballot to its code and ``why_void`` to its sentence. Without a quorum or options, only these two and ``missing`` are
    filled.
    """

    outcome: str
    winner: str | None = None
    standing: str | None = None
    vector: tuple[int, ...] = ()
    rule: str | None = None
    tied: tuple[str, ...] = ()
    least_satisfied: str | None = None
    objections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    void: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    also: Also | None = None
    why_void: Mapping[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return the selection as JSON, every field present."""
        return {
            "outcome": self.outcome,
            "winner": self.winner,
            "standing": self.standing,
            "vector": list(self.vector),
            "rule": self.rule,
            "tied": list(self.tied),
            "least_satisfied": self.least_satisfied,
            "objections": {option: list(members) for option, members in self.objections.items()},
            "void": dict(self.void),
            "why_void": dict(self.why_void),
            "missing": list(self.missing),
            "also": self.also and self.also._asdict(),
        }


class BallotFault(NamedTuple):
    """Why a ballot is void: the code, the option concerned (``""`` if not a single one), and what would be valid."""

    code: str
    option: str
    text: str


def find_fault(ballot: Ballot, options: Collection[str], rejects_budget: int) -> BallotFault | None:
    """Return the first reason why *ballot* is void, or ``None``; the codes are tried in the contract's order.

    The ballot may contain anything as a score or reason. Nothing is coerced: ``True`` and ``100.0`` are not integers.
    If there are many *options*, pass a set or the keys of a mapping, so that ``in`` is fast.
    """
    scores: Mapping[str, Any] = ballot.scores
    rejects: Mapping[str, Any] = ballot.rejects
    if not rejects and len(scores) == len(options) and all(option in scores for option in options):
        for score in scores.values():
            if type(score) is not int or not LOWEST <= score <= HIGHEST:
                break
        else:
            return None

    for option in sorted({*scores, *rejects}):
        if option not in options:
            return BallotFault("unknown_option", option, "no such option; use the options' own names")
    for option in sorted(rejects):
        if option in scores:
            return BallotFault("scored_and_rejected", option, "scored and rejected; do one of the two")
    for option in sorted(scores):
        if type(scores[option]) is not int:
            return BallotFault("score_not_integer", option, "expected an integer from 0 to 100")
    for option in sorted(scores):
        if not LOWEST <= scores[option] <= HIGHEST:
            return BallotFault("score_out_of_range", option, "expected an integer from 0 to 100")
    if len(rejects) > rejects_budget:
        return BallotFault("too_many_rejections", "", f"{len(rejects)} rejections, at most {rejects_budget} allowed")
    for option in sorted(rejects):
        reason = rejects[option]
        if not isinstance(reason, str) or is_blank(reason):
            return BallotFault("rejection_without_reason", option, "a rejection needs a reason in words")
    for option in sorted(options):
        if option not in scores and option not in rejects:
            return BallotFault("incomplete_ballot", option, "every option needs a score or a rejection")
    return None


def check_ballot(ballot: Ballot, options: Collection[str], rejects_budget: int) -> str | None:
    """Return the code of the first fault of *ballot* (see `find_fault`), or ``None`` if it counts."""
    fault = find_fault(ballot, options, rejects_budget)
    return fault and fault.code


class OrderKey(NamedTuple):
    """An option's place in the order: fewer objections are better, then a greater vector."""

    objections: int
    vector: tuple[int, ...]

    def better_than(self, other: "OrderKey") -> bool:
        """Return whether this place is strictly better: a new option must be, to become the standing one."""
        return (-self.objections, self.vector) > (-other.objections, other.vector)


def order_key(option: str, ballots: Iterable[Ballot], floor: int = 0) -> OrderKey:
    """Return the place of *option* on valid *ballots*, without regard to incumbent or beacon."""
    objections = 0
    vector = []
    for ballot in ballots:
        score = ballot.scores.get(option)
        if score is None:
            objections += 1
            vector.append(floor)
        else:
            objections += ballot.reserve is not None and score < ballot.reserve
            vector.append(score if score > floor else floor)
    vector.sort()
    return OrderKey(objections, tuple(vector))


def objectors(option: str, ballots: Mapping[str, Ballot]) -> tuple[str, ...]:
    """Return the members that object to *option*, by name: those that reject it or score it below their reserve."""
    found = []
    for member, ballot in ballots.items():
        score = ballot.scores.get(option)
        if score is None or (ballot.reserve is not None and score < ballot.reserve):
            found.append(member)
    return tuple(sorted(found))


def least_satisfied(standing: str, ballots: Mapping[str, Ballot], among: Iterable[str] | None = None) -> str | None:
    """Return the member that *standing* satisfies least, or ``None`` if all gave it 100.

    The largest shortfall below the member's reserve decides, then the lowest score, then the largest regret (the
    member's best score on any option minus its score on the standing one), then the name. A rejection counts as 0 in
    all three, whatever the floor: the floor limits what a low score does to the order, and must not make a veto look
    more content than a 0. *among* limits the candidates, for example to those who may still propose.
    """

    def content(member: str) -> tuple[int, int, int, str]:
        ballot = ballots[member]
        score = ballot.scores.get(standing, LOWEST)
        shortfall = max(0, (ballot.reserve or 0) - score)
        regret = max(ballot.scores.values(), default=LOWEST) - score
        return -shortfall, score, -regret, member

    least = min(ballots if among is None else among, key=content, default=None)
    # Nobody is worse off than the least satisfied, so if it gave 100, everyone did.
    return None if least is None or ballots[least].scores.get(standing) == HIGHEST else least


def select(
    members: Collection[str],
    options: Collection[str],
    ballots: Mapping[str, Ballot],
    rules: SelectionRules = DEFAULT_RULES,
    incumbent: str | None = None,
    beacon: str = "",
) -> Selection:
    """Select among *options* on the *ballots* of *members* by concord-select/1.

    Ballots are checked here (see `find_fault`); a void ballot is named and does not count. Raises ``ValueError`` for an
    impossible table: repeated members or options, a ballot of somebody who is not a member, or an incumbent that is not
    an option.
    """
    choices = _distinct("option", options)
    roster = _distinct("member", members)
    strangers = ballots.keys() - roster
    if strangers:
        raise ValueError(f"a ballot of {min(strangers)!r}, who is not a member")
    if incumbent is not None and incumbent not in choices:
        raise ValueError(f"the incumbent {incumbent!r} is not an option")

    faults = {}
    counted = {}
    for member in sorted(ballots):
        ballot = ballots[member]
        fault = find_fault(ballot, choices, rules.rejects)
        if fault is None:
            counted[member] = ballot
        else:
            faults[member] = fault
    void = {member: fault.code for member, fault in faults.items()}
    why_void = {member: f"{f.option}: {f.text}" if f.option else f.text for member, f in faults.items()}
    missing = tuple(sorted(roster - ballots.keys()))
    if not choices:
        return Selection("no_options", void=void, missing=missing, why_void=why_void)
    if not counted or len(counted) < (len(roster) if rules.quorum is None else rules.quorum):
        return Selection("no_quorum", void=void, missing=missing, why_void=why_void)

    keys = {option: order_key(option, counted.values(), rules.floor) for option in choices}
    first, rule, tied = _first(keys, incumbent, beacon)
    key = keys[first]
    eligible = "accepted" if key.vector[0] >= rules.bar else "below_bar"
    outcome = "no_eligible_option" if key.objections else eligible
    return Selection(
        outcome=outcome,
        winner=first if outcome == "accepted" else None,
        standing=first,
        vector=key.vector,
        rule=rule,
        tied=tied,
        least_satisfied=least_satisfied(first, counted),
        objections={option: objectors(option, counted) for option in sorted(choices) if keys[option].objections},
        void=void,
        missing=missing,
        also=Also(_by(sum, choices, counted), _by(_lower_median, choices, counted)),
        why_void=why_void,
    )


def _distinct(what: str, names: Collection[str]) -> set[str]:
    distinct = set(names)
    if len(distinct) != len(names):
        raise ValueError(f"the same {what} twice")
    return distinct


def _first(keys: Mapping[str, OrderKey], incumbent: str | None, beacon: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the first in the order, the rule that put it before the second, and all options that equal it."""
    fewest = min(key.objections for key in keys.values())
    fewest_only = {option: key.vector for option, key in keys.items() if key.objections == fewest}
    greatest = max(fewest_only.values())
    tied = tuple(sorted(option for option, vector in fewest_only.items() if vector == greatest))
    if len(tied) > 1:
        if incumbent in tied:
            return incumbent, "incumbent", tied
        return min(tied, key=lambda option: sha256(f"{beacon}:{option}".encode()).digest()), "beacon", tied
    if len(keys) == 1:
        rule = "only"
    elif len(fewest_only) == 1:
        rule = "objections"
    else:
        second = max(vector for vector in fewest_only.values() if vector != greatest)
        rule = "maximin" if second[0] != greatest[0] else "leximin"
    return tied[0], rule, tied


def _lower_median(scores: list[int]) -> int:
    return sorted(scores)[(len(scores) - 1) // 2]


def _by(measure: Callable[[list[int]], int], options: Iterable[str], ballots: Mapping[str, Ballot]) -> str:
    measured = {
        option: measure([ballot.scores.get(option, LOWEST) for ballot in ballots.values()]) for option in options
    }
    best = max(measured.values())
    return min(option for option, value in measured.items() if value == best)
