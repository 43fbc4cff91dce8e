"""The tables of steps: each is whole, rooms follow nothing else, and every arrow is walked by some room."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from protocols.accord import steps as accord
from protocols.concord import steps as concord
from protocols.core.event import Event
from protocols.duties.duties import JoinDuty
from protocols.room.closing import CLOSING, WITNESSING
from protocols.room.closing import TABLE as CLOSING_TABLE
from protocols.room.joining import JOINING, JOINING_TABLE, PROMISING, PROMISING_TABLE, Joining
from protocols.room.room import AGENDA, STAGES
from protocols.stage.sealed import SealedRound
from protocols.stage.stage import Stage
from protocols.stage.table import (
    ABANDONED,
    AGREED,
    CLOSED,
    DONE,
    ENDINGS,
    NO_AGREEMENT,
    START,
    Table,
    name_of,
    number_of,
    picture,
    reveal_of,
    seal_of,
    sealed_round,
)
from tests.support.unsigned_rooms import Table as Room_
from tests.support.unsigned_rooms import event_of

TABLES: dict[str, Table] = {
    "joining": JOINING_TABLE,
    "commitments": PROMISING_TABLE,
    "accord": accord.TABLE,
    "concord": concord.TABLE,
    "closing": CLOSING_TABLE,
}
BLOCK = {"on_divergence": "block"}
PROMISE = {"id": "lamp", "debtor": "b", "creditor": "a", "then": "moved"}
PROMISES: dict[str, Any] = {"agenda": ["commitments"], "events": {"moved": {}}}


@pytest.mark.parametrize("table", [*TABLES.values(), STAGES], ids=[*TABLES, "stages"])
def test_a_table_is_whole(table: Table) -> None:
    """Every arrow leads to a row of the table or to an end, and every row can be reached from the start."""
    targets = {target for row in table.values() for target in row.values()}
    assert targets <= {*table, DONE, *ENDINGS} - {START}
    reached, new = {START}, {START}
    while new:
        new = {target for name in new for target in table[name].values() if target in table} - reached
        reached |= new
    assert reached == set(table)


def test_the_stages_are_those_of_the_agenda() -> None:
    """The picture of a room has every item, in the order in which rooms go through them."""
    assert list(STAGES) == [START, "joining", *AGENDA, "closing"]


def meant(table: Room_, *, differ: bool, then: str = "settle") -> Room_:
    """Let everybody mean something by ``task``, and read it."""
    table.join()
    table.mean({m: {"task": m if differ else "one"} for m in table.members})
    if then == "leave":
        for member in table.members:
            table.seal(member, {"verdicts": [], "judgements": ["different"] * (len(table.members) - 1)})
        for member in table.members[:2]:
            table.reveal(member)
        for member in table.members:
            table.leave(member)
        return table
    table.read(judgements={m: {"task": "different" if differ else "same"} for m in table.members})
    return table


def settled(table: Room_) -> Room_:
    for member in table.expected:
        table.settle(member)
    return table


def chosen(table: Room_, score: int, **more: Any) -> Room_:
    """Go as far as the first selection: everybody gives every option *score*."""
    table.join()
    table.propose(**{member: member for member in table.members})
    table.score(**{member: more.get(member, score) for member in table.members})
    return table


def improved(table: Room_, score: int) -> Room_:
    """Put up a new option, and give it *score*."""
    table.improve("new")
    table.score(**{member: score for member in table.members})
    return table


def rooms() -> Iterator[Room_]:
    """Rooms that between them take every turn."""
    yield Room_("ab").join("b")  # joins, and is left waiting
    missing = Room_("ab").join("b")
    missing.expire()
    yield missing
    owing = Room_("ab", promises=[PROMISE], **PROMISES).join()
    owing.answer("b", "commitment.create", commitments=[PROMISE])
    owing.close()
    yield owing
    yield Room_("ab", **PROMISES).join()
    yield meant(Room_("ab", agenda=["accord"]), differ=False)
    yield settled(meant(Room_("ab", agenda=["accord"]), differ=True))
    yield settled(meant(Room_("ab", agenda=["accord"], rules=BLOCK), differ=True))
    yield meant(Room_("abc", agenda=["accord"], rules=BLOCK), differ=True, then="leave")
    unquoted = Room_("ab", issues={"price": {"values": [1, 2]}}, authority={"issues": {"price": "b"}}).join()
    unquoted.expire()
    yield unquoted
    quoted = Room_("ab", issues={"price": {"values": [1, 2]}}, authority={"issues": {"price": "b"}}).join()
    quoted.answer("b", "concord.quote", values={"price": [1]})
    quoted.expire()
    yield quoted
    yield chosen(Room_("ab", rules={"improvements": 0}), 10)
    yield chosen(Room_("ab"), 60, a=101)
    signed = chosen(Room_("ab", rules={"improvements": 0}), 60)
    signed.ratify_all()
    yield signed
    unsigned = chosen(Room_("ab", rules={"improvements": 0}), 60)
    unsigned.expire()
    yield unsigned
    for score in (10, 60):
        passed = chosen(Room_("ab"), score)
        passed.all_pass()
        yield passed
        yield improved(chosen(Room_("ab", rules={"improvements": 1}), score), score)
    yield improved(chosen(Room_("ab"), 60), 70)


def walked() -> set[tuple[str, str]]:
    """Return each pair of steps that some room went through one after the other, or with which it began or ended."""
    pairs = set()
    for table in rooms():
        room = table.room
        names = [name_of(step) for step in room.closed] + ([name_of(room.step.id)] if room.step is not None else [])
        pairs |= set(pairwise([START, *names]))
        last = next((name for name in reversed(names) if name not in (CLOSING, WITNESSING)), START)
        if room.ending is not None:
            pairs.add((last, room.ending.outcome))
    return pairs


def test_rooms_walk_every_arrow_and_nothing_else() -> None:
    """Protects the pictures: an arrow that no room takes, or a way that no arrow shows, is a lie to the reader."""
    firsts = {item: {to for to in TABLES[item][START].values() if to != DONE} for item in TABLES}
    allowed: set[tuple[str, str]] = set()
    for item, table in TABLES.items():
        after = {step for later in [*STAGES.get(item, {}).values()] if later in firsts for step in firsts[later]}
        for name, row in table.items():
            for target in row.values():
                allowed |= {(name, target)} if target != DONE else {(name, step) for step in {*after, "open"}}
                if target in ENDINGS and target != ABANDONED:
                    allowed |= {(name, CLOSING)}
    seen = walked()
    between = {(a, b) for a, b in seen if a != START and b not in ENDINGS}
    assert between <= allowed, between - allowed
    inside = {
        (name, to)
        for table in TABLES.values()
        for name, row in table.items()
        for to in row.values()
        if name != START and to != DONE
    }
    assert inside <= seen, inside - seen


def test_names_of_steps_stand_for_all_their_numbers() -> None:
    """A table holds one row for all ballots; ids and names lead to each other."""
    assert concord.ballot(12) == "concord.ballot.12" and concord.improvement(3) == "concord.improve.3"
    assert name_of(seal_of(concord.ballot(12))) == seal_of(concord.BALLOT)
    assert number_of(reveal_of(concord.ballot(12))) == 12 and number_of(concord.RATIFY) is None
    assert concord.ballot_number(seal_of(concord.ballot(2))) == 2
    assert concord.ballot_number(concord.improvement(2)) is None and concord.ballot_number(JOINING) is None
    assert sealed_round(seal_of(accord.MEANING)) == sealed_round(reveal_of(accord.MEANING)) == accord.MEANING
    assert sealed_round(PROMISING) is None


def test_a_picture_has_a_box_a_step_and_an_arrow_a_way() -> None:
    """Turns that lead the same way share an arrow; the only way on has no words; ends are round."""
    table = {START: {CLOSED: "a.b"}, "a.b": {"yes": AGREED, "no": NO_AGREEMENT, "never": NO_AGREEMENT}}
    assert picture(table).splitlines() == [
        "flowchart TD",
        "    s0(( ))",
        '    s1["a.b"]',
        '    s2(["agreed"])',
        '    s3(["no agreement"])',
        "    s0 --> s1",
        '    s1 -->|"yes"| s2',
        '    s1 -->|"no; never"| s3',
    ]


def test_at_a_revealing_step_there_is_nothing_to_check() -> None:
    """What a reveal holds was checked before it was sealed; the box gives it as it was."""
    table = Room_("ab", agenda=["accord"]).join()
    for member in "ab":
        table.seal(member, {"interpretations": {}})
    assert table.step == reveal_of(accord.MEANING)
    table.room.check("a", {"anything": 1})


def test_a_stage_that_forgets_a_part_says_which() -> None:
    """Who writes a stage and leaves out what its table needs is told so at once, not by a wrong room."""

    class Half(Stage):
        steps: ClassVar[Table] = {START: {CLOSED: "half.step"}}

        def duty_at(self, step: Any, member: str) -> JoinDuty:
            return JoinDuty(member=member, opening="0" * 64)

    half = Half()
    with pytest.raises(NotImplementedError, match=r"Half has no step half\.step"):
        half.begin("ab")
    with pytest.raises(NotImplementedError, match="Half has no sealed round half"):
        half.judge(SealedRound("half"), "a", {}, 0)
    event: Event = event_of({"kind": "room.tick"}, "a", 2, 0)
    table = Room_("ab")
    assert table.room.step is not None and isinstance(table.room.stage, Joining)
    assert half.take(table.room.step, event) == [] and not half.is_void(table.room.step, "a")
    assert half.turn(table.room.step, "ab").name == CLOSED
    half.vet(table.room.step, "a", {})
