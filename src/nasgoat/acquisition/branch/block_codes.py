"""Kernel blocks other than the paper's in branch and bound (Lemma 10).

Notation (docs/branch-and-bound.md)
    C           columns of all blocks other than the paper's: thermometer codes, 0 or 1
    N, ℓ        a *summary*: how many variables have each label; the most of each on a path

What the structure decides is the same for all graphs of a shape; what the numbers of operations or
the richest paths decide is the same for all graphs of a summary. So for the graphs of one shape and
summary the codes are constants: a fixed column under the linear kernel, a fixed factor of the
kernel vector under the exponential one. Each summary is searched on its own: rows hold its numbers,
and labels that lead to other richest paths are dropped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.records import LimitRows, Tables
from nasgoat.acquisition.branch.cells.reference import measure_changes
from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.structure_bounds import add_codes, bound_structures
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.convex.long_chains import RelaxedRun, is_relaxed
from nasgoat.acquisition.branch.exponential.enumeration import ExponentialRun
from nasgoat.acquisition.branch.exponential.model import (
    ExponentialProblem,
    Factors,
    Model,
    bound_exponential,
    give_codes,
)
from nasgoat.acquisition.branch.exponential.split_labellings import start_labellings
from nasgoat.acquisition.branch.records import MARGIN, Builds, Floats, Found, Integers, Run
from nasgoat.compiled import Threads
from nasgoat.graphs import GraphBatch
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.graph_counts import find_richest_path
from nasgoat.kernels.summaries import (
    LONGEST,
    NOTHING,
    OPERATIONS,
    STRUCTURE,
    Summary,
    has_only_paths,
    list_summaries,
    realise_on_path,
)
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate.posterior import ExponentialPosterior

_CHUNK = 10_000  # graphs that are counted at a time
_KEPT = 5_000_000  # bounds of shapes that are kept for when their summaries are searched


@dataclass(frozen=True, eq=False)
class BlockCodes:
    """The codes of the blocks other than the paper's, for the shapes of a block of the search.

    Args:
        features: The features of the kernel.
        block: Structures.

    Example:
        >>> from nasgoat.acquisition.branch.cells.structures import Listing
        >>> from nasgoat import NodeLabeledSpace
        >>> space = NodeLabeledSpace(4, ["conv", "pool"])
        >>> (block,) = Listing(space, False).list_blocks()
        >>> codes = BlockCodes(FeatureMap(space, ("paths", "operations")), block)
        >>> codes.find(codes.summaries[1]).shape == (len(block.adjacency), 8), len(codes.summaries)
        (True, 3)
    """

    features: FeatureMap
    block: CellBlock

    @cached_property
    def summaries(self) -> list[Summary]:
        """The summaries to search one by one; empty if the structure decides every code."""
        on_nodes = self.block.space.labels_on == "nodes"
        totals = np.unique(self.block.shapes.variables).tolist()
        labels = (self.block.labels, 0) if on_nodes else (0, self.block.labels)
        every = [(total, 0) if on_nodes else (0, total) for total in totals]
        paths = has_only_paths(self.block.space)
        return list(list_summaries(every, labels, self.features.decided_by, paths))

    def find(self, held: Summary) -> NDArray[np.uint8]:
        """The codes of every shape, shape (P, C), for graphs of this summary."""
        return add_summary(self.features, self._by_structure, held)

    def fits(self, held: Summary) -> NDArray[np.bool_]:
        """Which shapes may have graphs of this summary, shape (P,)."""
        found = np.ones(len(self._depth), dtype=bool)
        if held.numbers is not None:
            found &= self.block.shapes.variables == sum(held.numbers)
        if held.longest is not None:
            found &= (self._depth <= sum(held.longest)) & (self._depth >= max(held.longest))
            found &= self.block.shapes.variables >= sum(held.longest)
        return found

    @cached_property
    def _depth(self) -> Integers:
        """The most variables on a path of each shape."""
        shapes, adjacency = self.block.shapes, self.block.adjacency
        batch = GraphBatch(adjacency, shapes.nodes.astype(np.int8))
        inner = np.zeros(adjacency.shape[:2], dtype=bool)
        if self.block.space.labels_on == "edges":
            return find_richest_path(batch, inner, adjacency).astype(np.int64)
        place = np.arange(adjacency.shape[1])
        inner = (place > 0) & (place < shapes.nodes[:, None] - 1)
        return find_richest_path(batch, inner, inner[:, None, :]).astype(np.int64)

    @cached_property
    def _by_structure(self) -> NDArray[np.uint8]:
        none = np.zeros(self.block.shapes.twin.shape[1], dtype=np.int64)
        rows = range(len(self.block.adjacency))
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        return np.concatenate(
            [
                self.features.encode_decided(
                    self.block.space.batch([self.block.make_graph(s, none) for s in chunk]),
                    STRUCTURE,
                )
                for chunk in chunks
            ]
        )


def add_summary(
    features: FeatureMap, by_structure: NDArray[np.uint8], held: Summary
) -> NDArray[np.uint8]:
    """The codes of structures and of the summary of their graphs, shape (P, C) (Lemma 10)."""
    found = by_structure
    for value, decided_by in zip(held, (OPERATIONS, LONGEST), strict=True):
        if value is not None:
            batch = realise_on_path(features.space, [value])
            found = found | features.encode_decided(batch, decided_by)
    return found


def hold_summary(block: CellBlock, held: Summary) -> LimitRows:
    """All limits of a block's space, and what holds the summary of its graphs."""
    more: list[Limit] = []
    if held.numbers is not None:
        on_nodes = block.space.labels_on == "nodes"
        for op, count in zip(block.space.ops, held.numbers, strict=True):
            own, none = {op: 1.0}, dict[str, float]()
            nodes, edges = (own, none) if on_nodes else (none, own)
            more.append(Limit("numbers", "==", count, node_ops=nodes, edge_ops=edges))
    # Where a graph is a single path, its numbers say it all.
    said = held.numbers is not None and has_only_paths(block.space)
    return make_limit_rows(block, more=more, longest=() if said else held.longest or ())


