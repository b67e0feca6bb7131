"""Branch and bound as an acquisition optimiser: exact, certified, stoppable at any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch import search as kernel
from nasgoat.acquisition.branch.arrays import Floats, Stack, new_stack, new_terms
from nasgoat.acquisition.branch.bounds import root_bounds
from nasgoat.acquisition.branch.shapes import Skeletons
from nasgoat.acquisition.branch.tables import tables_of
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Proposal, Status
from nasgoat.errors import SettingError, SurrogateError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

#: A subtree is dropped if its bound exceeds the k-th best value by this: rounding in a bound is
#: about 1e-13, so no better graph is lost to it.
MARGIN = 1e-10
#: Values of the search and of the surrogate must agree to this; rounding is about 1e-12.
AGREEMENT = 1e-7
_PAUSE = 2000  # nodes between two looks at the clock


class BranchAndBound:
    """Finds the best graphs of a space without listing it, and proves that they are.

    Args:
        space: A node-labelled space, or one with operations on the edges of indexed nodes.
        progress: Called with a line of text when something takes long.
        time_limit: Seconds after which the best graphs so far come back, with a valid bound.

    Example:
        >>> from nasgoat import GraphGP, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(10, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [5.0 + len(cell.edges) for cell in cells])
        >>> pool = BranchAndBound(space).optimize(LowerConfidenceBound().given(gp), k=5)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap
        (5, 'optimal', 0.0)
    """

    name = "branch"

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
        time_limit: float | None = None,
    ) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise SettingError(f"time_limit must be at least 0 seconds, got {time_limit!r}")
        self.space = space
        self.time_limit = time_limit
        self.skeletons = Skeletons.of(space, progress)
        self.nodes_ = 0  # explored in the last call

    def optimize(
        self, acquisition: LowerConfidenceBound, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded.

        The certificate says ``optimal``, or ``feasible`` with a bound if the time limit was hit.
        """
        if k < 1:
            raise SettingError(f"the number of proposals must be at least 1, got {k}")
        start = time.perf_counter()
        best = _Best(self.space, k, exclude)
        left = self._search(acquisition, best, start)
        return _pool(acquisition, best, left, time.perf_counter() - start)

    def _search(self, acquisition: LowerConfidenceBound, best: _Best, start: float) -> float | None:
        """Fill ``best``; returns a bound on what was not explored, None if all was."""
        posterior = acquisition.gp.posterior_
        tables, model = tables_of(self.space, posterior, acquisition.sqrt_beta)
        shapes = self.skeletons.shapes
        variables, n = int(shapes.variables.max()), self.space.sizes[-1]
        labels = self.skeletons.labels
        stack = new_stack(variables, labels, tables.path_vector.shape[-1])
        terms = new_terms(variables, labels, n)
        roots = np.empty(len(shapes.nodes))
        root_bounds(tables, model, shapes, stack, terms, 1, roots)
        order = np.argsort(roots, kind="stable")
        found_labels = np.zeros((max(labels, 1), variables), dtype=np.int64)
        found_values = np.zeros(max(labels, 1))
        try:
            while True:
                status, found = kernel.search(
                    tables,
                    model,
                    shapes,
                    stack,
                    terms,
                    order,
                    roots,
                    best.threshold,
                    MARGIN,
                    _PAUSE,
                    found_labels,
                    found_values,
                )
                if status == kernel.DONE:
                    return None
                if status == kernel.FOUND:
                    position = stack.place[kernel.POSITION] - (stack.place[kernel.DEPTH] < 0)
                    for x in range(found):
                        if found_values[x] < best.threshold:
                            graph = self.skeletons.graph(int(order[position]), found_labels[x])
                            best.offer(graph, float(found_values[x]))
                if self.time_limit is not None and time.perf_counter() - start > self.time_limit:
                    return _open_bound(stack, order, roots)
        finally:
            self.nodes_ = int(stack.place[kernel.NODES])


class _Best:
    """The k best graphs so far, each once up to isomorphism, none of the excluded ones."""

    def __init__(self, space: SearchSpace, k: int, exclude: Collection[bytes]) -> None:
        self.space = space
        self.k = k
        self.taken = set(exclude)
        self.entries: list[tuple[float, LabeledGraph]] = []

    @property
    def threshold(self) -> float:
        """What a graph must be better than to enter."""
        return self.entries[-1][0] if len(self.entries) == self.k else np.inf

    def offer(self, graph: LabeledGraph, value: float) -> None:
        key = self.space.key(graph)
        if key not in self.taken:
            self.taken.add(key)
            self.entries.append((value, graph))
            self.entries.sort(key=lambda entry: entry[0])
            del self.entries[self.k :]


def _open_bound(stack: Stack, order: NDArray[np.int64], roots: Floats) -> float:
    """A lower bound on everything that the stopped search has not explored."""
    position, depth = stack.place[kernel.POSITION], stack.place[kernel.DEPTH]
    waiting = order[position + (depth >= 0) :]
    lowest = float(roots[waiting[0]]) if len(waiting) else np.inf
    for t in range(depth + 1):
        if stack.next[t] < stack.order.shape[1]:
            label = stack.order[t, stack.next[t]]
            lowest = min(lowest, float(stack.move_bound[t, stack.variable[t], label]))
    return lowest


def _pool(
    acquisition: LowerConfidenceBound, best: _Best, left: float | None, seconds: float
) -> Pool:
    if not best.entries:
        status = Status.EXHAUSTED if left is None else Status.FEASIBLE
        return Pool((), Certificate(status, None, left, seconds))
    graphs = [graph for _, graph in best.entries]
    mean, std = acquisition.gp.predict(graphs)
    values = acquisition.combine(mean, std)
    for (found, graph), value in zip(best.entries, values.tolist(), strict=True):
        if not abs(found - value) <= AGREEMENT * (1 + abs(value)):
            raise SurrogateError(
                f"the search and the surrogate must agree on a graph's value, got {found!r} and "
                f"{value!r} for {graph.to_json()}"
            )
    proposals = []
    for i in np.argsort(values, kind="stable").tolist():
        value = float(values[i])
        bound = value if left is None else min(value, left)
        status = Status.OPTIMAL if bound == value else Status.FEASIBLE
        certificate = Certificate(status, value, bound, seconds)
        proposals.append(Proposal(graphs[i], certificate, float(mean[i]), float(std[i])))
    return Pool(tuple(proposals), proposals[0].certificate)
