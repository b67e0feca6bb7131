"""Exact acquisition optimisation by scoring every graph of the space.

A catalogue lists the space once, with the integer kernel counts of every graph, and keeps them on
disk (``catalogue_files``). It is exact for any kernel and acquisition, and the oracle for every
other optimiser.

Graphs are scored by the columns that some observed graph has; all others count together
(:class:`NarrowPosterior`).

Notation
    x_j    codes of the blocks other than the paper's: 0 or 1
    p_j    row of projections, so that k_lin(x, X) = Σ_j x_j p_j
    s_j    squares, so that k_lin(x, x) = Σ_j s_j x_j²

A block that tells hundreds of kinds of nodes apart has hundreds of columns, most of them 0 in
every observed graph. There p_j = 0, so that only their part of k_lin(x, x) is left. Within a block
all s_j are the same, so that part is s times the number of ones among them: all ones of the block,
which are counted once for a catalogue, less those in the columns that are kept. It enters as the
square of one further column.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.bounding_boxes import Boxes
from nasgoat.acquisition.catalogue_files import BlockCounts, cut, load_or_build, name_folder
from nasgoat.acquisition.costs import forecast_catalogue
from nasgoat.acquisition.k_best import AGREEMENT, KBest, Scored, order_ascending
from nasgoat.acquisition.local_search import search_locally
from nasgoat.acquisition.lower_confidence_bound import Acquisition, Array, LowerConfidenceBound
from nasgoat.acquisition.proposals import Certificate, Pool, Status
from nasgoat.acquisition.several_objectives import KnownCost, Part, SeveralAcquisition
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.memory import choose_limit
from nasgoat.progress import show_progress
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate import ExponentialPosterior, Posterior
from nasgoat.surrogate.posterior import NormalisedPosterior

_BLOCK = 2048  # rows scored at a time: they and their products stay in the cache
Rows = slice | NDArray[np.intp]  # places of graphs in a catalogue
_KEPT = 6  # posteriors whose scores are kept: several objectives take turns
_FEW = 1_000_000  # graphs from which on half of that fits better in memory
#: Graphs that are scored first, and at a time, where all others may turn out to be no better.
_FIRST_SCORED, _MOST_SCORED = 1024, 16384


@dataclass(frozen=True, eq=False)
class NarrowPosterior:
    """A posterior as a function of counts, of which only the columns that matter are encoded.

    Args:
        posterior: On the paper's counts, the columns that are kept, and one for all others.
        kept: For each further block the columns of its code that are kept.
        squares: For each further block s.
    """

    posterior: ExponentialPosterior | NormalisedPosterior
    kept: Mapping[str, NDArray[np.intp]]
    squares: Mapping[str, float]

    @classmethod
    def of(cls, on_counts: Posterior, features: FeatureMap) -> NarrowPosterior | None:
        """The same posterior on fewer columns; None where no column can be left out.

        Args:
            on_counts: A posterior as a function of counts.
            features: What these counts are.
        """
        if not features.codes or not isinstance(
            on_counts, ExponentialPosterior | NormalisedPosterior
        ):
            return None
        end = len(on_counts.squares) - sum(code.width for code in features.codes.values())
        chosen, kept, squares = [np.arange(end)], {}, {}
        for name, code in features.codes.items():
            start, end = end, end + code.width
            seen = np.flatnonzero(on_counts.projections[start:end].any(axis=1))
            chosen.append(start + seen)
            kept[name] = seen
            squares[name] = float(on_counts.squares[start]) if code.width else 0.0
        columns = np.concatenate(chosen)
        zeros = np.zeros((1, on_counts.projections.shape[1]))
        narrow = replace(
            on_counts,
            projections=np.concatenate([on_counts.projections[columns], zeros]),
            squares=np.append(on_counts.squares[columns], 1.0),
        )
        return cls(narrow, kept, squares)

    def mean_std(
        self,
        features: FeatureMap,
        paper: NDArray[np.integer],
        others: Mapping[str, NDArray[np.integer]],
        ones: Mapping[str, NDArray[np.integer]],
    ) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of graphs.

        Args:
            features: What is counted.
            paper: The counts of the paper's blocks, shape (B, columns).
            others: Those of each further block.
            ones: For each further block how many ones its whole code has, shape (B,).
        """
        width, first = len(self.posterior.squares), paper.shape[1]
        mean, std = np.empty(len(paper)), np.empty(len(paper))
        for start in range(0, len(paper), _BLOCK):
            part = slice(start, start + _BLOCK)
            x = np.empty((len(paper[part]), width))
            x[:, :first], x[:, -1], end = paper[part], 0.0, first
            for name, code in features.codes.items():
                begin, end = end, end + len(self.kept[name])
                x[:, begin:end] = code.encode(others[name][part], self.kept[name])
                x[:, -1] += self.squares[name] * ones[name][part]
            x[:, -1] -= x[:, first:end] @ self.posterior.squares[first:end]
            x[:, -1] = np.sqrt(np.maximum(x[:, -1], 0.0))
            mean[part], std[part] = self.posterior.mean_std(x)
        return mean, std


