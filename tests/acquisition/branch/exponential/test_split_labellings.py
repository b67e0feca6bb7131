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
from nasgoat.acquisition.branch.exponential import split_labellings, split_structure
from nasgoat.acquisition.branch.exponential.kernel_rows import score_rows, take_tangents
from nasgoat.acquisition.branch.exponential.model import Model
from nasgoat.spaces import SearchSpace
from tests.acquisition.branch.problems import (
    fitted,
    observed,
    random_problem,
    space_of_labelled_edges,
)
from tests.acquisition.branch.test_branch_and_bound import assert_same, stopped_anywhere

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


def agrees(form: str, seed: int) -> None:
    problem = random_problem(form, seed, 5, space_of_labelled_edges)
    asked = problem.acquisition, problem.k, problem.exclude
    pool = BranchAndBound(problem.space).optimize(*asked)
    assert_same(problem, pool, Catalogue(problem.space).optimize(*asked))


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves for all structures, and steps of a few pairs, so that tiny spaces have many."""
    monkeypatch.setattr(split_labellings, "_MANY_OF_ONE", 0)
    monkeypatch.setattr(split_labellings, "_MANY_LABELLINGS", 500)
    monkeypatch.setattr(split_labellings, "_KEPT", 3)
    monkeypatch.setattr(split_structure, "_SAMPLE", 4)
    monkeypatch.setattr(split_structure, "_LOW", 2)
    monkeypatch.setattr(split_structure, "_ENTRIES", 40)
    monkeypatch.setattr(split_structure, "_BATCH", 7)


@pytest.mark.parametrize("form", ["exponential", "normalised"])
@pytest.mark.parametrize("seed", range(15))
@pytest.mark.usefixtures("small_steps")
def test_labelled_edges_agree_with_the_catalogue(seed: int, form: str) -> None:
    agrees(form, seed)


@pytest.mark.slow
@pytest.mark.usefixtures("small_steps")
def test_two_hundred_problems_of_labelled_edges_agree_with_the_catalogue() -> None:
    for seed in range(1000, 1100):
        for form in ("exponential", "normalised"):
            agrees(form, seed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("small_steps")
def test_a_search_of_halves_stopped_anywhere_has_a_valid_bound(seed: int) -> None:
    stopped_anywhere(SPACES[seed % len(SPACES)], "exponential", seed, prefixes=False)


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
    rows = np.column_stack([kernel, prior])
    values, white, deviation = score_rows(model, rows)
    bounds = take_tangents(model, white[:20], deviation[:20]).bound(rows)
    assert (bounds <= values + TIES).all()
    assert np.diag(bounds) == pytest.approx(values[:20], abs=TIES)
