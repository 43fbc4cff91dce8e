"""What the rows and walks do not show: bounds, the queue under load, and a prefix folded on."""

from typing import Any

import jsonschema
import pytest

from protocols.actions.fold import Record, Referee
from protocols.actions.opening import MOST_OPEN, fits, make_rules
from protocols.actions.plans import split_id
from protocols.actions.proposing import key_of, reads_digest
from protocols.core.instants import Instant, later, parse_instant
from protocols.core.message import Message
from protocols.messages import actions as said
from protocols.messages.actions import Between
from protocols.messages.room import Tick
from swarm.cli.schemas import schema_of
from swarm.errors import BadInput
from swarm.history.refereeing import referee
from tests.support.deed_walks import MEMBERS, OPENING, fold_of

START = parse_instant("2026-03-01T08:00:00Z")
KICK = said.PlannedStep(kind="kick", on=["db"])


def sent(fold: Referee, *lines: tuple[str, Message | None]) -> list[str | None]:
    """Fold *lines*, a second each, and return the codes of what is refused."""
    done = fold_length(fold)
    codes = []
    for place, (by, body) in enumerate(lines, done + 1):
        refusal = fold.apply(Record(place, Instant(START + place * 1_000_000), by, body))
        codes.append(refusal.code if refusal else None)
    return codes


def fold_length(fold: Referee) -> int:
    return fold._board.position


def propose(plan: str, *steps: said.PlannedStep, **more: Any) -> said.ProposePlan:
    seen = {name: "1" for name in OPENING["resources"]}
    return said.ProposePlan(plan=plan, seen=seen, steps=list(steps), **more)


def test_a_room_bears_so_many_open_plans() -> None:
    """Protects every folder of the log: what would be one plan too many is refused, until one has ended."""
    fold = fold_of()
    codes = sent(fold, *(("ann", propose(f"p{number}", KICK)) for number in range(MOST_OPEN + 1)))
    assert codes == [None] * MOST_OPEN + ["over_budget"]
    assert sent(
        fold, ("ann", said.WithdrawPlan(plan="p0")), ("ann", propose("p0", KICK)), ("ann", propose("q", KICK))
    ) == [None, "repeated_id", None]
    assert [grant.plan for grant in fold.grants] == ["p0", "p1"]
    assert fold.waits_for(fold.plans["q"]) == sorted(f"p{number}" for number in range(1, MOST_OPEN))


def test_a_plan_has_so_many_steps() -> None:
    fold = fold_of()
    assert sent(fold, ("ann", propose("p", *[KICK] * 65)), ("ann", propose("p", *[KICK] * 64))) == [
        "bad_arguments",
        None,
    ]


def test_a_confirmation_may_name_what_was_read() -> None:
    """Protects the confirmer: its yes is to these numbers."""
    fold = fold_of()
    sweep = said.PlannedStep(kind="sweep", on=["db"], expects={"rows": 100}, by="ben")
    sent(fold, ("ann", propose("p", sweep)), ("ben", said.ReadBack(step="p.1", counts={"rows": 104})))
    other, right = "0" * 64, reads_digest(fold.plans["p"])
    lines = [("ann", said.ConfirmPlan(plan="p", reads=reads)) for reads in (other, right)]
    assert sent(fold, *lines) == ["not_read_back", None]


def test_what_is_not_about_deeds_lets_time_pass() -> None:
    """Protects a room, where most records are about something else: a lease ends at any of them."""
    fold = fold_of()
    sent(fold, ("ann", propose("p", KICK)))
    fold.apply(Record(2, Instant(START + 3_600_000_000), "ben", Tick()))
    assert fold.plans["p"].why == "lapsed"


def test_without_classes_everybody_is_an_equal() -> None:
    opening = {**OPENING, "priorities": []}
    fold = fold_of(opening)
    sent(fold, ("ann", propose("p", KICK)), ("ben", propose("q", KICK)), ("ben", propose("r", KICK, priority="high")))
    assert [plan.state.shown for plan in fold.plans.values()] == ["asked", "asked"]
    assert fold.refused[-1].code == "not_allowed"


def test_who_may_claim_no_class_proposes_nothing() -> None:
    assert sent(fold_of(), ("eva", propose("p", said.PlannedStep(kind="kick", on=["db"], by="ann")))) == ["not_allowed"]


def test_a_room_without_verifiers_verifies_nothing() -> None:
    opening = {name: each for name, each in OPENING.items() if name not in ("verify", "decide_within")}
    fold = fold_of(opening)
    codes = sent(
        fold,
        ("ann", propose("p", KICK)),
        ("ann", said.StartStep(step="p.1")),
        ("ann", said.StepResult(step="p.1", outcome="done")),
        ("fay", said.VerifyPlan(plan="p", holds=True)),
        ("ann", said.VerifyPlan(plan="q", holds=True)),
    )
    assert codes == [None, None, None, "not_allowed", "unknown_action"]


