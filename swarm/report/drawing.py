"""SVG by hand: elements whose every text and attribute is escaped, and marks told apart by shape.

Colours are classes of the page's style sheet, so that a drawing follows light, dark and print. Each drawing is
described in words in its ``desc``, and in a table beside it.
"""

from math import cos, pi, sin
from typing import Final

from markupsafe import Markup, escape

from swarm.text import shortened

_CONTROLS: Final = {code: "\ufffd" for code in (*range(9), 11, 12, *range(14, 32))}


def element(tag: str, text: str | None = None, /, **attributes: str | float) -> Markup:
    """Return one element; ``_`` in a name stands for ``-``, and ``class_`` for ``class``. Numbers get two digits."""
    parts = [Markup("<") + Markup(tag)]
    for name, value in attributes.items():
        shown = number(value) if isinstance(value, int | float) else value
        parts.append(Markup(' {}="{}"').format(Markup(name.rstrip("_").replace("_", "-")), shown))
    if text is None:
        return Markup("").join([*parts, Markup("/>")])
    inner = text if isinstance(text, Markup) else escape(text.translate(_CONTROLS))
    return Markup("").join([*parts, Markup(">"), inner, Markup("</"), Markup(tag), Markup(">")])


def number(value: float) -> str:
    """Write a coordinate: the same text everywhere, with at most two digits."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


class Drawing:
    """A picture of *width* × *height* pixels in the making; ``key`` makes its ids unique in the page."""

    def __init__(self, key: str, title: str, told: str) -> None:
        self.key, self.title, self.told = key, title, told
        self._parts: list[Markup] = []

    def add(self, tag: str, text: str | None = None, /, **attributes: str | float) -> None:
        """Add one element."""
        self._parts.append(element(tag, text, **attributes))

    def put(self, drawn: Markup) -> None:
        """Add elements that were drawn elsewhere."""
        self._parts.append(drawn)

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        """Add a line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def text(self, x: float, y: float, text: str, class_: str = "", anchor: str = "start", width: int = 60) -> None:
        """Add a text of at most *width* cells; a member's text is made visible, and cut."""
        more = {"class_": class_} if class_ else {}
        self.add("text", shortened(text, width), x=x, y=y, text_anchor=anchor, **more)

    def mark(self, shape: int, x: float, y: float, r: float, class_: str, title: str = "") -> None:
        """Add the mark of the *shape*-th member, with *title* as its tooltip."""
        path = element("path", Markup(element("title", title)) if title else None, d=outline(shape, x, y, r),
                       class_=f"{class_} {'hollow' if is_hollow(shape) else 'solid'}")  # fmt: skip
        self._parts.append(path)

    def cross(self, x: float, y: float, r: float, class_: str, title: str = "") -> None:
        """Add a ✕."""
        d = f"M{number(x - r)} {number(y - r)}L{number(x + r)} {number(y + r)}" \
            f"M{number(x - r)} {number(y + r)}L{number(x + r)} {number(y - r)}"  # fmt: skip
        self._parts.append(element("path", element("title", title) if title else None, d=d, class_=class_))

    def done(self, width: float, height: float) -> Markup:
        """Return the picture; for people who do not see it, it is a single image."""
        inner = Markup("").join(
            [
                element("title", self.title, id=f"{self.key}-title"),
                element("desc", self.told, id=f"{self.key}-desc"),
                *self._parts,
            ]
        )
        return element(
            "svg",
            inner,
            width=round(width),
            height=round(height),
            viewBox=f"0 0 {round(width)} {round(height)}",
            role="img",
            aria_labelledby=f"{self.key}-title",
            aria_describedby=f"{self.key}-desc",
        )


SHAPES: Final = 9
_CORNERS: Final = {1: (4, 0.5), 2: (3, 0.5), 3: (4, 0.0), 4: (3, 0.0), 5: (6, 0.0), 6: (5, 0.5)}
"""For each polygon: how many corners, and by how much of a step it is turned."""


def is_hollow(shape: int) -> bool:
    """Tell whether a mark is drawn hollow: the second nine are."""
    return shape // SHAPES % 2 == 1


def outline(shape: int, x: float, y: float, r: float) -> str:
    """Return the outline of the *shape*-th mark around a point; there are nine, which then repeat."""
    kind = shape % SHAPES
    if kind == 0:
        return f"M{number(x - r)} {number(y)}A{number(r)} {number(r)} 0 1 1 {number(x + r)} {number(y)}" \
               f"A{number(r)} {number(r)} 0 1 1 {number(x - r)} {number(y)}Z"  # fmt: skip
    if kind in _CORNERS:
        corners, turn = _CORNERS[kind]
        size = r * (1.25 if corners < 5 else 1.12)
        points = [_at(x, y, size, (place + turn) / corners) for place in range(corners)]
    elif kind == 7:
        points = [_at(x, y, r * (1.4 if place % 2 else 0.6), place / 10) for place in range(10)]
    else:
        a, b = r * 1.15, r * 0.42
        plus = [
            (-b, -a),
            (b, -a),
            (b, -b),
            (a, -b),
            (a, b),
            (b, b),
            (b, a),
            (-b, a),
            (-b, b),
            (-a, b),
            (-a, -b),
            (-b, -b),
        ]
        points = [(x + dx, y + dy) for dx, dy in plus]
    return "M" + "L".join(f"{number(px)} {number(py)}" for px, py in points) + "Z"


def _at(x: float, y: float, r: float, turn: float) -> tuple[float, float]:
    """Return the point at the fraction *turn* of a full turn, clockwise from below."""
    return x - r * sin(2 * pi * turn), y + r * cos(2 * pi * turn)


def wrapped(text: str, width: int, lines: int) -> list[str]:
    """Return *text*, visible, in at most *lines* lines of *width* letters, broken between words if possible."""
    words, out = shortened(text, width * lines).split(" "), [""]
    for each in words:
        word = each
        if len(out[-1]) + len(word) + bool(out[-1]) <= width:
            out[-1] = f"{out[-1]} {word}" if out[-1] else word
            continue
        if out[-1]:
            out.append("")
        while len(word) > width:
            out[-1] = word[:width]
            word = word[width:]
            out.append("")
        out[-1] = word
    if len(out) > lines:
        out = [*out[: lines - 1], out[lines - 1].rstrip("…")[: width - 1] + "…"]
    return out
