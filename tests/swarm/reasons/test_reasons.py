"""The reasons of `swarm explain` and the report: each is true of the table, and names the entries it rests on."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.concord.selection import Ballot, Selection, SelectionRules, select
from swarm.files.table import decide
from swarm.ledger.fold import Fold
from swarm.reasons import Reason, find_options, of_commitment, reasons, why_not, would_have_changed
from swarm.reasons.counterfactual import Choice
from swarm.reasons.words import ballots_on
from swarm.running.running import RunResult, run
from tests.support.hostile_history import TEXTS

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def printer() -> RunResult:
    """Two members, three options, one adopted improvement."""
    return run(EXAMPLES / "printer.yaml", memory=True)


@pytest.fixture(scope="module")
def impasse() -> RunResult:
    """Two members between whom nothing is acceptable."""
    return run(EXAMPLES / "impasse.yaml", memory=True)


def fold_of(result: RunResult) -> Fold:
    assert result.fold is not None
    return result.fold


def texts(found: list[Reason]) -> str:
    return "\n".join(reason.text for reason in found)


# -- recomputed against the selection itself -------------------------------------------------------------------------

MEMBERS, OPTIONS = ("a", "b", "c"), ("X", "Y", "Z")
POINTS = st.sampled_from([0, 40, 50, 60, 61, 62, 100])


@st.composite
def tables(draw: st.DrawFn) -> Choice:
    """A small table with many ties, of which somebody may have rejected one option."""
    ballots = {}
    for member in MEMBERS:
        rejected = draw(st.sampled_from([None, None, *OPTIONS]))
        scores = {option: draw(POINTS) for option in OPTIONS if option != rejected}
        rejects = {} if rejected is None else {rejected: "no"}
        ballots[member] = Ballot(scores, rejects, draw(st.sampled_from([None, 0, 50, 61])))
    rules = SelectionRules(bar=draw(st.sampled_from([0, 50, 60])))
    incumbent = draw(st.sampled_from([None, *OPTIONS]))
    chosen = select(MEMBERS, OPTIONS, ballots, rules, incumbent, "")
    assert chosen.standing is not None
    rest = [option for option in OPTIONS if option != chosen.standing]
    others = {
        m: Ballot({o: b.scores[o] for o in rest if o in b.scores}, {o: "no" for o in rest if o in b.rejects}, b.reserve)
        for m, b in ballots.items()
    }
    second = select(MEMBERS, rest, others, rules, incumbent if incumbent in rest else None, "").standing
    concord: Any = SimpleNamespace(setting=SimpleNamespace(members=MEMBERS), beacon="")
    return Choice(concord, OPTIONS, ballots, rules, incumbent, chosen, chosen.standing, second)


def changed(choice: Choice, option: str, scores: dict[str, int]) -> Selection:
    """Return the selection with members' *scores* of *option* in place of what they gave: nothing of ours is used."""
    ballots = dict(choice.ballots)
    for member, score in scores.items():
        old = ballots[member]
        ballots[member] = Ballot(
            {**old.scores, option: score}, {o: r for o, r in old.rejects.items() if o != option}, old.reserve
        )
    return select(MEMBERS, OPTIONS, ballots, choice.rules, choice.incumbent, "")


@settings(max_examples=100, deadline=None)
@given(tables())
def test_what_one_score_would_have_changed_is_what_the_selection_says(choice: Choice) -> None:
    """Protects exactness: the score named is the first, going up or down one by one, at which the winner changes."""
    won = choice.selection.winner
    for option in OPTIONS:
        for member in MEMBERS:
            own = choice.ballots[member].scores.get(option)
            above = range(0 if own is None else own + 1, 101)
            first = next((s for s in above if changed(choice, option, {member: s}).winner == option), None)
            rise = choice.rise(member, option)
            assert (None if rise is None else rise.to) == (None if won == option else first)
    for member in MEMBERS:
        fall = choice.fall(member)
        if won is None:
            assert fall is None
            continue
        below = range(choice.ballots[member].scores[won] - 1, -1, -1)
        lost = next((s for s in below if changed(choice, won, {member: s}).winner != won), None)
        assert (None if fall is None else fall.to) == lost
        if fall is not None:
            assert choice.after(fall) == changed(choice, won, {member: fall.to})


@settings(max_examples=100, deadline=None)
@given(tables())
def test_what_an_option_needed_from_everybody_is_the_least(choice: Choice) -> None:
    """Protects "it needed N or more": with N from those below it wins, with one less it does not."""

    def wins(option: str, level: int) -> bool:
        given = {m: b.scores.get(option) for m, b in choice.ballots.items()}
        raised = {m: max(level, s or 0) for m, s in given.items()}
        return changed(choice, option, raised).winner == option

    for option in OPTIONS:
        level = choice.level(option)
        if option == choice.selection.winner:
            assert level is None
        elif level is None:
            assert not wins(option, 100)
        else:
            assert wins(option, level) and (level == 0 or not wins(option, level - 1))


