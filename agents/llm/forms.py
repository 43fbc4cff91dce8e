"""The answers as a language model gives them, and their exact conversion into those of `agents.agent`.

A model refers to things by short handles (``o1``, ``m2``) instead of ids and names, and lists instead of maps keep the
schemas within what servers can enforce. No schema contains a word of any member. Conversion never guesses: anything
that is missing, duplicated, or not a listed value is a `Problem` that names the place, so that the model can correct
it.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from agents.agent import Performed, Proposed, Ratified, Scored
from agents.llm.handles import Handles, Problem, checked
from protocols.commitments.conditions import parse
from protocols.core.instants import SECOND, Duration
from protocols.core.message import Message
from protocols.messages.accord import Interpretation, Judgement, Readings, Settlement, Verdict
from protocols.messages.commitments import (
    ON_COMMITMENT,
    CommitmentTerms,
    ConfirmReport,
    DisputeReport,
    OperationName,
    ReportEvent,
)
from protocols.messages.concord import Issue, Option, Value

Amount = Annotated[int | str, Field(description="a decimal as text, or an integer")]


class BoundSaid(Message):
    """A bound on one quantity: min and max with a unit, or the values that are within."""

    quantity: str
    min: Amount | None = None
    max: Amount | None = None
    unit: str | None = None
    values: list[str] | None = None


class Attribute(Message):
    """A named value."""

    name: str
    value: Amount


def _plain(attributes: Sequence[Attribute], place: str) -> dict[str, str]:
    names = [each.name for each in attributes]
    if len(set(names)) < len(names):
        raise Problem(f"{place}: a name stands twice")
    return {each.name: str(each.value) for each in attributes}


class CaseSaid(Message):
    """An example, and whether the term applies to it."""

    text: str
    applies: bool
    values: list[Attribute] = Field(default_factory=list)


class MeaningSaid(Message):
    """What one term means, in words; bounds and cases where they make it testable."""

    term: str
    meaning: str
    bounds: list[BoundSaid] = Field(default_factory=list)
    cases: list[CaseSaid] = Field(default_factory=list)

    def given(self) -> Interpretation:
        """Return the interpretation."""
        quantities = [bound.quantity for bound in self.bounds]
        if len(set(quantities)) < len(quantities):
            raise Problem(f"{self.term}: bounds: a quantity stands twice")
        bounds = {
            bound.quantity: {
                "min": None if bound.min is None else str(bound.min),
                "max": None if bound.max is None else str(bound.max),
                "unit": bound.unit,
                "values": bound.values,
            }
            for bound in self.bounds
        }
        cases = [
            {"text": case.text, "applies": case.applies, "values": _plain(case.values, f"{self.term}: cases")}
            for case in self.cases
        ]
        return checked(Interpretation, self.term, meaning=self.meaning, bounds=bounds, cases=cases)


class InterpretForm(Message):
    """What each term means to you: one entry for each term asked for."""

    terms: list[MeaningSaid]

    def given(self, terms: Handles[str]) -> dict[str, Interpretation]:
        """Return the interpretations by term."""
        return {terms[handle]: said.given() for handle, said in terms.each(self.terms, "term").items()}


class CaseJudged(Message):
    """Whether the term, as you mean it, applies to the case."""

    case: str
    verdict: Verdict


class MeaningJudged(Message):
    """Whether another's meaning is the same as yours."""

    meaning: str
    judgement: Judgement


class ReadForm(Message):
    """A verdict on each case and a judgement of each meaning asked for."""

    cases: list[CaseJudged]
    meanings: list[MeaningJudged]

    def given(self, cases: Handles[int], meanings: Handles[int], known: Mapping[int, Verdict]) -> Readings:
        """Return the readings in order; *known* are the verdicts that were not asked for."""
        verdicts = dict(known)
        verdicts |= {cases[handle]: said.verdict for handle, said in cases.each(self.cases, "case").items()}
        judged = {meanings[h]: said.judgement for h, said in meanings.each(self.meanings, "meaning").items()}
        return Readings(
            verdicts=[verdicts[place] for place in sorted(verdicts)],
            judgements=[judged[place] for place in sorted(judged)],
        )


class Sense(Message):
    """One named sense of a term that is split."""

    sense: str
    meaning: str


