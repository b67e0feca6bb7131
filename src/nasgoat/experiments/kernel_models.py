"""A Gaussian process for each kernel of the comparison, all on the same target.

Notation
    y      log error of a graph;  z = (y - mean) / sd with mean and sd of the training graphs
    K      unit-diagonal Gram matrix of a fixed kernel (RW, WL);  C = σ² K + noise · I
    log p(z) = -½ zᵀ C⁻¹ z - ½ log |C| - ½ m log 2π

SP and ESP are the product's own surrogate. RW is GraKeL's random-walk kernel, RW-matched the same
with the walks of length 0 held to equal labels, as its authors define it. RW and WL have a signal
variance σ² within the paper's bounds and the same noise; the depth of WL is the likeliest of 1, 2
and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize

from nasgoat.errors import UnknownNameError
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.conversions import turn_edges_into_nodes
from nasgoat.kernels import PAPER_BOUNDS
from nasgoat.kernels.histogram_kernels import (
    compute_wl_gram,
    compute_wl_histograms,
    walk_gram,
    walk_histograms,
)
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP
from nasgoat.surrogate.likelihood import NOISE_BOUNDS

Array = NDArray[np.float64]
KERNELS = ("RW", "RW-matched", "WL", "WL-edge", "SP", "ESP")
GROUP = 10  # cells whose means are one point of a figure
_FORMS = {"SP": "linear", "ESP": "exponential"}
_DEPTHS = (1, 2, 3)
_JITTER = 1e-10
_SKIP = "skip_connect"  # does nothing; the conversion to node labels bridges it, as NAS-BOWL does


@dataclass(frozen=True, eq=False)
class LogPrediction:
    """Predicted log errors: mean and standard deviation, the noise included.

    Args:
        mean: Of each test graph.
        std: Of each test graph, as a measured value.
        fitted: Hyperparameters by name.
    """

    mean: Array
    std: Array
    fitted: dict[str, float]


def predict(
    kernel: str,
    space: SearchSpace,
    train: Sequence[LabeledGraph],
    errors: Array,
    test: Sequence[LabeledGraph],
    noise: float | str = "fit",
) -> LogPrediction:
    """Learn the log errors of some graphs and predict those of others.

    Args:
        kernel: One of :data:`KERNELS`.
        space: The space of the graphs.
        train: Graphs to learn from.
        errors: Their errors, positive.
        test: Graphs to predict.
        noise: Noise variance of the standardised target, or ``"fit"``.

    Example:
        >>> from nasgoat import nasbench201
        >>> cells = nasbench201().sample(30, np.random.default_rng(0))
        >>> errors = np.array([5.0 + len(cell.edges) for cell in cells])
        >>> found = predict("SP", nasbench201(), cells[:20], errors[:20], cells[20:])
        >>> bool(np.abs(np.exp(found.mean) - errors[20:]).max() < 1.0)
        True
    """
    if kernel not in KERNELS:
        raise UnknownNameError("kernels", kernel, KERNELS)
    logs = np.log(errors)
    shift, scale = float(logs.mean()), float(logs.std()) or 1.0
    if kernel in _FORMS:
        gp = GraphGP(space, _FORMS[kernel], noise=noise, target="log").fit(train, errors.tolist())
        mean, latent = gp.predict(test)
        std = np.sqrt(latent**2 + gp.noise_)
        return LogPrediction(scale * mean + shift, scale * std, gp.hyperparameters)
    grams = _compute_grams(kernel, [*train, *test])
    z = (logs - shift) / scale
    fits = [_Fit.of(name, gram, z, noise) for name, gram in grams.items()]
    best = max(fits, key=lambda fit: fit.likelihood)
    mean, std = best.predict(z)
    fitted = {**best.name, "variance": best.variance, "noise": best.noise}
    return LogPrediction(scale * mean + shift, scale * std, fitted)


def _compute_grams(kernel: str, graphs: Sequence[LabeledGraph]) -> dict[int, Array]:
    """The unit-diagonal Gram matrices to choose from, by depth (0 where there is none)."""
    if kernel == "WL-edge":
        # GraKeL's WL kernel takes no notice of labels on edges: what it sees of the original graph
        # is its structure.
        labelled = [LabeledGraph(g.adjacency, ("node",) * g.n) for g in graphs]
    else:
        labelled = [g if g.node_labels else turn_edges_into_nodes(g, _SKIP) for g in graphs]
    if kernel in ("RW", "RW-matched"):
        return {0: walk_gram(walk_histograms(labelled), as_grakel=kernel == "RW")}
    levels = compute_wl_histograms(labelled, max(_DEPTHS))
    return {depth: compute_wl_gram(levels[: depth + 1]) for depth in _DEPTHS}


@dataclass(frozen=True, eq=False)
class _Fit:
    """A Gaussian process with a fixed Gram matrix of training and test graphs."""

    name: dict[str, float]
    gram: Array
    variance: float
    noise: float
    likelihood: float

    @classmethod
    def of(cls, depth: int, gram: Array, z: Array, noise: float | str) -> _Fit:
        """The likeliest signal variance, and noise if it is to be fitted."""
        K = gram[: len(z), : len(z)]
        fixed = None if isinstance(noise, str) else float(noise)
        bounds = [PAPER_BOUNDS] if fixed is not None else [PAPER_BOUNDS, NOISE_BOUNDS]
        loss = _make_loss(K, z, fixed)
        start = [0.0] if fixed is not None else [0.0, np.log(1e-2)]
        found = minimize(loss, start, method="L-BFGS-B", bounds=np.log(bounds))
        theta = np.exp(found.x)
        name = {"depth": float(depth)} if depth else {}
        return cls(name, gram, theta[0], theta[1] if fixed is None else fixed, -float(found.fun))

    def predict(self, z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the test graphs, with noise."""
        m = len(z)
        C = self.variance * self.gram[:m, :m] + (self.noise + _JITTER) * np.eye(m)
        L = cholesky(C, lower=True)
        cross = self.variance * self.gram[:m, m:]
        mean = cross.T @ cho_solve((L, True), z)
        explained = np.einsum("ij,ij->j", cross, cho_solve((L, True), cross))
        latent = np.maximum(self.variance * self.gram.diagonal()[m:] - explained, 0.0)
        return mean, np.sqrt(latent + self.noise)


def _make_loss(K: Array, z: Array, fixed: float | None) -> Callable[[Array], float]:
    """-log p(z) of log σ² (and log noise), by the eigenvalues of K."""
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)
    squares = (vectors.T @ z) ** 2

    def loss(log_theta: Array) -> float:
        noise = np.exp(log_theta[1]) if fixed is None else fixed
        spectrum = np.exp(log_theta[0]) * values + noise + _JITTER
        return float(0.5 * (squares / spectrum + np.log(2 * np.pi * spectrum)).sum())

    return loss
