"""Blocks of kernel features other than the paper's three: what each counts, and its code.

Notation
    c_j(G)    the j-th count of a block, for example how often an operation occurs
    [a, b]    least and largest value of a count that the code tells apart
    x_j,i     1 if c_j > i, for i = a, ..., b - 1: the thermometer code of a count
    ⟨x, x'⟩   Σ_j min(c_j, c'_j), less the least values: rows of codes need no other product
    ‖x - x'‖² Σ_j |c_j - c'_j|

    s         scale of the rows s x of a block: random graphs of the space are at the mean squared
              distance s² ‖x - x'‖² = 1

A block is one entry of :data:`BLOCKS`: how it counts, and between which values its counts lie in a
space. A block that has nothing to count in a space, or the same for all its graphs, has no columns
there. The scale comes from a sample of the space, limits aside, that is always the same.

Where operations are on edges, they count as nodes in ``shape``: a cell is then as large as it has
operations, and two operations are joined if one ends where the other begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.graphs import GraphBatch
from nasgoat.kernels.graph_counts import (
    Counts,
    bound_lengths,
    bound_longest,
    bound_operations,
    bound_shape,
    bound_surroundings,
    count_lengths,
    count_longest,
    count_operations,
    count_shape,
    count_surroundings,
)
from nasgoat.kernels.summaries import DECIDING, GRAPH, LONGEST, OPERATIONS, STRUCTURE
from nasgoat.spaces import SearchSpace

#: The blocks of the paper, in the order of their columns: k_g, k_n and k_e.
PAPER_BLOCKS = ("paths", "nodes", "edges")
SAMPLE = 300  # random graphs that scale a block; their distances are known to about 5 %


@dataclass(frozen=True)
class Block:
    """Counts of a graph that isomorphic graphs share.

    Args:
        summary: What it counts, in a few words.
        count: The counts of every graph of a batch, shape (B, counts).
        bounds: For a space the least and the largest value of each count; empty where the block
            has nothing to count.
        decided_by: What decides the counts (:mod:`nasgoat.kernels.summaries`): the structure, the
            number of each operation, the most of each on a path, or nothing less than the whole
            graph. Branch and bound and the mixed-integer program can't bound the last.
    """

    summary: str
    count: Callable[[SearchSpace, GraphBatch], Counts]
    bounds: Callable[[SearchSpace], list[tuple[int, int]]]
    decided_by: str = GRAPH


@dataclass(frozen=True, eq=False)
class BlockCode:
    """A block in one space: which values its counts take there, and the scale of its rows.

    Args:
        block: What is counted.
        space: The space.
        low: Shape (counts,): values below are told apart from no other.
        high: Shape (counts,): values above neither.
        scale: The factor on the code in a feature row.
    """

    block: Block
    space: SearchSpace
    low: Counts
    high: Counts
    scale: float

    @property
    def width(self) -> int:
        """Columns of the code."""
        return int((self.high - self.low).sum())

    def count(self, batch: GraphBatch) -> NDArray[np.uint16]:
        """The counts of every graph, shape (B, counts); none if the block has no columns."""
        if self.width == 0:
            return np.zeros((len(batch), 0), dtype=np.uint16)
        return np.clip(self.block.count(self.space, batch), self.low, self.high).astype(np.uint16)

    def encode(
        self, counts: NDArray[np.integer], columns: NDArray[np.intp] | slice = slice(None)
    ) -> NDArray[np.uint8]:
        """The thermometer code of counts, shape (B, width), or some of its columns."""
        place = np.repeat(np.arange(len(self.low)), self.high - self.low)
        levels = [np.arange(a, b) for a, b in zip(self.low, self.high, strict=True)]
        steps = np.concatenate(levels) if levels else np.zeros(0, dtype=int)
        # Compared as what they are, small numbers, not as the widest integers.
        steps = np.minimum(steps[columns], np.iinfo(counts.dtype).max).astype(counts.dtype)
        code: NDArray[np.uint8] = (counts.take(place[columns], axis=1) > steps).view(np.uint8)
        return code

    def count_ones(self, counts: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many ones the code of counts has, shape (B,)."""
        ones: NDArray[np.int64] = counts.sum(axis=1, dtype=np.int64) - int(self.low.sum())
        return ones


def check_blocks(names: Sequence[str]) -> tuple[str, ...]:
    """The blocks of these names in their usual order, each once.

    Raises:
        UnknownNameError: If one is not known.

    Example:
        >>> check_blocks(["shape", "paths"])
        ('paths', 'shape')
    """
    if isinstance(names, str):
        names = [names]
    for name in names:
        if name not in block_names():
            raise UnknownNameError("block", name, block_names())
    return tuple(name for name in block_names() if name in names)


