"""For each composition of labels, the structures that can beat a value: columns of a program.

Notation (docs/branch-and-bound.md, "All structures at once")
    C = (C_1, ..., C_L)  how many nodes have each label: a *composition*
    λ                    a price for each label: for graphs with composition C,
                         LCB = (LCB + Σ_v λ[label of v]) - λ·C, so that a bound of the sum in
                         brackets over all labels, less λ·C, bounds them from below

Any λ, and any c of Lemma 2, proves something; a short search by coordinates looks, for each
structure, for a pair that proves much. Labels that a composition lacks are left out, so that "*" is
the mean over those that it has. A mixed-integer program needs no other structures than those that
are left (docs/compact-formulation.md, section 10).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from nasgoat.acquisition.branch.cells.classes import Group, make_group
from nasgoat.acquisition.branch.cells.records import Changes, Tables
from nasgoat.acquisition.branch.cells.reference import measure_changes
from nasgoat.acquisition.branch.cells.structure_bounds import Multipliers, bound_structures
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.cells.tables import make_tables
from nasgoat.acquisition.branch.records import MARGIN, Floats, Integers
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.compiled import limit_blas_threads
from nasgoat.errors import TooLargeError
from nasgoat.formulations.compositions import PARTS
from nasgoat.formulations.structure_columns import ColumnBounds, StructureColumns
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.summaries import Composition, list_compositions
from nasgoat.surrogate import LinearPosterior

if TYPE_CHECKING:
    from nasgoat.acquisition.branch import BranchAndBound


_FIRST, _LAST = 0.4, 0.05  # steps of the search for prices; those for ln c are a quarter
_STRETCH = 1.35  # of c, to begin with
_GAIN = 1e-3  # what a step must be worth
_CALLS = 100  # steps that one composition is worth
_SWEEPS = 6
_SMALLEST = 4  # nodes of models with columns: below, there is no pair of labelled nodes
_COLUMNS = 30_000  # structures beyond which layers are the smaller model


def bound_compositions(
    block: CellBlock,
    features: FeatureMap,
    posterior: LinearPosterior,
    sqrt_beta: float,
    nodes: int,
    compositions: Iterable[Composition],
    value: float,
    deadline: float,
) -> dict[Composition, tuple[Integers, Floats]]:
    """For each composition of labels, the structures that may have graphs below a value.

    A mixed-integer program that looks for such graphs needs no others.

    Args:
        block: Structures whose nodes carry the labels.
        features: The kernel features of the space.
        posterior: What is known.
        sqrt_beta: Weight of the standard deviation.
        nodes: Number of nodes of the structures that are asked for.
        compositions: How many inner nodes have each operation.
        value: What a graph must be worth less than.
        deadline: Of ``time.perf_counter``; compositions that it leaves out keep every structure.

    Returns:
        For each composition that has any, the rows of the structures in the block, and a lower
        bound on the graphs of each.
    """
    every = np.flatnonzero(block.shapes.nodes == nodes)
    bounds: dict[tuple[int, ...], _PricedBounds] = {}
    found: dict[Composition, tuple[Integers, Floats]] = {}
    with limit_blas_threads():
        for C in compositions:
            ops = tuple(op for op, count in enumerate(C) if count)
            if ops not in bounds:
                tables = make_tables(features, posterior, sqrt_beta, ops)
                bounds[ops] = _bound_without_prices(block, tables, len(ops), every, value + MARGIN)
            counts = np.array([C[op] for op in ops], dtype=float)
            rows, best = bounds[ops].find_open(counts, value + MARGIN, deadline)
            if len(rows):
                found[C] = rows, best - MARGIN
    return found


def _bound_without_prices(
    block: CellBlock, tables: Tables, labels: int, every: Integers, value: float
) -> _PricedBounds:
    """The structures that may beat ``value``, by a bound that holds for every composition."""
    changes = measure_changes(tables, block.shapes, block.classes, labels)
    group = make_group(block.shapes, labels, every)
    first = bound_structures(tables, block.shapes, changes, group)
    left = np.flatnonzero(first < value)
    start = Multipliers(prices=np.zeros((len(left), labels)), stretch=np.full(len(left), _STRETCH))
    return _PricedBounds(
        block=block,
        tables=tables,
        changes=changes,
        group=group.take(left),
        first=first[left],
        multipliers=start,
    )


@dataclass(frozen=True)
class _PricedBounds:
    """Bounds of structures whose labels are some of the operations."""

    block: CellBlock
    tables: Tables
    changes: Changes
    group: Group
    first: Floats  # bounds for all compositions
    multipliers: Multipliers  # for each structure, what proved most so far

    def find_open(self, C: Floats, value: float, deadline: float) -> tuple[Integers, Floats]:
        """The structures with a bound below ``value`` for graphs of composition C.

        Args:
            C: How many nodes have each label.
            value: What graphs must be worth less than.
            deadline: When to stop improving the bounds.

        Returns:
            The structures and the best bound of each.
        """
        every = np.arange(len(self.group.rows))
        kept = self.multipliers
        best = np.maximum(self.first, self._bound(every, kept, C))
        step, calls = _FIRST, _CALLS
        while step >= _LAST:
            moved = False
            for prices, stretch in _list_steps(len(C), step):
                trying = np.flatnonzero(best < value)
                while len(trying) and calls and time.perf_counter() < deadline:
                    calls -= 1
                    tried = Multipliers(
                        prices=kept.prices[trying] + prices, stretch=kept.stretch[trying] * stretch
                    )
                    bounds = self._bound(trying, tried, C)
                    better = bounds > best[trying] + _GAIN
                    trying, bounds = trying[better], bounds[better]
                    kept.prices[trying] = tried.prices[better]
                    kept.stretch[trying] = tried.stretch[better]
                    best[trying] = bounds
                    moved = moved or len(trying) > 0
                    trying = trying[bounds < value]
            if not moved:
                step /= 2
        places = np.flatnonzero(best < value)
        return self.group.rows[places], best[places]

    def _bound(self, places: Integers, multipliers: Multipliers, C: Floats) -> Floats:
        bounds = bound_structures(
            self.tables,
            self.block.shapes,
            self.changes,
            self.group.take(places),
            multipliers,
            _SWEEPS,
        )
        return bounds - multipliers.prices @ C


def _list_steps(labels: int, step: float) -> Iterator[tuple[Floats, float]]:
    """Changes of one price or of c; only differences of prices matter, so the last one stays 0."""
    for a in range(labels - 1):
        for size in (step, -step):
            yield size * np.eye(labels)[a], 1.0
    for size in (step / 4, -step / 4):
        yield np.zeros(labels), float(np.exp(size))


def choose_columns(
    search: BranchAndBound, acquisition: LinearAcquisition, n: int, value: float, deadline: float
) -> StructureColumns | None:
    """The structures of n nodes that may have graphs below a value, as columns of a model.

    A structure whose bound for a composition of labels is not below the value has no graph of it
    that the search could still want. Those that are left are far fewer, and the model's relaxation
    is far tighter than that of layered paths (docs/compact-formulation.md, section 10). This is the
    one place where the MIP asks for columns.

    Args:
        search: Knows the structures of the space.
        acquisition: What is minimised.
        n: Number of nodes.
        value: What a graph must be worth less than.
        deadline: Of ``time.perf_counter``, for bounds.

    Returns:
        The structures for each composition; None where layers are the better model, or where
        branch and bound can't list structures in time.
    """
    space, posterior = search.space, acquisition.posterior
    if space.labels_on != "nodes" or not isinstance(posterior, LinearPosterior):
        return None
    inner, ops = n - 2, len(space.node_vocabulary) - 2
    if n < _SMALLEST or not np.isfinite(value) or comb(inner + ops - 1, inner) > PARTS:
        return None
    try:
        block = search.structures(n, deadline)
    except TooLargeError:
        return None
    if block is None:
        return None
    every, features = list_compositions(inner, ops), acquisition.features
    found = bound_compositions(
        block, features, posterior, acquisition.sqrt_beta, n, every, value, deadline
    )
    none = np.zeros(0, dtype=np.int64)
    kept = np.unique(np.concatenate([none, *(rows for rows, _ in found.values())]))
    if len(kept) > _COLUMNS:
        return None
    allowed = {
        C: ColumnBounds(np.searchsorted(kept, rows), best) for C, (rows, best) in found.items()
    }
    return StructureColumns(block.adjacency[kept, :n, :n], allowed)
