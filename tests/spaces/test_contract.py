"""What every space promises, on random small spaces, against brute force."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nasgoat import EdgeLabeledSpace, LabeledGraph, NodeLabeledSpace
from nasgoat.spaces import INPUT, OUTPUT, SearchSpace
from tests.strategies import generators, spaces


def brute_force(space: SearchSpace) -> set[bytes]:
    """Keys of every labelled upper-triangular graph that the space's check accepts."""
    found = set()
    for n in range(2, 6):
        if n not in space.sizes:
            continue
        pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
        for graph in _labelled(space, n, pairs):
            if graph in space:
                found.add(space.key(graph))
    return found


def _labelled(space: SearchSpace, n: int, pairs: list[tuple[int, int]]) -> list[LabeledGraph]:
    graphs = []
    if isinstance(space, EdgeLabeledSpace):
        for choice in product([None, *space.ops], repeat=len(pairs)):
            labels = {p: op for p, op in zip(pairs, choice, strict=True) if op is not None}
            graphs.append(LabeledGraph.from_edges(n, list(labels), edge_labels=labels))
        return graphs
    assert isinstance(space, NodeLabeledSpace)
    for bits in product([False, True], repeat=len(pairs)):
        edges = [p for p, use in zip(pairs, bits, strict=True) if use]
        labellings = product(space.ops, repeat=n - 2)
        graphs += [LabeledGraph.from_edges(n, edges, [INPUT, *ops, OUTPUT]) for ops in labellings]
    return graphs


@pytest.mark.parametrize(
    "space",
    [
        NodeLabeledSpace((2, 4), ["a", "b"]),
        NodeLabeledSpace((3, 5), ["a"], max_edges=6),
        NodeLabeledSpace((2, 5), ["a", "b"], max_edges=5),
        NodeLabeledSpace(2, []),
        EdgeLabeledSpace(3, ["a", "b", "c"]),
        EdgeLabeledSpace(4, ["a"], connected=False),
        EdgeLabeledSpace(4, ["a", "b"]),
    ],
    ids=lambda space: space.describe(),
)
def test_enumeration_is_what_brute_force_accepts(space: SearchSpace) -> None:
    listed = [space.key(graph) for batch in space.enumerate() for graph in batch]
    assert len(listed) == len(set(listed)) == space.count()
    assert set(listed) == brute_force(space)


@given(spaces)
@settings(max_examples=25)
def test_enumeration_has_no_duplicates_and_counts_right(space: SearchSpace) -> None:
    graphs = [graph for batch in space.enumerate() for graph in batch]
    assert len({space.key(graph) for graph in graphs}) == len(graphs) == space.count()
    assert space.count() <= space.size_bound()
    assert all(graph in space for graph in graphs[:200])


@given(spaces, generators, st.integers(0, 5))
def test_samples_are_distinct_members(
    space: SearchSpace, rng: np.random.Generator, count: int
) -> None:
    graphs = space.sample(count, rng)
    assert len(graphs) == min(count, space.count())
    assert len({space.key(graph) for graph in graphs}) == len(graphs)
    assert all(graph in space for graph in graphs)


@given(spaces, generators)
@settings(max_examples=12)
def test_sampling_ends_when_the_space_is_used_up(
    space: SearchSpace, rng: np.random.Generator
) -> None:
    if space.count() > 60:
        return
    graphs = space.sample(1000, rng)
    assert len(graphs) == space.count()
    keys = {space.key(graph) for graph in graphs}
    assert space.sample(3, rng, exclude=keys) == []
    assert [space.key(g) for g in space.sample(3, rng, exclude=keys - {min(keys)})] == [min(keys)]


@given(spaces, generators)
def test_mutation_stays_inside_and_moves(space: SearchSpace, rng: np.random.Generator) -> None:
    graph = space.sample(1, rng)[0]
    mutated = space.mutate(graph, rng)
    assert mutated in space
    assert (space.key(mutated) == space.key(graph)) == (space.count() == 1)


@given(spaces, generators)
def test_neighbours_are_distinct_members_and_mutual(
    space: SearchSpace, rng: np.random.Generator
) -> None:
    graph = space.sample(1, rng)[0]
    neighbours = space.neighbours(graph)
    keys = {space.key(other) for other in neighbours}
    assert len(keys) == len(neighbours)
    assert space.key(graph) not in keys
    assert all(other in space for other in neighbours)
    for other in neighbours[:5]:
        # A removed edge may take a node with several edges along: no single step brings it back.
        if other.n >= graph.n:
            assert space.key(graph) in {space.key(g) for g in space.neighbours(other)}


@given(spaces)
def test_path_types_cover_every_pair_of_every_graph(space: SearchSpace) -> None:
    types = set(space.path_types())
    for batch in space.enumerate():
        for i in range(0, len(batch), max(1, len(batch) // 50)):
            d, n = batch.distances[i], int(batch.sizes[i])
            codes = range(n) if batch.node_codes is None else batch.node_codes[i].tolist()
            pairs = product(range(n), repeat=2)
            found = {(int(d[u, v]), codes[u], codes[v]) for u, v in pairs if d[u, v] < batch.n}
            assert found <= types


@given(spaces)
def test_fingerprint_follows_the_declaration(space: SearchSpace) -> None:
    assert space.fingerprint() == space.fingerprint()
    other = NodeLabeledSpace((2, 3), ["some other"])
    assert space.fingerprint() != other.fingerprint()
