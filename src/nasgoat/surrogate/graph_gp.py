"""A Gaussian process on graphs: scikit-learn's regressor on kernel feature rows.

Notation
    y       error to minimise;  z the scaled target that the process learns
    m_i     how often graph i was observed; its noise variance is noise / m_i
    μ, σ    posterior mean and standard deviation of the latent z (noise not included)
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

from nasgoat.errors import SettingError, SurrogateError
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import PAPER_BLOCKS, FeatureMap, ShortestPathKernel, make_kernel
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.draws import draw_from
from nasgoat.surrogate.likelihood import make_likelihood, name_parameters, spread_evenly
from nasgoat.surrogate.model_check import ModelCheck
from nasgoat.surrogate.posterior import (
    ExponentialPosterior,
    KernelPosterior,
    LinearPosterior,
    NormalisedPosterior,
    Posterior,
    make_posterior,
)
from nasgoat.surrogate.target import TargetScale, check_errors

logger = logging.getLogger(__name__)

JITTERS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # tried in turn on a singular kernel


class GraphGP:
    """A Gaussian process that predicts the (log) error of a graph.

    Args:
        space: The space whose graphs are observed.
        kernel: The kernel with its starting hyperparameters, or the name of one: the paper's, or
            any of scikit-learn's on the rows of :class:`~nasgoat.FeatureMap`.
        blocks: The blocks of these rows, by name; a :class:`~nasgoat.ShortestPathKernel` that was
            made with weights of further blocks brings its own.
        priors: Whether hyperparameters have weak priors instead of bounds alone; see
            :mod:`nasgoat.surrogate.likelihood`.
        noise: Observation noise variance of the scaled target: a number, or ``"fit"``.
        target: What is learnt of the errors: ``"rank"``, ``"log"`` or ``"plain"``; see
            :mod:`nasgoat.surrogate.target`.
        standardize: Bring logarithms or plain errors to mean 0 and standard deviation 1.
        restarts: Further random starts of the hyperparameter search.
        seed: Seed of the restarts.

    Example:
        >>> from nasgoat import nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(20, np.random.default_rng(0))
        >>> errors = [10.0 + len(cell.edges) for cell in cells]
        >>> gp = GraphGP(space, target="log").fit(cells, errors)
        >>> mean, std = gp.predict(cells[:2])
        >>> bool(abs(gp.to_error(mean) - errors[:2]).max() < 0.1)
        True
    """

    #: The process before graphs were believed to come out as predicted; None if none were. Its mean
    #: is the same everywhere, and its standard deviation nowhere smaller.
    origin: GraphGP | None = None

    def __init__(
        self,
        space: SearchSpace,
        kernel: Kernel | str = "linear",
        noise: float | str = "fit",
        target: str = "rank",
        standardize: bool = True,
        restarts: int = 0,
        seed: int = 0,
        blocks: Sequence[str] = PAPER_BLOCKS,
        priors: bool = False,
    ) -> None:
        self.space = space
        if isinstance(kernel, ShortestPathKernel) and kernel.others:
            blocks = kernel.block_names
        self.features = FeatureMap(space, tuple(blocks))
        if isinstance(kernel, str):
            kernel = make_kernel(kernel, self.features)
        elif isinstance(kernel, ShortestPathKernel):
            given = {"widths": self.features.widths, "cells": tuple(space.cells)}
            kernel = clone(kernel).set_params(**given)
        self.kernel = kernel
        self.priors = priors
        if noise != "fit" and not (isinstance(noise, int | float) and 0 < noise < np.inf):
            raise SettingError(f"noise must be 'fit' or a positive number, got {noise!r}")
        self.noise = noise
        self.target = target
        self.standardize = standardize
        self.restarts = restarts
        self.seed = seed

    def __repr__(self) -> str:
        fitted = hasattr(self, "gpr_")
        kernel = self.gpr_.kernel if fitted else self.kernel
        said = f"fitted to {len(self.graphs_)} graphs" if fitted else "not fitted"
        return f"<GraphGP: {kernel}, target {self.target}, {said}>"

    def fit(self, graphs: Sequence[LabeledGraph], errors: Sequence[float]) -> GraphGP:
        """Learn from observed errors; repeated graphs are merged to their mean.

        Raises:
            ObservationError: If an error is not a finite number, or the lengths differ.
            SurrogateError: If the kernel matrix stays singular at the largest jitter.
        """
        values = check_errors(graphs, errors)
        self.scale_ = TargetScale.of(values, self.target, self.standardize)
        merged, targets, times = self._merge(graphs, self.scale_.to_target(values))
        self.graphs_, self.targets_ = merged, targets
        self._fit_rows(self.features.rows(merged), targets, 1.0 / times)
        return self

    def predict(self, graphs: Sequence[LabeledGraph]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Posterior mean μ and standard deviation σ of the scaled target, without noise."""
        return self.posterior_.mean_std(self.features.rows(graphs))

    def assume_predicted(self, graphs: Sequence[LabeledGraph]) -> GraphGP:
        """A copy of the process, as if these graphs had been observed at their posterior means.

        The means stay as they are, the standard deviations near these graphs shrink; the
        hyperparameters are not fitted again. (The "kriging believer" of Ginsbourger et al., 2010.)

        Example:
            >>> from nasgoat import nasbench201
            >>> space = nasbench201()
            >>> cells = space.sample(9, np.random.default_rng(0))
            >>> gp = GraphGP(space).fit(cells[:8], range(8))
            >>> (mean, std), (mean_after, std_after) = (
            ...     g.predict(cells[8:]) for g in (gp, gp.assume_predicted(cells[8:]))
            ... )
            >>> bool(np.allclose(mean, mean_after, atol=1e-6)), bool(std_after[0] < std[0])
            (True, True)
        """
        rows = self.features.rows(graphs)
        means, _ = self.posterior_.mean_std(rows)
        old_rows, old_targets, old_variances = self._observed
        observed = (
            np.concatenate([old_rows, rows]),
            np.concatenate([old_targets, means]),
            np.concatenate([old_variances, np.full(len(rows), self.noise_ + self.jitter_)]),
        )
        believer = copy(self)
        believer.origin = self.origin or self
        believer._observed = observed
        all_rows, targets, variances = observed
        believer.posterior_ = make_posterior(self.gpr_.kernel_, all_rows, variances, targets)
        return believer

    def draw(self, rng: np.random.Generator) -> Posterior:
        """A function drawn from the posterior, as a posterior without deviation.

        Example:
            >>> from nasgoat import nasbench201
            >>> space = nasbench201()
            >>> cells = space.sample(8, np.random.default_rng(0))
            >>> gp = GraphGP(space).fit(cells, range(8))
            >>> rows = gp.features.rows(cells)
            >>> draws = [gp.draw(np.random.default_rng(seed)) for seed in range(2000)]
            >>> mean = np.mean([draw.mean_std(rows)[0] for draw in draws], axis=0)
            >>> bool(abs(mean - gp.predict(cells)[0]).max() < 0.1)
            True
        """
        return draw_from(self.posterior_, self._observed[2], rng)

    @property
    def lowest_mean(self) -> float:
        """The lowest posterior mean of the observed graphs, believed ones included."""
        return float(self.posterior_.mean_std(self._observed[0])[0].min())

    def to_error(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn values of the scaled target back into errors."""
        return self.scale_.to_error(target)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The fitted hyperparameters by name, the noise variance included."""
        kernel = self.gpr_.kernel_
        values = dict(zip(name_parameters(kernel), np.exp(kernel.theta).tolist(), strict=True))
        return {**values, "noise": self.noise_}

    def _merge(
        self, graphs: Sequence[LabeledGraph], targets: NDArray[np.float64]
    ) -> tuple[list[LabeledGraph], NDArray[np.float64], NDArray[np.float64]]:
        groups: dict[bytes, list[int]] = {}
        for i, graph in enumerate(graphs):
            groups.setdefault(self.space.key(graph), []).append(i)
        kept = [graphs[places[0]] for places in groups.values()]
        means = np.array([targets[places].mean() for places in groups.values()])
        return kept, means, np.array([len(places) for places in groups.values()], dtype=float)

    def _fit_rows(
        self, rows: NDArray[np.float64], targets: NDArray[np.float64], share: NDArray[np.float64]
    ) -> None:
        """Fit hyperparameters, then condition, with more jitter each time that fails."""
        part = spread_evenly(targets)
        for jitter in JITTERS:
            try:
                fixed = None if self.noise == "fit" else float(self.noise)
                observed = rows[part], targets[part], share[part]
                likelihood = make_likelihood(self.kernel, *observed, jitter, fixed, self.priors)
                kernel, noise = likelihood.maximize(self.restarts, self.seed)
                variances = noise * share + jitter
                gpr = GaussianProcessRegressor(kernel, alpha=variances, optimizer=None)
                self.gpr_ = gpr.fit(rows, targets)
                self.posterior_: (
                    LinearPosterior | ExponentialPosterior | NormalisedPosterior | KernelPosterior
                ) = make_posterior(kernel, rows, variances, targets)
            except np.linalg.LinAlgError:
                logger.info("the kernel matrix is singular with jitter %g; trying more", jitter)
                continue
            self.noise_, self.jitter_ = noise, jitter
            self._observed = (rows, targets, variances)
            self.check_ = self._check_model(likelihood.list_at_bounds(kernel, noise))
            return
        raise refuse_singular()

    def _check_model(self, at_bounds: list[str]) -> ModelCheck:
        """Predict each observation from all the others, to judge the model."""
        if isinstance(self.posterior_, ExponentialPosterior | NormalisedPosterior):
            whitening = self.posterior_.whitening
        else:
            whitening, _ = dtrtri(self.gpr_.L_, lower=1)
        diagonal = np.einsum("ij,ij->j", whitening, whitening)
        return ModelCheck.of(self.targets_, self.gpr_.alpha_, diagonal, at_bounds)


def refuse_singular() -> SurrogateError:
    """What to raise when no jitter was enough."""
    return SurrogateError(
        f"the kernel matrix must be positive definite, got a singular one with jitter "
        f"{JITTERS[-1]:g}; set a larger noise"
    )
