"""Branch and bound as an acquisition optimiser: exact, certified, stoppable at any time."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from nasgoat.acquisition.branch.blas import one_blas_thread
from nasgoat.acquisition.branch.crude import crude_bound
from nasgoat.acquisition.branch.exponential import model_of, structure_bounds
from nasgoat.acquisition.branch.exponential_runs import ExponentialRun
from nasgoat.acquisition.branch.growing import GrowingRun
from nasgoat.acquisition.branch.halves_runs import HalvesRun
from nasgoat.acquisition.branch.limits import limits_of
from nasgoat.acquisition.branch.runs import LinearRun, Run
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.skeletons import OutOfTimeError, Skeletons
from nasgoat.acquisition.branch.states import states_of
from nasgoat.acquisition.branch.tables import factors_of, tables_of
from nasgoat.acquisition.branch.warm_up import warm_up
from nasgoat.acquisition.costs import GROWING, branch_cost
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.lower_confidence_bound import LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import NodeLabeledSpace, SearchSpace
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior, Posterior

_MANY = 20_000  # shapes from which a second thread pays
_MANY_LABELLINGS = 50_000  # labelled graphs of the exponential kernel from which it pays
_LABELLINGS = 20_000  # of one structure, from which products of matrices pay


class BranchAndBound:
    """Finds the best graphs of a space without listing it, and proves that they are.

    Args:
        space: A node-labelled space, or one with operations on the edges of indexed nodes.
        progress: Called with a line of text when something takes long.
        time_limit: Seconds after which the best graphs so far come back, with a valid bound.
        threads: Threads for large problems; the same number gives the same graphs every time.
        prefixes: Whether to search by prefixes of structures; by the cost model if None.
        growing: Prefixes from which on they are not listed but grow node by node.

    Example:
        >>> import numpy as np
        >>> from nasgoat import GraphGP, nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(10, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [5.0 + len(cell.edges) for cell in cells])
        >>> pool = BranchAndBound(space).optimize(LowerConfidenceBound().given(gp), k=5)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap
        (5, 'optimal', 0.0)
    """

    name = "branch"
    cost = staticmethod(branch_cost)

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
        time_limit: float | None = None,
        threads: int = 2,
        prefixes: bool | None = None,
        growing: int = GROWING,
    ) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise SettingError(f"time_limit must be at least 0 seconds, got {time_limit!r}")
        self.space = space
        self.time_limit = time_limit
        self.progress = progress
        self.threads = threads
        self._features = FeatureMap(space)
        self._linear = Skeletons(space, prefixes, progress, growing)
        self._exponential = Skeletons(space, False, progress)
        self.nodes_ = 0  # explored in the last call

    def prepare(self, exponential: bool = False, deadline: float | None = None) -> None:
        """List the structures now: what depends on the space alone, once for all questions."""
        skeletons = self._exponential if exponential else self._linear
        for block in skeletons.blocks(deadline):
            if not exponential and not block.prefixes:
                _ = block.groups

    def optimize(
        self, acquisition: LowerConfidenceBound, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded.

        The first call in a process loads the compiled search, or compiles it if it never ran on
        this machine (about a minute); that is not part of the certificate's seconds.

        The certificate says ``optimal``, or ``feasible`` with a bound if the time limit was hit.
        """
        best = KBest(self.space, acquisition, k, exclude)
        warm_up(isinstance(acquisition.gp.posterior_, ExponentialPosterior), self.progress)
        start = time.perf_counter()
        deadline = None if self.time_limit is None else start + self.time_limit
        with one_blas_thread():
            left = self._search(acquisition, best, deadline)
            seconds = time.perf_counter() - start
            best.rescore()

        def certify(value: float) -> Certificate:
            bound = value if left is None else min(value, left)
            status = Status.OPTIMAL if bound == value else Status.FEASIBLE
            return Certificate(status, value, bound, seconds)

        status = Status.EXHAUSTED if left is None else Status.FEASIBLE
        return best.pool(certify, Certificate(status, None, left, seconds))

    def structures(self, nodes: int, deadline: float | None = None) -> Block | None:
        """The block that lists the structures with so many nodes; None where none does."""
        listing = (b for b in self._linear.blocks(deadline) if not b.prefixes)
        return next((b for b in listing if (b.shapes.nodes == nodes).any()), None)

    def _search(
        self, acquisition: LowerConfidenceBound, best: KBest, deadline: float | None
    ) -> float | None:
        """Fill ``best``; returns a bound on what was not explored, None if all was."""
        posterior, sqrt_beta = acquisition.gp.posterior_, acquisition.sqrt_beta
        self.nodes_ = 0
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                runs = list(self._runs(posterior, sqrt_beta, deadline, pool))
            except OutOfTimeError:
                return crude_bound(self._features, posterior, sqrt_beta)
            for at, run in enumerate(runs):
                if not self._finish(run, best, deadline):
                    return min(other.open_bound() for other in runs[at:])
        return None

    def _runs(
        self,
        posterior: Posterior,
        sqrt_beta: float,
        deadline: float | None,
        pool: ThreadPoolExecutor,
    ) -> Iterator[Run]:
        """A run for every block, small ones first."""
        if isinstance(posterior, ExponentialPosterior):
            yield from self._exponential_runs(posterior, sqrt_beta, deadline, pool)
            return
        if not isinstance(posterior, LinearPosterior):
            raise SettingError(
                "branch and bound must have a linear or exponential kernel, got "
                f"{type(posterior).__name__}; use the catalogue"
            )
        tables = tables_of(self._features, posterior, sqrt_beta)
        crude = functools.cache(lambda: crude_bound(self._features, posterior, sqrt_beta))
        for block in self._linear.blocks(deadline):
            threads = self.threads if len(block.shapes.home) >= _MANY else 1
            states, limits = states_of(block, tables), limits_of(block)
            yield LinearRun(block, tables, states, limits, crude, pool, threads)
        if isinstance(self.space, NodeLabeledSpace):
            for n in self._linear.growing:
                yield GrowingRun(self.space, n, posterior, sqrt_beta, crude, pool, self.threads)

    def _exponential_runs(
        self,
        posterior: ExponentialPosterior,
        sqrt_beta: float,
        deadline: float | None,
        pool: ThreadPoolExecutor,
    ) -> Iterator[Run]:
        factors, model = factors_of(self._features, posterior), model_of(posterior, sqrt_beta)
        for block in self._exponential.blocks(deadline):
            bounds = structure_bounds(block, factors, model)
            limits, labels = limits_of(block), block.labels
            most = labels ** int(block.shapes.variables.max(initial=0))
            threads = self.threads if len(bounds) * most >= _MANY_LABELLINGS else 1
            halves = block.shapes.ends.shape[1] > 0 and most > _LABELLINGS
            run = HalvesRun if halves else ExponentialRun
            yield run(block, factors, model, limits, bounds, pool, threads)

    def _finish(self, run: Run, best: KBest, deadline: float | None) -> bool:
        """Go on until all is explored, or the time is up: then False."""
        before = self.nodes_
        while (found := run.go_on(best.cutoff)) is not None:
            for shape, states, value in found:
                if value < best.cutoff:
                    best.offer(run.block.graph(shape, states), value)
            self.nodes_ = before + run.nodes
            if deadline is not None and time.perf_counter() > deadline:
                return False
        self.nodes_ = before + run.nodes
        return True
