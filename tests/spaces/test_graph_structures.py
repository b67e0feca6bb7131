"""Structures of declared graphs: known numbers, and every labelled graph has exactly one."""

from __future__ import annotations

import numpy as np
import pytest

from nasgoat import GraphSpace
from nasgoat.errors import TooLargeError
from tests.acquisition.branch.declared.graph_problems import random_graph_problem
from tests.graph_spaces import DECLARED

#: Connected undirected graphs with largest degree 4 (OEIS A121941 has the degrees one by one).
DEGREE_FOUR = [1, 1, 2, 6, 21, 78, 353, 1_929, 12_207, 89_402]
#: A000088, A001349, A003087 and A000273 of the OEIS.
UNDIRECTED, CONNECTED = [1, 2, 4, 11, 34, 156, 1_044], [1, 1, 2, 6, 21, 112, 853]
ACYCLIC, DIRECTED = [1, 2, 6, 31, 302, 5_984], [1, 3, 16, 218, 9_608]


def total(space: GraphSpace) -> int:
    return sum(
        len(matrices) for matrices, _ in space.structure_listing.list_chunks(space.sizes[-1])
    )


@pytest.mark.parametrize("n", range(1, 9))
def test_numbers_of_connected_graphs_of_degree_four(n: int) -> None:
    assert total(_degree_four(n)) == DEGREE_FOUR[n - 1]


@pytest.mark.slow
@pytest.mark.parametrize("n", [9, 10])
def test_numbers_of_connected_graphs_of_degree_four_with_more_nodes(n: int) -> None:
    assert total(_degree_four(n)) == DEGREE_FOUR[n - 1]


def _degree_four(n: int) -> GraphSpace:
    return GraphSpace(n, direction="undirected", connectivity="connected", degree={"*": (0, 4)})


@pytest.mark.parametrize(
    ("declared", "known"),
    [
        ({"direction": "undirected"}, UNDIRECTED),
        ({"direction": "undirected", "connectivity": "connected"}, CONNECTED),
        ({"direction": "acyclic"}, ACYCLIC),
        ({"direction": "directed"}, DIRECTED[:4]),
        ({"direction": "directed", "connectivity": "strong"}, [1, 1, 5, 83]),  # A035512
    ],
)
def test_numbers_that_are_known(declared: dict[str, str], known: list[int]) -> None:
    found = [total(GraphSpace(n, **declared)) for n in range(1, len(known) + 1)]  # type: ignore[arg-type]
    assert found == known


@pytest.mark.parametrize("seed", range(12))
def test_every_graph_of_a_random_space_has_one_structure(seed: int) -> None:
    space = random_graph_problem(seed).space
    assert isinstance(space, GraphSpace)
    check_structures(space.with_limits(()))


@pytest.mark.parametrize("space", DECLARED)
def test_every_graph_of_a_declared_space_has_one_structure(space: GraphSpace) -> None:
    check_structures(space)


def check_structures(space: GraphSpace) -> None:
    """The structures of all listed graphs are among those of the space, and none comes twice."""
    listing = space.structure_listing
    for n in space.sizes:
        keys = [
            listing.make_key(matrix, roles)
            for chunk in listing.list_chunks(n)
            for matrix, roles in zip(*chunk, strict=True)
        ]
        assert len(set(keys)) == len(keys)
        found = set()
        for batch in space.enumerate():
            for graph in batch if batch.sizes[:1].tolist() == [n] else ():
                codes = [space.node_vocabulary.index(x) for x in graph.node_labels or ()]
                ends = [0] * bool(space.sources)
                ends += [len(space.node_vocabulary) - 1] * bool(space.sinks)
                roles = np.full(n, -1, dtype=np.int8)
                for v, code in enumerate(codes):
                    roles[v] = code if code in ends else -1
                found.add(listing.make_key(graph.adjacency, roles))
        assert found <= set(keys)


def test_too_many_nodes_are_refused_in_one_line() -> None:
    large = GraphSpace(30, direction="directed", max_edges=2, connectivity="none")
    with pytest.raises(TooLargeError, match="fewer nodes to be listed"):
        total(large)
