"""Branch and bound as an acquisition optimiser: exact, certified, stoppable at any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import numpy as np

from nasgoat.acquisition.branch.runs import new_run, warm_up
from nasgoat.acquisition.branch.shapes import Skeletons
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Proposal, Status
from nasgoat.errors import SettingError, SurrogateError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import ExponentialPosterior

#: Values of the search and of the surrogate must agree to this; rounding is about 1e-12.
AGREEMENT = 1e-7


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
        self.progress = progress
        self.skeletons = Skeletons.of(space, progress)
        self.nodes_ = 0  # explored in the last call

    def optimize(
        self, acquisition: LowerConfidenceBound, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded.

        The first call in a process loads the compiled search, or compiles it if it never ran on
        this machine (about half a minute); that is not part of the certificate's seconds.

        The certificate says ``optimal``, or ``feasible`` with a bound if the time limit was hit.
        """
        if k < 1:
            raise SettingError(f"the number of proposals must be at least 1, got {k}")
        warm_up(isinstance(acquisition.gp.posterior_, ExponentialPosterior), self.progress)
        start = time.perf_counter()
        best = _Best(self.space, k, exclude)
        left = self._search(acquisition, best, start)
        return _pool(acquisition, best, left, time.perf_counter() - start)

    def _search(self, acquisition: LowerConfidenceBound, best: _Best, start: float) -> float | None:
        """Fill ``best``; returns a bound on what was not explored, None if all was."""
        run = new_run(self.skeletons, acquisition.gp.posterior_, acquisition.sqrt_beta)
        while (found := run.go_on(best.threshold)) is not None:
            for structure, labels, value in found:
                if value < best.threshold:
                    best.offer(self.skeletons.graph(structure, labels), value)
            self.nodes_ = run.nodes
            if self.time_limit is not None and time.perf_counter() - start > self.time_limit:
                return run.open_bound()
        self.nodes_ = run.nodes
        return None


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
