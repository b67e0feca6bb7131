"""Tables with trainings of several lengths, for searches with fidelities.

NAS-Bench-201 with 12 and 200 epochs (three data sets), and NAS-Bench-101 with 4, 12, 36 and 108
epochs on the 23,142 cells whose trainings of all lengths ``nb101.npz`` holds. A training costs its
epochs in proportion to those of a full one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition import Catalogue
from nasgoat.benchmarks import NasBench201
from nasgoat.benchmarks.nasbench101 import FILE, hash_module
from nasgoat.benchmarks.table_files import find_data_folder
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces import NodeLabeledSpace, SearchSpace, nasbench101, nasbench201

_CODES = {-1: "input", -2: "output", 0: "conv3x3", 1: "conv1x1", 2: "maxpool3x3"}


class Task:
    """Errors of the cells of a space after trainings of several lengths.

    Args:
        name: Of the table.
        space: Its cells.
        lengths: Epochs, the full training last.
        most: What a search may spend, in full trainings; with short ones at most 100.
    """

    def __init__(
        self, name: str, space: SearchSpace, lengths: tuple[int, ...], most: float = 160.0
    ) -> None:
        self.name, self.space, self.lengths, self.most = name, space, lengths, most
        self.costs = [epochs / lengths[-1] for epochs in lengths]

    @cached_property
    def cells(self) -> Catalogue:
        """All cells, listed once."""
        return Catalogue(self.space)

    @property
    def fidelities(self) -> str:
        """As a search with fidelities is told."""
        return "epochs=" + ",".join(map(str, self.lengths))

    optimum: float

    def error(self, graph: LabeledGraph, epochs: int | None = None) -> float:
        """The mean validation error of a cell after so many epochs, by default all."""
        raise NotImplementedError


class NasBench201Task(Task):
    """NAS-Bench-201: 12 and 200 epochs."""

    def __init__(self, dataset: str) -> None:
        super().__init__(dataset, nasbench201(), (12, 200))
        self.tables = {epochs: NasBench201(dataset, epochs=epochs) for epochs in self.lengths}
        self.optimum = self.tables[200].optimum

    def error(self, graph: LabeledGraph, epochs: int | None = None) -> float:
        """The mean error of a cell."""
        return self.tables[epochs or 200].mean_error(graph)


@cache
def read_nasbench101() -> dict[str, NDArray[np.generic]]:
    """The cells of NAS-Bench-101 with trainings of all lengths, small ones first."""
    with np.load(find_data_folder() / FILE) as table:
        places = table["runs_idx"]
        order = np.argsort(table["n_vertices"][places], kind="stable")
        found = {name: table[name][places[order]] for name in ("hash16", "n_vertices", "ops")}
        found["adjacency"] = table["adjacency"][places[order]]
        found["errors"] = 100.0 * (1.0 - table["runs_val"][order].mean(axis=2, dtype=float))
    return found


@dataclass(frozen=True, repr=False)
class MeasuredCells(NodeLabeledSpace):
    """The cells of NAS-Bench-101's space that have trainings of all lengths."""

    def _enumerate(self) -> Iterator[GraphBatch]:
        table = read_nasbench101()
        codes = np.full(table["ops"].shape, -1, dtype=np.int8)
        for number, label in _CODES.items():
            codes[table["ops"] == number] = self.node_vocabulary.index(label)
        for size in np.unique(table["n_vertices"]):
            of = table["n_vertices"] == size
            yield GraphBatch(
                table["adjacency"][of].astype(bool),
                table["n_vertices"][of].astype(np.int8),
                codes[of],
                node_vocabulary=self.node_vocabulary,
            )

    def _draw(self, rng: np.random.Generator) -> LabeledGraph:
        return self._listed[int(rng.integers(len(self._listed)))]

    @cached_property
    def _listed(self) -> list[LabeledGraph]:
        return [batch[i] for batch in self._enumerate() for i in range(len(batch))]

    def fingerprint(self) -> str:
        """A name of its own: the declaration is that of the whole space."""
        return f"{super().fingerprint()}-measured"


class NasBench101Task(Task):
    """NAS-Bench-101: 4, 12, 36 and 108 epochs."""

    def __init__(self) -> None:
        whole = nasbench101()
        space = MeasuredCells(whole.nodes, whole.ops, whole.max_edges)
        super().__init__("nb101", space, (4, 12, 36, 108), most=30.0)
        table = read_nasbench101()
        self._errors = table["errors"]
        self._places = {row.tobytes(): i for i, row in enumerate(table["hash16"])}
        self.optimum = float(self._errors[:, -1].min())

    def error(self, graph: LabeledGraph, epochs: int | None = None) -> float:
        """The mean validation error of three trainings of a cell."""
        level = self.lengths.index(epochs or self.lengths[-1])
        return float(self._errors[self._places[hash_module(graph)], level])


@cache
def find_task(name: str) -> Task:
    """A table by its name, read once."""
    return NasBench101Task() if name == "nb101" else NasBench201Task(name)
