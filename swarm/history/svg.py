"""The picture as SVG, drawn here: columns from left to right, no external resource, no script."""

from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from rich.cells import cell_len

from swarm.history.picture import EXCLUDES, LOOKS, REMEDY, WORST_FIRST, Edge, Node, Picture

LETTER, LINE, PAD, GAP_X, GAP_Y, MARGIN = 7.6, 17.0, 14.0, 120.0, 34.0, 24.0
WIDEST: Final = 40
"""Terminal cells of a line on a node; the whole text is in its title."""
RED, INK, GREY = "#b91c1c", "#111827", "#4b5563"


@dataclass(slots=True)
class _Box:
    node: Node
    lines: list[str]
    x: float
    y: float
    w: float
    h: float


def draw_svg(picture: Picture) -> str:
    """Return *picture* as a self-contained SVG document."""
    boxes, width, height = _place(picture)
    key, key_width, key_height = _legend(picture, height)
    width, height = max(width, key_width), height + key_height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="Verdana, DejaVu Sans, sans-serif" '
        f'font-size="12" fill="{INK}">',
        f"<title>{escape(picture.title)}</title>",
        f"<desc>{escape(_told(picture))}</desc>",
        f"<defs>{_arrow('ink', GREY)}{_arrow('red', RED)}</defs>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    parts += [_edge(edge, boxes[edge.tail], boxes[edge.head]) for edge in picture.edges]
    parts += [_node(box) for box in boxes.values()]
    return "\n".join([*parts, *key, "</svg>"]) + "\n"


def _told(picture: Picture) -> str:
    """Return the picture in words, for people who do not see it."""
    names = {node.key: node.name for node in picture.nodes}
    told = [f"{node.name}: {', '.join(node.lines[1:])}" for node in picture.nodes]
    told += [f"{names[edge.tail]} – {edge.kind}, {edge.label} – {names[edge.head]}" for edge in picture.edges]
    return ". ".join(told)


def _place(picture: Picture) -> tuple[dict[str, _Box], float, float]:
    boxes: dict[str, _Box] = {}
    x, bottom = MARGIN, MARGIN
    for column in picture.layers():
        y, widest = MARGIN, 0.0
        for node in column:
            lines = [_cut(line) for line in node.lines]
            w = max(cell_len(line) for line in lines) * LETTER + 4 * PAD
            h = len(lines) * LINE + 2 * PAD
            boxes[node.key] = _Box(node, lines, x, y, w, h)
            y, widest = y + h + GAP_Y, max(widest, w)
        x, bottom = x + widest + GAP_X, max(bottom, y)
    return boxes, max(x - GAP_X + 2 * MARGIN, 2 * MARGIN), bottom


def _cut(line: str) -> str:
    """Return a line that is already visible, cut to the width of a node."""
    if cell_len(line) <= WIDEST:
        return line
    kept = ""
    for character in line:
        if cell_len(kept) + cell_len(character) > WIDEST - 1:
            break
        kept += character
    return kept + "…"


def _node(box: _Box) -> str:
    look, node = LOOKS[box.node.state], box.node
    line, stroke = (RED, ' stroke-width="4" stroke-dasharray="8 3"') if node.troubles else (look.line, "")
    out = [f"<g><title>{escape(' / '.join(node.lines))}</title>"]
    out.append(f'<path d="{_outline(node.state, box.x, box.y, box.w, box.h)}" fill="{look.fill}" '
               f'stroke="{line}"{stroke}/>')  # fmt: skip
    for place, text in enumerate(box.lines):
        weight = ' font-weight="bold"' if place == 0 else ""
        y = box.y + PAD + LINE * (place + 0.75)
        out.append(f'<text x="{box.x + box.w / 2:.1f}" y="{y:.1f}" text-anchor="middle"{weight}>{escape(text)}</text>')
    return "".join([*out, "</g>"])


