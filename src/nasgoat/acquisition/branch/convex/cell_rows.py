"""The cells of a space as rows of columns, for the search of several cells at once.

Notation
    S  rows of a side;  E  places that may carry a label;  L  most labels of a place;  K  limits
    a column holds the mean part and the vector of features: 1 + r numbers

A cell whose labels are on edges has a row for each structure, and places for its labels; any other
cell has a row for each of its graphs, and no places. All cells but the one with the most rows make
up one *side*, whose rows are all combinations of theirs; that one is the other side. A graph is a
row of each side, and a label at every place that the two rows have.

A place with fewer labels than another one has its last label several times; this makes the same
graph again, which is told by its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import Floats, Integers
from nasgoat.graphs import GraphBatch, LabeledGraph, NamedGraphs
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.blocks import code_block
from nasgoat.spaces import CellSpace, SearchSpace
from nasgoat.spaces.limits import SIGNS, TOLERANCE, Limit
from nasgoat.surrogate import LinearPosterior

_NOTHING = Limit("nothing", "<=", 0.0)


@dataclass(frozen=True, eq=False)
class CellRows:
    """One cell: its structures or its graphs, whatever the posterior is.

    Args:
        name: The cell.
        space: Its space.
        batch: A graph for each row; labels of places mean nothing.
        places: Size of the cell and edge of each place.
        present: Which places each row has, shape (S, E).
    """

    name: str
    space: SearchSpace
    batch: GraphBatch
    places: Sequence[tuple[int, int, int]]
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, name: str, space: SearchSpace, whole: bool = False) -> CellRows:
        """The rows of a cell: all are listed; with ``whole`` every graph is one."""
        if space.labels_on == "edges" and not whole:
            return cls._of_structures(name, cast(CellSpace, space))
        batches = [batch for batch in space.enumerate() if len(batch)]
        batch = GraphBatch.join(batches) if batches else space.batch([])
        return cls(name, space, batch, (), np.zeros((len(batch), 0), dtype=bool))

    @classmethod
    def _of_structures(cls, name: str, space: CellSpace) -> CellRows:
        places = [(n, u, v) for n in space.sizes for u, v in space.edge_places(n)]
        matrices = [a for n in space.sizes for chunk in space.structures(n) for a in chunk]
        blank = [space.assemble(a, [0] * int(a.sum())) for a in matrices]
        present = np.array([[len(a) == n and a[u, v] for n, u, v in places] for a in matrices])
        batch = space.batch(blank)
        return cls(name, space, batch, places, present.reshape(len(batch), len(places)))

    @cached_property
    def features(self) -> FeatureMap:
        """What is counted in the cell: of the paper's blocks, whichever a kernel has."""
        return FeatureMap(self.space)

    @cached_property
    def counts(self) -> NDArray[np.uint16]:
        """Counts of each row; those of labels at places are left out."""
        found = self.features.counts(self.batch)
        if self.places:
            found[:, len(self.features.path_types) :] = 0
        return found

    def list_columns(
        self, features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float
    ) -> tuple[Floats, Floats]:
        """Columns of the rows, (S, 1 + r), and of the labels of all places, (E, L, 1 + r)."""
        width = 1 + posterior.R.shape[1]
        labels = len(self.space.edge_vocabulary) if self.places else 0
        start = np.zeros((len(self.batch), width))
        label = np.zeros((len(self.places), labels, width))
        column = {kind: i for i, kind in enumerate(self.features.edge_types)}
        for n in self.space.sizes:
            on_counts = posterior.fold_to_counts(features, n)
            columns = np.column_stack([on_counts.w, sqrt_beta * on_counts.R])
            own = self.batch.sizes == n
            start[own] = self.counts[own].astype(float) @ columns
            for e, (size, u, v) in enumerate(self.places):
                if size == n:
                    first = len(self.features.path_types)
                    label[e] = columns[[first + column[u, v, code] for code in range(labels)]]
        return start, label

    def list_codes(
        self, features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float
    ) -> Floats:
        """Columns of the codes of blocks other than the paper's, (S, 1 + r), of each row."""
        found = np.zeros((len(self.batch), 1 + posterior.R.shape[1]))
        end = sum(features.widths) - sum(code.width for code in features.codes.values())
        for name, code in features.codes.items():
            part = slice(end, end := end + code.width)
            cell, _, block = name.rpartition(".")
            if cell == self.name and code.width:
                own = code_block(block, self.space)
                columns = np.column_stack([posterior.w[part], sqrt_beta * posterior.R[part]])
                found += own.scale * own.encode(own.count(self.batch)) @ columns
        return found

    def list_costs(self, limits: Sequence[Limit]) -> tuple[Floats, Floats]:
        """What each row adds to each limit, (K, S), and the labels of all places, (K, E, L)."""
        if not self.places:
            return self.space.add_up(limits, self.batch), np.zeros((len(limits), 0, 0))
        words = self.space.edge_vocabulary
        fixed = [replace(limit, edge_ops={}, edge_places={}) for limit in limits]
        label = [[limit.edge_cost(u, v, words) for _, u, v in self.places] for limit in limits]
        shape = (len(limits), len(self.places), len(words))
        return self.space.add_up(fixed, self.batch), np.array(label).reshape(shape)

    def make_graph(self, row: int, labels: Integers) -> LabeledGraph:
        """The graph of a row with these labels at its places."""
        if not self.places:
            return self.batch[row]
        space = cast(CellSpace, self.space)
        n, most = int(self.batch.sizes[row]), len(space.edge_vocabulary) - 1
        return space.assemble(self.batch.adjacency[row, :n, :n], np.minimum(labels, most).tolist())


