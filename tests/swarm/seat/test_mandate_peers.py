"""Minds that overstep, and peers that do not: nothing outside a mandate is ever on the log."""

import asyncio
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import Agent
from agents.agent import Costed, NoAnswer, Performed, Proposed, Ratified, Scored, Watch
from agents.script import Script
from agents.scripted import Scripted
from protocols.duties.duties import Duty, ImproveDuty, PerformDuty, ProposeDuty, QuoteDuty, RatifyDuty, ScoreDuty
from protocols.messages.commitments import AcceptCommitment, CancelCommitment, ReportEvent
from protocols.messages.concord import Option, Value
from swarm.ledger.fold import Fold
from swarm.running.running import run
from swarm.seat.mandate import Mandate
from swarm.seat.mandated import Mandated
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.seat import Seat
from tests.support.small_rooms import Sitting, go, member, room

ROOT = Path(__file__).resolve().parents[3]


class Willing(Agent):
    """Answers each act with what it is given for it, in turn, the last one for good; else within any mandate here."""

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = answers
        self.asked: list[Duty] = []

    def _next(self, duty: Duty, otherwise: Any) -> Any:
        self.asked.append(duty)
        given = self.answers.get(duty.act)
        answer = otherwise if not given else given[0] if len(given) == 1 else given.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer(duty) if callable(answer) else answer

    def problems(self, act: str) -> list[str | None]:
        return [duty.problem for duty in self.asked if duty.act == act]

    async def quote(self, duty: QuoteDuty) -> Any:
        return self._next(duty, {name: issue.values[:1] for name, issue in duty.issues.items()})

    async def propose(self, duty: ProposeDuty) -> Any:
        return self._next(duty, Proposed(Option(title="ten", offer={"discount": 10}), 50))

    async def score(self, duty: ScoreDuty) -> Any:
        return self._next(duty, Scored({asked.id: 70 for asked in duty.options}))

    async def improve(self, duty: ImproveDuty) -> Any:
        return self._next(duty, None)

    async def ratify(self, duty: RatifyDuty) -> Any:
        return self._next(duty, Ratified(True))

    async def perform(self, duty: PerformDuty, watch: Watch) -> Any:
        return self._next(duty, Performed())


def offer(discount: Value, *commitments: dict[str, Any], title: str | None = None) -> Option:
    named = {"title": title or f"{discount}", "offer": {"discount": discount}, "commitments": list(commitments)}
    return Option.model_validate(named)


def bargain(*members: dict[str, Any], **more: Any) -> dict[str, Any]:
    issues = {"discount": {"from": 0, "to": 30, "step": 5}}
    more["rules"] = {"watch_seconds": 2} | more.get("rules", {})
    return room(*(members or (member("bob", **TEN),)), member("ann", **TEN), issues=issues, **more)


TEN: dict[str, Any] = {"proposes": {"title": "ten", "offer": {"discount": 10}}}
TWENTY: dict[str, Any] = {"proposes": {"title": "twenty", "offer": {"discount": 20}}}
LIMIT: dict[str, Any] = {"offers": {"discount": {"max": 12}}}


def play(scenario: dict[str, Any], mandate: dict[str, Any], mind: Agent, who: str = "ann") -> Fold:
    """Run *scenario* with *mind* in the seat of *who*, held to *mandate*."""

    async def work() -> Fold:
        sitting = Sitting(scenario)
        replica = await sitting.open()
        sitting.agents[who] = Mandated(mind, Mandate.model_validate(mandate))
        seats = [
            Seat(identity, sitting.agents[name], replica, MemoryOutbox(), replica.clock).run()
            for name, identity in sitting.identities.items()
        ]
        following = asyncio.create_task(replica.follow())
        await asyncio.gather(*seats)
        following.cancel()
        return replica.fold

    fold: Fold = go(work())
    return fold


def said(fold: Fold, who: str = "ann", kind: str | None = None) -> list[dict[str, Any]]:
    """Return the bodies that *who* signed, in order."""
    names = fold.names
    bodies = [r.entry.body for r in fold.records if r.entry is not None and names.get(r.entry.author) == who]
    return [body for body in bodies if kind in (None, body["kind"])]


def found(fold: Fold, code: str) -> list[tuple[str, str]]:
    return [(finding.who, finding.text) for finding in fold.room.findings if finding.code == code]


def revealed(fold: Fold, who: str = "ann") -> dict[str, dict[str, Any]]:
    return {body["step"]: body["content"] for body in said(fold, who, "reveal")}


