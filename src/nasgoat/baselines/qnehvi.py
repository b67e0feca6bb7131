"""BoTorch's noisy expected hypervolume improvement over a pool of graphs (needs BoTorch).

Source: Daulton, Balandat and Bakshy, NeurIPS 2021. Graphs are one-hot rows of their categorical
parameters; each value has a ``SingleTaskGP`` with its defaults, the error as its logarithm. A batch
of five is chosen greedily from a pool: the neighbours of the front's graphs, in random order, and
as many random graphs.

Two things take other ways to the same numbers, because BoTorch's take nine tenths of the time: the
fit (:func:`fit_model`) and the posterior at the pool (:class:`ListedPosterior`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf_discrete
from botorch.posteriors import GPyTorchPosterior
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from linear_operator import to_linear_operator
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

from nasgoat.acquisition.hypervolume import find_nondominated
from nasgoat.baselines.categorical import CategoricalSpace
from nasgoat.baselines.several_objectives import SeveralMethod
from nasgoat.graphs import LabeledGraph

_BATCH = 5
_POOL = 400
_SAMPLES = 64  # of the posterior, for each expectation
_BEYOND = 0.1  # of the observed range: how far the reference point lies beyond the front


class QNoisyHypervolume(SeveralMethod):
    """Asks for the graphs of a batch one after the other; a used-up batch is chosen anew.

    Graphs that failed are left out of the pool; nothing is learnt from them. Limits are not known
    to it.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.encoded = CategoricalSpace(self.space)
        self._queue = list[LabeledGraph]()

    def _choose(self) -> LabeledGraph | None:
        if len(self.graphs) < 2:  # nothing to fit
            return self._draw()
        if not self._queue:
            self._queue = self._choose_batch()
        return self._queue.pop(0) if self._queue else self._draw()

    def _choose_batch(self) -> list[LabeledGraph]:
        values = np.array([self._list_values(metrics) for metrics in self.metrics])
        for column, name in enumerate(self.names):
            if name == "error":
                values[:, column] = np.log(values[:, column])
        pool = self._draw_pool(find_nondominated(values))
        if len(pool) <= _BATCH:
            return pool
        torch.manual_seed(int(self.rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own about fits, which it mends itself
            return [pool[place] for place in self._optimise(pool, values)]

    def _optimise(self, pool: Sequence[LabeledGraph], values: NDArray[np.float64]) -> list[int]:
        """Places in the pool of a batch; BoTorch maximises, so values change their signs."""
        observed, targets = self._encode(self.graphs), -torch.as_tensor(values)
        models = [
            SingleTaskGP(observed, targets[:, i : i + 1], outcome_transform=Standardize(m=1))
            for i in range(targets.shape[1])
        ]
        for model in models:
            fit_model(model)
        front = values[find_nondominated(values)].max(axis=0)
        spread = np.ptp(values, axis=0)
        reference = front + _BEYOND * np.where(spread > 0, spread, 1.0)
        listed = ListedPosterior(ModelListGP(*models), torch.cat([observed, self._encode(pool)]))
        acquisition = qLogNoisyExpectedHypervolumeImprovement(
            listed,
            (-reference).tolist(),
            listed.places[: len(observed)],
            SobolQMCNormalSampler(torch.Size([_SAMPLES]), seed=int(self.rng.integers(2**31))),
            prune_baseline=True,
        )
        choices = listed.places[len(observed) :]
        found, _ = optimize_acqf_discrete(acquisition, q=_BATCH, choices=choices)
        return [int(place) - len(observed) for place in found[:, 0]]

    def _draw_pool(self, front: Sequence[int]) -> list[LabeledGraph]:
        """New graphs, each once: neighbours of the front's graphs, and random ones."""
        taken, found = set(self.known), list[LabeledGraph]()
        near = [graph for i in front for graph in self.space.neighbours(self.graphs[i])]
        for i in self.rng.permutation(len(near)).tolist():
            key = self.space.key(near[i])
            if key not in taken and len(found) < _POOL // 2:
                taken.add(key)
                found.append(near[i])
        return [*found, *self.space.sample(_POOL - len(found), self.rng, taken)]

    def _encode(self, graphs: Sequence[LabeledGraph]) -> Any:
        """One-hot rows, shape (graphs, choices of all parameters)."""
        parameters = self.encoded.parameters.items()
        rows = [
            [float(choice[name] == value) for name, values in parameters for value in values]
            for choice in map(self.encoded.encode, graphs)
        ]
        return torch.tensor(rows, dtype=torch.double)


class ListedPosterior(GPyTorchModel):
    """The joint posterior of a fitted model at listed points, looked up by their places.

    The acquisition function asks for the posterior at its baseline and one choice, for every
    choice and five times a batch: all of it is in one matrix for each value.

    Args:
        model: The fitted model, whose values are independent.
        points: Shape (points, parameters).
    """

    num_outputs = 0
    batch_shape = torch.Size()

    def __init__(self, model: ModelListGP, points: Any) -> None:
        super().__init__()
        self.num_outputs = model.num_outputs
        self.places = torch.arange(len(points), dtype=points.dtype)[:, None]
        with torch.no_grad():
            joint = [each.posterior(points).distribution for each in model.models]
            self.means = [normal.mean for normal in joint]
            self.covariances = [normal.covariance_matrix for normal in joint]

    def posterior(self, X: Any, *_: Any, **__: Any) -> GPyTorchPosterior:
        """The posterior at places, shape (…, q, 1)."""
        place = X[..., 0].long()
        rows, columns = place[..., :, None], place[..., None, :]
        normals = [
            MultivariateNormal(mean[place], to_linear_operator(covariance[rows, columns]))
            for mean, covariance in zip(self.means, self.covariances, strict=True)
        ]
        return GPyTorchPosterior(MultitaskMultivariateNormal.from_independent_mvns(normals))


def fit_model(model: SingleTaskGP) -> None:
    """Fit a model: the parameters at which BoTorch's loss is lowest, from those it begins with.

    BoTorch minimises over the noise and the length scales as they are, which takes some 700
    evaluations of the loss; over their logarithms 30 find the same optimum.
    """
    loss = Loss(model)
    found = minimize(loss, loss.begin, jac=True, method="L-BFGS-B", bounds=loss.bounds)
    loss.write(found.x)


class Loss:
    """What BoTorch minimises to fit a ``SingleTaskGP`` with its defaults, and the gradient.

    With K_ij = exp(−½ Σ_d (x_id − x_jd)² / ℓ_d²), C = K + s I and r = y − m it is

        (½ rᵀ C⁻¹ r + ½ log det C + ½ n log 2π − log p(s) − Σ_d log p(ℓ_d)) / n

    where p are the log-normal priors of the noise and of the length scales. Of the first two terms
    the derivatives are ½ tr W for s, −1ᵀ C⁻¹ r for m and ½ Σ_ij W_ij K_ij (x_id − x_jd)² / ℓ_d³
    for ℓ_d, with W = C⁻¹ − C⁻¹ r rᵀ C⁻¹. Its own function takes ten times as long.

    Args:
        model: The model.
    """

    def __init__(self, model: SingleTaskGP) -> None:
        noise, kernel = model.likelihood.noise_covar, model.covar_module
        self.model, self.x = model, model.train_inputs[0].numpy()
        self.y = model.train_targets.numpy()
        lengths = kernel.lengthscale.detach().numpy().ravel()
        logarithms = np.log([noise.noise.item(), *lengths])
        self.begin = np.append(logarithms, model.mean_module.constant.item())
        lowest = [noise.raw_noise_constraint, *[kernel.raw_lengthscale_constraint] * len(lengths)]
        self.bounds = [*((np.log(each.lower_bound.item()), None) for each in lowest), (None, None)]
        priors = [noise.noise_prior, *[kernel.lengthscale_prior] * len(lengths)]
        self.location = np.array([prior.loc.item() for prior in priors])
        self.scale = np.array([prior.scale.item() for prior in priors])

    def __call__(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Loss and gradient at log s, log ℓ and m."""
        n, (noise, *lengths), rest = len(self.y), np.exp(point[:-1]), self.y - point[-1]
        scaled = self.x / lengths
        half = 0.5 * np.einsum("ij,ij->i", scaled, scaled)
        kernel = np.exp(np.minimum(scaled @ scaled.T - half[:, None] - half, 0.0))
        factor, _ = dpotrf(kernel + noise * np.eye(n), lower=1)
        inverse = np.tril(dpotri(factor, lower=1)[0])
        inverse += np.tril(inverse, -1).T
        weights = inverse @ rest
        slope = inverse - np.outer(weights, weights)
        product = slope * kernel
        apart = product.sum(axis=1) @ scaled**2 - np.einsum("ij,ij->j", scaled, product @ scaled)
        away = (point[:-1] - self.location) / self.scale
        value = 0.5 * rest @ weights + np.log(np.diag(factor)).sum()
        value += np.sum(point[:-1] + np.log(self.scale) + 0.5 * away**2)
        value += 0.5 * (n + len(away)) * np.log(2 * np.pi)
        gradient = np.array([0.5 * noise * np.trace(slope), *apart, -weights.sum()])
        gradient[:-1] += 1.0 + away / self.scale
        return float(value) / n, gradient / n

    def write(self, point: NDArray[np.float64]) -> None:
        """Give the model the parameters of a point."""
        noise, *lengths = np.exp(point[:-1])
        self.model.likelihood.noise_covar.initialize(noise=noise)
        self.model.covar_module.initialize(lengthscale=torch.as_tensor(lengths))
        self.model.mean_module.initialize(constant=point[-1])
        self.model.eval()
