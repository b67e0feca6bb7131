"""NAS-Bench-101 from a compact table of all 423,624 cells.

The table is an ``.npz`` file with ``hash16`` (the official module hashes, sorted) and
``test108_mean`` (mean test accuracy of three trainings of 108 epochs, as a fraction); the
environment variable ``NASGOAT_DATA`` names its folder. Its error is the mean *test* error, because
a validation error is not in that table for every cell. Source: Ying et al., ICML 2019.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import DataError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import NodeLabeledSpace, nasbench101

FILE = "nb101.npz"
_LABELS = {"input": -1, "output": -2, "conv3x3": 0, "conv1x1": 1, "maxpool3x3": 2}


@dataclass(frozen=True, eq=False)
class NasBench101:
    """Mean test errors of NAS-Bench-101.

    Args:
        path: The table; by default ``nb101.npz`` in the folder ``NASGOAT_DATA``.
        space: The space to search.
    """

    path: Path | None = None
    space: NodeLabeledSpace = field(default_factory=nasbench101)
    metric: str = "mean test error after 108 epochs (%)"
    name: str = "nb101"
    hashes: NDArray[np.void] = field(init=False, repr=False)
    errors: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        path = self.path or Path(os.environ.get("NASGOAT_DATA", "")) / FILE
        try:
            with np.load(path) as table:
                hashes, accuracy = table["hash16"], table["test108_mean"]
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as problem:
            raise DataError(
                f"NAS-Bench-101 must be in {FILE} of the folder NASGOAT_DATA, got {problem}; "
                "set NASGOAT_DATA to that folder"
            ) from None
        object.__setattr__(self, "hashes", np.ascontiguousarray(hashes).view("V16").ravel())
        object.__setattr__(self, "errors", 100.0 * (1.0 - accuracy.astype(float)))

    @property
    def optimum(self) -> float:
        """Smallest mean test error of all cells."""
        return float(self.errors.min())

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        """The mean test error; the table has no single trainings for every cell."""
        return {"error": self.mean_error(graph)}

    def mean_error(self, graph: LabeledGraph) -> float:
        """The mean test error of the cell."""
        key = np.frombuffer(module_hash(graph), dtype="V16")[0]
        place = int(np.searchsorted(self.hashes.view("S16"), key.tobytes()))
        if place == len(self.hashes) or self.hashes[place].tobytes() != key.tobytes():
            raise DataError(f"the cell must be in the table of NAS-Bench-101, got {graph}")
        return float(self.errors[place])


def module_hash(graph: LabeledGraph) -> bytes:
    """The official hash of a cell, which is the same for isomorphic cells.

    Every vertex starts with the hash of (out-degree, in-degree, label) and takes in the sorted
    hashes of its predecessors and successors once per vertex; the cell's hash is that of the sorted
    vertex hashes.
    """
    A = graph.adjacency.astype(int)
    labels = [_LABELS[label] for label in graph.node_labels or ()]
    degrees = zip(A.sum(axis=1).tolist(), A.sum(axis=0).tolist(), labels, strict=True)
    hashes = [_md5(str(vertex)) for vertex in degrees]
    for _ in range(graph.n):
        hashes = [
            _md5(
                "".join(sorted(hashes[u] for u in np.flatnonzero(A[:, v])))
                + "|"
                + "".join(sorted(hashes[w] for w in np.flatnonzero(A[v])))
                + "|"
                + hashes[v]
            )
            for v in range(graph.n)
        ]
    return bytes.fromhex(_md5(str(sorted(hashes))))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
