"""Accord: what every member means by each term, how the others read it, and which differences stay open.

`protocols.accord.steps` has the steps and their order. Nothing that was said is ever replaced: a member that adopts
another's meaning keeps its own on record, and the divergence stays, marked as settled, with who moved and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from pydantic import ValidationError

from protocols.accord.compare import Position, compare
from protocols.accord.steps import BLOCKED, DIFFERENT, GO_ON, MEANING, READING, SETTLE, TABLE
from protocols.core.event import Event
from protocols.core.findings import Finding
from protocols.duties.duties import CaseAsked, Duty, InterpretDuty, MeaningAsked, ReadDuty, SettleDuty
from protocols.messages.accord import (
    Interpretation,
    Interpretations,
    Judgement,
    Readings,
    Settle,
    Settlement,
    Verdict,
    interpretation_id,
)
from protocols.messages.bodies import first_problem
from protocols.stage.sealed import SealedRound
from protocols.stage.setting import Setting
from protocols.stage.stage import Refused, Stage
from protocols.stage.steps import Plan, Step
from protocols.stage.table import Turn


@dataclass(slots=True)
class Divergence:
    """Two members' differing readings of one term, the evidence, and what became of the difference."""

    term: str
    between: tuple[str, str]
    evidence: list[dict[str, Any]]
    readings: dict[str, dict[str, Any]]
    status: str = "open"
    settled_by: dict[str, dict[str, Any]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return the divergence as JSON."""
        plain: dict[str, Any] = {
            "term": self.term,
            "between": list(self.between),
            "evidence": self.evidence,
            "readings": self.readings,
            "status": self.status,
        }
        if self.settled_by:
            plain["settled_by"] = self.settled_by
        return plain


@dataclass(slots=True)
class Accord(Stage):
    """The Accord of one room: what every member means, how the readings relate, and which differences stay open."""

    steps = TABLE

    setting: Setting
    terms: list[str]
    meaning: SealedRound[dict[str, Interpretation]] = field(default_factory=lambda: SealedRound(MEANING))
    reading: SealedRound[Readings] = field(default_factory=lambda: SealedRound(READING))
    ids: dict[str, dict[str, str]] = field(default_factory=dict)
    """Interpretation ids: term → member → id."""
    divergences: list[Divergence] = field(default_factory=list)
    untested: list[tuple[str, tuple[str, str]]] = field(default_factory=list)
    missing: list[tuple[str, tuple[str, str]]] = field(default_factory=list)
    settlements: dict[str, dict[str, Settlement]] = field(default_factory=dict)
    """Settlements: term → member → settlement."""

    # -- steps ----------------------------------------------------------------------------------------------------

    def rounds(self) -> Sequence[SealedRound[Any]]:
        """Return the meanings and the readings."""
        return self.meaning, self.reading

    def turn(self, step: Step, present: Sequence[str]) -> Turn:
        """Work out the result of *step*: number the meanings, compare the readings, or say what stays open."""
        if step.id == self.meaning.reveal_step:
            self._number()
            return Turn()
        if step.id == self.reading.reveal_step:
            found = self._compare(step.closed or 0)
            return Turn(DIFFERENT, found) if self._party(present) else self._conclude(step.closed or 0, found)
        return self._conclude(step.closed or 0, []) if step.id == SETTLE else Turn()

    def plan(self, name: str, present: Sequence[str]) -> Plan:
        """Wait for the members that are party to a difference."""
        return Plan(SETTLE, ("accord.settle",), self._party(present))

    def _party(self, present: Sequence[str]) -> tuple[str, ...]:
        terms = {d.term for d in self.divergences}
        party = {member for d in self.divergences for member in d.between}
        party |= {member for term, member in self.setting.opening.authority.terms.items() if term in terms}
        return tuple(m for m in present if m in party)

    def _conclude(self, position: int, findings: list[Finding]) -> Turn:
        blocks = self.setting.opening.rules.on_divergence == "block"
        for divergence in self.divergences:
            if self._settled(divergence):
                divergence.status = "settled"
            else:
                divergence.status = "blocked" if blocks else "carried"
                a, b = divergence.between
                text = f"{a} and {b} mean different things by {divergence.term!r}; {divergence.status}"
                findings.append(Finding("divergence_open", position, a, text))
        open_terms = self.open_terms()
        if blocks and open_terms:
            return Turn(BLOCKED, findings, f"divergence: {', '.join(open_terms)}")
        return Turn(GO_ON, findings)

    # -- answers --------------------------------------------------------------------------------------------------

    def take(self, step: Step, event: Event) -> list[Finding]:
        """Take a settlement."""
        assert isinstance(event.body, Settle)
        self.vet(step, event.author, event.body)
        for term, settlement in event.body.terms.items():
            self.settlements.setdefault(term, {})[event.author] = settlement
        return []

    def judge(
        self, round_: SealedRound[Any], member: str, content: dict[str, Any], position: int
    ) -> tuple[Any, list[Finding]]:
        """Judge what a member opened: its meanings or its readings."""
        if round_ is self.meaning:
            return self._judge_meaning(member, content), []
        return self._judge_reading(member, content), []

    def _judge_meaning(self, member: str, content: dict[str, Any]) -> dict[str, Interpretation]:
        try:
            whole = Interpretations.read(content)
        except ValidationError as error:
            raise Refused("void_interpretation", first_problem(error)) from None
        said = whole.interpretations
        for term in [*said, *(whole.cites or ())]:
            if term not in self.terms:
                raise Refused("void_interpretation", f"{term!r} is no term; the terms are {', '.join(self.terms)}")
        return said

    def _judge_reading(self, member: str, content: dict[str, Any]) -> Readings:
        try:
            said = Readings.read(content)
        except ValidationError as error:
            raise Refused("void_reading", first_problem(error)) from None
        cases, meanings = self.cases_for(member), self.meanings_for(member)
        if len(said.verdicts) != len(cases) or len(said.judgements) != len(meanings):
            raise Refused(
                "void_reading",
                f"{len(cases)} verdicts and {len(meanings)} judgements are asked for, "
                f"{len(said.verdicts)} and {len(said.judgements)} were given",
            )
        for case, verdict in zip(cases, said.verdicts, strict=True):
            # docs/protocol/rooms.md, "Accord": void is "a verdict on the member's own case that differs from the one it
            # gave".
            if case.verdict not in (None, verdict):
                raise Refused("void_reading", f"the verdict on its own case {case.text!r} is not that of its reading")
        return said

    def vet(self, step: Step, member: str, said: Any) -> None:
        """Raise `Refused` for a settlement that is not allowed."""
        if isinstance(said, Settle):
            self._check_settle(member, said)

    def _check_settle(self, member: str, body: Settle) -> None:
        asked = self.terms_to_settle(member)
        for term, settlement in body.terms.items():
            if term not in asked:
                raise Refused("not_expected", f"{term!r} is not {member}'s to settle; its terms are {', '.join(asked)}")
            ids = set(self.ids[term].values())
            named = {settlement.adopt, settlement.rule, *(settlement.split or {}).values()} - {None}
            if not named <= ids:
                raise Refused("unknown_interpretation", f"{term!r}: an id is not one of an interpretation revealed")
            if settlement.rule is not None and self.setting.opening.authority.terms.get(term) != member:
                raise Refused("not_yours_to_decide", f"the opening gives nobody named {member} authority over {term!r}")
        left_out = [term for term in asked if term not in body.terms]
        if left_out:
            raise Refused("incomplete_settlement", f"say adopt, split, rule or keep for {', '.join(left_out)} too")

    # -- what was said --------------------------------------------------------------------------------------------

    def _number(self) -> None:
        for term in self.terms:
            self.ids[term] = {
                member: interpretation_id(term, said[term])
                for member, said in sorted(self.meaning.contents.items())
                if term in said
            }

    def cases_for(self, member: str) -> list[CaseAsked]:
        """Return every revealed case in the order of the sorted (term, text), with *member*'s own verdicts."""
        return self._cases_of(member, self._cases())

    def _cases(self) -> list[CaseAsked]:
        """Return every revealed case in the order of the sorted (term, text), without verdicts."""
        cases: dict[tuple[str, str], CaseAsked] = {}
        for author in self.setting.members:
            for term, said in self.meaning.contents.get(author, {}).items():
                for case in said.cases:
                    if (term, case.text) in cases and not case.values:
                        continue
                    cases[(term, case.text)] = CaseAsked(term=term, text=case.text, values=dict(case.values))
        return [cases[key] for key in sorted(cases)]

    def _cases_of(self, member: str, cases: Sequence[CaseAsked]) -> list[CaseAsked]:
        own: dict[tuple[str, str], Verdict] = {
            (term, mine.text): "yes" if mine.applies else "no"
            for term, said in self.meaning.contents.get(member, {}).items()
            for mine in said.cases
        }
        return [
            asked if verdict is None else asked.model_copy(update={"verdict": verdict})
            for asked in cases
            for verdict in (own.get((asked.term, asked.text)),)
        ]

    def meanings_for(self, member: str) -> list[MeaningAsked]:
        """Return every distinct meaning of others in the order of the sorted (term, id)."""
        return [meaning for meaning in self._meanings() if self.ids[meaning.term].get(member) != meaning.id]

    def _meanings(self) -> list[MeaningAsked]:
        """Return every distinct meaning in the order of the sorted (term, id)."""
        meanings = []
        for term in sorted(self.terms):
            holders: dict[str, list[str]] = {}
            for author in self.setting.members:
                if author in self.ids.get(term, {}):
                    holders.setdefault(self.ids[term][author], []).append(author)
            for identifier in sorted(holders):
                said = self.meaning.contents[holders[identifier][0]][term]
                meanings.append(
                    MeaningAsked(term=term, id=identifier, held_by=holders[identifier], interpretation=said)
                )
        return meanings

    def terms_to_settle(self, member: str) -> list[str]:
        """Return the differing terms that *member* is party to, or has authority over, in agenda order."""
        authority = self.setting.opening.authority.terms
        differing = {d.term for d in self.divergences if member in d.between or authority.get(d.term) == member}
        return [term for term in self.terms if term in differing]

    # -- comparison -----------------------------------------------------------------------------------------------

    def _compare(self, position: int) -> list[Finding]:
        findings = []
        positions = self._positions()
        for term in self.terms:
            for a, b in combinations(self.setting.members, 2):
                relation, evidence = compare(positions.get((term, a)), positions.get((term, b)))
                if relation == "different":
                    readings = {m: self.meaning.contents[m][term].plain() for m in (a, b)}
                    self.divergences.append(Divergence(term, (a, b), evidence, readings))
                    text = f"{a} and {b} mean different things by {term!r}"
                    findings.append(Finding("divergence", position, a, text))
                elif relation == "untested":
                    self.untested.append((term, (a, b)))
                elif relation == "missing":
                    self.missing.append((term, (a, b)))
        return findings

    def _positions(self) -> dict[tuple[str, str], Position]:
        positions = {}
        all_cases, all_meanings = self._cases(), self._meanings()
        for member, said in self.meaning.contents.items():
            verdicts: dict[str, dict[str, Verdict]] = {}
            judgements: dict[str, dict[str, Judgement]] = {}
            read = self.reading.contents.get(member)
            cases = self._cases_of(member, all_cases)
            meanings = [meaning for meaning in all_meanings if self.ids[meaning.term].get(member) != meaning.id]
            for index, case in enumerate(cases):
                verdict = case.verdict or (read.verdicts[index] if read else None)
                if verdict is not None:
                    verdicts.setdefault(case.term, {})[case.text] = verdict
            for meaning, judgement in zip(meanings, read.judgements if read else [], strict=False):
                judgements.setdefault(meaning.term, {})[meaning.id] = judgement
            for term, interpretation in said.items():
                positions[(term, member)] = Position(
                    interpretation, self.ids[term][member], verdicts.get(term, {}), judgements.get(term, {})
                )
        return positions

    def held(self, term: str, member: str) -> str | None:
        """Return the id of the interpretation that *member* holds after settling."""
        # "A member *holds* what the term's authority ruled; otherwise what it adopted; otherwise its own
        # interpretation."
        ruling = self.setting.opening.authority.terms.get(term)
        if ruling is not None:
            ruled = self.settlements.get(term, {}).get(ruling)
            if ruled is not None and ruled.rule is not None:
                return ruled.rule
        settlement = self.settlements.get(term, {}).get(member)
        if settlement is not None and settlement.adopt is not None:
            return settlement.adopt
        return self.ids[term].get(member)

    def _settled(self, divergence: Divergence) -> bool:
        term, (a, b) = divergence.term, divergence.between
        said = self.settlements.get(term, {})
        ruling = self.setting.opening.authority.terms.get(term)
        divergence.settled_by = {
            member: said[member].plain()
            for member in dict.fromkeys((a, b, ruling))
            if member is not None and member in said and said[member].keep is None
        }
        # "A divergence is `settled` if both named the same split; or if one of the two or the authority adopted or
        # ruled, and both hold the same interpretation."
        splits = [said[m].split if m in said else None for m in (a, b)]
        if splits[0] is not None and splits[0] == splits[1]:
            return True
        # Two members that gave the same interpretation may still differ on a case: they agree only if somebody moves.
        moved = any(s.get("adopt") or s.get("rule") for s in divergence.settled_by.values())
        return moved and self.held(term, a) == self.held(term, b)

    def open_terms(self) -> list[str]:
        """Return the terms on which a difference is still open."""
        return [t for t in self.terms if any(d.term == t and d.status != "settled" for d in self.divergences)]

    # -- duties ---------------------------------------------------------------------------------------------------

    def duty_at(self, step: Step, member: str) -> Duty:
        """Return what *member* is asked at *step*."""
        if step.id == self.meaning.seal_step:
            return InterpretDuty(
                member=member,
                step=step.id,
                deadline=step.deadline,
                intent=self.setting.opening.intent,
                terms=list(self.terms),
            )
        if step.id == self.reading.seal_step:
            return ReadDuty(
                member=member,
                step=step.id,
                deadline=step.deadline,
                cases=self.cases_for(member),
                meanings=self.meanings_for(member),
                own=dict(self.meaning.contents.get(member, {})),
            )
        terms = self.terms_to_settle(member)
        return SettleDuty(
            member=member,
            step=step.id,
            deadline=step.deadline,
            terms=terms,
            own={t: self.ids[t][member] for t in terms if member in self.ids[t]},
            meanings=[m for m in self.meanings_for(member) if m.term in terms],
            authority=[t for t in terms if self.setting.opening.authority.terms.get(t) == member],
        )
