"""The exponential kernel by the linear search: graphs that a minorant leaves are scored (Lemma 12).

The space is cut into shells by the distance q of a graph from a centre. In each shell a function
that the linear search can bound lies below the acquisition; what that search finds below the
cut-off is scored, and all else is proven not to be better. Where a minorant leaves too many graphs,
the labellings are looked at one by one instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.tables import make_tables
from nasgoat.acquisition.branch.exponential.minorants import Expansion, Minorant, Shell
from nasgoat.acquisition.branch.exponential.model import ExponentialProblem, bound_squares
from nasgoat.acquisition.branch.records import Floats, Found, Integers, Run
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.compiled import Threads
from nasgoat.graphs import GraphBatch
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import ExponentialPosterior, NormalisedPosterior

_DRAWN, _IMPROVED, _ROUNDS = 2_000, 24, 6  # graphs drawn at first; of them, improved; how often
_SHELLS = 6  # at most
_FINE = 0.1  # of the distance from usual values to the cut-off: what a chord may cost
_RETRIES = (2_000, 20_000)  # nodes after which a better cut-off makes new minorants
_BETTER = 0.01  # of the cut-off: what they have to be better by
_WAITING = 1_024  # graphs that are scored together at most
_PAUSE = 2_000  # nodes between two looks at the clock
_SCORED = 3  # nodes in the time of scoring a graph
_END = object()


@dataclass
class Seen:
    """Some graphs that were scored.

    Args:
        rows, values: Of the best ones, the lowest first.
        usual: The mean of random rows.
        middle: The median of random values.
    """

    rows: Floats
    values: Floats
    usual: Floats
    middle: float

    def add(self, rows: Floats, values: Floats, most: int = 4_096) -> None:
        """Remember more of them, the lowest in any case."""
        rows = np.concatenate([self.rows, rows])
        values = np.concatenate([self.values, values])
        order = np.argsort(values, kind="stable")[:most]
        self.rows, self.values = rows[order], values[order]


@dataclass(frozen=True)
class Scorer:
    """The acquisition at labellings of a block's structures.

    Args:
        problem: The structures.
        acquisition: What is minimised.
    """

    problem: ExponentialProblem
    acquisition: LinearAcquisition

    @property
    def features(self) -> FeatureMap:
        """What rows consist of."""
        return self.acquisition.features

    def score(self, shapes: Integers, labels: Integers) -> tuple[Floats, Floats]:
        """Rows and values of structures with labels on their variables."""
        rows = self.features.rows(self._pack(shapes, labels))
        mean, std = self.acquisition.posterior.mean_std(rows)
        return rows, mean - self.acquisition.sqrt_beta * std

    def _pack(self, shapes: Integers, labels: Integers) -> GraphBatch:
        block = self.problem.block
        space, known = block.space, block.shapes
        adjacency, sizes = block.adjacency[shapes], known.nodes[shapes]
        words = tuple(space.node_vocabulary)
        codes = np.full(adjacency.shape[:2], -1, dtype=np.int8)
        codes[:, 0] = 0
        for i in range(adjacency.shape[1] - 2):
            inner = i < sizes - 2
            codes[inner, i + 1] = labels[inner, i] + 1
        codes[np.arange(len(shapes)), sizes - 1] = len(words) - 1
        return GraphBatch(adjacency, sizes.astype(np.int8), codes, node_vocabulary=words)

    def draw(self, rng: np.random.Generator) -> tuple[Integers, Integers, Floats, Floats]:
        """Random structures and labels, the best of them improved label by label."""
        block = self.problem.block
        variables = max(int(block.shapes.variables.max()), 1)
        shapes = rng.integers(len(block.shapes.home), size=_DRAWN)
        labels = rng.integers(block.labels, size=(_DRAWN, variables))
        rows, values = self.score(shapes, labels)
        order = np.argsort(values, kind="stable")
        shapes, labels, rows, values = shapes[order], labels[order], rows[order], values[order]
        for _ in range(_ROUNDS):
            if not self._improve(shapes[:_IMPROVED], labels[:_IMPROVED], rows, values):
                break
        return shapes, labels, rows, values

    def _improve(self, shapes: Integers, labels: Integers, rows: Floats, values: Floats) -> bool:
        """Give each of some graphs the one other label that is best; False if none is better."""
        total, variables = labels.shape
        count = self.problem.block.labels
        moved = np.repeat(labels, variables * count, axis=0)
        place = np.tile(np.repeat(np.arange(variables), count), total)
        moved[np.arange(len(moved)), place] = np.tile(np.arange(count), total * variables)
        found_rows, found = self.score(np.repeat(shapes, variables * count), moved)
        best = found.reshape(total, -1).argmin(axis=1) + np.arange(total) * variables * count
        better = found[best] < values[:total] - 1e-9
        at = np.flatnonzero(better)
        labels[at], rows[at], values[at] = moved[best[at]], found_rows[best[at]], found[best[at]]
        return bool(better.any())


@dataclass
class _ShellSearch:
    """The search of one shell."""

    run: LinearRun
    done: bool = False


class SiftedRun:
    """All structures of a block under the exponential or the normalised kernel.

    Args:
        problem: The structures.
        acquisition: What is minimised.
        threads: Threads that share the work.
        enumerate_all: Makes the search that looks at labellings one by one.
        most: Nodes after which that is quicker.
    """

    def __init__(
        self,
        problem: ExponentialProblem,
        acquisition: LinearAcquisition,
        threads: Threads,
        enumerate_all: Callable[[], Run],
        most: float,
    ) -> None:
        self.block = problem.block
        self._problem, self._threads, self._most = problem, threads, most
        self._scorer = Scorer(problem, acquisition)
        self._enumerate = enumerate_all
        self._plain: Run | None = None
        self._seen: Seen | None = None
        self._shells: Shells | None = None
        self._steps: Iterator[None] | None = None
        self._parts: list[_ShellSearch] = []
        self._waiting: list[Found] = []
        self._scored = self._before = 0
        self._retries = [0, *_RETRIES]
        self._cut, self._bound = np.inf, float(problem.roots.min(initial=np.inf))

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        plain = self._plain.nodes if self._plain else 0
        return self._before + plain + sum(part.run.nodes for part in self._parts)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        if self._plain is not None:
            return self._plain.go_on(best)
        if self._seen is None:
            return self._draw()
        if best == np.inf or self.nodes + _SCORED * self._scored > self._most:
            self._before, self._parts, self._waiting = self.nodes, [], []
            self._plain = self._enumerate()
            return []
        if self._steps is None and self._is_outdated(best):
            self._steps = self._make_parts(best, self._seen)
        if self._steps is not None:
            if next(self._steps, _END) is _END:
                self._steps = None
            return []
        return self._sift(best, self._seen)

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        if self._plain is not None:
            return max(self._plain.open_bound(), self._bound)
        if not self._parts:
            return self._bound
        left = [part.run.open_bound() for part in self._parts if not part.done]
        left += [value for _, _, value in self._waiting]
        return max(self._lift(min(left, default=np.inf)), self._bound)

    def _find_cutoff(self, best: float) -> float:
        """The cut-off of the minorants below which every graph better than ``best`` lies."""
        least, largest = self._shells.scales if self._shells else (1.0, 1.0)
        return (best - self._cut) / (largest if best < self._cut else least)

    def _lift(self, lowest: float) -> float:
        """The lower bound on the acquisition that follows from one on the minorants."""
        if self._shells is None:
            return -np.inf
        return self._cut + self._shells.scales[1 if lowest < 0 else 0] * lowest

    def _draw(self) -> list[Found]:
        """First graphs, by chance."""
        shapes, labels, rows, values = self._scorer.draw(np.random.default_rng(0))
        self._seen = Seen(rows, values, rows.mean(axis=0), float(np.median(values)))
        self._seen.add(rows[:0], values[:0])
        order = np.argsort(values, kind="stable")
        return [(int(shapes[i]), labels[i].copy(), float(values[i])) for i in order]

    def _is_outdated(self, best: float) -> bool:
        """Whether the minorants were made for a cut-off that is far from today's."""
        if not self._retries or self.nodes - self._before < self._retries[0]:
            return False
        self._retries.pop(0)
        return not self._cut - best < _BETTER * abs(best)

    def _make_parts(self, best: float, seen: Seen) -> Iterator[None]:
        """Minorants of all shells for a cut-off, and bounds of all structures by them, in steps."""
        if self._shells is None:
            self._shells = yield from measure_shells(self._scorer, seen.usual)
        shells, parts = self._shells, []
        for shell in shells.cut(best, seen):
            minorant = shells.expansion.bound(shell, best, shells.scales)
            run = yield from bound_minorant(self._scorer, minorant)
            roots = np.where(shells.widest >= shell.low, run.roots, np.inf)
            run.search_below(roots, self._threads)
            parts.append(_ShellSearch(run))
        self._before, self._waiting, self._cut = self.nodes, [], best
        self._parts = parts
        lowest = min(float(part.run.roots.min(initial=np.inf)) for part in parts)
        self._bound = max(self._bound, self._lift(lowest))

    def _sift(self, best: float, seen: Seen) -> list[Found] | None:
        """Go on in the shell of the lowest bound; score what it finds."""
        open_parts = [part for part in self._parts if not part.done]
        if not open_parts and not self._waiting:
            return None
        if open_parts:
            part = min(open_parts, key=lambda part: part.run.open_bound())
            self._search_part(part, self._find_cutoff(best))
        if len(self._waiting) < self._enough and open_parts:
            return []
        return self._score_waiting(best, seen)

    @property
    def _enough(self) -> int:
        """Graphs that are worth a call of the surrogate: few at first."""
        return min(max(16, self._scored // 8), _WAITING)

    def _search_part(self, part: _ShellSearch, threshold: float) -> None:
        start = part.run.nodes
        while part.run.nodes - start < _PAUSE and len(self._waiting) < self._enough:
            found = part.run.go_on(threshold)
            if found is None:
                part.done = True
                return
            self._waiting += found

    def _score_waiting(self, best: float, seen: Seen) -> list[Found]:
        found, self._waiting = self._waiting, []
        if not found:
            return []
        self._scored += len(found)
        shapes = np.array([shape for shape, _, _ in found])
        labels = np.array([labels for _, labels, _ in found])
        rows, values = self._scorer.score(shapes, labels)
        seen.add(rows, values)
        kept = np.flatnonzero(values < best)
        kept = kept[np.argsort(values[kept], kind="stable")]
        return [(int(shapes[i]), labels[i].copy(), float(values[i])) for i in kept]


def bound_minorant(scorer: Scorer, minorant: Minorant) -> Generator[None, None, LinearRun]:
    """The linear search of a minorant, one thread, with bounds of all its structures; in steps."""
    problem = scorer.problem
    tables = make_tables(scorer.features, minorant, 1.0, largest=problem.block.largest)
    run = LinearRun(problem.block, tables, problem.limits, lambda: -np.inf, scout=False)
    while not run.bounded:
        run.go_on(np.inf)
        yield
    return run


@dataclass(frozen=True)
class Shells:
    """What is known of all graphs of a block before minorants are made.

    Args:
        expansion: The posterior around a centre.
        widest: For each structure an upper bound on q.
        scales: The least and the largest s(x).
    """

    expansion: Expansion
    widest: Floats
    scales: tuple[float, float]

    def cut(self, best: float, seen: Seen) -> list[Shell]:
        """Divide the graphs into shells by q, as many as keep chords of the kernel close to it.

        Each shell has the best known graph in it.
        """
        q = np.sum(self.expansion.shift(seen.rows) ** 2, axis=1)
        near = seen.rows[int(np.argmin(np.abs(seen.values - best)))]
        widest = float(self.widest.max())
        curve = self.expansion.measure_curvature(Shell(0.0, widest, near))
        error = widest**2 * curve / 8  # of a chord over everything
        fine = _FINE * max(seen.middle - best, 0.01 * abs(best), 1e-6)
        total = int(np.clip(np.ceil(np.sqrt(error / fine)), 1, _SHELLS))
        edges = np.linspace(0.0, widest, total + 1)
        shells = []
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            inside = np.flatnonzero((q >= low) & (q <= high) & (seen.values >= best - 1e-9))
            shells.append(Shell(low, high, seen.rows[inside[0]] if len(inside) else near))
        return shells


def measure_shells(scorer: Scorer, usual: Floats) -> Generator[None, None, Shells]:
    """Centre, widths and scales, by the linear search; in steps."""
    posterior = cast(ExponentialPosterior | NormalisedPosterior, scorer.acquisition.posterior)
    centre = usual * np.sqrt(posterior.squares)
    expansion = Expansion(posterior, scorer.acquisition.sqrt_beta, centre)
    square = float(bound_squares(scorer.problem.block, scorer.problem.factors).max())
    crude = float(np.sqrt(square) + np.linalg.norm(centre)) ** 2
    run = yield from bound_minorant(scorer, expansion.measure_size(crude))
    widest = np.clip(-run.roots, 1e-9, crude)
    if expansion.normalised:
        return Shells(expansion, widest, (float(np.exp(-0.5 * widest.max())), 1.0))
    ends = []
    for sign in (1.0, -1.0):
        run = yield from bound_minorant(scorer, expansion.measure_scale(sign))
        known = run.roots[run.roots < np.inf]  # the others have no graph
        ends.append(float(np.exp(sign * known.min(initial=0.0 if not len(known) else np.inf))))
    return Shells(expansion, widest, (ends[0], ends[1]))
