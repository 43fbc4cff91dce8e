"""The briefing: what a mind is told of its room. All that is open, one's own answers, and nothing that is sealed."""

from protocols.duties.briefing import Briefing
from protocols.views.briefing import briefing
from tests.support.unsigned_rooms import Table, tour

TERM = {"terms": ["done"], "agenda": ["accord", "concord"]}


def test_before_its_seal_a_member_is_told_nothing_of_what_others_sealed() -> None:
    """Protects independence: who answers last knows no more than who answers first."""
    table = Table("abc", **TERM).join()
    first = briefing(table.room, "c")
    for member in "ab":
        table.seal(member, {"interpretations": {"done": {"meaning": f"secret of {member}"}}})
    last = briefing(table.room, "c")
    assert last == first
    assert "secret" not in last.model_dump_json()
    table.seal("c", {"interpretations": {"done": {"meaning": "mine"}}})
    for member in "abc":
        table.reveal(member)
    told = briefing(table.room, "c")
    assert {m: said.meaning for m, said in told.meanings["done"].items()} == {
        "a": "secret of a",
        "b": "secret of b",
        "c": "mine",
    }
    assert told.own.interpretations["done"].meaning == "mine"


def test_scores_are_told_once_all_are_revealed_and_one_s_own_apart() -> None:
    """Protects ballots, and members that start again: what they gave before is there for them to read."""
    table = Table("ab").join()
    table.propose(reserves={"a": 30}, a="A", b="B")
    for member, scores in {"a": {"A": 90, "B": 20}, "b": {"A": "no, never", "B": 80}}.items():
        table.seal(member, table.ballot(member, scores))
    assert all(not option.scores for option in briefing(table.room, "a").options)
    for member in "ab":
        table.reveal(member)
    told = briefing(table.room, "a")
    by_title = {option.option.title: option for option in told.options}
    assert by_title["A"].scores == {"a": 90, "b": None}
    assert by_title["A"].reasons == {"b": "no, never"}
    assert told.own.scores == {table.option("A"): 90, table.option("B"): 20}
    assert (told.own.option, told.own.reserve) == (table.option("A"), 30)
    assert briefing(table.room, "b").own.reserve is None
    assert told.standing == table.concord.standing


def test_all_members_are_told_the_same_but_for_their_own() -> None:
    """Protects fairness at every step of a room, and whoever reads it in another language: it is plain JSON."""
    for table in tour():
        told = {member: briefing(table.room, member) for member in "abc"}
        common = {t.model_copy(update={"own": told["a"].own}).model_dump_json() for t in told.values()}
        assert len(common) == 1
        for each in told.values():
            assert Briefing.model_validate_json(each.model_dump_json(by_alias=True)) == each


def test_who_left_is_told_as_gone() -> None:
    """Protects plans that count on somebody."""
    table = Table("abc").join()
    table.leave("b")
    assert [(seat.name, seat.left) for seat in briefing(table.room, "a").members] == [
        ("a", False),
        ("b", True),
        ("c", False),
    ]
