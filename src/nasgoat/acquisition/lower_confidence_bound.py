"""The lower confidence bound, the acquisition function of the paper: α_LCB = μ - √β_t σ.

Here is also what all acquisition functions have in common (:class:`Acquisition`); the others are in
:mod:`~nasgoat.acquisition.functions`. :func:`random_problem` makes a lower confidence bound to
minimise: the same seed gives the same problem to every optimiser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap, ShortestPathKernel
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import GraphGP, ModelCheck, Posterior

Array = NDArray[np.float64]
#: Measures an acquisition function's posterior, or a known cost: mean and deviation at every graph.
Measure = Callable[[Any], tuple[Array, Array]]
NOISE = 1e-3  # of random problems: variance, in units of the standardised target


@dataclass(frozen=True)
class Turn:
    """What an acquisition function is made for: one problem of one batch.

    Args:
        surrogate: The fitted Gaussian process.
        place: How many graphs the search proposed before.
        seed: Seed of the search.
        sqrt_beta: √β of lower confidence bounds.
    """

    surrogate: GraphGP
    place: int = 0
    seed: int = 0
    sqrt_beta: float = 3.0


class PartPosterior(NamedTuple):
    """What one objective's model says of a graph, on the scale of its target; or a known cost."""

    mean: float
    std: float


class Acquisition(ABC):
    """A function of posterior mean and standard deviation, to be minimised over graphs.

    A subclass is a frozen dataclass with a field ``surrogate`` and has :meth:`combine`.

    Every optimiser that scores graphs can minimise it. Branch and bound and the MIP can if it is
    linear in μ and σ (:class:`LinearAcquisition`), or if ``has_frontier`` says that it rises with
    μ, falls with σ and is quasi-concave in both: its minimum is then that of some μ - √β σ.

    Args:
        surrogate: The fitted Gaussian process.
        has_frontier: See above.
        searches: Lower confidence bounds that are minimised for one problem then, about.
        kernels: Names of the only kernels that it is defined for; None for any.
    """

    surrogate: GraphGP | None
    has_frontier: ClassVar[bool] = False
    searches: ClassVar[int] = 1
    kernels: ClassVar[tuple[str, ...] | None] = None

    @classmethod
    def make(cls, turn: Turn) -> Self:
        """The function for one problem of a batch."""
        return cls(surrogate=turn.surrogate)  # type: ignore[call-arg]

    @classmethod
    def explain_unbounded(cls, kernel: str) -> str | None:
        """Why branch and bound and the MIP can't minimise it under a kernel; None if they can."""
        return None if cls.has_frontier else "nothing is known of the acquisition but its values"

    @classmethod
    def forecast_searches(cls, kernel: str) -> int:
        """Lower confidence bounds that are minimised for one problem under a kernel, about."""
        return cls.searches

    @abstractmethod
    def combine(self, mean: Array, std: Array) -> Array:
        """The value for a mean and standard deviation of :attr:`posterior`, element by element."""

    def given(self, surrogate: GraphGP) -> Self:
        """The same rule on a fitted surrogate."""
        return replace(self, surrogate=surrogate)  # type: ignore[type-var]

    @property
    def gp(self) -> GraphGP:
        """The fitted surrogate, or :class:`SettingError` if none was given."""
        if self.surrogate is None:
            raise SettingError("the acquisition must be given a surrogate; call .given(gp) first")
        return self.surrogate

    @property
    def posterior(self) -> Posterior:
        """Mean and standard deviation as functions of feature rows: a few arrays."""
        return self.gp.posterior_

    @property
    def features(self) -> FeatureMap:
        """The feature map whose rows :attr:`posterior` takes."""
        return self.gp.features

    @property
    def linear(self) -> LinearAcquisition | None:
        """Itself, if its value is μ - √β σ of :attr:`posterior`; else None."""
        return None

    @property
    def informed(self) -> bool | None:
        """Whether the surrogate has learnt anything; None if it was not checked."""
        check: ModelCheck | None = getattr(self.gp, "check_", None)
        return None if check is None else check.learnt

    def predict(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array]:
        """The surrogate's posterior mean μ and standard deviation σ of each graph."""
        return self.gp.predict(graphs)

    def assess(self, graphs: Sequence[LabeledGraph]) -> tuple[Array, Array, Array]:
        """The acquisition value of each graph, and the surrogate's μ and σ."""
        mean, std = self.predict(graphs)
        return self.combine(mean, std), mean, std

    def score(self, graphs: Sequence[LabeledGraph]) -> Array:
        """The acquisition value of each graph."""
        return self.assess(graphs)[0]

    def list_observed(self) -> list[LabeledGraph]:
        """The observed graphs, those of lowest error first."""
        return [self.gp.graphs_[i] for i in np.argsort(self.gp.targets_, kind="stable")]

    def gather(self, measure: Measure) -> Array:
        """The value at every graph, given a function that measures a posterior at every graph."""
        return self.combine(*self.find_moments(measure))

    def find_moments(self, measure: Measure) -> tuple[Array, Array]:
        """Mean and deviation that it combines, given a function that measures a posterior."""
        return measure(self)

    def assume_predicted(self, graphs: Sequence[LabeledGraph]) -> Self:
        """A copy of the function, as if these graphs had come out as its surrogate predicts."""
        return self.given(self.gp.assume_predicted(graphs)) if graphs else self

    def predict_parts(self, graphs: Sequence[LabeledGraph]) -> list[tuple[PartPosterior, ...]]:
        """Mean and deviation of each objective, per graph; empty tuples if there is only one."""
        return [()] * len(graphs)

    def condition_on_batch(self, proposed: Sequence[LabeledGraph]) -> GraphGP:
        """The surrogate for the rest of a batch, once these graphs are part of it."""
        return self.gp

    def forget_believed(self) -> Self | None:
        """The function before any graph was believed: a lower bound of this one.

        None if none were, or if nothing is known of it. A function that rises with μ and falls with
        σ has one: believing leaves every μ as it is, and no σ grows.
        """
        return None

    def _move_to_origin(self) -> Self | None:
        origin = self.gp.origin
        return None if origin is None else self.given(origin)


