"""Random draws and mutations that keep to limits, for any space.

A draw is repeated until the limits hold; where that keeps failing, a graph walks towards them, each
step to the neighbour that is least beyond its limits; a space that is small enough is listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import EmptySpaceError, SpaceError
from nasgoat.graphs import LabeledGraph

if TYPE_CHECKING:
    from nasgoat.spaces.search_space import SearchSpace

LISTABLE = 200_000  # graphs of a space that is listed where random draws keep failing
_DRAWS = 30
_WALKS = 8
_PATIENCE = 5  # steps without progress before a walk ends
_ROUNDS = 4  # of mutations, each a wider step than the last


def draw(space: SearchSpace, rng: np.random.Generator) -> LabeledGraph:
    """One random graph that satisfies every limit.

    Raises:
        SpaceError: If limits leave no graph, or so few that none was found.
    """
    for _ in range(_DRAWS):
        graph = space._draw(rng)
        if space.within_limits([graph])[0]:
            return graph
    for _ in range(_WALKS):
        walked = _walk(space, space._draw(rng), rng)
        if walked is not None:
            return walked
    if space.size_bound() > LISTABLE:
        raise SpaceError(
            "the limits must leave a graph that can be found, got none by random search; "
            "nasgoat space check decides whether there is one"
        )
    graphs = [graph for batch in space.enumerate() for graph in batch]
    if not graphs:
        raise no_graph(space)
    return graphs[int(rng.integers(len(graphs)))]


def no_graph(space: SearchSpace) -> EmptySpaceError:
    """The error of limits that nothing satisfies."""
    said = ", ".join(limit.text for limit in space.all_limits)
    return EmptySpaceError(f"the limits must leave at least one graph, got none under {said}")


def variants(
    space: SearchSpace,
    graph: LabeledGraph,
    count: int,
    rng: np.random.Generator,
    edits: int = 1,
) -> list[LabeledGraph]:
    """Mutations that satisfy every limit; random graphs where too few of them do."""
    key = space.key(graph)
    found: list[LabeledGraph] = []
    for wider in range(_ROUNDS):
        tried = space._variants(graph, 3 * count + 4, rng, edits + wider)
        fits = space.within_limits(tried)
        found += [g for g, fit in zip(tried, fits, strict=True) if fit and space.key(g) != key]
        if len(found) >= count:
            return found[:count]
    near = space.neighbours(graph)
    while len(found) < count and near:
        found.append(near[int(rng.integers(len(near)))])
    if len(found) < count:
        found += space.sample(count - len(found), rng, {key})
    while len(found) < count:  # hardly any other graph is in the space
        found.append(found[0] if found else graph)
    return found


def _walk(space: SearchSpace, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph | None:
    """Steps to the neighbour least beyond its limits, ties at random, until none is exceeded."""
    scale = np.array([max(1.0, abs(limit.bound)) for limit in space.all_limits])
    best, since = np.inf, 0
    while since < _PATIENCE:
        near = space._neighbours(graph)
        if not near:
            return None
        beyond = _beyond(space, near, scale)
        since = 0 if beyond.min() < best else since + 1
        best = min(best, float(beyond.min()))
        least = np.flatnonzero(beyond <= beyond.min() + 1e-12)
        graph = near[int(rng.choice(least))]
        if space.within_limits([graph])[0]:
            return graph
    return None


def _beyond(
    space: SearchSpace, graphs: list[LabeledGraph], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """By how much each graph is beyond its limits in all, each limit in units of its bound."""
    found = np.zeros(len(graphs))
    totals = space.limit_totals(graphs)
    for limit, total, unit in zip(space.all_limits, totals, scale, strict=True):
        found += np.maximum(limit.excess(total), 0.0) / unit
    return found
