"""The Gaussian process against scikit-learn's own, and what it does with odd data."""

import logging
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from nasgoat import GraphGP, LabeledGraph, ShortestPathKernel, nasbench101, nasbench201
from nasgoat.errors import ObservationError, SettingError, SurrogateError, UnknownNameError
from nasgoat.kernels import FORMS, block_names
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import graph_gp
from nasgoat.surrogate.likelihood import make_likelihood, spread_evenly
from nasgoat.surrogate.posterior import make_posterior

SPACES = {"nb101": nasbench101(), "nb201": nasbench201()}


def observed(
    space: SearchSpace, count: int, seed: int = 0
) -> tuple[list[LabeledGraph], list[float]]:
    rng = np.random.default_rng(seed)
    graphs = space.sample(count, rng)
    return graphs, [10 + g.n + len(g.edges) + 0.1 * rng.standard_normal() for g in graphs]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_predictions_equal_those_of_scikit_learn(space: SearchSpace, form: str) -> None:
    graphs, errors = observed(space, 40)
    gp = GraphGP(space, form, target="log").fit(graphs, errors)
    unseen = space.sample(30, np.random.default_rng(1))
    own = GaussianProcessRegressor(
        gp.gpr_.kernel_, alpha=gp.noise_ + gp.jitter_, optimizer=None
    ).fit(gp.features.rows(graphs), gp.scale_.to_target(np.array(errors)))
    mean, std = own.predict(gp.features.rows(unseen), return_std=True)
    ours = gp.predict(unseen)
    assert ours[0] == pytest.approx(mean, abs=1e-7)
    assert ours[1] == pytest.approx(std, abs=1e-6)  # theirs is the root of a difference


def test_the_normalised_form_is_a_gaussian_of_weighted_distances() -> None:
    space = nasbench101()
    graphs, errors = observed(space, 30)
    kernel = ShortestPathKernel("normalised", 0.8, 1.7, variance=2.5, operations=0.6)
    gp = GraphGP(space, kernel, noise=1e-2)
    rows, weights = gp.features.rows(graphs), gp.kernel.weights()
    theirs = ConstantKernel(2.5) * RBF(1 / np.sqrt(weights))
    assert gp.kernel(rows) == pytest.approx(theirs(rows), abs=1e-12)
    gp.fit(graphs, errors)
    fitted = gp.gpr_.kernel_
    lengths = 1 / np.sqrt(fitted.weights())
    own = GaussianProcessRegressor(
        ConstantKernel(fitted.variance) * RBF(lengths), alpha=1e-2 + gp.jitter_, optimizer=None
    ).fit(rows, gp.targets_)
    unseen = space.sample(20, np.random.default_rng(1))
    mean, std = own.predict(gp.features.rows(unseen), return_std=True)
    assert gp.predict(unseen)[0] == pytest.approx(mean, abs=1e-7)
    assert gp.predict(unseen)[1] == pytest.approx(std, abs=1e-6)


def test_many_observations_share_the_hyperparameters_of_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs, errors = observed(nasbench201(), 90)
    monkeypatch.setattr(graph_gp, "spread_evenly", partial(spread_evenly, most=60))
    gp = GraphGP(nasbench201(), "exponential", target="plain").fit(graphs, errors)
    part = spread_evenly(gp.targets_, most=60)
    assert len({*part.tolist()}) == 60
    assert {int(np.argmin(gp.targets_)), int(np.argmax(gp.targets_))} <= {*part.tolist()}
    rows = gp.features.rows(graphs)
    few = make_likelihood(gp.kernel, rows[part], gp.targets_[part], np.ones(60), gp.jitter_, None)
    kernel, noise = few.maximize(0, 0)
    assert gp.gpr_.kernel_ == kernel
    assert gp.noise_ == noise
    mean, _ = make_posterior(kernel, rows, np.full(90, noise + gp.jitter_), gp.targets_).mean_std(
        rows
    )
    assert gp.predict(graphs)[0] == pytest.approx(mean)  # of all ninety
    assert spread_evenly(gp.targets_, most=90).tolist() == list(range(90))


@pytest.mark.parametrize("form", FORMS)
def test_hyperparameters_are_at_a_maximum_of_the_likelihood(form: str) -> None:
    graphs, errors = observed(nasbench101(), 40)
    gp = GraphGP(nasbench101(), form, noise=1e-2, target="log").fit(graphs, errors)
    best = gp.gpr_.log_marginal_likelihood(gp.gpr_.kernel_.theta)
    rng = np.random.default_rng(0)
    bounds = gp.gpr_.kernel_.bounds
    for _ in range(30):
        near = gp.gpr_.kernel_.theta + 0.1 * rng.standard_normal(len(bounds))
        theta = np.clip(near, bounds[:, 0], bounds[:, 1])
        assert gp.gpr_.log_marginal_likelihood(theta) <= best + 1e-3  # the optimiser's tolerance


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize(
    "blocks", [("paths", "nodes", "edges"), ("nodes", "edges", "shape"), tuple(block_names())]
)
def test_posterior_on_counts_is_the_posterior_on_rows(
    space: SearchSpace, form: str, blocks: tuple[str, ...]
) -> None:
    graphs, errors = observed(space, 30)
    gp = GraphGP(space, form, blocks=blocks).fit(graphs, errors)
    batch = space.batch([g for g in graphs if g.n == graphs[0].n])
    counts = gp.features.counts(batch)
    folded = gp.posterior_.fold_to_counts(gp.features, graphs[0].n).mean_std(counts)
    plain = gp.posterior_.mean_std(gp.features.rows(batch))
    assert folded[0] == pytest.approx(plain[0], abs=1e-9)
    assert folded[1] == pytest.approx(plain[1], abs=1e-7)


