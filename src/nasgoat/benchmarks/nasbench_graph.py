"""NAS-Bench-Graph: graph neural networks on nine graph datasets, from a package.

The package ``nas-bench-graph`` holds, for each dataset, the mean validation and test performance of
every architecture, by a number: the structure's place in a list of nine, then four digits for the
operations. Source: Qin et al., NeurIPS 2022.

Its space holds cells whose operations form a tree, given as a list. Between input and output a cell
has m operations. Each takes its input from the cell's input or from one earlier operation, and
every operation without a successor goes to the output. Which of these cells belong to the space is
given as a list, because the benchmark leaves out cells that compute the same as another one.

Notation
    parents  (m,)  parents[i] = 0 for the cell's input, else 1 + the operation it follows, ≤ i
    ops      (m,)  places of the operations in the vocabulary
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.table_files import find_packaged, read_packaged
from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.declared_values import check_ops
from nasgoat.spaces.label_sites import INPUT, OUTPUT
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.moves import list_others
from nasgoat.spaces.node_labeled import NodeLabeledSpace
from nasgoat.spaces.search_space import SearchSpace

Tree = tuple[tuple[int, ...], tuple[int, ...]]  # parents and ops
_BLOCK = 4096  # cells listed at a time
_TRIES = 200


@dataclass(frozen=True, repr=False)
class ListedTreeSpace(SearchSpace):
    """The listed cells; isomorphic ones count as the same cell.

    Args:
        ops: Names of the operations.
        trees: The cells as (parents, ops) pairs, all with the same number of operations.
        limits: Linear limits; see :meth:`~nasgoat.SearchSpace.constrain`.

    Example:
        >>> space = ListedTreeSpace(["gcn", "fc"], [((0, 1), (0, 1)), ((0, 0), (0, 1))])
        >>> space.count()
        2
        >>> space.graph(((0, 0), (0, 1))).edges
        ((0, 1), (0, 2), (1, 3), (2, 3))
    """

    ops: Sequence[str]
    trees: Sequence[Tree] = field(repr=False)
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    costs: tuple[Cost, ...] = field(default=(), kw_only=True, compare=False)
    indexed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ops", check_ops(self.ops, reserved=(INPUT, OUTPUT)))
        object.__setattr__(self, "trees", tuple(self.trees))
        if not self.trees:
            raise SpaceError("trees must hold at least one cell, got none")

    @property
    def operations(self) -> int:
        """Number of operations in a cell."""
        return len(self.trees[0][0])

    @property
    def acyclic(self) -> bool:
        return True

    @property
    def sizes(self) -> range:
        n = self.operations + 2
        return range(n, n + 1)

    @property
    def node_vocabulary(self) -> tuple[str, ...]:
        return (INPUT, *self.ops, OUTPUT)

    @property
    def edge_vocabulary(self) -> tuple[str, ...]:
        return ()

    def path_types(self) -> list[tuple[int, int, int]]:
        return self._cells.path_types()

    def graph(self, tree: Tree) -> LabeledGraph:
        """The cell of a (parents, ops) pair."""
        parents, ops = tree
        m = len(parents)
        edges = [(parent, i + 1) for i, parent in enumerate(parents)]
        edges += [(i + 1, m + 1) for i in range(m) if i + 1 not in parents]
        labels = [INPUT, *(self.ops[op] for op in ops), OUTPUT]
        return LabeledGraph.from_edges(m + 2, edges, labels)

    def find_tree(self, graph: LabeledGraph) -> Tree:
        """The listed pair of a cell, in whichever order its nodes are."""
        inner, parents = self._find_parents(graph)
        labels = graph.node_labels or ()
        for order in permutations(inner):
            place = {v: i + 1 for i, v in enumerate(order)}
            row = tuple(place.get(parents[v], 0) for v in order)
            tree = (row, tuple(self.ops.index(labels[v]) for v in order))
            if tree in self._listed:
                return tree
        raise GraphError("the graph must be one of the listed cells, got another one")

    def _check(self, graph: LabeledGraph) -> None:
        self._cells.check(graph)
        self.find_tree(graph)

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        return self.graph(self.trees[int(rng.integers(len(self.trees)))])

    def _mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        parents, ops = (list(part) for part in self.find_tree(graph))
        m = len(ops)
        for _ in range(_TRIES):
            new_parents, new_ops = list(parents), list(ops)
            for i in range(m):
                if rng.random() < 1 / m:
                    new_ops[i] = int(rng.integers(len(self.ops)))
                if rng.random() < 1 / m:
                    new_parents[i] = int(rng.integers(i + 1))
            other = self._find(new_parents, new_ops)
            if other is not None and self.key(other) != self.key(graph):
                return other
        others = self._neighbours(graph)
        return others[int(rng.integers(len(others)))] if others else self._draw(rng)

    def _neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        parents, ops = (list(part) for part in self.find_tree(graph))
        changes: list[tuple[list[int], list[int]]] = []
        for i in range(len(ops)):
            changes += [(parents, [*ops[:i], op, *ops[i + 1 :]]) for op in range(len(self.ops))]
            changes += [([*parents[:i], p, *parents[i + 1 :]], ops) for p in range(i + 1)]
        found = (self._find(*change) for change in changes)
        return list_others(self, graph, (cell for cell in found if cell is not None))

    def _count(self) -> int:
        return len(self.trees)

    def ends(self, batch: GraphBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return batch.find_ends_by_label()

    @property
    def node_ops(self) -> tuple[str, ...]:
        return tuple(self.ops)

    def size_bound(self) -> int:
        return len(self.trees)

    def _enumerate(self) -> Iterator[GraphBatch]:
        for start in range(0, len(self.trees), _BLOCK):
            yield self.batch([self.graph(tree) for tree in self.trees[start : start + _BLOCK]])

    def with_nodes(self, n: int) -> ListedTreeSpace:
        if n not in self.sizes:
            raise SpaceError(f"nodes must be {self.sizes[0]} in this space, got {n}")
        return self

    def _declaration(self) -> dict[str, Any]:
        listed = hashlib.sha256(repr(sorted(self.trees)).encode()).hexdigest()
        return {"kind": "listed trees", "ops": list(self.ops), "cells": listed}

    def _describe(self) -> str:
        return (
            f"{len(self.trees):,} listed cells of {self.operations} operations that form a tree: "
            f"{', '.join(self.ops)}"
        )

    @cached_property
    def _listed(self) -> frozenset[Tree]:
        return frozenset(self.trees)

    @cached_property
    def _cells(self) -> NodeLabeledSpace:
        """All cells of the size, whether or not they are listed."""
        return NodeLabeledSpace(self.sizes[0], self.ops)

    def _find(self, parents: Sequence[int], ops: Sequence[int]) -> LabeledGraph | None:
        """The cell if it, in some order of its nodes, is listed."""
        graph = self.graph((tuple(parents), tuple(ops)))
        try:
            self._check(graph)
        except GraphError:
            return None
        return graph

    def _find_parents(self, graph: LabeledGraph) -> tuple[list[int], dict[int, int]]:
        labels = graph.node_labels or ()
        inner = [v for v, label in enumerate(labels) if label not in (INPUT, OUTPUT)]
        found: dict[int, int] = {}
        for v in inner:
            before = np.flatnonzero(graph.adjacency[:, v]).tolist()
            if len(before) != 1:
                raise GraphError(
                    f"every operation must follow one node, node {v} follows {len(before)}"
                )
            found[v] = before[0]
        return inner, found


GRAPH_DATASETS = (
    *("cora", "citeseer", "pubmed", "cs", "physics"),
    *("photo", "computers", "arxiv", "proteins"),
)
_OPERATIONS = ("gat", "gcn", "gin", "cheb", "sage", "arma", "graph", "fc", "skip")
_STRUCTURES = (
    (0, 0, 0, 0),
    (0, 0, 0, 1),
    (0, 0, 1, 1),
    (0, 0, 1, 2),
    (0, 0, 1, 3),
    (0, 1, 1, 1),
    (0, 1, 1, 2),
    (0, 1, 2, 2),
    (0, 1, 2, 3),
)


@dataclass(frozen=True, eq=False)
class NasBenchGraph:
    """Validation errors of NAS-Bench-Graph on one dataset.

    Args:
        dataset: One of ``GRAPH_DATASETS``.
    """

    dataset: str
    metric: str = "validation error, mean over trainings (%)"
    space: ListedTreeSpace = field(init=False)
    table: dict[Tree, tuple[float, float]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dataset not in GRAPH_DATASETS:
            raise UnknownNameError("dataset", self.dataset, GRAPH_DATASETS)
        table = _read(self.dataset)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "space", ListedTreeSpace(_OPERATIONS, sorted(table)))

    @property
    def name(self) -> str:
        """The name under which :func:`~nasgoat.benchmarks.benchmark` finds it."""
        return f"nbgraph/{self.dataset}"

    @property
    def optimum(self) -> float:
        """Smallest validation error of the table."""
        return min(validation for validation, _ in self.table.values())

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """The mean validation error, and the mean test error."""
        validation, test = self.table[self.space.find_tree(graph)]
        return {"error": validation, "test_error": test}

    def mean_error(self, graph: LabeledGraph) -> float:
        """The mean validation error."""
        return self.table[self.space.find_tree(graph)][0]


def _read_tree(key: int) -> Tree:
    digits = [int(digit) for digit in f"{key:05d}"]
    return _STRUCTURES[digits[0]], tuple(digits[1:])


def _read(dataset: str) -> dict[Tree, tuple[float, float]]:
    """Validation and test error (percent) of every architecture."""
    path = find_packaged(
        "nas_bench_graph",
        f"light/{dataset}.bench",
        title="the table of NAS-Bench-Graph",
        install="'nasgoat[nbgraph]'",
    )
    return read_packaged(
        path,
        "nas-bench-graph 1.4",
        lambda table: {
            _read_tree(key): (100 * (1 - float(row["valid_perf"])), 100 * (1 - float(row["perf"])))
            for key, row in table.items()
        },
    )
