"""Canonical keys against brute force over all permutations."""

from itertools import permutations
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nasgoat import LabeledGraph
from nasgoat.graphs import canonical
from nasgoat.graphs.canonical import list_automorphisms
from tests.strategies import labeled_graphs

small = labeled_graphs(max_nodes=4)


def isomorphic_by_brute_force(a: LabeledGraph, b: LabeledGraph) -> bool:
    if a.n != b.n:
        return False
    return any(a.relabeled(order) == b for order in permutations(range(a.n)))


@given(labeled_graphs(), st.randoms(use_true_random=False))
def test_key_does_not_depend_on_the_order_of_nodes(graph: LabeledGraph, random: object) -> None:
    order = list(range(graph.n))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert graph.relabeled(order).canonical_key() == graph.canonical_key()


@given(small, small)
def test_keys_are_equal_exactly_for_isomorphic_graphs(a: LabeledGraph, b: LabeledGraph) -> None:
    same = isomorphic_by_brute_force(a, b)
    assert (a.canonical_key() == b.canonical_key()) == same


@given(small, small, st.randoms(use_true_random=False))
def test_keys_by_tails_and_heads_tell_the_same_graphs_apart(
    a: LabeledGraph, b: LabeledGraph, random: object
) -> None:
    order = list(range(a.n))
    random.shuffle(order)  # type: ignore[attr-defined]
    with patch.object(canonical, "_DIGRAPH", 0):  # what large digraphs have
        first, second, turned = (g.canonical_key() for g in (a, b, a.relabeled(order)))
    assert first == turned
    assert (first == second) == isomorphic_by_brute_force(a, b)


def test_dense_digraphs_with_labelled_edges_have_a_key() -> None:
    # As digraphs nauty took hours on these: nine nodes with 60 edges, forty nodes without labels.
    rng = np.random.default_rng(0)
    pairs = [(u, v) for u in range(9) for v in range(9) if u != v]
    edges = [pairs[i] for i in rng.permutation(len(pairs))[:60]]
    labels = rng.choice(["x", "y", "z"], size=60).tolist()
    dense = LabeledGraph.from_edges(9, edges, edge_labels=labels)
    cyclic = LabeledGraph((rng.random((40, 40)) < 0.1) & ~np.eye(40, dtype=bool))
    for graph in (dense, cyclic):
        order = rng.permutation(graph.n).tolist()
        assert graph.relabeled(order).canonical_key() == graph.canonical_key()
    swapped = LabeledGraph.from_edges(9, edges, edge_labels=[*labels[1:], labels[0]])
    assert swapped.canonical_key() != dense.canonical_key()


def test_all_small_digraphs_with_two_labels_are_told_apart() -> None:
    keys: dict[bytes, LabeledGraph] = {}
    classes = 0
    for bits in range(64):
        matrix = np.zeros((3, 3), dtype=bool)
        matrix[~np.eye(3, dtype=bool)] = [bits >> i & 1 for i in range(6)]
        for labels in ("aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb"):
            graph = LabeledGraph(matrix, tuple(labels))
            key = graph.canonical_key()
            if key in keys:
                assert isomorphic_by_brute_force(graph, keys[key])
            else:
                assert not any(isomorphic_by_brute_force(graph, g) for g in keys.values())
                keys[key] = graph
                classes += 1
    assert classes == 104  # Burnside: (512 + 3 * 32 + 2 * 8) / 6


def test_node_labels_and_edge_labels_of_one_name_differ() -> None:
    path = [(0, 1), (1, 2)]
    on_nodes = LabeledGraph.from_edges(3, path, node_labels=["x", "x", "x"])
    on_edges = LabeledGraph.from_edges(3, path, edge_labels=["x", "x"])
    assert on_nodes.canonical_key() != on_edges.canonical_key()


@given(labeled_graphs(max_nodes=5))
def test_automorphisms_are_those_found_by_brute_force(graph: LabeledGraph) -> None:
    A = graph.adjacency
    found = {
        tuple(p) for p in list_automorphisms(A, [set(range(graph.n))], graph.directed).tolist()
    }
    expected = {p for p in permutations(range(graph.n)) if (A[np.ix_(p, p)] == A).all()}
    assert found == expected
