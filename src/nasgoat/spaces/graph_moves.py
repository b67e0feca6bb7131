"""Random draws, mutation and neighbours in a declared graph space.

A draw puts random labels on nodes, joins them so that the declaration's connectivity has a chance,
adds random edges, and is repeated until everything demanded holds; a space that is small enough is
listed where that keeps failing. Moves change one label, add, remove or bend one edge, or add or
remove one node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from nasgoat.errors import EmptySpaceError, SpaceError, TooLargeError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.graph_sketch import Sketch
from nasgoat.spaces.moves import LISTABLE

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

_DRAWS = 40
_TRIES = 60  # random moves before all neighbours are listed


def draw(space: GraphSpace, rng: np.random.Generator) -> LabeledGraph:
    """One random graph of the space.

    Raises:
        EmptySpaceError: If the space has no graph.
        SpaceError: If none was found and the space is too large to be listed.
    """
    for _ in range(_DRAWS):
        sketch = Sketch.random(space, rng)
        if sketch is not None:
            graph = sketch.graph()
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


def first_graphs(space: GraphSpace) -> list[GraphBatch]:
    """The graphs of a space, or as many of the first as are worth listing."""
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


def mutate(space: GraphSpace, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
    """A random graph one move away; a random one if there is none, the same if it is the only."""
    key = space.key(graph)
    moves = (_label_move, _edge_label_move, _edge_move, _edge_move, _bend_move, _node_move)
    for _ in range(_TRIES):
        sketch = Sketch.of(space, graph)
        if moves[int(rng.integers(len(moves)))](sketch, rng):
            other = sketch.graph()
            if space.rules.fits(space.batch([other]))[0] and space.key(other) != key:
                return other
    near = neighbours(space, graph)
    if near:
        return near[int(rng.integers(len(near)))]
    others = space.with_limits(()).sample(1, rng, {key})
    return others[0] if others else graph


def neighbours(space: GraphSpace, graph: LabeledGraph) -> list[LabeledGraph]:
    """Graphs one label, one edge, one bent edge or one node away."""
    candidates = [sketch.graph() for sketch in _all_moves(Sketch.of(space, graph))]
    if not candidates:
        return []
    found = {space.key(graph): graph}
    fits = space.rules.fits(space.batch(candidates))
    for other, fit in zip(candidates, fits, strict=True):
        if fit:
            found.setdefault(space.key(other), other)
    return list(found.values())[1:]


def _all_moves(sketch: Sketch) -> Iterator[Sketch]:
    yield from _other_labels(sketch)
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
        for bent in _bend(sketch, pair):
            yield sketch.copy_with(edges={**without, bent: sketch.edges[pair]})
    yield from _other_sizes(sketch)


def _other_labels(sketch: Sketch) -> Iterator[Sketch]:
    for v in range(sketch.n):
        for label in range(len(sketch.space.node_vocabulary)):
            if label != sketch.labels[v]:
                labels = [*sketch.labels]
                labels[v] = label
                yield sketch.copy_with(labels=labels)


def _bend(sketch: Sketch, pair: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The pairs without an edge that share an end with this one."""
    for other in sketch.space.pairs(sketch.n):
        if other not in sketch.edges and len({*other, *pair}) == 3:
            yield other


def _other_sizes(sketch: Sketch) -> Iterator[Sketch]:
    space, n = sketch.space, sketch.n
    if n + 1 in space.sizes:
        for label in range(len(space.node_vocabulary) or 1):
            yield from _join(sketch, label)
    if n - 1 in space.sizes:
        for v in range(space.rules.fixed.pinned, n):
            yield sketch.without(v)


def _join(sketch: Sketch, label: int) -> Iterator[Sketch]:
    """With a new node that is alone, joined to one node, or put between two."""
    space, n = sketch.space, sketch.n
    larger = sketch.copy_with(labels=[*sketch.labels, label])
    if space.connectivity == "none":
        yield larger
    pairs = [pair for pair in space.pairs(n + 1) if n in pair]
    for code in range(max(len(space.edge_ops), 1)):
        for pair in pairs:
            yield larger.copy_with(edges={**sketch.edges, pair: code})
        if space.directed:
            for u, v in space.pairs(n):
                yield larger.copy_with(edges={**sketch.edges, (u, n): code, (n, v): code})


_Move = Callable[[Sketch, np.random.Generator], bool]


def _label_move(sketch: Sketch, rng: np.random.Generator) -> bool:
    labels = len(sketch.space.node_vocabulary)
    if labels < 2:
        return False
    v = int(rng.integers(sketch.n))
    sketch.labels[v] = (sketch.labels[v] + int(rng.integers(1, labels))) % labels
    return True


def _edge_label_move(sketch: Sketch, rng: np.random.Generator) -> bool:
    ops = len(sketch.space.edge_ops)
    if ops < 2 or not sketch.edges:
        return False
    pair = list(sketch.edges)[int(rng.integers(len(sketch.edges)))]
    sketch.edges[pair] = (sketch.edges[pair] + int(rng.integers(1, ops))) % ops
    return True


def _edge_move(sketch: Sketch, rng: np.random.Generator) -> bool:
    pairs = sketch.space.pairs(sketch.n)
    if not pairs:
        return False
    pair = pairs[int(rng.integers(len(pairs)))]
    if pair in sketch.edges:
        del sketch.edges[pair]
    else:
        sketch.edges[pair] = int(rng.integers(max(len(sketch.space.edge_ops), 1)))
    return True


def _bend_move(sketch: Sketch, rng: np.random.Generator) -> bool:
    if not sketch.edges:
        return False
    pair = list(sketch.edges)[int(rng.integers(len(sketch.edges)))]
    bent = list(_bend(sketch, pair))
    if not bent:
        return False
    sketch.edges[bent[int(rng.integers(len(bent)))]] = sketch.edges.pop(pair)
    return True


def _node_move(sketch: Sketch, rng: np.random.Generator) -> bool:
    choices = list(_other_sizes(sketch))
    if not choices:
        return False
    other = choices[int(rng.integers(len(choices)))]
    sketch.labels, sketch.edges = other.labels, other.edges
    return True
