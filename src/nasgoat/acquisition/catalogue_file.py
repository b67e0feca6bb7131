"""The arrays of a catalogue on disk: built once, checked, memory-mapped.

Each space has a folder in the user's cache directory, named by the declaration's fingerprint:
``counts.npy``, ``adjacency.npy`` (bits), ``codes.npy`` and ``meta.json``. The folder is written
under another name and renamed when complete, so that an interrupted build leaves nothing behind.
"""

from __future__ import annotations

import json
import logging
import os
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from nasgoat.acquisition.costs import LARGEST_CATALOGUE
from nasgoat.atomic_file import replace_folder
from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limited_moves import no_graph

logger = logging.getLogger(__name__)

VERSION = 2  # of the layout and of the order of enumeration; raise it when either changes
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

    def graph(self, space: SearchSpace, i: int) -> LabeledGraph:
        """The i-th graph."""
        n = space.sizes[-1]
        size = next(m for m, part in self.parts.items() if part.start <= i < part.stop)
        bits = np.unpackbits(self.adjacency[i], count=n * n).astype(bool)
        codes = np.array(self.codes[i])
        on_nodes = n if space.node_vocabulary else 0
        batch = GraphBatch(
            bits.reshape(1, n, n),
            np.array([size], dtype=np.int8),
            codes[None, :n] if on_nodes else None,
            codes[on_nodes:].reshape(1, n, n) if space.edge_vocabulary else None,
            space.node_vocabulary,
            space.edge_vocabulary,
            space.directed,
        )
        return batch[0]


def cache_folder() -> Path:
    """Where catalogues are kept: ``NASGOAT_CACHE``, or the user's cache directory."""
    return Path(os.environ.get("NASGOAT_CACHE") or platformdirs.user_cache_dir("nasgoat"))


def load_or_build(
    space: SearchSpace, features: FeatureMap, progress: Callable[[str], None] | None = None
) -> CatalogueArrays:
    """The catalogue of a space, from the cache if a sound one is there."""
    folder = cache_folder() / f"catalogue-{space.fingerprint()}-v{VERSION}"
    if (arrays := _load(folder, features)) is not None:
        return arrays
    whole = space.with_limits(())  # listed, and then reduced to its limits
    if whole.size_bound() > LARGEST_CATALOGUE and (count := whole.count()) > LARGEST_CATALOGUE:
        raise TooLargeError(
            f"a catalogue must hold at most {LARGEST_CATALOGUE:,} graphs, this space has "
            f"{count:,}; use another optimiser"
        )
    start = time.perf_counter()
    if progress:
        progress("building the catalogue of the space (once)")
    arrays = _build(space, features)
    _save(folder, features, arrays)
    if progress:
        seconds = time.perf_counter() - start
        progress(f"catalogue of {len(arrays.counts):,} graphs built in {seconds:.1f} s")
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
        counts.append(features.counts(batch).astype(np.uint8))
        adjacency.append(np.packbits(batch.adjacency.reshape(len(batch), -1), axis=1))
        labels = [np.zeros((len(batch), 0), dtype=np.int8)]
        labels += [
            c.reshape(len(batch), -1) for c in (batch.node_codes, batch.edge_codes) if c is not None
        ]
        codes.append(np.concatenate(labels, axis=1))
    if not counts:
        raise no_graph(space)
    return CatalogueArrays(
        counts=np.concatenate(counts),
        adjacency=np.concatenate(adjacency),
        codes=np.concatenate(codes),
        parts=parts,
    )


def _save(folder: Path, features: FeatureMap, arrays: CatalogueArrays) -> None:
    """Write the folder; a full or read-only disk costs the cache, never the work."""
    try:
        with replace_folder(folder) as whole:
            for name in _FILES:
                np.save(whole / f"{name}.npy", getattr(arrays, name))
            meta = _declaration(features) | {
                "parts": {str(n): [part.start, part.stop] for n, part in arrays.parts.items()},
                "checksums": {name: _checksum(whole / f"{name}.npy") for name in _FILES},
            }
            (whole / "meta.json").write_text(json.dumps(meta))
    except OSError as problem:
        logger.warning("the catalogue could not be kept in %s: %s", folder.parent, problem)


def _declaration(features: FeatureMap) -> dict[str, Any]:
    """What a folder must say of itself to be used: version, space and meaning of the columns."""
    columns = [list(column) for column in (*features.path_types, *features.edge_types)]
    return {"version": VERSION, "space": features.space.to_dict(), "columns": columns}


def _load(folder: Path, features: FeatureMap) -> CatalogueArrays | None:
    """The arrays of a sound folder; None, with a line in the log, for a damaged one."""
    if not folder.exists():
        return None
    try:
        meta = json.loads((folder / "meta.json").read_text())
        if any(meta.get(name) != value for name, value in _declaration(features).items()):
            return None
        for name, checksum in meta["checksums"].items():
            if _checksum(folder / f"{name}.npy") != checksum:
                raise ValueError(f"{name}.npy does not have its checksum")
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _FILES}
        parts = {int(n): slice(*ends) for n, ends in meta["parts"].items()}
        return CatalogueArrays(**arrays, parts=parts)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        logger.warning("the catalogue in %s is damaged (%s); building it again", folder, problem)
        return None


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            checksum = zlib.crc32(block, checksum)
    return checksum
