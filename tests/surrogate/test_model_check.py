"""Leave-one-out predictions against actual refits, and what is said of a model."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from nasgoat import (
    GraphGP,
    LabeledGraph,
    NodeLabeledSpace,
    Optimizer,
    Settings,
    nasbench101,
    nasbench201,
)
from nasgoat.errors import NasgoatError
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import ModelCheck
from nasgoat.surrogate.model_check import (
    LEAST_CORRELATION,
    correlate_ranks,
    find_weak_points,
    leave_one_out,
)
from nasgoat.surrogate.posterior import make_posterior

SPACES = {"nb101": nasbench101(), "nb201": nasbench201()}
KERNELS = {"linear": "linear", "exponential": "exponential", "rbf": ConstantKernel() * RBF()}


def observed(space: SearchSpace, seed: int = 0) -> tuple[list[LabeledGraph], list[float]]:
    """Thirty graphs, some of them three times, with noise."""
    rng = np.random.default_rng(seed)
    graphs = space.sample(30, rng)
    graphs += graphs[:5] * 2
    return graphs, [20 - len(g.edges) + 0.5 * rng.standard_normal() for g in graphs]


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_leave_one_out_equals_refits_with_fixed_hyperparameters(
    space: SearchSpace, kernel: Kernel | str
) -> None:
    gp = GraphGP(space, kernel, noise=0.05, target="plain").fit(*observed(space))
    rows, targets, variances = gp._observed
    assert len(targets) == 30
    assert variances[0] == pytest.approx(variances[-1] / 3, rel=1e-6)  # observed three times
    C = gp.gpr_.kernel_(rows) + np.diag(variances)
    inverse = np.linalg.inv(C)
    mean, std = leave_one_out(targets, inverse @ targets, np.diag(inverse))
    for i in range(len(targets)):
        rest = np.arange(len(targets)) != i
        refit = make_posterior(gp.gpr_.kernel_, rows[rest], variances[rest], targets[rest])
        mu, sigma = refit.mean_std(rows[[i]])
        assert mean[i] == pytest.approx(mu[0], abs=1e-6)
        assert std[i] ** 2 == pytest.approx(sigma[0] ** 2 + variances[i], rel=1e-5)
    again = ModelCheck.of(targets, inverse @ targets, np.diag(inverse), gp.check_.at_bounds)
    assert gp.check_.coverage == again.coverage
    assert gp.check_.gain == pytest.approx(again.gain, abs=1e-6)
    assert gp.check_.rank_correlation == pytest.approx(again.rank_correlation, abs=1e-9)


def test_the_constant_of_the_gain_is_left_out_too() -> None:
    y = np.random.default_rng(0).standard_normal(12)
    perfect = ModelCheck.of(y, np.zeros(12), np.ones(12), ())  # predicts y, with sd 1
    v = y.var(ddof=1) * 12 / 11
    left = [(y[i] - np.delete(y, i).mean()) ** 2 for i in range(12)]
    constant = np.mean([-0.5 * np.log(2 * np.pi * v) - 0.5 * r / v for r in left])
    assert perfect.gain == pytest.approx(-0.5 * np.log(2 * np.pi) - constant)


def test_a_model_that_learns_is_told_from_one_that_does_not() -> None:
    space = nasbench201()
    cells = space.sample(60, np.random.default_rng(1))
    good = GraphGP(space).fit(cells, [float(len(c.edges)) for c in cells]).check_
    assert good.learnt
    assert "ranks graphs that it has not seen" in good.describe()
    noise = np.random.default_rng(0).standard_normal((8, 60))
    fits = [GraphGP(space, "exponential").fit(cells, y.tolist()).check_ for y in noise]
    bad = [check for check in fits if not check.learnt]
    assert len(bad) >= 6  # about one in eight passes by chance
    for check in bad:
        assert check.rank_correlation is not None
        assert check.rank_correlation < LEAST_CORRELATION
        assert "has learnt nothing" in check.describe()
        assert all(name in check.describe() for name in check.at_bounds)
    assert any(check.at_bounds for check in bad)


def test_what_is_missing_is_none_and_not_learnt() -> None:
    space = nasbench201()
    cells = space.sample(6, np.random.default_rng(0))
    for errors in ([5.0] * 6, [1.0, 2.0]):
        check = GraphGP(space).fit(cells[: len(errors)], errors).check_
        assert check.rank_correlation is None
        assert check.gain is None
        assert not check.learnt
        assert "can't be told yet (rank correlation not defined)" in check.describe()


def test_too_sure_is_said() -> None:
    assert "too sure of itself: 50%" in ModelCheck(0.9, 0.5, 1.0).describe()
    assert "no better than a constant" in ModelCheck(0.9, 0.95, -0.1).describe()


def test_a_correlation_near_minus_one_is_explained_and_an_objective_named() -> None:
    space = nasbench201()
    cells = space.sample(10, np.random.default_rng(0))
    y = np.arange(10.0)
    mean = np.array([np.delete(y, i).mean() for i in range(10)])
    assert correlate_ranks(mean, y) == pytest.approx(-1.0)  # what the words say
    check = GraphGP(space, "exponential").fit(cells, y.tolist()).check_
    words = replace(check, rank_correlation=-1.0, objective="latency").describe()
    assert "the model of latency has learnt nothing yet (rank correlation -1.00, as of" in words
    assert "the mean of the others" not in replace(check, rank_correlation=0.1).describe()


def test_weak_points_are_named() -> None:
    free = ["alpha", "gamma", "noise"]
    errors = [5.0, 5.1, 5.2, 5.3, 5.4]
    assert find_weak_points(errors, "plain", free) == {}
    assert "all 4 errors are equal (3)" in find_weak_points([3.0] * 4, "rank", free)["equal"]
    few = find_weak_points([1.0, 2.0], "rank", free)["few"]
    assert (
        "2 observations are fewer than the hyperparameters of the fit (alpha, gamma, noise)" in few
    )
    outlier = find_weak_points([*errors, 1e9], "log", free)
    assert "the error 1e+09 lies" in outlier["outlier"]
    assert find_weak_points([*errors, 1e9], "rank", free) == {}


def test_weak_points_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    optimizer = Optimizer(nasbench201(), Settings(kernel="linear"), initial=5)
    for _ in range(3):
        for proposal in optimizer.ask(5):
            optimizer.tell(proposal.graph, 7.0)
    assert caplog.text.count("errors are equal (7)") == 1


@pytest.mark.parametrize(("target", "times"), [("log", 1), ("rank", 0)])
def test_errors_that_are_not_positive_are_said_once_and_only_where_logarithms_are_asked_for(
    target: str, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    space = NodeLabeledSpace((2, 4), ["conv", "pool"])
    settings = Settings(kernel="evidence", target=target)
    optimizer = Optimizer(space, settings, "catalogue", initial=10, gain_margin=0.0)
    for _ in range(3):
        for proposal in optimizer.ask(10):
            optimizer.tell(proposal.graph, -float(len(proposal.graph.edges)))
    assert optimizer.gain is not None
    assert caplog.text.count("must be positive to learn their logarithm") == times


def test_damaged_checks_are_refused() -> None:
    with pytest.raises((NasgoatError, KeyError, TypeError)):
        ModelCheck.from_dict({"rank_correlation": 1.0})
