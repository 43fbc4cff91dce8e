"""What a person types becomes an answer: each form, its wrong entries, and what leaving and changing keep."""

import asyncio
from typing import Any

import pytest

from agents.agent import NoAnswer, Proposed, Ratified, Scored
from agents.human.forms import Draft, Form, Left, Wrong, in_words, number, one_of
from agents.human.mind import Human, _bounds, _score, _value
from protocols.duties.duties import (
    Duty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    MeaningAsked,
    OptionAsked,
    Outcome,
    ProposeDuty,
    QuoteDuty,
    RatifyDuty,
    ReadDuty,
    ScoreDuty,
    SettleDuty,
)
from protocols.messages.accord import Interpretation, Settlement
from protocols.messages.concord import Issue, Option
from tests.support.typed_person import Typed

DAYS = Issue(values=["mon", "tue", "wed"])
PRICES = Issue(values=[100, 200, "2.50"], unit="EUR")


def asked(act: str, duty: Duty, *lines: str | None) -> tuple[Any, Typed]:
    """Return the answer of a person who types *lines*, and what that person was shown."""
    terminal = Typed(*lines)
    answer = asyncio.run(getattr(Human(terminal), act)(duty))
    assert not terminal.lines, f"never read: {terminal.lines}"
    return answer, terminal


def option(number: int, **more: Any) -> OptionAsked:
    return OptionAsked(id=f"{number:064x}", option=Option(title=f"plan {number}", **more), proposers=["ben"])


SCORE = ScoreDuty(
    member="ann",
    step="concord.ballot.1.seal",
    options=[option(1), option(2)],
    rejects_left=1,
    bar=50,
    opens_reserve=True,
)


# -- entries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("70", (70, "")),
        ("0", (0, "")),
        ("100  a reason: of two parts", (100, "a reason: of two parts")),
        ("reject breaks the law", (None, "breaks the law")),
        ("Reject: no", (None, "no")),
    ],
)
def test_a_score_or_a_rejection_is_one_line(text: str, read: tuple[int | None, str]) -> None:
    """Protects ballots: what is typed is what is scored."""
    assert _score(text) == read


@pytest.mark.parametrize("text", ["", "101", "-1", "7.5", "seventy", "reject", "reject  ", "٧", "1e2", "nan", "+5"])
def test_what_is_no_score_is_never_guessed(text: str) -> None:
    """Protects ballots: nothing is clamped, rounded or filled in."""
    with pytest.raises(Wrong):
        _score(text)


@pytest.mark.parametrize(
    ("issue", "text", "value"),
    [(DAYS, "tue", "tue"), (DAYS, "TUE", "tue"), (DAYS, "2", "tue"), (PRICES, "200", 200), (PRICES, "2.50", "2.50")],
)
def test_a_value_is_picked_by_its_text_or_its_place(issue: Issue, text: str, value: Any) -> None:
    """Protects offers: the value is the issue's own, in its own type."""
    assert _value(text, issue) == value
    assert type(_value(text, issue)) is type(value)


@pytest.mark.parametrize(
    ("issue", "text"), [(DAYS, "4"), (DAYS, "0"), (DAYS, ""), (DAYS, "m"), (PRICES, "1"), (PRICES, "3")]
)
def test_a_place_is_no_value_where_values_are_numbers(issue: Issue, text: str) -> None:
    """Protects offers: “1” must not become the first price."""
    with pytest.raises(Wrong, match="one of"):
        _value(text, issue)


def test_bounds_are_ranges_limits_and_lists() -> None:
    """Protects meanings: what is typed becomes the typed bound that others are compared with."""
    read = _bounds("discount 10..15 %; walk <= 10 min; price >= 2.50; day in mon, tue")
    assert {name: bound.plain() for name, bound in read.items()} == {
        "discount": {"min": "10", "max": "15", "unit": "%"},
        "walk": {"max": "10", "unit": "min"},
        "price": {"min": "2.50"},
        "day": {"values": ["mon", "tue"]},
    }
    assert _bounds("") == {}
    for text in ("walk", "walk <= ten", "walk ..", "<= 10", "walk <= 010"):
        with pytest.raises(Wrong):
            _bounds(text)


def test_words_of_a_choice_may_be_begun_only() -> None:
    """Protects quick fingers, and that two choices are never confused."""
    choose = one_of("same", "different", "unsure", default="unsure")
    assert (choose("d"), choose("SAME"), choose("")) == ("different", "same", "unsure")
    for text in ("x", "samedifferent"):
        with pytest.raises(Wrong):
            choose(text)
    with pytest.raises(Wrong):
        one_of("pass", "past")("pas")
    with pytest.raises(Wrong):
        number(0, 9)("9" * 5000)


def test_the_time_left_is_read_at_a_glance() -> None:
    """Protects the prompt."""
    assert [in_words(s) for s in (-5, 30.9, 119, 120, 3600, 7300)] == [
        "0 s",
        "30 s",
        "119 s",
        "2 min",
        "60 min",
        "2 h 1 min",
    ]


