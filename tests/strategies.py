"""Hypothesis strategies for graphs and spaces."""

import numpy as np
from hypothesis import strategies as st

from nasgoat import EdgeLabeledSpace, LabeledGraph, NodeLabeledSpace
from nasgoat.spaces import SearchSpace

labels = st.text(min_size=1, max_size=6)


@st.composite
def labeled_graphs(draw: st.DrawFn, max_nodes: int = 6) -> LabeledGraph:
    """Any labelled graph: directed or not, labels on nodes, edges, both or neither."""
    n = draw(st.integers(1, max_nodes))
    directed = draw(st.booleans())
    pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    edges = [pair for pair in pairs if draw(st.booleans())]
    nodes = draw(st.none() | st.lists(labels, min_size=n, max_size=n))
    on_edges = draw(st.none() | st.lists(labels, min_size=len(edges), max_size=len(edges)))
    return LabeledGraph.from_edges(n, edges, nodes, on_edges, directed)


@st.composite
def node_labeled_spaces(draw: st.DrawFn) -> NodeLabeledSpace:
    low = draw(st.integers(2, 5))
    high = draw(st.integers(low, 5))
    ops = [f"op{i}" for i in range(draw(st.integers(1, 3)))]
    max_edges = draw(st.none() | st.integers(low - 1, 10))
    return NodeLabeledSpace((low, high), ops, max_edges)


@st.composite
def edge_labeled_spaces(draw: st.DrawFn) -> EdgeLabeledSpace:
    nodes = draw(st.integers(2, 4))
    ops = [f"op{i}" for i in range(draw(st.integers(1, 2 if nodes == 4 else 3)))]
    return EdgeLabeledSpace(nodes, ops, connected=draw(st.booleans()))


spaces = node_labeled_spaces() | edge_labeled_spaces()
seeds = st.integers(0, 2**32 - 1)
generators = seeds.map(np.random.default_rng)


@st.composite
def limit_texts(draw: st.DrawFn, ops: tuple[str, ...]) -> str:
    """A limit on some operations, edges or depth, usually one that leaves some graphs."""
    names = draw(
        st.lists(st.sampled_from([*ops, "edges", "depth"]), min_size=1, max_size=3, unique=True)
    )
    signs = draw(st.lists(st.sampled_from(["1", "2", "0.5", "-1"]), min_size=3, max_size=3))
    left = " + ".join(f"{c}*{name}" for c, name in zip(signs[: len(names)], names, strict=True))
    sense = draw(st.sampled_from(["<=", "<=", ">=", "=="]))
    return f"{left.replace('+ -', '- ')} {sense} {draw(st.integers(0, 6))}"


@st.composite
def limited_spaces(draw: st.DrawFn) -> SearchSpace:
    """A small space with one or two limits, which may leave no graph."""
    space = draw(spaces)
    ops = (*space.node_ops, *space.edge_vocabulary)
    return space.constrain(*draw(st.lists(limit_texts(ops), min_size=1, max_size=2)))
