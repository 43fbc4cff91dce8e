"""A duty as one question to a language model: fixed words, the data to judge, and the form of the answer.

The words are ours and contain nothing of any member; everything that others wrote is in the data. The data is what the
duty and its briefing contain, so a model sees what its step allows and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agents.llm.forms import (
    ImproveForm,
    InterpretForm,
    PerformForm,
    ProposeForm,
    QuoteForm,
    RatifyForm,
    ReadForm,
    ScoreForm,
    SettleForm,
    Table,
)
from agents.llm.handles import Handles, Problem, problems_of
from agents.llm.prompts import WORDS
from protocols.commitments.conditions import parse
from protocols.commitments.lifecycle import OPEN_STATES
from protocols.commitments.tree import event_of, leaves
from protocols.core.message import Message
from protocols.duties.briefing import PromiseKnown
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ReportAsked,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Readings, interpretation_id
from protocols.messages.commitments import CommitmentTerms
from protocols.messages.concord import Issue, Option

REJECTED = "rejected"
"""How a rejection is shown among scores."""


class Unusable(ValueError):
    """The answer cannot be used; the text says why, for the model."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked for one duty, and how its answer becomes the answer to the duty."""

    act: str
    data: dict[str, Any]
    form: type[Message]
    take: Callable[[Any], Any]

    @property
    def words(self) -> str:
        """Return the question in our words."""
        return WORDS[self.act]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the answer."""
        return self.form.model_json_schema(by_alias=True)

    def read(self, arguments: Mapping[str, Any]) -> Any:
        """Return the answer in the form that `agents.agent.Agent` gives it; raise `Unusable`."""
        try:
            return self.take(self.form.model_validate(arguments))
        except ValidationError as error:
            raise Unusable(problems_of(error)) from None
        except Problem as problem:
            raise Unusable(str(problem)) from None


def question(duty: Duty) -> Question | None:
    """Return what to ask for *duty*; None if there is nothing to ask about."""
    return _QUESTIONS[duty.act](duty)


# -- what stands in the data ----------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Return *value* as JSON, without absent or empty parts."""
    if isinstance(value, Message):
        return _plain(value.model_dump(mode="json", by_alias=True))
    if isinstance(value, dict):
        return {key: kept for key, item in value.items() if (kept := _plain(item)) not in (None, [], {})}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _scores(scores: Mapping[str, int | None]) -> dict[str, int | str]:
    return {member: REJECTED if score is None else score for member, score in scores.items()}


def _issues(handles: Handles[str], issues: Mapping[str, Issue], optional: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "issue": handles.handle(name),
            "name": name,
            **_plain(issue),
            **({"optional": True} if name in optional else {}),
        }
        for name, issue in issues.items()
    ]


def _shown(option: Option, handles: Handles[str]) -> dict[str, Any]:
    """Return *option* with its issues by handle, so that its offer looks like that of an answer."""
    issues = {name: handle for handle, name in handles.of.items()}
    return {
        "title": option.title,
        "offer": [{"issue": issues.get(name, ""), "name": name, "value": v} for name, v in option.offer.items()],
        **_plain({"rationale": option.rationale, "promises": list(option.commitments)}),
    }


class _Room:
    """The duty's briefing with handles in place of ids; without a briefing, what the duty itself contains."""

    def __init__(self, duty: Duty) -> None:
        self._duty, self._briefing = duty, duty.briefing
        said: list[Any] = [] if self._briefing is None else list(self._briefing.options)
        said += [asked for asked in getattr(duty, "options", ()) if asked.id not in {known.id for known in said}]
        self.options = {each.id: each.option for each in said}
        self.ids = Handles("o", self.options)
        known = {} if self._briefing is None else self._briefing.issues
        self.issues = Handles("i", {**known, **getattr(duty, "issues", {})})
        self._of_meaning = {
            interpretation_id(term, meaning): f"the meaning of {member}"
            for term, held in ({} if self._briefing is None else self._briefing.meanings).items()
            for member, meaning in held.items()
        }

    def table(self, issues: Mapping[str, Issue], optional: list[str]) -> Table:
        """Return what an option may consist of."""
        return Table(self.issues, issues, optional, Handles("o", self.options.values()))

    def data(self, **asked: Any) -> dict[str, Any]:
        """Return everything that is shown for one question, beginning with what is asked about."""
        data: dict[str, Any] = {"you": self._duty.member, "asked": asked}
        if self._briefing is not None:
            data["room"] = self._told()
        return data

    def _told(self) -> dict[str, Any]:
        b = self._briefing
        assert b is not None
        told = _plain(b)
        told.pop("room", None)
        told["rules"] = _plain({k: v for k, v in b.rules if k not in ("versions", "skew_seconds")})
        told["issues"] = _issues(self.issues, b.issues, [])
        if isinstance(self._duty, ReadDuty | SettleDuty):
            told.pop("meanings", None)
        told["options"] = [
            {
                "option": self.ids.handle(known.id),
                **_shown(known.option, self.issues),
                "by": list(known.proposers),
                "fate": known.fate,
                **_plain({"scores": _scores(known.scores), "reasons": known.reasons}),
            }
            for known in b.options
        ]
        told["own"] = self._own()
        if b.standing is not None:
            told["standing"] = self.ids.handle(b.standing)
        return {key: value for key, value in told.items() if value not in ([], {}, None)}

    def _own(self) -> dict[str, Any]:
        assert self._briefing is not None
        own = self._briefing.own
        handles = {id_: handle for handle, id_ in self.ids.of.items()}
        said = _plain({"interpretations": own.interpretations, "reserve": own.reserve})
        if own.settled:
            said["settled"] = {term: self._by_holder(settled) for term, settled in own.settled.items()}
        if own.option in handles:
            said["option"] = handles[own.option]
        if own.scores:
            said["scores"] = {handles[id_]: score for id_, score in _scores(own.scores).items() if id_ in handles}
        return dict(said)

    def _by_holder(self, settled: Any) -> Any:
        if isinstance(settled, dict):
            return {key: self._by_holder(item) for key, item in settled.items()}
        return self._of_meaning.get(settled, settled) if isinstance(settled, str) else settled


