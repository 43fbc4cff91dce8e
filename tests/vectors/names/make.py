"""Makes the table that names are checked against: ``python3.12 tests/vectors/names/make.py`` writes it anew.

It needs a Python whose Unicode data are those of `UNICODE`, and the lists of `CONFUSABLES`; both are checked. What it
writes ships with the rules (``protocols/core/names.txt``) and is all that they know of Unicode. Another table is
another version of the rules: change `VERSION` there and here with it.
"""

import importlib.metadata
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from confusable_homoglyphs.confusables import confusables_data

VERSION, UNICODE = "names/1", "15.0.0"
CONFUSABLES, LISTS = "confusable-homoglyphs", "3.3.1"
TABLE = Path(__file__).parents[3] / "protocols" / "core" / "names.txt"
WIDTH = 116

# Letters and symbols that show nothing, or only a blank, and those that stand for something that is missing.
BLANK = {*map(ord, "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"), 0xFFFC, 0xFFFD}
VARIATIONS = {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
# Korean is written in whole syllables; loose parts of them would be a second way to write each.
PARTS = {*range(0x1100, 0x1200), *range(0xA960, 0xA980), *range(0xD7B0, 0xD800)}
# Beyond the first plane: scripts in use, pictographs, and ideographs. Dead scripts and notations are left out.
BEYOND = [
    (0x104B0, 0x104FF),  # Osage
    (0x10D00, 0x10D3F),  # Hanifi Rohingya
    (0x11100, 0x1114F),  # Chakma
    (0x11400, 0x1147F),  # Newa
    (0x16F00, 0x16F9F),  # Miao
    (0x1E100, 0x1E14F),  # Nyiakeng Puachue Hmong
    (0x1E2C0, 0x1E2FF),  # Wancho
    (0x1E900, 0x1E95F),  # Adlam
    (0x1F300, 0x1FAFF),  # pictographs
    (0x20000, 0x3FFFF),  # ideographs
]
# Of what is only another form of something else: exponents, indices and fractions, and some that are in daily use.
KEPT_FORMS = ("<super>", "<sub>", "<fraction>")
KEPT = {*map(ord, "\u00b5\u2026\u2103\u2109\u2116\u0e33\u0eb3\u0edc\u0edd")}
MARKS_OF_DIRECTION = "\u200e\u200f"


def is_allowed(point: int) -> bool:
    """Tell whether a name may hold this character: it shows itself, and is its own normal form."""
    character = chr(point)
    category = unicodedata.category(character)
    if point == 0x20:
        return True
    if category[0] in "CZ" or category == "Me" or point in BLANK | VARIATIONS | PARTS:
        return False
    if point > 0xFFFF and not any(first <= point <= last for first, last in BEYOND):
        return False
    if unicodedata.normalize("NFC", character) != character:
        return False
    plain = unicodedata.normalize("NFKC", character)
    kept = point in KEPT or unicodedata.decomposition(character).split(" ")[0] in KEPT_FORMS
    return plain == character or (kept and " " not in plain)


def decomposition_of(point: int) -> str | None:
    """Return the canonical decomposition of a character, one step of it; syllables stay whole."""
    found = unicodedata.decomposition(chr(point))
    if not found or found.startswith("<"):
        return None
    return "".join(chr(int(part, 16)) for part in found.split())


def prototype(character: str) -> str:
    """Return what a character can be taken for: one and the same for all that look alike."""
    for _ in range(8):
        other = _once(character)
        if other == character:
            break
        character = other
    return character


def _once(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFD", "".join(map(_listed, plain)))


def _listed(character: str) -> str:
    if character == "\u0237":
        return "j"  # The lists lack the j without a dot.
    alike = _alike(character)
    if len(alike) != 1:
        # None, or a prototype itself: it lists all who look like it.
        return character
    other = alike[0].strip(MARKS_OF_DIRECTION)
    # Of two characters that only list each other either may be the prototype; a sequence always is.
    both_may = len(other) == 1 and len(_alike(other)) == 1
    return min(character, other) if both_may else other


def _alike(text: str) -> list[str]:
    return [found["c"] for found in confusables_data.get(text, ())]


def hexed(text: str) -> str:
    return "+".join(f"{ord(character):04X}" for character in text)


def ranges(points: Iterable[int]) -> list[str]:
    found: list[list[int]] = []
    for point in sorted(points):
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return [f"{first:04X}-{last:04X}" if last > first else f"{first:04X}" for first, last in found]


def filled(words: Iterable[str]) -> list[str]:
    """Return *words* on lines of at most `WIDTH` characters."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def grouped(pairs: Mapping[int, str]) -> list[str]:
    """Return by what characters become the characters that do, in words."""
    groups: dict[str, list[int]] = defaultdict(list)
    for point, becomes in pairs.items():
        groups[becomes].append(point)
    return [f"{hexed(becomes)}={','.join(ranges(points))}" for becomes, points in sorted(groups.items())]


def table() -> str:
    """Return the text of the table."""
    allowed = [point for point in range(0x20, 0x40000) if is_allowed(point)]
    decomposed = {point: made for point in allowed if (made := decomposition_of(point)) is not None}
    parts = {ord(part) for point in decomposed for part in unicodedata.normalize("NFD", chr(point))}
    points = sorted({*allowed, *parts} - decomposed.keys())
    classes: dict[int, list[int]] = defaultdict(list)
    for point in points:
        if unicodedata.combining(chr(point)):
            classes[unicodedata.combining(chr(point))].append(point)
    whole = [point for point in points if not 0xAC00 <= point <= 0xD7A3]
    alike = {point: prototype(chr(point)) for point in whole}
    folded = {point: unicodedata.normalize("NFD", chr(point).casefold()) for point in whole}
    lines = [
        "# What names are made of, which of them look alike, and what they are in lower case.",
        "# Made by tests/vectors/names/make.py and never changed by hand; docs/protocol/names.md says how it is read.",
        f"version {VERSION}",
        f"unicode {UNICODE}",
        f"lists {CONFUSABLES} {LISTS}",
        "[allowed]",
        *filled(ranges(allowed)),
        "[classes]",
        *filled(f"{number}={','.join(ranges(held))}" for number, held in sorted(classes.items())),
        "[decomposed]",
        *filled(f"{hexed(made)}={point:04X}" for point, made in sorted(decomposed.items())),
        "[alike]",
        *filled(grouped({point: becomes for point, becomes in alike.items() if becomes != chr(point)})),
        "[folded]",
        *filled(grouped({point: becomes for point, becomes in folded.items() if becomes != chr(point)})),
    ]
    return "\n".join(lines) + "\n"


def check_sources() -> str | None:
    """Return why this Python cannot make the table, None if it can."""
    if unicodedata.unidata_version != UNICODE:
        return f"this Python has Unicode {unicodedata.unidata_version}; the table is of {UNICODE} (Python 3.12)"
    if importlib.metadata.version(CONFUSABLES) != LISTS:
        return f"{CONFUSABLES} is {importlib.metadata.version(CONFUSABLES)}; the table is of {LISTS}"
    return None


if __name__ == "__main__":
    why = check_sources()
    if why is not None:
        raise SystemExit(why)
    TABLE.write_text(table(), encoding="ascii")
