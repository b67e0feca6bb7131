"""Scaling of the errors that the Gaussian process learns, and back."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

logger = logging.getLogger(__name__)
_SMALLEST_SD = 1e-12  # below this the targets are constant: dividing would only amplify rounding


@dataclass(frozen=True)
class TargetScale:
    """z = (f(y) - mean) / sd with f the logarithm or the identity.

    Example:
        >>> scale = TargetScale.of(np.array([1.0, np.e, np.e**2]), log=True, standardize=True)
        >>> scale.to_target(np.array([1.0, np.e, np.e**2])).round(3).tolist()
        [-1.225, 0.0, 1.225]
        >>> scale.to_error(np.array([0.0])).round(3).tolist()
        [2.718]
    """

    log: bool
    mean: float
    sd: float

    @classmethod
    def of(cls, errors: NDArray[np.float64], log: bool, standardize: bool) -> TargetScale:
        """The scale that these errors call for; no logarithm if one of them is not positive."""
        if log and errors.min() <= 0:
            logger.warning(
                "errors must be positive to learn their logarithm, got %g; learning them plain",
                errors.min(),
            )
            log = False
        values = np.log(errors) if log else errors
        if not standardize:
            return cls(log, 0.0, 1.0)
        sd = float(values.std())
        return cls(log, float(values.mean()), sd if sd > _SMALLEST_SD else 1.0)

    def to_target(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scaled targets of errors."""
        values = np.log(errors) if self.log else errors
        return (values - self.mean) / self.sd

    def to_error(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Errors of scaled targets."""
        values = targets * self.sd + self.mean
        return np.exp(values) if self.log else values
