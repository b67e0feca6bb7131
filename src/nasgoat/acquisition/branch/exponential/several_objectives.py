"""Functions of several objectives under the exponential kernel, over all labellings at once.

Each objective alone leaves many graphs, and sums of them are no posterior. Where there are few
labellings, every one gets the means of all objectives and bounds on their deviations, and with them
a bound on the function (Lemma 7 of docs/acquisition-functions.md); those that may be better are
scored. A batch shares the first step: graphs that are believed to come out as predicted change no
mean, and make no deviation larger.

In the first step each posterior goes through all labellings by itself, in the same order, compiled.
A mean takes as many steps as there are observations; what the first few of them explain of the
variance is a lower bound on what all do (Lemma 5 of docs/branch-and-bound.md), and takes next to
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.bounding_boxes import Boxes, Places
from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.exponential.enumeration import (
    Enumeration,
    begin_enumeration,
    explain_variance,
    go_to_labelling,
    predict_row,
)
from nasgoat.acquisition.branch.exponential.model import (
    Model,
    make_factors,
    make_model,
)
from nasgoat.acquisition.branch.records import (
    DEPTH,
    DONE,
    FOUND,
    NODES,
    SHAPE,
    Floats,
    Integers,
)
from nasgoat.acquisition.costs import FEW_TOGETHER
from nasgoat.acquisition.k_best import AGREEMENT, KBest
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.acquisition.part_sums import is_over
from nasgoat.acquisition.several_objectives import KnownCost, Part, SeveralAcquisition
from nasgoat.compiled import Threads, compiled
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.spaces.limits import Limit
from nasgoat.surrogate.posterior import ExponentialPosterior, NormalisedPosterior, Posterior

_PAUSE = 50_000  # nodes between two looks at the clock, some 20 ms
_EXPLAINING = 24  # observations that bound a deviation: a few graphs in 100,000 are left by them
_ROUNDING = 1e-12  # of the prior variance: more than rounding changes in a variance
_PACKED = 16_384  # graphs that are turned into arrays together
_BYTES = 100  # that a labelling takes, about


class Noted(NamedTuple):
    """Labellings, and what a posterior says of them."""

    shape: NDArray[np.int32]  # (labellings,) the structure
    labels: NDArray[np.int8]  # (labellings, V) those beyond a structure's variables mean nothing
    mean: Floats  # (labellings,)
    std: Floats  # (labellings,) an upper bound on the deviation

    def take_first(self, count: int) -> Noted:
        """The first ``count`` of them, as arrays of their own."""
        return Noted(
            shape=self.shape[:count].copy(),
            labels=self.labels[:count].copy(),
            mean=self.mean[:count].copy(),
            std=self.std[:count].copy(),
        )


@compiled
def note_labellings(
    walk: Enumeration, model: Model, explaining: int, pause: int, noted: Noted
) -> tuple[int, int]:
    """Note labellings until nodes are used up, or all is done; how it ended, and how many.

    There is at most one in a node, so that ``noted`` has room for as many as ``pause``.
    """
    state, place, total = walk.state, walk.state.place, 0
    stop = place[NODES] + pause
    while True:
        status = go_to_labelling(walk, np.inf, stop)
        if status != FOUND:
            return status, total
        t = place[DEPTH] + 1
        mean, prior, fade = predict_row(model, state, t)
        left = prior
        for j in range(explaining):
            left -= explain_variance(model, state, t, j, fade)
        noted.shape[total] = place[SHAPE]
        for i in range(len(state.labels)):
            noted.labels[total, i] = state.labels[i]
        noted.mean[total] = mean
        noted.std[total] = np.sqrt(max(left, 0.0) + _ROUNDING * prior)
        total += 1


def note_block(
    block: CellBlock,
    features: FeatureMap,
    posterior: ExponentialPosterior | NormalisedPosterior,
    threads: Threads,
    deadline: float | None,
) -> Noted | None:
    """Every labelling of a block within its limits, in the same order whatever the posterior.

    Returns:
        None if the deadline passed before.
    """
    factors, model = make_factors(features, posterior), make_model(posterior, 0.0)
    limits, total = make_limit_rows(block), len(block.shapes.home)
    roots, explaining = np.full(total, -np.inf), min(_EXPLAINING, len(model.dual))

    def note_share(order: Integers) -> list[Noted]:
        walk = begin_enumeration(block, factors, limits, order, roots)
        found, status = list[Noted](), -1
        while status != DONE and not is_over(deadline):
            noted = _make_room(_PAUSE, len(walk.state.labels))
            status, count = note_labellings(walk, model, explaining, _PAUSE, noted)
            found.append(noted.take_first(count))
        return found if status == DONE else []

    shares = [np.arange(total)[j :: threads.total].copy() for j in range(threads.total)]
    found = threads.map(note_share, shares)
    if not all(found):
        return None
    every = [noted for share in found for noted in share]
    return Noted(
        shape=np.concatenate([noted.shape for noted in every]),
        labels=np.concatenate([noted.labels for noted in every]),
        mean=np.concatenate([noted.mean for noted in every]),
        std=np.concatenate([noted.std for noted in every]),
    )


def _make_room(most: int, variables: int) -> Noted:
    return Noted(
        shape=np.empty(most, dtype=np.int32),
        labels=np.empty((most, variables), dtype=np.int8),
        mean=np.empty(most),
        std=np.empty(most),
    )


@dataclass(frozen=True, eq=False)
class Labellings:
    """Labellings of a block's structures by their places, as graphs and as arrays.

    Args:
        block: The structures.
        noted: Which structure and labels each place has.
    """

    block: CellBlock
    noted: Noted

    def make_graph(self, place: int) -> LabeledGraph:
        """The graph at a place."""
        labels = self.noted.labels[place].astype(np.int64)
        return self.block.make_graph(int(self.noted.shape[place]), labels)

    def measure(self, parts: Sequence[Part], places: Places) -> tuple[Floats, Floats]:
        """Mean and deviation of each part at some places, both of shape (parts, places)."""
        mean, std = np.zeros((len(parts), len(places))), np.zeros((len(parts), len(places)))
        for at, batch in self._pack(places):
            for i, part in enumerate(parts):
                if isinstance(part, KnownCost):
                    mean[i, at] = part.measure(batch)
                else:
                    mean[i, at], std[i, at] = part.posterior.mean_std(part.features.rows(batch))
        return mean, std

    def measure_cost(self, cost: KnownCost) -> Floats:
        """A known cost at every place."""
        every = np.arange(len(self.noted.shape))
        pieces = [every[start : start + _PACKED] for start in range(0, len(every), _PACKED)]
        return np.concatenate([self.measure([cost], piece)[0][0] for piece in pieces])

    def _pack(self, places: Places) -> Iterator[tuple[Places, GraphBatch]]:
        """Graphs as arrays, one batch for each size, and where each stands among the places."""
        shapes, chosen = self.block.shapes, self.noted.shape[places]
        ranked = np.lexsort((chosen, shapes.nodes[chosen]))
        for at in np.split(ranked, np.flatnonzero(np.diff(shapes.nodes[chosen][ranked])) + 1):
            if len(at) == 0:
                continue
            n, blocks = int(shapes.nodes[chosen[at[0]]]), []
            for own in np.split(at, np.flatnonzero(np.diff(chosen[at])) + 1):
                s = chosen[own[0]]
                labels = self.noted.labels[places[own], : shapes.variables[s]]
                blocks.append((self.block.adjacency[s, :n, :n], labels.astype(np.int64)))
            yield at, self.block.space.sites.pack(n, blocks)


@dataclass(frozen=True, eq=False)
class _Known:
    """The mean, and an upper bound on the deviation, of one part at every labelling.

    Args:
        source: The posterior, or the terms of the cost.
        mean: Means, or costs, shape (labellings,).
        std: Upper bounds on deviations, shape (labellings,).
    """

    source: Posterior | Limit
    mean: Floats
    std: Floats


@dataclass(eq=False)
class JointSearch:
    """What is known of all labellings of a block, kept from one question to the next.

    Args:
        block: The structures.
    """

    block: CellBlock
    _labellings: Labellings | None = None
    _known: tuple[_Known, ...] = ()
    _boxes: Boxes | None = None

    @classmethod
    def of(cls, blocks: Sequence[CellBlock], memory: float) -> JointSearch | None:
        """The search of a space's blocks; None if they have too many labellings.

        Args:
            blocks: All blocks of the space.
            memory: Bytes that it may take.
        """
        if len(blocks) != 1 or blocks[0].prefix_states is not None:
            return None
        total = float((float(blocks[0].labels) ** blocks[0].shapes.variables).sum())
        return cls(blocks[0]) if total <= min(FEW_TOGETHER, memory / _BYTES) else None

    def minimize(
        self, function: SeveralAcquisition, best: KBest, threads: Threads, deadline: float | None
    ) -> float | None:
        """Fill ``best`` with the best graphs under a function of several parts.

        Returns:
            A lower bound of all graphs that were not looked at; None if none could be better.
        """
        if not self._learn(function.parts, threads, deadline) or self._labellings is None:
            return -np.inf
        if self._boxes is None:
            return None  # there is no graph within the limits

        def reach() -> float:
            return best.cutoff + AGREEMENT * (1.0 + abs(best.cutoff))

        for bound, places in self._boxes.walk(function, reach):
            if is_over(deadline):
                return bound
            values = function.combine(*self._labellings.measure(function.parts, places))
            _keep_best(best, self._labellings, places, values)
        return None

    def _learn(self, parts: Sequence[Part], threads: Threads, deadline: float | None) -> bool:
        """Measure the parts that are not known yet; False if the time is up."""
        sources = [_find_source(part) for part in parts]
        if self._known and [known.source for known in self._known] == sources:
            return True
        found = {
            i: known for i, s in enumerate(sources) for known in self._known if known.source == s
        }
        costs_last = sorted(range(len(parts)), key=lambda i: isinstance(parts[i], KnownCost))
        for i in costs_last:
            known = found.get(i) or self._measure(parts[i], threads, deadline)
            if known is None:
                return False
            found[i] = known
        self._known = tuple(found[i] for i in range(len(parts)))
        mean, std = np.stack([k.mean for k in self._known]), np.stack([k.std for k in self._known])
        self._boxes = Boxes.of(mean, std) if mean.shape[1] else None
        return True

    def _measure(self, part: Part, threads: Threads, deadline: float | None) -> _Known | None:
        """A part at every labelling; None if the time is up."""
        source = _find_source(part)
        if isinstance(part, KnownCost) and self._labellings is not None:
            cost = self._labellings.measure_cost(part)
            return _Known(source, cost, np.zeros(len(cost)))
        posterior = cast(ExponentialPosterior | NormalisedPosterior, source)
        features = cast(LinearAcquisition, part).features
        noted = note_block(self.block, features, posterior, threads, deadline)
        if noted is None:
            return None
        if self._labellings is None:
            self._labellings = Labellings(self.block, noted)
        return _Known(source, noted.mean, noted.std)


def _keep_best(best: KBest, labellings: Labellings, places: Places, values: Floats) -> None:
    """Keep the best of some labellings; only those that may be kept become graphs, k at a time."""
    ranked = np.argsort(values, kind="stable")
    for start in range(0, len(ranked), best.k):
        chosen = ranked[start : start + best.k]
        chosen = chosen[values[chosen] < best.cutoff]
        if len(chosen) == 0:
            break
        graphs = [labellings.make_graph(place) for place in places[chosen].tolist()]
        best.add([g for g in graphs if not best.space.all_limits or g in best.space])


def _find_source(part: Part) -> Posterior | Limit:
    """What a part's means and bounds on deviations depend on, graphs that are believed aside."""
    if isinstance(part, KnownCost):
        return part.total
    return (part.forget_believed() or part).posterior


def is_joint(function: SeveralAcquisition) -> bool:
    """Whether all objectives with a model have a kernel whose labellings can be listed here."""
    return all(
        isinstance(part.posterior, ExponentialPosterior | NormalisedPosterior)
        and not part.features.codes
        for part in function.modelled
    )