def test_repeated_observations_are_merged_to_their_mean_with_less_noise() -> None:
    space = nasbench201()
    graphs, errors = observed(space, 10)
    twice = GraphGP(space, noise=0.1, target="plain", standardize=False)
    twice.fit([*graphs, graphs[0]], [*errors, errors[0] + 2.0])
    assert len(twice.gpr_.y_train_) == 10
    assert twice.gpr_.y_train_[0] == pytest.approx(errors[0] + 1.0)
    assert twice.gpr_.alpha[0] == pytest.approx(0.05)
    assert twice.gpr_.alpha[1] == pytest.approx(0.1)


def test_isomorphic_observations_are_merged() -> None:
    labels = ["input", "conv3x3", "conv1x1", "output"]
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    one = LabeledGraph.from_edges(4, edges, labels)
    other = LabeledGraph.from_edges(4, edges, [labels[0], labels[2], labels[1], labels[3]])
    gp = GraphGP(nasbench101()).fit([one, other], [1.0, 2.0])
    assert len(gp.gpr_.y_train_) == 1


@pytest.mark.parametrize("target", ["rank", "log", "plain"])
@pytest.mark.parametrize("errors", [[3.0], [3.0] * 5, [1e-300, 1e150], [5.0, 90.0]])
@pytest.mark.filterwarnings("error")
def test_odd_data_give_a_finite_posterior(errors: list[float], target: str) -> None:
    space = nasbench201()
    graphs = space.sample(len(errors), np.random.default_rng(0))
    gp = GraphGP(space, target=target).fit(graphs, errors)
    mean, std = gp.predict(space.sample(5, np.random.default_rng(1)))
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert np.isfinite(gp.to_error(mean)).all()


def test_errors_that_are_not_positive_are_learnt_plain(caplog: pytest.LogCaptureFixture) -> None:
    space = nasbench201()
    graphs = space.sample(3, np.random.default_rng(0))
    with caplog.at_level(logging.WARNING):
        gp = GraphGP(space, target="log").fit(graphs, [0.0, -1.0, 5.0])
    assert gp.scale_.kind == "plain"
    assert "got -1; they are learnt as they are" in caplog.text


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_errors_that_are_not_finite_are_refused(bad: float) -> None:
    graphs = nasbench201().sample(2, np.random.default_rng(0))
    with pytest.raises(ObservationError, match=f"finite, got {bad}"):
        GraphGP(nasbench201()).fit(graphs, [1.0, bad])


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ObservationError, match="got 0 graphs and 0 errors"):
        GraphGP(nasbench201()).fit([], [])
    with pytest.raises(SettingError, match="'fit' or a positive number, got 0"):
        GraphGP(nasbench201(), noise=0)
    with pytest.raises(UnknownNameError, match="did you mean rank"):
        graphs = nasbench201().sample(1, np.random.default_rng(0))
        GraphGP(nasbench201(), target="ranks").fit(graphs, [1.0])


def test_noise_is_fitted_to_the_noise_there_is() -> None:
    space, rng = nasbench201(), np.random.default_rng(0)
    graphs = space.sample(150, rng)
    clean = np.array([len(g.edges) for g in graphs], dtype=float)
    fitted = {}
    for sd in (0.01, 0.5):
        noisy = clean + sd * rng.standard_normal(len(clean))
        gp = GraphGP(space, target="plain", standardize=False).fit(graphs, noisy.tolist())
        fitted[sd] = math.sqrt(gp.noise_)
    assert fitted[0.01] < 0.05
    assert 0.35 < fitted[0.5] < 0.65


def test_hyperparameters_are_public() -> None:
    graphs, errors = observed(nasbench101(), 15)
    gp = GraphGP(nasbench101(), ShortestPathKernel("exponential", alpha=2.0)).fit(graphs, errors)
    assert set(gp.hyperparameters) == {"alpha", "beta", "variance", "noise"}


def test_jitter_escalates_with_a_line_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    def singular_twice(*arguments: Any) -> object:
        calls.append(arguments)
        if len(calls) <= 2:
            raise np.linalg.LinAlgError("not positive definite")
        return make_posterior(*arguments)

    monkeypatch.setattr("nasgoat.surrogate.graph_gp.make_posterior", singular_twice)
    graphs, errors = observed(nasbench201(), 5)
    with caplog.at_level(logging.INFO):
        gp = GraphGP(nasbench201()).fit(graphs, errors)
    assert gp.jitter_ == 1e-8
    assert "singular with jitter 1e-09" in caplog.text


def test_a_kernel_that_stays_singular_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*arguments: Any) -> object:
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr("nasgoat.surrogate.graph_gp.make_posterior", singular)
    graphs, errors = observed(nasbench201(), 5)
    with pytest.raises(
        SurrogateError, match=r"singular one with jitter 0.0001; set a larger noise"
    ):
        GraphGP(nasbench201()).fit(graphs, errors)
