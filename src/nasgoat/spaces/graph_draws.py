"""Random graphs of a declared space.

A draw puts random labels on nodes, joins them so that the declaration's connectivity has a chance,
adds random edges, and is repeated until everything demanded holds; a space that is small enough is
listed where that keeps failing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nasgoat.errors import EmptySpaceError, SpaceError, TooLargeError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.graph_moves import Sketch
from nasgoat.spaces.limits import Pair
from nasgoat.spaces.moves import LISTABLE

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

_DRAWS = 40


def draw(space: GraphSpace, rng: np.random.Generator) -> LabeledGraph:
    """One random graph of the space.

    Raises:
        EmptySpaceError: If the space has no graph.
        SpaceError: If none was found and the space is too large to be listed.
    """
    for _ in range(_DRAWS):
        sketch = _sketch_at_random(space, rng)
        if sketch is not None:
            graph = sketch.make_graph()
            if space.rules.fits(space.batch([graph]))[0]:
                return graph
    batches = space.first_graphs
    total = sum(len(batch) for batch in batches)
    if not total:
        raise EmptySpaceError(f"the space must have a graph, got none: {space._describe()}")
    i = int(rng.integers(total))
    for batch in batches:
        if i < len(batch):
            return batch[i]
        i -= len(batch)
    raise AssertionError("the place of a listed graph must be less than their number")


def list_first_graphs(space: GraphSpace) -> list[GraphBatch]:
    """The first graphs of a space, up to a number that is still quick to list."""
    batches: list[GraphBatch] = []
    try:
        for batch in space._enumerate():
            batches.append(batch)
            if sum(len(other) for other in batches) > LISTABLE:
                break
    except TooLargeError:
        if not batches:
            raise SpaceError(
                "the declaration must allow a graph that can be found, got none by random search"
            ) from None
    return batches


def _sketch_at_random(space: GraphSpace, rng: np.random.Generator) -> Sketch | None:
    """Random labels and edges that keep to the largest degrees; None if they got stuck."""
    n = int(rng.integers(space.sizes[0], space.sizes[-1] + 1))
    sketch = Sketch(space, _draw_labels(space, n, rng), {})
    builder = _Builder(sketch, rng)
    if not builder.add_fixed_edges() or not builder.connect():
        return None
    builder.add_least_degrees()
    builder.add_more_edges()
    return sketch


def _draw_labels(space: GraphSpace, n: int, rng: np.random.Generator) -> list[int]:
    """Random labels of n nodes, sources and sinks among them, within what is fixed."""
    first, last = int(space.sources > 0), len(space.node_vocabulary) - 1
    ops = range(first, first + len(space.node_ops))
    labels = [int(rng.choice(ops)) if ops else 0 for _ in range(n)]
    ends = [0] * space.sources + [last] * space.sinks
    pinned = space.rules.fixed.labels
    free = [v for v in range(n) if v not in pinned]
    for v, allowed in pinned.items():
        labels[v] = int(rng.choice(sorted(allowed)))
        if labels[v] in ends and ((labels[v] == 0 and space.sources) or labels[v] == last):
            ends.remove(labels[v])
    # Sources first and sinks last, as an order of the nodes in which edges ascend has them.
    in_order = [*range(space.sources), *range(n - space.sinks, n)]
    places = rng.permutation(free).tolist() if pinned else in_order
    for v, label in zip(places, ends, strict=False):
        labels[int(v)] = label
    return labels


class _Builder:
    """Adds edges to a sketch as long as the largest degrees allow."""

    def __init__(self, sketch: Sketch, rng: np.random.Generator) -> None:
        self.sketch, self.rng, self.space = sketch, rng, sketch.space
        self.rules = sketch.space.rules
        n = sketch.n
        self.into, self.out = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
        # Acyclic graphs: edges follow a random order of the nodes, sources first, sinks last.
        pinned = self.rules.fixed.pinned
        self.order = rng.permutation(n) if pinned else np.arange(n)

    def add_fixed_edges(self) -> bool:
        return all(
            self._add(pair, code if code >= 0 else None)
            for pair, code in self.rules.fixed.edges.items()
        )

    def connect(self) -> bool:
        """A random tree, a random cycle, or an edge into and out of every node."""
        n, kind = self.sketch.n, self.space.connectivity
        if kind == "none" or n == 1:
            return True
        if kind == "strong" and self.space.directed:
            cycle = self.rng.permutation(n).tolist()
            steps = zip(cycle, cycle[1:] + cycle[:1], strict=True)
            return all(self._add((u, v)) for u, v in steps if (u, v) not in self.sketch.edges)
        if kind == "paths":
            return self._join_by_paths()
        order = self.rng.permutation(n).tolist()
        for i, v in enumerate(order[1:], start=1):
            earlier = self.rng.permutation(order[:i]).tolist()
            if not any(self._add((u, v)) or self._add((v, u)) for u in earlier):
                return False
        return True

    def _join_by_paths(self) -> bool:
        order = self.order.tolist()
        for i, v in enumerate(order):
            if self.rules.degree_in.high[self.sketch.labels[v]] > 0 and self.into[v] == 0:
                before = self.rng.permutation(order[:i]).tolist()
                if not any(self._add((u, v)) for u in before) and self.space.sources:
                    return False
        for i, u in enumerate(order):
            high = self.rules.degree_out.high[self.sketch.labels[u]]
            if self.space.sinks and high > 0 and self.out[u] == 0:
                after = self.rng.permutation(order[i + 1 :]).tolist()
                if not any(self._add((u, v)) for v in after):
                    return False
        return True

    def add_least_degrees(self) -> None:
        """Edges at nodes that have too few."""
        for v, label in enumerate(self.sketch.labels):
            others = [u for u in self.rng.permutation(self.sketch.n).tolist() if u != v]
            for u in others:
                if self.into[v] < self.rules.degree_in.low[label]:
                    self._add((u, v))
                if self.space.directed and self.out[v] < self.rules.degree_out.low[label]:
                    self._add((v, u))

    def add_more_edges(self) -> None:
        """Random edges, each with a random probability, up to a random number."""
        most = self.rules.max_edges
        if self.rng.random() < 0.7:  # sparse graphs more often than dense ones
            most = min(most, self.sketch.n + int(self.rng.integers(0, 4)))
        density = self.rng.random()
        pairs = self.space.pairs(self.sketch.n)
        for i in self.rng.permutation(len(pairs)).tolist():
            short = len(self.sketch.edges) < self.rules.min_edges
            if len(self.sketch.edges) >= max(most, self.rules.min_edges):
                return
            if short or self.rng.random() < density:
                self._add(pairs[i])

    def _add(self, pair: Pair, code: int | None = None) -> bool:
        """Add an edge with a random operation that fits; False if none does or it is there."""
        u, v = pair if self.space.directed or pair[0] < pair[1] else pair[::-1]
        if (u, v) in self.sketch.edges or len(self.sketch.edges) >= self.rules.max_edges:
            return False
        if self.space.direction == "acyclic" and self._rank(u) > self._rank(v):
            return False
        barred = self.rules.fixed.not_edges.get((u, v), frozenset())
        weights = self.rules.weights if len(self.rules.weights) else np.ones(1, dtype=int)
        codes = [code] if code is not None else self.rng.permutation(len(weights)).tolist()
        for choice in codes:
            if choice not in barred and self._fits(u, v, int(weights[choice])):
                self.sketch.edges[u, v] = choice
                return True
        return False

    def _rank(self, v: int) -> int:
        return int(np.flatnonzero(self.order == v)[0])

    def _fits(self, u: int, v: int, weight: int) -> bool:
        labels, rules = self.sketch.labels, self.rules
        if self.into[v] + weight > rules.degree_in.high[labels[v]]:
            return False
        if self.out[u] + weight > rules.degree_out.high[labels[u]]:
            return False
        self.into[v] += weight
        self.out[u] += weight
        if not self.space.directed:
            self.into[u] += weight
            self.out[v] += weight
        return True
