"""The exponential kernel: bounds of structures (Lemma 6), and the search below them.

Notation
    Q     k_lin of a graph with itself;  κ = σ² exp(Q) its prior variance
    k, L  kernel vector and Cholesky factor of K;  v = ‖L⁻¹ k‖²;  s = ‖L⁻¹ y‖
    value a·k - √β √(κ - v), a = K⁻¹ y

By Cauchy and Schwarz a·k = (L⁻¹ y)·(L⁻¹ k) ≥ -s √v, and v ≤ κ because a variance is never negative.
So the value is at least -s √v - √β √(κ - v) ≥ -√(s² + β) √κ. What is left is to bound Q.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from nasgoat.acquisition.branch.blocks import Block
from nasgoat.acquisition.branch.labellings import (
    Factors,
    Labelling,
    Model,
    new_labelling,
    search_labellings,
)
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    NODES,
    POSITION,
    SHAPE,
    Floats,
    Integers,
    LimitRows,
)
from nasgoat.acquisition.branch.runs import MARGIN, Found
from nasgoat.acquisition.branch.threads import map_in_threads

_PAUSE = 50_000  # nodes between two looks at the clock, some 20 ms


def bound_exponential(block: Block, factors: Factors, model: Model) -> Floats:
    """A lower bound of every structure (Lemma 6), with the largest Q that its labels allow."""
    # L⁻¹ y = Lᵀ a, and Lᵀ is the inverse of the transposed whitening.
    s = np.linalg.solve(model.whitening.T, model.dual) if len(model.dual) else np.zeros(0)
    variance, sqrt_beta = model.settings
    factor = -np.sqrt((s @ s + sqrt_beta**2) * variance)
    largest = np.zeros(len(block.shapes.nodes))
    for size in np.unique(block.shapes.size):
        rows = np.flatnonzero(block.shapes.size == size)
        largest[rows] = _bound_squares(block, factors, int(size), rows)
    bounds: Floats = factor * np.exp(np.minimum(largest / 2, 700.0))
    return bounds


def _bound_squares(block: Block, factors: Factors, size: int, rows: Integers) -> Floats:
    """An upper bound on Q = Σ_f λ_f z_f² for structures of one size.

    Pairs of nodes are alike if each end is the source, inner or the sink in both (with indexed
    nodes: the same node), at one distance. A count z is largest if all pairs that are alike have
    the same labels.
    """
    shapes, squares = block.shapes, factors.square[size]
    n, indexed = int(shapes.nodes[rows[0]]), shapes.ends.shape[1] > 0
    codes = _list_codes(factors, n, indexed)
    distance = shapes.distance[rows]
    counts: dict[tuple[int, int, int], Floats] = defaultdict(lambda: np.zeros(len(rows)))
    role = [u if indexed else (0 if u == 0 else 2 if u == n - 1 else 1) for u in range(n)]
    for u in range(n):
        counts[0, role[u], role[u]] += 1.0
        for v in range(u + 1, n):
            for d in range(1, n):
                counts[d, role[u], role[v]] += distance[:, u, v] == d
    total = np.zeros(len(rows))
    for (d, a, b), count in counts.items():
        columns = factors.path_column[d][np.ix_(codes[a], codes[b])]
        total += squares[np.diag(columns) if d == 0 else columns].max() * count**2
    if indexed:
        weights = squares[factors.edge_column].max(axis=2)
        total += (block.adjacency[rows] * weights).sum(axis=(1, 2))
    return total


def _list_codes(factors: Factors, n: int, indexed: bool) -> list[list[int]]:
    """The label codes that a node of each role can have."""
    if indexed:
        return [[u] for u in range(n)]
    last = factors.path_column.shape[1] - 1
    return [[0], list(range(1, last)) or [0], [last]]


@dataclass
class _Worker:
    """The state of one thread."""

    state: Labelling
    order: Integers
    done: bool = False


class ExponentialRun:
    """Every labelling of every structure whose bound does not rule it out.

    Args:
        block: The structures.
        factors, model, limits: What the posterior and the space say about them.
        roots: A lower bound of each structure.
        pool: Threads to share the work, or None.
        threads: How many.
    """

    def __init__(
        self,
        block: Block,
        factors: Factors,
        model: Model,
        limits: LimitRows,
        roots: Floats,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        self._arrays = (factors, model, block.shapes, limits)
        self.block = block
        self._pool, self.roots = pool, roots
        order = np.argsort(roots, kind="stable")
        variables = max(int(block.shapes.variables.max()), 1)
        sizes = (variables, block.labels, len(model.dual), factors.square.shape[1])
        self._workers = [
            _Worker(new_labelling(*sizes, limits), order[j::threads].copy()) for j in range(threads)
        ]

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return sum(int(worker.state.place[NODES]) for worker in self._workers)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        working = [worker for worker in self._workers if not worker.done]
        if not working:
            return None
        answers = map_in_threads(self._pool, lambda worker: self._step(worker, best), working)
        return [found for answer in answers for found in answer]

    def _step(self, worker: _Worker, best: float) -> list[Found]:
        state = worker.state
        mine = (state, self.block.labels, worker.order, self.roots)
        status, value = search_labellings(*self._arrays, *mine, best, MARGIN, _PAUSE)
        worker.done = status == DONE
        if status != FOUND:
            return []
        return [(int(state.place[SHAPE]), state.labels.copy(), float(value))]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        lowest = np.inf
        for worker in self._workers:
            place = worker.state.place
            waiting = worker.order[place[POSITION] :][:1].tolist()
            current = [int(place[SHAPE])] if place[DEPTH] >= 0 else []
            lowest = min([lowest, *self.roots[current + waiting].tolist()])
        return lowest
