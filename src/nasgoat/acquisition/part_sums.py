"""What an exact optimiser does for functions that it can't minimise itself: an *engine*.

An engine minimises lower confidence bounds over a space, and finds every graph below a cut-off.
:mod:`~nasgoat.acquisition.minimum_by_lines` and :mod:`~nasgoat.acquisition.relaxation` make exact
optimisers of other functions of it. Branch and bound and the program each have one. Functions of
several parts reach it as weighted sums of the parts, each a lower confidence bound of one posterior
(:class:`PartSum`).

Notation of sums (docs/acquisition-functions.md, Lemma 3)
    v_i = μ_i - κ_i σ_i   value of part i: w_i·x - κ_i ‖R_iᵀ x‖ under the linear kernel
    g_i   weight of part i, from 0 up;  θ_i  share of part i, Σ θ_i = 1

By Cauchy and Schwarz Σ_i g_i κ_i σ_i ≤ √(Σ_i (g_i κ_i σ_i)² / θ_i), with equality where the shares
are those of g_i κ_i σ_i in their sum. The right-hand side is ‖Rᵀ x‖ of one root R, so

    Σ_i g_i v_i ≥ (Σ_i g_i w_i)·x - ‖Rᵀ x‖,   R Rᵀ = Σ_i (g_i κ_i)² / θ_i R_i R_iᵀ.

Known costs are linear in the features and belong to the mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from nasgoat.acquisition.k_best import KBest, Scored
from nasgoat.acquisition.lower_confidence_bound import Array, LinearAcquisition
from nasgoat.acquisition.proposals import Pool
from nasgoat.acquisition.several_objectives import KnownCost, Part, SeveralAcquisition, measure_part
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap, Sizes
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate import GraphGP, LinearPosterior
from nasgoat.surrogate.posterior import Posterior

#: Minimises a linear acquisition: how many graphs, what is excluded, and until when.
Solve = Callable[[LinearAcquisition, int, Collection[bytes], float | None], Pool]
#: Of the size of a value: what rounding may change in it.
ROUNDING = 1e-11
_LEAST_SHARE = 1e-3  # of a part in a sum: any shares are valid, tiny ones only lose sharpness
_TOGETHER = 24  # graphs that are scored at a time, at least, while others are found


class Minimum(NamedTuple):
    """What minimising a lower confidence bound has proven and found."""

    exclude: frozenset[bytes]  # the graphs that it says nothing of
    bound: float
    graphs: list[LabeledGraph]


@dataclass(eq=False)
class BatchMemory:
    """Minima of single objectives, kept for later questions of the same batch.

    Graphs that are believed to come out as predicted leave every mean as it is and make no
    deviation larger: what a lower confidence bound was at least before, it is after as well.
    """

    _kept: WeakKeyDictionary[Posterior, dict[tuple[type, float], Minimum]] = field(
        default_factory=WeakKeyDictionary
    )

    def recall(self, part: LinearAcquisition, exclude: Collection[bytes]) -> Minimum | None:
        """A minimum that holds for every graph that is not excluded; None if there is none."""
        found = self._kept.get(_find_origin(part), {}).get((type(part), part.sqrt_beta))
        return found if found is not None and found.exclude.issubset(exclude) else None

    def keep(self, part: LinearAcquisition, exclude: Collection[bytes], pool: Pool) -> None:
        """Keep a minimum, if it is proven."""
        bound = pool.certificate.bound
        if bound is not None and all(proposal.certificate.certified for proposal in pool):
            minimum = Minimum(frozenset(exclude), bound, [proposal.graph for proposal in pool])
            kept = self._kept.setdefault(_find_origin(part), {})
            kept[type(part), part.sqrt_beta] = minimum


def _find_origin(part: LinearAcquisition) -> Posterior:
    """The posterior before any graph was believed."""
    return (part.gp.origin or part.gp).posterior_


@dataclass(frozen=True)
class Engine:
    """An exact optimiser of lower confidence bounds.

    Args:
        space: The space that is searched.
        solve: The k best graphs that are not excluded, or as far as it came by the deadline.
        sift: Offers a sieve every graph below its cut-off, which falls meanwhile, until a deadline.
            Returns a bound on what was not looked at; None if all was.
        limited: The same engine within further limits.
        quick: Whether several sifts cost less than one that has to look at many graphs.
        memory: What is known from questions before.
    """

    space: SearchSpace
    solve: Solve
    sift: Callable[[LinearAcquisition, Sieve, float | None], float | None]
    limited: Callable[[Collection[Limit]], Engine]
    quick: bool = True
    memory: BatchMemory = field(default_factory=BatchMemory)

    def limit(self, limits: Collection[Limit]) -> Engine:
        """The same engine within further limits, if there are any."""
        return self.limited(limits) if limits else self


@dataclass
class Sieve:
    """Takes graphs that an engine finds below a cut-off, and keeps the best by their own values.

    Args:
        best: Keeps the k best.
        pieces: Functions that together cover what they are the best of.
        weights: Of the sum of the functions' parts that the engine minimises.
        floor: Lower bounds of the parts.
        level: Sums from which on graphs are left for later.
        most: Graphs after which it gives up: nothing is below its cut-off then.
    """

    best: KBest
    pieces: Sequence[SeveralAcquisition]
    weights: Array
    floor: Array
    level: float = np.inf
    most: float = np.inf
    _caps: dict[float, float] = field(default_factory=dict)  # by the k-th best value
    _waiting: list[LabeledGraph] = field(default_factory=list)
    _seen: int = 0

    @property
    def found(self) -> list[Scored]:
        """The best graphs so far, by their own values."""
        return self.best.found

    def add(self, graphs: Iterable[LabeledGraph]) -> None:
        """Score graphs of the space at once."""
        self.best.add(graphs)

    @property
    def cutoff(self) -> float:
        """The engine skips graphs whose sum is not below this: the cap, or the level if lower."""
        if len(self._waiting) > max(_TOGETHER, self._seen // 8):  # many at a time is cheaper
            self.flush()
        return -np.inf if self.gave_up else min(self.cap, self.level)

    @property
    def gave_up(self) -> bool:
        """Whether it took too many graphs, so that nothing is proven."""
        return self._seen > self.most

    @property
    def cap(self) -> float:
        """An upper limit on the sum of any graph that is better than the k-th best so far."""
        value = self.best.cutoff
        if value not in self._caps:
            caps = [cap_sum(piece, self.weights, value, self.floor) for piece in self.pieces]
            self._caps = {value: max(caps)}
        return self._caps[value]

    def offer(self, graph: LabeledGraph, value: float) -> None:
        """Take a graph, if it is within the limits of the space."""
        space = self.best.space
        if not space.all_limits or graph in space:
            self._waiting.append(graph)

    def flush(self) -> None:
        """Score the graphs that wait; only the few that are better need their keys."""
        self._seen += len(self._waiting)
        if self._waiting:
            values = self.best.acquisition.score(self._waiting)
            better = np.flatnonzero(values < self.best.cutoff).tolist()
            self.best.add([self._waiting[i] for i in better])
            self._waiting.clear()


def cap_sum(function: SeveralAcquisition, weights: Array, value: float, floor: Array) -> float:
    """An upper limit on the sum of graphs whose value is below ``value`` by more than rounding."""
    if value == np.inf:
        if weights[0] != 0.0:
            return np.inf  # any graph may be among the k best
        value = 1e300  # a limit alone does not need one
    return function.cap_sum(weights, value - ROUNDING * (1.0 + abs(value)), floor)


def is_over(deadline: float | None) -> bool:
    """Whether the time is up."""
    return deadline is not None and time.perf_counter() > deadline


@dataclass(frozen=True, eq=False)
class _PosteriorWithCosts(LinearPosterior):
    """A posterior under the linear kernel whose mean has known costs as well."""

    costs: tuple[tuple[float, KnownCost], ...] = ()

    def restrict_to_cell(self, features: FeatureMap, name: str) -> LinearPosterior:
        """What one cell adds, its part of the costs included."""
        plain = super().restrict_to_cell(features, name)
        costs = tuple((weight, cost.restrict_to_cell(name)) for weight, cost in self.costs)
        return _PosteriorWithCosts(plain.w, plain.R, costs)

    def fold_to_counts(self, features: FeatureMap, n: Sizes) -> LinearPosterior:
        """The same posterior as a function of integer counts of graphs with n nodes."""
        plain = super().fold_to_counts(features, n)
        (size,) = [n] if isinstance(n, int | np.integer) else n
        added = [weight * count_cost(cost, features, int(size)) for weight, cost in self.costs]
        return LinearPosterior(plain.w + np.sum(added, axis=0), plain.R)


@dataclass(frozen=True, eq=False)
class PartSum(LinearAcquisition):
    """A lower bound of a weighted sum of parts, each under the linear kernel or a known cost.

    Args:
        parts: The parts.
        weights: g, from 0 up, one for each part.
        surrogate: A fitted Gaussian process of the same space, for its features.
        shares: θ, for the parts that have a deviation; the best are their own shares of the
            weighted deviations at the graphs that matter.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> parts = [random_problem(nasbench201(), 5, seed=seed).acquisition for seed in (0, 1)]
        >>> both = PartSum(parts, (1.0, 2.0), parts[0].gp, (0.5, 0.5))
        >>> cells = nasbench201().sample(50, np.random.default_rng(0))
        >>> exact = parts[0].score(cells) + 2.0 * parts[1].score(cells)
        >>> bool((both.score(cells) <= exact + 1e-9).all())
        True
    """

    parts: Sequence[Part]
    weights: Sequence[float] | Array
    surrogate: GraphGP | None = None
    shares: Sequence[float] | Array = ()
    sqrt_beta: ClassVar[float] = 1.0  # type: ignore[misc]

    @cached_property
    def _made(self) -> LinearPosterior:
        """The posterior of the sum, as Lemma 3 of docs/acquisition-functions.md has it."""
        width = len(self.features.source)
        w, roots, costs = np.zeros(width), [np.zeros((width, 1))], []
        for part, weight, spread in zip(self.parts, self.weights, self._factors, strict=True):
            if weight == 0:
                continue
            if isinstance(part, KnownCost):
                costs.append((weight, part))
                continue
            posterior = part.posterior
            if not isinstance(posterior, LinearPosterior):
                raise SettingError(
                    "parts of a sum must have the linear kernel, got "
                    f"{type(posterior).__name__}; use the catalogue"
                )
            w = w + weight * posterior.w
            roots.append(spread * posterior.R)
        whole = np.hstack(roots)
        if whole.shape[1] > width:  # as few columns as there are features: ‖Rᵀ x‖ stays
            whole = np.asarray(np.linalg.qr(whole.T, mode="r")).T
        if costs:
            return _PosteriorWithCosts(w, whole, tuple(costs))
        return LinearPosterior(w, whole)

    @cached_property
    def _factors(self) -> Array:
        """Factors g_i κ_i / √θ_i of the deviations."""
        plain = find_factors(self.parts, self.weights)
        active = np.flatnonzero(plain)
        if len(active) <= 1:
            return plain
        shares = np.ones(len(plain)) if not len(self.shares) else np.array(self.shares)
        shares = np.maximum(shares[active] / shares[active].sum(), _LEAST_SHARE)
        plain[active] /= np.sqrt(shares / shares.sum())
        return plain

    @property
    def posterior(self) -> Posterior:
        """One posterior for the whole sum; its rows know nothing of costs, its counts do."""
        return self._made

    def assess(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array, Array]:
        """The lower bound of the sum at each graph, and the mean and deviation behind it."""
        mean, square = np.zeros(len(graphs)), np.zeros(len(graphs))
        for part, weight, factor in zip(self.parts, self.weights, self._factors, strict=True):
            if weight:
                own, std = measure_part(part, graphs)
                mean, square = mean + weight * own, square + (factor * std) ** 2
        return mean - np.sqrt(square), mean, np.sqrt(square)


def find_factors(parts: Sequence[Part], weights: Sequence[float] | Array) -> Array:
    """What multiplies the deviation of each part in a weighted sum: g_i κ_i; 0 of a known cost."""
    kappa = [part.sqrt_beta if isinstance(part, LinearAcquisition) else 0.0 for part in parts]
    return np.asarray(np.array(weights, dtype=float) * np.array(kappa))


def count_cost(cost: KnownCost, features: FeatureMap, n: int) -> Array:
    """A known cost as weights of the integer counts of graphs with n nodes.

    Nodes with a label are pairs at distance 0, edges are pairs at distance 1, and what does not
    depend on labels is shared by the n nodes. The depth is a sum over distances from the source to
    the sink, where each is a single node.

    Raises:
        SettingError: If the cost has the depth of graphs with several sources or sinks.

    Example:
        >>> from nasgoat import nasbench101
        >>> space = nasbench101()
        >>> cost, features = KnownCost.of(space, "2*conv3x3 + edges + depth + 5"), FeatureMap(space)
        >>> cells = [cell for cell in space.sample(30, np.random.default_rng(0)) if cell.n == 5]
        >>> counted = features.counts(space.batch(cells)) @ count_cost(cost, features, 5)
        >>> bool(np.allclose(counted, cost.predict(cells)[0]))
        True
    """
    space, total = features.space, cost.total
    kinds, names = features.path_types, space.node_vocabulary
    found = np.zeros(len(kinds) + len(features.edge_types))
    fixed = total.nodes - total.bound / n
    per_edge = total.edges if space.directed else total.edges / 2
    on_nodes = total.node_coefficients(names)
    for column, (s, a, _) in enumerate(kinds):
        if s == 0:
            found[column] = fixed + (on_nodes[a] if names else 0.0)
        elif s == 1:
            found[column] = per_edge
    if total.depth:
        for column, (s, a, b) in enumerate(kinds):
            found[column] += total.depth * s * ((a, b) == _find_ends(space, n))
    on_edges = total.edge_coefficients(space.edge_vocabulary)
    for column, (u, v, label) in enumerate(features.edge_types, len(kinds)):
        here = total.edge_places.get((u, v), {}) if space.indexed else {}
        found[column] = on_edges[label] + here.get(space.edge_vocabulary[label], 0.0)
    return found


def _find_ends(space: SearchSpace, n: int) -> tuple[int, int]:
    """The codes of the source and of the sink, where each is a single node."""
    pairs = space.end_pairs(n)
    if len(pairs) != 1:
        raise SettingError(
            "the depth in a known cost must be that of graphs with one source and one sink, got "
            "others; use the catalogue, or a limit of the space"
        )
    names = len(space.node_vocabulary)
    return (0, names - 1) if names else (pairs[0][0], pairs[0][1])