class SummaryRun:
    """One summary after the other (Lemma 10), the one of lowest bound first.

    Args:
        block: Makes graphs of shapes.
        summaries: All that graphs of its shapes can have.
        bound: Bounds every shape for graphs of a summary, infinite for shapes without: yields None
            whenever it may pause, and the bounds at last.
        start: Begins the search of a summary below shapes with these bounds.
        floor: A valid bound on everything, for as long as no better one is known.
        without: Bounds every shape without codes, and the least that codes add alone: together a
            bound on everything (superadditivity); no such bound if None.
    """

    def __init__(
        self,
        block: Builds,
        summaries: Sequence[Summary],
        bound: Callable[[Summary], Iterator[Floats | None]],
        start: Callable[[Summary, Floats], Run],
        floor: Callable[[], float],
        without: tuple[Iterator[Floats | None], float] | None = None,
    ) -> None:
        self.block = block
        self._without, self._lowest = without, -np.inf
        self._bound, self._start, self._floor = bound, start, floor
        self._unbounded = list(summaries)
        self._bounding: Iterator[Floats | None] | None = None  # of the last one of these
        self._waiting: list[tuple[float, int, Summary]] = []  # a heap, by bounds
        self._known: dict[Summary, Floats] = {}  # bounds of shapes, while there is room for them
        self._run: Run | None = None
        self._done = 0

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._done + (self._run.nodes if self._run else 0)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if self._without is not None:
            self._bound_without()
            return []
        if self._unbounded:
            self._bound_next()
            return []
        if self._run is None:
            if not self._waiting or self._waiting[0][0] >= best + MARGIN:
                return None
            self._run = self._start_next()
            if self._run is None:
                return []
        found = self._run.go_on(best)
        if found is None:
            self._done, self._run = self.nodes, None
            return []
        return found

    def _bound_without(self) -> None:
        """Bound the shapes without codes, or some of them."""
        if self._without is not None and (roots := next(self._without[0])) is not None:
            self._lowest = float(roots.min(initial=np.inf)) + self._without[1]
            self._without = None

    def _bound_next(self) -> None:
        """Bound the shapes of one more summary, or some of them."""
        held = self._unbounded[-1]
        self._bounding = self._bounding or self._bound(held)
        roots = next(self._bounding)
        if roots is None:
            return
        self._bounding = None
        self._unbounded.pop()
        self._done += 1
        lowest = float(roots.min(initial=np.inf))
        if lowest < np.inf:
            heapq.heappush(self._waiting, (lowest, len(self._waiting), held))
            if (len(self._known) + 1) * len(roots) <= _KEPT:
                self._known[held] = roots

    def _start_next(self) -> Run | None:
        """The search of the summary of lowest bound; None if its shapes are not bounded yet."""
        held = self._waiting[0][-1]
        roots = self._known.pop(held, None)
        if roots is None:
            self._bounding = self._bounding or self._bound(held)
            roots = next(self._bounding)
            if roots is None:
                return None
            self._bounding = None
        heapq.heappop(self._waiting)
        return self._start(held, roots)

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if self._unbounded:
            return max(self._floor(), self._lowest)
        waiting = self._waiting[0][0] if self._waiting else np.inf
        return max(min(waiting, self._run.open_bound() if self._run else np.inf), self._floor())


