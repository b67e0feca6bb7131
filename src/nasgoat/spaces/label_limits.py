"""The labels of cells under limits: how many labellings there are, and random ones.

A limit sees a structure by its *profile* (nodes, edges, depth) and, unless it costs an operation
differently by place, its labels by how often each occurs. There are far fewer such count vectors
than labellings, so that counting and drawing are exact and fast.

Where costs differ by place, labels are drawn place by place with probabilities proportional to
exp(-λ · cost), with the prices λ that make the limits hold on average: those of largest entropy. A
draw within the limits is kept with probability exp(-λ · (cap - total)), which is at most 1, so that
every labelling within the limits is equally likely.

Notation
    k  number of labels;  a structure has places that fall into cycles of a symmetry (of size 1 each
       for the identity): all places of a cycle carry the same label
    V  places;  K  rows of limits: the costs of all labels add up to at most the cap
    λ  prices of the rows, from 0 up
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.spaces.limits import SIGNS, TOLERANCE, Limit, measure_depths
from nasgoat.spaces.moves import draw_within_limits, make_empty_error

if TYPE_CHECKING:
    from nasgoat.spaces.cell_space import CellSpace, Structures

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

_DRAWN = 64  # labellings at a time
_ROUNDS = 8  # before a search gives up
_HIGHEST = 1e4  # price in units of the spread of a row: limits that bind even more leave nothing
_COUNT_VECTORS = 200_000  # of the largest structure that are listed
_STRUCTURES = 10_000  # whose priced labels are kept
_DRAWS = 12  # random structures before all of them are looked at


@dataclass(frozen=True, eq=False)
class PricedLabels:
    """Draws and changes the labels of one structure.

    Args:
        cost: What each label costs at each place, shape (K, V, k).
        cap: What each row may add up to, shape (K,).

    Example:
        >>> labels = PricedLabels(np.array([[[0.0, 1.0]] * 3]), np.array([1.0]))
        >>> drawn = labels.draw(np.random.default_rng(0))
        >>> int(drawn.sum()) <= 1
        True
    """

    cost: Array
    cap: Array

    @cached_property
    def prices(self) -> Array:
        """The λ at which totals meet the caps on average, and 0 where a cap does not bind.

        They minimise Σ_v log Σ_l exp(-λ · cost) + λ · cap, which is convex.
        """
        spread = np.maximum(np.ptp(self.cost, axis=2).max(axis=1, initial=0.0), 1e-12)
        cost, cap = self.cost / spread[:, None, None], self.cap / spread

        def measure(prices: Array) -> tuple[float, Array]:
            logits = -np.tensordot(prices, cost, 1)
            total = logsumexp(logits, axis=1, keepdims=True)
            expected = np.tensordot(cost, np.exp(logits - total), 2)
            return float(total.sum() + prices @ cap), cap - expected

        begin, bounds = np.zeros(len(cap)), [(0.0, _HIGHEST)] * len(cap)
        best = minimize(measure, begin, jac=True, bounds=bounds, method="L-BFGS-B")
        found: Array = best.x / spread
        return found

    @cached_property
    def _steps(self) -> Array:
        """Cumulated probabilities of the labels at each place."""
        logits = -np.tensordot(self.prices, self.cost, 1)
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        steps: Array = np.cumsum(chances, axis=1) / chances.sum(axis=1, keepdims=True)
        return steps

    def add_up(self, codes: Codes) -> Array:
        """What each row adds up to for rows of labels, shape (K, rows)."""
        found: Array = self.cost[:, np.arange(codes.shape[1]), codes].sum(axis=2)
        return found

    def draw(self, rng: np.random.Generator) -> Codes | None:
        """A labelling within the limits, each as likely as any other; None if none was found."""
        for _ in range(_ROUNDS):
            chance = rng.random((_DRAWN, self.cost.shape[1], 1))
            codes: Codes = (chance > self._steps).sum(axis=2).clip(max=self.cost.shape[2] - 1)
            left = self.cap[:, None] - self.add_up(codes)
            inside = (left >= 0.0).all(axis=0)
            kept = inside & (rng.random(_DRAWN) <= np.exp(-self.prices @ np.maximum(left, 0.0)))
            if kept.any():
                found: Codes = codes[int(np.argmax(kept))]
                return found
        return None

    def change(self, codes: Codes, rng: np.random.Generator) -> Codes | None:
        """Another label at one place, each that the limits allow as likely; None if none is."""
        places = np.arange(len(codes))
        own = self.cost[:, places, codes]
        total = own.sum(axis=1)[:, None, None] + self.cost - own[:, :, None]
        fits = (total <= self.cap[:, None, None]).all(axis=0)
        fits[places, codes] = False
        where = np.flatnonzero(fits)
        if not len(where):
            return None
        place, label = divmod(int(rng.choice(where)), fits.shape[1])
        changed = codes.copy()
        changed[place] = label
        return changed


def draw_in_turn(labels: PricedLabels, rng: np.random.Generator) -> Codes | None:
    """Labels place by place in random order, each leaving enough of every limit for others.

    Not all are equally likely, but where few are within the limits one is found; None if not.
    """
    cost, least = labels.cost, labels.cost.min(axis=2)
    left = labels.cap - least.sum(axis=1)
    codes = np.zeros(cost.shape[1], dtype=np.intp)
    for place in rng.permutation(len(codes)).tolist():
        extra = cost[:, place] - least[:, place, None]
        fits = np.flatnonzero((extra <= left[:, None]).all(axis=0))
        if not len(fits):
            return None
        codes[place] = rng.choice(fits)
        left = left - extra[:, codes[place]]
    return codes


class LabelLimits:
    """Counts and draws the labellings of a space's structures that satisfy its limits."""

    def __init__(self, space: CellSpace) -> None:
        self.space = space
        self.limits = space.all_limits
        self._priced: dict[bytes, PricedLabels] = {}  # by structure
        k = len(space.ops)
        places = space.sites.count_variables(space.sizes[-1], space.edge_limit)
        #: Whether labels must be looked at place by place: a limit costs an operation differently
        #: by place, or there are too many count vectors.
        self.by_place = any(limit.edge_places for limit in self.limits) or (
            k > 0 and comb(places + k - 1, places) > _COUNT_VECTORS
        )

    def count(self) -> int:
        """How many graphs satisfy the limits: Burnside's count, structure by structure."""
        fixed: dict[tuple[Profile, tuple[int, ...]], int] = {}
        total = 0
        for batch, found in self._list_blank():
            for profile, group in zip(self._make_profiles(batch), found.automorphisms, strict=True):
                orbits = 0
                for symmetry in group:
                    cycles = self.space.sites.list_cycles(symmetry, profile.edges)
                    if (profile, cycles) not in fixed:
                        fixed[profile, cycles] = self._count_labellings(profile, cycles)
                    orbits += fixed[profile, cycles]
                total += orbits // len(group)
        return total

    def draw(self, rng: np.random.Generator) -> LabeledGraph:
        """A random graph within the limits.

        Raises:
            SpaceError: If there is none, or none was found.
        """
        for _ in range(_DRAWS):
            graph = self.space._draw(rng)
            labelled = self._relabel(graph, self._make_profiles(self.space.batch([graph]))[0], rng)
            if labelled is not None:
                return labelled
        if self.by_place or self._fitting is None:
            return draw_within_limits(self.space, rng)
        if not self._fitting:
            raise make_empty_error(self.space)
        batch, i, profile = self._fitting[int(rng.integers(len(self._fitting)))]
        found = self._relabel(batch[i], profile, rng)
        if found is None:
            raise AssertionError(f"a structure with {profile} must have labels within its limits")
        return found

    @cached_property
    def _fitting(self) -> list[tuple[GraphBatch, int, Profile]] | None:
        """The structures that have labels within all limits; None if there are too many to list."""
        if not self.space.can_list_structures():
            return None
        known: dict[Profile, int] = {}
        fitting = []
        for batch, _ in self._list_blank():
            for i, profile in enumerate(self._make_profiles(batch)):
                if profile not in known:
                    places = self._list_single_places(profile)
                    known[profile] = self._count_labellings(profile, places)
                if known[profile]:
                    fitting.append((batch, i, profile))
        return fitting

    def _list_blank(self) -> Iterator[tuple[GraphBatch, Structures]]:
        """All structures, size by size, with the first label everywhere, and their symmetries."""
        count, pack = self.space.count_variables, self.space.sites.pack
        for n, found in self.space.listed.items():
            yield pack(n, [(a, np.zeros((1, count(a)), int)) for a in found.adjacency]), found

    def _make_profiles(self, batch: GraphBatch) -> list[Profile]:
        """What a limit sees of each structure of a batch."""
        deep = measure_depths(batch, *self.space.ends(batch)).tolist()
        edges = batch.edge_counts.tolist()
        return [Profile(*row) for row in zip(batch.sizes.tolist(), edges, deep, strict=True)]

    def _relabel(
        self, graph: LabeledGraph, profile: Profile, rng: np.random.Generator
    ) -> LabeledGraph | None:
        """Other random labels on the graph's structure that satisfy every limit, if there are."""
        k = len(self.space.ops)
        if self.by_place:
            codes = self._draw_places(graph, profile, rng)
        else:
            counts, times = list_label_counts(self._list_single_places(profile), k)
            drawn = draw_counts(counts, times, self._fits(profile, counts), rng)
            codes = None if drawn is None else rng.permutation(np.repeat(np.arange(k), drawn))
        if codes is None:
            return None
        matrix, _ = self.space.sites.take_apart(graph)
        return self.space.assemble(matrix, codes)

    def _draw_places(
        self, graph: LabeledGraph, profile: Profile, rng: np.random.Generator
    ) -> NDArray[np.intp] | None:
        """Labels within the limits, equally likely; where these are rare, place by place."""
        priced = self._price(graph, profile)
        found = priced.draw(rng)
        return draw_in_turn(priced, rng) if found is None else found

    def _price(self, graph: LabeledGraph, profile: Profile) -> PricedLabels:
        """The limits on the labels of a graph's structure."""
        key = graph.adjacency.tobytes()
        if key not in self._priced:
            signed = [(x, sign) for x in self.limits for sign in SIGNS[x.sense]]
            costs = [sign * self.space.sites.price_by_variable(x, graph) for x, sign in signed]
            caps = [sign * (x.bound - _add_fixed(x, profile)) for x, sign in signed]
            slack = [TOLERANCE * max(1.0, abs(x.bound)) for x, _ in signed]
            if len(self._priced) >= _STRUCTURES:
                self._priced.clear()
            self._priced[key] = PricedLabels(np.array(costs), np.array(caps) + slack)
        return self._priced[key]

    def vary(
        self, graph: LabeledGraph, count: int, rng: np.random.Generator, edits: int
    ) -> list[LabeledGraph]:
        """Graphs within the limits, this many labels of this one changed; fewer if few can be."""
        profile = self._make_profiles(self.space.batch([graph]))[0]
        priced, (matrix, codes) = self._price(graph, profile), self.space.sites.take_apart(graph)
        found = []
        for _ in range(count):
            changed: NDArray[np.intp] | None = np.array(codes, dtype=np.intp)
            for _ in range(edits):
                changed = None if changed is None else priced.change(changed, rng)
            if changed is not None:
                found.append(self.space.assemble(matrix, changed))
        return found

    def _count_labellings(self, profile: Profile, cycles: tuple[int, ...]) -> int:
        """How many labellings that are constant on cycles satisfy every limit."""
        counts, times = list_label_counts(cycles, len(self.space.ops))
        fits = self._fits(profile, counts)
        return sum(t for t, fit in zip(times, fits, strict=True) if fit)

    def _list_single_places(self, profile: Profile) -> tuple[int, ...]:
        """The cycles of the identity: one for each place."""
        return (1,) * self.space.sites.count_variables(profile.nodes, profile.edges)

    def _fits(self, profile: Profile, counts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which count vectors all limits allow."""
        fits = np.ones(len(counts), dtype=bool)
        for limit in self.limits:
            total = counts @ self.space.sites.list_costs(limit) + _add_fixed(limit, profile)
            fits &= limit.holds(total)
        return fits


def count_labellings(space: CellSpace) -> int:
    """How many cells a space has without limits.

    Burnside: the orbits of labellings under a group are the mean number of fixed ones.
    """
    total, k = 0, len(space.ops)
    for found in space.listed.values():
        edges = found.adjacency.sum(axis=(1, 2)).tolist()
        for e, group in zip(edges, found.automorphisms, strict=True):
            total += sum(k ** len(space.sites.list_cycles(g, e)) for g in group) // len(group)
    return total


@dataclass(frozen=True)
class Profile:
    """What a limit sees of a structure: nodes, edges and depth."""

    nodes: int
    edges: int
    depth: int


@lru_cache(maxsize=512)
def list_label_counts(cycles: tuple[int, ...], k: int) -> tuple[NDArray[np.intp], tuple[int, ...]]:
    """Every vector of label counts, shape (S, k), and how many labellings have it.

    Example:
        >>> counts, times = list_label_counts((1, 1), 2)
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


def _add_fixed(limit: Limit, profile: Profile) -> float:
    """What a limit adds up to before any label is known."""
    fixed = limit.nodes * profile.nodes + limit.edges * profile.edges
    return fixed + limit.depth * profile.depth


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
