"""Scaling of the errors that the Gaussian process learns, and back; sources, and the scale of each.

Three scales z of errors y:
    log    z = (log y - mean) / sd, the paper's target
    plain  z = (y - mean) / sd
    rank   z = Φ⁻¹((rank(y) - 1/2) / m), the normal score of y among the m errors: a few very bad
           graphs no longer stretch the scale on which the good ones must be told apart

Each source of observations is scaled by itself, unless its graphs are a selection of another's.
Graphs that were trained for long because a short training looked promising are all good ones: their
own ranks would spread them over the whole scale. So where at least half of a source's observations
are of graphs that the largest source has seen too, its scale has the quantiles that the largest
source gives to those graphs: the best of the selection is as good as the best of the selection
looked.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from nasgoat.errors import ObservationError, UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

logger = logging.getLogger(__name__)

TARGETS = ("rank", "log", "plain")
_SMALLEST_SD = 1e-12  # below this the targets are constant: dividing would only amplify rounding


@dataclass(frozen=True, eq=False)
class TargetScale:
    """A monotone map from errors to what the Gaussian process learns.

    Example:
        >>> scale = TargetScale.of(np.array([1.0, np.e, np.e**2]), "log")
        >>> scale.to_target(np.array([1.0, np.e, np.e**2])).round(3).tolist()
        [-1.225, 0.0, 1.225]
        >>> scale.to_error(np.array([0.0])).round(3).tolist()
        [2.718]
        >>> ranks = TargetScale.of(np.array([5.0, 7.0, 90.0]), "rank")
        >>> ranks.to_target(np.array([5.0, 7.0, 90.0])).round(3).tolist()
        [-0.967, 0.0, 0.967]
    """

    kind: str
    mean: float = 0.0
    sd: float = 1.0
    knots: NDArray[np.float64] | None = None  # distinct errors and their scores, for ranks
    scores: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls, errors: NDArray[np.float64], kind: str = "rank", standardize: bool = True
    ) -> TargetScale:
        """The scale that these errors call for; no logarithm if one of them is not positive."""
        if kind not in TARGETS:
            raise UnknownNameError("target", kind, TARGETS)
        if kind == "rank":
            knots, first = np.unique(errors, return_index=True)
            scores = norm.ppf((rankdata(errors) - 0.5) / len(errors))
            return cls(kind, knots=knots, scores=scores[first])
        if (possible := find_possible_target(kind, errors)) != kind:
            logger.warning("%s", describe_not_positive(errors))
            kind = possible
        values = np.log(errors) if kind == "log" else errors
        if not standardize:
            return cls(kind)
        sd = float(values.std())
        return cls(kind, float(values.mean()), sd if sd > _SMALLEST_SD else 1.0)

    def to_target(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scaled targets of errors; between observed errors ranks are interpolated."""
        if self.knots is not None and self.scores is not None:
            return np.interp(errors, self.knots, self.scores)
        values = np.log(errors) if self.kind == "log" else errors
        scaled: NDArray[np.float64] = (values - self.mean) / self.sd
        return scaled

    def to_error(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Errors of scaled targets; ranks outside the observed ones give the outermost error."""
        if self.knots is not None and self.scores is not None:
            return np.interp(targets, self.scores, self.knots)
        values = targets * self.sd + self.mean
        return np.exp(values) if self.kind == "log" else values


def find_possible_target(kind: str, errors: Sequence[float] | NDArray[np.float64]) -> str:
    """What can be learnt of these errors: no logarithms if one of them is not positive.

    Example:
        >>> find_possible_target("log", [5.0, 7.0]), find_possible_target("log", [5.0, -7.0])
        ('log', 'plain')
    """
    return "plain" if kind == "log" and min(errors, default=1.0) <= 0 else kind


def describe_not_positive(errors: Sequence[float] | NDArray[np.float64]) -> str:
    """Why logarithms of these errors are not learnt, and what is learnt instead.

    Example:
        >>> print(describe_not_positive([5.0, -7.0]))
        errors must be positive to learn their logarithm, got -7; they are learnt as they are
    """
    return (
        f"errors must be positive to learn their logarithm, got {min(errors):g}; they are "
        "learnt as they are"
    )


def check_errors(graphs: Sequence[LabeledGraph], errors: Sequence[float]) -> NDArray[np.float64]:
    """Errors as an array, one for each graph, all of them finite."""
    if len(graphs) != len(errors) or len(graphs) == 0:
        raise ObservationError(
            f"observations must be one error per graph and at least one, "
            f"got {len(graphs)} graphs and {len(errors)} errors"
        )
    values = np.asarray(errors, dtype=float)
    if not np.isfinite(values).all():
        raise ObservationError(f"errors must be finite, got {values[~np.isfinite(values)][0]}")
    return values


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
