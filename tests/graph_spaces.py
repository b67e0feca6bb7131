"""Declared graph spaces for tests, and membership by an independent definition."""

from collections.abc import Iterator
from itertools import product

import networkx as nx
from hypothesis import strategies as st

from nasgoat import GraphSpace, LabeledGraph
from nasgoat.errors import SpaceError

DOUBLE = {"double": 2}
DECLARED = [
    GraphSpace((1, 3), direction="undirected"),
    GraphSpace((1, 4), direction="undirected", connectivity="connected"),
    GraphSpace((1, 3), direction="acyclic"),
    GraphSpace(3, direction="directed"),
    GraphSpace((1, 3), direction="directed", connectivity="strong"),
    GraphSpace(3, direction="directed", connectivity="connected", max_edges=3),
    GraphSpace(3, ["a", "b"], direction="acyclic", connectivity="connected"),
    GraphSpace(3, ["a", "b"], direction="undirected", min_edges=1, max_edges=2),
    GraphSpace((1, 3), ["C", "O"], ["single", "double"], "undirected", "connected",
               degree={"C": (0, 4), "O": (0, 2)}, edge_weights=DOUBLE),
    GraphSpace(3, ["C", "F"], ["single", "double"], "undirected", degree={"*": (1, 3), "F": 1},
               edge_weights=DOUBLE),
    GraphSpace((2, 3), ["a"], direction="acyclic", connectivity="paths", sources=1, sinks=1),
    GraphSpace(3, direction="acyclic", connectivity="paths", sources=2, sinks=1),
    GraphSpace(3, ["a", "b"], direction="acyclic", connectivity="paths", sources=1,
               in_degree={"*": 1}),
    GraphSpace(3, ["a"], direction="acyclic", connectivity="paths", sinks=1, out_degree={"a": 1}),
    GraphSpace(3, ["a"], direction="directed", sources=1, sinks=1),
    GraphSpace(3, [], ["x", "y"], "acyclic", out_degree={"*": (0, 1)}),
    GraphSpace(3, [], ["x"], "directed", "strong", in_degree={"*": (1, 1)}),
    GraphSpace(3, ["C", "O"], direction="undirected", connectivity="connected",
               fixed={"edges": [[0, 1]], "labels": {"0": "C"}}),
    GraphSpace(3, ["a", "b"], ["x", "y"], "acyclic",
               fixed={"edges": [[1, 0, "x"]], "not_edges": [[0, 2], [2, 1, "y"]]}),
    GraphSpace((2, 3), ["a", "b", "c"], direction="undirected",
               fixed={"not_labels": {0: ["a", "b"]}, "labels": {1: ["a", "c"]}}),
]  # fmt: skip


def labelled_graphs(space: GraphSpace, n: int) -> Iterator[LabeledGraph]:
    """Every labelled graph with n nodes of the space's kind, whether or not it is in the space."""
    if space.direction == "undirected":
        pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    else:
        pairs = [(u, v) for u in range(n) for v in range(n) if u != v]
    vocabulary = space.node_vocabulary or (None,)
    ops: tuple[str | None, ...] = space.edge_vocabulary or ("edge",)
    for choice in product((None, *ops), repeat=len(pairs)):
        edges = {pair: op for pair, op in zip(pairs, choice, strict=True) if op is not None}
        names = list(edges.values()) if space.edge_ops else None
        for labels in product(vocabulary, repeat=n):
            nodes = None if labels[0] is None else [str(label) for label in labels]
            yield LabeledGraph.from_edges(
                n, list(edges), nodes, names, space.direction != "undirected"
            )


def belongs(space: GraphSpace, graph: LabeledGraph) -> bool:
    """Membership, limits aside, read off the declaration with networkx."""
    g = graph.to_networkx()
    labels = graph.node_labels or ("",) * graph.n
    most = space.max_edges if space.max_edges is not None else 10**6
    return (
        space.min_edges <= g.number_of_edges() <= most
        and _connected(space, g, labels)
        and _degrees(space, g, labels)
        and _fixed(space, g, labels)
    )


