"""Observation noise as a kernel that is there on the training data alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel


class ObservationNoise(Kernel):
    """Adds noise · share_i to the variance of observation i and nothing anywhere else.

    scikit-learn's ``WhiteKernel`` knows one noise for all and enters the predicted variance; this
    one weighs each observation and leaves predictions latent.

    Args:
        noise: Noise variance of a single observation.
        bounds: Its bounds, or ``"fixed"``.
        share: For each observation 1 / (number of times it was made).
    """

    def __init__(
        self, noise: float, bounds: tuple[float, float] | str, share: NDArray[np.float64]
    ) -> None:
        self.noise = noise
        self.bounds_ = bounds
        self.share = share

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, as scikit-learn asks for them."""
        return {"noise": self.noise, "bounds": self.bounds_, "share": self.share}

    def set_params(self, **params: Any) -> ObservationNoise:
        """Set some of the constructor's arguments."""
        for name, value in params.items():
            setattr(self, "bounds_" if name == "bounds" else name, value)
        return self

    @property
    def hyperparameter_noise(self) -> Hyperparameter:
        """The noise variance."""
        return Hyperparameter("noise", "numeric", self.bounds_)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The diagonal noise matrix on the training data; zeros between two sets of rows."""
        if Y is not None:
            return np.zeros((len(X), len(Y)))
        K = np.diag(self.noise * self.share)
        if not eval_gradient:
            return K
        free = not self.hyperparameter_noise.fixed
        return K, K[:, :, None] if free else np.empty((*K.shape, 0))

    def diag(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Zero: predictions are of the latent function."""
        return np.zeros(len(X))

    def is_stationary(self) -> bool:
        """Whether the kernel depends on differences of rows alone: no."""
        return False
