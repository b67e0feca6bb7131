"""Where to draw the nodes and edges of a graph, for matplotlib, SVG and the terminal alike.

Nodes stand in layers from left to right, a long chain in several rows. A node's layer is the length
of the longest path that leads to it. An edge over several layers gets a bend in each layer it
crosses; bends take part in ordering the layer, so lines keep clear of nodes (Sugiyama's method with
barycentre sweeps).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from nasgoat.figures.free_layout import place_nodes
from nasgoat.figures.lines import Point
from nasgoat.graphs import Edge, LabeledGraph
from nasgoat.graphs.molecules import place_atoms
from nasgoat.graphs.shortest_paths import topological_order

_SWEEPS = 8
_ROW = 6  # nodes of a chain that stand in one row
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
        """The same, so many times as wide."""
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
    for sweep in range(_SWEEPS):
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
    order = [int(v) for v in topological_order(graph.adjacency)]
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
    for v in topological_order(graph.adjacency):
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
