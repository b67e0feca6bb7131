"""Which acquisition optimiser ``auto`` takes, and why: a written cost model.

Seconds are of one core, fitted to measurements (docs/branch-and-bound.md); only their order of
magnitude matters.

Notation
    N  graphs of the space (an upper bound is enough);  S  structures, labels left out
    V  labels to choose in the largest structure;  L  labels;  D  kernel features
    Q  questions to one fitted surrogate: the batch of a portfolio asks one for each √β

    catalogue   2e-7 N for all Q together                 linear kernel, N ≤ 5,000,000
                1.2e-6 N for all Q together                 exponential kernel
    branch      Q S (1.2e-5 + 1.2e-9 (V L)² D)            linear kernel; where prefixes of
                structures cost less (``shape_costs.py``), these, and S is their number
                Q S (4e-6 + 4e-10 (V L)² D)               labels on edges
                with structures + 2e-7 Q N                exponential kernel
    MIP         always possible; far slower where the others apply
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from nasgoat.acquisition.catalogue_file import LARGEST as LARGEST_CATALOGUE
from nasgoat.acquisition.shape_costs import LARGEST_BRANCH, shape_cost
from nasgoat.kernels import FORMS, FeatureMap
from nasgoat.spaces import IndexedSpace, NodeLabeledSpace, SearchSpace
from nasgoat.spaces.ordered_matrices import ordered_matrices

_TINY = 20_000  # graphs: listing them takes less than loading compiled code


@dataclass(frozen=True)
class Choice:
    """The name of an optimiser, and why it was chosen.

    Example:
        >>> from nasgoat import darts, nasbench201
        >>> choose(nasbench201()).name, choose(darts()).name
        ('catalogue', 'branch')
        >>> choose(darts()).reason
        'branch and bound: 180 structures of 1,037,664,180 graphs, about 0.03 s for each question'
    """

    name: str
    reason: str


def choose(
    space: SearchSpace,
    kernel: str = "linear",
    questions: int = 1,
    available: Collection[str] = ("scip",),
) -> Choice:
    """The cheapest exact optimiser for a space under the cost model.

    Args:
        space: The space to optimise over.
        kernel: The form of the kernel.
        questions: How many acquisition problems share one fitted surrogate.
        available: Names of further optimisers that may be taken.
    """
    graphs = graphs_at_most(space)
    if kernel not in FORMS and graphs > LARGEST_CATALOGUE:
        return Choice("mutation", f"mutation: {graphs:,} graphs, and the kernel is not the paper's")
    if graphs <= _TINY:
        return Choice("catalogue", f"catalogue: {graphs:,} graphs at most are quickly listed")
    listing = scoring = float("inf")
    start = branch_start(space, kernel)
    if start is not None and start.applies and kernel in FORMS:
        listing = start.seconds + (2e-7 * graphs if kernel != "linear" else 0.0)
    if graphs <= LARGEST_CATALOGUE:
        scoring = graphs * (2e-7 if kernel == "linear" else 1.2e-6)
    if questions * listing < float("inf") and questions * listing <= scoring:
        return Choice(
            "branch",
            f"branch and bound: {start} of {graphs:,} graphs, "
            f"about {listing:.1g} s for each question",
        )
    if scoring < float("inf"):
        return Choice(
            "catalogue", f"catalogue: {graphs:,} graphs at most, about {scoring:.1g} s for a batch"
        )
    if "scip" in available:
        return Choice(
            "scip", f"MIP: {graphs:,} graphs are too many to list, and so are their structures"
        )
    return Choice("branch", f"branch and bound: {graphs:,} graphs, and no MIP solver at hand")


@dataclass(frozen=True)
class BranchStart:
    """What branch and bound starts from.

    Args:
        shapes: Structures, or their prefixes, at most.
        seconds: Of one question.
        prefixes: Whether prefixes are among the shapes.
        growing: Whether prefixes grow node by node, so that none are listed.
    """

    shapes: int
    seconds: float
    prefixes: bool = False
    growing: bool = False

    @property
    def applies(self) -> bool:
        """Whether what has to be listed fits in memory."""
        return self.growing or self.shapes <= LARGEST_BRANCH

    def __str__(self) -> str:
        return (
            f"{self.shapes:,} {'structures or their prefixes' if self.prefixes else 'structures'}"
        )


def branch_start(space: SearchSpace, kernel: str) -> BranchStart | None:
    """Upper bounds on shapes and seconds; None where branch and bound does not apply."""
    if isinstance(space, NodeLabeledSpace):
        prefixes = None if kernel == "linear" else False
        costs = [shape_cost(space, n, prefixes) for n in space.sizes]
        total, seconds = sum(c.shapes for c in costs), sum(c.seconds for c in costs)
        growing = any(c.growing for c in costs)
        return BranchStart(total, seconds, any(c.prefixes for c in costs), growing)
    if not isinstance(space, IndexedSpace):
        return None
    total = space.structure_bound(space.nodes)
    if total > LARGEST_BRANCH:
        return BranchStart(total, float("inf"))
    most = int(space.list_structures(space.nodes).sum(axis=(1, 2)).max())
    work = (most * len(space.edge_vocabulary)) ** 2 * len(FeatureMap(space).source)
    return BranchStart(total, total * (4e-6 + 4e-10 * work))


def graphs_at_most(space: SearchSpace) -> int:
    """An upper bound on the number of graphs."""
    if isinstance(space, NodeLabeledSpace):
        k = len(space.ops)
        return sum(ordered_matrices(n, space.edge_limit) * k ** (n - 2) for n in space.sizes)
    return space.size_bound()
