"""The marginal likelihood under any of scikit-learn's kernels.

Their own order of θ and their own gradients are used; everything else is as for the paper's kernels
(:mod:`~nasgoat.surrogate.likelihood`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from nasgoat.kernels import ShortestPathKernel
from nasgoat.surrogate.likelihood import NOISE_START, Array, MarginalLikelihood


def parameter_names(kernel: Kernel) -> list[str]:
    """A name for each entry of θ; those of a vector are numbered.

    Example:
        >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
        >>> parameter_names(ConstantKernel() * RBF([1.0, 2.0]))
        ['k1__constant_value', 'k2__length_scale_0', 'k2__length_scale_1']
    """
    names: list[str] = []
    for h in kernel.hyperparameters:
        if not h.fixed:
            several = h.n_elements > 1
            names += [f"{h.name}_{i}" for i in range(h.n_elements)] if several else [h.name]
    return names


def likelihood_of(
    kernel: Kernel,
    rows: Array,
    targets: Array,
    share: Array,
    jitter: float,
    noise: float | None,
    noise_bounds: tuple[float, float],
) -> MarginalLikelihood:
    """The likelihood for a kernel; arguments as of ``MarginalLikelihood``."""
    ours = isinstance(kernel, ShortestPathKernel)
    kind = MarginalLikelihood if ours else AnyKernelLikelihood
    return kind(kernel, rows, targets, share, jitter, noise, noise_bounds)


class AnyKernelLikelihood(MarginalLikelihood):
    """log p(y | θ) for a kernel that knows its own gradient."""

    @cached_property
    def names(self) -> list[str]:
        """The hyperparameters that are free, in the order of θ."""
        free = parameter_names(self.kernel)
        return free if self.noise is not None else [*free, "noise"]

    def _start(self) -> Array:
        free = np.asarray(self.kernel.theta, dtype=float)
        return free if self.noise is not None else np.append(free, np.log(NOISE_START))

    def _kernel_at(self, log_theta: Array) -> Kernel:
        return self.kernel.clone_with_theta(log_theta[: len(self.kernel.theta)])

    def _log_bounds(self) -> Array:
        free = np.asarray(self.kernel.bounds, dtype=float).reshape(-1, 2)
        return free if self.noise is not None else np.vstack([free, np.log(self.noise_bounds)])

    def _gram(self, log_theta: Array) -> tuple[Array, list[Array]]:
        K, slopes = self._kernel_at(log_theta)(self.rows, eval_gradient=True)
        return K, list(np.moveaxis(slopes, -1, 0))
