"""Labelled edges under the exponential kernel: labellings split in two against the catalogue."""

from __future__ import annotations

import numpy as np
import pytest

from nasgoat import (
    Catalogue,
    DartsSpace,
    EdgeLabeledSpace,
    LowerConfidenceBound,
    ShortestPathKernel,
)
from nasgoat.acquisition import Status
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.exponential import split_labellings
from nasgoat.acquisition.branch.exponential.model import Model
from nasgoat.acquisition.branch.exponential.split_labellings import score_kernels, take_tangent
from nasgoat.spaces import SearchSpace
from tests.acquisition.branch.problems import fitted, observed

TIES = 1e-9  # sums in different orders
SPACES: list[SearchSpace] = [
    DartsSpace(nodes=4, ops=["a", "b", "c"]),
    DartsSpace(nodes=5, ops=["a", "b"]).constrain("a <= 3"),
    EdgeLabeledSpace(nodes=4, ops=["a", "b", "c"], connected=True),
    EdgeLabeledSpace(nodes=4, ops=["a", "b", "c"]).constrain("0.3*a + 0.1*edges <= 1.1"),
]


@pytest.mark.parametrize("space", SPACES, ids=range(len(SPACES)))
@pytest.mark.parametrize("form", ["exponential", "normalised"])
@pytest.mark.parametrize("seed", range(3))
def test_split_labellings_find_the_best_graphs(
    space: SearchSpace, seed: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_labellings, "_MANY_OF_ONE", 1)
    kernel = ShortestPathKernel(form, 1.0 + seed, 0.5, 1.0)
    acquisition = LowerConfidenceBound().given(fitted(space, kernel, 30, seed))
    exclude = {space.key(graph) for graph in observed(space, 30, seed)}
    pool = BranchAndBound(space).optimize(acquisition, 6, exclude)
    oracle = Catalogue(space).optimize(acquisition, 6, exclude)
    assert pool.certificate.status is oracle.certificate.status
    found, expected = ([proposal.lcb for proposal in one] for one in (pool, oracle))
    assert found == pytest.approx(expected, abs=TIES)


def test_a_stopped_search_has_a_valid_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(split_labellings, "_MANY_OF_ONE", 1)
    space = SPACES[2]
    kernel = ShortestPathKernel("exponential")
    acquisition = LowerConfidenceBound().given(fitted(space, kernel, 20, 0))
    optimum = Catalogue(space).optimize(acquisition)[0].lcb
    pool = BranchAndBound(space, time_limit=0.0).optimize(acquisition)
    assert pool.certificate.status is Status.FEASIBLE
    assert optimum is not None
    assert pool.certificate.bound is not None
    assert pool.certificate.bound <= optimum + TIES


def test_a_tangent_is_below_every_value() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    gram = root @ root.T + 0.1 * np.eye(6)
    whitening = np.linalg.inv(np.linalg.cholesky(gram))
    settings = np.array([1.0, 3.0, 0.0])
    model = Model(dual=rng.normal(size=6), whitening=whitening, settings=settings)
    kernel = rng.normal(size=(200, 6))
    white = kernel @ whitening.T
    prior = (white**2).sum(axis=1) + rng.exponential(size=200)
    values, white, deviation = score_kernels(model, kernel, prior)
    for x in range(20):
        bounds = take_tangent(model, white[x], deviation[x]).bound(kernel, prior)
        assert (bounds <= values + TIES).all()
        assert bounds[x] == pytest.approx(values[x], abs=TIES)
