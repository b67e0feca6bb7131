"""Good graphs before the proof starts: random draws, mutations and steepest descent."""

from __future__ import annotations

import time
from collections.abc import Collection

import numpy as np

from nasgoat.acquisition.k_best import KBest
from nasgoat.graphs import LabeledGraph

_DRAWS = 100
_STARTS = 6
_MUTATIONS = 20  # of the best graph, once the descents have ended


def descend(
    pool: KBest,
    rng: np.random.Generator,
    start: Collection[LabeledGraph] = (),
    seconds: float = 10.0,
) -> None:
    """Fill the pool by multi-start local search; proves nothing, but sets a good cut-off.

    Args:
        pool: Where graphs go; it knows space, acquisition, and what is excluded.
        rng: Source of randomness.
        start: Graphs to begin with besides random ones.
        seconds: Time after which no further descent begins.
    """
    deadline = time.monotonic() + seconds
    drawn = [*start, *pool.space.sample(_DRAWS, rng)]
    if not drawn:
        return
    values = pool.add(drawn)
    for i in np.argsort(values, kind="stable")[:_STARTS].tolist():
        _descent(pool, drawn[i], values[i], deadline)
    if pool.found:
        graph = pool.found[0].graph
        mutants = [pool.space.mutate(graph, rng) for _ in range(_MUTATIONS)]
        scores = pool.add(mutants)
        best = int(np.argmin(scores))
        _descent(pool, mutants[best], scores[best], deadline)


def _descent(pool: KBest, graph: LabeledGraph, value: float, deadline: float) -> None:
    while time.monotonic() < deadline:
        neighbours = pool.space.neighbours(graph)
        if not neighbours:
            return
        values = pool.add(neighbours)
        best = int(np.argmin(values))
        if values[best] >= value:
            return
        graph, value = neighbours[best], values[best]
