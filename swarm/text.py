"""Members' texts as people see them: data, never instructions to a terminal.

Control, bidirectional, zero-width, blank and separator characters become visible escapes. So do the marks with which
our own views state facts. A member's text can therefore neither move the cursor, nor break a line, nor imitate a line
of ours. What is stored, and what JSON shows, stays exactly as it was said.
"""

import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

MARKS = "✓✕≠→"
"""The marks with which our views state facts; inside a member's text they are escaped, and so are their lookalikes."""
_LOOKALIKES = "✔✅☑🗸✖✗✘❌❎⨯≢⇒➔➜➙➝➞⟶⇢⭢🡒🡪"
_ESCAPED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
_SHOWN_SPACES = " \u3000"
# Letters, marks and symbols that show nothing, or only a blank, on the screen.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159")
_VARIATIONS = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))
_MOST_MARKS = 3
"""How many combining marks one letter may carry; more would run into the lines above and below."""


def is_invisible(character: str) -> bool:
    """Tell whether *character* shows nothing, or only a space; this includes every space except the plain one."""
    return (
        unicodedata.category(character) in _ESCAPED
        or character in _BLANK
        or any(first <= character <= last for first, last in _VARIATIONS)
    )


def fingerprint(key: str) -> str:
    """Return a public key in the form that people compare at a glance: its first and last four characters.

    It distinguishes keys that nobody made alike on purpose; for anything that depends on a key, compare all of it.
    """
    return f"{key[:4]}…{key[-4:]}" if len(key) > 9 else visible(key)


def named(name: str, key: str) -> str:
    """Return a member's name, made visible, with the fingerprint of its key."""
    return f"{visible(name)} ({fingerprint(key)})"


def visible(text: str) -> str:
    """Return *text* on one line, with every character that is not plainly visible shown as an escape."""
    return "".join(_pieces(text))


def _pieces(text: str) -> list[str]:
    """Return the piece that represents each character of *text*; an escape is one piece."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return list(text)
    pieces: list[str] = []
    carried = _MOST_MARKS
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me"):
            # Without a letter of the member's own, a mark would change our text; on some letters, it would create one
            # of our marks.
            on_letter = carried < _MOST_MARKS and not is_invisible(character)
            made = unicodedata.normalize("NFC", pieces[-1] + character) if on_letter else ""
            carried += 1
            pieces.append(character if on_letter and made not in MARKS else _escape(character))
            continue
        plain = character in _SHOWN_SPACES or not is_invisible(character)
        if plain and character not in MARKS and character not in _LOOKALIKES and character != "\\":
            pieces.append(character)
            carried = _MOST_MARKS if character in _SHOWN_SPACES else 0
        else:
            pieces.append(_escape(character))
            carried = _MOST_MARKS
    return pieces


def _escape(character: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}.get(character)
    if named is not None:
        return named
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, width: int) -> str:
    """Return *text*, made visible and cut to *width* terminal cells with an ellipsis; no escape is cut in two."""
    pieces = _pieces(text)
    shown = "".join(pieces)
    if cell_len(shown) <= width:
        return shown
    kept, left = "", width - 1
    for piece in pieces:
        left -= cell_len(piece)
        if left < 0:
            break
        kept += piece
    return kept + "…" if width > 0 else ""


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return *text* in *width* terminal cells, cut or padded; widths are counted after escaping."""
    cells = cell_len(text)
    if cells > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - cells) + text if right else text + " " * (width - cells)


def table(rows: Sequence[Sequence[str]], *, gap: int = 2, right: Sequence[int] = ()) -> list[str]:
    """Return *rows* as lines with aligned columns; *right* names columns aligned to the right."""
    if not rows:
        return []
    widths = [max(cell_len(row[i]) for row in rows if i < len(row)) for i in range(max(len(row) for row in rows))]
    return [
        (" " * gap).join(pad(cell, widths[i], right=i in right) for i, cell in enumerate(row)).rstrip() for row in rows
    ]
