"""Whether any graph satisfies the limits of a space, and which limits contradict each other.

A random draw answers yes at once. Where none succeeds, a small space is listed and a large one
becomes a mathematical program without an objective, so that "none" is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from nasgoat.errors import EmptySpaceError, SpaceError
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit

_SUBSETS = 200  # of limits that are tried for a smaller conflict than the first one found


def require_satisfiable(space: SearchSpace) -> None:
    """Raise :class:`EmptySpaceError`, naming a smallest conflict, unless the space has a graph.

    Example:
        >>> from nasgoat import nasbench201
        >>> try:
        ...     require_satisfiable(nasbench201().constrain("edges >= 5", "depth == 3"))
        ... except EmptySpaceError as problem:
        ...     print(problem)
        the limits must leave at least one graph, got none under edges >= 5 and depth == 3
    """
    conflict = find_smallest_conflict(space)
    if conflict is None:
        return
    said = " and ".join(
        limit.text if limit.name == limit.text else f"{limit.name}: {limit.text}"
        for limit in conflict
    )
    reason = f"under {said}" if conflict else "even without limits"
    raise EmptySpaceError(f"the limits must leave at least one graph, got none {reason}")


def find_smallest_conflict(space: SearchSpace) -> tuple[Limit, ...] | None:
    """Fewest limits that no graph satisfies together; None if some graph satisfies all.

    A deletion filter finds limits of which none can go; then smaller sets are tried, the smallest
    first, unless they are too many.
    """
    if not space.limits or is_satisfiable(space):
        return None
    conflict = _reduce_conflict(space)
    tried = 0
    for size in range(1, len(conflict)):
        tried += comb(len(space.limits), size)
        if tried > _SUBSETS:
            break
        for subset in combinations(space.limits, size):
            if not is_satisfiable(space.with_limits(subset)):
                return subset
    return conflict


def is_satisfiable(space: SearchSpace) -> bool:
    """Whether the space holds a graph: exact."""
    try:
        return bool(space.sample(1, np.random.default_rng(0)))
    except EmptySpaceError:
        return False
    except SpaceError:
        return _has_solution(space)


def _reduce_conflict(space: SearchSpace) -> tuple[Limit, ...]:
    """Leave out limits one after the other as long as the rest still contradict each other."""
    left: Sequence[Limit] = space.limits
    for limit in space.limits:
        fewer = tuple(other for other in left if other is not limit)
        if not is_satisfiable(space.with_limits(fewer)):
            left = fewer
    return tuple(left)


def _has_solution(space: SearchSpace) -> bool:
    # Imported when asked for: Pyomo and SCIP take half a second.
    from nasgoat.formulations import domain_model
    from nasgoat.solvers.scip_model import ScipModel

    return any(ScipModel(domain_model(space, n)).feasible() for n in space.sizes)
