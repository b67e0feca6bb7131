"""The marginal likelihood against scikit-learn's own and against finite differences."""

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from nasgoat import ShortestPathKernel
from nasgoat.kernels import FORMS
from nasgoat.surrogate.likelihood import MarginalLikelihood, make_likelihood

RNG = np.random.default_rng(0)
ROWS, TARGETS = RNG.random((9, 6)), RNG.standard_normal(9)
SHARE = np.array([1.0, 0.5, 1, 1, 1, 0.25, 1, 1, 1])
CASES = [
    (form, widths, noise)
    for form in FORMS
    for widths in ((4, 2, 0), (3, 0, 3), (2, 2, 2), (2, 1, 0, 3))
    for noise in (None, 0.03)
]


def likelihood(
    form: str, widths: tuple[int, ...], noise: float | None, priors: bool = False
) -> MarginalLikelihood:
    others: dict[str, Any] = {"shape": 1.0} if len(widths) > 3 else {}
    kernel = ShortestPathKernel(form, widths=widths, **others)
    return make_likelihood(kernel, ROWS, TARGETS, SHARE, 1e-10, noise, priors)


@pytest.mark.parametrize(("form", "widths", "noise"), CASES)
class TestEveryLikelihood:
    def test_gradient_equals_finite_differences(
        self, form: str, widths: tuple[int, ...], noise: float | None
    ) -> None:
        function = likelihood(form, widths, noise)
        theta = RNG.standard_normal(len(function.names)) / 2
        gradient = function(theta)[1]
        for i, expected in enumerate(gradient):
            shift = 1e-6 * np.eye(len(theta))[i]
            slope = (function(theta + shift)[0] - function(theta - shift)[0]) / 2e-6
            assert slope == pytest.approx(expected, rel=1e-5, abs=1e-6)

    def test_value_equals_that_of_scikit_learn(
        self, form: str, widths: tuple[int, ...], noise: float | None
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
        self, form: str, widths: tuple[int, ...], noise: float | None
    ) -> None:
        function = likelihood(form, widths, noise)
        kernel, found = function.maximize(restarts=3, seed=0)
        best = [np.log(getattr(kernel, name, found)) for name in function.names]
        value = function(np.array(best))[0]
        for _ in range(50):
            theta = RNG.uniform(np.log(0.01), 0.0, size=len(best))
            assert function(theta)[0] <= value + 1e-4  # the optimiser's tolerance


@pytest.mark.parametrize(("form", "widths", "noise"), CASES)
class TestEveryPrior:
    def test_gradient_equals_finite_differences(
        self, form: str, widths: tuple[int, ...], noise: float | None
    ) -> None:
        function = likelihood(form, widths, noise, priors=True)
        theta = RNG.standard_normal(len(function.names))
        slopes = function.weigh(theta)[1]
        for i, expected in enumerate(slopes):
            shift = 1e-6 * np.eye(len(theta))[i]
            slope = (function.weigh(theta + shift)[0] - function.weigh(theta - shift)[0]) / 2e-6
            assert slope == pytest.approx(expected, rel=1e-5, abs=1e-6)

    def test_the_fit_maximises_likelihood_times_prior(
        self, form: str, widths: tuple[int, ...], noise: float | None
    ) -> None:
        function = likelihood(form, widths, noise, priors=True)
        kernel, found = function.maximize(restarts=3, seed=0)
        best = np.log([getattr(kernel, name, found) for name in function.names])
        value = function(best)[0] + function.weigh(best)[0]
        for _ in range(50):
            theta = best + 0.3 * RNG.standard_normal(len(best))
            assert function(theta)[0] + function.weigh(theta)[0] <= value + 1e-4  # its tolerance


def test_priors_are_those_of_the_page() -> None:
    function = likelihood("exponential", (2, 2, 2), None, priors=True)
    means = np.array([-1.0, -1.0, -1.0, 0.0, -4.0])  # weights, variance, noise
    assert function.weigh(means)[0] == 0
    assert function.weigh(means + 1.5)[0] == pytest.approx(-0.5 * 5)  # one standard deviation each


def test_without_priors_nothing_is_weighed() -> None:
    function = likelihood("linear", (2, 2, 2), None)
    assert function.weigh(np.ones(4))[0] == 0
    assert not function.weigh(np.ones(4))[1].any()
