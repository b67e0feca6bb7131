"""Every optimiser asks the acquisition function for its narrow interface alone."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import BranchAndBound, Catalogue, EdgeLabeledSpace, LowerConfidenceBound
from nasgoat.acquisition import Sampling, random_problem
from nasgoat.acquisition.lower_confidence_bound import Measure
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate import Posterior

SPACE = EdgeLabeledSpace(4, ["a", "b"])


class Narrow:
    """Has what optimisers ask of an acquisition function that is linear, and no surrogate."""

    def __init__(self, acquisition: LowerConfidenceBound) -> None:
        self._inner = acquisition
        self.sqrt_beta: float = acquisition.sqrt_beta
        self.posterior: Posterior = acquisition.posterior
        self.features: FeatureMap = acquisition.features
        self.informed: bool | None = acquisition.informed

    def combine(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._inner.combine(mean, std)

    def predict(
        self, graphs: Sequence[LabeledGraph]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._inner.predict(graphs)

    def assess(self, graphs: Sequence[LabeledGraph]) -> tuple[NDArray[np.float64], ...]:
        return self._inner.assess(graphs)

    def gather(self, measure: Measure) -> NDArray[np.float64]:
        return self.combine(*measure(self))

    def forget_believed(self) -> None:
        return None

    def predict_parts(self, graphs: Sequence[LabeledGraph]) -> list[tuple[()]]:
        return [()] * len(graphs)

    @property
    def linear(self) -> "Narrow":
        return self


@pytest.mark.parametrize("kernel", ["linear", "exponential"])
@pytest.mark.parametrize("optimizer", [Catalogue, BranchAndBound, Sampling])
def test_optimisers_need_the_posterior_and_the_weight_alone(
    optimizer: type[Catalogue | BranchAndBound | Sampling], kernel: str
) -> None:
    problem = random_problem(SPACE, 10, kernel)
    expected = optimizer(SPACE).optimize(problem.acquisition, 3, problem.observed)
    narrow = Narrow(problem.acquisition)
    found = optimizer(SPACE).optimize(narrow, 3, problem.observed)  # type: ignore[arg-type]
    assert len(found) == 3
    assert [(p.graph, p.lcb) for p in found] == [(p.graph, p.lcb) for p in expected]


def test_the_score_is_the_mean_less_the_weighted_deviation() -> None:
    acquisition = random_problem(SPACE, 10, sqrt_beta=2.0).acquisition
    graphs = SPACE.sample(5, np.random.default_rng(0))
    mean, std = acquisition.predict(graphs)
    assert acquisition.score(graphs) == pytest.approx(mean - 2.0 * std)


def test_an_acquisition_without_a_surrogate_says_how_to_give_one() -> None:
    with pytest.raises(SettingError, match="given"):
        _ = LowerConfidenceBound().posterior
