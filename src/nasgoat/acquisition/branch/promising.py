"""Which structures can beat a value, for each composition of labels.

Notation (docs/branch-and-bound.md)
    C = (C_1, ..., C_L)  how many nodes have each label
    λ                    a price for each label: for graphs with composition C,
                         LCB = (LCB + Σ_v λ[label of v]) - λ·C, so that a bound of the sum in
                         brackets over all labels, less λ·C, bounds them from below

Any λ proves something; a short search by coordinates looks for one that proves much. Labels that a
composition lacks are left out, so that "*" is the mean over those that it has.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Integers, Kinds, Tables
from nasgoat.acquisition.branch.groups import Group, group_of
from nasgoat.acquisition.branch.kinds import measured_kinds
from nasgoat.acquisition.branch.quick import quick_bounds
from nasgoat.acquisition.branch.runs import MARGIN
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.states import states_of
from nasgoat.acquisition.branch.tables import tables_of
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate import LinearPosterior

Composition = tuple[int, ...]
_FIRST, _LAST = 0.4, 0.05  # steps of the search for λ
_CALLS = 60  # bounds of all structures that one composition is worth


def promising(
    block: Block,
    features: FeatureMap,
    posterior: LinearPosterior,
    sqrt_beta: float,
    nodes: int,
    compositions: Iterable[Composition],
    value: float,
    deadline: float,
) -> dict[Composition, tuple[Integers, Floats]]:
    """For each composition the structures of the block that may have graphs below a value.

    Args:
        block: Structures.
        features: The kernel features of the space.
        posterior: What is known.
        sqrt_beta: Weight of the standard deviation.
        nodes: Number of nodes of the structures that are asked for.
        compositions: How many inner nodes have each operation.
        value: What a graph must be worth less than.
        deadline: Of ``time.perf_counter``; compositions that it leaves out keep every structure.

    Returns:
        The structures, and the best bound of each that was found.
    """
    every = np.flatnonzero(block.shapes.nodes == nodes)
    bounds: dict[tuple[int, ...], _Bounds] = {}
    prices: dict[tuple[int, ...], Floats] = {}  # of the composition before, which is much alike
    found: dict[Composition, tuple[Integers, Floats]] = {}
    for C in compositions:
        ops = tuple(op for op, count in enumerate(C) if count)
        if ops not in bounds:
            tables = tables_of(features, posterior, sqrt_beta, ops)
            kinds = measured_kinds(tables, block.shapes, states_of(block, tables), len(ops))
            group = group_of(block.shapes, len(ops), every)
            free = quick_bounds(tables, block.shapes, kinds, group)  # no price at all
            open_ = free < value + MARGIN
            bounds[ops] = _Bounds(block, tables, kinds, _some(group, open_), free[open_])
            prices[ops] = np.zeros(len(ops))
        counts = np.array([C[op] for op in ops], dtype=float)
        rows, best, prices[ops] = bounds[ops].undecided(
            counts, value + MARGIN, prices[ops], deadline
        )
        if len(rows):
            found[C] = rows, best - MARGIN
    return found


@dataclass(frozen=True)
class _Bounds:
    """Bounds of structures whose labels are some of the operations."""

    block: Block
    tables: Tables
    kinds: Kinds
    every: Group
    free: Floats  # bounds at prices of 0

    def undecided(
        self, C: Floats, value: float, prices: Floats, deadline: float
    ) -> tuple[Integers, Floats, Floats]:
        """The structures whose graphs of composition C no price shows to be worth ``value``.

        Args:
            C: How many nodes have each label.
            value: What graphs must be worth less than.
            prices: To begin with.
            deadline: When to leave it at that.

        Returns:
            The structures, the best bound of each, and the prices that proved most.
        """
        group, known = self.every, self._priced(self.every, prices, C)
        best = np.maximum(known, self.free)
        open_ = best < value
        group, known, best = _some(group, open_), known[open_], best[open_]
        step, calls = _FIRST, 0
        while step >= _LAST:
            centre = prices
            for change in _changes(len(C), step):
                improves = True
                while improves:
                    if not len(known) or calls >= _CALLS or time.perf_counter() > deadline:
                        return group.rows, best, prices
                    bounds = self._priced(group, prices + change, C)
                    calls += 1
                    best = np.maximum(best, bounds)
                    open_ = best < value
                    improves = bool(np.minimum(bounds, value).sum() > known.sum())
                    if improves:
                        prices, known = prices + change, bounds
                    group, known, best = _some(group, open_), known[open_], best[open_]
            if prices is centre:
                step /= 2
        return group.rows, best, prices

    def _priced(self, group: Group, prices: Floats, C: Floats) -> Floats:
        kinds = self.kinds._replace(mean=self.kinds.mean + prices)
        return quick_bounds(self.tables, self.block.shapes, kinds, group) - prices @ C


def _changes(labels: int, step: float) -> Iterator[Floats]:
    """Changes of one price; only differences matter, so the last one stays 0."""
    for a in range(labels - 1):
        for size in (step, -step):
            yield size * np.eye(labels)[a]


def _some(group: Group, chosen: NDArray[np.bool_]) -> Group:
    return group._replace(
        rows=group.rows[chosen],
        times=group.times[chosen],
        apart=group.apart[chosen],
        pairs=group.pairs[chosen],
    )
