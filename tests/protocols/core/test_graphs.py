"""`components` against a library's: the same parts, in an order in which each comes after those it points to."""

import networkx
from hypothesis import given
from hypothesis import strategies as st

from protocols.core.graphs import components

GRAPHS = st.dictionaries(st.integers(0, 12), st.lists(st.integers(0, 14), max_size=5), max_size=12)


@given(GRAPHS)
def test_parts_are_those_of_a_library_and_in_order(edges: dict[int, list[int]]) -> None:
    """Protects ranks, circles and roots: no part is split or joined, and none comes before what it needs."""
    graph = networkx.DiGraph([(node, other) for node, others in edges.items() for other in others])
    graph.add_nodes_from(edges)
    parts = components(edges)
    assert sorted(map(sorted, parts)) == sorted(map(sorted, networkx.strongly_connected_components(graph)))
    place = {node: number for number, part in enumerate(parts) for node in part}
    assert all(place[other] <= place[node] for node, others in edges.items() for other in others)


def test_a_long_chain_needs_no_recursion() -> None:
    """Protects from a chain of claims or promises as long as a room allows."""
    parts = components({number: [number + 1] for number in range(50_000)})
    assert [part[0] for part in parts] == list(range(50_000, -1, -1))
