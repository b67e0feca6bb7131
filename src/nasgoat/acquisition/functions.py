"""Expected improvement and Thompson sampling.

Notation
    μ, σ   posterior mean and standard deviation of a graph, on the scale of the target
    b      lowest posterior mean of the observed graphs
    φ, Φ   density and distribution function of the standard normal

docs/acquisition-functions.md has definitions and proofs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from scipy.special import erfcx, ndtr

from nasgoat.acquisition.lower_confidence_bound import (
    Acquisition,
    Array,
    LinearAcquisition,
    Turn,
)
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import GraphGP, Posterior
from nasgoat.surrogate.draws import DRAWN, drop_mean

LEAST_STD = 1e-10  # below it log EI is taken at this σ, so that every value is finite
_FAR = 100.0  # from here on 1 - t √(π/2) erfcx(t/√2) is a difference of equals; its series is not
_STREAM = 4  # keeps these random numbers apart from those of other purposes


@dataclass(frozen=True, eq=False)
class ExpectedImprovement(Acquisition):
    """-log E[max(b - f(x), 0)], f the posterior and b the lowest posterior mean observed.

    With z = (b - μ) / σ the expectation is σ (φ(z) + z Φ(z)). It underflows where a graph is surely
    no better; its logarithm does not, and has its maximum at the same graph. The mean of an
    observed graph stands in for its error, which may be noise; a graph that still runs, or stands
    earlier in the batch, counts as observed at its mean. It is quasi-concave in μ and σ, so that
    lower confidence bounds prove its minimum (docs/acquisition-functions.md, Lemma 1).

    Example:
        >>> from nasgoat.acquisition import random_problem
        >>> from nasgoat import nasbench201
        >>> gp = random_problem(nasbench201(), observations=5).acquisition.gp
        >>> ei = ExpectedImprovement(gp)
        >>> b = ei.best_mean
        >>> np.exp(-ei.combine(np.array([b]), np.array([1.0]))).round(6).tolist()  # 1 / √(2 π)
        [0.398942]
    """

    surrogate: GraphGP | None = None
    has_frontier: ClassVar[bool] = True
    searches: ClassVar[int] = 4

    @cached_property
    def best_mean(self) -> float:
        """b, the lowest posterior mean of the observed graphs."""
        return self.gp.lowest_mean

    def combine(self, mean: Array, std: Array) -> Array:
        """-log σ - log(φ(z) + z Φ(z)), element by element."""
        wide = np.maximum(std, LEAST_STD)
        return -np.log(wide) - log_improvement((self.best_mean - np.asarray(mean)) / wide)

    def condition_on_batch(self, proposed: Sequence[LabeledGraph]) -> GraphGP:
        """The surrogate that takes these graphs to come out as predicted."""
        return self.gp.assume_predicted(proposed) if proposed else self.gp

    def forget_believed(self) -> Self | None:
        """The function before graphs were believed: with them b is no higher, and no σ larger."""
        return self._move_to_origin()


def log_improvement(z: Array) -> Array:
    """log(φ(z) + z Φ(z)), accurate for every z.

    With t = -z it is log φ(t) + log(1 - t √(π/2) erfcx(t / √2)); for large t the difference is
    1/t² - 3/t⁴ + 15/t⁶ - ... (Ament et al., Unexpected improvements to expected improvement, 2023).

    Example:
        >>> log_improvement(np.array([0.0, -1e6])).round(3).tolist()
        [-0.919, -500000000028.55]
    """
    t = -np.atleast_1d(np.asarray(z, dtype=float))
    found = -0.5 * t * t - 0.5 * np.log(2 * np.pi)
    within, beyond = t < 1.0, t >= _FAR  # each form is computed only where it is needed
    low, near, far = t[within], t[~(within | beyond)], t[beyond] ** -2.0
    found[within] = np.log(np.exp(-0.5 * low * low) / np.sqrt(2 * np.pi) - low * ndtr(-low))
    found[~(within | beyond)] += np.log1p(-near * np.sqrt(np.pi / 2) * erfcx(near / np.sqrt(2)))
    found[beyond] += np.log(far) + np.log1p(far * (-3 + far * (15 - 105 * far)))
    return np.asarray(found.reshape(np.shape(z)))


class _OwnFunction(LinearAcquisition):
    """μ - √β σ of another posterior than the surrogate's, which is made from it once."""

    @abstractmethod
    def _make_posterior(self) -> Posterior:
        """The posterior to minimise."""

    @cached_property
    def _made(self) -> Posterior:
        return self._make_posterior()

    @property
    def posterior(self) -> Posterior:
        """What is minimised, as a function of feature rows."""
        return self._made

    def assess(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array, Array]:
        """The acquisition value of each graph, and the surrogate's own μ and σ."""
        mean, std = self.predict(graphs)
        return self.combine(*self.posterior.mean_std(self.gp.features.rows(graphs))), mean, std


@dataclass(frozen=True, eq=False)
class LargestDeviation(_OwnFunction):
    """-σ: the graph that the surrogate knows least about is its minimum.

    Example:
        >>> from nasgoat.acquisition import random_problem
        >>> from nasgoat import nasbench201
        >>> lcb = random_problem(nasbench201(), observations=5).acquisition
        >>> cells = nasbench201().sample(3, np.random.default_rng(0))
        >>> np.allclose(LargestDeviation(lcb.gp).score(cells), -lcb.predict(cells)[1])
        True
    """

    surrogate: GraphGP | None = None
    sqrt_beta: ClassVar[float] = 1.0  # type: ignore[misc]

    def _make_posterior(self) -> Posterior:
        return drop_mean(self.gp.posterior_)


@dataclass(frozen=True, eq=False)
class ThompsonSampling(_OwnFunction):
    """A function drawn from the posterior: its minimum is a sample of where the best graph is.

    Under the linear kernel the draw is a linear function of the features, exactly; under the
    exponential one it is drawn by pathwise conditioning (:mod:`nasgoat.surrogate.draws`). The same
    seed gives the same function to every optimiser.

    Args:
        seed: Seeds of the draw.
        surrogate: The fitted Gaussian process.

    Example:
        >>> from nasgoat.acquisition import random_problem
        >>> from nasgoat import nasbench201
        >>> gp = random_problem(nasbench201(), observations=5).acquisition.gp
        >>> cells = nasbench201().sample(3, np.random.default_rng(0))
        >>> one, same, other = (ThompsonSampling(seed, gp).score(cells) for seed in (1, 1, 2))
        >>> bool((one == same).all()), bool((one == other).any())
        (True, False)
    """

    seed: int | tuple[int, ...] = 0
    surrogate: GraphGP | None = None
    sqrt_beta: ClassVar[float] = 0.0  # type: ignore[misc]
    kernels: ClassVar[tuple[str, ...] | None] = DRAWN

    @classmethod
    def make(cls, turn: Turn) -> ThompsonSampling:
        """A draw of its own for every place in a search."""
        return cls((turn.seed, turn.place), turn.surrogate)

    @classmethod
    def explain_unbounded(cls, kernel: str) -> str | None:
        """Under the linear kernel a draw is bounded like any mean; under another it is not."""
        if kernel == "linear":
            return None
        return f"a draw under the {kernel} kernel is not a sum over features, one under linear is"

    def _make_posterior(self) -> Posterior:
        seeds = self.seed if isinstance(self.seed, tuple) else (self.seed,)
        return self.gp.draw(np.random.default_rng([*seeds, _STREAM]))
