"""The picture of dependencies: commitments as nodes, in Mermaid, Graphviz text, or SVG that is drawn here.

An arrow leads from a commitment to one that waits for what becomes of it: for its state (``violated``), or for an event
that it promises (``paid``). A remedy's arrow is thick; promises that exclude each other are joined by a dashed line. A
state has a shape and a word besides its colour, and so has trouble: a node in a deadlock or a conflict says so.
Members' texts are data in all three formats: escaped, on one line, never a link, a style or a script.
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

from protocols.commitments.conditions import parse
from protocols.commitments.tree import (
    And,
    Condition,
    LifeCycle,
    No,
    Or,
    Timed,
    event_of,
    leaves,
)
from protocols.messages.commitments import CommitmentTerms
from swarm.errors import BadInput
from swarm.history.picture import EVENT, EXCLUDES, LOOKS, REMEDY, STATE, WORST_FIRST, Edge, Node, Picture
from swarm.history.svg import draw_svg
from swarm.history.timeline import Timeline, base_of
from swarm.text import visible

FORMATS: Final = ("mmd", "dot", "svg")


def draw(timelines: Sequence[Timeline], kind: str) -> str:
    """Return the picture of *timelines* as one of `FORMATS`."""
    picture = picture_of(timelines)
    if kind == "mmd":
        return _mermaid(picture)
    if kind == "dot":
        return _dot(picture)
    return draw_svg(picture)


def format_of(path: str) -> str:
    """Return which of `FORMATS` the name *path* asks for; raises `BadInput` with the list."""
    kind = PurePath(path).suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise BadInput("--graph takes a name that ends in .mmd, .dot or .svg", source=path)
    return kind


def picture_of(timelines: Sequence[Timeline]) -> Picture:
    """Return *timelines* as nodes and edges; each file's commitments are its own."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    for timeline in timelines:
        own = {
            name: _node(timeline, name, f"n{len(nodes) + place}", many=len(timelines) > 1)
            for place, name in enumerate(timeline.terms, 1)
        }
        stuck: set[frozenset[str]] = set()
        for code, names, _ in timeline.troubles:
            stuck.add(frozenset(names))
            for name in names:
                if code not in own[name].troubles:
                    own[name].troubles.append(code)
        nodes += own.values()
        edges += _edges(timeline, own, stuck)
    titles = [f"{visible(t.source)} ({t.verdict})" if t.verdict else visible(t.source) for t in timelines]
    return Picture(", ".join(titles), nodes, edges)


def _node(timeline: Timeline, name: str, key: str, *, many: bool) -> Node:
    status, terms = timeline.statuses[name], timeline.terms[name]
    parties = f"{visible(status.debtor)} → {visible(status.creditor)}"
    counts: dict[str, int] = {}
    if terms.each is not None:
        for other, one in timeline.statuses.items():
            if other != name and base_of(other) == name:
                counts[one.state] = counts.get(one.state, 0) + 1
    file = visible(PurePath(timeline.source).name) if many else ""
    if not counts:
        return Node(key, visible(name), parties, status.state, status.state, file)
    state = next(state for state in WORST_FIRST if state in counts)
    summary = ", ".join(f"{counts[state]} {state}" for state in WORST_FIRST if state in counts)
    return Node(key, visible(name), parties, state, summary, file)


def _edges(timeline: Timeline, own: dict[str, Node], stuck: set[frozenset[str]]) -> list[Edge]:
    promised: dict[str, list[str]] = {}
    for name, terms in timeline.terms.items():
        for event in dict.fromkeys(_wanted(parse(terms.consequent))):
            promised.setdefault(event, []).append(name)
    found: dict[Edge, None] = {}
    paired: set[frozenset[str]] = set()
    for name, terms in timeline.terms.items():
        for tail, kind, label in _waits_for(terms, promised):
            together = any({tail, name} <= names for names in stuck)
            if kind == STATE and Edge(own[tail].key, own[name].key, REMEDY, label, together) in found:
                continue  # a remedy's clock runs from what it remedies: one arrow says both
            found[Edge(own[tail].key, own[name].key, kind, label, together)] = None
        for other in terms.excludes or ():
            pair = frozenset({name, other})
            if other in own and pair not in paired:
                paired.add(pair)
                found[Edge(own[name].key, own[other].key, EXCLUDES, "excludes", pair in stuck)] = None
    return list(found)