# -- sent back once ---------------------------------------------------------------------------------------------------


def test_an_answer_outside_is_sent_back_once_and_the_next_one_counts() -> None:
    """Protects the mind's second chance: it is told what was wrong, and its better answer is the one on the log."""
    mind = Willing(propose=[Proposed(offer(15), 50), Proposed(offer(10), 50)])
    fold = play(bargain(), LIMIT, mind)
    assert mind.problems("propose") == [None, "outside your mandate: offers.discount: 15 is above 12"]
    assert revealed(fold)["concord.option.reveal"]["option"]["offer"] == {"discount": 10}
    assert found(fold, "excused") == []
    assert fold.room.ending is not None and fold.room.ending.outcome == "agreed"


def test_twice_outside_is_excused_and_the_record_learns_no_limit() -> None:
    """Protects the owner: no third try, no compromise, and a reason that gives neither limit nor attempt away."""
    mind = Willing(propose=[Proposed(offer(15), 50), Proposed(offer(25), 50)])
    fold = play(bargain(), LIMIT, mind)
    assert len(mind.problems("propose")) == 2
    assert found(fold, "excused") == [("ann", "concord.option.seal: mandate: its answer is outside its mandate")]
    assert "concord.option.reveal" not in revealed(fold)


def test_an_answer_outside_the_model_is_sent_back_too() -> None:
    """Protects minds that make slips: the rules' own complaint reaches them once, with or without a mandate."""
    mind = Willing(score=[Scored({}), lambda duty: Scored({asked.id: 70 for asked in duty.options})])
    fold = play(bargain(), {}, mind)
    first, second = mind.problems("score")
    assert first is None
    assert second is not None and "every option needs" in second
    assert found(fold, "excused") == []


@pytest.mark.parametrize("failure", [RuntimeError("down"), NoAnswer("not today")])
def test_a_mind_that_does_not_answer_is_not_asked_again(failure: Exception) -> None:
    """Protects the others' time: a refusal or a failure is no answer that could be better."""
    mind = Willing(score=[failure])
    fold = play(bargain(), LIMIT, mind)
    assert mind.problems("score") == [None]
    assert len(found(fold, "excused")) == 1


def test_a_second_asking_that_fails_leaves_the_first_reason() -> None:
    """Protects the record: why a member is excused is what it answered, not that it then gave up."""
    mind = Willing(propose=[Proposed(offer(15)), NoAnswer("as you like")])
    fold = play(bargain(), LIMIT, mind)
    [(_, text)] = found(fold, "excused")
    assert text == "concord.option.seal: mandate: its answer is outside its mandate"


