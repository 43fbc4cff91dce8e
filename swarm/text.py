"""Members' texts as people see them: data, never instructions to a terminal.

Control, bidirectional, zero-width and separator characters become visible escapes, and so do the marks with which our
own views say that something is so: what a member writes can neither move the cursor, nor break a line, nor look like a
line of ours. What is stored and what JSON shows stays as it was said.
"""

import unicodedata

MARKS = "✓✕≠→"
"""What our views mark facts with; inside a member's text they are escaped."""
_ESCAPED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    """Return *text* on one line, everything that is not plainly visible shown as an escape."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(_show(character) for character in text)


def _show(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character in MARKS or unicodedata.category(character) in _ESCAPED or character == "\u00a0":
        if character in "\n\r\t":
            return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character


def shortened(text: str, width: int) -> str:
    """Return *text* visibly, cut to *width* characters with an ellipsis."""
    shown = visible(text)
    return shown if len(shown) <= width else shown[: width - 1] + "…"
