"""The exact minimum of a function of several parts, by weighted sums of the parts.

Notation (docs/acquisition-functions.md, "The exact minimum of several objectives")
    v     values of the parts of a graph;  h(v) what is minimised
    g     weights of a sum Σ_i g_i v_i;  s(x) a lower bound of it that an engine can minimise
    C(t)  a number that Σ_i g_i v_i is below wherever h < t (``cap_sum``)
    L     lower bounds of the values over all graphs that are not excluded

A graph better than the k-th best value t has s(x) < C(t). So an engine that finds every graph with
s(x) < C(t) finds all that are better, and what h is at those decides. Few graphs are looked at in
vain if C(t) is hardly above the minimum of s: weights are chosen by minimising some sums first.
That gives good graphs as well, and with L a bound at any time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from nasgoat.acquisition.averaging import AveragedBound
from nasgoat.acquisition.functions import LargestDeviation
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.local_search import descend, fill_up
from nasgoat.acquisition.lower_confidence_bound import Array, LinearAcquisition
from nasgoat.acquisition.part_sums import (
    ROUNDING,
    Engine,
    PartSum,
    Sieve,
    cap_sum,
    find_factors,
    is_over,
)
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.acquisition.several_objectives import KnownCost, SeveralAcquisition, measure_part
from nasgoat.errors import SettingError, SpaceError
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import LinearPosterior

_ROUNDS = 6  # sums that are minimised, at most, before graphs are looked at one by one
_SUM_SHARE = 0.4  # of the time, for minimising sums
_WIDEST_SHARE = 0.2  # of the time, for the largest deviations, where a function needs them
_HALVINGS = 50
_MANY = 1500  # graphs from which on pieces of what is below a value are worth a search each
_LOW = 0.1  # of the way from the minimum of a sum to C(t): where better graphs are looked for


@dataclass
class _PartSearch:
    """What is known of a problem: the best graphs, bounds of parts, sums that were minimised."""

    function: SeveralAcquisition
    engine: Engine
    best: KBest
    floor: Array
    usual: Array  # values of the parts at some graphs, (parts, graphs)
    seen: list[Array] = field(default_factory=list)  # values of parts, (parts, graphs) each
    solved: list[tuple[Array, float]] = field(default_factory=list)  # weights, bound of the sum
    complete: bool = False  # whether no graph is left that could be better

    def solve(self, weights: Array, deadline: float | None) -> Pool:
        """Minimise a sum, keep its best graphs, and note what that proves."""
        best = self.best
        pool = self.engine.solve(self.make_sum(weights), best.k, best.exclude, deadline)
        self.look_at([proposal.graph for proposal in pool])
        certified = all(proposal.certificate.certified for proposal in pool)
        if pool.certificate.status is Status.EXHAUSTED or (certified and len(pool) < best.k):
            self.complete = True  # there are no other graphs
        bound = -np.inf if pool.certificate.bound is None else pool.certificate.bound
        self.solved.append((weights, bound))
        used = np.flatnonzero(weights)
        if len(used) == 1:
            self.floor[used] = np.maximum(self.floor[used], bound)
        return pool

    def solve_alone(self, i: int, deadline: float | None) -> None:
        """Minimise one part, unless this batch has a minimum whose graphs are not all excluded."""
        part, best, memory = self.function.parts[i], self.best, self.engine.memory
        alone = np.eye(len(self.floor))[i]
        if not isinstance(part, LinearAcquisition):
            self.solve(alone, deadline)
            return
        known = memory.recall(part, best.exclude)
        if known is None or all(best.space.key(graph) in best.exclude for graph in known.graphs):
            memory.keep(part, best.exclude, self.solve(alone, deadline))
            return
        self.look_at(known.graphs)
        self.solved.append((alone, known.bound))
        self.floor[i] = max(self.floor[i], known.bound)

    def look_at(self, graphs: list[LabeledGraph]) -> None:
        """Score graphs, and remember the values of their parts."""
        if graphs:
            self.best.add(graphs)
            parts = self.function.parts
            self.seen.append(np.stack([p.combine(*measure_part(p, graphs)) for p in parts]))

    def make_sum(self, weights: Array) -> LinearAcquisition:
        """The lower bound of a sum; of one part, which need not be linear, the part itself."""
        parts, used = self.function.parts, np.flatnonzero(weights)
        alone = parts[int(used[0])]
        if len(used) == 1 and isinstance(alone, LinearAcquisition):
            return alone
        shares: Array = np.ones(len(parts))
        if good := [scored.graph for scored in self.best.found]:
            deviations = np.array([measure_part(part, good)[1].mean() for part in parts])
            shares = find_factors(parts, weights) * deviations + 1e-12
        return PartSum(parts, weights, self.function.gp, shares)

    def list_weights(self) -> Array:
        """Weights of sums that may be tried: of all linear parts, or of one other part alone."""
        parts = self.function.parts
        free = [i for i in range(len(parts)) if i not in self.function.known_limits]
        linear = [i for i in free if _is_linear(self.function, i)]
        groups = [[i] for i in free if i not in linear]
        spread = self._measure_spread()
        found = np.concatenate([self.function.list_sums(g, spread) for g in [*groups, linear]])
        # A known cost alone leaves too many graphs; it is a limit then, if there is another sum.
        modelled = [isinstance(part, LinearAcquisition) for part in parts]
        kept = found[(found[:, modelled] > 0).any(axis=1)]
        found = kept if len(kept) else found
        alone = (found > 0).sum(axis=1) == 1
        found[alone] = found[alone] > 0
        return np.unique(found, axis=0)

    def _measure_spread(self) -> Array:
        values = np.hstack(self.seen) if self.seen else np.zeros((len(self.floor), 1))
        return np.asarray(np.maximum(np.ptp(values, axis=1), 1e-12))

    def sift(
        self,
        weights: Array,
        pieces: Sequence[SeveralAcquisition],
        deadline: float | None,
        level: float = np.inf,
        most: float = np.inf,
    ) -> tuple[Sieve, float | None]:
        """Look at every graph whose weighted sum is low enough for a better value in these pieces.

        Returns:
            What the graphs went through, and a bound on the sums of those that were not looked at,
            None if all were. Where it gave up, neither says anything of the others.
        """
        sieve = Sieve(
            best=self.best, pieces=pieces, weights=weights, floor=self.floor, level=level, most=most
        )
        left = self.engine.sift(self.make_sum(weights), sieve, deadline)
        sieve.flush()
        return sieve, left

    def expect_graphs(self, weights: Array, piece: SeveralAcquisition | None = None) -> Array:
        """How far the cap of each sum is above its mean over usual graphs, in deviations."""
        function = piece or self.function
        caps = [cap_sum(function, g, self.best.cutoff, self.floor) for g in weights]
        values, most = weights @ self.usual, np.array(caps)
        return np.asarray((most - values.mean(axis=1)) / (values.std(axis=1) + 1e-12))

    def choose_weights(self, deadline: float | None) -> Array:
        """The weights by which the fewest graphs have to be looked at, as far as can be told.

        Minimising their sum finds better graphs, which may make other weights the best.
        """
        for _ in range(_ROUNDS):
            weights = self.list_weights()
            chosen = weights[int(np.argmin(self.expect_graphs(weights)))]
            known = any(np.array_equal(chosen, tried) for tried, _ in self.solved)
            if known or self.complete or is_over(deadline):
                break
            self.solve(chosen, deadline)
        return np.asarray(chosen)

    def limit_costs(self) -> None:
        """Leave out graphs whose known costs alone make them worse than the k-th best."""
        if self.best.cutoff == np.inf:
            return
        limits = []
        for i, part in enumerate(self.function.parts):
            if isinstance(part, KnownCost) and i not in self.function.known_limits:
                alone = np.eye(len(self.floor))[i]
                most = cap_sum(self.function, alone, self.best.cutoff, self.floor)
                if most < np.inf:
                    total = part.total
                    limits.append(replace(total, sense="<=", bound=most + total.bound))
        self.engine = self.engine.limit(limits)

    def find_bound(self, weights: Array) -> float:
        """What a sum is at least, if it was minimised; -inf if it was not."""
        return max((b for g, b in self.solved if np.array_equal(g, weights)), default=-np.inf)

    def bound(self) -> float:
        """What is proven of every graph that is not excluded, by parts and by sums."""
        found = [float(self.function.join(self.floor[:, None])[0])]
        found += [self.lift(weights, bound) for weights, bound in self.solved]
        return max(found)

    def lift(self, weights: Array, total: float) -> float:
        """A lower bound of the function where a sum is at least a total."""
        high = self.best.found[-1].value if self.best.found else 1e300
        low = -1e300
        if cap_sum(self.function, weights, high, self.floor) <= total:
            return high
        for _ in range(_HALVINGS):
            middle = low / 2 + high / 2
            if cap_sum(self.function, weights, middle, self.floor) <= total:
                low = middle
            else:
                high = middle
        return low


def _is_linear(function: SeveralAcquisition, i: int) -> bool:
    part = function.parts[i]
    return isinstance(part, KnownCost) or isinstance(part.posterior, LinearPosterior)


def require_bounded(function: SeveralAcquisition, who: str) -> None:
    """Refuse a function that bounds of its parts do not bound."""
    refusal = function.explain_unbounded("linear")
    if any(isinstance(part, AveragedBound) for part in function.parts):
        refusal = "one of its parts averages several surrogates"
    if refusal:
        raise SettingError(
            f"{who} must be able to bound the acquisition, got {type(function).__name__}: "
            f"{refusal}; use the catalogue"
        )


def minimize_parts(
    function: SeveralAcquisition, engine: Engine, best: KBest, seconds: float | None
) -> Pool:
    """The best graphs under a function of several parts, proven as far as time allows.

    Args:
        function: What is minimised.
        engine: Minimises lower confidence bounds over the space; where the function has limits on
            known costs, over those of its graphs that are within them.
        best: Keeps the best graphs: how many, and which not.
        seconds: Time for everything.
    """
    start = time.perf_counter()
    shares = (1.0, _SUM_SHARE, _WIDEST_SHARE)
    deadline, early, first = (seconds and start + share * seconds for share in shares)
    function = function.relax(lambda part: _find_widest(part, engine, best, first))
    m = len(function.parts)
    usual = np.stack([p.combine(*measure_part(p, function.gp.graphs_)) for p in function.parts])
    search = _PartSearch(function, engine, best, np.full(m, -np.inf), usual)
    left: float | None = None
    for i in range(m):
        late = is_over(early) and search.solved
        if i not in function.known_limits and not search.complete and not late:
            search.solve_alone(i, early)
    if not is_over(early):
        _find_allowed(search, None if early is None else early - time.perf_counter())
    if not search.complete:
        if not all(_is_linear(function, i) for i in range(m)):
            # Their sums can't be minimised, which would find good graphs.
            if not is_over(early):
                with suppress(SpaceError):  # no graph within the limits
                    descend(best, np.random.default_rng(0), [kept.graph for kept in best.found])
            search.limit_costs()
        weights = search.choose_weights(early)
        if not search.complete:
            left = _sift(search, weights, deadline)
    return certify_best(best, left, time.perf_counter() - start)


def _find_widest(
    part: LinearAcquisition, engine: Engine, best: KBest, deadline: float | None
) -> float:
    """An upper bound on the deviation of a part at every graph that is not excluded."""
    function = LargestDeviation(part.gp)
    if (known := engine.memory.recall(function, best.exclude)) is not None:
        return max(-known.bound, 0.0) * (1.0 + ROUNDING)
    pool = engine.solve(function, 1, best.exclude, deadline)
    engine.memory.keep(function, best.exclude, pool)
    if pool.certificate.status is Status.EXHAUSTED:
        return 0.0
    bound = pool.certificate.bound
    return np.inf if bound is None else max(-bound, 0.0) * (1.0 + ROUNDING)


def _find_allowed(search: _PartSearch, seconds: float | None) -> None:
    """Look for graphs within all limits, where there are fewer than k so far."""
    best, excess = search.best, search.function.excess
    if excess is None or search.complete or len(best.found) == best.k:
        return
    least = KBest(search.engine.space, excess, best.k, best.exclude, best.gap)
    pool = minimize_parts(excess, search.engine, least, seconds)
    search.look_at([proposal.graph for proposal in pool])
    ended = len(pool) > 0 or pool.certificate.status is Status.EXHAUSTED
    if ended and all(proposal.certificate.certified for proposal in pool):
        worst = pool[len(pool) - 1].lcb if len(pool) else None
        search.complete = len(pool) < best.k or (worst is not None and worst > 0)


def _sift(search: _PartSearch, weights: Array, deadline: float | None) -> float | None:
    """Find every graph that may be better; a bound on what was not looked at, None if all was."""
    whole = (search.function,)
    most = _MANY if search.engine.quick else np.inf
    sieve, left = search.sift(weights, whole, deadline, most=most)
    if sieve.gave_up:
        return _sift_pieces(search, weights, deadline)
    return None if left is None else max(search.bound(), search.lift(weights, left))


def _sift_pieces(search: _PartSearch, weights: Array, deadline: float | None) -> float | None:
    """Find every graph that may be better by several sums, where one leaves too many graphs.

    Each piece of what is below the k-th best value has the sum that leaves fewest.

    Before, graphs with low sums are looked at: one of them is often better, and C(t) falls.
    """
    lowest = search.find_bound(weights)
    cap = cap_sum(search.function, weights, search.best.cutoff, search.floor)
    if np.isfinite((lowest, cap)).all():
        low = lowest + _LOW * (cap - lowest)
        search.sift(weights, (search.function,), deadline, low, _MANY)
    choices = search.list_weights()
    shared: dict[int, list[SeveralAcquisition]] = {}
    for piece in search.function.split(search.best.cutoff, search.floor):
        place = int(np.argmin(search.expect_graphs(choices, piece)))
        shared.setdefault(place, []).append(piece)
    for place, pieces in shared.items():
        if search.sift(choices[place], pieces, deadline)[1] is not None:
            return search.bound()
    return None


def certify_best(best: KBest, left: float | None, seconds: float) -> Pool:
    """The graphs with what is proven of them; filled up by local search if time was short.

    Args:
        best: The best graphs so far.
        left: A lower bound of all graphs that were not looked at; None if none could be better.
        seconds: What the proof took.
    """
    if left is not None:
        with suppress(SpaceError):  # no graph within the limits
            fill_up(best, np.random.default_rng(0))

    def certify(value: float) -> Certificate:
        close = left is None or left >= value - ROUNDING * (1.0 + abs(value))
        bound = min(value, best.cutoff) if close or left is None else left
        status = Status.OPTIMAL if close else Status.FEASIBLE
        return Certificate(status, value, bound if np.isfinite(bound) else None, seconds)

    if left is None:
        return best.pool(certify, Certificate(Status.EXHAUSTED, seconds=seconds))
    bound = left if np.isfinite(left) else None
    return best.pool(certify, Certificate(Status.FEASIBLE, None, bound, seconds))