def test_without_time_left_nothing_is_sent_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the deadline: an answer that came at the last moment is excused with its reason, in time."""
    left: Callable[[Seat, Duty], float] = Seat._time_left
    seen: list[Duty] = []

    def running_out(seat: Seat, duty: Duty) -> float:
        if seat._name != "ann" or not isinstance(duty, ProposeDuty):
            return left(seat, duty)
        seen.append(duty)
        return left(seat, duty) if len(seen) == 1 else 0.0

    monkeypatch.setattr(Seat, "_time_left", running_out)
    mind = Willing(propose=[Proposed(offer(15))])
    fold = play(bargain(), LIMIT, mind)
    assert mind.problems("propose") == [None]
    assert found(fold, "excused") == [("ann", "concord.option.seal: mandate: its answer is outside its mandate")]


def test_both_calls_are_paid_for() -> None:
    """Protects the books: the entry that says the second answer carries what both took."""
    first = Costed(Proposed(offer(15)), tokens_in=100, tokens_out=7, calls=1, seconds="0.25", model="a")
    second = Costed(Proposed(offer(10)), tokens_in=150, calls=1, seconds="0.50", model="b")
    fold = play(bargain(), LIMIT, Willing(propose=[first, second]))
    [cost] = [r.entry.cost for r in fold.records if r.entry is not None and r.entry.cost]
    assert cost == {"tokens_in": 250, "tokens_out": 7, "calls": 2, "seconds": "0.75", "model": "b"}


def test_a_script_that_cannot_learn_goes_the_same_way() -> None:
    """Protects the one path: scripted members too are held, and excused."""
    script = Script.model_validate({**TWENTY, "scores": {"otherwise": 70}})
    fold = play(bargain(), LIMIT, Scripted(script))
    assert found(fold, "excused") == [("ann", "concord.option.seal: mandate: its answer is outside its mandate")]


# -- each thing that is signed ----------------------------------------------------------------------------------------


def test_a_reserve_outside_is_not_committed_to() -> None:
    """Protects the reserve: it is judged before its digest is signed, when the others cannot see it yet."""
    mind = Willing(propose=[Proposed(offer(10)), Proposed(offer(10), 39)])
    fold = play(bargain(), {"reserve": {"min": 40}}, mind)
    assert mind.problems("propose")[1] == "outside your mandate: reserve: none is below 40"
    assert found(fold, "excused") == [("ann", "concord.option.seal: mandate: its answer is outside its mandate")]


def test_a_ballot_outside_is_excused() -> None:
    """Protects the ballot: what bob proposes beyond the mandate gets no praise, whatever its text asks for."""
    fold = play(bargain(member("bob", **TWENTY)), LIMIT | {"scores": {"outside": 0}}, Willing())
    assert found(fold, "excused") == [("ann", "concord.ballot.1.seal: mandate: its answer is outside its mandate")]


def test_a_quote_outside_is_excused() -> None:
    """Protects authority: quoting a value is offering it to whoever takes it."""
    mind = Willing(quote=[{"discount": [10, 15]}])
    fold = play(bargain(authority={"issues": {"discount": "ann"}}), LIMIT, mind)
    assert found(fold, "excused") == [("ann", "concord.quote: mandate: its answer is outside its mandate")]
    assert said(fold, kind="concord.quote") == []


def test_what_an_option_leaves_to_a_quote_is_judged_as_completed() -> None:
    """Protects against an offer by omission: leaving an issue out takes what its owner quoted first."""
    bob = member("bob", quotes={"discount": [20]}, proposes={"title": "as quoted", "offer": {}})
    mind = Willing(propose=[Proposed(Option(title="as quoted"), 50)])
    fold = play(bargain(bob, authority={"issues": {"discount": "bob"}}), LIMIT, mind)
    assert found(fold, "excused") == [("ann", "concord.option.seal: mandate: its answer is outside its mandate")]


def test_an_improvement_outside_is_not_said() -> None:
    """Protects the haggling: an improvement beyond the mandate counts as passing."""
    mind = Willing(improve=[offer(15)])
    fold = play(bargain(), LIMIT, mind)
    assert len(mind.problems("improve")) == 2
    assert said(fold, kind="concord.improve") == []
    assert fold.room.ending is not None and fold.room.ending.outcome == "agreed"


OWED: dict[str, Any] = {
    "id": "p",
    "debtor": "ann",
    "creditor": "bob",
    "then": "paid(amount >= 5001) within 1 day of agreed",
}
PROMISING: dict[str, Any] = {"agenda": ["concord", "commitments"], "events": {"paid": {}}}


@pytest.mark.parametrize(
    ("bob", "mandate", "part"),
    [
        (TWENTY, LIMIT, "offers.discount"),
        ({"proposes": {**TEN["proposes"], "commitments": [OWED]}}, {"promises": {"max": 0}}, "promises.max"),
        (
            {"proposes": {**TEN["proposes"], "commitments": [OWED]}},
            {"promises": {"attributes": {"amount": {"max": 5000}}}},
            "promises.attributes.amount",
        ),
        (
            {"proposes": {**TEN["proposes"], "commitments": [OWED]}},
            {"promises": {"never_debtor_of": ["paid"]}},
            "promises.never_debtor_of.paid",
        ),
    ],
)
def test_an_outcome_outside_is_declined(bob: dict[str, Any], mandate: dict[str, Any], part: str) -> None:
    """Protects the last signature: whoever proposed it and however it was scored, it is declined with the reason."""
    asked = Willing(
        propose=[NoAnswer("nothing of mine")],
        ratify=[Ratified(True)],
    )
    fold = play(bargain(member("bob", **bob), **PROMISING), mandate, asked)
    [signed] = said(fold, kind="concord.ratify")
    assert (signed["accept"], signed["because"]) == (False, f"outside its mandate: {part}")
    assert len(asked.problems("ratify")) == 2
    assert found(fold, "excused") == [("ann", "concord.option.seal: nothing of mine")]
    assert fold.room.ending is not None and fold.room.ending.reason == "declined: ann"


def test_an_outcome_at_the_edge_is_signed() -> None:
    """Protects the deal: what the mandate just allows is not declined."""
    at_most = {**OWED, "then": "paid(amount >= 5000) within 1 day of agreed"}
    bob = member("bob", proposes={**TEN["proposes"], "commitments": [at_most]})
    mandate = {
        "offers": {"discount": {"min": 10, "max": 10}},
        "promises": {"max": 1, "attributes": {"amount": {"max": 5000}}},
        "terms": ["task"],
    }
    mind = Willing(propose=[NoAnswer("nothing of mine")], perform=[Performed([CancelCommitment(commitment="p")])])
    fold = play(bargain(bob, **PROMISING, rules={"watch_seconds": 2}), mandate, mind)
    assert fold.room.ending is not None and fold.room.ending.outcome == "agreed"
    assert mind.problems("ratify") == [None]


@pytest.mark.parametrize(("terms", "signs"), [(["aggressive"], False), (["fair"], True), ([], True)])
def test_a_listed_term_must_not_stay_open(terms: list[str], signs: bool) -> None:
    """Protects meaning: an outcome is not signed while a term that matters to the owner means two things."""

    def meaning(low: str) -> dict[str, Any]:
        bounds = {"discount": {"min": low, "unit": "%"}}
        return {term: {"meaning": f"from {low}", "bounds": bounds} for term in ("aggressive",)}

    scenario = bargain(
        member("bob", **TEN, reads=meaning("10")), agenda=["accord", "concord"], terms=["aggressive", "fair"]
    )
    script = Script.model_validate({**TEN, "scores": {"otherwise": 70}, "reads": meaning("20")})
    fold = play(scenario, {"terms": terms}, Scripted(script))
    [signed] = said(fold, kind="concord.ratify")
    assert signed["accept"] is signs
    assert signs or signed["because"] == "outside its mandate: terms.aggressive"


def test_promises_of_the_opening_outside_are_not_joined() -> None:
    """Protects whoever is invited: a room whose opening has the member owe too much is declined before it begins."""
    scenario = bargain(**PROMISING, promises=[{**OWED, "then": "paid(amount >= 5001)"}])
    fold = play(scenario, {"promises": {"attributes": {"amount": {"max": 5000}}}}, Willing())
    assert [body["kind"] for body in said(fold)] == ["room.decline"]
    assert said(fold)[0]["because"] == "mandate: its answer is outside its mandate"


def test_an_act_outside_is_left_out_and_the_others_are_said() -> None:
    """Protects promises: the mind is told once what it may not say, and the rest of what it says still goes out."""
    acts = [CancelCommitment(commitment="p"), AcceptCommitment(commitment="p", offer="d"), ReportEvent(event="paid")]
    mind = Willing(perform=[Performed(acts)])
    kept = {**OWED, "then": "paid within 1 day of agreed"}
    fold = play(bargain(**PROMISING, promises=[kept]), {"acts": ["report"]}, mind)
    kinds = {body["kind"] for body in said(fold)}
    assert "event.report" in kinds
    assert not kinds & {"commitment.cancel", "commitment.accept"}
    told = [problem for problem in mind.problems("perform") if problem is not None]
    assert told == ["outside your mandate: acts.cancel: allowed: report"]


# -- nothing outside, whatever is answered ----------------------------------------------------------------------------


def test_the_mandate_itself_is_in_no_entry() -> None:
    """Protects the owner's position: neither opening nor any other record says what a member is held to."""
    held: dict[str, Any] = {
        "offers": {"discount": {"max": "12.345"}},
        "promises": {"attributes": {"amount": {"max": "98765"}}},
        "terms": ["task"],
    }
    scenario = bargain(member("bob", **TEN, mandate=held))
    result = run(scenario, memory=True)
    assert result.outcome == "agreed"
    assert result.fold is not None
    text = "".join(repr(r.entry.body) for r in result.fold.records if r.entry is not None)
    assert not [secret for secret in ("mandate", "12.345", "98765") if secret in text]


