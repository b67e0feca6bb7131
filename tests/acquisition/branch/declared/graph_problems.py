"""Random acquisition problems over declared graph spaces, small enough for the catalogue."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from nasgoat import GraphSpace, LowerConfidenceBound, ShortestPathKernel
from nasgoat.errors import EmptySpaceError, SpaceError, TooLargeError
from nasgoat.spaces.graph_space import count_choices
from tests.acquisition.branch.problems import Problem, fitted, observed

_MOST = 3_000  # graphs of a space
_CHOICES = 300_000  # ways to put labels and edges on nodes, isomorphic ones counted
_LARGEST = {"undirected": 5, "acyclic": 5, "directed": 4}


def random_graph_space(rng: np.random.Generator) -> GraphSpace:
    """A small declared space that has a graph, half of them with limits."""
    while True:
        try:
            space = _declare(rng)
            if count_choices(space) <= _CHOICES and 1 <= _count(space) <= _MOST:
                return space
        except (SpaceError, EmptySpaceError, TooLargeError):
            continue


def _count(space: GraphSpace) -> int:
    total = 0
    for batch in space.enumerate():
        total += len(batch)
        if total > _MOST:
            break
    return total


def _declare(rng: np.random.Generator) -> GraphSpace:
    direction = str(rng.choice(list(_LARGEST)))
    high = int(rng.integers(1, _LARGEST[direction] + 1))
    low = int(rng.integers(max(high - 1, 1), high + 1))
    nodes, edges = ["a", "b", "c"][: rng.integers(0, 4)], ["x", "y", "z"][: rng.integers(0, 4)]
    declared: dict[str, Any] = {"connectivity": str(rng.choice(["none", "connected", "strong"]))}
    directed = direction != "undirected"
    if directed and rng.integers(2):
        declared |= {"sources": int(rng.integers(0, 3)), "sinks": int(rng.integers(0, 3))}
        if rng.integers(2):
            declared["connectivity"] = "paths"
    for kind in ("in_degree", "out_degree") if directed else ("degree",):
        if rng.integers(2):
            names = ["*", *nodes][: rng.integers(1, 3)]
            least = int(rng.integers(0, 2))
            declared[kind] = {name: (least, int(rng.integers(least, 4))) for name in names}
    if edges and rng.integers(2):
        declared["edge_weights"] = {edges[-1]: 2}
    if rng.integers(2):
        declared["max_edges"] = int(rng.integers(0, 6))
    if rng.integers(4) == 0:
        declared["fixed"] = _fix_parts(rng, low, nodes, edges)
    space = GraphSpace((low, high), nodes, edges, direction, **declared)
    return _constrain(rng, space, [*nodes, *edges])


def _fix_parts(
    rng: np.random.Generator, n: int, nodes: list[str], edges: list[str]
) -> dict[str, Any]:
    fixed: dict[str, Any] = {}
    pairs = [[u, v] for u in range(n) for v in range(n) if u != v]
    if pairs and rng.integers(2):
        pair = pairs[rng.integers(len(pairs))]
        fixed["edges"] = [[*pair, edges[0]] if edges and rng.integers(2) else pair]
    if pairs and rng.integers(2):
        fixed["not_edges"] = [pairs[rng.integers(len(pairs))]]
    if nodes and rng.integers(2):
        fixed["labels"] = {"0": nodes[: rng.integers(1, len(nodes) + 1)]}
    return fixed


def _constrain(rng: np.random.Generator, space: GraphSpace, words: list[str]) -> GraphSpace:
    terms = [*words, "edges", "depth", "nodes"]
    texts = [
        f"{rng.choice(['', '0.3*', '2*'])}{first} + {second} {sense} {rng.integers(1, 5)}"
        for first, second, sense in zip(
            rng.choice(terms, 2), rng.choice(terms, 2), rng.choice(["<=", ">=", "=="], 2),
            strict=True,
        )
    ]  # fmt: skip
    return space.constrain(*texts[: rng.integers(0, 3)])


@lru_cache(maxsize=64)
def random_graph_problem(seed: int) -> Problem:
    """A random space with a random posterior, exclusions and k."""
    rng = np.random.default_rng(seed)
    space = random_graph_space(rng)
    t = int(rng.integers(1, 60))
    kernel = ShortestPathKernel("linear", *np.exp(rng.uniform(-3, 3, size=3)))
    acquisition = LowerConfidenceBound(float(rng.choice([0.0, 1.0, 3.0])))
    graphs = observed(space, t, seed)
    given = acquisition.given(fitted(space, kernel, t, seed))
    excluded = graphs[: int(rng.integers(0, len(graphs) + 1))]
    return Problem(space, given, int(rng.integers(1, 8)), {space.key(g) for g in excluded})


def resized(space: GraphSpace, n: int) -> GraphSpace:
    """The same declaration for exactly n nodes, smaller or larger than before."""
    return replace(space, nodes=(n, n))