class TermSettled(Message):
    """How you settle one term: keep yours, adopt another's meaning, rule where you may, or split it into senses."""

    term: str
    do: Literal["keep", "adopt", "rule", "split"]
    meaning: str | None = Field(default=None, description="the handle, to adopt or rule")
    senses: list[Sense] | None = Field(default=None, description="two or more, to split")
    because: str | None = Field(default=None, description="why; needed to adopt")

    def given(self, meanings: Handles[str], *, may_rule: bool) -> Settlement:
        """Return the settlement; *meanings* are those of this term, by id."""
        fields: dict[str, Any] = {"because": self.because}
        if self.do in ("adopt", "rule") and (self.meaning is None or self.senses is not None):
            raise Problem(f"{self.term}: to {self.do} takes meaning, and no senses")
        if self.do == "rule" and not may_rule:
            raise Problem(f"{self.term}: you have no authority over this term; keep, adopt or split")
        if self.do == "keep":
            if self.meaning is not None or self.senses is not None:
                raise Problem(f"{self.term}: to keep takes neither meaning nor senses")
            fields["keep"] = True
        elif self.do == "split":
            senses = self.senses or []
            if self.meaning is not None or len({each.sense for each in senses}) < len(senses) or len(senses) < 2:
                raise Problem(f"{self.term}: to split takes two or more different senses, and no meaning")
            fields["split"] = {each.sense: meanings[each.meaning] for each in senses}
        else:
            fields[self.do] = meanings[self.meaning or ""]
        return checked(Settlement, self.term, **fields)


class SettleForm(Message):
    """One entry for each term asked for."""

    terms: list[TermSettled]


class IssueQuoted(Message):
    """The values that you allow for one issue, your standard one first."""

    issue: str
    values: list[int | str]


class QuoteForm(Message):
    """One entry for each issue asked for."""

    issues: list[IssueQuoted]

    def given(self, issues: Handles[str], asked: Mapping[str, Issue]) -> dict[str, list[Value]]:
        """Return the values by issue, as they are listed."""
        said = issues.each(self.issues, "issue", [issues.handle(name) for name in asked])
        quoted = {}
        for handle, entry in said.items():
            if not entry.values:
                raise Problem(f"{handle}: at least one value")
            quoted[issues[handle]] = [listed(asked[issues[handle]], value, handle) for value in entry.values]
        return quoted


def listed(issue: Issue, value: int | str, handle: str) -> Value:
    """Return the value of *issue* with the text of *value*: values with the same text are the same value."""
    for known in issue.values:
        if str(known) == str(value):
            return known
    shown = ", ".join(str(known) for known in issue.values[:20])
    raise Problem(f"{handle}: {str(value)[:60]!r} is not one of its values: {shown}")


class OfferItem(Message):
    """The value offered for one issue; one of those listed."""

    issue: str
    value: int | str


class PromiseSaid(Message):
    """A promise that the option creates. `if` left out: unconditional."""

    model_config = ConfigDict(populate_by_name=False)

    id: str
    debtor: str = Field(description="the name of the member that owes it")
    creditor: str = Field(description="the name of the member to whom it is owed")
    antecedent: str | None = Field(default=None, alias="if")
    consequent: str = Field(alias="then")

    def given(self) -> CommitmentTerms:
        """Return the terms."""
        fields = {"id": self.id, "debtor": self.debtor, "creditor": self.creditor}
        for part, text in (("if", self.antecedent), ("then", self.consequent)):
            if text is None:
                continue
            try:
                parse(text)
            except ValueError as error:
                raise Problem(f"promise {self.id}: {part}: {error}") from None
            fields[part] = text
        return checked(CommitmentTerms, f"promise {self.id}", **fields)


class OptionSaid(Message):
    """An option: a title, a value for each issue, and the promises it creates, if any."""

    title: str
    offer: list[OfferItem] = Field(default_factory=list)
    rationale: str | None = None
    promises: list[PromiseSaid] = Field(default_factory=list)
    promises_of: str | None = Field(default=None, description="the handle of an option whose promises this one takes")

    def given(self, table: "Table") -> Option:
        """Return the option."""
        optional = {table.issues.handle(name) for name in table.optional}
        left_out = optional - {item.issue for item in self.offer}
        said = table.issues.each(self.offer, "issue", [handle for handle in table.issues.of if handle not in left_out])
        offer = {
            table.issues[handle]: listed(table.values[table.issues[handle]], item.value, handle)
            for handle, item in said.items()
        }
        promises = [promise.given() for promise in self.promises]
        if self.promises_of is not None:
            if promises:
                raise Problem("give either promises or promises_of")
            promises = table.options[self.promises_of].commitments
        return checked(
            Option, "option", title=self.title, offer=offer, rationale=self.rationale, commitments=list(promises)
        )


class Table:
    """What an option may consist of: issues with the values that this member may use, and the existing options."""

    def __init__(
        self, issues: Handles[str], values: Mapping[str, Issue], optional: Sequence[str], options: Handles[Option]
    ) -> None:
        self.issues, self.values, self.optional, self.options = issues, values, optional, options


class ProposeForm(OptionSaid):
    """The option you propose, and the lowest score you would agree to: below it, no deal is better for you."""

    reserve: Annotated[int, Field(ge=0, le=100)] | None = None

    def proposed(self, table: Table) -> Proposed:
        """Return the proposal."""
        return Proposed(self.given(table), self.reserve)


