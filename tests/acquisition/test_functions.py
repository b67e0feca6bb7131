"""Expected improvement and Thompson sampling: what they are, and exact minima."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from nasgoat import BranchAndBound, Catalogue, EdgeLabeledSpace, LowerConfidenceBound, nasbench201
from nasgoat.acquisition import (
    Acquisition,
    ExpectedImprovement,
    Mutation,
    Pool,
    Reason,
    Sampling,
    Status,
    ThompsonSampling,
    Turn,
    choose,
    find_acquisition,
    make_optimizer,
    random_problem,
    register_acquisition,
)
from nasgoat.acquisition.functions import LargestDeviation, log_improvement
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels import FORMS
from nasgoat.spaces import SearchSpace
from tests.acquisition.branch import problems

SPACE = EdgeLabeledSpace(4, ["a", "b"])
KERNELS = ("linear", "exponential")
#: Of the size of a value: μ and σ of the catalogue and of a search differ by rounding.
AGREEMENT = 1e-9

finite = st.floats(-5.0, 5.0)
deviation = st.floats(0.0, 5.0)


@cache
def make_ei(kernel: str = "linear", observations: int = 10) -> ExpectedImprovement:
    return ExpectedImprovement(random_problem(SPACE, observations, kernel).acquisition.gp)


def values_of(pool: Pool) -> NDArray[np.float64]:
    return np.array([proposal.lcb for proposal in pool], dtype=float)


@pytest.mark.parametrize(("shift", "std"), [(0.0, 1.0), (2.0, 0.5), (-1.5, 0.7), (-3.0, 1.0)])
def test_expected_improvement_is_the_integral(shift: float, std: float) -> None:
    ei = make_ei()
    mean = ei.best_mean - shift
    integral, _ = quad(
        lambda y: (ei.best_mean - y) * norm.pdf(y, mean, std), mean - 12 * std, ei.best_mean
    )
    found = np.exp(-ei.combine(np.array([mean]), np.array([std])))
    assert found == pytest.approx(integral, rel=1e-8)


@pytest.mark.parametrize("t", [0.5, 0.999, 1.0, 1.001, 5.0, 30.0, 99.999, 100.001, 1000.0])
def test_the_logarithm_is_right_where_the_improvement_underflows(t: float) -> None:
    # φ(t) - t Φ(-t) = φ(t) ∫ v exp(-t v - v²/2) dv over v > 0: no difference of equals.
    rest, _ = quad(lambda v: v * np.exp(-v - 0.5 * (v / t) ** 2), 0, 60, epsabs=0, epsrel=1e-12)
    expected = -0.5 * t * t - 0.5 * np.log(2 * np.pi) + np.log(rest) - 2 * np.log(t)
    assert log_improvement(np.array([-t]))[0] == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_a_certain_graph_that_is_no_better_has_a_finite_value() -> None:
    ei = make_ei()
    values = ei.combine(np.array([ei.best_mean, ei.best_mean + 1.0]), np.zeros(2))
    assert np.isfinite(values).all()
    assert values[0] < values[1]


def test_the_best_value_is_the_lowest_mean_of_what_was_observed_or_believed() -> None:
    ei = make_ei()
    graphs = list(ei.gp.graphs_)
    assert ei.best_mean == pytest.approx(ei.gp.predict(graphs)[0].min())
    unseen = SPACE.sample(20, np.random.default_rng(3))
    after = ExpectedImprovement(ei.condition_on_batch(unseen))
    assert after.best_mean == pytest.approx(after.gp.predict([*graphs, *unseen])[0].min())
    assert after.best_mean <= ei.best_mean + 1e-9  # means stay as they are, up to rounding


@given(a=finite, b=finite, low=deviation, high=deviation, share=st.floats(0.0, 1.0))
def test_expected_improvement_has_a_frontier(
    a: float, b: float, low: float, high: float, share: float
) -> None:
    ei = make_ei()
    mean, std = np.array([a, b]), np.array([low, high])
    one, other = ei.combine(mean, std)
    slack = 1e-9 * (1 + abs(one) + abs(other))
    assert ei.combine(mean.min(keepdims=True), std.max(keepdims=True))[0] <= min(one, other) + slack
    shares = np.array([share, 1 - share])
    mixed = ei.combine(shares @ mean[:, None], shares @ std[:, None])
    assert mixed[0] >= min(one, other) - slack  # quasi-concave


@pytest.mark.parametrize("kernel", FORMS)
def test_draws_have_mean_and_covariance_of_the_joint_posterior(kernel: str) -> None:
    gp = random_problem(SPACE, 8, kernel, seed=2).acquisition.gp
    graphs = SPACE.sample(12, np.random.default_rng(1))
    rows, seen = gp.features.rows(graphs), gp._observed[0]
    total = 1500
    draws = np.array(
        [gp.draw(np.random.default_rng([seed])).mean_std(rows)[0] for seed in range(total)]
    )
    k = gp.gpr_.kernel_
    cross = k(rows, seen)
    covariance = k(rows) - cross @ np.linalg.solve(k(seen) + np.diag(gp._observed[2]), cross.T)
    mean, std = gp.predict(graphs)
    assert np.sqrt(np.diag(covariance)) == pytest.approx(std, abs=1e-6)
    # Standard errors of a mean and of a product of two deviations; 5 of them.
    assert abs(draws.mean(axis=0) - mean).max() < (5 * std / np.sqrt(total)).max()
    error = np.sqrt((np.outer(std, std) ** 2 + covariance**2) / total)
    centred = draws - mean
    assert (abs(centred.T @ centred / total - covariance) < 5 * error + 1e-12).all()


@pytest.mark.parametrize("kernel", FORMS)
def test_a_draw_passes_near_the_observations(kernel: str) -> None:
    gp = random_problem(SPACE, 6, kernel).acquisition.gp
    values, none = ThompsonSampling(3, gp).posterior.mean_std(gp._observed[0])
    _, std = gp.predict(gp.graphs_)
    assert (abs(values - gp.predict(gp.graphs_)[0]) < 5 * std).all()
    assert (none == 0).all()


@pytest.mark.parametrize("kernel", FORMS)
@pytest.mark.parametrize("name", ["ei", "thompson"])
def test_the_catalogue_scores_every_graph(name: str, kernel: str) -> None:
    problem = random_problem(SPACE, 10, kernel)
    acquisition = find_acquisition(name).make(Turn(problem.acquisition.gp, seed=4))
    graphs = [graph for batch in SPACE.enumerate() for graph in batch]
    every = acquisition.score(graphs)
    pool = Catalogue(SPACE).optimize(acquisition, 5)
    assert values_of(pool) == pytest.approx(np.sort(every)[:5], abs=1e-9)
    mean, std = problem.acquisition.predict([proposal.graph for proposal in pool])
    assert [proposal.mean for proposal in pool] == pytest.approx(mean)
    assert [proposal.std for proposal in pool] == pytest.approx(std)


def test_candidates_are_scored_by_any_acquisition_function() -> None:
    gp = random_problem(SPACE, 10, "exponential").acquisition.gp
    for acquisition in (ExpectedImprovement(gp), ThompsonSampling(1, gp)):
        best = Catalogue(SPACE).optimize(acquisition)[0].lcb or 0.0
        for optimizer in (Mutation(SPACE), Sampling(SPACE)):
            pool = optimizer.optimize(acquisition, 3)
            assert pool[0].certificate.status is Status.HEURISTIC
            assert (values_of(pool) >= best - AGREEMENT).all()


def compare(name: str, form: str, seed: int, largest: int) -> None:
    problem = problems.random_problem(form, seed, largest)
    acquisition = find_acquisition(name).make(Turn(problem.acquisition.gp, seed=seed))
    expected = Catalogue(problem.space).optimize(acquisition, problem.k, problem.exclude)
    found = BranchAndBound(problem.space, None).optimize(acquisition, problem.k, problem.exclude)
    assert len(found) == len(expected)
    if len(found):
        assert found.certificate.status is Status.OPTIMAL
        assert all(proposal.certificate.gap == 0.0 for proposal in found)
        assert values_of(found) == pytest.approx(values_of(expected), rel=AGREEMENT, abs=AGREEMENT)
    else:
        assert found.certificate.status is Status.EXHAUSTED


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("name", "form"), [("ei", "linear"), ("ei", "exponential"), ("thompson", "linear")]
)
def test_branch_and_bound_agrees_with_the_catalogue(name: str, form: str, seed: int) -> None:
    compare(name, form, seed, largest=5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form", "total"),
    [("ei", "linear", 200), ("ei", "exponential", 200), ("thompson", "linear", 200)],
)
def test_they_agree_on_two_hundred_problems(name: str, form: str, total: int) -> None:
    for seed in range(1000, 1000 + total):
        compare(name, form, seed, largest=6)


@pytest.mark.parametrize("name", ["ei", "thompson"])
def test_the_mip_agrees_with_the_catalogue(name: str) -> None:
    space = EdgeLabeledSpace(3, ["a", "b"])
    problem = random_problem(space, 4)
    acquisition = find_acquisition(name).make(Turn(problem.acquisition.gp, seed=1))
    expected = Catalogue(space).optimize(acquisition, 3, problem.observed)
    mip = MipOptimizer(space, child=False, independent=True)
    found = mip.optimize(acquisition, 3, problem.observed)
    assert found.certificate.status is Status.OPTIMAL
    assert values_of(found) == pytest.approx(values_of(expected), abs=AGREEMENT)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "total"), [("ei", 20), ("thompson", 200)])
def test_the_mip_agrees_on_many_problems(name: str, total: int) -> None:
    for seed in range(total):
        problem = problems.random_problem("linear", seed, largest=4)
        acquisition = find_acquisition(name).make(Turn(problem.acquisition.gp, seed=seed))
        expected = Catalogue(problem.space).optimize(acquisition, problem.k, problem.exclude)
        mip = MipOptimizer(problem.space, child=False)
        found = mip.optimize(acquisition, problem.k, problem.exclude)
        same = pytest.approx(values_of(expected), rel=AGREEMENT, abs=AGREEMENT)
        assert values_of(found) == same


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_time_limit_leaves_a_valid_bound(kernel: str) -> None:
    problem = random_problem(nasbench201(), 20, kernel)
    ei = ExpectedImprovement(problem.acquisition.gp)
    best = Catalogue(nasbench201()).optimize(ei, 3, problem.observed)
    stopped = BranchAndBound(nasbench201(), None, time_limit=0.0)
    pool = stopped.optimize(ei, 3, problem.observed)
    assert len(pool) == 3
    for proposal, optimum in zip(pool, best, strict=True):
        bound, value, least = proposal.certificate.bound, proposal.lcb, optimum.lcb
        assert bound is not None and value is not None and least is not None
        assert bound <= least + AGREEMENT
        assert value >= least - AGREEMENT


def test_the_largest_deviation_is_found_exactly() -> None:
    problem = random_problem(SPACE, 10, "exponential")
    acquisition = LargestDeviation(problem.acquisition.gp)
    graphs = [graph for batch in SPACE.enumerate() for graph in batch]
    found = BranchAndBound(SPACE, None).optimize(acquisition)[0]
    assert found.std == pytest.approx(problem.acquisition.predict(graphs)[1].max())


@dataclass(frozen=True, eq=False)
class Middling(Acquisition):
    """Prefers a mean of 0: no bound on means and deviations bounds it."""

    surrogate: object = None  # type: ignore[assignment]

    def combine(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
        return abs(mean)


def test_a_function_of_ones_own_is_minimised_by_the_catalogue_and_refused_by_bounds() -> None:
    register_acquisition("middling", Middling)
    assert find_acquisition("middling") is Middling
    acquisition = Middling(random_problem(SPACE, 10).acquisition.gp)
    graphs = [graph for batch in SPACE.enumerate() for graph in batch]
    best = Catalogue(SPACE).optimize(acquisition)[0]
    assert best.lcb == pytest.approx(abs(acquisition.gp.predict(graphs)[0]).min())
    with pytest.raises(SettingError, match="use the catalogue"):
        BranchAndBound(SPACE, None).optimize(acquisition)
    assert isinstance(choose(SPACE, acquisition="middling").forecasts["branch"], Reason)
    with pytest.raises(SettingError, match="a name of its own, got 'ei'"):
        register_acquisition("ei", Middling)


def test_auto_says_which_optimisers_a_draw_is_out_of_reach_for() -> None:
    space: SearchSpace = nasbench201()
    assert choose(space, "exponential", acquisition="thompson").name == "catalogue"
    reason = choose(space, "exponential", acquisition="thompson").forecasts["branch"]
    assert isinstance(reason, Reason)
    assert "not a sum over features" in reason.said
    assert not isinstance(choose(space, acquisition="thompson").forecasts["branch"], Reason)
    with pytest.raises(SettingError, match="branch must come with the linear kernel"):
        make_optimizer("branch", space, kernel="exponential", acquisition="thompson")
    with pytest.raises(UnknownNameError, match="did you mean thompson"):
        choose(space, acquisition="tompson")


def test_improvement_costs_branch_and_bound_several_searches() -> None:
    one, several = (
        choose(nasbench201(), name="branch", acquisition=name).seconds for name in ("lcb", "ei")
    )
    assert one is not None
    assert several == pytest.approx(ExpectedImprovement.searches * one)


def test_the_same_rule_takes_another_surrogate() -> None:
    one, other = (random_problem(SPACE, 10, seed=seed).acquisition.gp for seed in (0, 1))
    assert ThompsonSampling(5, one).given(other).gp is other
    assert LowerConfidenceBound(2.0, one).given(other).sqrt_beta == 2.0
