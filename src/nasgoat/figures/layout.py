"""Where to draw the nodes and edges of a graph, for matplotlib, SVG and the terminal alike.

Nodes stand in layers from left to right, a long chain in several rows. A node's layer is the length
of the longest path that leads to it. An edge over several layers gets a bend in each layer it
crosses; bends take part in ordering the layer, so lines keep clear of nodes (Sugiyama's method with
barycentre sweeps).

A graph without direction, such as a molecule, has no layers, and straight edges. Its nodes get
places whose distances are those along its edges, as well as a plane allows. Where edges cross
although the graph is planar, its planar drawing (Chrobak and Payne's, by networkx) is relaxed
instead, and no step is taken that would make two of its edges cross.

Notation of drawings without layers
    d   d[u, v]: edges of a shortest path between u and v, whatever their directions
    x   x[v]: the place of node v, shape (n, 2)
    The stress Σ_{u<v} (|x_u - x_v| - d_uv)² / d_uv² is lowered node by node (Gansner, Koren and
    North, Graph Drawing 2004).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, shortest_path

from nasgoat.figures.lines import Point
from nasgoat.graphs import Edge, LabeledGraph
from nasgoat.graphs.molecules import place_atoms
from nasgoat.graphs.shortest_paths import find_topological_order

Array = NDArray[np.float64]
Edges = Sequence[tuple[int, int]]
_LAYER_SWEEPS = 8  # that order the nodes of each layer
_ROW = 6  # nodes of a chain that stand in one row
_FREE_SWEEPS, _GUARDED_SWEEPS = 60, 20  # of all nodes, freely and where no edges may come to cross
_UNSEEN = 0.003  # lengths of an edge: a shorter way is not seen
_STEPS = (1.0, 0.5, 0.25, 0.1)  # of the way to where a node would be pulled, whichever is allowed
_CLEAR = 0.6  # from a node to an edge or node beside it, in lengths of an edge
_LARGEST = 3.0  # times an edge's length: how far a drawing is stretched to keep nodes clear
_Item = int | tuple[int, int, int]  # a node, or the bend of edge (u, v) in a layer


@dataclass(frozen=True)
class Layout:
    """Positions of the nodes and, for each edge, the points its line passes through.

    In ``layers`` every edge goes from left to right; a ``folded`` chain and a ``free`` drawing have
    straight edges in any direction.
    """

    nodes: dict[int, Point]
    edges: dict[Edge, list[Point]]
    width: float
    height: float
    style: Literal["layers", "folded", "free"] = "layers"

    def stretch(self, share: float) -> Layout:
        """The same, this many times as wide."""
        nodes = {v: (share * x, y) for v, (x, y) in self.nodes.items()}
        edges = {e: [(share * x, y) for x, y in line] for e, line in self.edges.items()}
        return replace(self, nodes=nodes, edges=edges, width=share * self.width)

    @property
    def points(self) -> list[Point]:
        """Every point that is drawn: the nodes, and what the edges pass through."""
        return [*self.nodes.values(), *(point for line in self.edges.values() for point in line)]


def lay_out(graph: LabeledGraph) -> Layout:
    """Lay out a graph in layers; one with cycles or without direction freely, edges straight.

    A chain of labelled edges that is too long for one row is folded: its first row runs from left
    to right, the next one back.

    Example:
        >>> lay_out(LabeledGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)])).nodes[2]
        (2.0, 0.0)
    """
    if not graph.is_acyclic():
        return _lay_freely(graph)
    chain = order_chain(graph)
    if chain is not None and graph.n > _ROW:
        return _fold(graph, chain)
    columns, lines = _arrange_layers(graph)
    for sweep in range(_LAYER_SWEEPS):
        _reorder(columns, lines.values(), forward=sweep % 2 == 0)
    place: dict[_Item, Point] = {}
    for x, column in enumerate(columns):
        place |= {item: (float(x), 0.0 - height) for item, height in _centre(column).items()}
    edges = {edge: [place[item] for item in line] for edge, line in lines.items()}
    nodes = {v: place[v] for v in range(graph.n)}
    return Layout(nodes, edges, float(len(columns)), float(max(map(len, columns))))


def order_chain(graph: LabeledGraph) -> list[int] | None:
    """The nodes of a chain of labelled edges from end to end; None if the graph is no such chain.

    Example:
        >>> order_chain(LabeledGraph.from_edges(3, [(2, 0), (0, 1)], edge_labels=["a", "b"]))
        [2, 0, 1]
    """
    if graph.edge_labels is None or graph.node_labels is not None or not graph.is_acyclic():
        return None
    order = [int(v) for v in find_topological_order(graph.adjacency)]
    steps = sorted(pairwise(order))
    return order if steps == sorted(graph.edges) else None


def _fold(graph: LabeledGraph, chain: list[int]) -> Layout:
    rows = -(-graph.n // (_ROW - 1))
    across = -(-graph.n // rows)
    nodes: dict[int, Point] = {}
    for i, v in enumerate(chain):
        row, place = divmod(i, across)
        nodes[v] = (float(across - 1 - place if row % 2 else place), -float(row))
    edges = {(u, v): [nodes[u], nodes[v]] for u, v in graph.edges}
    return Layout(nodes, edges, float(across), float(-(-graph.n // across)), "folded")


def _arrange_layers(graph: LabeledGraph) -> tuple[list[list[_Item]], dict[Edge, list[_Item]]]:
    """The nodes and bends of each layer, and those that each edge's line passes through."""
    layer = [0] * graph.n
    for v in find_topological_order(graph.adjacency):
        before = np.flatnonzero(graph.adjacency[:, v])
        layer[v] = max((layer[u] + 1 for u in before), default=0)
    columns: list[list[_Item]] = [[] for _ in range(max(layer) + 1)]
    for v in range(graph.n):
        columns[layer[v]].append(v)
    lines: dict[Edge, list[_Item]] = {}
    for u, v in graph.edges:
        bends = [(u, v, x) for x in range(layer[u] + 1, layer[v])]
        for bend in bends:
            columns[bend[2]].append(bend)
        lines[u, v] = [u, *bends, v]
    return columns, lines