def _connected(space: GraphSpace, g: nx.Graph, labels: tuple[str, ...]) -> bool:
    if space.direction == "acyclic" and not nx.is_directed_acyclic_graph(g):
        return False
    sources = [v for v, label in enumerate(labels) if label == "input"]
    sinks = [v for v, label in enumerate(labels) if label == "output"]
    if (len(sources), len(sinks)) != (space.sources, space.sinks):
        return False
    if space.connectivity == "connected":
        return bool(nx.is_connected(g.to_undirected()))
    if space.connectivity == "strong":
        return bool(nx.is_strongly_connected(g) if g.is_directed() else nx.is_connected(g))
    if space.connectivity == "paths":
        return all(
            (not space.sources or any(nx.has_path(g, s, v) for s in sources))
            and (not space.sinks or any(nx.has_path(g, v, t) for t in sinks))
            for v in g
        )
    return True


def _degrees(space: GraphSpace, g: nx.Graph, labels: tuple[str, ...]) -> bool:
    weights = {op: space.edge_weights.get(op, 1) for op in space.edge_ops}
    for v, label in enumerate(labels):
        sides = [(space.degree, g.edges(v, data=True))]
        if g.is_directed():
            sides = [(space.in_degree, g.in_edges(v, data=True)),
                     (space.out_degree, g.out_edges(v, data=True))]  # fmt: skip
        for i, (bounds, edges) in enumerate(sides):
            degree = sum(weights.get(data.get("label"), 1) for _, _, data in edges)
            end = g.is_directed() and label == ("input", "output")[i] and label not in bounds
            allowed = 0 if end else bounds.get(label, bounds.get("*", (0, 10**6)))
            low, high = (allowed, allowed) if isinstance(allowed, int) else allowed
            if not low <= degree <= high:
                return False
    return True


def _fixed(space: GraphSpace, g: nx.Graph, labels: tuple[str, ...]) -> bool:
    def there(u: int, v: int, *op: str) -> bool:
        return bool(g.has_edge(u, v) and (not op or g.edges[u, v]["label"] == op[0]))

    def listed(value: str | list[str]) -> list[str]:
        return [value] if isinstance(value, str) else value

    parts = space.fixed
    return (
        all(there(*edge) for edge in parts.get("edges", ()))
        and not any(there(*edge) for edge in parts.get("not_edges", ()))
        and all(labels[int(v)] in listed(x) for v, x in parts.get("labels", {}).items())
        and not any(labels[int(v)] in listed(x) for v, x in parts.get("not_labels", {}).items())
    )


@st.composite
def graph_spaces(draw: st.DrawFn, largest: int = 3) -> GraphSpace:
    """A small declared space; it may have no graph."""
    direction = draw(st.sampled_from(["acyclic", "directed", "undirected"]))
    low = draw(st.integers(1, largest))
    ends = direction != "undirected" and low >= 2 and draw(st.booleans())
    ways = ["none", "connected", "strong"] + (["paths"] if ends else [])
    node_ops = [f"n{i}" for i in range(draw(st.integers(0, 2)))]
    edge_ops = [f"e{i}" for i in range(draw(st.integers(0, 2)))]
    bounds = draw(st.dictionaries(
        st.sampled_from([*node_ops, "*"]),
        st.tuples(st.integers(0, 1), st.integers(1, 3)), max_size=2,
    ))  # fmt: skip
    sides = ["degree"] if direction == "undirected" else ["in_degree", "out_degree"]
    name = draw(st.sampled_from(sides))
    fixed = {}
    if low >= 2 and draw(st.booleans()):
        fixed = {draw(st.sampled_from(["edges", "not_edges"])): [[0, 1]]}
    try:
        return GraphSpace(
            (low, draw(st.integers(low, largest))), node_ops, edge_ops, direction,
            draw(st.sampled_from(ways)), int(ends), int(ends and draw(st.booleans())),
            edge_weights={"e1": 2} if len(edge_ops) == 2 else {},
            max_edges=draw(st.none() | st.integers(1, 4)), fixed=fixed,
            degree=bounds if name == "degree" else {},
            in_degree=bounds if name == "in_degree" else {},
            out_degree=bounds if name == "out_degree" else {},
        )  # fmt: skip
    except SpaceError:  # labels of bounds that sources and sinks leave no room for
        return GraphSpace((low, low), direction=direction)
