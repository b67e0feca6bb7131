"""Random acquisition problems, small enough for the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nasgoat import (
    DartsSpace,
    EdgeLabeledSpace,
    GraphGP,
    LabeledGraph,
    LowerConfidenceBound,
    NodeLabeledSpace,
    ShortestPathKernel,
)
from nasgoat.acquisition.branch.search import DepthFirstRun
from nasgoat.errors import SpaceError
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import make_posterior

OPS = ["a", "b", "c", "d"]


@dataclass(frozen=True)
class Problem:
    space: SearchSpace
    acquisition: LowerConfidenceBound
    k: int
    exclude: set[bytes]


def observed(space: SearchSpace, t: int, seed: int) -> list[LabeledGraph]:
    """Up to t random graphs, drawn from the list of the space: tight spaces are slow to sample."""
    batches = list(space.enumerate())
    starts = np.cumsum([0, *(len(batch) for batch in batches)])
    chosen = np.random.default_rng(seed).permutation(starts[-1])[:t]
    homes = np.searchsorted(starts, chosen, side="right") - 1
    return [batches[b][i - starts[b]] for b, i in zip(homes, chosen, strict=True)]


def fitted(space: SearchSpace, kernel: ShortestPathKernel, t: int, seed: int) -> GraphGP:
    """A process with the given hyperparameters on t random graphs and a random linear error."""
    rng = np.random.default_rng(seed)
    graphs = observed(space, t, seed)
    gp = GraphGP(space, kernel)
    rows = gp.features.rows(graphs)
    y = rows @ rng.normal(size=rows.shape[1]) + 0.01 * rng.normal(size=len(graphs))
    y = (y - y.mean()) / (y.std() + 1e-9)
    noise = np.full(len(graphs), 1e-3)
    gp.graphs_, gp.targets_ = graphs, y
    gp.posterior_, gp._observed = make_posterior(gp.kernel, rows, noise, y), (rows, y, noise)
    return gp


def random_space(rng: np.random.Generator, largest: int) -> SearchSpace:
    """A small space, half of them with limits."""
    return limit_some(rng, unlimited_space(rng, largest))


def space_of_labelled_edges(rng: np.random.Generator, largest: int) -> SearchSpace:
    """The same with labels on edges, at most ``largest`` nodes."""
    ops = OPS[: int(rng.integers(1, 4))]
    if rng.integers(2):
        n = int(rng.integers(3, 5))
        return limit_some(rng, EdgeLabeledSpace(nodes=n, ops=ops, connected=bool(rng.integers(2))))
    n = int(rng.integers(3, largest + 1))
    return limit_some(rng, DartsSpace(nodes=n, ops=ops if n < 5 else ops[:2]))


def limit_some(rng: np.random.Generator, space: SearchSpace) -> SearchSpace:
    """The space, or half of the time what limits leave of it."""
    texts = ["a <= 1", "edges <= 5", "depth <= 2", "a + edges >= 4", "0.3*a + 0.1*edges <= 1.1"]
    texts = [texts[i] for i in rng.permutation(len(texts))[: int(rng.integers(0, 3))]]
    try:
        limited = space.constrain(*texts)
        return limited if any(len(batch) for batch in limited.enumerate()) else space
    except SpaceError:
        return space


def unlimited_space(rng: np.random.Generator, largest: int) -> SearchSpace:
    ops = OPS[: int(rng.integers(1, 4))]
    kind = int(rng.integers(4))
    if kind == 0:
        n = int(rng.integers(3, 5))
        return EdgeLabeledSpace(nodes=n, ops=ops, connected=bool(rng.integers(2)))
    if kind == 1:
        return DartsSpace(nodes=int(rng.integers(3, 6)), ops=ops[:2])
    high = int(rng.integers(3, largest + 1))
    low = int(rng.integers(2, high + 1))
    return NodeLabeledSpace((low, high), ops, max_edges=int(rng.integers(high - 1, high + 3)))


def random_problem(
    form: str,
    seed: int,
    largest: int = 6,
    draw: Callable[[np.random.Generator, int], SearchSpace] = random_space,
) -> Problem:
    rng = np.random.default_rng(seed)
    space = draw(rng, largest)
    t = int(rng.integers(1, 151))
    alpha, beta, gamma = np.exp(rng.uniform(-3, 3 if form == "linear" else 1, size=3))
    kernel = ShortestPathKernel(form, alpha, beta, gamma)
    gp = fitted(space, kernel, t, seed)
    acquisition = LowerConfidenceBound(float(rng.choice([0.0, 1.0, 3.0]))).given(gp)
    graphs = observed(space, t, seed)
    excluded = graphs[: int(rng.integers(0, len(graphs) + 1))]
    k = int(rng.integers(1, 8))
    return Problem(space, acquisition, k, {space.key(graph) for graph in excluded})


def bound_shapes(run: DepthFirstRun, best: float = np.inf) -> np.ndarray:
    """Bounds of all shapes, without a look below them; where above ``best``, not their best."""
    while not run.bounded:
        run.go_on(best)
    return run.roots