# -- in rooms --------------------------------------------------------------------------------------------------------


def test_the_reasons_of_an_agreement_name_rule_history_and_signatures(printer: RunResult) -> None:
    """Protects "why this option": who is least satisfied, against what, what it replaced, and whose entries say so."""
    found = reasons(fold_of(printer))
    assert found[0].text == "“A laser with one year of service” was agreed: all 2 members signed it."
    told = texts(found)
    assert "is 70 (buyer), that of the next, “A laser without service”, 50 (buyer)" in told
    assert "seller improved “A laser without service” (lowest 50, buyer)" in told
    assert "the bar is 50" in told
    kinds = {r.position: r.entry.kind for r in fold_of(printer).records if r.entry is not None}
    assert {kinds[position] for position in found[0].positions} == {"concord.ratify"}
    assert {kinds[position] for reason in found[1:] for position in reason.positions} == {"reveal", "concord.improve"}


def test_what_would_have_changed_it_holds_when_the_table_is_decided_again(printer: RunResult) -> None:
    """Protects the promise of exactness, end to end: the sentence's score, put into the audit's own table, wins."""
    told = texts(would_have_changed(fold_of(printer)))
    said = re.search(r"Had (\w+) scored “A laser without service” (\d+) or more instead of (\d+)", told)
    assert said is not None
    table = printer.plain()["considered"]["table"]
    option = next(o["id"] for o in printer.plain()["considered"]["options"] if o["title"] == "A laser without service")
    for points, wins in ((int(said[2]), True), (int(said[2]) - 1, False)):
        scores = table["ballots"][said[1]]["scores"]
        ballots = {**table["ballots"], said[1]: {**table["ballots"][said[1]], "scores": {**scores, option: points}}}
        ballots = {m: {k: v for k, v in b.items() if v is not None} for m, b in ballots.items()}
        assert (decide({**table, "ballots": ballots}).winner == option) is wins
    assert scores[option] == int(said[3])


def test_why_not_says_scores_objections_the_rule_and_what_it_lacked(printer: RunResult) -> None:
    """Protects "why not mine": of an option its scores, who objects, what separated it; of a member, how it fared."""
    fold = fold_of(printer)
    told = texts(why_not(fold, "Keep the old printer"))
    assert "the status quo: buyer 40, below the reserve of 45; seller 30, below the reserve of 50" in told
    assert "Nobody objects to “A laser with one year of service”" in told
    assert "it needed 71 or more from buyer (40) and from seller (30)" in told
    member = texts(why_not(fold, "buyer"))
    assert "buyer gave 70 to “A laser with one year of service” and has a reserve of 45" in member
    assert "Without the ballot of buyer, “A laser without service” would have won." in member
    assert why_not(fold, "A laser with one year of service") == reasons(fold)
    assert why_not(fold, "nobody") == []
    assert fold.room.concord is not None and len(find_options(fold.room.concord, "Keep the old printer")) == 1


def test_scores_are_cited_where_they_were_revealed(printer: RunResult) -> None:
    """Protects the links: the entries behind an option's scores are the reveals that hold exactly these."""
    fold = fold_of(printer)
    assert fold.room.concord is not None
    for candidate in fold.room.concord.candidates.values():
        cited = [fold.records[p - 1].entry for p in ballots_on(fold.room, candidate.id)]
        held = {
            fold.names[entry.author]: entry.body["content"]["scores"][candidate.id]
            for entry in cited
            if entry is not None
        }
        assert held == fold.room.concord.table.of(candidate.id)


def test_a_room_without_agreement_says_what_stood_in_the_way(impasse: RunResult) -> None:
    """Protects the clean no: who objects to what came nearest, and what one score would have made of it."""
    fold = fold_of(impasse)
    # The two are level in everything, so the lot says which of them comes first.
    first = re.search(r"“(price (?:6000|7000) EUR)” came first; .* still (\w+) gives it 30,", reasons(fold)[0].text)
    assert first is not None
    told = texts(would_have_changed(fold))
    assert f"Had {first[2]} scored “{first[1]}” 60 or more instead of 30, it would have been accepted." in told


