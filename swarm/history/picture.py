"""The picture of dependencies before it is drawn: nodes, edges, columns, and the look of each state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocols.core.graphs import components

REMEDY, STATE, EVENT, EXCLUDES = "remedy", "state", "event", "excludes"
TROUBLES: Final = ("deadlock", "conflict", "circle")

WORST_FIRST: Final = (
    "violated", "disputed", "unconfirmed", "pending", "detached", "conditional", "expired", "terminated", "satisfied",
    "none",
)  # fmt: skip
"""The state in which a commitment with instances is drawn: the first of these that occurs."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a state is drawn: colours, Mermaid's brackets, Graphviz's shape."""

    fill: str
    line: str
    brackets: tuple[str, str]
    shape: str


LOOKS: Final = {
    "none": Look("#ffffff", "#9ca3af", ("[(", ")]"), "plaintext"),
    "conditional": Look("#dbeafe", "#1d4ed8", ("([", "])"), "ellipse"),
    "detached": Look("#fef3c7", "#b45309", ("[", "]"), "box"),
    "satisfied": Look("#dcfce7", "#15803d", ("(", ")"), "egg"),
    "expired": Look("#f3f4f6", "#4b5563", ("[/", "/]"), "parallelogram"),
    "violated": Look("#fecaca", "#b91c1c", ("{{", "}}"), "hexagon"),
    "terminated": Look("#e5e7eb", "#374151", ("[/", "\\]"), "trapezium"),
    "pending": Look("#ede9fe", "#6d28d9", ("[[", "]]"), "box3d"),
    "unconfirmed": Look("#fde68a", "#a16207", (">", "]"), "cds"),
    "disputed": Look("#fbcfe8", "#be185d", ("[\\", "/]"), "invtrapezium"),
}


@dataclass(slots=True)
class Node:
    """One commitment: its ``key`` in the picture, its text, its state, and its troubles."""

    key: str
    name: str
    parties: str
    state: str
    summary: str
    file: str = ""
    troubles: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The lines on the node, with every member's text made visible."""
        marks = [f"⚠ {', '.join(self.troubles)}"] if self.troubles else []
        return [self.name, self.parties, self.summary, *([self.file] if self.file else []), *marks]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from a commitment's key to that of one that waits for it: why (``kind``), for what (``label``)."""

    tail: str
    head: str
    kind: str
    label: str
    stuck: bool = False


@dataclass(slots=True)
class Picture:
    """The graph, ready to be drawn."""

    title: str
    nodes: list[Node]
    edges: list[Edge]

    def layers(self) -> list[list[Node]]:
        """Return the nodes in columns, each after what it waits for; the nodes of one circle share a column."""
        before: dict[str, list[str]] = {node.key: [] for node in self.nodes}
        for edge in self.edges:
            if edge.kind != EXCLUDES and edge.tail not in before[edge.head]:
                before[edge.head].append(edge.tail)
        depth: dict[str, int] = {}
        for part in components(before):
            waited_for = {tail for key in part for tail in before[key]}.difference(part)
            depth |= dict.fromkeys(part, max((depth[tail] + 1 for tail in waited_for), default=0))
        by_key = {node.key: node for node in self.nodes}
        rank = {node.key: place for place, node in enumerate(self.nodes)}
        columns: list[list[Node]] = []
        for level in range(max(depth.values(), default=-1) + 1):
            keys = [key for key in before if depth[key] == level]
            column = sorted(keys, key=lambda key: (_middle(before[key], rank, rank[key]), rank[key]))
            rank.update({key: place for place, key in enumerate(column)})
            columns.append([by_key[key] for key in column])
        return columns


def _middle(tails: Sequence[str], rank: Mapping[str, int], own: int) -> float:
    """Return the mean place of *tails*, for which a node waits, so that few lines cross; without tails, *own*."""
    return sum(rank[tail] for tail in tails) / len(tails) if tails else own
