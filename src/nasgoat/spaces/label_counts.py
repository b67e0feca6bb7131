"""How often each label occurs in the labellings of a structure, and which of them limits allow.

Where every operation may stand on every place of a structure, a limit sees only how often each
label occurs. There are far fewer such count vectors than labellings, so counting, drawing and
deciding whether there is any labelling at all are exact and fast.

Notation
    k  number of labels;  a structure has places that fall into cycles of a symmetry (of size 1 each
       for the identity): all places of a cycle carry the same label
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nasgoat.spaces.limits import Limit


@dataclass(frozen=True)
class Profile:
    """What a limit sees of a structure: nodes, edges and depth."""

    nodes: int
    edges: int
    depth: int


@lru_cache(maxsize=512)
def label_counts(cycles: tuple[int, ...], k: int) -> tuple[NDArray[np.intp], tuple[int, ...]]:
    """Every vector of label counts, shape (S, k), and how many labellings have it.

    Example:
        >>> counts, times = label_counts((1, 1), 2)
        >>> dict(zip(map(tuple, counts.tolist()), times))
        {(2, 0): 1, (1, 1): 2, (0, 2): 1}
    """
    found = Counter({(0,) * k: 1})
    for size in cycles:
        longer: Counter[tuple[int, ...]] = Counter()
        for counts, times in found.items():
            for label in range(k):
                new = (*counts[:label], counts[label] + size, *counts[label + 1 :])
                longer[new] += times
        found = longer
    return np.array(list(found), dtype=np.intp).reshape(len(found), k), tuple(found.values())


def allowed(
    limits: Sequence[Limit],
    coefficients: Sequence[NDArray[np.float64]],
    profile: Profile,
    counts: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Which count vectors all limits allow; ``coefficients`` are theirs on the labels."""
    fits = np.ones(len(counts), dtype=bool)
    for limit, on_labels in zip(limits, coefficients, strict=True):
        fixed = limit.nodes * profile.nodes + limit.edges * profile.edges
        fits &= limit.holds(counts @ on_labels + fixed + limit.depth * profile.depth)
    return fits


def draw_counts(
    counts: NDArray[np.intp],
    times: Sequence[int],
    fits: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.intp] | None:
    """The label counts of a random labelling among those that fit; None if none does."""
    places = np.flatnonzero(fits)
    if len(places) == 0:
        return None
    weights = np.array([float(times[i]) for i in places.tolist()])
    drawn: NDArray[np.intp] = counts[rng.choice(places, p=weights / weights.sum())]
    return drawn
