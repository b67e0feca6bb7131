"""A Gaussian process with any of scikit-learn's kernels on feature rows."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from nasgoat import GraphGP, LowerConfidenceBound, nasbench101, nasbench201
from nasgoat.acquisition import Catalogue
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.errors import SettingError
from nasgoat.formulations import formulate
from nasgoat.surrogate import KernelPosterior
from nasgoat.surrogate.likelihood import make_likelihood

SPACE = nasbench201()
CELLS = SPACE.sample(25, np.random.default_rng(0))
ERRORS = [8.0 + len(cell.edges) + 0.1 * i for i, cell in enumerate(CELLS)]


def smooth() -> Kernel:
    return ConstantKernel(2.0, (0.01, 100.0)) * RBF(0.7, (0.01, 100.0))


def fitted() -> GraphGP:
    return GraphGP(SPACE, smooth(), noise=0.01, target="plain").fit(CELLS, ERRORS)


@pytest.mark.parametrize("noise", [None, 0.05])
def test_the_gradient_of_the_likelihood_is_its_slope(noise: float | None) -> None:
    rows = fitted().features.rows(CELLS)
    rng = np.random.default_rng(1)
    targets, share = rng.standard_normal(len(rows)), rng.uniform(0.3, 1.0, len(rows))
    likelihood = make_likelihood(smooth(), rows, targets, share, 1e-8, noise)
    for point in rng.uniform(-1.0, 1.0, (3, len(likelihood.names))):
        error = check_grad(lambda x: likelihood(x)[0], lambda x: likelihood(x)[1], point)
        assert error < 1e-4  # of finite differences


def test_the_posterior_is_that_of_scikit_learn() -> None:
    gp = fitted()
    others = SPACE.sample(40, np.random.default_rng(2))
    gpr: GaussianProcessRegressor = gp.gpr_
    mean, std = gpr.predict(gp.features.rows(others), return_std=True)
    assert np.allclose(gp.predict(others)[0], mean, atol=1e-9)
    assert np.allclose(gp.predict(others)[1], std, atol=1e-7)


def test_the_catalogue_is_exact_for_it() -> None:
    acquisition = LowerConfidenceBound(2.0).given(fitted())
    pool = Catalogue(SPACE).optimize(acquisition, k=3)
    every = [graph for batch in SPACE.enumerate() for graph in batch]
    assert np.allclose(
        [p.lcb or 0.0 for p in pool], np.sort(acquisition.score(every))[:3], atol=1e-9
    )


def test_counts_of_graphs_of_any_size_are_scored_as_their_rows() -> None:
    space = nasbench101()
    cells = space.sample(20, np.random.default_rng(3))
    gp = GraphGP(space, smooth(), noise=0.1).fit(cells, range(20))
    for n in {cell.n for cell in cells}:
        same = [cell for cell in cells if cell.n == n]
        counts = gp.features.counts(space.batch(same))
        found = gp.posterior_.fold_to_counts(gp.features, n).mean_std(counts)
        assert np.allclose(found, gp.predict(same), atol=1e-12)


def test_the_mip_refuses_it() -> None:
    gp = fitted()
    assert isinstance(gp.posterior_, KernelPosterior)
    acquisition = LowerConfidenceBound().given(gp)
    with pytest.raises(SettingError, match="linear, exponential or normalised"):
        MipOptimizer(SPACE).optimize(acquisition)
    for formulation in ("compact", "paper"):
        with pytest.raises(SettingError, match="linear, exponential or normalised"):
            formulate(SPACE, acquisition, formulation)


def test_hyperparameters_are_named_and_fitted() -> None:
    gp = GraphGP(SPACE, smooth()).fit(CELLS, ERRORS)
    assert list(gp.hyperparameters) == ["k1__constant_value", "k2__length_scale", "noise"]
    assert gp.hyperparameters["k2__length_scale"] != pytest.approx(0.7)
