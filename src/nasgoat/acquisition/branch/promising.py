"""Which structures can beat a value, for each composition of labels.

Notation (docs/branch-and-bound.md)
    C = (C_1, ..., C_L)  how many nodes have each label
    λ                    a price for each label: for graphs with composition C,
                         LCB = (LCB + Σ_v λ[label of v]) - λ·C, so that a bound of the sum in
                         brackets over all labels, less λ·C, bounds them from below

Any λ, and any c of Lemma 2, proves something; a short search by coordinates looks, for each
structure, for a pair that proves much. Labels that a composition lacks are left out, so that "*" is
the mean over those that it has.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Integers, Kinds, Tables
from nasgoat.acquisition.branch.groups import Group, group_of
from nasgoat.acquisition.branch.kinds import measured_kinds
from nasgoat.acquisition.branch.quick import Free, quick_bounds
from nasgoat.acquisition.branch.runs import MARGIN
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.states import states_of
from nasgoat.acquisition.branch.tables import tables_of
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate import LinearPosterior

Composition = tuple[int, ...]
_FIRST, _LAST = 0.4, 0.05  # steps of the search for prices; those for ln c are a quarter
_STRETCH = 1.35  # of c, to begin with
_GAIN = 1e-3  # what a step must be worth
_CALLS = 100  # steps that one composition is worth
_SWEEPS = 6


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
    found: dict[Composition, tuple[Integers, Floats]] = {}
    for C in compositions:
        ops = tuple(op for op, count in enumerate(C) if count)
        if ops not in bounds:
            tables = tables_of(features, posterior, sqrt_beta, ops)
            kinds = measured_kinds(tables, block.shapes, states_of(block, tables), len(ops))
            group = group_of(block.shapes, len(ops), every)
            first = quick_bounds(tables, block.shapes, kinds, group)  # no price at all
            open_ = np.flatnonzero(first < value + MARGIN)
            start = Free(np.zeros((len(open_), len(ops))), np.full(len(open_), _STRETCH))
            bounds[ops] = _Bounds(block, tables, kinds, _some(group, open_), first[open_], start)
        counts = np.array([C[op] for op in ops], dtype=float)
        rows, best = bounds[ops].undecided(counts, value + MARGIN, deadline)
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
    first: Floats  # bounds for all compositions
    free: Free  # for each of them, what proved most so far

    def undecided(self, C: Floats, value: float, deadline: float) -> tuple[Integers, Floats]:
        """The structures whose graphs of composition C nothing shows to be worth ``value``.

        Args:
            C: How many nodes have each label.
            value: What graphs must be worth less than.
            deadline: When to leave it at that.

        Returns:
            The structures and the best bound of each.
        """
        every = np.arange(len(self.every.rows))
        best = np.maximum(self.first, self._priced(every, self.free, C))
        step, calls = _FIRST, _CALLS
        while step >= _LAST:
            moved = False
            for prices, stretch in _changes(len(C), step):
                trying = np.flatnonzero(best < value)
                while len(trying) and calls and time.perf_counter() < deadline:
                    calls -= 1
                    tried = Free(
                        self.free.prices[trying] + prices, self.free.stretch[trying] * stretch
                    )
                    bounds = self._priced(trying, tried, C)
                    better = bounds > best[trying] + _GAIN
                    trying, bounds = trying[better], bounds[better]
                    self.free.prices[trying] = tried.prices[better]
                    self.free.stretch[trying] = tried.stretch[better]
                    best[trying] = bounds
                    moved = moved or len(trying) > 0
                    trying = trying[bounds < value]
            if not moved:
                step /= 2
        places = np.flatnonzero(best < value)
        return self.every.rows[places], best[places]

    def _priced(self, places: Integers, free: Free, C: Floats) -> Floats:
        bounds = quick_bounds(
            self.tables, self.block.shapes, self.kinds, _some(self.every, places), free, _SWEEPS
        )
        return bounds - free.prices @ C


def _changes(labels: int, step: float) -> Iterator[tuple[Floats, float]]:
    """Changes of one price or of c; only differences of prices matter, so the last one stays 0."""
    for a in range(labels - 1):
        for size in (step, -step):
            yield size * np.eye(labels)[a], 1.0
    for size in (step / 4, -step / 4):
        yield np.zeros(labels), float(np.exp(size))


def _some(group: Group, places: Integers) -> Group:
    return group._replace(
        rows=group.rows[places],
        times=group.times[places],
        apart=group.apart[places],
        pairs=group.pairs[places],
    )
