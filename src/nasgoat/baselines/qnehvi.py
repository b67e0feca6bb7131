"""BoTorch's noisy expected hypervolume improvement over a pool of graphs (needs BoTorch).

Source: Daulton, Balandat and Bakshy, NeurIPS 2021. Graphs are one-hot rows of their categorical
parameters; each value has a ``SingleTaskGP`` with its defaults, the error as its logarithm. A batch
of five is chosen greedily from a pool: the neighbours of the front's graphs, in random order, and
as many random graphs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import SumMarginalLogLikelihood
from numpy.typing import NDArray

from nasgoat.baselines.categorical import CategoricalSpace
from nasgoat.baselines.several import SeveralMethod
from nasgoat.bayesopt.front import find_nondominated
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
        values = np.array([self._values(metrics) for metrics in self.metrics])
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
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        front = values[find_nondominated(values)].max(axis=0)
        spread = np.ptp(values, axis=0)
        reference = front + _BEYOND * np.where(spread > 0, spread, 1.0)
        acquisition = qLogNoisyExpectedHypervolumeImprovement(
            model,
            (-reference).tolist(),
            observed,
            SobolQMCNormalSampler(torch.Size([_SAMPLES]), seed=int(self.rng.integers(2**31))),
            prune_baseline=True,
        )
        choices = self._encode(pool)
        found, _ = optimize_acqf_discrete(acquisition, q=_BATCH, choices=choices)
        return [int((choices == row).all(dim=1).nonzero()[0, 0]) for row in found]

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
