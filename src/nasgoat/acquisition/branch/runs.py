"""The runs of a search: what explores each block of structures, in steps that can be interrupted.

Which run a block gets depends on the kernel, on where its labels are and on how many graphs it
stands for. Here is also what compiles the searches ahead, by solving tiny problems.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, cast

import numpy as np

from nasgoat.acquisition.branch.block_codes import (
    BlockCodes,
    start_exponential,
    start_linear,
)
from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.growing_prefixes import GrowingRun
from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.structures import CellBlock, Listing
from nasgoat.acquisition.branch.cells.tables import make_tables
from nasgoat.acquisition.branch.convex.cell_rows import CellPairs
from nasgoat.acquisition.branch.convex.long_chains import RelaxedRun, is_relaxed
from nasgoat.acquisition.branch.convex.several_cells import CellsRun
from nasgoat.acquisition.branch.declared.search import DeclaredRun
from nasgoat.acquisition.branch.declared.structures import DeclaredListing
from nasgoat.acquisition.branch.declared.tables import (
    DeclaredCodes,
    make_declared_tables,
    start_declared,
)
from nasgoat.acquisition.branch.exponential.enumeration import ExponentialRun
from nasgoat.acquisition.branch.exponential.minorant_search import SiftedRun
from nasgoat.acquisition.branch.exponential.model import (
    ExponentialProblem,
    bound_exponential,
    make_factors,
    make_model,
)
from nasgoat.acquisition.branch.exponential.several_objectives import note_block
from nasgoat.acquisition.branch.exponential.split_labellings import start_labellings
from nasgoat.acquisition.branch.records import Run
from nasgoat.acquisition.costs import bound_graphs
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.compiled import ALONE, Threads
from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import GraphSpace, NodeLabeledSpace, SearchSpace
from nasgoat.spaces.structures import extend_rows
from nasgoat.surrogate.posterior import (
    ExponentialPosterior,
    LinearPosterior,
    NormalisedPosterior,
    Posterior,
)

_MANY = 20_000  # shapes from which a second thread pays
#: Labellings below which they are looked at one by one under the exponential kernel.
FEW_LABELLINGS = 1_500_000
_PER_NODE = 20  # labellings that are looked at in the time of a node of the linear search
_FEW = 200  # structures with labels on nodes and edges from which a second thread pays


@dataclass(frozen=True)
class RunMaker:
    """Makes the runs of one question.

    Args:
        features: The kernel features of the space.
        acquisition: What is minimised.
        deadline: When listing structures must have ended.
        threads: Threads for large blocks.
        codes: What is known of blocks other than the paper's, by their names and a block of shapes.
        memory: Bytes that the tables of a block may take.
    """

    features: FeatureMap
    acquisition: LinearAcquisition
    deadline: float | None
    threads: Threads
    codes: dict[Any, Any] = field(default_factory=dict)
    memory: float = inf

    def list_linear(self, listing: Listing) -> Iterator[Run]:
        """Runs of cells under the linear kernel."""
        posterior, sqrt_beta = self._require_linear(), self.acquisition.sqrt_beta
        floor, blocks = self._make_floor(), listing.list_blocks(self.deadline)
        if blocks:
            largest = max(block.largest for block in blocks)
            tables = make_tables(self.features, posterior, sqrt_beta, largest=largest)
        for block in blocks:
            if self.features.codes:
                yield start_linear(self._code(block), tables, floor, self.threads)
                continue
            limits = make_limit_rows(block)
            if is_relaxed(block):
                yield RelaxedRun.of(block, tables, limits)
                continue
            threads = self._share(len(block.shapes.home) >= _MANY)
            yield LinearRun(block, tables, limits, floor, threads)
        for n in listing.growing:
            yield GrowingRun(listing.space, n, posterior, sqrt_beta, floor, self.threads)

    def list_declared(self, listing: DeclaredListing) -> Iterator[Run]:
        """Runs of declared graphs, whose nodes and edges may carry labels, under that kernel."""
        posterior, floor = self._require_linear(), self._make_floor()
        for block in listing.list_blocks(self.deadline):
            if block.measure_tables(len(self.features.source)) > self.memory:
                listing.left_out.append(block.n)
                continue
            asked = self.features, posterior, self.acquisition.sqrt_beta
            threads = self._share(len(block.adjacency) >= _FEW)
            tables = make_declared_tables(*asked, block)
            if self.features.codes:
                key = self.features.blocks, id(block)
                codes = self.codes.setdefault(key, DeclaredCodes(self.features, block))
                yield start_declared(codes, tables, floor, threads)
                continue
            yield DeclaredRun(block, tables, floor, threads)

    def make_of_cells(self, pairs: CellPairs) -> Run:
        """The run of several cells at once, under that kernel."""
        asked = self.features, self._require_linear(), self.acquisition.sqrt_beta
        return CellsRun(pairs, *pairs.list_columns(*asked))

    def list_exponential(self, listing: Listing) -> Iterator[Run]:
        """Runs of cells under the exponential or the normalised kernel."""
        posterior = cast(ExponentialPosterior | NormalisedPosterior, self.acquisition.posterior)
        factors = make_factors(self.features, posterior)
        model = make_model(posterior, self.acquisition.sqrt_beta)
        for block in listing.list_blocks(self.deadline):
            if self.features.codes:
                coded = cast(ExponentialPosterior, posterior)  # others take the paper's blocks
                terms = self._code(block), factors, model, coded
                yield start_exponential(*terms, self._make_floor(), self.threads)
                continue
            bounds, limits = bound_exponential(block, factors, model), make_limit_rows(block)
            problem = ExponentialProblem(
                block=block, factors=factors, model=model, limits=limits, roots=bounds
            )
            yield self._start_exponential(problem)

    def _start_exponential(self, problem: ExponentialProblem) -> Run:
        """The search of a block of cells: every labelling, or what minorants leave of them."""
        block = problem.block
        total = float((float(block.labels) ** block.shapes.variables).sum())
        if total < FEW_LABELLINGS or block.space.labels_on == "edges":
            return start_labellings(problem, self.threads)
        threads = self._share(len(block.shapes.home) >= _MANY)
        others = functools.partial(start_labellings, problem, self.threads)
        return SiftedRun(problem, self.acquisition, threads, others, total / _PER_NODE)

    def _code(self, block: CellBlock) -> BlockCodes:
        """The codes of the blocks other than the paper's, counted once for a space."""
        key = self.features.blocks, id(block)
        found: BlockCodes = self.codes.setdefault(key, BlockCodes(self.features, block))
        return found

    def bound_space(self) -> float:
        """A lower bound on every graph of the space, from its pairs of nodes one by one.

        It is far below the optimum, but known at once. Linear kernel: superadditivity. Exponential
        kernel: Lemma 6 with the largest Q; normalised kernel: Lemma 6.
        """
        posterior = self.acquisition.posterior
        if isinstance(posterior, LinearPosterior):
            # No root is folded for each size: the length of a sum is at most the sum of lengths.
            posterior = replace(posterior, R=np.linalg.norm(posterior.R, axis=1)[:, None])
        return min(self._bound_size(posterior, n) for n in self.features.space.sizes)

    def _bound_size(self, posterior: Posterior, n: int) -> float:
        """A lower bound on every graph with n nodes; see :meth:`bound_space`."""
        on_counts = posterior.fold_to_counts(self.features, n)
        sqrt_beta, space = self.acquisition.sqrt_beta, self.features.space
        nodes = np.array([s == 0 for s, _, _ in self.features.path_types])
        paths, edges = len(nodes), space.most_edges(n)
        codes = paths + len(self.features.edge_types)  # from there on, each once at most
        pairs = n * (n - 1) // (2 if space.acyclic else 1)  # that a path may lead along
        if isinstance(on_counts, ExponentialPosterior | NormalisedPosterior):
            q = on_counts.squares[:paths].max() * (n + pairs) ** 2
            q += on_counts.squares[paths:codes].max(initial=0.0) * edges
            q += on_counts.squares[codes:].sum()
            if isinstance(on_counts, NormalisedPosterior):
                q = 0.0  # every graph has the same prior variance
            s = np.linalg.solve(on_counts.whitening.T, on_counts.dual)
            factor = np.sqrt((s @ s + sqrt_beta**2) * on_counts.variance)
            return float(-factor * np.exp(min(q / 2, 700.0)))
        if not isinstance(on_counts, LinearPosterior):
            return -np.inf
        alone = np.minimum(on_counts.w - sqrt_beta * on_counts.R[:, 0], 0.0)
        lowest = n * alone[:paths][nodes].min() + pairs * alone[:paths][~nodes].min(initial=0.0)
        return float(lowest + edges * alone[paths:codes].min(initial=0.0) + alone[codes:].sum())

    def _require_linear(self) -> LinearPosterior:
        posterior = self.acquisition.posterior
        if not isinstance(posterior, LinearPosterior):
            raise SettingError(
                "branch and bound must have a linear, exponential or normalised kernel, got "
                f"{type(posterior).__name__}; use the catalogue"
            )
        return posterior

    def _make_floor(self) -> Callable[[], float]:
        """A bound on the whole space, computed when it is first asked for."""
        return functools.cache(self.bound_space)

    def _share(self, large: bool) -> Threads:
        """The threads of a block."""
        return Threads(self.threads.total if large else 1, self.threads.pool)