def test_a_number_of_steps_is_written_in_one_way() -> None:
    """Protects keys: one action has one id."""
    assert split_id("p.1") == ("p", 1, False) and split_id("p.q.12.undo") == ("p.q", 12, True)
    assert [split_id(name)[1] for name in ("p.01", "p.", "p.x", "p", "p.²", "p.1000")] == [0] * 6
    assert key_of("a", "p.1") != key_of("b", "p.1") != key_of("a", "p.1.undo")


@pytest.mark.parametrize(
    ("value", "argument", "fit"),
    [
        (2, Between(min=1, max=2), True),
        ("2.50", Between(max="2.5"), True),
        ("2.51", Between(max="2.5"), False),
        ("-3", Between(min=-3), True),
        ("1e3", Between(min=0), False),
        (True, Between(min=0), False),
        (True, [1, "a"], False),
        (1, [1, "a"], True),
        ("1", [1, "a"], False),
        ("", "text", True),
        (1, "text", False),
    ],
)
def test_arguments_are_taken_as_they_are(value: Any, argument: Any, fit: bool) -> None:
    """Protects tools: a value is what the kind lists, digit for digit and type for type."""
    assert fits(value, argument) is fit


def test_the_basis_is_the_place_and_what_it_uses() -> None:
    """Protects plans from what they did not look at."""
    rules = make_rules(said.ActionsOpening.read(OPENING), MEMBERS)
    assert rules.basis("node") == ("node", "zone") and rules.basis("api") == ("api", "db")
    assert rules.near(["zone"]) == rules.span(["zone", "node"])


def test_a_history_goes_on_where_it_stopped() -> None:
    """Replay equals increment, through the file: a later ``as_of`` is a record that says nothing."""
    line = {"at": "2026-03-01T08:00:00Z", "by": "ann", "do": "propose", "plan": "p", "seen": {"db": "1"}}
    file = {
        "room": "r",
        "members": list(MEMBERS),
        "actions": OPENING,
        "history": [{**line, "steps": [{"kind": "kick", "on": ["db"]}]}],
    }
    assert referee(file).plans["p"].state == "granted"
    assert referee(file, as_of="2026-03-01T09:00:00Z").findings[0].item == 2
    assert referee(file, as_of=later(START, 1)).plans["p"].state == "granted"
    assert referee(file, as_of="2026-02-01T09:00:00Z").plans == {}
    assert referee({**file, "history": []}).as_of is None


def test_a_file_that_cannot_be_used_is_refused_in_words() -> None:
    """Protects people: the message names the place."""
    file = {"room": "r", "members": list(MEMBERS), "actions": OPENING}
    with pytest.raises(BadInput, match="as_of: 'soon' is not a time"):
        referee(file, as_of="soon")
    with pytest.raises(BadInput, match="members: a member stands twice"):
        referee({**file, "members": [*MEMBERS, "ann"]})
    with pytest.raises(BadInput, match=r"history\[0\].*verdict"):
        line = {"at": "2026-03-01T08:00:00Z", "by": "eva", "do": "decide", "plan": "p", "verdict": "perhaps"}
        referee({**file, "history": [line]})


def test_a_line_is_held_to_the_bounds_of_its_body() -> None:
    """Protects people from a traceback: what a body may not be, its line may not be either."""
    file = {"room": "r", "members": list(MEMBERS), "actions": OPENING}
    for fields in (
        {"do": "leave", "because": "x" * 20_001},
        {"do": "propose", "plan": "p" * 81, "seen": {}, "steps": []},
        {"do": "propose", "plan": "p", "seen": {}, "steps": [], "until": "soon"},
        {"do": "propose", "plan": "p", "seen": {}, "steps": [], "lease": "1 month"},
        {"do": "read", "step": "p.1", "kind": "x" * 81},
        {"do": "start", "step": "p.1", "key": "zz"},
        {"do": "fly"},
    ):
        with pytest.raises(BadInput, match=r"history\[0\]"):
            referee({**file, "history": [{"at": "2026-03-01T08:00:00Z", "by": "ann", **fields}]})


def test_the_schema_takes_what_the_reader_takes() -> None:
    """Protects editors: the published schema of a history of deeds, lines included."""
    schema = jsonschema.Draft202012Validator(schema_of("deeds"))
    line = {"at": "2026-03-01T08:00:00Z", "by": "ann", "do": "start", "step": "p.1"}
    file = {"room": "r", "members": list(MEMBERS), "actions": OPENING, "history": [line]}
    assert [error.message for error in schema.iter_errors(file)] == []
    assert not schema.is_valid({**file, "history": [{**line, "outcome": "done"}]})
