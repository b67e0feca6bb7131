"""Labelled graphs: values, interchange, refusals."""

import ast
import json
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nasgoat import GraphBatch, LabeledGraph
from nasgoat.errors import GraphError, NasgoatError
from tests.strategies import labeled_graphs


@given(labeled_graphs())
def test_json_there_and_back(graph: LabeledGraph) -> None:
    assert LabeledGraph.from_json(graph.to_json()) == graph
    assert LabeledGraph.from_json(json.loads(graph.to_json())) == graph


@given(labeled_graphs())
def test_networkx_there_and_back(graph: LabeledGraph) -> None:
    back = LabeledGraph.from_networkx(graph.to_networkx())
    if not graph.edges:  # networkx can't say of them that they are labelled
        graph = LabeledGraph.from_edges(graph.n, [], graph.node_labels, None, graph.directed)
    assert back == graph


@given(labeled_graphs())
def test_pickle_and_repr_there_and_back(graph: LabeledGraph) -> None:
    copy = pickle.loads(pickle.dumps(graph))  # noqa: S301 - our own bytes
    assert copy == graph
    assert hash(copy) == hash(graph)
    assert _read_call(repr(graph)) == graph


def _read_call(text: str) -> LabeledGraph:
    """The graph that a call ``LabeledGraph.from_edges(...)`` with literal arguments makes."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.unparse(call.func) == "LabeledGraph.from_edges"
    named = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    return LabeledGraph.from_edges(*map(ast.literal_eval, call.args), **named)


@given(st.lists(labeled_graphs(), min_size=1, max_size=5))
def test_batch_gives_back_its_graphs(graphs: list[LabeledGraph]) -> None:
    alike = [
        g
        for g in graphs
        if g.directed
        and (g.node_labels is None) == (graphs[0].node_labels is None)
        and (g.edge_labels is None) == (graphs[0].edge_labels is None)
    ]
    assume(alike)
    nodes = sorted({label for g in alike for label in g.node_labels or ()})
    edges = sorted({label for g in alike for label in (g.edge_labels or {}).values()})
    batch = GraphBatch.from_graphs(alike, nodes, edges)
    for graph, back in zip(alike, batch, strict=True):
        assert back.edges == graph.edges
        assert back.node_labels == graph.node_labels
        assert dict(back.edge_labels or {}) == dict(graph.edge_labels or {})


def test_a_graph_can_not_be_changed() -> None:
    graph = LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["x"])
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency[0, 1] = False
    with pytest.raises(AttributeError):
        graph.directed = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        graph.edge_labels[0, 1] = "y"  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 2, "edges": [(0, 2)]}, "edges must join the nodes 0..1, got 0 -> 2"),
        ({"n": 2, "edges": [(0, -1)]}, "edges must join the nodes 0..1, got 0 -> -1"),
        ({"n": 2, "edges": [(0, 1.5)]}, "edges must join the nodes"),
        ({"n": 2, "edges": [(1, 1)]}, "edges must join two different nodes, got 1 -> 1"),
        ({"n": 2, "edges": [(0, 1, 2)]}, "an edge must be a pair"),
        ({"n": 0, "edges": []}, "number of nodes must be a positive integer, got 0"),
        ({"n": "2", "edges": []}, "number of nodes must be a positive integer, got '2'"),
        ({"n": 2, "edges": [], "node_labels": ["a"]}, "one per node, got 1 for 2 nodes"),
        ({"n": 2, "edges": [], "node_labels": ["a", 3]}, "node labels must be text, got 3"),
        ({"n": 2, "edges": [(0, 1)], "edge_labels": []}, "one per edge, got 0 labels for 1"),
        ({"n": 2, "edges": [(0, 1)], "edge_labels": {(1, 0): "x"}}, "'x' on 1 -> 0"),
        ({"n": 2, "edges": [(0, 1)], "edge_labels": {}}, "must have a label, got none on 0 -> 1"),
        ({"n": 2, "edges": [(0, 1)], "edge_labels": [7]}, "edge labels must be text, got 7"),
    ],
)
def test_what_is_no_graph_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(GraphError, match=message.replace("(", r"\(")) as caught:
        LabeledGraph.from_edges(**arguments)  # type: ignore[arg-type]
    assert isinstance(caught.value, NasgoatError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"nodes": 2}', "nonsense", "[" * 100_000])
def test_json_that_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(GraphError, match="a graph must be JSON like"):
        LabeledGraph.from_json(text)


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.zeros(4), np.full((2, 2), 0.5), []])
def test_a_matrix_that_is_no_adjacency_is_refused(matrix: object) -> None:
    with pytest.raises(GraphError, match="adjacency must"):
        LabeledGraph(matrix)  # type: ignore[arg-type]


def test_undirected_adjacency_must_be_symmetric() -> None:
    with pytest.raises(GraphError, match="symmetric"):
        LabeledGraph(np.array([[0, 1], [0, 0]]), directed=False)


def test_networkx_graph_with_some_labels_only_is_refused() -> None:
    graph = nx.DiGraph()
    graph.add_node(0, label="a")
    graph.add_node(1)
    with pytest.raises(GraphError, match="either every node must have a label or none"):
        LabeledGraph.from_networkx(graph)


def test_unknown_label_in_a_batch_is_refused() -> None:
    graph = LabeledGraph.from_edges(1, [], node_labels=["b"])
    with pytest.raises(GraphError, match="node labels must be among a, got 'b'"):
        GraphBatch.from_graphs([graph], node_vocabulary=["a"])


def test_relabelling_needs_a_permutation() -> None:
    with pytest.raises(GraphError, match=r"permutation of 0..1, got \[0, 0\]"):
        LabeledGraph.from_edges(2, [(0, 1)]).relabeled([0, 0])