def test_a_member_of_a_file_is_held() -> None:
    """Protects the way from the file to the peer: scores outside are not signed by a run of the file either."""
    scenario = bargain(member("bob", **TEN, mandate={"scores": {"max": 69}}))
    result = run(scenario, memory=True)
    assert [f["text"] for f in result.plain()["findings"] if f["code"] == "excused"] == [
        "concord.ballot.1.seal: mandate: its answer is outside its mandate"
    ]


def signed_values(fold: Fold, who: str) -> Iterator[tuple[str, Any]]:
    """Yield what *who* put its name to: a checker of its own, which shares nothing with the peer's."""
    options: dict[str, dict[str, Any]] = {}
    for record in fold.records:
        body: dict[str, Any] = {} if record.entry is None else record.entry.body
        option = body.get("content", {}).get("option") or body.get("option")
        mine = record.entry is not None and fold.names.get(record.entry.author) == who
        if option is not None:
            options[option["title"]] = option
            if mine:
                yield "discount", option["offer"]["discount"]
                yield from (("promise", c) for c in option.get("commitments", []) if c["debtor"] == who)
        if not mine:
            continue
        content = body.get("content", {})
        yield from (("score", score) for score in content.get("scores", {}).values())
        if content.get("reserve") and isinstance(content["reserve"], dict):
            yield "reserve", content["reserve"].get("reserve")
        if body.get("kind") == "concord.ratify" and body["accept"]:
            assert fold.room.concord is not None
            agreed = options[fold.room.concord.outcome().title]
            yield "discount", agreed["offer"]["discount"]
            yield from (("promise", c) for c in agreed.get("commitments", []) if c["debtor"] == who)


