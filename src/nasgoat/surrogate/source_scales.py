"""Sources of observations, and the scale of each.

Each source is scaled by itself, unless its graphs are a selection of another's. Graphs that were
trained for long because a short training looked promising are all good ones: their own ranks would
spread them over the whole scale. So where at least half of a source's observations are of graphs
that the largest source has seen too, its scale has the quantiles that the largest source gives to
those graphs: the best of the selection is as good as the best of the selection looked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.target import TargetScale, check_errors

Array = NDArray[np.float64]
SHARED = 0.5  # share of a source's observations from which on it is a selection of another's


@dataclass(frozen=True, eq=False)
class Source:
    """Observations of one kind: graphs and their errors.

    Args:
        name: For people: ``"epochs 12"``, ``"cifar100"``.
        graphs: The graphs; one may come several times.
        errors: An error for each.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(3, np.random.default_rng(0))
        >>> Source("twelve epochs", cells, [12.0, 30.5, 14.0])
        <Source 'twelve epochs': 3 observations>
    """

    name: str
    graphs: Sequence[LabeledGraph]
    errors: Sequence[float]

    def __post_init__(self) -> None:
        check_errors(self.graphs, self.errors)

    @property
    def digest(self) -> str:
        """A short text that changes when an observation does."""
        seen = [(g.to_json(), float(e)) for g, e in zip(self.graphs, self.errors, strict=True)]
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"<Source {self.name!r}: {len(self.graphs)} observations>"


@dataclass(frozen=True)
class SourceWorth:
    """What a source is worth to the target.

    Args:
        name: The source.
        observations: Distinct graphs that it has seen.
        correlation: With the target, from 0 to 1.
        contribution: How much better the target's observations are predicted, each from all others,
            than without this source: mean logarithm of the density, in nats. None for the target.
    """

    name: str
    observations: int
    correlation: float
    contribution: float | None = None


def scale_sources(
    sources: Sequence[Source], space: SearchSpace, kind: str, standardize: bool = True
) -> list[TargetScale]:
    """The scale of each source; see the top of this file.

    Args:
        sources: The sources.
        space: The space of their graphs.
        kind: What is learnt of errors: ``"rank"``, ``"log"`` or ``"plain"``.
        standardize: Bring logarithms or plain errors to mean 0 and standard deviation 1.
    """
    values = [np.asarray(source.errors, dtype=float) for source in sources]
    scales = [TargetScale.of(errors, kind, standardize) for errors in values]
    keys = [[space.key(graph) for graph in source.graphs] for source in sources]
    largest = max(range(len(keys)), key=lambda i: len(set(keys[i])))
    seen: dict[bytes, list[float]] = {}
    for key, z in zip(keys[largest], scales[largest].to_target(values[largest]), strict=True):
        seen.setdefault(key, []).append(float(z))
    for i, own in enumerate(keys):
        shared = np.array([np.mean(seen[key]) for key in own if key in seen])
        if i != largest and len(shared) >= SHARED * len(own):
            scales[i] = match_scale(scales[i], values[i], shared)
    return scales


def match_scale(scale: TargetScale, errors: Array, shared: Array) -> TargetScale:
    """A scale for errors of a selection, whose graphs are known on another scale.

    Args:
        scale: What the errors would be scaled by alone.
        errors: The errors of the selection.
        shared: What another source says, on its scale, of the graphs of the selection.

    Example:
        >>> errors = np.array([5.0, 7.0, 6.0])
        >>> alone = TargetScale.of(errors, "rank")
        >>> matched = match_scale(alone, errors, np.array([-2.0, -1.0, -1.8]))
        >>> matched.to_target(errors).tolist()
        [-2.0, -1.0, -1.8]
    """
    if scale.knots is not None:
        knots, first = np.unique(errors, return_index=True)
        quantiles = (rankdata(errors) - 0.5) / len(errors)
        scores = np.quantile(shared, quantiles[first], method="hazen")
        return replace(scale, knots=knots, scores=scores)
    z = scale.to_target(errors)
    sd, own = float(shared.std()), float(z.std())
    if len(errors) < 2 or sd <= 0 or own <= 0:
        sd = own = 1.0
    # z' = (z - mean z) sd / own + mean shared, with z = (v - scale.mean) / scale.sd
    stretch = own / sd
    centre = float(z.mean()) - stretch * float(shared.mean())
    return replace(scale, mean=scale.mean + scale.sd * centre, sd=scale.sd * stretch)
