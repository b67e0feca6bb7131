"""Exact acquisition optimisation by scoring every graph of the space.

A catalogue lists the space once, with the integer kernel counts of every graph, and keeps them on
disk. It is exact for any kernel and acquisition, and the oracle for every other optimiser.

Each space has a folder in the user's cache directory, named by the declaration's fingerprint:
``counts.npy``, ``adjacency.npy`` (bits), ``codes.npy`` and ``meta.json``, which describes them and
has their checksums and its own. The folder is written under another name and renamed when complete,
so that an interrupted build leaves nothing behind; later runs check it and map it into memory.
Counts of blocks beside the paper's are computed from these when a kernel first asks for them, and
kept in the same folder, each under its own name.
"""

from __future__ import annotations

import json
import logging
import os
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from nasgoat.acquisition.block_counts import BlockCounts, cut, fit_in_bytes
from nasgoat.acquisition.costs import LARGEST_CATALOGUE, catalogue_cost
from nasgoat.acquisition.k_best import KBest, Scored, order_ascending
from nasgoat.acquisition.lower_confidence_bound import Acquisition
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.acquisition.several import KnownCost
from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.progress import show_progress
from nasgoat.safe_files import replace_folder
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.moves import no_graph
from nasgoat.surrogate import Posterior

logger = logging.getLogger(__name__)

VERSION = 3  # of the layout and of the order of enumeration; raise it when either changes
_KEPT = 6  # posteriors whose scores are kept: several objectives take turns
_FEW = 1_000_000  # graphs from which on half of that fits better in memory
_FILES = ("counts", "adjacency", "codes")


@dataclass(frozen=True, eq=False)
class CatalogueArrays:
    """A space listed graph by graph.

    Args:
        counts: Kernel counts, shape (N, columns), one byte each.
        adjacency: Bits of the adjacency matrices, shape (N, ceil(n² / 8)).
        codes: Node codes (N, n) and edge codes (N, n²), as far as there are labels.
        parts: For each number of nodes the slice of its graphs.
    """

    counts: NDArray[np.uint8]
    adjacency: NDArray[np.uint8]
    codes: NDArray[np.int8]
    parts: dict[int, slice]


