"""The blocks of a space: which sizes are searched by structures and which by prefixes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.shapes import Block, edge_block, prefix_block, structure_block
from nasgoat.acquisition.costs import GROWING, LARGEST_BRANCH, shape_cost
from nasgoat.errors import SettingError, TooLargeError
from nasgoat.spaces import IndexedSpace, NodeLabeledSpace, SearchSpace
from nasgoat.spaces.structures import list_rows, matrices_of


class OutOfTimeError(Exception):
    """The time limit was reached before all shapes were listed."""


@dataclass
class Skeletons:
    """The shapes of a space, listed when they are first asked for.

    Args:
        space: A node-labelled space, or one with operations on the edges of indexed nodes.
        prefixes: Whether to search by prefixes where that is possible; by the cost model if None.
        progress: Called with a line of text when something takes long.
        most: Prefixes of one size that are listed; more grow node by node.
        growing: The sizes whose prefixes grow; known once the blocks are.
    """

    space: SearchSpace
    prefixes: bool | None = None
    progress: Callable[[str], None] | None = None
    most: int = GROWING
    growing: list[int] = field(default_factory=list)
    _blocks: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not isinstance(self.space, NodeLabeledSpace | IndexedSpace):
            raise SettingError(
                "branch and bound must have a node-labelled space or one with operations on the "
                f"edges of indexed nodes, got {self.space.describe()}; use another optimiser"
            )

    def blocks(self, deadline: float | None = None) -> list[Block]:
        """All blocks; :class:`OutOfTimeError` if listing them takes longer than allowed."""
        if not self._blocks and not self.growing:
            if self.progress:
                self.progress("listing the structures of the space")
            self._blocks = self._listed(deadline)
        return self._blocks

    def _listed(self, deadline: float | None) -> list[Block]:
        space = self.space
        if isinstance(space, IndexedSpace):
            return [edge_block(space)]
        if not isinstance(space, NodeLabeledSpace):
            return []
        whole, rest, edges = [], [], space.edge_limit
        for n in space.sizes:
            cost = shape_cost(space, n, self.prefixes, self.most)
            if cost.growing:
                self.growing.append(n)
            elif cost.prefixes:
                rest.append((n, _listed(n - 2, edges, False, deadline)))
            else:
                whole.append((n, _listed(n, edges, True, deadline)))
        small = [structure_block(space, whole)] if whole else []
        return small + [prefix_block(space, n, found) for n, found in rest if len(found)]


def _listed(n: int, max_edges: int, whole: bool, deadline: float | None) -> NDArray[np.bool_]:
    """Matrices of all structures or prefixes of n nodes."""
    chunks, total = [], 0
    for rows in list_rows(n, max_edges, whole):
        chunks.append(matrices_of(rows))
        total += len(rows)
        if deadline is not None and time.perf_counter() > deadline:
            raise OutOfTimeError
        if total > LARGEST_BRANCH:
            raise TooLargeError(
                f"branch and bound must have at most {LARGEST_BRANCH:,} structures to start from, "
                f"this space has more with {n} nodes; use scip, or allow fewer edges"
            )
    return np.concatenate(chunks)