class LinearAcquisition(Acquisition):
    """μ - √β σ of a posterior: what branch and bound and the MIP minimise."""

    sqrt_beta: float

    @classmethod
    def explain_unbounded(cls, kernel: str) -> str | None:
        """None: lower confidence bounds can be minimised under every kernel with bounds."""
        return None

    @property
    def linear(self) -> LinearAcquisition:
        """The function itself, which is linear already."""
        return self

    def combine(self, mean: Array, std: Array) -> Array:
        """μ - √β σ, element by element."""
        return mean - self.sqrt_beta * std


@dataclass(frozen=True, eq=False)
class LowerConfidenceBound(LinearAcquisition):
    """μ(x) - √β · σ(x), to be minimised over graphs x.

    Args:
        sqrt_beta: √β_t; 3 in the paper.
        surrogate: The fitted Gaussian process; :meth:`given` sets it.

    Example:
        >>> LowerConfidenceBound(sqrt_beta=2.0).combine(np.array([1.0]), np.array([0.5])).tolist()
        [0.0]
    """

    sqrt_beta: float = 3.0
    surrogate: GraphGP | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.sqrt_beta < np.inf:
            raise SettingError(f"sqrt_beta must be a number from 0 up, got {self.sqrt_beta!r}")

    def forget_believed(self) -> Self | None:
        """The bound before graphs were believed to come out as predicted."""
        return self._move_to_origin()

    @classmethod
    def make(cls, turn: Turn) -> LowerConfidenceBound:
        """With the √β whose turn it is."""
        return cls(turn.sqrt_beta, turn.surrogate)


@dataclass(frozen=True, eq=False)
class AcquisitionProblem:
    """A fitted lower confidence bound to minimise, and the keys of the observed graphs."""

    acquisition: LowerConfidenceBound
    observed: frozenset[bytes]


def random_problem(
    space: SearchSpace,
    observations: int = 50,
    kernel: str = "linear",
    sqrt_beta: float = 3.0,
    seed: int = 0,
) -> AcquisitionProblem:
    """Observe random graphs under a random linear function of their features, plus noise.

    Example:
        >>> from nasgoat import nasbench201
        >>> problem = random_problem(nasbench201(), observations=20, seed=1)
        >>> len(problem.observed), problem.acquisition.sqrt_beta
        (20, 3.0)
    """
    if observations < 1:
        raise SettingError(f"observations must be at least 1, got {observations}")
    rng = np.random.default_rng([seed, observations])
    graphs = space.sample(observations, rng)
    rows = FeatureMap(space).rows(graphs)
    values = rows @ rng.standard_normal(rows.shape[1])
    values = values / (values.std() or 1.0) + np.sqrt(NOISE) * rng.standard_normal(len(values))
    surrogate = GraphGP(space, ShortestPathKernel(kernel), noise=NOISE, target="plain")
    surrogate.fit(graphs, values.tolist())
    keys = frozenset(space.key(graph) for graph in graphs)
    return AcquisitionProblem(LowerConfidenceBound(sqrt_beta, surrogate), keys)
