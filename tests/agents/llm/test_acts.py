"""Every act: what a model is shown, what it may answer, and what becomes of it, without a server."""

import copy
from typing import Any

import pytest

from agents.agent import Performed, Proposed, Ratified
from agents.llm.questions import Question, Unusable, question
from protocols.duties.briefing import OptionKnown, OwnAnswers
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    MeaningAsked,
    Outcome,
    PerformDuty,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReportAsked,
    SettleDuty,
)
from protocols.messages.accord import Interpretation, Settlement, interpretation_id
from protocols.messages.commitments import (
    CommitmentTerms,
    ConfirmReport,
    DisputeReport,
    ReleaseCommitment,
    ReportEvent,
)
from protocols.messages.concord import Option
from tests.support.llm_duties import ISSUES, OPTIONS, asked_option, briefing, read_duty, score_duty

PROMISE = {"id": "paid", "debtor": "ann", "creditor": "bob", "if": "agreed", "then": "paid within 2 days of agreed"}


def put(duty: Duty) -> Question:
    asked = question(duty)
    assert asked is not None
    return asked


def refused(duty: Duty, answer: dict[str, Any]) -> str:
    with pytest.raises(Unusable) as told:
        put(duty).read(answer)
    return str(told.value)


INTERPRET = InterpretDuty(member="ann", intent="Agree.", terms=["task", "cheap"], briefing=briefing())


def test_interpret() -> None:
    """Protects meanings: by term, amounts as decimal text, exactly one for each term asked for."""
    said: dict[str, Any] = {
        "terms": [
            {"term": "t1", "meaning": "One paint."},
            {
                "term": "t2",
                "meaning": "At most ten.",
                "bounds": [{"quantity": "price", "max": 10, "min": "0.50", "unit": "EUR"}],
                "cases": [{"text": "eleven", "applies": False, "values": [{"name": "price", "value": 11}]}],
            },
        ]
    }
    given = put(INTERPRET).read(said)
    assert given["task"] == Interpretation(meaning="One paint.")
    assert given["cheap"].bounds["price"].plain() == {"min": "0.50", "max": "10", "unit": "EUR"}
    assert given["cheap"].cases[0].values == {"price": "11"}
    assert "t2 missing" in refused(INTERPRET, {"terms": said["terms"][:1]})
    for place, wrong in (("max", "about ten"), ("max", 10.5), ("max", True)):
        spoilt = copy.deepcopy(said)
        spoilt["terms"][1]["bounds"][0][place] = wrong
        assert "max" in refused(INTERPRET, spoilt)


def settle_duty() -> SettleDuty:
    mine, other = Interpretation(meaning="At most ten."), Interpretation(meaning="At most five.")
    ids = [interpretation_id("cheap", each) for each in (mine, other)]
    return SettleDuty(
        member="ann",
        terms=["cheap"],
        own={"cheap": ids[0], "task": "a" * 64},
        meanings=[
            MeaningAsked(term="cheap", id=ids[1], held_by=["bob"], interpretation=other),
            MeaningAsked(term="task", id="b" * 64, held_by=["bob"], interpretation=other),
        ],
        authority=[],
        briefing=briefing(own=OwnAnswers(interpretations={"cheap": mine})),
    )


def test_settle() -> None:
    """Protects settlements: handles become ids, of meanings of that very term; no ruling without authority."""
    duty = settle_duty()
    own, other = duty.own["cheap"], duty.meanings[0].id

    def said(**entry: Any) -> dict[str, Any]:
        return {"terms": [{"term": "t1", **entry}]}

    assert put(duty).read(said(do="keep")) == {"cheap": Settlement(keep=True)}
    adopted = put(duty).read(said(do="adopt", meaning="m1", because="It is clearer."))
    assert adopted == {"cheap": Settlement(adopt=other, because="It is clearer.")}
    senses = [{"sense": "mine", "meaning": "m2"}, {"sense": "theirs", "meaning": "m1"}]
    assert put(duty).read(said(do="split", senses=senses)) == {
        "cheap": Settlement(split={"mine": own, "theirs": other})
    }
    assert "no authority" in refused(duty, said(do="rule", meaning="m1"))
    assert "reason" in refused(duty, said(do="adopt", meaning="m1"))
    assert "'m3' is none of m1, m2" in refused(duty, said(do="adopt", meaning="m3", because="x"))
    assert "two or more" in refused(duty, said(do="split", senses=senses[:1]))
    ruled = put(duty.model_copy(update={"authority": ["cheap"]})).read(said(do="rule", meaning="m1"))
    assert ruled == {"cheap": Settlement(rule=other)}