def block_names() -> list[str]:
    """Names of all blocks: the paper's, and those beside them."""
    return [*PAPER_BLOCKS, *BLOCKS]


def register_block(name: str, block: Block) -> None:
    """Make a block of kernel features known by a name; it comes behind those that are known.

    Example:
        >>> from nasgoat.kernels.graph_counts import bound_operations, count_operations
        >>> register_block(
        ...     "few", Block("operations again", count_operations, bound_operations, OPERATIONS)
        ... )
        >>> block_names()[-1], BLOCKS.pop("few").summary
        ('few', 'operations again')
    """
    if name in _OWN or not name.isidentifier():
        raise SettingError(f"a new block must have a name of its own, a plain word, got {name!r}")
    if block.decided_by not in DECIDING:
        known = ", ".join(DECIDING)
        raise SettingError(f"a block must be decided by one of {known}, got {block.decided_by!r}")
    BLOCKS[name] = block


def code_block(name: str, space: SearchSpace) -> BlockCode:
    """The code of a block in a space; without columns if the block says nothing there.

    In a space of several cells a block is that of one cell: ``normal.operations``.

    Example:
        >>> from nasgoat import nasbench201
        >>> code = code_block("operations", nasbench201())
        >>> cell = next(iter(next(nasbench201().enumerate())))
        >>> code.count(nasbench201().batch([cell])).tolist(), code.width
        ([[3, 0, 0, 0]], 24)
    """
    codes: dict[str, BlockCode] = space.kept.setdefault("block codes", {})
    if name not in codes:
        cell, _, block = name.rpartition(".")
        codes[name] = _code_in_cell(cell, block, space) if cell else _make_code(BLOCKS[name], space)
    return codes[name]


def _code_in_cell(cell: str, name: str, space: SearchSpace) -> BlockCode:
    """The code of a block in one of several cells, as one of the whole space."""
    own, place = code_block(name, space.cells[cell]), list(space.cells).index(cell)
    block = replace(
        own.block, count=lambda _, batch: own.block.count(own.space, batch.cells[place])
    )
    return replace(own, block=block)


def _make_code(block: Block, space: SearchSpace) -> BlockCode:
    bounds = np.array(block.bounds(space), dtype=np.int64).reshape(-1, 2)
    whole = space.with_limits(())
    low, high = bounds.T.copy()
    nothing = BlockCode(block, space, low[:0], low[:0], 0.0)
    if not len(low):
        return nothing
    drawn = block.count(space, _draw_sample(whole))
    least, most = drawn.min(axis=0), drawn.max(axis=0)
    # Bounds may be far beyond what graphs have: twice the range that was seen is enough.
    high = np.clip(high, low, np.maximum(most + np.maximum(most - least, 1), low))
    code = BlockCode(block, space, low, high, 1.0)
    # Over all pairs the mean of ‖x - x'‖² is twice the sum of the variances.
    spread = (
        2.0 * code.encode(np.clip(drawn, low, high)).var(axis=0, ddof=1).sum()
        if len(drawn) > 1
        else 0.0
    )
    if spread <= 0.0:
        return nothing
    return BlockCode(block, space, low, high, float(1.0 / np.sqrt(spread)))


def _draw_sample(space: SearchSpace) -> GraphBatch:
    """The random graphs that scale every block of a space."""
    if "block sample" not in space.kept:
        drawn = space.sample(SAMPLE, np.random.default_rng(0))
        space.kept["block sample"] = space.batch(drawn)
    found: GraphBatch = space.kept["block sample"]
    return found


#: Blocks other than the paper's, by name.
BLOCKS = {
    "operations": Block(
        "how often each operation occurs", count_operations, bound_operations, OPERATIONS
    ),
    "shape": Block(
        "depth, shortest path, nodes, edges, degrees of source and sink",
        count_shape,
        bound_shape,
        STRUCTURE,
    ),
    "longest": Block("the most of each operation on a path", count_longest, bound_longest, LONGEST),
    "lengths": Block(
        "how many paths from source to sink have how many operations, skip connections aside",
        count_lengths,
        bound_lengths,
    ),
    "surroundings": Block(
        "how often each label occurs with which edges and neighbours",
        count_surroundings,
        bound_surroundings,
    ),
}
_OWN = tuple(block_names())  # no other block can have these names
