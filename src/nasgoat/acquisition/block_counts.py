"""Counts of blocks beside the paper's for every graph of a catalogue, kept beside it.

A block is counted when a kernel first asks for it. Its file in the catalogue's folder, named after
it, is an archive with checksums; one that is damaged, or of other bounds, is counted again.
"""

from __future__ import annotations

import logging
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import TooLargeError
from nasgoat.graphs import GraphBatch
from nasgoat.kernels.blocks import BlockCode, code_block
from nasgoat.safe_files import replace_file
from nasgoat.spaces import SearchSpace

logger = logging.getLogger(__name__)

_BLOCK = 2**14  # graphs whose codes are in memory at a time


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

    def find(self, name: str) -> NDArray[np.uint8]:
        """The counts of a block, shape (graphs, counts): in memory, on disk, or counted now."""
        if name not in self._found:
            code, path = code_block(name, self._space), self._folder / f"{name}.npz"
            counts = _load_block(path, code, self._graphs)
            if counts is None:
                pieces = [code.count(self._batch(rows)) for rows in cut(slice(0, self._graphs))]
                counts = fit_in_bytes(np.concatenate(pieces))
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


def fit_in_bytes(counts: NDArray[np.integer]) -> NDArray[np.uint8]:
    """The counts as one byte each."""
    most, largest = int(counts.max(initial=0)), np.iinfo(np.uint8).max
    if most > largest:
        raise TooLargeError(
            f"a catalogue's counts must be at most {largest}, got {most}; use another optimiser"
        )
    return counts.astype(np.uint8)
