"""The marginal likelihood against scikit-learn's own and against finite differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from nasgoat import ShortestPathKernel
from nasgoat.surrogate.likelihood import MarginalLikelihood, make_likelihood

RNG = np.random.default_rng(0)
ROWS, TARGETS = RNG.random((9, 6)), RNG.standard_normal(9)
SHARE = np.array([1.0, 0.5, 1, 1, 1, 0.25, 1, 1, 1])
CASES = [
    (form, widths, noise)
    for form in ("linear", "exponential")
    for widths in ((4, 2, 0), (3, 0, 3), (2, 2, 2))
    for noise in (None, 0.03)
]


def likelihood(form: str, widths: tuple[int, int, int], noise: float | None) -> MarginalLikelihood:
    kernel = ShortestPathKernel(form, widths=widths)
    return make_likelihood(kernel, ROWS, TARGETS, SHARE, 1e-10, noise)


@pytest.mark.parametrize(("form", "widths", "noise"), CASES)
class TestEveryLikelihood:
    def test_gradient_equals_finite_differences(
        self, form: str, widths: tuple[int, int, int], noise: float | None
    ) -> None:
        function = likelihood(form, widths, noise)
        theta = RNG.standard_normal(len(function.names)) / 2
        gradient = function(theta)[1]
        for i, expected in enumerate(gradient):
            shift = 1e-6 * np.eye(len(theta))[i]
            slope = (function(theta + shift)[0] - function(theta - shift)[0]) / 2e-6
            assert slope == pytest.approx(expected, rel=1e-5, abs=1e-6)

    def test_value_equals_that_of_scikit_learn(
        self, form: str, widths: tuple[int, int, int], noise: float | None
    ) -> None:
        function = likelihood(form, widths, noise)
        theta = RNG.standard_normal(len(function.names)) / 2
        inner = theta if noise is not None else theta[:-1]
        variance = noise if noise is not None else float(np.exp(theta[-1]))
        kernel = function.kernel.clone_with_theta(inner)
        own = GaussianProcessRegressor(kernel, alpha=variance * SHARE + 1e-10, optimizer=None)
        expected = own.fit(ROWS, TARGETS).log_marginal_likelihood_value_
        assert function(theta)[0] == pytest.approx(expected, rel=1e-9)

    def test_the_maximum_is_not_below_any_random_point(
        self, form: str, widths: tuple[int, int, int], noise: float | None
    ) -> None:
        function = likelihood(form, widths, noise)
        kernel, found = function.maximize(restarts=3, seed=0)
        best = [np.log(getattr(kernel, name, found)) for name in function.names]
        value = function(np.array(best))[0]
        for _ in range(50):
            theta = RNG.uniform(np.log(0.01), 0.0, size=len(best))
            assert function(theta)[0] <= value + 1e-4  # the optimiser's tolerance
