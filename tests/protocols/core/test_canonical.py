"""Canonical bytes: one object has one form, and what has none is refused in words."""

import pytest

from protocols.core.canonical import DEEPEST, LARGEST_INTEGER, canonical, read_canonical, read_strict


def test_keys_are_sorted_by_utf_16() -> None:
    """Protects ids: RFC 8785's order differs from that of code points, beyond the first plane."""
    assert canonical({"\U0001f600": 1, "\ufb33": 2, "a": 3}) == '{"a":3,"\U0001f600":1,"\ufb33":2}'.encode()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (0.5, "amounts are decimal strings"),
        ([{"x": 1.0}], "amounts are decimal strings"),
        (LARGEST_INTEGER + 1, "beyond"),
        (-LARGEST_INTEGER - 1, "beyond"),
        ({1: "x"}, "not text"),
        ("\ud800", "lone surrogate"),
        ({"\ud800": 1}, "lone surrogate"),
        ("\ue000\ud800", "no canonical JSON|lone surrogate"),
        (b"x", "amounts are decimal strings"),
    ],
    ids=repr,
)
def test_what_has_no_canonical_form_is_refused(value: object, why: str) -> None:
    """Protects signatures: nothing is signed that another reader would write in other bytes."""
    with pytest.raises(ValueError, match=why):
        canonical(value)


def test_nesting_has_a_limit() -> None:
    """Protects the reader's stack: a value may nest as deeply as any message does, and no deeper."""
    deep: list[object] = []
    for _ in range(DEEPEST - 1):
        deep = [deep]
    assert read_strict(canonical(deep)) == deep
    with pytest.raises(ValueError, match="nested deeper"):
        canonical([deep])
    with pytest.raises(ValueError, match="nested deeper"):
        read_strict("[" * 100_000 + "]" * 100_000)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":1,"a":1}', "stands twice"),
        ("1.0", "is no integer"),
        ("NaN", "is no integer"),
        ("1e400", "is no integer"),
        ("[", "Expecting"),
    ],
)
def test_text_that_can_be_read_in_two_ways_is_refused(text: str, why: str) -> None:
    """Protects against readers that differ: what one parser drops another may keep."""
    with pytest.raises(ValueError, match=why):
        read_strict(text)


def test_only_the_canonical_bytes_are_read() -> None:
    """Protects what is named by a digest: the same value in other bytes is another text."""
    assert read_canonical(b'{"a":1}') == {"a": 1}
    for other in (b'{ "a":1}', b'{"a":1}\n', b'{"b":1,"a":2}'):
        with pytest.raises(ValueError, match="not in canonical form"):
            read_canonical(other)
