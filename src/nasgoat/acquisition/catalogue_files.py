"""The arrays of a catalogue: built from a space, kept on disk, and what blocks count in them.

Each space has a folder in the user's cache directory, named by the declaration's fingerprint:
``counts.npy``, ``adjacency.npy`` (bits), ``codes.npy`` and ``meta.json``, which describes them and
has their checksums and its own. The folder is written under another name and renamed when complete,
so that an interrupted build leaves nothing behind; later runs check it and map it into memory.

Counts of blocks other than the paper's are computed from these when a kernel first asks for them,
and kept in the same folder, each in an archive with checksums, named after the block. One that is
damaged, or of other bounds, is counted again.
"""

from __future__ import annotations

import json
import logging
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from nasgoat.acquisition.costs import LARGEST_CATALOGUE, bound_graphs, shorten
from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.blocks import BlockCode, code_block
from nasgoat.safe_files import replace_file, replace_folder
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.moves import make_empty_error

logger = logging.getLogger(__name__)

VERSION = 3  # of the layout and of the order of enumeration; raise it when either changes
_FILES = ("counts", "adjacency", "codes")
_BLOCK = 2**14  # graphs whose codes are in memory at a time
_COPIES = 2  # of a catalogue that are in memory while it is put together


@dataclass(frozen=True, eq=False)
class CatalogueArrays:
    """A space listed graph by graph.

    Args:
        counts: Kernel counts, shape (N, columns), one byte each.
        adjacency: Bits of the adjacency matrices, shape (N, ceil(n² / 8)).
        codes: Node codes (N, n) and edge codes (N, n²), as far as there are labels.
        parts: For each number of nodes (of every cell) the slice of its graphs.
    """

    counts: NDArray[np.uint8]
    adjacency: NDArray[np.uint8]
    codes: NDArray[np.int8]
    parts: dict[tuple[int, ...], slice]


def find_cache_folder() -> Path:
    """Where catalogues are kept: ``NASGOAT_CACHE``, or the user's cache directory."""
    return Path(os.environ.get("NASGOAT_CACHE") or platformdirs.user_cache_dir("nasgoat"))


def name_folder(space: SearchSpace) -> Path:
    """The folder of a space's catalogue."""
    return find_cache_folder() / f"catalogue-{space.fingerprint()}-v{VERSION}"


def load_or_build(
    space: SearchSpace,
    features: FeatureMap,
    progress: Callable[[str], None] | None,
    deadline: float,
    memory: float,
) -> tuple[CatalogueArrays, bool]:
    """The catalogue of a space, from the cache if a sound one is there, and if it is complete."""
    folder = name_folder(space)
    if (arrays := _load_arrays(folder, features)) is not None:
        return arrays, True
    _require_few(space.with_limits(()))  # listed, and then reduced to its limits
    start, say = time.perf_counter(), progress or logger.debug
    say("building the catalogue of the space (once)")
    arrays, complete = _build(space, features, deadline, memory)
    seconds, total = time.perf_counter() - start, len(arrays.counts)
    if complete:
        _save_arrays(folder, features, arrays)
        say(f"catalogue of {total:,} graphs built in {seconds:.1f} s")
    else:
        say(
            f"no catalogue: {total:,} graphs in {seconds:.1f} s, then time or memory was up; local "
            "search takes its place"
        )
    return arrays, complete


def _require_few(space: SearchSpace) -> None:
    """Refuse a space that is too large to be listed, without listing it."""
    graphs, counted = space.size()
    graphs = graphs if counted else min(graphs, bound_graphs(space))
    if graphs > LARGEST_CATALOGUE:
        raise TooLargeError(
            f"a catalogue must hold at most {LARGEST_CATALOGUE:,} graphs, this space has "
            f"{'' if counted else 'up to '}{shorten(graphs)}; use another optimiser"
        )


def _build(
    space: SearchSpace, features: FeatureMap, deadline: float, memory: float
) -> tuple[CatalogueArrays, bool]:
    """The catalogue, as far as time and memory suffice, and whether they did."""
    counts: list[NDArray[np.uint8]] = []
    adjacency: list[NDArray[np.uint8]] = []
    codes: list[NDArray[np.int8]] = []
    parts: dict[tuple[int, ...], slice] = {}
    total, complete = 0, True
    for batch in space.enumerate():
        held = sum(x.nbytes for x in (*counts, *adjacency, *codes))
        if time.perf_counter() > deadline or _COPIES * held > memory:
            complete = False
            break
        if len(batch) == 0:
            continue
        size = tuple(batch.cell_sizes[0].tolist())
        start = parts[size].start if size in parts else total
        total += len(batch)
        parts[size] = slice(start, total)
        counts.append(_fit_in_bytes(features.counts(batch)))
        packed = [cell.pack() for cell in batch.cells]
        adjacency.append(np.hstack([bits for bits, _ in packed]))
        codes.append(np.hstack([code for _, code in packed]))
    if not counts and complete:
        raise make_empty_error(space)
    if not counts:
        empty = np.zeros((0, 0), dtype=np.uint8)
        return CatalogueArrays(empty, empty, empty.astype(np.int8), {}), False
    join = np.concatenate
    return CatalogueArrays(join(counts), join(adjacency), join(codes), parts), complete