def test_quote() -> None:
    """Protects quotes: listed values only, as the room writes them."""
    duty = QuoteDuty(member="ann", issues={"colour": ISSUES["colour"]}, briefing=briefing())
    assert put(duty).read({"issues": [{"issue": "i2", "values": ["blue"]}]}) == {"colour": ["blue"]}
    assert "'green' is not one of its values: red, blue" in refused(
        duty, {"issues": [{"issue": "i2", "values": ["green"]}]}
    )
    assert "i2 missing" in refused(duty, {"issues": [{"issue": "i1", "values": [5]}]})


PROPOSE = ProposeDuty(member="ann", issues=ISSUES, optional=["colour"], briefing=briefing())


def test_propose() -> None:
    """Protects options: a listed value for every issue that is not another's, promises as conditions are written."""
    offer = [{"issue": "i1", "value": "10"}, {"issue": "i2", "value": "red"}]
    said = {"title": "Ten", "offer": offer, "promises": [PROMISE], "reserve": 40}
    proposed = put(PROPOSE).read(said)
    assert isinstance(proposed, Proposed)
    assert proposed.reserve == 40
    assert proposed.option.offer == {"price": 10, "colour": "red"}
    assert proposed.option.commitments == [CommitmentTerms.model_validate(PROMISE)]
    assert put(PROPOSE).read({"title": "Ten", "offer": offer[:1]}) == Proposed(Option(title="Ten", offer={"price": 10}))
    assert "i1 missing" in refused(PROPOSE, {"title": "Ten", "offer": offer[1:]})
    assert "is not one of its values: 5, 10, 15" in refused(
        PROPOSE, {"title": "Ten", "offer": [{"issue": "i1", "value": 11}]}
    )
    assert "promise paid: then" in refused(PROPOSE, {**said, "promises": [{**PROMISE, "then": "paid within a while"}]})
    for reserve in (101, -1, "40", 40.0, True):
        assert "reserve" in refused(PROPOSE, {**said, "reserve": reserve})


def improve_duty() -> ImproveDuty:
    promising = OPTIONS[0].model_copy(update={"commitments": [CommitmentTerms.model_validate(PROMISE)]})
    options = [asked_option(option) for option in (promising, OPTIONS[1])]
    known = [
        OptionKnown(
            id=o.id, option=o.option, proposers=["bob"], fate="initial", scores={"ann": 40, "bob": None}, reasons={}
        )
        for o in options
    ]
    return ImproveDuty(
        member="ann",
        standing=options[0].id,
        objections=["bob"],
        options=options,
        table={o.id: {"ann": 40, "bob": None} for o in options},
        reserves={"ann": None},
        issues=ISSUES,
        optional=[],
        floor=0,
        tries_left=3,
        briefing=briefing(options=known, standing=options[0].id),
    )


def test_improve() -> None:
    """Protects improvements: a pass, or a whole option, which may take another's promises over as they are."""
    duty = improve_duty()
    offer = [{"issue": "i1", "value": 5}, {"issue": "i2", "value": "red"}]
    assert put(duty).read({"pass": True}) is None
    better = put(duty).read({"option": {"title": "Five", "offer": offer, "promises_of": "o1"}})
    assert better == Option(
        title="Five", offer={"price": 5, "colour": "red"}, commitments=duty.options[0].option.commitments
    )
    assert "either an option" in refused(duty, {})
    assert "either an option" in refused(duty, {"pass": True, "option": {"title": "Five", "offer": offer}})
    assert "'o7' is none of o1, o2" in refused(duty, {"option": {"title": "F", "offer": offer, "promises_of": "o7"}})
    shown = put(duty).data
    assert shown["asked"]["standing"] == shown["room"]["standing"] == "o1"
    assert shown["asked"]["scores"]["o1"] == {"ann": 40, "bob": "rejected"}