# -- one question for each act --------------------------------------------------------------------------------------


def _interpret(duty: InterpretDuty) -> Question | None:
    terms = Handles("t", duty.terms)
    asked = {"intent": duty.intent, "terms": [{"term": handle, "name": name} for handle, name in terms.of.items()]}
    return Question(duty.act, _Room(duty).data(**asked), InterpretForm, lambda said: said.given(terms))


def _read(duty: ReadDuty) -> Question | None:
    known = {place: case.verdict for place, case in enumerate(duty.cases) if case.verdict is not None}
    cases = Handles("c", [place for place in range(len(duty.cases)) if place not in known])
    meanings = Handles("m", range(len(duty.meanings)))
    if not cases.of and not meanings.of:
        return None
    asked = {
        "cases": [
            {"case": handle, **_plain(duty.cases[place].model_copy(update={"verdict": None}))}
            for handle, place in cases.of.items()
        ],
        "meanings": [
            {
                "meaning": handle,
                "term": duty.meanings[place].term,
                "held_by": duty.meanings[place].held_by,
                "says": _plain(duty.meanings[place].interpretation),
            }
            for handle, place in meanings.of.items()
        ],
        "own": _plain(duty.own),
    }
    return Question(duty.act, _Room(duty).data(**asked), ReadForm, lambda said: said.given(cases, meanings, known))


def own_readings(duty: ReadDuty) -> Readings:
    """Return the readings if there is nothing to ask: the member's own verdicts on its own cases."""
    return Readings(verdicts=[case.verdict for case in duty.cases if case.verdict is not None], judgements=[])


def _settle(duty: SettleDuty) -> Question | None:
    terms = Handles("t", duty.terms)
    others = [meaning for meaning in duty.meanings if meaning.term in duty.terms]
    own = [(term, id_) for term, id_ in duty.own.items() if term in duty.terms]
    meanings = Handles("m", [*((m.term, m.id) for m in others), *own])
    held = {} if duty.briefing is None else duty.briefing.own.interpretations
    asked = {
        "terms": [
            {"term": handle, "name": name, **({"may_rule": True} if name in duty.authority else {})}
            for handle, name in terms.of.items()
        ],
        "meanings": [
            *(
                {
                    "meaning": meanings.handle((m.term, m.id)),
                    "term": m.term,
                    "held_by": m.held_by,
                    "says": _plain(m.interpretation),
                }
                for m in others
            ),
            *(
                {
                    "meaning": meanings.handle(each),
                    "term": each[0],
                    "held_by": [duty.member],
                    "says": _plain(held.get(each[0], {})),
                }
                for each in own
            ),
        ],
    }

    def take(said: SettleForm) -> Any:
        settled = {}
        for handle, entry in terms.each(said.terms, "term").items():
            term = terms[handle]
            of_term: Handles[str] = Handles("m", ())
            of_term.of = {h: id_ for h, (of, id_) in meanings.of.items() if of == term}
            settled[term] = entry.given(of_term, may_rule=term in duty.authority)
        return settled

    return Question(duty.act, _Room(duty).data(**asked), SettleForm, take)


def _quote(duty: QuoteDuty) -> Question | None:
    room = _Room(duty)
    asked = {"issues": _issues(room.issues, duty.issues, [])}
    return Question(duty.act, room.data(**asked), QuoteForm, lambda said: said.given(room.issues, duty.issues))


def _propose(duty: ProposeDuty) -> Question | None:
    room = _Room(duty)
    table = room.table(duty.issues, duty.optional)
    asked: dict[str, Any] = {"issues": _issues(room.issues, duty.issues, duty.optional)}
    if duty.status_quo is not None:
        asked["status_quo"] = _shown(duty.status_quo, room.issues)
    return Question(duty.act, room.data(**asked), ProposeForm, lambda said: said.proposed(table))