class Catalogue:
    """Scores the whole space and returns its best graphs, proven optimal.

    Args:
        space: The space to list.
        progress: Called with a line of text if the catalogue has to be built.
        time_limit: Seconds to build it in, once. If they or the memory do not suffice, every
            question is answered by local search, without a proof.
        memory: Megabytes that it may take; by default half of what is free.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import random_problem
        >>> problem = random_problem(nasbench201(), observations=10)
        >>> pool = Catalogue(nasbench201()).optimize(problem.acquisition, 5, problem.observed)
        >>> len(pool), str(pool.certificate.status), pool.certificate.gap
        (5, 'optimal', 0.0)
    """

    name = "catalogue"
    cost = staticmethod(forecast_catalogue)

    def __init__(
        self,
        space: SearchSpace,
        progress: Callable[[str], None] | None = show_progress,
        time_limit: float = inf,
        memory: float | None = None,
    ) -> None:
        self.space = space
        self.features = FeatureMap(space)
        self.time_limit = time_limit
        limits = time.perf_counter() + time_limit, choose_limit(memory)
        self._arrays, self.complete = load_or_build(space, self.features, progress, *limits)
        self._blocks = BlockCounts(space, name_folder(space), len(self), self._load_batch)
        #: Of the last posteriors: several may take turns within a batch.
        self._scored: deque[tuple[Posterior, NDArray[np.float64], NDArray[np.float64]]] = deque(
            maxlen=_KEPT if len(self) <= _FEW else _KEPT // 2
        )
        self._costs: deque[tuple[Limit, NDArray[np.float64]]] = deque(maxlen=_KEPT)
        self._boxed = list[Array]()  # the means that the boxes are made of

    def __len__(self) -> int:
        return len(self._arrays.counts)

    def graph(self, i: int) -> LabeledGraph:
        """The i-th graph of the catalogue."""
        return self._load_batch(slice(i, i + 1))[0]

    def score(
        self, posterior: Posterior, features: FeatureMap | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and standard deviation of every graph; kept for the next question.

        Args:
            posterior: The posterior, a function of feature rows.
            features: What these rows are; by default the blocks of the paper.
        """
        for known, mean, std in self._scored:
            if known is posterior:
                return mean, std
        features = features or self.features
        mean, std = np.empty(len(self)), np.empty(len(self))
        for n, part in self._arrays.parts.items():
            score = self._make_scorer(posterior, features, n)
            for rows in cut(part) if features.codes else [part]:
                mean[rows], std[rows] = score(rows)
        self._scored.append((posterior, mean, std))
        return mean, std

    def _make_scorer(
        self, posterior: Posterior, features: FeatureMap, n: tuple[int, ...]
    ) -> Callable[[Rows], tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Gives mean and standard deviation of some graphs, all of n nodes (in each cell)."""
        on_counts = posterior.fold_to_counts(features, n)
        narrow = NarrowPosterior.of(on_counts, features)

        def score(rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            paper = self._arrays.counts[rows]
            others = {name: self._blocks.find(name)[rows] for name in features.codes}
            if narrow is None:
                return on_counts.mean_std(features.encode(paper, others))
            ones = {name: self._blocks.find_ones(name)[rows] for name in features.codes}
            return narrow.mean_std(features, paper, others, ones)

        return score

    def measure(
        self, part: Acquisition | KnownCost
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of an acquisition's posterior, or a known cost, at every graph."""
        if not isinstance(part, KnownCost):
            return self.score(part.posterior, part.features)
        for known, cost in self._costs:
            if known == part.total:
                return cost, np.zeros(len(self))
        pieces = (self._load_batch(rows) for rows in cut(slice(0, len(self))))
        cost = np.concatenate([part.measure(piece) for piece in pieces])
        self._costs.append((part.total, cost))
        return cost, np.zeros(len(self))

    def _load_batch(self, rows: slice) -> GraphBatch:
        """Some graphs of the catalogue."""
        arrays = self._arrays
        found = np.zeros((min(rows.stop, len(self)) - rows.start, 1), dtype=np.int8)
        for size, part in arrays.parts.items():
            found = np.broadcast_to(found, (len(found), len(size))).copy()
            found[max(part.start - rows.start, 0) : max(part.stop - rows.start, 0)] = size
        return self.space.unpack(arrays.adjacency[rows], np.array(arrays.codes[rows]), found)

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        """The k best graphs that are not excluded, with certificate ``optimal``."""
        if not self.complete:
            return search_locally(self.space, acquisition, k, exclude, min(self.time_limit, 10.0))
        best = KBest(self.space, acquisition, k, exclude)
        start = time.perf_counter()
        before = acquisition.forget_believed()
        if isinstance(acquisition, SeveralAcquisition) and self._needs_boxes(acquisition):
            values = self._score_by_boxes(acquisition, k + len(exclude))
        elif before is None:
            values = acquisition.gather(self.measure)
        else:
            values = self._score_upwards(acquisition, before, k + len(exclude))
        best.take_first(
            Scored(self.graph(i), float(values[i]))
            for i in order_ascending(values, k + len(exclude))
            if values[i] < np.inf
        )
        seconds = time.perf_counter() - start
        return best.pool(
            lambda value: Certificate(Status.OPTIMAL, value, value, seconds),
            Certificate(Status.EXHAUSTED, seconds=seconds),
        )

    def _needs_boxes(self, function: SeveralAcquisition) -> bool:
        """Whether bounds of a function's values save more than they take, and fit in memory."""
        bounded = all(type(part) is LowerConfidenceBound for part in function.modelled)
        if not bounded or function.explain_unbounded("linear") or len(self) > _FEW:
            return False
        return function.slow or any(
            part.forget_believed() is not None for part in function.modelled
        )

    def _score_by_boxes(self, function: SeveralAcquisition, at_least: int) -> Array:
        """The values of the best graphs, at least this many; those of others may be infinite.

        Means and deviations are those before any graph of a batch was believed, which bound the
        function (docs/acquisition-functions.md, Lemma 7); a batch shares them.
        """
        parts = [
            p if isinstance(p, KnownCost) else p.forget_believed() or p for p in function.parts
        ]
        measured = [self.measure(part) for part in parts]
        means = [mean for mean, _ in measured]
        if [id(mean) for mean in means] != [id(mean) for mean in self._boxed]:
            self._boxes = Boxes.of(np.stack(means), np.stack([std for _, std in measured]))
            self._boxed = means
        values, found = np.full(len(self), inf), np.zeros(0)

        def reach() -> float:
            if len(found) < at_least:
                return inf
            value = float(np.partition(found, at_least - 1)[at_least - 1])
            return value + AGREEMENT * (1 + abs(value))

        for _, places in self._boxes.walk(function, reach):
            rows = np.sort(places)
            mean, std = zip(
                *(self._measure_some(part, rows) for part in function.parts), strict=True
            )
            values[rows] = function.combine(np.stack(mean), np.stack(std))
            found = np.append(found, values[rows])
        return values

    def _measure_some(self, part: Part, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Mean and deviation of a part at some graphs, in ascending order."""
        if isinstance(part, KnownCost) or any(
            known is part.posterior for known, *_ in self._scored
        ):
            mean, std = self.measure(part)
            return mean[rows], std[rows]
        mean, std = np.empty(len(rows)), np.empty(len(rows))
        for n, whole in self._arrays.parts.items():
            own = (rows >= whole.start) & (rows < whole.stop)
            if own.any():
                mean[own], std[own] = self._make_scorer(part.posterior, part.features, n)(rows[own])
        return mean, std

    def _score_upwards(
        self, acquisition: Acquisition, before: Acquisition, at_least: int
    ) -> NDArray[np.float64]:
        """The values of the best graphs, at least this many; those of others may be infinite.

        Graphs are scored in the order of a function that is nowhere above the acquisition, until
        the next is above what was found. Within a batch that function has been scored already.
        """
        lower = before.gather(self.measure)
        order = np.argsort(lower, kind="stable")
        asked = acquisition.posterior, acquisition.features
        scorers = {n: self._make_scorer(*asked, n) for n in self._arrays.parts}
        values, at_least = np.full(len(self), inf), min(at_least, len(self))
        start, size = 0, _FIRST_SCORED
        while start < len(self):
            for n, part in self._arrays.parts.items():
                rows = np.sort(order[start : start + size])
                rows = rows[(rows >= part.start) & (rows < part.stop)]
                values[rows] = acquisition.combine(*scorers[n](rows))
            start, size = start + size, min(2 * size, _MOST_SCORED)
            reached = np.partition(values, at_least - 1)[at_least - 1]
            if start < len(self) and lower[order[start]] > reached + AGREEMENT * (1 + abs(reached)):
                break
        return values
