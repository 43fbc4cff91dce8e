"""Names that look alike are refused, and members' texts are shown as data."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from protocols.messages.room import room_name
from swarm.errors import BadEntry
from swarm.ledger.chain import HEAD_0
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.signed.entry import sign_entry
from swarm.text import MARKS, is_invisible, shortened, visible
from tests.support.signed_rooms import NOON, Table


@pytest.mark.parametrize("names", [("alice", "\u0430lice", "bob"), ("ali\u200bce", "alice", "bob")])
def test_an_opening_with_such_names_opens_nothing(names):
    """The rule holds where it matters: in the fold of everybody and of every auditor."""
    table = Table()
    plain = table.fold.room.setting.opening.plain()
    plain["roster"] = [{**entry, "name": name} for entry, name in zip(plain["roster"], names, strict=True)]
    ann = table.identities["ann"]
    named = room_name(plain["slug"], ann.public, plain)
    entry = sign_entry(ann, room=named, n=1, prev=None, seen=(0, HEAD_0), sent=NOON, body=plain)
    with pytest.raises(BadEntry, match="roster") as caught:
        Fold.open(Stored(1, NOON, entry.author, entry.payload), entry.room)
    assert caught.value.code == "bad_opening"


SHOWN = {
    "\x1b]0;title\x07": r"\x1b]0;title\x07",
    "\x1b[2K\rALL CHECKS PASSED": r"\x1b[2K\rALL CHECKS PASSED",
    "\x1b]8;;http://x\x1b\\y": r"\x1b]8;;http://x\x1b\\y",
    "\x1b]52;c;eA==\x07": r"\x1b]52;c;eA==\x07",
    "\x9b2J": r"\x9b2J",
    "\u202eevil": r"\u202eevil",
    "a\r\nb\tc": r"a\r\nb\tc",
    "a\u2028b\u2029c\x85d": r"a\u2028b\u2029c\x85d",
    "\u200b\u2060\ufeff\u00ad": r"\u200b\u2060\ufeff\xad",
    "kept ✓ ✕ ≠ →": r"kept \u2713 \u2715 \u2260 \u2192",
    "✔ ✅ ✗": r"\u2714 \u2705 \u2717",
    "a =\u0338 b": r"a =\u0338 b",
    "\u0338": r"\u0338",
    "C:\\temp": r"C:\\temp",
    "\\x1b": r"\\x1b",
    "\U000e0041": r"\U000e0041",
    "a\u00a0b\u2003c": r"a\xa0b\u2003c",
    "\ud83d": r"\ud83d",
    "\u3164\u2800": r"\u3164\u2800",
    "Zoe\u0308, größer, 日本語　全角, नेहा, 🍜, –": "Zoe\u0308, größer, 日本語　全角, नेहा, 🍜, –",
}


@pytest.mark.parametrize("text", SHOWN, ids=ascii)
def test_what_drives_a_terminal_is_shown_as_escapes(text):
    """UI-01: escape sequences, bidi, line breaks and our own marks become visible; plain text stays as it is."""
    assert visible(text) == SHOWN[text]


def test_marks_pile_up_on_no_letter():
    """Combining marks beyond three would run over the lines above and below."""
    assert visible("a" + "\u0301" * 9) == "a" + "\u0301" * 3 + "\\u0301" * 6
    assert visible("x\n\u0301") == "x\\n\\u0301"


@given(st.text(st.characters(exclude_categories=[])))
def test_nothing_shown_moves_the_cursor_or_is_a_mark(text):
    """Of any text only printable characters of one line come out, none of our marks, and different texts differ."""
    shown = visible(text)
    assert not any(is_invisible(c) and c not in " \u3000" for c in shown)
    assert not any(mark in unicodedata.normalize("NFC", shown) for mark in MARKS)
    assert len(shown.splitlines()) <= 1
    unescaped = shown.encode("ascii", "backslashreplace").decode("unicode_escape")
    if text.isascii():
        assert unescaped == text


@given(st.text(st.characters(exclude_categories=[]), max_size=30), st.integers(0, 20))
def test_shortened_text_fits_its_width(text, width):
    """Wide characters count twice, an escape is whole or absent, and what fits is not cut."""
    short = shortened(text, width)
    assert cell_len(short) <= width
    shown = visible(text)
    if cell_len(shown) <= width:
        assert short == shown
    elif width > 0:
        assert short.endswith("…") and shown.startswith(short[:-1])


def test_an_escape_is_not_cut_in_two():
    """A cut inside an escape would show something that nobody wrote."""
    assert [shortened("ab\x1bcd", width) for width in (3, 6, 7, 8)] == ["ab…", "ab…", "ab\\x1b…", "ab\\x1bcd"]
    assert shortened("日本語", 4) == "日…" and shortened("日本語", 6) == "日本語"
