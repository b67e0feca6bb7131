"""Scaling of the errors that the Gaussian process learns, and back.

Three scales z of errors y:
    log    z = (log y - mean) / sd, the paper's target
    plain  z = (y - mean) / sd
    rank   z = Φ⁻¹((rank(y) - 1/2) / m), the normal score of y among the m errors: a few very bad
           graphs no longer stretch the scale on which the good ones must be told apart
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from nasgoat.errors import ObservationError, UnknownNameError
from nasgoat.graphs import LabeledGraph

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
        if kind == "log" and errors.min() <= 0:
            logger.warning("errors must be positive to learn their logarithm, got %g", errors.min())
            kind = "plain"
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