# -- a form -----------------------------------------------------------------------------------------------------------


def test_a_wrong_entry_costs_one_line_and_nothing_entered() -> None:
    """Protects patience: what is valid is said, the question comes again, and earlier entries stay."""
    answer, terminal = asked("score", SCORE, "80", "eighty", "180", "20 dear", "yes")
    assert answer == Scored({option(1).id: 80, option(2).id: 20}, {}, {option(2).id: "dear"})
    assert terminal.text.count("not taken: a whole number from 0 to 100") == 2
    assert sum("option 1, plan 1 [" in line for line in terminal.shown) == 1


def test_nothing_is_sent_before_the_whole_was_shown_and_confirmed() -> None:
    """Protects the person: the last word is a yes under all of it."""
    answer, terminal = asked("score", SCORE, "80", "20", "maybe", "1", "85", "no", "yes")
    assert answer.scores == {option(1).id: 85, option(2).id: 20}
    whole = [line for line in terminal.shown if line.startswith("   1 ")]
    assert whole == ["   1  option 1, plan 1: 80", "   1  option 1, plan 1: 85"]
    assert sum("option 2, plan 2 [" in line for line in terminal.shown) == 1, "an entry that stands is not asked again"


def test_more_rejections_than_are_left_cannot_be_sent() -> None:
    """Protects the budget: the person is told and changes one; the rest stays."""
    answer, terminal = asked("score", SCORE, "reject a", "reject b", "yes", "2", "0", "yes")
    assert (answer.rejects, answer.scores) == ({option(1).id: "a"}, {option(2).id: 0})
    assert "not valid yet: 2 rejections, and you have 1 left" in terminal.text


@pytest.mark.parametrize("leave", ["later", " LATER ", None])
def test_what_was_left_is_taken_up_where_it_was(leave: str | None) -> None:
    """Protects drafts: after coming back only what is missing is asked."""
    terminal = Typed("80", leave, "", "30", "yes")
    answer = asyncio.run(Human(terminal).score(SCORE))
    assert answer.scores == {option(1).id: 80, option(2).id: 30}
    assert sum("option 1, plan 1 [" in line for line in terminal.shown) == 1
    assert "Left: score in this room. Press Enter to come back" in terminal.text


def test_a_draft_belongs_to_its_step() -> None:
    """Protects the next ballot: what was typed for another step is no answer to it."""
    human = Human(terminal := Typed("80", "20", "yes", "10", "15", "yes"))
    asyncio.run(human.score(SCORE))
    again = asyncio.run(human.score(SCORE.model_copy(update={"step": "concord.ballot.2.seal"})))
    assert list(again.scores.values()) == [10, 15]
    assert not terminal.lines


def test_an_answer_that_was_sent_back_is_mended_not_typed_anew() -> None:
    """Protects the second try: the problem is shown, the entries stand, and one line is changed."""
    human = Human(terminal := Typed("80", "20", "yes", "2", "50", "yes"))
    asyncio.run(human.score(SCORE))
    told = SCORE.model_copy(update={"problem": "outside your mandate: scores: \x1b[2J"})
    assert list(asyncio.run(human.score(told)).scores.values()) == [80, 50]
    assert "Your answer was not taken: outside your mandate: scores: \\x1b[2J" in terminal.text


def test_an_excuse_has_a_reason_and_is_asked_back() -> None:
    """Protects against a slip: words that begin with “excuse” end a step only after a yes."""
    with pytest.raises(NoAnswer, match="I am on a train"):
        asked("score", SCORE, "80", "excuse", "excuse me", "no", "20", "excuse: I am on a train", "yes")


def test_a_form_left_keeps_its_draft_for_whoever_holds_it() -> None:
    """Protects the engine itself: leaving raises, and the draft holds what was entered."""
    draft = Draft()

    async def fill(form: Form) -> int:
        first = await form.ask("a", number(0, 9), "0–9", "first")
        return first + await form.ask("b", number(0, 9), "0–9", "second")

    async def show(screen: Any) -> None:
        await screen.say("the question")

    async def complete(*lines: str) -> int:
        return await Form(Typed(*lines), draft, lambda: None).complete(show, fill)

    with pytest.raises(Left):
        asyncio.run(complete("4", "later"))
    assert list(draft.entries) == ["a"]
    assert asyncio.run(complete("?", "5", "yes")) == 9


# -- each duty --------------------------------------------------------------------------------------------------------


def test_meanings_take_words_bounds_and_cases() -> None:
    """Protects Accord: an empty term is not said, which is recorded as missing, and never as agreed."""
    duty = InterpretDuty(member="ann", step="accord.meaning.seal", intent="x", terms=["task", "close"])
    lines = ["", "on foot", "walk <= 10 min", "yes: next door", "maybe: x", "no: abroad", "", "yes"]
    answer, _ = asked("interpret", duty, *lines)
    assert answer == {
        "close": Interpretation.model_validate(
            {
                "meaning": "on foot",
                "bounds": {"walk": {"max": "10", "unit": "min"}},
                "cases": [{"text": "next door", "applies": True}, {"text": "abroad", "applies": False}],
            }
        )
    }