def test_the_checker_sees_what_a_mind_signs_that_nothing_holds() -> None:
    """Protects the property below: its checker finds every kind of thing that a mandate is about."""
    bob = member("bob", proposes={**TEN["proposes"], "commitments": [OWED]})
    mind = Willing(propose=[Proposed(offer(30, {**OWED, "id": "q"}), 7)], improve=[offer(25), None])
    fold = play(bargain(bob, **PROMISING, rules={"bar": 1, "improvements": 2}), {}, mind)
    seen = list(signed_values(fold, "ann"))
    assert {value for what, value in seen if what == "discount"} >= {30, 25}
    assert {value["id"] for what, value in seen if what == "promise"} >= {"q"}
    assert {value for what, value in seen if what == "score"} == {70}
    assert [value for what, value in seen if what == "reserve"] == [7]


def options(name: str) -> st.SearchStrategy[dict[str, Any]]:
    amounts = st.sampled_from([0, 100, 101, 9000])
    owing = amounts.map(
        lambda a: [{**OWED, "id": f"{name}-{a}", "then": f"paid(amount >= {a}) within 1 day of agreed"}]
    )
    return st.builds(
        lambda discount, owed: {"title": f"{name} {discount} {len(owed)}", "offer": {"discount": discount},
                                "commitments": owed},
        st.sampled_from([0, 5, 10, 15, 30]),
        st.just([]) | owing,
    )  # fmt: skip


scores = st.integers(0, 100)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    low=st.sampled_from([0, 5, 10]),
    high=st.sampled_from([10, 12, 29, 30]),
    score=st.tuples(scores, scores).map(sorted),
    reserve=scores,
    most=st.sampled_from([0, 100, 5000]),
    answers=st.fixed_dictionaries(
        {
            "proposes": options("ann"),
            "improves": st.lists(options("ann again"), max_size=2),
            "scores": st.fixed_dictionaries({"otherwise": scores}),
            "reserve": st.none() | scores,
        }
    ),
    theirs=options("bob"),
)
def test_nothing_outside_is_ever_signed(
    low: int, high: int, score: list[int], reserve: int, most: int, answers: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """Protects the whole promise: whatever mandate meets whatever answers, the log holds nothing outside."""
    mandate = {
        "offers": {"discount": {"min": low, "max": high}},
        "scores": {"min": score[0], "max": score[1]},
        "reserve": {"min": reserve},
        "promises": {"attributes": {"amount": {"max": most}}, "max": 1},
    }
    bob = member("bob", proposes=theirs)
    scenario = bargain(bob, **PROMISING, rules={"bar": 1, "improvements": 2, "watch_seconds": 0})
    fold = play(scenario, mandate, Scripted(Script.model_validate(answers)))
    assert fold.room.over
    for what, value in signed_values(fold, "ann"):
        if what == "discount":
            assert low <= Fraction(str(value)) <= high
        elif what == "score":
            assert value <= score[1]
        elif what == "reserve":
            assert value is not None and value >= reserve
        else:
            assert Fraction(value["then"].partition(">= ")[2].partition(")")[0]) <= most


def test_the_example_is_held_in_every_record() -> None:
    """Protects the example: its mind tries an offer, a ballot and an improvement outside, and none is on the log."""
    result = run(ROOT / "examples" / "mandate.yaml", memory=True)
    assert result.outcome == "agreed"
    assert result.fold is not None
    vendor = list(signed_values(result.fold, "vendor"))
    assert [value for what, value in vendor if what == "discount"] == [12, 12]
    assert not [value for what, value in vendor if what == "promise"]
    assert min(value for what, value in vendor if what == "score") <= 20
    assert [value for what, value in vendor if what == "reserve"] == [60]