def _save_arrays(folder: Path, features: FeatureMap, arrays: CatalogueArrays) -> None:
    """Write the folder; a full or read-only disk costs the cache, never the work."""
    try:
        with replace_folder(folder) as whole:
            for name in _FILES:
                np.save(whole / f"{name}.npy", getattr(arrays, name))
            meta = _describe_features(features) | {
                "parts": {
                    "+".join(map(str, size)): [part.start, part.stop]
                    for size, part in arrays.parts.items()
                },
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


def _load_arrays(folder: Path, features: FeatureMap) -> CatalogueArrays | None:
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
        parts = {
            tuple(map(int, size.split("+"))): slice(*ends) for size, ends in meta["parts"].items()
        }
        return CatalogueArrays(**arrays, parts=parts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        logger.warning("the catalogue in %s is damaged (%s); building it again", folder, problem)
        return None


def _seal(meta: dict[str, Any]) -> int:
    """The checksum of a description, whatever the order of its fields."""
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def _compute_checksum(path: Path) -> int:
    return zlib.crc32(np.memmap(path, np.uint8, "r").data)


class BlockCounts:
    """What blocks count in the graphs of a catalogue.

    Args:
        space: The space.
        folder: Where counts are kept.
        graphs: How many graphs there are.
        batch: Gives some of them by their places.
    """

    def __init__(
        self,
        space: SearchSpace,
        folder: Path,
        graphs: int,
        batch: Callable[[slice], GraphBatch],
    ) -> None:
        self._space, self._folder, self._graphs, self._batch = space, folder, graphs, batch
        self._found: dict[str, NDArray[np.uint8]] = {}
        self._ones: dict[str, NDArray[np.int64]] = {}

    def find_ones(self, name: str) -> NDArray[np.int64]:
        """How many ones the code of a block has in each graph."""
        if name not in self._ones:
            self._ones[name] = code_block(name, self._space).count_ones(self.find(name))
        return self._ones[name]

    def find(self, name: str) -> NDArray[np.uint8]:
        """The counts of a block, shape (graphs, counts): in memory, on disk, or counted now."""
        if name not in self._found:
            code, path = code_block(name, self._space), self._folder / f"{name}.npz"
            counts = _load_block(path, code, self._graphs)
            if counts is None:
                pieces = [code.count(self._batch(rows)) for rows in cut(slice(0, self._graphs))]
                counts = _fit_in_bytes(np.concatenate(pieces))
                _save_block(path, code, counts)
            self._found[name] = counts
        return self._found[name]


def _load_block(path: Path, code: BlockCode, graphs: int) -> NDArray[np.uint8] | None:
    """Counts of a block that were kept for this catalogue; None if there are none, or damaged."""
    if not path.exists():
        return None
    try:
        with np.load(path) as stored:  # an archive has a checksum of each array
            counts, low, high = (stored[name] for name in ("counts", "low", "high"))
    except (OSError, ValueError, KeyError, EOFError, zlib.error, zipfile.BadZipFile) as problem:
        logger.warning("the counts in %s are damaged (%s); counting again", path, problem)
        return None
    same = np.array_equal(low, code.low) and np.array_equal(high, code.high)
    return counts if same and counts.shape == (graphs, len(low)) else None


def _save_block(path: Path, code: BlockCode, counts: NDArray[np.uint8]) -> None:
    try:
        with replace_file(path) as partial, partial.open("wb") as file:
            np.savez_compressed(file, counts=counts, low=code.low, high=code.high)
    except OSError as problem:
        logger.warning("the counts could not be kept in %s: %s", path.parent, problem)


def cut(part: slice) -> Iterator[slice]:
    """A slice in pieces that are small enough to be worked on at a time."""
    for start in range(part.start, part.stop, _BLOCK):
        yield slice(start, min(start + _BLOCK, part.stop))


def _fit_in_bytes(counts: NDArray[np.integer]) -> NDArray[np.uint8]:
    """The counts as one byte each."""
    most, largest = int(counts.max(initial=0)), np.iinfo(np.uint8).max
    if most > largest:
        raise TooLargeError(
            f"a catalogue's counts must be at most {largest}, got {most}; use another optimiser"
        )
    return counts.astype(np.uint8)