MEANING = MeaningAsked(term="close", id="a" * 64, held_by=["ben"], interpretation=Interpretation(meaning="near"))


def test_readings_default_to_what_ones_own_bounds_say() -> None:
    """Protects readings: Enter takes what is shown as the default, one's own case is not asked."""
    own = Interpretation.model_validate({"meaning": "on foot", "bounds": {"walk": {"max": "10"}}})
    cases = [
        {"term": "close", "text": "a park", "values": {"walk": "12"}},
        {"term": "close", "text": "mine", "values": {}, "verdict": "yes"},
        {"term": "close", "text": "a pub", "values": {}},
    ]
    duty = ReadDuty.model_validate(
        {"member": "ann", "cases": cases, "meanings": [MEANING.model_dump()], "own": {"close": own.model_dump()}}
    )
    answer, terminal = asked("read", duty, "", "yes", "diff", "yes")
    assert (answer.verdicts, answer.judgements) == (["no", "yes", "yes"], ["different"])
    assert "Enter: no]" in terminal.text


def test_a_difference_is_kept_adopted_or_ruled() -> None:
    """Protects settling: adopting needs a reason, ruling needs authority, and ids are the revealed ones."""
    duty = SettleDuty(
        member="ann", terms=["close", "task"], own={"close": "b" * 64}, meanings=[MEANING], authority=["close"]
    )
    answer, _ = asked("settle", duty, "adopt 2", "adopt 1", "", "it is clearer", "keep", "", "yes")
    assert answer == {"close": Settlement(adopt="a" * 64, because="it is clearer"), "task": Settlement(keep=True)}
    answer, _ = asked("settle", duty, "rule 0", "", "rule 1", "keep", "", "yes")
    assert answer["close"] == Settlement(rule="b" * 64)


def test_quotes_are_values_of_the_issue_the_standard_first() -> None:
    """Protects authority: order is what was typed; Enter quotes all."""
    duty = QuoteDuty(member="ann", issues={"day": DAYS, "price": PRICES})
    answer, _ = asked("quote", duty, "wed, 1, wed", "7", "", "yes")
    assert answer == {"day": ["wed", "mon"], "price": [100, 200, "2.50"]}


def test_an_option_has_all_issues_but_those_of_others() -> None:
    """Protects proposals: an issue under another's authority may be left out, no other may."""
    duty = ProposeDuty(
        member="ann", step="concord.option.seal", issues={"day": DAYS, "price": PRICES}, optional=["price"]
    )
    answer, _ = asked("propose", duty, "", "Tuesday", "", "tue", "", "it rains on Monday", "101", "40", "yes")
    assert answer == Proposed(Option(title="Tuesday", offer={"day": "tue"}, rationale="it rains on Monday"), 40)


def test_an_improvement_may_take_over_promises_and_a_pass_needs_nothing() -> None:
    """Protects what an option creates: promises are taken over whole or not at all."""
    terms = {"id": "pay", "debtor": "ben", "creditor": "ann", "then": "paid"}
    first = OptionAsked.model_validate(option(1).model_dump() | {"option": {"title": "plan 1", "commitments": [terms]}})
    duty = ImproveDuty(
        member="ann", standing=first.id, objections=["ben"], options=[first], table={}, reserves={},
        issues={"day": DAYS}, optional=[], floor=0, tries_left=2,
    )  # fmt: skip
    assert asked("improve", duty, "pass", "yes")[0] is None
    answer, _ = asked("improve", duty, "i", "Wednesday", "3", "", "2", "1", "yes")
    assert [terms.id for terms in answer.commitments] == ["pay"]
    assert answer.offer == {"day": "wed"}


OUTCOME = Outcome(room="r", option="a" * 64, title="plan", offer={}, vector=[60, 70], rule="maximin", open=[])


def test_a_signature_is_given_or_refused_with_a_reason() -> None:
    """Protects the ratification: no refusal without a reason, no signature by chance."""
    duty = RatifyDuty(member="ann", outcome=OUTCOME, digest="b" * 64)
    assert asked("ratify", duty, "yes", "yes")[0] == Ratified(True)
    assert asked("ratify", duty, "", "no", "yes please", "no too dear", "yes")[0] == Ratified(False, "too dear")


def test_an_opening_without_promises_of_ones_own_is_joined() -> None:
    """Protects joining: nobody is asked for nothing."""
    assert asked("join", JoinDuty(member="ann", opening="a" * 64))[0] is None


def test_without_a_terminal_nothing_is_answered() -> None:
    """Protects against an answer out of nowhere: whoever only reads a file makes no answers."""
    with pytest.raises(NoAnswer, match="no terminal"):
        asyncio.run(Human(None).score(SCORE))