def _waits_for(terms: CommitmentTerms, promised: dict[str, list[str]]) -> Iterator[tuple[str, str, str]]:
    """Yield what the commitment waits for: another's id, the kind of edge, and its label."""
    antecedent = None if terms.antecedent is None else parse(terms.antecedent)
    consequent = parse(terms.consequent)
    for condition in (antecedent, consequent):
        for leaf in () if condition is None else leaves(condition):
            if isinstance(leaf, LifeCycle):
                remedy = condition is antecedent and leaf.state == "violated"
                yield leaf.commitment, REMEDY if remedy else STATE, leaf.state
            elif condition is antecedent or leaf not in _tops(consequent):
                event = event_of(leaf)
                for maker in () if event is None else promised.get(event.name, ()):
                    if maker != terms.id and event is not None:
                        yield maker, EVENT, visible(event.name)


def _tops(condition: Condition) -> list[Condition]:
    """Return what *condition* itself counts, ignoring the clocks of its windows."""
    if isinstance(condition, And | Or):
        return [top for part in condition.parts for top in _tops(part)]
    return [condition.what] if isinstance(condition, Timed | No) else [condition]


def _wanted(condition: Condition) -> Iterator[str]:
    """Yield the events that *condition* needs to happen."""
    if isinstance(condition, And | Or):
        for part in condition.parts:
            yield from _wanted(part)
    elif not isinstance(condition, No):
        event = event_of(condition.what if isinstance(condition, Timed) else condition)
        if event is not None:
            yield event.name


# -- text ----------------------------------------------------------------------------------------------------------

_MERMAID_PLAIN: Final = frozenset(" _,")
_INSIDE_WORDS: Final = frozenset("-.:")
_ARROWS: Final = {STATE: "-->", EVENT: "-->", REMEDY: "==>", EXCLUDES: "-.-"}
_STROKES: Final = {STATE: "solid", EVENT: "solid", REMEDY: "bold", EXCLUDES: "dashed"}


def _mermaid(picture: Picture) -> str:
    lines = ["flowchart LR"]
    for node in picture.nodes:
        opened, closed = LOOKS[node.state].brackets
        text = "<br/>".join(_mermaid_text(line) for line in node.lines)
        lines.append(f'  {node.key}{opened}"{text}"{closed}:::{node.state}')
    for number, edge in enumerate(picture.edges):
        label = _mermaid_text(f"remedy: {edge.label}" if edge.kind == REMEDY else edge.label)
        lines.append(f'  {edge.tail} {_ARROWS[edge.kind]}|"{label}"| {edge.head}')
        if edge.stuck:
            lines.append(f"  linkStyle {number} stroke:#b91c1c,stroke-width:3px")
    for state in dict.fromkeys(node.state for node in picture.nodes):
        look = LOOKS[state]
        lines.append(f"  classDef {state} fill:{look.fill},stroke:{look.line},color:#111827")
    troubled = [node.key for node in picture.nodes if node.troubles]
    if troubled:
        lines.append("  classDef trouble stroke:#b91c1c,stroke-width:4px,stroke-dasharray:6 3")
        lines.append(f"  class {','.join(troubled)} trouble")
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    """Write everything except words as Mermaid's own entities, so that nothing is syntax or markdown."""
    return "".join(
        c if c.isalnum() or c in _MERMAID_PLAIN or (c in _INSIDE_WORDS and _is_inside(text, place)) else f"#{ord(c)};"
        for place, c in enumerate(text)
    )


def _is_inside(text: str, place: int) -> bool:
    return text[:place][-1:].isalnum() and text[place + 1 :][:1].isalnum()


def _dot(picture: Picture) -> str:
    lines = [
        "digraph commitments {",
        "  rankdir=LR;",
        '  node [style=filled, fontname="sans-serif", color="#374151"];',
        '  edge [fontname="sans-serif", fontsize=10];',
        f'  label="{_dot_text(picture.title)}";',
    ]
    for node in picture.nodes:
        look = LOOKS[node.state]
        label = "\\n".join(_dot_text(line) for line in node.lines)
        mark = ', color="#b91c1c", penwidth=4, peripheries=2' if node.troubles else f', color="{look.line}"'
        lines.append(f'  {node.key} [shape={look.shape}, fillcolor="{look.fill}"{mark}, label="{label}"];')
    for edge in picture.edges:
        label = _dot_text(f"remedy: {edge.label}" if edge.kind == REMEDY else edge.label)
        more = ", dir=none, constraint=false" if edge.kind == EXCLUDES else ""
        more += ', color="#b91c1c", penwidth=3' if edge.stuck else ""
        lines.append(f'  {edge.tail} -> {edge.head} [label="{label}", style={_STROKES[edge.kind]}{more}];')
    return "\n".join([*lines, "}"]) + "\n"


def _dot_text(text: str) -> str:
    """Write *text* inside Graphviz's quotes; it reads backslashes and HTML entities there."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
