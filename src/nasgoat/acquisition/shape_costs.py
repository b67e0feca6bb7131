"""What branch and bound starts from in each number of nodes, and what that costs.

Notation
    S, P  structures and prefixes up to isomorphism. What can be counted are their ordered matrices:
          some 1.75^(n - 5) and 1.5^(n - 5.4) times as many with n nodes (3, 5, 9 and 18 times for 7
          to 10 nodes and n + 2 edges; 1.9, 2.9 and 4.5 times for 7 to 9 nodes and any edges)
    V, L  inner nodes and labels;  D  kernel features

Seconds of one core under the linear kernel, fitted to measurements (docs/branch-and-bound.md); only
their order of magnitude matters. They are those of a question in the middle of a search, where
observed graphs crowd around the best ones: some six times those of a random problem:

    structures  S (1.2e-5 + 1.2e-9 (V L)² D)
    prefixes    P L (1.7e-4 + 1.4e-8 (V L)² D)
    above 200,000 prefixes or two million structures, prefixes that grow: a tenth, as most are
                never reached; where that is too long, a time limit leaves a bound
"""

from __future__ import annotations

from dataclasses import dataclass

from nasgoat.kernels import FeatureMap
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.spaces.ordered_matrices import ordered_matrices, ordered_prefixes

SMALLEST_PREFIX = 4  # nodes: smaller structures have no prefix worth the name
SMALLEST_GROWING = 5  # nodes: smaller graphs have no node that could float
#: Prefixes with their last labels that are listed at most; more grow node by node.
GROWING = 200_000
#: Structures that are listed at most: more would take over a gigabyte.
LARGEST_BRANCH = 2_000_000


@dataclass(frozen=True)
class ShapeCost:
    """How many shapes the graphs of one size start from, at most, and the seconds they take."""

    prefixes: bool
    shapes: int
    seconds: float
    growing: bool = False


def shape_cost(
    space: NodeLabeledSpace, n: int, prefixes: bool | None = None, growing: int = GROWING
) -> ShapeCost:
    """The cheaper of structures and prefixes of n nodes, or the one that is asked for.

    Args:
        space: The space.
        n: Nodes of the graphs.
        prefixes: Whether to take prefixes; the cheaper if None.
        growing: Prefixes from which on they grow node by node.

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
    classes = whole / max(1.75 ** (n - 5), 1.0)
    structures = ShapeCost(False, whole, classes * (1.2e-5 + 1.2e-9 * work))
    if n < SMALLEST_PREFIX or prefixes is False:
        return structures
    total = labels * ordered_prefixes(n - 2, edges - 2)
    grows = n >= SMALLEST_GROWING and total > growing
    each = (1.7e-4 + 1.4e-8 * work) * (0.1 if grows else 1.0)
    parts = ShapeCost(True, total, total / max(1.5 ** (n - 5.4), 1.0) * each, grows)
    if whole > LARGEST_BRANCH or prefixes or parts.seconds < structures.seconds:
        return parts
    return structures