def _outline(state: str, x: float, y: float, w: float, h: float) -> str:
    """Return the outline of a node: every state has its own."""
    r, b = x + w, y + h
    s = min(16.0, h / 2)
    points: list[tuple[float, float]]
    match state:
        case "conditional":
            q = min(h / 2, 24.0)
            return (f"M{x + q:.1f} {y:.1f}H{r - q:.1f}A{q:.1f} {h / 2:.1f} 0 0 1 {r - q:.1f} {b:.1f}"
                    f"H{x + q:.1f}A{q:.1f} {h / 2:.1f} 0 0 1 {x + q:.1f} {y:.1f}Z")  # fmt: skip
        case "satisfied":
            q = 10.0
            return (f"M{x + q:.1f} {y:.1f}H{r - q:.1f}Q{r:.1f} {y:.1f} {r:.1f} {y + q:.1f}V{b - q:.1f}"
                    f"Q{r:.1f} {b:.1f} {r - q:.1f} {b:.1f}H{x + q:.1f}Q{x:.1f} {b:.1f} {x:.1f} {b - q:.1f}"
                    f"V{y + q:.1f}Q{x:.1f} {y:.1f} {x + q:.1f} {y:.1f}Z")  # fmt: skip
        case "pending":
            inner = f"M{x + 8:.1f} {y:.1f}V{b:.1f}M{r - 8:.1f} {y:.1f}V{b:.1f}"
            return f"{_polygon([(x, y), (r, y), (r, b), (x, b)])}{inner}"
        case "violated":
            points = [(x + s, y), (r - s, y), (r, y + h / 2), (r - s, b), (x + s, b), (x, y + h / 2)]
        case "expired":
            points = [(x + s, y), (r, y), (r - s, b), (x, b)]
        case "terminated":
            points = [(x + s, y), (r - s, y), (r, b), (x, b)]
        case "disputed":
            points = [(x, y), (r, y), (r - s, b), (x + s, b)]
        case "unconfirmed":
            points = [(x, y), (r, y), (r, b), (x, b), (x + s, y + h / 2)]
        case "none":
            points = [(x, y), (r - s, y), (r, y + s), (r, b), (x, b)]
        case _:
            points = [(x, y), (r, y), (r, b), (x, b)]
    return _polygon(points)


def _polygon(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points) + "Z"


def _edge(edge: Edge, tail: _Box, head: _Box) -> str:
    """Draw a line to the right; within a column, or backwards, draw it around on the right."""
    x1, y1 = tail.x + tail.w, tail.y + tail.h / 2
    forward = head.x >= x1
    x2, y2 = (head.x, head.y + head.h / 2) if forward else (head.x + head.w, head.y + head.h * 0.7)
    reach = (x2 - x1) / 2 if forward else GAP_X * 0.6
    c1, c2 = x1 + reach, x2 - reach if forward else max(x1, x2) + reach
    colour = RED if edge.stuck else GREY
    width = 3.5 if edge.kind == REMEDY else 2.5 if edge.stuck else 1.4
    dash = ' stroke-dasharray="7 5"' if edge.kind == EXCLUDES else ""
    arrow = "" if edge.kind == EXCLUDES else f' marker-end="url(#{"red" if edge.stuck else "ink"})"'
    label = _cut(f"remedy: {edge.label}" if edge.kind == REMEDY else edge.label)
    mx, my = (x1 + 3 * c1 + 3 * c2 + x2) / 8, (y1 + y2) / 2 - 5
    return (
        f'<g><path d="M{x1:.1f} {y1:.1f}C{c1:.1f} {y1:.1f} {c2:.1f} {y2:.1f} {x2:.1f} {y2:.1f}" fill="none" '
        f'stroke="{colour}" stroke-width="{width}"{dash}{arrow}/>'
        f'<text x="{mx:.1f}" y="{my:.1f}" text-anchor="middle" font-size="11" fill="{colour}" stroke="#ffffff" '
        f'stroke-width="3" paint-order="stroke">{escape(label)}</text></g>'
    )


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="11" '
        f'markerHeight="11" orient="auto"><path d="M0 0L10 5L0 10Z" fill="{colour}"/></marker>'
    )


def _legend(picture: Picture, top: float) -> tuple[list[str], float, float]:
    """Return the legend below the picture (the shapes that occur, the meaning of lines and marks), and its size."""
    x, y = MARGIN, top + LINE
    out = [f'<path d="M{MARGIN:.1f} {top:.1f}H{MARGIN + 400:.1f}" stroke="#d1d5db"/>']
    states = {node.state for node in picture.nodes}
    for state in (state for state in WORST_FIRST if state in states):
        look = LOOKS[state]
        out.append(f'<path d="{_outline(state, x, y, 30, 16)}" fill="{look.fill}" stroke="{look.line}"/>')
        out.append(f'<text x="{x + 38:.1f}" y="{y + 12:.1f}">{state}</text>')
        x += 38 + (len(state) + 3) * LETTER
    told = "→ waits for what becomes of the other; thick: a remedy; dashed: exclude each other"
    if any(node.troubles for node in picture.nodes):
        told += "; ⚠ and a broken red line: in a deadlock, conflict or circle"
    out.append(f'<text x="{MARGIN:.1f}" y="{y + 2 * LINE + 8:.1f}">{told}</text>')
    return out, max(x, MARGIN * 2 + len(told) * LETTER), 4.5 * LINE