def _reorder(columns: list[list[_Item]], lines: Iterable[list[_Item]], forward: bool) -> None:
    """Sort each layer by the mean place of its items' neighbours in the layer before."""
    height = {item: place for column in columns for item, place in _centre(column).items()}
    neighbours: dict[_Item, list[_Item]] = {item: [] for item in height}
    for line in lines:
        for a, b in pairwise(line):
            neighbours[b if forward else a].append(a if forward else b)
    for column in columns if forward else reversed(columns):
        pull = {
            item: float(np.mean([height[x] for x in neighbours[item]] or [height[item]]))
            for item in column
        }
        column.sort(key=lambda item: pull[item])
        height |= _centre(column)


def _centre(column: list[_Item]) -> dict[_Item, float]:
    """Places of a layer's items below its middle."""
    return {item: i - (len(column) - 1) / 2 for i, item in enumerate(column)}


def _lay_freely(graph: LabeledGraph) -> Layout:
    places = place_nodes(graph.n, graph.edges, place_atoms(graph))
    nodes = {v: (float(x), float(y)) for v, (x, y) in enumerate(places)}
    edges = {(u, v): [nodes[u], nodes[v]] for u, v in graph.edges}
    width, height = np.ptp(places, axis=0) + 1.0
    return Layout(nodes, edges, float(width), float(height), "free")


def write_node_text(graph: LabeledGraph, v: int) -> str:
    """What stands in a node: its label, or its number where labels are on the edges."""
    return str(v) if graph.node_labels is None else graph.node_labels[v]


def place_nodes(n: int, edges: Edges, known: Array | None = None) -> Array:
    """Places of n nodes, adjacent ones about 1 apart; parts without an edge between them in a row.

    Args:
        n: Number of nodes.
        edges: Their edges.
        known: Places that are taken if no edges cross there and nothing lies on anything else.

    Example:
        >>> square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
        >>> places = place_nodes(4, square)
        >>> places.shape, count_crossings(places, square)
        ((4, 2), 0)
    """
    if known is not None and _is_clear(known, edges):
        return _stretch(known, edges)
    linked = np.zeros((n, n), dtype=bool)
    for u, v in edges:
        linked[u, v] = linked[v, u] = u != v
    count, parts = connected_components(linked, directed=False)
    places, right = np.zeros((n, 2)), 0.0
    for part in range(count):
        own = np.flatnonzero(parts == part)
        found = _lay_flat(_place_part(linked[np.ix_(own, own)]))
        places[own] = found + np.array([right - found[:, 0].min(), 0.0])
        right = places[own, 0].max() + 1.0
    return places


def _place_part(linked: NDArray[np.bool_]) -> Array:
    """Places of connected nodes: of several drawings the one of fewest crossings."""
    n = len(linked)
    d = shortest_path(linked, directed=False, unweighted=True)
    edges = [(int(u), int(v)) for u, v in np.argwhere(np.triu(linked))]
    found = []
    for start in (_project(d), _make_circle(n)):
        found.append(_relax(start, d))
        if _is_clear(found[-1], edges):
            return _stretch(found[-1], edges)
    planar = _draw_planar(n, edges)
    if planar is not None:
        return _stretch(_relax(planar, d, edges), edges)
    return _stretch(min(found, key=lambda places: count_crossings(places, edges)), edges)


def _is_clear(places: Array, edges: Edges) -> bool:
    """Whether no edges cross, and stretching the drawing parts all nodes and edges."""
    room = _measure_clearance(places, edges)
    return count_crossings(places, edges) == 0 and room >= _CLEAR / _LARGEST


