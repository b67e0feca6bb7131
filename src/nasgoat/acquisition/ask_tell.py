"""What every sequential method has in common: a space that is not empty, ask and tell.

A method does no input or output and holds no random state: everything it proposes follows from the
seed, its settings and what it was told, so that a replay proposes the same graphs.

Before it begins, :func:`require_satisfiable` makes sure that some graph satisfies the limits of the
space. A random draw answers yes at once. Where none succeeds, a small space is listed and a large
one becomes a mathematical program without an objective, so that "none" is proven.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb

import numpy as np

from nasgoat.acquisition.proposals import Certificate, Proposal, Status
from nasgoat.errors import (
    EmptySpaceError,
    GraphError,
    ObservationError,
    SettingError,
    SpaceError,
)
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace, load_space
from nasgoat.spaces.limits import Limit

_INITIAL_STREAM = 0  # keeps the random numbers of the initial design apart from any others
_MORE_STREAM = 2
_SUBSETS = 200  # of limits that are tried for a smaller conflict than the first one found


def draw_initial_design(space: SearchSpace, initial: int, seed: int) -> list[LabeledGraph]:
    """The random graphs that every method with this seed evaluates first.

    Example:
        >>> from nasgoat import nasbench201
        >>> draw_initial_design(nasbench201(), 3, 0) == draw_initial_design(nasbench201(), 3, 0)
        True
    """
    return space.sample(initial, np.random.default_rng([seed, _INITIAL_STREAM]))


class AskTell(ABC):
    """Proposes graphs and remembers their errors; a subclass decides what to propose.

    Args:
        space: The space to search, or its name as for :func:`~nasgoat.load_space`.
        initial: Random graphs before the method's own proposals.
        seed: Seed of everything random.
    """

    def __init__(self, space: SearchSpace | str, initial: int = 10, seed: int = 0) -> None:
        if initial < 1:
            raise SettingError(f"initial must be at least 1, got {initial}")
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise SettingError(f"the seed must be a whole number from 0, got {seed!r}")
        self.space = load_space(space)
        require_satisfiable(self.space)
        self.initial = initial
        self.seed = seed
        self._graphs: list[LabeledGraph] = []
        self._errors: list[float] = []
        self._times: Counter[bytes] = Counter()  # evaluations of each graph, failed ones included
        self._pending: dict[bytes, LabeledGraph] = {}  # asked, not yet told
        self._design: list[LabeledGraph] | None = None

    @property
    def observations(self) -> list[tuple[LabeledGraph, float]]:
        """What was told, in order."""
        return list(zip(self._graphs, self._errors, strict=True))

    @property
    def pending(self) -> list[LabeledGraph]:
        """Graphs that were proposed and not yet told."""
        return list(self._pending.values())

    def ask(self, k: int = 1) -> list[Proposal]:
        """Up to k graphs to evaluate next, none seen or proposed before; fewer if none are left."""
        self._check_count(k)
        proposals = self._propose_initial(k)
        # A batch may begin with the initial design: the method must not propose that part again.
        self._pending |= {self.space.key(p.graph): p.graph for p in proposals}
        if len(proposals) < k and self._has_observed():
            proposals += self._propose(k - len(proposals))
        elif len(proposals) < k:
            proposals += self._propose_random(k - len(proposals), proposals)
        self._pending |= {self.space.key(p.graph): p.graph for p in proposals}
        return proposals

    def tell(self, graph: LabeledGraph, error: float) -> None:
        """Learn the error of a graph, proposed or not.

        Raises:
            GraphError: If the graph is not in the space.
            ObservationError: If the error is not a finite number.
        """
        key = self._check_and_key(graph)
        if isinstance(error, bool) or not isinstance(error, int | float | np.number):
            raise ObservationError(f"the error must be a number, got {error!r}")
        try:
            number = float(error)
        except OverflowError:
            raise ObservationError("the error must be finite, got a huge whole number") from None
        if not np.isfinite(number):
            raise ObservationError(f"the error must be finite, got {error}")
        self._pending.pop(key, None)
        self._times[key] += 1
        self._graphs.append(graph)
        self._errors.append(number)

    def expect(self, graph: LabeledGraph) -> None:
        """Note that a graph is being evaluated elsewhere, so that it is not proposed meanwhile."""
        self._pending[self._check_and_key(graph)] = graph

    def expect_only(self, graphs: Iterable[LabeledGraph]) -> None:
        """Note that exactly these graphs are being evaluated, whatever was proposed before."""
        self._pending = {self._check_and_key(graph): graph for graph in graphs}

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Note that a graph could not be evaluated: it is not proposed again, nor learnt from."""
        key = self._check_and_key(graph)
        self._pending.pop(key, None)
        self._times[key] += 1

    @abstractmethod
    def _propose(self, k: int) -> list[Proposal]:
        """Up to k proposals beyond the initial design; at least one graph was told."""

    def _has_observed(self) -> bool:
        """Whether anything can be learnt from."""
        return bool(self._graphs)

    def _check_count(self, k: int) -> None:
        if not isinstance(k, int | np.integer) or k < 1:
            raise SettingError(f"the number of proposals must be whole and at least 1, got {k!r}")

    def _check_and_key(self, graph: LabeledGraph) -> bytes:
        if not isinstance(graph, LabeledGraph):
            raise GraphError(f"the graph must be a LabeledGraph, got {type(graph).__name__}")
        self.space.check(graph)
        return self.space.key(graph)

    def _propose_initial(self, k: int) -> list[Proposal]:
        """What the initial design still has to offer."""
        if self._design is None:
            self._design = draw_initial_design(self.space, self.initial, self.seed)
        taken = self._list_taken()
        left = [g for g in self._design if self.space.key(g) not in taken]
        return [Proposal(graph, Certificate(Status.INITIAL)) for graph in left[:k]]

    def _propose_random(self, k: int, others: list[Proposal]) -> list[Proposal]:
        """More of the initial design, for when it is used up and nothing is known yet."""
        taken = self._list_taken() | {self.space.key(p.graph) for p in others}
        rng = np.random.default_rng([self.seed, _MORE_STREAM, len(taken)])
        graphs = self.space.sample(k, rng, taken)
        return [Proposal(graph, Certificate(Status.INITIAL)) for graph in graphs]

    def _list_taken(self) -> set[bytes]:
        """Keys of everything evaluated, failed or under evaluation."""
        return set(self._times) | set(self._pending)


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
    from nasgoat.formulations import build_domain
    from nasgoat.solvers.scip_model import ScipModel

    return any(ScipModel(build_domain(space, n)).is_feasible() for n in space.sizes)