@dataclass(frozen=True, eq=False)
class Side:
    """Rows of one cell, or all combinations of those of several.

    Args:
        cells: The cells.
        rows: Which row of each cell a row is, shape (S, cells).
    """

    cells: Sequence[CellRows]
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, cells: Sequence[CellRows]) -> Side:
        """All combinations of the rows of some cells."""
        numbers = [len(cell.batch) for cell in cells]
        rows = np.stack(np.unravel_index(np.arange(prod(numbers)), numbers), axis=1)
        return cls(cells, rows)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Which places each row has, shape (S, E)."""
        pairs = zip(self.cells, self.rows.T, strict=True)
        return np.hstack([cell.present[rows] for cell, rows in pairs])

    def add_up(self, parts: Sequence[Floats]) -> Floats:
        """What the rows of all cells have together, given that of each cell's, (S, ...)."""
        found = [part[rows] for part, rows in zip(parts, self.rows.T, strict=True)]
        return np.asarray(sum(found[1:], start=found[0]))

    def make_graphs(self, row: int, labels: Integers) -> dict[str, LabeledGraph]:
        """The graph of every cell in a row with labels at its places."""
        found = {}
        for cell, own in zip(self.cells, self.rows[row].tolist(), strict=True):
            many = int(cell.present[own].sum())
            found[cell.name], labels = cell.make_graph(own, labels[:many]), labels[many:]
        return found


@dataclass(frozen=True, eq=False)
class SideColumns:
    """A side under one posterior."""

    side: Side
    start: Floats  # (S, 1 + r) column of each row
    label: Floats  # (E, L, 1 + r) of each label of each place
    fixed: Floats  # (K, S) what a row adds to each limit
    cost: Floats  # (K, E, L) what a label adds


@dataclass(frozen=True, eq=False)
class CellPairs:
    """Several cells as two sides; what is listed serves every posterior.

    Args:
        space: The space.
        first: The cell with the most rows.
        second: All other cells.
    """

    space: SearchSpace
    first: Side
    second: Side

    @classmethod
    def of(cls, space: SearchSpace, whole: bool = False) -> CellPairs:
        """List the rows of every cell; with ``whole`` every graph is one."""
        cells = sorted(
            (CellRows.of(name, cell, whole) for name, cell in space.cells.items()),
            key=lambda cell: len(cell.batch),
        )
        return cls(space, Side.of(cells[-1:]), Side.of(cells[:-1]))

    def limit(self, space: SearchSpace) -> CellPairs:
        """The same rows, with the limits of this space."""
        return replace(self, space=space)

    def make_graph(self, s: int, states: Integers) -> LabeledGraph:
        """The graph of a pair of rows, by its number, with labels at all places of both."""
        i, j = divmod(s, len(self.second.rows))
        many = int(self.first.present[i].sum())
        found = self.first.make_graphs(i, states[:many]) | self.second.make_graphs(j, states[many:])
        return NamedGraphs({name: found[name] for name in self.space.cells})

    @cached_property
    def _limits(self) -> list[tuple[Limit, float]]:
        """Every limit, of all cells and of each, with the signs that make it rows ``<=``."""
        own = [
            replace(limit, cells={name: limit}, node_ops={}, edge_ops={}, edge_places={})
            for name, cell in self.space.cells.items()
            for limit in cell.all_limits
        ]
        return [
            (limit, sign) for limit in (*self.space.limits, *own) for sign in SIGNS[limit.sense]
        ]

    @cached_property
    def cap(self) -> Floats:
        """What the rows of limits may add up to, shape (K,)."""
        return np.array(
            [
                sign * limit.bound + TOLERANCE * max(1.0, abs(limit.bound))
                for limit, sign in self._limits
            ]
        )

    def list_columns(
        self, features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float
    ) -> tuple[SideColumns, SideColumns]:
        """Both sides under a posterior."""
        first, second = (
            self._list_side(side, features, posterior, sqrt_beta)
            for side in (self.first, self.second)
        )
        return first, second

    def _list_side(
        self, side: Side, features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float
    ) -> SideColumns:
        """The columns and costs of one side: those of its cells, added up."""
        signs = np.array([sign for _, sign in self._limits])
        starts, labels, fixed, costs = [], [], [], []
        for cell in side.cells:
            own, _ = features.restrict_to_cell(cell.name)
            part = posterior.restrict_to_cell(features, cell.name)
            start, label = cell.list_columns(own, part, sqrt_beta)
            terms = [limit.cells.get(cell.name, _NOTHING) for limit, _ in self._limits]
            total, cost = cell.list_costs(terms)
            starts.append(start + cell.list_codes(features, posterior, sqrt_beta))
            labels.append(label)
            fixed.append((signs[:, None] * total).T)
            costs.append(signs[:, None, None] * cost)
        return SideColumns(
            side=side,
            start=side.add_up(starts),
            label=_stack(labels, 0),
            fixed=side.add_up(fixed).T,
            cost=_stack(costs, 1),
        )


def _stack(parts: Sequence[Floats], axis: int) -> Floats:
    """Arrays over places, one after the other; fewer labels are filled up by the last one."""
    most = max(part.shape[axis + 1] for part in parts)
    return np.concatenate([widen(part, most, axis + 1) for part in parts], axis=axis)


def widen(part: Floats, most: int, axis: int) -> Floats:
    """An array with this many labels along an axis, the last one several times."""
    if part.shape[axis] == 0:
        shape = list(part.shape)
        shape[axis] = most
        return np.zeros(shape)
    index = np.minimum(np.arange(most), part.shape[axis] - 1)
    return np.asarray(np.take(part, index, axis=axis))
