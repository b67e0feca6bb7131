from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from nasgoat import LabeledGraph, nasbench101, nasbench201
from nasgoat.baselines import Setup
from nasgoat.baselines.distance_gp import NOISE, DistanceSearch, GPBayesOpt, Nasbot, compute_kernel
from nasgoat.baselines.fixed_kernel import predict


def test_posterior_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x, new, y = rng.random((8, 1)), rng.random((5, 1)), rng.standard_normal(8)
    # exp(-|x - x'| / 9) is the Matérn kernel with ν = 1/2 and length 9
    matern = ConstantKernel(1.5**2, "fixed") * Matern(9.0, "fixed", nu=0.5)
    gpr = GaussianProcessRegressor(matern, alpha=NOISE, optimizer=None).fit(x, y)
    K, cross = compute_kernel(np.abs(x - x.T)), compute_kernel(np.abs(x - new.T))
    mean, std = predict(K, cross, 1.5**2, y, NOISE)
    expected_mean, expected_std = gpr.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-5)
    np.testing.assert_allclose(std, expected_std, rtol=1e-4)


def test_hamming_distance_by_hand() -> None:
    labels = ["input", "conv3x3", "output"]
    chain = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], labels)
    with_shortcut = LabeledGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)], labels)
    other = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv1x1", "output"])
    method = GPBayesOpt(Setup(nasbench101()))
    distances = method.measure_distances([chain], [chain, with_shortcut, other])
    assert distances.tolist() == [[0.0, 1.0, 1.0]]


def test_nasbot_distance_by_hand() -> None:
    labels = ["input", "conv3x3", "output"]
    chain = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], labels)
    with_shortcut = LabeledGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)], labels)
    other = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv1x1", "output"])
    method = Nasbot(Setup(nasbench101()))
    distances = method.measure_distances([chain], [chain, with_shortcut, other])
    # a further edge: one in-degree and one out-degree more; another operation: two counts differ
    assert distances.tolist() == [[0.0, 2.0, 2.0]]


def test_nasbot_distance_of_edge_labels_by_hand() -> None:
    space = nasbench201()
    cell, other = space.from_digits([1, 2, 3, 4, 1, 2]), space.from_digits([1, 2, 3, 4, 1, 0])
    # one conv less, one "none" more, one place differs
    assert Nasbot(Setup(space)).measure_distances([cell], [other]).tolist() == [[3.0]]


@pytest.mark.parametrize("kind", [GPBayesOpt, Nasbot])
def test_noise_is_fitted_where_errors_are_noisy_unless_as_published(
    kind: type[DistanceSearch],
) -> None:
    space = nasbench201()
    cells = space.sample(40, np.random.default_rng(0))
    y = np.random.default_rng(1).standard_normal(40)  # nothing but noise
    quiet, noisy = kind(Setup(space)), kind(Setup(space, noisy=True))
    published = kind(Setup(space, noisy=True), as_published=True)
    distances = quiet.measure_distances(cells, cells)
    assert quiet.fit_noise(distances, y) == published.fit_noise(distances, y) == NOISE
    assert noisy.fit_noise(distances, y) > 0.1
