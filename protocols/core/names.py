"""Names that people see: which characters they contain, and which of them look alike.

Everything is in one table that ships with the rules, ``names.txt``, made from one version of Unicode and of its lists
of confusable characters (UTS 39). An opening names the table's version, so that a name that is valid on one machine is
valid on all, whatever Unicode their interpreters have. Characters that the table lacks are refused.
"""

import pkgutil
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

VERSION: Final = "names/1"
"""The version of the table, as in an opening's ``rules.versions.names``."""
_DOT: Final = "\u0307"
_UNDER_NO_DOT: Final = f"ijl{_DOT}"
"""A combining dot over a letter that already has a dot, or nearly, is invisible; the lists lack this."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The parsed table. ``firsts`` and ``lasts`` are the ends of the ranges of allowed characters, in order.

    ``parts`` maps a character to its full canonical decomposition, ``whole`` maps two characters to what they compose
    to, ``classes`` holds the combining classes other than 0; ``alike`` and ``folded`` are for `str.translate`.
    """

    version: str
    firsts: tuple[int, ...]
    lasts: tuple[int, ...]
    classes: dict[str, int]
    parts: dict[int, str]
    whole: dict[str, str]
    alike: dict[int, str]
    folded: dict[int, str]

    def allows(self, character: str) -> bool:
        """Tell whether names may contain *character*."""
        point = ord(character)
        place = bisect_right(self.firsts, point) - 1
        return place >= 0 and point <= self.lasts[place]

    def decompose(self, text: str) -> str:
        """Return *text* in normal form D, except for Korean syllables.

        Characters that the table lacks stay as they are.
        """
        return self.order(text.translate(self.parts))

    def order(self, text: str) -> str:
        """Return *text* with each run of combining marks in the order of their classes."""
        classes = self.classes
        if not any(second in classes and classes.get(first, 0) > classes[second] for first, second in pairwise(text)):
            return text
        done: list[str] = []
        marks: list[str] = []
        for character in text:
            if character in classes:
                marks.append(character)
            else:
                done += [*sorted(marks, key=classes.__getitem__), character]
                marks = []
        return "".join([*done, *sorted(marks, key=classes.__getitem__)])

    def compose(self, text: str) -> str:
        """Return *text*, which is in normal form D, in normal form C."""
        done: list[str] = []
        starter, before = -1, 0
        for character in text:
            own = self.classes.get(character, 0)
            # A mark joins the letter unless a mark of its class, or another letter, is between them.
            free = starter >= 0 and (starter == len(done) - 1 or 0 < before < own)
            both = self.whole.get(done[starter] + character) if free else None
            if both is not None:
                done[starter] = both
                continue
            if own == 0:
                starter = len(done)
            before = own
            done.append(character)
        return "".join(done)


def check_name(name: str) -> str:
    """Return *name*; raise ``ValueError`` with the first reason why it cannot be a name.

    A name contains only characters of the table, is in normal form C, and has no space at either end and no two spaces
    in a row, so that each name has exactly one text.
    """
    if name[:1] == " " or name[-1:] == " " or "  " in name:
        raise ValueError("a name has no space at its ends, and no two in a row")
    if name.isascii():
        for character in name:
            if not " " <= character <= "~":
                raise ValueError(_unknown(character))
        return name
    table = _table()
    for character in name:
        if not table.allows(character):
            raise ValueError(_unknown(character))
    if table.compose(table.decompose(name)) != name:
        raise ValueError(f"the name {name!a} is not in normal form C; write its letters as single characters")
    return name


def _unknown(character: str) -> str:
    return f"a name holds no U+{ord(character):04X}: it cannot be seen, or the table {VERSION} lacks it"


def skeleton(text: str) -> str:
    """Return what *text* looks like in lower case: texts with the same skeleton can be confused.

    Every text has one; characters that the table lacks look only like themselves. Capitals may look alike when small
    letters do not, so use `look_alike` to compare two texts.
    """
    return _looks(fold(text)).translate(_table().folded)


def look_alike(one: str, other: str) -> bool:
    """Tell whether two texts can be confused, as they are written or in lower case."""
    return any(mine == theirs for mine, theirs in zip(looks_of(one), looks_of(other), strict=True))


