"""Branch and bound as an acquisition optimiser: exact, certified, stoppable at any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from typing import Any, cast

import numpy as np

from nasgoat.acquisition.branch import runs
from nasgoat.acquisition.branch.cells.structures import CellBlock, Listing, require_described
from nasgoat.acquisition.branch.convex.cell_rows import CellPairs
from nasgoat.acquisition.branch.declared.structures import DeclaredBlock, DeclaredListing
from nasgoat.acquisition.branch.exponential.several_objectives import JointSearch, is_joint
from nasgoat.acquisition.branch.records import Run
from nasgoat.acquisition.costs import GROWING, forecast_branch
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.local_search import (
    descend,
    fill_up,
    has_too_many_features,
    search_locally,
)
from nasgoat.acquisition.lower_confidence_bound import Acquisition, LinearAcquisition
from nasgoat.acquisition.minimum_by_lines import trace_frontier
from nasgoat.acquisition.part_sums import BatchMemory, Engine, Sieve
from nasgoat.acquisition.proposals import Certificate, Pool, Reason, Status
from nasgoat.acquisition.relaxation import certify_best, minimize_parts, require_bounded
from nasgoat.acquisition.several_objectives import SeveralAcquisition
from nasgoat.compiled import Threads, collect_less_garbage, limit_blas_threads
from nasgoat.errors import SettingError, SpaceError
from nasgoat.kernels import (
    block_names,
    keep_bounded,
    require_bounded_blocks,
    require_paper_blocks,
)
from nasgoat.kernels.summaries import STRUCTURE
from nasgoat.memory import choose_limit
from nasgoat.progress import say_if_slow, show_progress
from nasgoat.spaces import CellSpace, GraphSpace, SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate.posterior import ExponentialPosterior, NormalisedPosterior

#: Posteriors of kernels under which labellings are looked at one by one, or in two halves.
_ENUMERATED = (ExponentialPosterior, NormalisedPosterior)
_LISTING = 0.3  # of the time of a question, for listing structures
_QUICK_PROOF = 20.0  # seconds of a proof, by its forecast, that needs no local search before it
_LOOKING, _LONGEST_LOOK = 0.2, 3.0  # of the time, and seconds, for local search before a proof


class BranchAndBound:
    """Finds the best graphs of a space without listing it, and proves that they are.

    Args:
        space: Cells, or declared graphs; the latter under the linear kernel alone.
        progress: Called with a line of text when something takes long.
        time_limit: Seconds after which the best graphs so far come back, with a valid bound.
        threads: Threads for large problems; the same number gives the same graphs every time.
        prefixes: Whether to search by prefixes of structures; by the cost model if None.
        growing: Prefixes from which on they are not listed but grow node by node.
        memory: Megabytes that tables may take; by default half of what is free.

    Example:
        >>> from nasgoat import darts
        >>> from nasgoat.acquisition import random_problem
        >>> pool = BranchAndBound(darts()).optimize(random_problem(darts(), 10).acquisition, k=3)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap
        (3, 'optimal', 0.0)
    """

    name = "branch"
    cost = staticmethod(forecast_branch)

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = show_progress,
        time_limit: float | None = None,
        threads: int = 2,
        prefixes: bool | None = None,
        growing: int = GROWING,
        memory: float | None = None,
    ) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise SettingError(f"time_limit must be at least 0 seconds, got {time_limit!r}")
        self.space = require_described(space)
        self.time_limit = time_limit
        self.progress = progress
        self.threads = threads
        self._codes: dict[Any, Any] = {}  # of blocks other than the paper's, by their names
        self._declared: DeclaredListing | None = None
        if space.layout == "graph":
            self._declared = DeclaredListing(cast(GraphSpace, space), progress)
        self._pairs: dict[bool, CellPairs] = {}  # of several cells, by whether graphs are rows
        cells = cast(CellSpace, space)  # asked for nothing where graphs are declared
        self._memory = choose_limit(memory)
        room = time_limit, self._memory
        self._linear = Listing(cells, prefixes, progress, growing, *room)
        self._exponential = Listing(cells, False, progress, GROWING, *room)
        self._slow: dict[bool, bool] = {}  # forecasts, by whether the kernel is exponential
        self._loaded: set[bool] = set()  # kernels whose code is there: the exponential one or not
        self._joint: JointSearch | None = None  # of several objectives
        self._batch_memory = BatchMemory()
        self.nodes_ = 0  # explored in the last call

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks that a kernel may have here, all of them together."""
        return keep_bounded(self.space, block_names())

    def load_code(self, exponential: bool = False) -> None:
        """Compile, or load, the machine code that a search of this space needs; once in a process.

        What only prefixes need is compiled for spaces that are searched by prefixes.
        """
        if exponential in self._loaded:
            return
        if exponential and (self._declared is not None or self.space.cells):
            said, other = "declared graphs", "the catalogue or scip"
            if self.space.cells:
                said, other = "several cells", "the catalogue"
            raise SettingError(
                f"the kernel must be linear for branch and bound on {said}, got the exponential "
                f"one; use {other}"
            )
        words = "compiling the search: once on a machine, about twenty seconds"
        with say_if_slow(self.progress, words), collect_less_garbage():
            if exponential:
                runs.load_exponential()
                if runs.may_sift(self.space):
                    runs.load_linear(prefixes=False)
            elif self._declared is not None:
                runs.load_declared()
            elif not self.space.cells:
                for prefixes in sorted(self._linear.by_prefixes):
                    runs.load_linear(prefixes)
            limit_blas_threads()  # finds the libraries
        self._loaded.add(exponential)

    def prepare(self, exponential: bool = False, deadline: float | None = None) -> None:
        """List the structures now: this depends on the space alone and serves all later calls."""
        if self._declared is not None:
            self.list_declared(deadline)
            return
        if self.space.cells:
            self._list_pairs()
            return
        listing = self._exponential if exponential else self._linear
        for block in listing.list_blocks(deadline):
            if not exponential and block.prefix_states is None:
                _ = block.groups

    def list_declared(self, deadline: float | None = None) -> list[DeclaredBlock]:
        """The structures of declared graphs, a block for each number of nodes; none of cells."""
        return [] if self._declared is None else self._declared.list_blocks(deadline)

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded.

        The first call in a process loads the compiled search, or compiles it if it never ran on
        this machine (about twenty seconds); that is not part of the certificate's seconds.

        The certificate says ``optimal``, or ``feasible`` with a bound if the time limit was hit.
        What was not found by then is filled up by local search, under the same bound.
        """
        if has_too_many_features(acquisition):
            seconds = _LONGEST_LOOK if self.time_limit is None else self.time_limit
            return search_locally(self.space, acquisition, k, exclude, min(seconds, _LONGEST_LOOK))
        if isinstance(acquisition, SeveralAcquisition):
            return self._minimize_several(acquisition, k, exclude)
        self._get_ready(acquisition)
        if (linear := acquisition.linear) is None:
            limit, solve = self.time_limit, self._minimize
            return trace_frontier(acquisition, self.space, solve, k, exclude, limit)
        limit = None if self.time_limit is None else time.perf_counter() + self.time_limit
        return self._minimize(linear, k, exclude, limit)

    def _get_ready(self, acquisition: Acquisition) -> None:
        """Refuse kernels that can't be bounded, and load the code for those that can."""
        require_bounded_blocks(self.space, acquisition.features.blocks, "branch and bound")
        if isinstance(acquisition.posterior, NormalisedPosterior):
            require_paper_blocks(acquisition.features.blocks)
        self.load_code(isinstance(acquisition.posterior, _ENUMERATED))

    def _minimize_several(
        self, acquisition: SeveralAcquisition, k: int, exclude: Collection[bytes]
    ) -> Pool:
        """The k best graphs under a function of several parts (acquisition/relaxation.py)."""
        require_bounded(acquisition, "branch and bound")
        for part in acquisition.modelled:
            self._get_ready(part)
        if is_joint(acquisition) and (joint := self._find_joint_search()) is not None:
            return self._minimize_jointly(joint, acquisition, k, exclude)
        engine = self.engine.limit(acquisition.known_limits.values())
        best = KBest(engine.space, acquisition, k, exclude)
        return minimize_parts(acquisition, engine, best, self.time_limit)

    def _find_joint_search(self) -> JointSearch | None:
        """What minimises functions of several parts over all labellings; None if they are many."""
        if self._joint is None:
            end = None if self.time_limit is None else _LISTING * self.time_limit
            blocks = self._exponential.list_blocks(end and time.perf_counter() + end)
            if not self._exponential.left_out:
                self._joint = JointSearch.of(blocks, self._memory)
        return self._joint

    def _minimize_jointly(
        self,
        joint: JointSearch,
        acquisition: SeveralAcquisition,
        k: int,
        exclude: Collection[bytes],
    ) -> Pool:
        """The k best graphs under a function of several parts, over all labellings."""
        with say_if_slow(self.progress, "compiling the search: once on a machine, some seconds"):
            runs.load_joint()
        best, start = KBest(self.space, acquisition, k, exclude), time.perf_counter()
        deadline = None if self.time_limit is None else start + self.time_limit
        with limit_blas_threads(), ThreadPoolExecutor(self.threads) as pool:
            left = joint.minimize(acquisition, best, Threads(self.threads, pool), deadline)
        return certify_best(best, left, time.perf_counter() - start)

    @property
    def engine(self) -> Engine:
        """What minimises lower confidence bounds for other functions."""
        asked = self.space, self._minimize, self._sift
        return Engine(*asked, lambda limits: self.limit(limits).engine, memory=self._batch_memory)

    def limit(self, limits: Collection[Limit]) -> BranchAndBound:
        """The same search within further limits; what it has listed serves both."""
        limited = copy(self)
        limited.space = self.space.constrain(*limits)
        limited._pairs = {whole: x.limit(limited.space) for whole, x in self._pairs.items()}
        if self._declared is not None:
            limited._declared = self._declared.limit(cast(GraphSpace, limited.space))
        cells = cast(CellSpace, limited.space)  # asked for nothing where graphs are declared
        limited._linear = self._linear.limit(cells)
        limited._exponential = self._exponential.limit(cells)
        limited._joint, limited._batch_memory = None, BatchMemory()
        return limited

    def _sift(
        self, acquisition: LinearAcquisition, sieve: Sieve, deadline: float | None
    ) -> float | None:
        with limit_blas_threads():
            return self._search(acquisition, sieve, deadline)

    def _minimize(
        self,
        acquisition: LinearAcquisition,
        k: int,
        exclude: Collection[bytes],
        deadline: float | None,
    ) -> Pool:
        """Search, score what was found once more, and say what the search proves."""
        best, start = KBest(self.space, acquisition, k, exclude), time.perf_counter()
        with limit_blas_threads():
            if self._is_slow(acquisition):
                self._look_around(best, deadline)
            left = self._search(acquisition, best, deadline)
            seconds = time.perf_counter() - start
            best.rescore()
            if left is not None:
                fill_up(best, np.random.default_rng(0))

        def certify(value: float) -> Certificate:
            bound = value if left is None else min(value, left)
            status = Status.OPTIMAL if bound == value else Status.FEASIBLE
            return Certificate(status, value, bound, seconds)

        status = Status.EXHAUSTED if left is None else Status.FEASIBLE
        return best.pool(certify, Certificate(status, None, left, seconds))

    def _look_around(self, best: KBest, deadline: float | None) -> None:
        """Local search, so that a long proof starts from good graphs."""
        seconds = _LONGEST_LOOK
        if deadline is not None:
            seconds = min(_LOOKING * (deadline - time.perf_counter()), seconds)
        with suppress(SpaceError):  # none within the limits, or none found: the search will say
            descend(best, np.random.default_rng(0), seconds=seconds)

    def _is_slow(self, acquisition: LinearAcquisition) -> bool:
        """Whether a proof is forecast to take long; a quick one finds good graphs by itself."""
        exponential = isinstance(acquisition.posterior, _ENUMERATED)
        if exponential not in self._slow:
            cost = forecast_branch(self.space, "exponential" if exponential else "linear", 1)
            self._slow[exponential] = isinstance(cost, Reason) or cost.seconds > _QUICK_PROOF
        return self._slow[exponential]

    def structures(self, nodes: int, deadline: float | None = None) -> CellBlock | None:
        """The block of all cells' structures with this many nodes; None if they are not listed."""
        if self._declared is not None or self.space.cells:
            return None
        for block in self._linear.list_blocks(deadline):
            if block.prefix_states is None and (block.shapes.nodes == nodes).any():
                return block
        return None

    def _search(
        self, acquisition: LinearAcquisition, best: KBest | Sieve, deadline: float | None
    ) -> float | None:
        """Fill ``best``; returns a bound on what was not explored, None if all was."""
        self.nodes_ = 0
        listed_by = deadline
        if deadline is not None:
            now = time.perf_counter()
            listed_by = now + _LISTING * max(deadline - now, 0.0)
        with ThreadPoolExecutor(self.threads) as pool:
            threads = Threads(self.threads, pool)
            asked = acquisition.features, acquisition, listed_by, threads
            maker = runs.RunMaker(*asked, self._codes, self._memory)
            every = self._make_runs(maker)
            listing = self._find_listing(maker)
            left = maker.bound_space() if listing.left_out else np.inf
            for at, run in enumerate(every):
                if not self._finish(run, best, deadline):
                    return min(left, *(other.open_bound() for other in every[at:]))
        return None if left == np.inf else left

    def _find_listing(self, maker: runs.RunMaker) -> Listing | DeclaredListing:
        """What lists the structures that are searched, and knows which sizes it left out."""
        if isinstance(maker.acquisition.posterior, _ENUMERATED):
            return self._exponential
        if self._declared is not None:
            return self._declared
        # The codes of other blocks are those of structures, not of their prefixes.
        return self._exponential if maker.features.codes else self._linear

    def _make_runs(self, maker: runs.RunMaker) -> list[Run]:
        """A run for every block, small ones first."""
        listing = self._find_listing(maker)
        if isinstance(maker.acquisition.posterior, _ENUMERATED):
            return list(maker.list_exponential(self._exponential))
        if self.space.cells:
            whole = bool(maker.features.decided_by - {STRUCTURE})
            return [maker.make_of_cells(self._list_pairs(whole))]
        if isinstance(listing, DeclaredListing):
            return list(maker.list_declared(listing))
        return list(maker.list_linear(listing))

    def _list_pairs(self, whole: bool = False) -> CellPairs:
        """The rows of all cells; listed once."""
        if whole not in self._pairs:
            self._pairs[whole] = CellPairs.of(self.space, whole)
        return self._pairs[whole]

    def _finish(self, run: Run, best: KBest | Sieve, deadline: float | None) -> bool:
        """Go on until all is explored, or the time is up: then False."""
        before = self.nodes_
        while (found := run.go_on(best.cutoff)) is not None:
            for shape, states, value in found:
                if value < best.cutoff:
                    best.offer(run.block.make_graph(shape, states), value)
            self.nodes_ = before + run.nodes
            if deadline is not None and time.perf_counter() > deadline:
                return False
        self.nodes_ = before + run.nodes
        return True
