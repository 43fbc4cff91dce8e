"""The table of names: what it lets through, what it takes for alike, and that it says so on every Python."""

import random
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.core import names
from protocols.core.names import Apart, check_apart, check_name, fold, look_alike, skeleton
from tests.vectors.names import make

ALIKE = [
    ("alice", "\u0430lice"),
    ("alice", "\u0430l\u0456\u0441\u0435"),
    ("Alice", "\u0391lice"),
    ("alice", "Alice"),
    ("STRASSE", "straße"),
    ("agent1", "agentl"),
    ("Ian", "lan"),
    ("bob", "b0b"),
    ("BOB", "B0B"),
    ("mary", "rnary"),
    ("\u0440\u0430\u0443", "pay"),
    ("\u03bf", "\u043e"),
    ("CO2", "CO₂"),
    ("İ", "i"),
    ("\u0237", "j"),
    ("paid", "PAID"),
    ("\u0585ne", "one"),
]
NONE = [
    "ali\u200bce",
    "Alice ",
    " alice",
    " ",
    "a  b",
    "ali\u00adce",
    "alice\u202e",
    "alice\u2060",
    "alice\ufe0f",
    "alice\U000e0100",
    "al\u3164ice",
    "al\u115fice",
    "al\u2800ice",
    "al\u034fice",
    "al\u2003ice",
    "al\u00a0ice",
    "alice\t",
    "al\nice",
    "alice\u2028",
    "alice\ue000",
    "\ufeffalice",
    "al\U000e0069ice",
    "al\x7fice",
    "e\u0301",
    "a\u0301\u0323",
    "\u1112\u1161\u11ab",
    "\ufb01nance",
    "a\u2113ice",
    "\uff41nn",
    "\U0001d41a",
    "x\u20dd",
    "\U0001f3f4\U000e0067",
    "\U000323b0",
    "\U0001fae9",
    "\udc80",
]
"""No names: unseen, not in normal form, another form of something, or not known to the table."""
PLAIN = [
    *("Zoë", "O'Neil", "Łukasz", "李雷", "Иван", "Ελένη", "עדי", "नेहा", "محمد", "แก้ว", "น้ำ", "한국", "தமிழா"),
    *("Ærø", "Nguyễn", "x'. [LEDGER] by root", "buyer", "seller", "m²", "½ price", "noodles 🍜", "日本語", "ሰላም"),
]


@pytest.mark.parametrize("pair", ALIKE, ids=ascii)
def test_names_that_look_alike_are_refused(pair: tuple[str, str]) -> None:
    """UI-04: of two names that a font shows alike, either way round, the second is refused by name."""
    for each in (pair, pair[::-1], ("zed", *pair)):
        with pytest.raises(ValueError, match="look alike"):
            check_apart("members", each)
    scope = Apart()
    scope.add(pair[0])
    assert scope.like(pair[1]) == pair[0] and scope.like(pair[0]) is None


@pytest.mark.parametrize("name", NONE, ids=ascii)
def test_what_no_name_is_made_of_is_refused(name: str) -> None:
    """Nobody hides a difference in what is not seen, or writes one name in two ways; the message itself is plain."""
    with pytest.raises(ValueError, match=r"^(a|the) name ") as caught:
        check_name(name)
    assert str(caught.value).isascii() and str(caught.value).isprintable()


def test_plain_names_of_many_scripts_pass() -> None:
    """What people are called, and what they measure in, is not refused."""
    assert [check_name(name) for name in PLAIN] == PLAIN
    check_apart("members", PLAIN)
    check_apart("members", [f"member {number}" for number in range(64)])


def test_texts_are_compared_whatever_their_case() -> None:
    """Mandates compare names of others by it: any text has a skeleton, be it a name or not."""
    assert skeleton("Mallory") == skeleton("MALL0RY") != skeleton("Malory")
    for other in ("mallory", "MALL0RY", "Ma11ory", "\u041callory", "rnallory"):
        assert look_alike("Mallory", other) and look_alike(other, "Mallory"), other
    assert not look_alike("Mallory", "Malory")
    assert skeleton("a\u00a0b\ud800") == "a\u00a0b\ud800"
    assert fold("GRÖẞE") == fold("größe") == fold("GRO\u0308SSE")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_a_name_is_its_own_normal_form(text: str) -> None:
    """Whatever passes is written in the one way in which every other program would write it too."""
    try:
        name = check_name(text)
    except ValueError:
        return
    assert unicodedata.is_normalized("NFC", name) and text == name


def known() -> list[str]:
    """Return the characters of the table that this interpreter knows as well: those normalise alike for ever."""
    table = names._table()
    spans = zip(table.firsts, table.lasts, strict=True)
    points = [*(point for first, last in spans for point in range(first, last + 1)), *table.parts]
    found = [*map(chr, points), *table.classes]
    return [c for c in found if unicodedata.category(c) != "Cn" and not "\uac00" <= c <= "\ud7a3"]


def test_the_tables_normal_forms_are_unicodes() -> None:
    """Two computations of them agree on 20,000 texts full of marks: the rules' own, and this interpreter's."""
    table, draw = names._table(), random.Random(15)
    characters = known()
    marks = [c for c in characters if c in table.classes]
    letters = [c for c in characters if ord(c) in table.parts]
    for _ in range(20_000):
        pools = draw.choices((characters, marks, letters), weights=(1, 3, 2), k=draw.randint(1, 6))
        text = "".join(map(draw.choice, pools))
        parts = table.decompose(text)
        assert parts == unicodedata.normalize("NFD", text), ascii(text)
        assert table.compose(parts) == unicodedata.normalize("NFC", text), ascii(text)


def test_the_table_is_what_its_sources_give() -> None:
    """It is made, not written: where this Python has the Unicode of the table, making it gives the same bytes."""
    assert make.VERSION == names.VERSION
    why = make.check_sources()
    if why is not None:
        pytest.skip(why)
    assert make.TABLE.read_text("ascii") == make.table()


def test_the_table_is_small() -> None:
    """It is read when the first name is compared, and not before."""
    assert make.TABLE.stat().st_size < 64 * 1024
    source = Path(names.__file__).read_text("utf-8")
    assert "unicodedata" not in source and sys.modules["protocols.core.names"] is names