def test_ratify() -> None:
    """Protects the signature: a refusal has its reason."""
    outcome = Outcome(
        room="paint-abc", option="c" * 64, title="Ten", offer={"price": 10}, vector=[60, 70], rule="maximin", open=[]
    )
    duty = RatifyDuty(member="ann", outcome=outcome, digest="d" * 64, briefing=briefing())
    assert put(duty).read({"accept": True}) == Ratified(True)
    assert put(duty).read({"accept": False, "because": "Too dear."}) == Ratified(False, "Too dear.")
    assert "reason" in refused(duty, {"accept": False})
    assert "accept" in refused(duty, {"accept": "yes"})


def perform_duty(**more: Any) -> PerformDuty:
    base: dict[str, Any] = {
        "member": "ann",
        "reportable": ["paid", "moved"],
        "awaiting": [ReportAsked(id="e" * 64, event="delivered", by="bob", attributes={"tins": "3"})],
        "promises": {"paid": "detached"},
        "done": [],
        "operations": [],
        "briefing": briefing(promises=[CommitmentTerms.model_validate(PROMISE)]),
    }
    return PerformDuty(**{**base, **more})


def test_perform() -> None:
    """Protects promises: only reports that await it, events that it may report, and promises that there are."""
    duty = perform_duty()
    said = {
        "reports": [{"report": "r1", "answer": "dispute", "because": "Two came."}],
        "events": [{"event": "paid", "attributes": [{"name": "amount", "value": 10}]}],
        "operations": [{"do": "release", "promise": "paid"}],
        "again_in_seconds": 5,
    }
    assert put(duty).read(said) == Performed(
        [
            DisputeReport(report="e" * 64, because="Two came."),
            ReportEvent(event="paid", attributes={"amount": "10"}),
            ReleaseCommitment(commitment="paid"),
        ],
        5_000_000,
    )
    assert put(duty).read({"reports": [{"report": "r1", "answer": "confirm"}]}).acts == [ConfirmReport(report="e" * 64)]
    assert "'r2' is none of r1" in refused(duty, {"reports": [{"report": "r2", "answer": "confirm"}]})
    assert "you may report paid, moved" in refused(duty, {"events": [{"event": "delivered"}]})
    assert "there are paid" in refused(duty, {"operations": [{"do": "cancel", "promise": "other"}]})
    assert "commitment.delegate" not in str(put(duty).schema())
    assert put(duty).data["asked"]["reportable"] == ["paid"]


def test_there_is_nothing_to_ask_about_promises_that_are_over_or_another_s() -> None:
    """Protects the budget: no report to answer, and no own promise that can still move, is no question."""
    terms = {**PROMISE, "debtor": "eve", "creditor": "bob", "then": "sent within 2 days of agreed"}
    other = briefing(promises=[CommitmentTerms.model_validate(terms)])
    assert question(perform_duty(awaiting=[], promises={"paid": "satisfied"})) is None
    assert question(perform_duty(awaiting=[], briefing=other)) is None
    assert question(perform_duty(awaiting=[])) is not None
    assert question(perform_duty(promises={})) is not None


def test_no_schema_holds_a_word_of_a_room() -> None:
    """Protects the fence: what a server gets beside the words is the same for every room."""
    other = {"issues": {"size": ISSUES["price"]}, "terms": ["dear"]}
    for duty in (INTERPRET, PROPOSE, score_duty(), read_duty("Dear."), improve_duty(), settle_duty(), perform_duty()):
        fields = {name: value for name, value in other.items() if name in type(duty).model_fields}
        assert fields or "issues" not in type(duty).model_fields
        assert put(duty.model_copy(update=fields)).schema() == put(duty).schema()


def test_ids_of_options_and_meanings_are_not_for_models() -> None:
    """Protects answers: a model that has to copy 64 digits gets one of them wrong sooner or later."""
    for duty in (score_duty(), improve_duty(), settle_duty(), read_duty("Dear.")):
        text = str(put(duty).data)
        ids = [each.id for each in (*getattr(duty, "options", ()), *getattr(duty, "meanings", ()))]
        assert ids
        assert not [id_ for id_ in ids if id_ in text]