def fold(text: str) -> str:
    """Return *text* without regard to case, decomposed; characters that the table lacks stay as they are."""
    table = _table()
    return table.order(table.decompose(text).translate(table.folded))


@dataclass(slots=True)
class Apart:
    """The names of one scope, no two of which look alike, as written or in lower case."""

    looks: dict[tuple[int, str], str] = field(default_factory=dict)

    def like(self, name: str) -> str | None:
        """Return a different name in the scope with which *name* can be confused, or None."""
        for looks in enumerate(looks_of(name)):
            other = self.looks.get(looks, name)
            if other != name:
                return other
        return None

    def add(self, name: str) -> None:
        """Add *name* to the scope."""
        for looks in enumerate(looks_of(name)):
            self.looks.setdefault(looks, name)


def check_apart(what: str, names: Iterable[str]) -> None:
    """Raise ``ValueError`` if two of *names* look alike; *what* says what they name."""
    scope = Apart()
    for name in names:
        other = scope.like(name)
        if other is not None:
            raise ValueError(f"{what}: the names {other!a} and {name!a} look alike")
        scope.add(name)


def looks_of(text: str) -> tuple[str, str]:
    """Return what *text* looks like as it is written, and in lower case."""
    return _looks(text), skeleton(text)


def _looks(text: str) -> str:
    """Return what *text* looks like in its own case."""
    table = _table()
    plain = table.order(table.decompose(text).translate(table.alike))
    seen = " ".join(part for part in plain.split(" ") if part)
    return "".join(c for before, c in pairwise(f" {seen}") if c != _DOT or before not in _UNDER_NO_DOT)


@lru_cache(maxsize=1)
def _table() -> _Table:
    """Read the table: it takes some milliseconds, once in each process, when the first name is compared."""
    data = pkgutil.get_data("protocols.core", "names.txt")
    assert data is not None
    said, sections = _sections(data.decode("ascii"))
    if said["version"] != VERSION:
        raise AssertionError(f"names.txt is {said['version']}, not {VERSION}")
    allowed = [_range(word) for word in sections["allowed"]]
    decomposed = [word.split("=") for word in sections["decomposed"]]
    parts = {int(point, 16): _text(made) for made, point in decomposed}
    whole = {made: chr(point) for point, made in parts.items()}
    for point, made in parts.items():
        parts[point] = _deepest(made, parts)
    return _Table(
        version=VERSION,
        firsts=tuple(first for first, _ in allowed),
        lasts=tuple(last for _, last in allowed),
        classes={chr(point): int(number) for point, number in _points(sections["classes"]).items()},
        parts=parts,
        whole=whole,
        alike=_texts(sections["alike"]),
        folded=_texts(sections["folded"]),
    )


def _deepest(text: str, parts: dict[int, str]) -> str:
    deeper = text.translate(parts)
    return text if deeper == text else _deepest(deeper, parts)


def _sections(text: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the header fields of the table, and the words of each section."""
    said: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    words: list[str] | None = None
    for line in text.split("\n"):
        if line.startswith("["):
            words = sections.setdefault(line[1:-1], [])
        elif words is not None:
            words += line.split(" ") if line else []
        elif line and not line.startswith("#"):
            key, _, value = line.partition(" ")
            said[key] = value
    return said, sections


def _points(words: Iterable[str]) -> dict[int, str]:
    """Return the left side of each ``LEFT=RANGE,RANGE…`` of *words*, by every code point of its ranges."""
    found: dict[int, str] = {}
    for word in words:
        left, _, right = word.partition("=")
        for each in right.split(","):
            first, last = _range(each)
            found.update(dict.fromkeys(range(first, last + 1), left))
    return found


def _texts(words: Iterable[str]) -> dict[int, str]:
    texts = lru_cache(maxsize=None)(_text)
    return {point: texts(left) for point, left in _points(words).items()}


def _range(word: str) -> tuple[int, int]:
    first, _, last = word.partition("-")
    return int(first, 16), int(last or first, 16)


def _text(word: str) -> str:
    return "".join(chr(int(part, 16)) for part in word.split("+"))