def test_a_room_that_somebody_did_not_sign_names_them_and_their_reason() -> None:
    """Protects who declined: a selection that is not signed is not told as if it were agreed."""
    scenario = {
        "room": "no", "intent": "Meet.", "agenda": ["concord"], "issues": {"day": ["mon", "tue"]},
        "members": [
            {"name": "a", "agent": "scripted", "proposes": {"title": "Monday", "offer": {"day": "mon"}},
             "scores": {"otherwise": 80}},
            {"name": "b", "agent": "scripted", "proposes": {"title": "Tuesday", "offer": {"day": "tue"}},
             "scores": {"otherwise": 70}, "ratifies": False},
        ],
    }  # fmt: skip
    result = run(scenario, memory=True)
    found = reasons(fold_of(result))
    assert "was selected, and not signed by all: b declined it: “" in found[0].text
    record = fold_of(result).records[found[0].positions[0] - 1]
    assert record.entry is not None and record.entry.body["accept"] is False
    # Both options are level in everything: nothing but the lot separates them, and it is said so.
    assert "have the same objections and the same scores" in found[1].text


def test_a_promise_says_who_made_it_what_became_of_it_and_by_which_entries() -> None:
    """Protects the evidence: a breach that was announced, its reason, and how it was made good."""
    fold = fold_of(run(EXAMPLES / "overbooking.yaml", memory=True))
    found = of_commitment(fold, "seat-ben")
    told = texts(found)
    assert found[0].text == "airline promised ben: boarded(passenger = ben) within 6 seconds of agreed."
    assert "It was broken. airline cancelled it." in told
    assert "airline cancelled seat-ben: “The flight is overbooked by one seat; Ana checked in first.”" in told
    assert "It was made good: pay-ben is satisfied." in told
    cancelled = next(reason for reason in found if reason.text.startswith("airline cancelled"))
    entry = fold.records[cancelled.positions[0] - 1].entry
    assert entry is not None and entry.kind == "commitment.cancel"
    # From the room alone, as the report has it, the same without the entries' own words.
    assert [r for r in of_commitment(fold.room, "seat-ben") if r.text == found[0].text] == [found[0]]
    assert of_commitment(fold, "nothing") == []


def test_a_rejection_that_decided_nothing_and_one_that_did_are_told_apart() -> None:
    """Protects the veto's record: whether a score in its place would have let the option win."""

    def members(score: int) -> list[dict[str, Any]]:
        return [
            {"name": "a", "agent": "scripted", "proposes": {"title": "Monday", "offer": {"day": "mon"}},
             "scores": {"Monday": 90, "otherwise": 60}},
            {"name": "b", "agent": "scripted", "proposes": {"title": "Tuesday", "offer": {"day": "tue"}},
             "scores": {"Tuesday": score}, "rejects": {"Monday": "I work then."}},
        ]  # fmt: skip

    base = {"room": "r", "intent": "Meet.", "agenda": ["concord"], "issues": {"day": ["mon", "tue"]}}
    told = texts(would_have_changed(fold_of(run({**base, "members": members(95)}, memory=True))))
    assert re.search(r"Had b scored “Monday” (60|61) or more instead of rejecting it, it would have won\.", told)
    kept = members(95)
    kept[0]["scores"] = {"Monday": 55, "otherwise": 60}
    told = texts(would_have_changed(fold_of(run({**base, "members": kept}, memory=True))))
    assert "That b rejected “Monday” did not decide it" in told


@pytest.mark.parametrize("text", TEXTS)
def test_what_members_wrote_stays_in_its_quotes(text: str) -> None:
    """Protects the reader (UI-01): a title or a reason is one visible line inside marks that it cannot close."""
    title = f"{text[:60]} ” was agreed: “"
    scenario = {
        "room": "texts", "intent": "Meet.", "agenda": ["concord"], "issues": {"day": ["mon", "tue"]},
        "members": [
            {"name": "a", "agent": "scripted", "proposes": {"title": title, "offer": {"day": "mon"}},
             "scores": {title: 90, "otherwise": 60}},
            {"name": "b", "agent": "scripted", "proposes": {"title": "Tuesday", "offer": {"day": "tue"}},
             "scores": {"Tuesday": 95}, "rejects": {title: text}},
        ],
    }  # fmt: skip
    fold = fold_of(run(cast(Any, scenario), memory=True))
    assert fold.room.concord is not None
    name = next(c.option.title for c in fold.room.concord.candidates.values() if c.option.title != "Tuesday")
    found = [*reasons(fold), *would_have_changed(fold), *why_not(fold, name), *why_not(fold, "a")]
    for reason in found:
        assert reason.text.isprintable() and "\u202e" not in reason.text and "\u200b" not in reason.text
        assert reason.text.count("“") == reason.text.count("”")
        for quoted in re.findall("“([^”]*)”", reason.text):
            assert "“" not in quoted
