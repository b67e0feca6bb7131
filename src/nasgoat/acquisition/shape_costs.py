"""What branch and bound starts from in each number of nodes, and what that costs.

Notation
    S, P  ordered matrices of structures and of prefixes: some three times as many as there are
    V, L  inner nodes and labels;  D  kernel features

Seconds of one core under the linear kernel, fitted to measurements (docs/branch-and-bound.md); only
their order of magnitude matters:

    structures  S (4e-6 + 4e-10 (V L)² D)
    prefixes    P L (9e-5 + 7.5e-9 (V L)² D)
"""

from __future__ import annotations

from dataclasses import dataclass

from nasgoat.kernels import FeatureMap
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.spaces.ordered_matrices import ordered_matrices, ordered_prefixes

SMALLEST_PREFIX = 4  # nodes: smaller structures have no prefix worth the name


@dataclass(frozen=True)
class ShapeCost:
    """How many shapes the graphs of one size start from, at most, and the seconds they take."""

    prefixes: bool
    shapes: int
    seconds: float


def shape_cost(space: NodeLabeledSpace, n: int, prefixes: bool | None = None) -> ShapeCost:
    """The cheaper of structures and prefixes of n nodes, or the one that is asked for.

    Example:
        >>> space = NodeLabeledSpace(8, ["a", "b", "c"])
        >>> shape_cost(space, 8).prefixes
        True
        >>> shape_cost(NodeLabeledSpace(8, ["a", "b", "c"], max_edges=10), 8).prefixes
        False
    """
    labels, edges = len(space.ops), space.edge_limit
    work = ((n - 2) * labels) ** 2 * len(FeatureMap(space).source)
    whole = ordered_matrices(n, edges)
    structures = ShapeCost(False, whole, whole * (4e-6 + 4e-10 * work))
    if n < SMALLEST_PREFIX or prefixes is False:
        return structures
    total = labels * ordered_prefixes(n - 2, edges - 2)
    parts = ShapeCost(True, total, total * (9e-5 + 7.5e-9 * work))
    return parts if prefixes or parts.seconds < structures.seconds else structures
