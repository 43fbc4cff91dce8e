"""Directed graphs as the rules need them: which nodes reach each other, and what comes before what."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(edges: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Return the strongly connected components of a graph, each after all components to which it points.

    *edges* maps each node to the nodes to which it points; a node that is only pointed to counts too. A component of
    several nodes is a circle; so is a single node that points to itself. Linear in nodes and edges, without recursion
    (Tarjan 1972); the order depends only on the order of *edges*.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    path: list[Node] = []
    on_path: set[Node] = set()
    found: list[list[Node]] = []
    for start in edges:
        if start in number:
            continue
        work = [(start, iter(edges[start]))]
        number[start] = low[start] = len(number)
        path.append(start)
        on_path.add(start)
        while work:
            node, ahead = work[-1]
            for other in ahead:
                if other not in number:
                    number[other] = low[other] = len(number)
                    path.append(other)
                    on_path.add(other)
                    work.append((other, iter(edges.get(other, ()))))
                    break
                if other in on_path:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    part: list[Node] = []
                    while not part or part[-1] != node:
                        part.append(path.pop())
                        on_path.discard(part[-1])
                    found.append(part[::-1])
    return found