class Catalogue:
    """Scores the whole space and returns its best graphs, proven optimal.

    Args:
        space: The space to list.
        progress: Called with a line of text if the catalogue has to be built.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> problem = random_problem(nasbench201(), observations=10)
        >>> pool = Catalogue(nasbench201()).optimize(problem.acquisition, 5, problem.observed)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap
        (5, 'optimal', 0.0)
    """

    name = "catalogue"
    cost = staticmethod(catalogue_cost)

    def __init__(
        self, space: SearchSpace, progress: Callable[[str], None] | None = show_progress
    ) -> None:
        self.space = space
        self.features = FeatureMap(space)
        self._arrays = _load_or_build(space, self.features, progress)
        self._blocks = BlockCounts(space, _name_folder(space), len(self), self._batch)
        #: Of the last posteriors: several may take turns within a batch.
        self._scored: deque[tuple[Posterior, NDArray[np.float64], NDArray[np.float64]]] = deque(
            maxlen=_KEPT if len(self) <= _FEW else _KEPT // 2
        )
        self._costs: deque[tuple[Limit, NDArray[np.float64]]] = deque(maxlen=_KEPT)

    def __len__(self) -> int:
        return len(self._arrays.counts)

    def graph(self, i: int) -> LabeledGraph:
        """The i-th graph of the catalogue."""
        return self._batch(slice(i, i + 1))[0]

    def score(
        self, posterior: Posterior, features: FeatureMap | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and standard deviation of every graph; kept for the next question.

        Args:
            posterior: The posterior, a function of feature rows.
            features: What these rows are; by default the blocks of the paper.
        """
        for known, mean, std in self._scored:
            if known is posterior:
                return mean, std
        features = features or self.features
        counts = {name: self._blocks.find(name) for name in features.codes}
        mean, std = np.empty(len(self)), np.empty(len(self))
        for n, part in self._arrays.parts.items():
            on_counts = posterior.on_counts(features, n)
            for rows in cut(part) if counts else [part]:
                others = {name: count[rows] for name, count in counts.items()}
                found = on_counts.mean_std(features.encode(self._arrays.counts[rows], others))
                mean[rows], std[rows] = found
        self._scored.append((posterior, mean, std))
        return mean, std

    def measure(
        self, part: Acquisition | KnownCost
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of an acquisition's posterior, or a known cost, at every graph."""
        if not isinstance(part, KnownCost):
            return self.score(part.posterior, part.features)
        for known, cost in self._costs:
            if known == part.total:
                return cost, np.zeros(len(self))
        pieces = (self._batch(rows) for rows in cut(slice(0, len(self))))
        cost = np.concatenate([part.measure(piece) for piece in pieces])
        self._costs.append((part.total, cost))
        return cost, np.zeros(len(self))

    def _batch(self, rows: slice) -> GraphBatch:
        """Some graphs of the catalogue."""
        space, arrays, n = self.space, self._arrays, self.space.sizes[-1]
        sizes = np.zeros(min(rows.stop, len(self)) - rows.start, dtype=np.int8)
        for size, part in arrays.parts.items():
            sizes[max(part.start - rows.start, 0) : max(part.stop - rows.start, 0)] = size
        bits = np.unpackbits(arrays.adjacency[rows], axis=1, count=n * n).astype(bool)
        codes = np.array(arrays.codes[rows])
        on_nodes = n if space.node_vocabulary else 0
        return GraphBatch(
            bits.reshape(-1, n, n),
            sizes,
            codes[:, :n] if on_nodes else None,
            codes[:, on_nodes:].reshape(-1, n, n) if space.edge_vocabulary else None,
            space.node_vocabulary,
            space.edge_vocabulary,
            space.directed,
        )

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded, with certificate ``optimal``."""
        best = KBest(self.space, acquisition, k, exclude)
        start = time.perf_counter()
        values = acquisition.gather(self.measure)
        best.take_first(
            Scored(self.graph(i), float(values[i]))
            for i in order_ascending(values, k + len(exclude))
            if values[i] < np.inf
        )
        seconds = time.perf_counter() - start
        return best.pool(
            lambda value: Certificate(Status.OPTIMAL, value, value, seconds),
            Certificate(Status.EXHAUSTED, seconds=seconds),
        )


def cache_folder() -> Path:
    """Where catalogues are kept: ``NASGOAT_CACHE``, or the user's cache directory."""
    return Path(os.environ.get("NASGOAT_CACHE") or platformdirs.user_cache_dir("nasgoat"))


def _name_folder(space: SearchSpace) -> Path:
    return cache_folder() / f"catalogue-{space.fingerprint()}-v{VERSION}"


def _load_or_build(
    space: SearchSpace, features: FeatureMap, progress: Callable[[str], None] | None
) -> CatalogueArrays:
    """The catalogue of a space, from the cache if a sound one is there."""
    folder = _name_folder(space)
    if (arrays := _load(folder, features)) is not None:
        return arrays
    whole = space.with_limits(())  # listed, and then reduced to its limits
    if whole.size_bound() > LARGEST_CATALOGUE and (count := whole.count()) > LARGEST_CATALOGUE:
        raise TooLargeError(
            f"a catalogue must hold at most {LARGEST_CATALOGUE:,} graphs, this space has "
            f"{count:,}; use another optimiser"
        )
    start, say = time.perf_counter(), progress or logger.debug
    say("building the catalogue of the space (once)")
    arrays = _build(space, features)
    _save(folder, features, arrays)
    seconds = time.perf_counter() - start
    say(f"catalogue of {len(arrays.counts):,} graphs built in {seconds:.1f} s")
    return arrays


def _build(space: SearchSpace, features: FeatureMap) -> CatalogueArrays:
    counts, adjacency, codes = [], [], []
    parts: dict[int, slice] = {}
    total = 0
    for batch in space.enumerate():
        if len(batch) == 0:
            continue
        size = int(batch.sizes[0])
        start = parts[size].start if size in parts else total
        total += len(batch)
        parts[size] = slice(start, total)
        counts.append(fit_in_bytes(features.counts(batch)))
        adjacency.append(np.packbits(batch.adjacency.reshape(len(batch), -1), axis=1))
        none = np.zeros((len(batch), 0), dtype=np.int8)
        given = [c for c in (none, batch.node_codes, batch.edge_codes) if c is not None]
        codes.append(np.hstack([c.reshape(len(batch), -1) for c in given]))
    if not counts:
        raise no_graph(space)
    join = np.concatenate
    return CatalogueArrays(join(counts), join(adjacency), join(codes), parts)


def _save(folder: Path, features: FeatureMap, arrays: CatalogueArrays) -> None:
    """Write the folder; a full or read-only disk costs the cache, never the work."""
    try:
        with replace_folder(folder) as whole:
            for name in _FILES:
                np.save(whole / f"{name}.npy", getattr(arrays, name))
            meta = _describe_features(features) | {
                "parts": {str(n): [part.start, part.stop] for n, part in arrays.parts.items()},
                "checksums": {name: _compute_checksum(whole / f"{name}.npy") for name in _FILES},
            }
            sealed = meta | {"checksum": _seal(meta)}
            (whole / "meta.json").write_text(json.dumps(sealed))
    except OSError as problem:
        logger.warning("the catalogue could not be kept in %s: %s", folder.parent, problem)


def _describe_features(features: FeatureMap) -> dict[str, Any]:
    """What a folder must say of itself to be used: version, space and meaning of the columns."""
    columns = [list(column) for column in (*features.path_types, *features.edge_types)]
    return {"version": VERSION, "space": features.space.to_dict(), "columns": columns}


def _load(folder: Path, features: FeatureMap) -> CatalogueArrays | None:
    """The arrays of a sound folder; None, with a line in the log, for a damaged one."""
    if not folder.exists():
        return None
    try:
        meta = json.loads((folder / "meta.json").read_text())
        if not isinstance(meta, dict) or meta.pop("checksum", None) != _seal(meta):
            raise ValueError("meta.json does not have its checksum")
        if any(meta.get(name) != value for name, value in _describe_features(features).items()):
            return None
        for name in _FILES:
            if _compute_checksum(folder / f"{name}.npy") != meta["checksums"].get(name):
                raise ValueError(f"{name}.npy does not have its checksum")
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _FILES}
        parts = {int(n): slice(*ends) for n, ends in meta["parts"].items()}
        return CatalogueArrays(**arrays, parts=parts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        logger.warning("the catalogue in %s is damaged (%s); building it again", folder, problem)
        return None


def _seal(meta: dict[str, Any]) -> int:
    """The checksum of a description, whatever the order of its fields."""
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def _compute_checksum(path: Path) -> int:
    return zlib.crc32(np.memmap(path, np.uint8, "r").data)
