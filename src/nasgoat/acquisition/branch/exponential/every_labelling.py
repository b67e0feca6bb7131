"""Mean and a bound on the deviation of every labelling of every structure, compiled.

Several objectives need what each of them says about the same graphs, so that graphs are left out by
all of them at once. Each posterior goes through all labellings by itself, in the same order. A mean
takes as many steps as there are observations; what the first few of them explain of the variance is
a lower bound on what all do (Lemma 5), and takes next to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.boxes import Places
from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.records import LimitRows, Shapes
from nasgoat.acquisition.branch.cells.structures import Block
from nasgoat.acquisition.branch.exponential.enumeration import (
    Labelling,
    explain_variance,
    go_to_labelling,
    new_labelling,
    predict_row,
)
from nasgoat.acquisition.branch.exponential.model import (
    Factors,
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
from nasgoat.acquisition.engines import is_over
from nasgoat.acquisition.several import KnownCost, Part
from nasgoat.compiled import Threads, compiled
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import ExponentialPosterior, NormalisedPosterior

_PAUSE = 50_000  # nodes between two looks at the clock, some 20 ms
_EXPLAINING = 24  # observations that bound a deviation: a few graphs in 100,000 are left by them
_ROUNDING = 1e-12  # of the prior variance: more than rounding changes in a variance
_PACKED = 16_384  # graphs that are turned into arrays together


class Noted(NamedTuple):
    """Labellings, and what a posterior says of them."""

    shape: NDArray[np.int32]  # (labellings,) the structure
    labels: NDArray[np.int8]  # (labellings, V) those beyond a structure's variables mean nothing
    mean: Floats  # (labellings,)
    std: Floats  # (labellings,) an upper bound on the deviation

    def take_first(self, count: int) -> Noted:
        """The first so many, as arrays of their own."""
        return Noted(
            shape=self.shape[:count].copy(),
            labels=self.labels[:count].copy(),
            mean=self.mean[:count].copy(),
            std=self.std[:count].copy(),
        )


@compiled
def note_labellings(
    factors: Factors,
    model: Model,
    shapes: Shapes,
    limits: LimitRows,
    state: Labelling,
    labels: int,
    order: Integers,
    roots: Floats,
    explaining: int,
    pause: int,
    noted: Noted,
) -> tuple[int, int]:
    """Note labellings until nodes are used up, or all is done; how it ended, and how many.

    There is at most one in a node, so that ``noted`` has room for as many as ``pause``.
    """
    place, stop, total = state.place, state.place[NODES] + pause, 0
    while True:
        status = go_to_labelling(factors, shapes, limits, state, labels, order, roots, np.inf, stop)
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
    block: Block,
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
        state = new_labelling(block.shapes, block.labels, factors, limits)
        found, status = list[Noted](), -1
        while status != DONE and not is_over(deadline):
            noted = _make_room(_PAUSE, len(state.labels))
            status, count = note_labellings(
                factors, model, block.shapes, limits, state, block.labels, order, roots,
                explaining, _PAUSE, noted,
            )  # fmt: skip
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

    block: Block
    noted: Noted

    def graph(self, place: int) -> LabeledGraph:
        """The graph at a place."""
        labels = self.noted.labels[place].astype(np.int64)
        return self.block.graph(int(self.noted.shape[place]), labels)

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