def _stretch(places: Array, edges: Edges) -> Array:
    """The drawing, larger where nodes come too close to other nodes or edges."""
    room = max(_measure_clearance(places, edges), 1e-9)
    return places * float(np.clip(_CLEAR / room, 1.0, _LARGEST))


def _draw_planar(n: int, edges: Edges) -> Array | None:
    """A drawing without crossings; None if the graph has none."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    planar, embedding = networkx.check_planarity(graph)
    if not planar:
        return None
    grid = networkx.combinatorial_embedding_to_pos(embedding)
    places = np.array([grid[v] for v in range(n)], dtype=float)
    lengths = [np.linalg.norm(places[u] - places[v]) for u, v in edges]
    return places / float(np.median(lengths))


def _project(d: Array) -> Array:
    """Classical scaling: the plane in which the distances between nodes are seen best."""
    n = len(d)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ (d**2) @ centre / 2)
    # Nodes that look alike from everywhere else would share a place: the circle parts them.
    seen: Array = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    return seen + 0.02 * _make_circle(n)


def _make_circle(n: int) -> Array:
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    return max(1.0, n / 6) * np.column_stack([np.cos(angle), np.sin(angle)])


def _relax(places: Array, d: Array, kept_apart: Edges = ()) -> Array:
    """Lower the stress node by node; edges that are to be kept apart never come to cross."""
    x, weights = places.copy(), 1 / np.maximum(d, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    for _ in range((_GUARDED_SWEEPS if kept_apart else _FREE_SWEEPS) if len(x) > 1 else 0):
        before = x.copy()
        for v in range(len(x)):
            away = x[v] - x
            scale = d[v] / np.maximum(np.linalg.norm(away, axis=1), 1e-9)
            pulled = weights[v] @ (x + away * scale[:, None]) / weights[v].sum()
            if not kept_apart:
                x[v] = pulled
            elif np.abs(pulled - x[v]).max() > _UNSEEN:
                x = _step(x, v, pulled, kept_apart)
        if np.abs(x - before).max() < _UNSEEN:
            break
    return x


def _step(x: Array, v: int, pulled: Array, edges: Edges) -> Array:
    """Move node v towards ``pulled``, as far as no edges cross and nothing comes too close."""
    own = [edge for edge in edges if v in edge]
    room = min(_measure_clearance(x, edges), _CLEAR)
    for share in _STEPS:
        moved = x.copy()
        moved[v] += share * (pulled - x[v])
        crossed = _find_crossings(moved, own, edges).any()
        if not crossed and _measure_clearance(moved, edges) >= room:
            return moved
    return x


def count_crossings(places: Array, edges: Edges) -> int:
    """How many pairs of straight edges cross, those at a common node aside."""
    return int(_find_crossings(places, edges, edges).sum()) // 2


def _find_crossings(x: Array, some: Edges, others: Edges) -> NDArray[np.bool_]:
    """Which of some edges cross which others, shape (some, others)."""
    if not len(some) or not len(others):
        return np.zeros((len(some), len(others)), dtype=bool)
    one, two = np.asarray(some)[:, None, :], np.asarray(others)[None, :, :]
    a, b, p, q = x[one[..., 0]], x[one[..., 1]], x[two[..., 0]], x[two[..., 1]]
    apart = (one[..., :, None] != two[..., None, :]).all(axis=(-1, -2))
    across = _turn(a, b, p) * _turn(a, b, q) < 0
    along = _turn(p, q, a) * _turn(p, q, b) < 0
    return np.asarray(apart & across & along)


def _turn(a: Array, b: Array, c: Array) -> Array:
    """On which side of the line from a to b the point c lies."""
    ab, ac = b - a, c - a
    return np.asarray(ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0])


def _measure_clearance(x: Array, edges: Edges) -> float:
    """The least distance between two nodes, or a node and an edge of others."""
    apart = np.linalg.norm(x[:, None] - x[None], axis=-1)
    least = float(np.min(apart + np.diag(np.full(len(x), np.inf)), initial=np.inf))
    if not len(edges):
        return least
    ends = np.asarray(edges)
    start, along = x[ends[:, 0]][:, None], (x[ends[:, 1]] - x[ends[:, 0]])[:, None]
    share = ((x - start) * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-18)
    nearest = start + np.clip(share, 0.0, 1.0)[..., None] * along
    away = np.linalg.norm(x - nearest, axis=-1)
    own = (np.arange(len(x))[None] == ends[:, :1]) | (np.arange(len(x))[None] == ends[:, 1:])
    return min(least, float(np.min(np.where(own, np.inf, away), initial=np.inf)))


def _lay_flat(x: Array) -> Array:
    """The places turned so that the drawing is wider than high, around its middle."""
    x = x - x.mean(axis=0)
    _, vectors = np.linalg.eigh(x.T @ x)
    wide = vectors[:, ::-1] * np.sign(vectors[0, ::-1] + 1e-12)
    return np.asarray(x @ wide)
