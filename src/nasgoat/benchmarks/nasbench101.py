"""NAS-Bench-101, all 423,624 cells, from one of two tables.

- The folder ``nb101`` that ``nasgoat data import nb101 FILE`` makes of the official file, with
  validation and test accuracy of each training, mapped into memory: opening it reads a few
  hundred bytes. The error is the validation error.
- The file ``nb101.npz`` with ``hash16`` (the official module hashes, sorted) and ``test108_mean``
  (mean test accuracy of three trainings, as a fraction). It has no validation accuracy for every
  cell, so its error is the mean *test* error, and :attr:`NasBench101.metric` says so.

Both are looked for in the data folder (``NASGOAT_DATA``). Source: Ying et al., ICML 2019.

The folder has ``hash16.npy`` (N, 16) sorted, ``epochs.npy`` (E,), and ``validation.npy`` and
``test.npy`` (N, E, 3): accuracies as fractions, one column per training.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasgoat.benchmarks.table_files import find_data_folder
from nasgoat.errors import DataError, NoDataError, SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import NodeLabeledSpace, nasbench101

FILE, FOLDER = "nb101.npz", "nb101"
#: The arrays of the folder, one file each.
ARRAYS = ("hash16", "epochs", "validation", "test")
_REMEDY = (
    "run nasgoat data import nb101 nasbench_only108.tfrecord, or set NASGOAT_DATA to the folder of "
    f"{FILE}"
)
_LABELS = {"input": -1, "output": -2, "conv3x3": 0, "conv1x1": 1, "maxpool3x3": 2}


@dataclass(frozen=True, eq=False)
class NasBench101:
    """Errors of NAS-Bench-101.

    Args:
        path: The imported folder or the ``.npz`` file; by default what the data folder has.
        noisy: Whether a query answers one training's value instead of the mean over trainings;
            the ``.npz`` file has no single trainings.
        epochs: Training budget; the official full file has 4, 12, 36 and 108.
        space: The space to search.
    """

    path: Path | None = None
    noisy: bool = False
    epochs: int = 108
    space: NodeLabeledSpace = field(default_factory=nasbench101)
    name: str = "nb101"
    metric: str = field(init=False)
    hashes: NDArray[np.bytes_] = field(init=False, repr=False)
    accuracies: NDArray[np.floating] = field(init=False, repr=False)  # (N, trainings)
    test_accuracies: NDArray[np.floating] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        path = self.path or find_data_folder() / FOLDER
        if self.path is None and not path.is_dir():
            path = find_data_folder() / FILE
        try:
            load = self._load_folder if path.is_dir() else self._load_file
            load(path)
        except SettingError:
            raise
        except FileNotFoundError:
            raise NoDataError(
                f"NAS-Bench-101 must be in the data folder, got none at {path}; {_REMEDY}"
            ) from None
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as problem:
            raise DataError(
                f"NAS-Bench-101 must be in the data folder, got {problem}; {_REMEDY}"
            ) from None
        if self.noisy and self.test_accuracies is None:
            raise SettingError("noisy must be off for nb101.npz: it has no single trainings")

    def _load_folder(self, folder: Path) -> None:
        hashes, epochs, validation, test = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS
        )
        if self.epochs not in epochs:
            known = ", ".join(map(str, epochs))
            raise SettingError(f"epochs must be among {known} in this table, got {self.epochs}")
        place = epochs.tolist().index(self.epochs)
        metric = f"validation error after {self.epochs} epochs (%)"
        self._set(metric, hashes, validation[:, place], test[:, place])

    def _load_file(self, path: Path) -> None:
        if self.epochs != 108:
            raise SettingError(f"epochs must be 108 for {FILE}, got {self.epochs}")
        with np.load(path) as table:
            hashes, accuracy = table["hash16"], table["test108_mean"]
        self._set("mean test error after 108 epochs (%)", hashes, accuracy[:, None], None)

    def _set(
        self,
        metric: str,
        hashes: NDArray[np.uint8],
        accuracies: NDArray[np.floating],
        test_accuracies: NDArray[np.floating] | None,
    ) -> None:
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "hashes", hashes.view("S16")[:, 0])
        object.__setattr__(self, "accuracies", accuracies)
        object.__setattr__(self, "test_accuracies", test_accuracies)

    @cached_property
    def optimum(self) -> float:
        """Smallest mean error of all cells."""
        return 100.0 * (1.0 - float(np.nanmean(self.accuracies, axis=1, dtype=float).max()))

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """The error of one training at random if noisy, else the mean; and the mean test error."""
        place = self._find_place(graph)
        runs = self.accuracies[place]
        accuracy = rng.choice(runs[~np.isnan(runs)]) if self.noisy else _average(runs)
        metrics = {"error": 100.0 * (1.0 - float(accuracy))}
        if self.test_accuracies is not None:
            metrics["test_error"] = 100.0 * (1.0 - _average(self.test_accuracies[place]))
        return metrics

    def mean_error(self, graph: LabeledGraph) -> float:
        """The error of the cell averaged over its trainings."""
        return 100.0 * (1.0 - _average(self.accuracies[self._find_place(graph)]))

    def _find_place(self, graph: LabeledGraph) -> int:
        if set(graph.node_labels or ("none",)) <= set(_LABELS):
            key = np.frombuffer(hash_module(graph), dtype="S16")
            place = int(np.searchsorted(self.hashes, key)[0])
            if place < len(self.hashes) and self.hashes[place] == key[0]:
                return place
        raise DataError(f"the cell must be in the table of NAS-Bench-101, got {graph}")


def _average(runs: NDArray[np.floating]) -> float:
    return float(np.nanmean(runs, dtype=float))


def hash_module(graph: LabeledGraph) -> bytes:
    """The official hash of a cell, which is the same for isomorphic cells.

    Every vertex starts with the hash of (out-degree, in-degree, label) and takes in the sorted
    hashes of its predecessors and successors once per vertex; the cell's hash is that of the sorted
    vertex hashes.
    """
    A = graph.adjacency.astype(int)
    labels = [_LABELS[label] for label in graph.node_labels or ()]
    degrees = zip(A.sum(axis=1).tolist(), A.sum(axis=0).tolist(), labels, strict=True)
    hashes = [_hash_md5(str(vertex)) for vertex in degrees]
    for _ in range(graph.n):
        hashes = [
            _hash_md5(
                "".join(sorted(hashes[u] for u in np.flatnonzero(A[:, v])))
                + "|"
                + "".join(sorted(hashes[w] for w in np.flatnonzero(A[v])))
                + "|"
                + hashes[v]
            )
            for v in range(graph.n)
        ]
    return bytes.fromhex(_hash_md5(str(sorted(hashes))))


def _hash_md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
