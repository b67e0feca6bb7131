"""Mutation and neighbours in a declared graph space.

Moves change one label, add, remove or bend one edge, or add or remove one node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING

import numpy as np

from nasgoat.graphs import LabeledGraph
from nasgoat.spaces.limits import Pair
from nasgoat.spaces.moves import bound_moves, list_others

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

_TRIES = 60  # random moves before all neighbours are listed
_Resizing = int | tuple[int, dict[Pair, int]]  # a node to leave out, or a new node and its edges


@dataclass
class Sketch:
    """Label codes of nodes, and of edges by pair; code 0 where there are no labels."""

    space: GraphSpace
    labels: list[int]
    edges: dict[Pair, int]

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    @classmethod
    def of(cls, space: GraphSpace, graph: LabeledGraph) -> Sketch:
        """The sketch of a graph."""
        slots = space.slots(graph.edges)
        digits = slots.encode_edges(graph)
        codes = {pair: digit - 1 for pair, digit in zip(graph.edges, digits, strict=True)}
        return cls(space, slots.encode_nodes(graph) or [0] * graph.n, codes)

    def make_graph(self) -> LabeledGraph:
        """The graph, whether or not it is in the space."""
        pairs = sorted(self.edges)
        digits = [1 + self.edges[pair] for pair in pairs]
        return self.space.slots(pairs).decode(self.n, digits, self.labels)

    def copy_with(
        self, labels: list[int] | None = None, edges: dict[Pair, int] | None = None
    ) -> Sketch:
        """A copy with other labels or edges."""
        return Sketch(
            self.space,
            list(self.labels if labels is None else labels),
            dict(self.edges if edges is None else edges),
        )

    def drop_node(self, v: int) -> Sketch:
        """A copy without node v."""
        labels = [code for u, code in enumerate(self.labels) if u != v]
        edges = {
            (a - (a > v), b - (b > v)): code
            for (a, b), code in self.edges.items()
            if v not in (a, b)
        }
        return Sketch(self.space, labels, edges)


def mutate(space: GraphSpace, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
    """A random graph one move away, or any other graph if no move leads to one.

    The graph itself comes back only if it is the only one.
    """
    key = space.key(graph)
    moves = (
        _change_label,
        _change_edge_label,
        _change_edge,
        _change_edge,
        _bend_edge,
        _change_node,
    )
    for _ in range(_TRIES):
        sketch = Sketch.of(space, graph)
        if moves[int(rng.integers(len(moves)))](sketch, rng):
            other = sketch.make_graph()
            if space.rules.fits(space.batch([other]))[0] and space.key(other) != key:
                return other
    near = list_neighbours(space, graph)
    if near:
        return near[int(rng.integers(len(near)))]
    others = space.with_limits(()).sample(1, rng, {key})
    return others[0] if others else graph


def list_neighbours(space: GraphSpace, graph: LabeledGraph) -> list[LabeledGraph]:
    """Graphs one label, one edge, one bent edge or one node away; the first of very many."""
    moves = islice(_list_moves(Sketch.of(space, graph)), bound_moves(graph.n))
    candidates = [sketch.make_graph() for sketch in moves]
    fits = space.rules.fits(space.batch(candidates))
    return list_others(space, graph, compress(candidates, fits))


def _list_moves(sketch: Sketch) -> Iterator[Sketch]:
    """Every graph that is one small change away, as sketches; some may be outside the space."""
    yield from _list_other_labels(sketch)
    space, n = sketch.space, sketch.n
    codes = range(max(len(space.edge_ops), 1))
    for pair in space.pairs(n):
        if pair not in sketch.edges:
            yield from (sketch.copy_with(edges={**sketch.edges, pair: code}) for code in codes)
            continue
        without = {p: code for p, code in sketch.edges.items() if p != pair}
        yield sketch.copy_with(edges=without)
        for other in codes:
            if other != sketch.edges[pair]:
                yield sketch.copy_with(edges={**without, pair: other})
        for bent in _list_bent(sketch, pair):
            yield sketch.copy_with(edges={**without, bent: sketch.edges[pair]})
    yield from (_resize(sketch, change) for change in _list_other_sizes(sketch))


def _list_other_labels(sketch: Sketch) -> Iterator[Sketch]:
    """Another label on one node."""
    for v in range(sketch.n):
        for label in range(len(sketch.space.node_vocabulary)):
            if label != sketch.labels[v]:
                labels = [*sketch.labels]
                labels[v] = label
                yield sketch.copy_with(labels=labels)


def _list_bent(sketch: Sketch, pair: Pair) -> Iterator[Pair]:
    """The pairs without an edge that share an end with this one."""
    for other in sketch.space.pairs(sketch.n):
        if other not in sketch.edges and len({*other, *pair}) == 3:
            yield other


def _list_other_sizes(sketch: Sketch) -> Iterator[_Resizing]:
    space, n = sketch.space, sketch.n
    if n + 1 in space.sizes:
        for label in range(len(space.node_vocabulary) or 1):
            yield from ((label, edges) for edges in _list_joints(sketch))
    if n - 1 in space.sizes:
        yield from range(space.rules.fixed.pinned, n)


def _list_joints(sketch: Sketch) -> Iterator[dict[Pair, int]]:
    """Edges of a new node that is alone, joined to one node, or put between two."""
    space, n = sketch.space, sketch.n
    if space.connectivity == "none":
        yield {}
    pairs = [pair for pair in space.pairs(n + 1) if n in pair]
    for code in range(max(len(space.edge_ops), 1)):
        yield from ({pair: code} for pair in pairs)
        if space.directed:
            yield from ({(u, n): code, (n, v): code} for u, v in space.pairs(n))


def _resize(sketch: Sketch, change: _Resizing) -> Sketch:
    """The sketch with one node more, given its label and edges, or without a node."""
    if isinstance(change, int):
        return sketch.drop_node(change)
    label, edges = change
    return sketch.copy_with([*sketch.labels, label], {**sketch.edges, **edges})


def _change_label(sketch: Sketch, rng: np.random.Generator) -> bool:
    labels = len(sketch.space.node_vocabulary)
    if labels < 2:
        return False
    v = int(rng.integers(sketch.n))
    sketch.labels[v] = (sketch.labels[v] + int(rng.integers(1, labels))) % labels
    return True


def _change_edge_label(sketch: Sketch, rng: np.random.Generator) -> bool:
    ops = len(sketch.space.edge_ops)
    if ops < 2 or not sketch.edges:
        return False
    pair = list(sketch.edges)[int(rng.integers(len(sketch.edges)))]
    sketch.edges[pair] = (sketch.edges[pair] + int(rng.integers(1, ops))) % ops
    return True


def _change_edge(sketch: Sketch, rng: np.random.Generator) -> bool:
    pairs = sketch.space.pairs(sketch.n)
    if not pairs:
        return False
    pair = pairs[int(rng.integers(len(pairs)))]
    if pair in sketch.edges:
        del sketch.edges[pair]
    else:
        sketch.edges[pair] = int(rng.integers(max(len(sketch.space.edge_ops), 1)))
    return True


def _bend_edge(sketch: Sketch, rng: np.random.Generator) -> bool:
    if not sketch.edges:
        return False
    pair = list(sketch.edges)[int(rng.integers(len(sketch.edges)))]
    bent = list(_list_bent(sketch, pair))
    if not bent:
        return False
    sketch.edges[bent[int(rng.integers(len(bent)))]] = sketch.edges.pop(pair)
    return True


def _change_node(sketch: Sketch, rng: np.random.Generator) -> bool:
    choices = list(_list_other_sizes(sketch))
    if not choices:
        return False
    other = _resize(sketch, choices[int(rng.integers(len(choices)))])
    sketch.labels, sketch.edges = other.labels, other.edges
    return True
