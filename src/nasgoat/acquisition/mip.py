"""Acquisition optimisation as the paper does it: a mixed-integer program for each number of nodes.

Sizes are solved one after the other; what one finds is the cut-off of the next, and all fill one
pool of the k best graphs. The work happens in a child process with a time and a memory limit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from copy import copy
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.cells.composition_bounds import choose_columns
from nasgoat.acquisition.costs import forecast_mip
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.local_search import (
    fill_up,
    has_too_many_features,
    search_locally,
)
from nasgoat.acquisition.lower_confidence_bound import Acquisition, LinearAcquisition
from nasgoat.acquisition.minimum_by_lines import trace_frontier
from nasgoat.acquisition.mip_sizes import (
    WARM_SHARE,
    MipAnswer,
    MipProblem,
    load_solver,
    solve_sizes,
)
from nasgoat.acquisition.part_sums import Engine, Sieve
from nasgoat.acquisition.proposals import Pool
from nasgoat.acquisition.relaxation import minimize_parts, require_bounded
from nasgoat.acquisition.several_objectives import SeveralAcquisition
from nasgoat.child_process import OUR_OWN, ChildProcess, Message
from nasgoat.errors import ChildError, SettingError, TooLargeError, UnknownNameError
from nasgoat.formulations.structure_columns import StructureColumns
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import block_names, keep_bounded, require_bounded_blocks
from nasgoat.process_tree import HAS_GROUPS
from nasgoat.progress import say_if_slow
from nasgoat.solvers import SolveLimits, SolverError
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate.posterior import LinearPosterior, require_known_form
from nasgoat.upper_layers import FORMULATIONS, SOLVERS

logger = logging.getLogger(__name__)

_GRACE = 1.0  # seconds that a solver may overrun its limit before its process is killed
_LONGEST_LOOK = 10.0  # seconds of local search in place of a program
_STARTING = 60.0  # seconds for its process to start, which are not part of the limit
_LEAST = 0.1  # seconds that a solver has in any case
_WARM_SECONDS = 3.0  # for branch and bound to find the first graphs


class MipOptimizer:
    """The k best graphs by mixed-integer programming, with the bound that was proven.

    Args:
        space: The space to optimise over.
        progress: Called with a line of text now and then.
        solver: ``"scip"`` or ``"gurobi"``.
        formulation: ``"compact"`` or ``"paper"``.
        limits: Time, gap, threads, memory and nodes.
        child: Whether to solve in a child process that can be stopped.
        seed: Seed of the local search that finds the first graphs.
        independent: Begin from local search alone, and hold every structure: the proof is then the
            solver's alone. Otherwise, where branch and bound applies, a few seconds of it give the
            first graphs, and its bounds say which structures the model need not hold.

    Example:
        >>> from nasgoat import EdgeLabeledSpace, GraphGP, LowerConfidenceBound
        >>> space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        >>> cells = space.sample(5, np.random.default_rng(0))
        >>> gp = GraphGP(space).fit(cells, [1.0 + len(cell.edges) for cell in cells])
        >>> pool = MipOptimizer(space, child=False).optimize(LowerConfidenceBound().given(gp), k=2)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap <= 1e-4
        (2, 'optimal', True)
    """

    cost = staticmethod(forecast_mip)

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks that a kernel may have here, all of them together."""
        return keep_bounded(self.space, block_names(), program=True)

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = None,
        solver: str = "scip",
        formulation: str = "compact",
        limits: SolveLimits | None = None,
        child: bool = True,
        seed: int = 0,
        independent: bool = False,
    ) -> None:
        if solver not in SOLVERS:
            raise UnknownNameError("solver", solver, SOLVERS)
        if formulation not in FORMULATIONS:
            raise UnknownNameError("formulation", formulation, FORMULATIONS)
        if space.cells:
            raise SettingError(
                "the MIP must have one cell, as a program has the variables of one graph, "
                f"got the cells {', '.join(space.cells)}; use branch or the catalogue"
            )
        self.space = space
        self.progress = progress
        self.name = solver
        self.formulation = formulation
        self.limits = limits or SolveLimits()
        self.seed = seed
        self._first = None if independent else self._branch_and_bound()
        self.last_: MipAnswer = MipAnswer()
        memory = self.limits.memory_mb * 2**20
        self._child = ChildProcess("the solver", OUR_OWN, memory) if child and HAS_GROUPS else None

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded; status and bound say what is proven."""
        if has_too_many_features(acquisition):
            seconds = min(self.limits.seconds, _LONGEST_LOOK)
            return search_locally(self.space, acquisition, k, exclude, seconds, self.seed)
        if isinstance(acquisition, SeveralAcquisition):
            return self._minimize_several(acquisition, k, exclude)
        if (linear := acquisition.linear) is None:
            limit, solve, gap = self.limits.seconds, self._minimize, self.limits.gap
            return trace_frontier(acquisition, self.space, solve, k, exclude, limit, gap)
        return self._minimize(linear, k, exclude)

    def _minimize_several(
        self, acquisition: SeveralAcquisition, k: int, exclude: Collection[bytes]
    ) -> Pool:
        """The k best graphs under a function of several parts (acquisition/relaxation.py)."""
        require_bounded(acquisition, "the MIP")
        engine = self.engine.limit(acquisition.known_limits.values())
        best = KBest(engine.space, acquisition, k, exclude, self.limits.gap)
        return minimize_parts(acquisition, engine, best, self.limits.seconds)

    @property
    def engine(self) -> Engine:
        """What minimises lower confidence bounds for other functions."""

        def solve(
            acquisition: LinearAcquisition, k: int, exclude: Collection[bytes], end: float | None
        ) -> Pool:
            return self._hurry(end)._minimize(acquisition, k, exclude)

        asked = self.space, solve, self._sift
        return Engine(*asked, lambda limits: self._limit(limits).engine, quick=False)

    def _limit(self, limits: Collection[Limit]) -> MipOptimizer:
        """The same optimiser within further limits."""
        limited = copy(self)
        limited.space = self.space.constrain(*limits)
        limited._first = limited._first and limited._branch_and_bound()
        return limited

    def _hurry(self, deadline: float | None) -> MipOptimizer:
        """The same optimiser with the time that is left."""
        if deadline is None:
            return self
        hurried = copy(self)
        left = max(deadline - time.perf_counter(), 0.01)
        hurried.limits = replace(self.limits, seconds=min(left, self.limits.seconds))
        return hurried

    def _sift(
        self, acquisition: LinearAcquisition, sieve: Sieve, deadline: float | None
    ) -> float | None:
        """Offer the sieve every graph below its cut-off; a bound on what was not looked at."""
        mip, best, answer = self._hurry(deadline), sieve.best, MipAnswer()
        try:
            mip._work(mip._pose(acquisition, best, sieve=sieve), answer)
        except (SolverError, ChildError) as failure:
            logger.warning("%s; going on with the best graphs found so far", failure)
            return -inf
        best.add(answer.graphs)
        return None if answer.complete else answer.bound

    def _minimize(
        self,
        acquisition: LinearAcquisition,
        k: int,
        exclude: Collection[bytes],
        deadline: float | None = None,
    ) -> Pool:
        """Find first graphs, choose columns, solve, and say what the answers prove."""
        pool = KBest(self.space, acquisition, k, exclude, self.limits.gap)
        require_bounded_blocks(self.space, acquisition.features.blocks, "the MIP", True)
        require_known_form(acquisition.posterior)  # said here, not by a process that dies of it
        self._load_code(acquisition)
        start = time.perf_counter()
        with say_if_slow(self.progress, "preparing the program"):
            first = self._find_first_graphs(acquisition, k, exclude)
            columns = self._find_columns(acquisition, pool, first)
        problem = self._pose(acquisition, pool, start=first, columns=columns)
        problem = replace(problem, limits=self._shorten_limits(start))
        answer = MipAnswer()
        try:
            with say_if_slow(self.progress, f"{self.name} is at work"):
                self._work(problem, answer)
        except (SolverError, ChildError) as failure:
            # The graphs found so far stand, without a proof (reliability: fall back, say so).
            logger.warning("%s; going on with the best graphs found so far", failure)
            answer.reports.clear()
        self.last_ = answer
        pool.add(answer.graphs)
        if not answer.complete:
            fill_up(pool, np.random.default_rng(self.seed))
        return answer.certify(pool, time.perf_counter() - start)

    def _pose(self, acquisition: LinearAcquisition, best: KBest, **more: Any) -> MipProblem:
        """What the child process is asked: the graphs that ``best`` is to hold."""
        asked = self.space, acquisition, best.k, frozenset(best.exclude)
        how = self.name, self.formulation, self.limits
        return MipProblem(*asked, *how, seed=self.seed, **more)

    def _shorten_limits(self, start: float) -> SolveLimits:
        """What is left of the limits of a question that began so long ago."""
        left = self.limits.seconds - (time.perf_counter() - start)
        return replace(self.limits, seconds=max(left, _LEAST))

    def _branch_and_bound(self) -> BranchAndBound | None:
        """For the first graphs, and for bounds; None where it does not apply."""
        seconds = min(_WARM_SECONDS, WARM_SHARE * self.limits.seconds)
        try:
            megabytes = self.limits.memory_mb
            return BranchAndBound(self.space, time_limit=seconds, memory=megabytes)
        except SettingError:
            return None

    def _load_code(self, acquisition: LinearAcquisition) -> None:
        """Load what finds the first graphs, and the solver: once, and not part of a question."""
        if self._first is not None:
            with suppress(SettingError):  # it does not apply, as will be seen
                self._first.load_code(not isinstance(acquisition.posterior, LinearPosterior))
        self._start_child(acquisition)

    def _start_child(self, acquisition: LinearAcquisition) -> ChildProcess | None:
        """The process that solves, with the solver loaded; None if this one has to."""
        # A class of the script that runs can't be imported by another process, and neither are
        # blocks of the user's own known there.
        blocks = acquisition.features.codes.values()
        own_blocks = any(not code.block.count.__module__.startswith("nasgoat.") for code in blocks)
        if self._child is None or type(self.space).__module__ == "__main__" or own_blocks:
            return None
        with suppress(ChildError):  # a child that does not start says so when it is asked
            self._child.ask(load_solver, self.name, seconds=_STARTING)
        return self._child

    def _find_first_graphs(
        self, acquisition: LinearAcquisition, k: int, exclude: Collection[bytes]
    ) -> tuple[LabeledGraph, ...]:
        if self._first is None:
            return ()
        try:
            self._first.prepare(deadline=time.perf_counter() + WARM_SHARE * self.limits.seconds)
            return tuple(
                proposal.graph for proposal in self._first.optimize(acquisition, k, exclude)
            )
        except (SettingError, TooLargeError) as refusal:
            logger.debug("no first graphs by branch and bound: %s", refusal)
            return ()

    def _find_columns(
        self, acquisition: LinearAcquisition, asked: KBest, first: tuple[LabeledGraph, ...]
    ) -> dict[int, StructureColumns]:
        """For each number of nodes the structures that may beat the first graphs, if known."""
        if self._first is None or self.name != "scip" or self.formulation != "compact":
            return {}
        if acquisition.features.codes:  # bounds of compositions know the paper's blocks alone
            return {}
        pool = KBest(self.space, acquisition, asked.k, asked.exclude, asked.gap)
        pool.add(first)
        deadline = time.perf_counter() + WARM_SHARE * self.limits.seconds
        found = {
            n: choose_columns(self._first, acquisition, n, pool.cutoff, deadline)
            for n in self.space.sizes
        }
        return {n: columns for n, columns in found.items() if columns is not None}

    def _work(self, problem: MipProblem, answer: MipAnswer) -> None:
        def take(message: Message) -> None:
            answer.take(message, self.progress)

        child = self._start_child(problem.acquisition)
        if child is None:
            solve_sizes(problem, take)
            return
        family = type(self.space).__module__.partition(".")[0]  # may be the user's own
        seconds = problem.limits.seconds + _GRACE
        for message in child.run(solve_sizes, problem, seconds=seconds, packages=(family,)):
            take(message)