def may_sift(space: SearchSpace) -> bool:
    """Whether minorants may be worth it under the exponential kernel: many labels, on nodes."""
    return space.labels_on == "nodes" and bound_graphs(space) >= FEW_LABELLINGS


@functools.cache
def load_exponential() -> None:
    """Solve a tiny problem under the exponential kernel."""
    block, features = _make_tiny_problem(prefixes=False)
    posterior = _make_tiny_posterior(features)
    factors, model = make_factors(features, posterior), make_model(posterior, 1.0)
    bounds, limits = bound_exponential(block, factors, model), make_limit_rows(block)
    problem = ExponentialProblem(
        block=block, factors=factors, model=model, limits=limits, roots=bounds
    )
    ExponentialRun(problem, ALONE).go_on(np.inf)


@functools.cache
def load_joint() -> None:
    """Solve a tiny problem of several objectives under the exponential kernel."""
    block, features = _make_tiny_problem(prefixes=False)
    posterior = _make_tiny_posterior(features)
    note_block(block, features, posterior, ALONE, None)


@functools.cache
def load_linear(prefixes: bool) -> None:
    """Solve a tiny problem under the linear kernel, by prefixes or by structures."""
    block, features = _make_tiny_problem(prefixes)
    width = len(features.source)
    tables = make_tables(features, LinearPosterior(np.zeros(width), np.eye(width)), 1.0)
    run = LinearRun(block, tables, make_limit_rows(block), lambda: -np.inf)
    while run.go_on(np.inf) is not None:
        pass
    if prefixes:
        extend_rows(np.array([[0, 1]]), 3, 10)


@functools.cache
def load_declared() -> None:
    """Solve a tiny problem with labels on nodes and edges."""
    space = GraphSpace(3, ["a", "b"], ["x", "y"], "undirected").constrain("a <= 1")
    features = FeatureMap(space)
    width = len(features.source)
    posterior = LinearPosterior(np.zeros(width), np.eye(width))
    for block in DeclaredListing(space).list_blocks():
        tables = make_declared_tables(features, posterior, 1.0, block)
        run = DeclaredRun(block, tables, lambda: -np.inf)
        while run.go_on(np.inf) is not None:
            pass


def _make_tiny_problem(prefixes: bool) -> tuple[CellBlock, FeatureMap]:
    space = NodeLabeledSpace(4, ["a", "b"])
    (block,) = Listing(space, prefixes).list_blocks()
    return block, FeatureMap(space)


def _make_tiny_posterior(features: FeatureMap) -> ExponentialPosterior:
    width = len(features.source)
    return ExponentialPosterior(
        projections=np.zeros((width, 1)),
        squares=np.zeros(width),
        variance=1.0,
        dual=np.ones(1),
        whitening=np.eye(1),
    )
