"""NAS-Bench-Graph: graph neural networks on nine graph datasets, from a package.

The package ``nas-bench-graph`` holds, for each dataset, the mean validation and test performance of
every architecture, by a number: the structure's place in a list of nine, then four digits for the
operations. Source: Qin et al., NeurIPS 2022.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nasgoat.benchmarks.listed_trees import ListedTreeSpace, Tree
from nasgoat.benchmarks.table_files import find_packaged, read_packaged
from nasgoat.errors import UnknownNameError
from nasgoat.graphs import LabeledGraph

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
        validation, test = self.table[self.space.tree(graph)]
        return {"error": validation, "test_error": test}

    def mean_error(self, graph: LabeledGraph) -> float:
        """The mean validation error."""
        return self.table[self.space.tree(graph)][0]


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
