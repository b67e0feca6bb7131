"""Kernel blocks beside the paper's in branch and bound (Lemma 10).

Notation (docs/branch-and-bound.md)
    C           columns of all blocks beside the paper's: thermometer codes, 0 or 1
    N           a *composition*: how many variables have each label

What the structure decides is the same for all graphs of a shape; what the numbers of operations
decide is the same for all graphs of a composition. So for the graphs of one shape and composition
the codes are constants: a fixed column under the linear kernel, a fixed factor of the kernel vector
under the exponential one. Each composition is searched on its own, with rows that hold its numbers.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.records import Tables
from nasgoat.acquisition.branch.cells.reference import measure_changes
from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.structure_bounds import add_codes, bound_structures
from nasgoat.acquisition.branch.cells.structures import Block
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
from nasgoat.acquisition.branch.records import MARGIN, Floats, Found, Run
from nasgoat.compiled import Threads
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.blocks import OPERATIONS, STRUCTURE, Composition, list_compositions
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate.posterior import ExponentialPosterior

_CHUNK = 10_000  # graphs that are counted at a time


@dataclass(frozen=True, eq=False)
class BlockCodes:
    """The codes of the blocks beside the paper's, for the shapes of a block of the search.

    Args:
        features: The features of the kernel.
        block: Structures.

    Example:
        >>> from nasgoat.acquisition.branch.cells.structures import Listing
        >>> from nasgoat import NodeLabeledSpace
        >>> space = NodeLabeledSpace(4, ["conv", "pool"])
        >>> (block,) = Listing(space, False).blocks()
        >>> codes = BlockCodes(FeatureMap(space, ("paths", "operations")), block)
        >>> len(codes.compositions[2]), codes.find((1, 1)).shape == (len(block.adjacency), 8)
        (3, True)
    """

    features: FeatureMap
    block: Block

    @cached_property
    def compositions(self) -> dict[int, list[Composition]]:
        """By number of variables the compositions to search on their own; empty if none has to."""
        if all(code.block.decided_by != OPERATIONS for code in self.features.codes.values()):
            return {}
        totals = np.unique(self.block.shapes.variables).tolist()
        return {total: list(list_compositions(total, self.block.labels)) for total in totals}

    def find(self, composition: Composition | None) -> NDArray[np.uint8]:
        """The codes of every shape, shape (P, C), for graphs of this composition."""
        if composition is None:
            return self._by_structure
        any_shape = int(np.argmax(self.block.shapes.variables == sum(composition)))
        labels = np.repeat(np.arange(len(composition)), composition)
        graph = self.block.graph(any_shape, labels)
        return self._by_structure | self.features.encode_decided([graph], OPERATIONS)

    @cached_property
    def _by_structure(self) -> NDArray[np.uint8]:
        none = np.zeros(self.block.shapes.twin.shape[1], dtype=np.int64)
        rows = range(len(self.block.adjacency))
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        return np.concatenate(
            [
                self.features.encode_decided([self.block.graph(s, none) for s in chunk], STRUCTURE)
                for chunk in chunks
            ]
        )


def hold_composition(block: Block, composition: Composition | None) -> list[Limit]:
    """Limits that hold the number of each label."""
    if composition is None:
        return []
    named = zip(block.space.ops, composition, strict=True)
    if block.space.labels_on == "nodes":
        return [Limit("composition", "==", count, node_ops={op: 1.0}) for op, count in named]
    return [Limit("composition", "==", count, edge_ops={op: 1.0}) for op, count in named]


class CompositionRun:
    """One composition after the other, the one of lowest bound first.

    Args:
        codes: The codes, and the shapes that they belong to.
        bound: A lower bound of every shape for graphs of a composition, infinite for shapes with
            another number of variables.
        start: Begins the search of a composition below shapes with these bounds.
        floor: A valid bound on everything, for as long as no better one is known.
    """

    def __init__(
        self,
        codes: BlockCodes,
        bound: Callable[[Composition], Floats],
        start: Callable[[Composition, Floats], Run],
        floor: Callable[[], float],
    ) -> None:
        self.block = codes.block
        self._bound, self._start, self._floor = bound, start, floor
        self._unbounded = [c for found in codes.compositions.values() for c in found]
        self._waiting: list[tuple[float, Composition]] = []  # a heap, by bounds
        self._run: Run | None = None
        self._done = 0

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return self._done + (self._run.nodes if self._run else 0)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if self._unbounded:
            composition = self._unbounded.pop()
            lowest = float(self._bound(composition).min(initial=np.inf))
            heapq.heappush(self._waiting, (lowest, composition))
            self._done += 1
            return []
        if self._run is None:
            if not self._waiting or self._waiting[0][0] >= best + MARGIN:
                return None
            _, composition = heapq.heappop(self._waiting)
            self._run = self._start(composition, self._bound(composition))
        found = self._run.go_on(best)
        if found is None:
            self._done, self._run = self.nodes, None
            return []
        return found

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if self._unbounded:
            return self._floor()
        waiting = self._waiting[0][0] if self._waiting else np.inf
        return max(min(waiting, self._run.open_bound() if self._run else np.inf), self._floor())


def start_linear(
    codes: BlockCodes, tables: Tables, floor: Callable[[], float], threads: Threads
) -> Run:
    """The search of a block under the linear kernel."""
    block = codes.block
    changes = measure_changes(tables, block.shapes, block.classes, block.labels)

    def bound(composition: Composition) -> Floats:
        found = np.full(len(block.shapes.home), np.inf)
        known = codes.find(composition)
        for group in block.groups:
            if block.shapes.variables[group.rows[0]] == sum(composition):
                coded = add_codes(tables, group, known)
                found[group.rows] = bound_structures(tables, block.shapes, changes, coded)
        return found

    def start(composition: Composition | None, roots: Floats | None) -> LinearRun | RelaxedRun:
        limits = make_limit_rows(block, more=hold_composition(block, composition))
        known = codes.find(composition)
        if is_relaxed(block):
            return RelaxedRun.of(block, tables, limits, known)
        return LinearRun(
            block, tables, limits, floor, threads, codes=known, roots=roots, changes=changes
        )

    if codes.compositions:
        return CompositionRun(codes, bound, start, floor)
    return start(None, None)


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

    def give(composition: Composition | None) -> Factors:
        return give_codes(factors, features, posterior, codes.find(composition).astype(float))

    def bound(composition: Composition) -> Floats:
        fits = block.shapes.variables == sum(composition)
        return np.where(fits, bound_exponential(block, give(composition), model), np.inf)

    def state(composition: Composition | None, roots: Floats) -> ExponentialProblem:
        limits = make_limit_rows(block, more=hold_composition(block, composition))
        return ExponentialProblem(block, give(composition), model, limits, roots)

    def start(composition: Composition, roots: Floats) -> ExponentialRun:
        return ExponentialRun(state(composition, roots), threads)

    if codes.compositions:
        return CompositionRun(codes, bound, start, floor)
    return start_labellings(state(None, bound_exponential(block, give(None), model)), threads)
