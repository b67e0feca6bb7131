"""Pools of candidate graphs: random ones, and mutations of the best observed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

PARENTS = 5  # BANANAS mutates the best five
PER_PARENT = 100
ENOUGH = 100  # no further parent once so many candidates are there
_TRIES = 20  # rounds over the parents until there are enough candidates
_MORE = 5  # mutations of a parent in every round after the first


def mutation_candidates(
    space: SearchSpace,
    best: Sequence[LabeledGraph],
    exclude: Collection[bytes],
    rng: np.random.Generator,
    per_parent: int = PER_PARENT,
    enough: int = ENOUGH,
) -> list[LabeledGraph]:
    """Distinct mutations of the best graphs, parent by parent, until there are enough.

    Args:
        space: The space to stay in.
        best: The parents, best first.
        exclude: Keys of graphs that must not be candidates.
        rng: Source of randomness.
        per_parent: Mutations of each parent.
        enough: No further parent is taken once this many candidates were found.

    Example:
        >>> from nasgoat import nasbench201
        >>> rng = np.random.default_rng(0)
        >>> parents = nasbench201().sample(5, rng)
        >>> pool = mutation_candidates(nasbench201(), parents, set(), rng)
        >>> len(pool) >= 100, len(pool) == len(set(pool))
        (True, True)
    """
    seen = set(exclude)
    found: list[LabeledGraph] = []
    for parent in best:
        if len(found) >= enough:
            break
        for child in space.variants(parent, per_parent, rng):
            key = space.key(child)
            if key not in seen:
                seen.add(key)
                found.append(child)
    return found


def mutations_of(
    space: SearchSpace,
    best: Sequence[LabeledGraph],
    count: int,
    exclude: Collection[bytes],
    rng: np.random.Generator,
) -> list[LabeledGraph]:
    """Distinct mutations of the graphs in turn; fewer if they keep repeating.

    Example:
        >>> from nasgoat import nasbench201
        >>> rng = np.random.default_rng(0)
        >>> parents = nasbench201().sample(10, rng)
        >>> len(mutations_of(nasbench201(), parents, 200, set(), rng))
        200
    """
    seen = set(exclude)
    found: list[LabeledGraph] = []
    for attempt in range(_TRIES * len(best)):
        share = -(-count // len(best)) if attempt < len(best) else _MORE
        for child in space.variants(best[attempt % len(best)], share, rng):
            key = space.key(child)
            if key not in seen:
                seen.add(key)
                found.append(child)
                if len(found) == count:
                    return found
    return found
