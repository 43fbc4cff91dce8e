"""Names: each has one text, and two that can be confused are refused. The table itself is tested by its vectors."""

import pytest

from protocols.core.names import Apart, check_apart, check_name, look_alike, skeleton


@pytest.mark.parametrize("name", ["ann", "Ann O'Neil", "\u00e9mile", "\u0434\u0430\u0432\u0438\u0434", "\u738b"])
def test_names_of_people_are_names(name: str) -> None:
    """Protects everybody: letters of the world's scripts are written as they are."""
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (" ann", "no space at its ends"),
        ("ann ", "no space at its ends"),
        ("a  b", "no two in a row"),
        ("a\tb", r"U\+0009"),
        ("\u00e9\u200b", r"U\+200B"),
        ("e\u0301", "normal form C"),
    ],
)
def test_a_second_text_of_a_name_is_refused(name: str, why: str) -> None:
    """Protects rosters: what looks like one name has one text."""
    with pytest.raises(ValueError, match=why):
        check_name(name)


def test_marks_are_ordered_by_their_classes_wherever_they_stand() -> None:
    """Protects names with several marks: their order in the text does not make two names of one."""
    below, above = "\u0323", "\u0307"
    assert skeleton(f"q{above}{below}x") == skeleton(f"q{below}{above}x")
    assert skeleton(f"q{above}{below}") == skeleton(f"q{below}{above}")
    assert look_alike(f"q{above}{below}x", f"q{below}{above}x")


def test_names_that_look_alike_are_kept_apart() -> None:
    """Protects rosters: the second of two that can be confused is named with the first; a name is not its own rival."""
    scope = Apart()
    scope.add("alice")
    assert scope.like("alice") is None
    assert scope.like("a1ice") == scope.like("ALICE") == "alice"
    check_apart("members", ["ann", "bob"])
    with pytest.raises(ValueError, match="members: the names 'alice' and 'a1ice' look alike"):
        check_apart("members", ["alice", "a1ice"])