def _score(duty: ScoreDuty) -> Question | None:
    room = _Room(duty)
    handles = [room.ids.handle(each.id) for each in duty.options]
    asked = {
        "options": [
            {"option": room.ids.handle(each.id), **_shown(each.option, room.issues), "by": list(each.proposers)}
            for each in duty.options
        ],
        "rejects_left": duty.rejects_left,
        "bar": duty.bar,
    }
    return Question(
        duty.act, room.data(**asked), ScoreForm, lambda said: said.given(room.ids, handles, duty.rejects_left)
    )


def _improve(duty: ImproveDuty) -> Question | None:
    room = _Room(duty)
    table = room.table(duty.issues, duty.optional)
    asked = {
        "standing": room.ids.handle(duty.standing),
        "objections": list(duty.objections),
        "scores": {room.ids.handle(id_): _scores(scores) for id_, scores in duty.table.items()},
        "reserves": {member: "none" if r is None else r for member, r in duty.reserves.items()},
        "issues": _issues(room.issues, duty.issues, duty.optional),
        "tries_left": duty.tries_left,
    }
    return Question(duty.act, room.data(**asked), ImproveForm, lambda said: said.given(table))


def _ratify(duty: RatifyDuty) -> Question | None:
    room = _Room(duty)
    outcome = _plain(duty.outcome)
    outcome["option"] = next((h for h, id_ in room.ids.of.items() if id_ == duty.outcome.option), "")
    return Question(duty.act, room.data(outcome=outcome), RatifyForm, lambda said: said.given())


def _perform(duty: PerformDuty) -> Question | None:
    concerned = concern(duty)
    if concerned is None:
        return None
    reports = Handles("r", [report.id for report in duty.awaiting])
    asked = {
        "reports": [{"report": reports.handle(report.id), **_claim(report)} for report in duty.awaiting],
        "reportable": concerned["reportable"],
        "offers": _plain(duty.offers),
        "promises": concerned["promises"],
        "said": {"reported": [_claim(report) for report in duty.done], "done": _plain(duty.operations)},
    }
    return Question(
        duty.act,
        _Room(duty).data(**asked),
        PerformForm,
        lambda said: said.given(reports, duty.reportable, list(duty.promises), duty.offer_of),
    )


def _claim(report: ReportAsked) -> dict[str, Any]:
    return {"event": report.event, "by": report.by, **_plain({"attributes": report.attributes})}


def concern(duty: PerformDuty) -> dict[str, Any] | None:
    """Return what this member may act on according to *duty*; None if there is nothing.

    That is: reports that await its answer, delegations offered to it, and promises that can still change, of its own or
    on an event that it may report. What the member has said itself is not included: that alone is no reason to ask
    again.
    """
    promises = [
        {
            **terms.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"instances"}),
            "id": name,
            "state": state,
        }
        for name, state, terms in _promises(duty)
        if duty.member in (terms.debtor, terms.creditor) or not _events(terms).isdisjoint(duty.reportable)
    ]
    if not duty.awaiting and not duty.offers and not any(promise["state"] in OPEN_STATES for promise in promises):
        return None
    wanted = {event for _, state, terms in _promises(duty) if state in OPEN_STATES for event in _events(terms)}
    return {
        "awaiting": sorted(report.id for report in duty.awaiting),
        "offers": sorted(offer.id for offer in duty.offers),
        "reportable": [event for event in duty.reportable if event in wanted],
        "promises": promises,
    }


def _promises(duty: PerformDuty) -> Iterator[tuple[str, str, CommitmentTerms | PromiseKnown]]:
    """Yield the commitments that were made: name, state and terms, as far as the briefing contains those.

    Those that concern the member come with their parties of the day.
    """
    if duty.briefing is None:
        return
    agreed = [known.option for known in duty.briefing.options if known.id == duty.briefing.standing]
    made = (*duty.briefing.promises, *(t for o in agreed for t in o.commitments))
    known: dict[str, CommitmentTerms | PromiseKnown] = {terms.id: terms for terms in made}
    known |= {promise.id: promise for promise in duty.briefing.own.promises}
    for name, state in duty.promises.items():
        terms = known.get(name) or known.get(name.partition("[")[0])
        if terms is not None and state != "none":
            yield name, state, terms


def _events(terms: CommitmentTerms | PromiseKnown) -> set[str]:
    """Return the events that the conditions of *terms* count."""
    found = set()
    for text in (terms.antecedent, terms.consequent):
        for leaf in () if text is None else leaves(parse(text)):
            event = event_of(leaf)
            if event is not None:
                found.add(event.name)
    return found


_QUESTIONS: Mapping[str, Callable[[Any], Question | None]] = {
    "interpret": _interpret,
    "read": _read,
    "settle": _settle,
    "quote": _quote,
    "propose": _propose,
    "score": _score,
    "improve": _improve,
    "ratify": _ratify,
    "perform": _perform,
}