class OptionScored(Message):
    """An integer score from 0 to 100, or a rejection with its reason; a reason for a score if you like."""

    option: str
    score: Annotated[int, Field(ge=0, le=100)] | None = None
    reject: str | None = Field(default=None, description="the reason for which you reject it, in place of a score")
    reason: str | None = None


class ScoreForm(Message):
    """One entry for each option asked for."""

    options: list[OptionScored]

    def given(self, options: Handles[str], asked: Sequence[str], rejects_left: int) -> Scored:
        """Return the ballot by option id."""
        scores: dict[str, int] = {}
        rejects: dict[str, str] = {}
        reasons: dict[str, str] = {}
        for handle, said in options.each(self.options, "option", asked).items():
            if (said.score is None) == (said.reject is None):
                raise Problem(f"{handle}: give either a score or a rejection")
            if said.reject == "":
                raise Problem(f"{handle}: a rejection needs its reason")
            if said.score is not None:
                scores[options[handle]] = said.score
            if said.reject is not None:
                rejects[options[handle]] = said.reject
            if said.reason:
                reasons[options[handle]] = said.reason
        if len(rejects) > rejects_left:
            raise Problem(f"{len(rejects)} rejections; you have {rejects_left} left, and 0 is the lowest score")
        return Scored(scores, rejects, reasons)


class ImproveForm(Message):
    """Either pass, or an option that is better for you and lifts whoever is worst off."""

    model_config = ConfigDict(populate_by_name=False)

    passes: bool = Field(default=False, alias="pass")
    option: OptionSaid | None = None

    def given(self, table: Table) -> Option | None:
        """Return the option; None passes."""
        if self.passes == (self.option is not None):
            raise Problem('give either an option, or "pass": true')
        return None if self.option is None else self.option.given(table)


class RatifyForm(Message):
    """Whether you sign the outcome; a refusal says why."""

    accept: bool
    because: str | None = None

    def given(self) -> Ratified:
        """Return the decision."""
        if not self.accept and not self.because:
            raise Problem("declining needs a reason: because")
        return Ratified(self.accept, self.because or None)


class ReportAnswered(Message):
    """Whether you confirm what another reported to have happened."""

    report: str
    answer: Literal["confirm", "dispute"]
    because: str | None = None


class EventReported(Message):
    """An event that has happened, with its attributes if it has any."""

    event: str
    attributes: list[Attribute] = Field(default_factory=list)


class Operation(Message):
    """Something to do with a promise."""

    do: OperationName
    promise: str = Field(description="its id")
    to: str | None = None
    until: str | None = None
    because: str | None = None


class PerformForm(Message):
    """What you say about promises now; empty lists say nothing, and are often right."""

    reports: list[ReportAnswered] = Field(default_factory=list)
    events: list[EventReported] = Field(default_factory=list)
    operations: list[Operation] = Field(default_factory=list)
    again_in_seconds: Annotated[int, Field(ge=1, le=31_536_000)] | None = Field(
        default=None, description="ask again after so long even if nothing changes; costs a call"
    )

    def given(
        self,
        reports: Handles[str],
        reportable: Sequence[str],
        promises: Sequence[str],
        offer_of: Callable[[str], str | None],
    ) -> Performed:
        """Return the acts, the answers to reports first."""
        acts: list[Message] = []
        answered: set[str] = set()
        for answer in self.reports:
            if answer.report in answered:
                raise Problem(f"{answer.report} stands twice")
            answered.add(answer.report)
            kind = ConfirmReport if answer.answer == "confirm" else DisputeReport
            acts.append(checked(kind, answer.report, report=reports[answer.report], because=answer.because or None))
        for event in self.events:
            if event.event not in reportable:
                raise Problem(f"event {event.event!r}: you may report {', '.join(reportable) or 'none'}")
            attributes = _plain(event.attributes, event.event)
            acts.append(checked(ReportEvent, event.event, event=event.event, attributes=attributes))
        for said in self.operations:
            if said.promise not in promises:
                raise Problem(f"promise {said.promise!r}: there are {', '.join(promises) or 'none'}")
            fields = {"to": said.to, "until": said.until, "because": said.because or None}
            if said.do == "accept":
                fields["offer"] = offer_of(said.promise)
                if fields["offer"] is None:
                    raise Problem(f"promise {said.promise!r}: nobody offers it to you")
            place = f"{said.do} {said.promise}"
            acts.append(checked(ON_COMMITMENT[said.do], place, commitment=said.promise, **fields))
        again = self.again_in_seconds
        return Performed(acts, None if again is None else Duration(int(Decimal(again) * SECOND)))
