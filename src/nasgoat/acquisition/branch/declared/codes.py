"""Kernel blocks beside the paper's in the search of declared graphs (Lemma 10).

As with cells (``branch.block_codes``), the codes of all graphs of one structure and summary are
constants: a column that is known of each structure from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.block_codes import SummaryRun, add_summary, bound_codes
from nasgoat.acquisition.branch.declared.records import DeclaredSummary, DeclaredTables
from nasgoat.acquisition.branch.declared.search import DeclaredRun
from nasgoat.acquisition.branch.declared.structures import DeclaredBlock
from nasgoat.acquisition.branch.records import Floats, Integers, Run
from nasgoat.compiled import Threads
from nasgoat.graphs import GraphBatch
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.deciding import (
    NOTHING,
    STRUCTURE,
    Summary,
    count_ends,
    list_summaries,
    may_have_numbers,
)
from nasgoat.kernels.graph_counts import count_labels, find_richest_path, list_operations


@dataclass(frozen=True, eq=False)
class DeclaredCodes:
    """The codes of the blocks beside the paper's, for the structures of one number of nodes.

    Args:
        features: The features of the kernel.
        block: The structures.

    Example:
        >>> from nasgoat import molecules
        >>> from nasgoat.acquisition.branch.declared.structures import DeclaredListing
        >>> (block,) = DeclaredListing(molecules(2)).blocks()
        >>> codes = DeclaredCodes(FeatureMap(molecules(2), ("paths", "operations")), block)
        >>> len(codes.summaries)  # two of C, N, O and F that a single, double or triple bond joins
        22
    """

    features: FeatureMap
    block: DeclaredBlock

    @cached_property
    def summaries(self) -> list[Summary]:
        """The summaries to search on their own, those aside that degrees rule out."""
        space, n = self.block.space, self.block.n
        on_nodes, on_edges = count_labels(space)
        nodes = n - count_ends(space) if on_nodes else 0
        totals = [(nodes, int(e) if on_edges else 0) for e in np.unique(self.block.shapes.edges)]
        found = list_summaries(totals, (on_nodes, on_edges), self.features.decided_by)
        return [held for held in found if may_have_numbers(space, held.numbers)]

    def find(self, held: Summary) -> NDArray[np.uint8]:
        """The codes of every structure, shape (S, C), for graphs of this summary."""
        return add_summary(self.features, self._by_structure, held)

    def fits(self, held: Summary) -> Integers:
        """The structures that may have graphs of this summary."""
        on_nodes, on_edges = count_labels(self.block.space)
        found = np.ones(len(self.block.adjacency), dtype=bool)
        if held.numbers is not None and on_edges:
            found &= self.block.shapes.edges == sum(held.numbers[on_nodes:])
        if held.longest is not None:
            parts = held.longest[:on_nodes], held.longest[on_nodes:]
            for part, depth in zip(parts, self._depths, strict=True):
                if part:
                    found &= (depth <= sum(part)) & (depth >= max(part))
        return np.flatnonzero(found)

    def hold(self, held: Summary, tables: DeclaredTables) -> DeclaredSummary:
        """What the compiled search knows of all graphs of a summary."""
        none = np.zeros(0, dtype=np.int64)
        given = self.find(held) @ tables.codes
        if held.longest is None:
            return DeclaredSummary(given, none, none)
        on_nodes, _ = list_operations(self.block.space)
        nodes = np.full(tables.own.shape[0] - 1, -1, dtype=np.int64)
        nodes[on_nodes] = held.longest[: len(on_nodes)]
        edges = np.array(held.longest[len(on_nodes) :], dtype=np.int64)
        return DeclaredSummary(given, nodes, edges)

    @cached_property
    def _by_structure(self) -> NDArray[np.uint8]:
        shapes = self.block.shapes
        labels = np.argmax(shapes.allowed, axis=2)
        states = np.hstack([labels, np.zeros(shapes.ends.shape[:2], dtype=np.int64)])
        graphs = [self.block.graph(s, states[s]) for s in range(len(states))]
        return self.features.encode_decided(self.block.space.batch(graphs), STRUCTURE)

    @cached_property
    def _depths(self) -> tuple[Integers, Integers]:
        """The most nodes, and the most edges, with an operation on a path of each structure."""
        adjacency, roles = self.block.adjacency, self.block.roles
        batch = GraphBatch(adjacency, np.full(len(adjacency), self.block.n, dtype=np.int8))
        free, none = roles < 0, np.zeros(roles.shape, dtype=bool)
        on_nodes = find_richest_path(batch, free, free[:, None, :])
        return on_nodes.astype(np.int64), find_richest_path(batch, none, adjacency).astype(np.int64)


def start_declared(
    codes: DeclaredCodes, tables: DeclaredTables, floor: Callable[[], float], threads: Threads
) -> Run:
    """The search of declared graphs of one size, each summary on its own."""
    block = codes.block

    def start(held: Summary, roots: Floats | None = None) -> DeclaredRun:
        rows = None if held.numbers is None else block.hold_numbers(held.numbers)
        given, chosen = codes.hold(held, tables), codes.fits(held)
        run = DeclaredRun(block, tables, floor, threads, held=given, rows=rows, chosen=chosen)
        if roots is not None:
            run.search_below(roots)
        return run

    def bound(held: Summary) -> Iterator[Floats | None]:
        if not len(codes.fits(held)):
            yield np.full(len(block.adjacency), np.inf)
        else:
            yield from _bound_in_steps(start(held))

    if codes.summaries:
        every = DeclaredRun(block, tables, floor, threads)
        without = _bound_in_steps(every), bound_codes(tables.codes)
        return SummaryRun(block, codes.summaries, bound, start, floor, without)
    return start(NOTHING)


def _bound_in_steps(run: DeclaredRun) -> Iterator[Floats | None]:
    """Bounds of all structures at last, None whenever it may pause before."""
    while not run.bounded:
        run.go_on(np.inf)
        yield None
    yield run.roots
