"""Several sources of observations under one Gaussian process: how they hang together, and the fit.

A source is one kind of observation of the same graphs: trainings of 12 epochs, of 200 epochs, on
another data set. Source 0 is the target, the one that a search is about.

Notation
    f_s(x)   what source s would say of graph x without noise; cov(f_s(x), f_u(x')) = B[s,u] k(x,x')
    a_s      scale of source s, a_0 = 1: all sources are on one scale, about
    l_s      loading of source s, between 0 and 1: how much of it is common to all sources
    B        B[s,s] = a_s², B[s,u] = a_s a_u l_s l_u: one common factor, and a rest of its own for
             each source. It is positive semidefinite whatever a and l are. With two sources only
             the product of their loadings counts, and l_0 = 1: B is then any such matrix with
             B[0,0] = 1 and a correlation l_1 between 0 and 1
    s_i      source of observation i;  y_i its scaled target;  n_i its noise variance
    C        C_ij = B[s_i,s_j] k(x_i,x_j) + n_i [i = j], the covariance of all observations

What all observations say of f_0 is what a plain process would make of y_i / b_i with b_i = B[0,s_i]
and the noise covariance

    Ñ_ij = (B[s_i,s_j] / (b_i b_j) - 1) k(x_i,x_j) + n_i / b_i² [i = j],

since cov(f_0(x), y_i / b_i) = k(x, x_i) and K + Ñ = D⁻¹ C D⁻¹ with D = diag(b). So the posterior of
the target is an ordinary one, with other weights, and whatever minimises an acquisition function of
it stays exact.

The parameters are those of largest posterior density: log a_s ~ N(0, 0.5²), logit l_s ~ N(2, 1.5²),
log noise ~ N(-4, 1.5²); the parameters of k have priors if asked for. Correlations are never
negative: a source that says the opposite is noise, until told otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.special import expit
from sklearn.gaussian_process.kernels import Kernel

from nasgoat.surrogate.likelihood import (
    NOISE_BOUNDS,
    PRIOR_MEANS,
    PRIOR_SD,
    MarginalLikelihood,
    maximize_from,
)

Array = NDArray[np.float64]
Places = NDArray[np.intp]
SCALE_BOUNDS = (0.1, 10.0)
LOADING_BOUNDS = (0.01, 0.999)
PRIOR_SD_OF_SCALES = 0.5
PRIOR_OF_LOADINGS, PRIOR_SD_OF_LOADINGS = (
    2.0,
    1.5,
)  # of logit l: l is 0.88, 0.62 to 0.97 within 1 sd
DISTRUST = -2.0  # logit of the loadings at which a second search begins


@dataclass(frozen=True, eq=False)
class Coregionalisation:
    """B, the covariance between the sources.

    Args:
        scales: a, shape (S,).
        loadings: l, shape (S,).

    Example:
        >>> Coregionalisation(np.array([1.0, 2.0]), np.array([1.0, 0.5])).matrix.tolist()
        [[1.0, 1.0], [1.0, 4.0]]
    """

    scales: Array
    loadings: Array

    @cached_property
    def matrix(self) -> Array:
        """B, shape (S, S), positive semidefinite."""
        common = self.scales * self.loadings
        B: Array = np.outer(common, common)
        B[np.diag_indices_from(B)] = self.scales**2
        return B

    @property
    def correlations(self) -> Array:
        """The correlation of each source with the target; that of the target with itself is 1."""
        found: Array = self.loadings[0] * self.loadings
        found[0] = 1.0
        return found

    def believe(self, places: Places, targets: Array) -> Array:
        """y_i / b_i, what each observation says of the target."""
        told: Array = targets / self.matrix[0, places]
        return told

    def colour_noise(self, K: Array, places: Places, noise: Array) -> Array:
        """Ñ, the noise covariance of y_i / b_i; K is the Gram matrix of the graphs."""
        B = self.matrix
        b = B[0, places]
        ratios = B[np.ix_(places, places)] / np.outer(b, b)
        colored: Array = (ratios - 1.0) * K + np.diag(noise / b**2)
        return colored

    def foresee(
        self,
        kernel: Kernel,
        seen: Array,
        targets: Array,
        noise: Array,
        places: Places,
        rows: Array,
        source: int,
    ) -> tuple[Array, Array, Array, Array]:
        """Mean and variance of a source at rows, covariance with the target, its variance.

        Observations are rows ``seen`` with their targets, noise and sources (``places``).
        """
        B = self.matrix
        K = B[np.ix_(places, places)] * kernel(seen)
        factor = cho_factor(K + np.diag(noise), lower=True)
        k, prior = kernel(rows, seen), kernel.diag(rows)
        own, target = (k * B[s, places] for s in (source, 0))
        solved = cho_solve(factor, own.T).T
        variance = B[source, source] * prior - np.einsum("ij,ij->i", own, solved)
        covariance = B[0, source] * prior - np.einsum("ij,ij->i", target, solved)
        left = prior - np.einsum("ij,ij->i", target, cho_solve(factor, target.T).T)
        return solved @ targets, np.maximum(variance, 0.0), covariance, left


@dataclass(frozen=True, eq=False)
class SourceLikelihood:
    """log p(y | θ) of observations from several sources.

    θ holds the logarithms of the kernel's free parameters, log a_s of every source but the target,
    logit l_s of every source (of two, of the other one), and log noise of every source unless the
    noise is given.

    Args:
        plain: The likelihood of all observations as if they had one source and a given noise.
        places: s_i, shape (m,).
        count: S, the number of sources; at least 2.
        noise: A fixed noise variance of all sources, or None to fit one for each.
    """

    plain: MarginalLikelihood
    places: Places
    count: int
    noise: float | None = None

    @cached_property
    def _parts(self) -> list[slice]:
        """Where θ has the kernel's parameters, the scales, the loadings and the noise."""
        loadings = self.count - (self.count == 2)
        sizes = [len(self.plain.names), self.count - 1, loadings]
        sizes.append(self.count if self.noise is None else 0)
        ends = np.cumsum(sizes).tolist()
        return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]

    def read(self, theta: Array) -> tuple[Array, Coregionalisation, Array]:
        """Log parameters of the kernel, B, and the noise variance of every source."""
        kernel, scales, loadings, noise = (theta[part] for part in self._parts)
        fixed = np.ones(self.count - len(loadings))
        B = Coregionalisation(
            np.concatenate([[1.0], np.exp(scales)]), np.concatenate([fixed, expit(loadings)])
        )
        if self.noise is None:
            return kernel, B, np.exp(noise)
        return kernel, B, np.full(self.count, float(self.noise))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The logarithm of the likelihood, and its gradient by θ.

        Raises:
            numpy.linalg.LinAlgError: If the matrix is not positive definite.
        """
        kernel, mixing, variances = self.read(theta)
        y, places, B = self.plain.targets, self.places, mixing.matrix
        K, slopes = self.plain.compute_gram(kernel)
        between = B[np.ix_(places, places)]
        noise = variances[places] * self.plain.share
        L = cholesky(between * K + np.diag(noise + self.plain.jitter), lower=True)
        dual = cho_solve((L, True), y)
        value = -0.5 * y @ dual - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2 * np.pi)
        W = np.outer(dual, dual) - cho_solve((L, True), np.eye(len(y)))
        weighed = W * between
        gradient = [0.5 * np.vdot(weighed, slope) for slope in slopes]
        # M[s,u] B[s,u] = Σ W_ij C_ij over observations i of s and j of u, noise aside.
        of = (places == np.arange(self.count)[:, None]).astype(float)
        M = of @ (weighed * K) @ of.T
        off = M.sum(axis=1) - np.diag(M)
        free = slice(1 if self.count == 2 else 0, None)
        gradient += M.sum(axis=1)[1:].tolist()
        gradient += (off * (1.0 - mixing.loadings))[free].tolist()
        if self.noise is None:
            gradient += (0.5 * of @ (np.diag(W) * noise)).tolist()
        return float(value), np.array(gradient)

    def weigh(self, theta: Array) -> tuple[float, Array]:
        """The logarithm of the prior density, up to a constant, and its gradient."""
        kernel = self._parts[0]
        value, slope = self.plain.weigh(theta[kernel])
        away = (theta - self._centre)[kernel.stop :] / self._spread
        return value - 0.5 * float(away @ away), np.concatenate([slope, -away / self._spread])

    def maximize(self, restarts: int, seed: int) -> tuple[Kernel, Coregionalisation, Array]:
        """The best kernel, B and noise of the sources.

        The search begins with trust in the sources, without, and at random points.
        """
        bounds, start = self._list_bounds(), self._centre
        distrust = start.copy()
        distrust[self._parts[2]] = DISTRUST
        rng = np.random.default_rng(seed)
        random = rng.uniform(bounds[:, 0], bounds[:, 1], size=(restarts, len(start)))
        self(start)
        kernel, B, noise = self.read(maximize_from(self, [start, distrust, *random], bounds))
        return self.plain.kernel.clone_with_theta(kernel), B, noise

    @cached_property
    def _centre(self) -> Array:
        """The means of the priors, and where the search begins."""
        kernel, _, loadings, noise = self._parts
        centre = np.zeros(noise.stop)
        centre[kernel] = self.plain.start()
        centre[loadings] = PRIOR_OF_LOADINGS
        centre[noise] = PRIOR_MEANS["noise"]
        return centre

    @cached_property
    def _spread(self) -> Array:
        """Standard deviations of the priors, those of the kernel's parameters aside."""
        sds: Sequence[float] = (PRIOR_SD_OF_SCALES, PRIOR_SD_OF_LOADINGS, PRIOR_SD)
        parts = [np.full(p.stop - p.start, sd) for p, sd in zip(self._parts[1:], sds, strict=True)]
        return np.concatenate(parts)

    def _list_bounds(self) -> Array:
        kernel, scales, loadings, noise = self._parts
        bounds = np.zeros((noise.stop, 2))
        bounds[kernel] = self.plain.log_bounds()
        bounds[scales] = np.log(SCALE_BOUNDS)
        low, high = LOADING_BOUNDS
        bounds[loadings] = np.log([low / (1 - low), high / (1 - high)])
        bounds[noise] = np.log(NOISE_BOUNDS)
        return bounds