def bound_codes(columns: Floats) -> float:
    """The least that any codes are worth by themselves, given their columns, (C, 1 + r)."""
    lengths = np.linalg.norm(columns[:, 1:], axis=1)
    return float(np.minimum(columns[:, 0] - lengths, 0.0).sum())


def start_linear(
    codes: BlockCodes, tables: Tables, floor: Callable[[], float], threads: Threads
) -> Run:
    """The search of a block under the linear kernel."""
    block = codes.block
    changes = measure_changes(tables, block.shapes, block.classes, block.labels)

    def bound(held: Summary, coded: bool = True) -> Iterator[Floats]:
        found = np.full(len(block.shapes.home), np.inf)
        known, fits = codes.find(held) * coded, codes.fits(held)
        for group in block.groups:
            if fits[group.rows].any():
                some = group.take(np.flatnonzero(fits[group.rows]))
                with_codes = add_codes(tables, some, known)
                found[some.rows] = bound_structures(tables, block.shapes, changes, with_codes)
        yield found

    def start(held: Summary, roots: Floats | None) -> LinearRun | RelaxedRun:
        limits = hold_summary(block, held)
        known = codes.find(held)
        if is_relaxed(block) and not len(limits.longest):
            return RelaxedRun.of(block, tables, limits, known)
        return LinearRun(
            block, tables, limits, floor, threads, codes=known, roots=roots, changes=changes
        )

    if codes.summaries:
        without = bound(NOTHING, coded=False), bound_codes(tables.codes)
        return SummaryRun(block, codes.summaries, bound, start, floor, without)
    return start(NOTHING, None)


def start_exponential(
    codes: BlockCodes,
    factors: Factors,
    model: Model,
    posterior: ExponentialPosterior,
    floor: Callable[[], float],
    threads: Threads,
) -> Run:
    """The search of a block under the exponential kernel."""
    block, features = codes.block, codes.features

    def give(held: Summary) -> Factors:
        return give_codes(factors, features, posterior, codes.find(held).astype(float))

    def bound(held: Summary) -> Iterator[Floats]:
        yield np.where(codes.fits(held), bound_exponential(block, give(held), model), np.inf)

    def state(held: Summary, roots: Floats) -> ExponentialProblem:
        return ExponentialProblem(
            block=block,
            factors=give(held),
            model=model,
            limits=hold_summary(block, held),
            roots=roots,
        )

    def start(held: Summary, roots: Floats) -> ExponentialRun:
        return ExponentialRun(state(held, roots), threads)

    if codes.summaries:
        return SummaryRun(block, codes.summaries, bound, start, floor)
    every = bound_exponential(block, give(NOTHING), model)
    return start_labellings(state(NOTHING, every), threads)
