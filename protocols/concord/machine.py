"""Concord: the options, everybody's scores, the standing option, the tries to improve it, and who signed it.

`protocols.concord.steps` has the steps and their order, `protocols.concord.selection` makes the choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from protocols.commitments.tracker import Tracker
from protocols.concord.options import Candidate, as_listed, check_quote, complete, open_values
from protocols.concord.selection import (
    Ballot,
    Selection,
    SelectionRules,
    find_fault,
    least_satisfied,
    order_key,
    select,
)
from protocols.concord.steps import (
    ACCEPTED,
    AUTHORITY,
    NEW_OPTION,
    NO_AUTHORITY,
    NO_OPTIONS,
    NOT_ACCEPTED,
    NOTHING_STANDS,
    OPTION,
    OPTIONS,
    QUOTE,
    QUOTED,
    RATIFY,
    RIGHT,
    SIGNED,
    TABLE,
    UNQUOTED,
    UNSIGNED,
    ballot,
    improvement,
)
from protocols.concord.table import ScoreTable
from protocols.core.canonical import digest
from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    Outcome,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ScoreDuty,
)
from protocols.messages.bodies import first_problem
from protocols.messages.concord import (
    BallotContent,
    Improve,
    Option,
    Pass,
    Proposal,
    Quote,
    Ratify,
    Value,
    option_id,
    reserve_digest,
)
from protocols.stage.sealed import SealedRound
from protocols.stage.setting import Setting
from protocols.stage.spending import Spending
from protocols.stage.stage import Refused, Stage
from protocols.stage.steps import Plan, Step
from protocols.stage.table import Turn
from protocols.stage.usage import used_terms, words_of


@dataclass(frozen=True, slots=True)
class Try:
    """One scored improvement: its number from 1, its author, its option, and whether it became the standing option."""

    number: int
    by: str
    option: str
    adopted: bool
    because: str


@dataclass(slots=True)
class Concord(Stage):
    """The Concord of one room: options, the table of scores, the standing option, and who signed the outcome."""

    steps = TABLE

    setting: Setting
    tracker: Tracker | None = None
    open_differences: list[dict[str, Any]] = field(default_factory=list)
    quotes: dict[str, list[Value]] = field(default_factory=dict)
    proposals: SealedRound[Proposal] = field(default_factory=lambda: SealedRound(OPTION))
    candidates: dict[str, Candidate] = field(default_factory=dict)
    status_quo: str | None = None
    beacon: str = ""
    ballot: SealedRound[BallotContent] = field(default_factory=lambda: SealedRound(ballot(1)))
    ballots: int = 1
    table: ScoreTable = field(default_factory=ScoreTable)
    selection: Selection | None = None
    first_selection: Selection | None = None
    standing: str | None = None
    candidate: str | None = None
    rights: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    tries: list[Try] = field(default_factory=list)
    ratified: dict[str, Ratify] = field(default_factory=dict)
    spending: Spending | None = None

    # -- steps ----------------------------------------------------------------------------------------------------

    def rounds(self) -> Sequence[SealedRound[Any]]:
        """Return the options, and the ballot that is under way or comes next."""
        return self.proposals, self.ballot

    def start(self, present: Sequence[str]) -> Turn:
        """Begin with the quotes of members that have authority, or with everyone's option."""
        return Turn(AUTHORITY if self.setting.opening.authority.issues else NO_AUTHORITY)

    def turn(self, step: Step, present: Sequence[str]) -> Turn:
        """Work out the result of *step*."""
        if step.id == QUOTE:
            unquoted = sorted(set(self.setting.opening.authority.issues) - set(self.quotes))
            return Turn(UNQUOTED, reason=f"not_quoted: {', '.join(unquoted)}") if unquoted else Turn(QUOTED)
        if step.id == self.proposals.reveal_step:
            return self._open_table(step)
        if step.id == self.ballot.reveal_step:
            return self._first_selection(present) if self.candidate is None else self._judge_candidate(present)
        if step.id == RATIFY:
            return self._conclude(step, present)
        return Turn() if self.round_at(step.id) is not None else self._after_right(step, present)

    def plan(self, name: str, present: Sequence[str]) -> Plan:
        """Wait for those with authority, for the one with the right to improve, or for everybody's signature."""
        if name == QUOTE:
            owners = set(self.setting.opening.authority.issues.values())
            return Plan(QUOTE, ("concord.quote",), tuple(m for m in present if m in owners))
        if name == RATIFY:
            return Plan(RATIFY, ("concord.ratify",), tuple(present), beyond_budget=True)
        holder = self._holder(present)
        assert holder is not None
        kinds = ("concord.improve", "concord.pass")
        return Plan(improvement(self.rights), kinds, (holder,), volunteers=("concord.pass",))

    def _open_table(self, step: Step) -> Turn:
        findings: list[Finding] = []
        has_issues = bool(self.setting.opening.issues)
        for member in self.setting.members:
            proposal = self.proposals.contents.get(member)
            if proposal is not None:
                identifier = option_id(proposal.option, has_issues=has_issues)
                known = self.candidates.setdefault(
                    identifier, Candidate(identifier, proposal.option, [], step.answers[member])
                )
                known.proposers.append(member)
        status_quo = self.setting.opening.status_quo
        if status_quo is not None:
            status_quo = as_listed(status_quo, self.setting.opening)
            findings += self._open_terms_used(status_quo, "", step.closed or 0)
            self.status_quo = option_id(status_quo, has_issues=has_issues)
            self.candidates.setdefault(self.status_quo, Candidate(self.status_quo, status_quo, [], 1))
        if not self.candidates:
            return Turn(NO_OPTIONS, findings, "no_options")
        return Turn(OPTIONS, findings)

    def _first_selection(self, present: Sequence[str]) -> Turn:
        self.table.record(self.ballot.contents)
        # Without everyone's ballot nothing is selected: a member that keeps its nonce back gets no other order of ties.
        self.beacon = digest([self.ballot.nonces[m] for m in self.setting.members if m in self.ballot.nonces])
        self.selection = self.first_selection = self._select(self.status_quo)
        self.standing = self.selection.standing
        if self.standing is None:
            return Turn(NOTHING_STANDS, reason=f"{self.selection.outcome}: {self._lacking()}")
        return self._next_right(present)

    def _lacking(self) -> str:
        """Return the members without a valid ballot in this round, each with the reason; empty if all have one."""
        reasons = {member: self.ballot.why_lacking(member) for member in self.setting.members}
        return ", ".join(f"{member} ({why})" for member, why in reasons.items() if why is not None)

    def _select(self, incumbent: str | None) -> Selection:
        rules = self.setting.opening.rules
        options = [c.id for c in self.candidates.values() if c.scored]
        return select(
            self.setting.members,
            options,
            self.table.ballots(options),
            SelectionRules(bar=rules.bar, floor=rules.floor, rejects=rules.rejects),
            incumbent,
            self.beacon,
        )

    # -- improvement ----------------------------------------------------------------------------------------------

    def _next_right(self, present: Sequence[str]) -> Turn:
        """Give the right to improve to the next member; if nobody may improve, the selection stands."""
        assert self.selection is not None
        if self._holder(present) is not None:
            self.rights += 1
            return Turn(RIGHT)
        accepted = self.selection.outcome == "accepted"
        return Turn(ACCEPTED) if accepted else Turn(NOT_ACCEPTED, reason=self.selection.outcome)

    def _holder(self, present: Sequence[str]) -> str | None:
        """Return who may try to improve next, None if nobody may."""
        rules = self.setting.opening.rules
        # "Improvement": "The candidates are those present that have not passed since the standing option changed, and
        # of these the ones with the fewest tries since."
        able = [m for m in present if m not in self.passed]
        affordable = self.spending is None or self.spending.pays_for_a_try(len(present))
        if not able or len(self.tries) >= rules.improvements or not affordable:
            return None
        fewest = min(self.tried.get(m, 0) for m in able)
        eager = [m for m in able if self.tried.get(m, 0) == fewest]
        assert self.standing is not None
        # If all candidates gave the standing option 100, none is less satisfied than another, and the name decides.
        return least_satisfied(self.standing, self.table.ballots(), eager) or min(eager)

    def _after_right(self, step: Step, present: Sequence[str]) -> Turn:
        # "Improvement": a void or repeated option "counts as a pass"; "so does a step that closes without an answer".
        if self.candidate is None:
            self._pass(step.expected[0])
            return self._next_right(present)
        self.ballots += 1
        self.ballot = SealedRound(ballot(self.ballots))
        return Turn(NEW_OPTION)

    def _pass(self, member: str) -> None:
        if member not in self.passed:
            self.passed.append(member)

    def _judge_candidate(self, present: Sequence[str]) -> Turn:
        assert self.candidate is not None and self.standing is not None
        candidate = self.candidates[self.candidate]
        self.candidate = None
        by = candidate.proposers[0]
        lacking = self._lacking()
        # "If a member has no valid ballot on it, the option is refused and leaves the table."
        if lacking:
            candidate.scored, adopted = False, False
            because = f"no ballot of {lacking}"
        else:
            self.table.record(self.ballot.contents)
            candidate.scored = True
            floor, ballots = self.setting.opening.rules.floor, list(self.table.ballots().values())
            standing = order_key(self.standing, ballots, floor)
            adopted = order_key(candidate.id, ballots, floor).better_than(standing)
            because = "strictly better" if adopted else "not strictly better than the standing option"
        candidate.fate = "adopted" if adopted else "refused"
        self.tries.append(Try(len(self.tries) + 1, by, candidate.id, adopted, because))
        if adopted:
            self.standing = candidate.id
            self.tried, self.passed = {}, []
        else:
            self.tried[by] = self.tried.get(by, 0) + 1
        self.selection = self._select(self.standing)
        return self._next_right(present)

    # -- the end --------------------------------------------------------------------------------------------------

    def _conclude(self, step: Step, present: Sequence[str]) -> Turn:
        # "Ratifying": the reasons come "in this order, joined by `; `".
        unsigned: dict[str, list[str]] = {"left": [], "declined": [], "excused": [], "silent": []}
        for member in self.setting.members:
            said = self.ratified.get(member)
            if said is None:
                how = "left" if member not in present else "excused" if member in step.excused else "silent"
                unsigned[how].append(member)
            elif not said.accept:
                unsigned["declined"].append(member)
        reasons = [f"{how}: {', '.join(who)}" for how, who in unsigned.items() if who]
        return Turn(UNSIGNED, reason="; ".join(reasons)) if reasons else Turn(SIGNED)

    def outcome(self) -> Outcome:
        """Return what is up for ratification; valid once the selection is accepted."""
        assert self.selection is not None and self.standing is not None
        chosen = self.candidates[self.standing].option
        return Outcome(
            room=self.setting.room,
            option=self.standing,
            title=chosen.title,
            offer=dict(chosen.offer),
            vector=list(self.selection.vector or ()),
            rule=self.selection.rule or "",
            open=self.open_differences,
        )

    # -- answers --------------------------------------------------------------------------------------------------

    def take(self, step: Step, event: Event) -> list[Finding]:
        """Take a quote, an improvement, a pass or a signature, or raise `Refused`."""
        body = event.body
        if isinstance(body, Quote):
            self.quotes.update(check_quote(body, event.author, self.setting.opening))
            return []
        if isinstance(body, Pass):
            if body.standing != self.standing:
                raise Refused("wrong_standing", f"the standing option is {self.standing}")
            self._pass(event.author)
            return []
        if isinstance(body, Improve):
            return self._improve(event.author, body.option, event.position)
        assert isinstance(body, Ratify)
        if body.outcome != digest(self.outcome().plain()):
            raise Refused("wrong_outcome", f"the outcome's digest is {digest(self.outcome().plain())}")
        self.ratified[event.author] = body
        if body.accept:
            return []
        text = f"declines the outcome: {body.because}"
        return [Finding("declined", event.position, event.author, text)]

    def judge(
        self, round_: SealedRound[Any], member: str, content: dict[str, Any], position: int
    ) -> tuple[Any, list[Finding]]:
        """Judge what a member opened: its option or its ballot."""
        if round_ is self.proposals:
            return self._judge_proposal(member, content, position)
        return self._judge_ballot(member, content), []

    def vet(self, step: Step, member: str, said: Any) -> None:
        """Raise `Refused` for a quote or an improvement that is not allowed."""
        if isinstance(said, Quote):
            check_quote(said, member, self.setting.opening)
        elif isinstance(said, Improve):
            _, identifier, _ = complete(said.option, member, self.setting.opening, self.quotes, self.tracker, 0)
            if identifier in self.candidates:
                raise Refused("repeated_option", f"{self._title(identifier)} is that option")

    def _judge_proposal(self, member: str, content: dict[str, Any], position: int) -> tuple[Proposal, list[Finding]]:
        try:
            proposal = Proposal.read(content)
        except ValidationError as error:
            raise Refused("void_option", first_problem(error)) from None
        option, _, notes = complete(proposal.option, member, self.setting.opening, self.quotes, self.tracker, position)
        return proposal.model_copy(update={"option": option}), notes + self._open_terms_used(option, member, position)

    def _open_terms_used(self, option: Option, member: str, position: int) -> list[Finding]:
        offer = [f"{issue} {value}" for issue, value in option.offer.items()]
        words = " ".join([option.title, option.rationale or "", *offer, *(words_of(c) for c in option.commitments)])
        return [
            Finding("uses_open_term", position, member, f"{option.title!r} uses {term!r}, whose meaning is open")
            for term in used_terms((d["term"] for d in self.open_differences), words)
        ]

    def _improve(self, member: str, proposed: Option, position: int) -> list[Finding]:
        try:
            option, identifier, findings = complete(
                proposed, member, self.setting.opening, self.quotes, self.tracker, position
            )
        except Refused as refused:
            self._pass(member)
            return [Finding(refused.code, position, member, f"counts as a pass: {refused.why}")]
        if identifier in self.candidates:
            self._pass(member)
            known = self.candidates[identifier].option.title
            return [Finding("repeated_option", position, member, f"counts as a pass: {known!r} is that option")]
        self.candidates[identifier] = Candidate(identifier, option, [member], position, fate="proposed", scored=False)
        self.candidate = identifier
        return findings + self._open_terms_used(option, member, position)

    def _judge_ballot(self, member: str, content: dict[str, Any]) -> BallotContent:
        try:
            said = BallotContent.read(content)
        except ValidationError as error:
            raise Refused("void_ballot", first_problem(error)) from None
        asked = self.asked()
        fault = find_fault(Ballot(said.scores, said.rejects), asked, self.rejects_left(member))
        if fault is not None:
            raise Refused(fault.code, f"{self._title(fault.option)}: {fault.text}" if fault.option else fault.text)
        if not {*said.reasons, *(said.cites or {})} <= set(asked):
            raise Refused("unknown_option", "a reason or citation names an option that is not asked about")
        committed = self.proposals.contents.get(member) if self.ballots == 1 else None
        opened = said.reserve
        if (committed is None) != (opened is None):
            raise Refused("reserve_mismatch", "the first ballot opens the reserve committed to, and no other does")
        if committed is not None and opened is not None:
            key = self.setting.keys[member]
            if reserve_digest(self.setting.room, key, opened.reserve, opened.nonce) != committed.reserve:
                raise Refused("reserve_mismatch", "the reserve opened is not the one committed to")
        return said

    def _title(self, option: str) -> str:
        return repr(self.candidates[option].option.title) if option in self.candidates else option

    def asked(self) -> list[str]:
        """Return the ids of the options that the current ballot asks about."""
        return [self.candidate] if self.candidate is not None else list(self.candidates)

    def rejects_left(self, member: str) -> int:
        """Return how many rejections *member* may still make in this room."""
        return self.setting.opening.rules.rejects - self.table.rejections(member)

    # -- duties ---------------------------------------------------------------------------------------------------

    def duty_at(self, step: Step, member: str) -> Duty:
        """Return what *member* is asked at *step*."""
        at: dict[str, Any] = {"member": member, "step": step.id, "deadline": step.deadline}
        opening = self.setting.opening
        if step.id == QUOTE:
            mine = {i: opening.issues[i] for i, owner in opening.authority.issues.items() if owner == member}
            return QuoteDuty(**at, issues=mine)
        if step.id == self.proposals.seal_step:
            return ProposeDuty(**at, **self._issues(), status_quo=opening.status_quo)
        if step.id == self.ballot.seal_step:
            return ScoreDuty(
                **at,
                options=[self.candidates[o].asked() for o in self.asked()],
                rejects_left=self.rejects_left(member),
                bar=opening.rules.bar,
                opens_reserve=self.ballots == 1 and member in self.proposals.contents,
            )
        if step.id == RATIFY:
            outcome = self.outcome()
            return RatifyDuty(**at, outcome=outcome, digest=digest(outcome.plain()))
        assert self.standing is not None and self.selection is not None
        return ImproveDuty(
            **at,
            **self._issues(),
            standing=self.standing,
            objections=list(self.selection.objections.get(self.standing, ())),
            options=[c.asked() for c in self.candidates.values()],
            table={option: self.table.of(option) for option in self.candidates},
            reserves=dict(self.table.reserves),
            floor=opening.rules.floor,
            tries_left=opening.rules.improvements - len(self.tries),
        )

    def _issues(self) -> dict[str, Any]:
        opening = self.setting.opening
        return {
            "issues": {
                name: issue.model_copy(update={"values": open_values(opening, self.quotes, name)})
                for name, issue in opening.issues.items()
            },
            "optional": [name for name in opening.issues if name in opening.authority.issues],
        }
