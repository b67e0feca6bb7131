"""Long chains: the convex bound against all labellings, and its search against the catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nasgoat import ChainSpace
from nasgoat.acquisition import Catalogue, Status, random_problem
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.structures import Listing
from nasgoat.acquisition.branch.cells.tables import make_tables
from nasgoat.acquisition.branch.convex import long_chains
from nasgoat.acquisition.branch.convex.bound import AddedColumns, ConvexBound, find_block_majorant
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import LinearPosterior

Case = tuple[int | tuple[int, int], int, float]
AGREES = 1e-9  # values of two optimisers: rounding


def make_space(layers: int | tuple[int, int], labels: int, seed: int, share: float) -> ChainSpace:
    """Chains under two limits, each of which about so large a share of the longest satisfies."""
    ops = [f"op{i}" for i in range(labels)]
    most = layers if isinstance(layers, int) else layers[1]
    rng = np.random.default_rng(seed)
    tables = {name: rng.uniform(0.5, 5.0, (labels, most)).round(2) for name in ("time", "size")}
    drawn = rng.integers(labels, size=(500, most))
    totals = {name: table[drawn, np.arange(most)].sum(axis=1) for name, table in tables.items()}
    texts = [f"sum({name}) <= {np.quantile(totals[name], share):.3f}" for name in tables]
    costs = {name: dict(zip(ops, table.tolist(), strict=True)) for name, table in tables.items()}
    return ChainSpace(layers, ops).constrain(*texts, costs=costs)


def make_columns(space: ChainSpace, seed: int, observations: int = 12) -> AddedColumns:
    acquisition = random_problem(space, observations, seed=seed).acquisition
    (block,) = Listing(space, False).list_blocks()
    posterior = acquisition.posterior
    assert isinstance(posterior, LinearPosterior)
    tables = make_tables(FeatureMap(space), posterior, acquisition.sqrt_beta)
    return AddedColumns.of(block, tables, make_limit_rows(block), len(block.shapes.home) - 1)


def list_all(columns: AddedColumns) -> np.ndarray:
    variables, labels, _ = columns.label.shape
    return np.indices((labels,) * variables).reshape(variables, -1).T


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_a_block_majorant_is_block_diagonal_and_no_less_than_the_matrix(
    variables: int, labels: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((variables * labels, 3))
    gram = root @ root.T
    found = find_block_majorant(gram, labels, rng.uniform(0.1, 1.0, variables * labels))
    outside = np.kron(np.eye(variables), np.ones((labels, labels))) == 0
    assert (found[outside] == 0.0).all()
    assert np.linalg.eigvalsh(found - gram)[0] >= -1e-9 * np.trace(gram)


@pytest.mark.parametrize("seed", range(6))
def test_the_relaxed_bound_holds_for_every_labelling_that_is_allowed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = make_columns(make_space(5, 3, seed, 0.6), seed)
    every = list_all(columns)
    every = every[columns.measure_excess(every) <= 0.0]
    values, bound = columns.evaluate(every), ConvexBound(columns)
    root = bound.find_root()
    assert root.bound <= values.min()
    compared = 0
    for _ in range(5):
        allowed = rng.random(root.point.shape) < 0.6
        allowed[np.arange(5), rng.integers(3, size=5)] = True
        inside = allowed[np.arange(5), every].all(axis=1)
        found = bound.relax(allowed)
        least = values[inside].min(initial=np.inf)
        assert found.bound <= least
        for i, label in zip(*np.nonzero(allowed), strict=True):
            there = values[inside & (every[:, i] == label)].min(initial=np.inf)
            assert found.bound + found.more[i, label] <= there + AGREES
            compared += np.isfinite(there)
    assert compared > 10


def test_columns_add_up_to_the_acquisition_of_a_chain() -> None:
    space = make_space(6, 3, 0, 1.0)
    acquisition = random_problem(space, 12, seed=3).acquisition
    columns = make_columns(space, 3)
    chains = space.sample(20, np.random.default_rng(1))
    labels = np.array([space.digits(chain).astype(int) - 1 for chain in chains])
    assert columns.evaluate(labels) == pytest.approx(acquisition.score(chains), abs=AGREES)
    assert (columns.measure_excess(labels) <= 0.0).all()


CASES = [(6, 3, 1.0), (6, 3, 0.4), ((2, 6), 3, 0.5), (5, 4, 0.3), ((1, 5), 2, 0.8), (7, 2, 0.7)]


def compare_with_catalogue(case: Case, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layers, labels, share = case
    monkeypatch.setattr(long_chains, "MANY_LABELLINGS", 0)
    monkeypatch.setattr(long_chains, "_LISTED", 4)
    space = make_space(layers, labels, seed, share)
    problem = random_problem(space, 8, seed=seed)
    expected = Catalogue(space).optimize(problem.acquisition, 5, problem.observed)
    found = BranchAndBound(space).optimize(problem.acquisition, 5, problem.observed)
    assert found.certificate.status is Status.OPTIMAL
    values = [proposal.lcb for proposal in found]
    assert values == pytest.approx([p.lcb for p in expected], abs=AGREES)
    assert all(proposal.graph in space for proposal in found)


@pytest.mark.parametrize("case", CASES)
def test_relaxations_find_the_five_best_chains_of_the_catalogue(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_with_catalogue(case, 0, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 34))
@pytest.mark.parametrize("case", CASES)
def test_relaxations_agree_with_the_catalogue_on_200_problems(
    case: Case, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_with_catalogue(case, seed, monkeypatch)


def test_a_stopped_search_of_relaxations_has_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_chains, "MANY_LABELLINGS", 0)
    space = make_space(6, 3, 5, 0.5)
    problem = random_problem(space, 10, seed=5)
    best = Catalogue(space).optimize(problem.acquisition, 1, problem.observed).certificate.value
    pool = BranchAndBound(space, time_limit=0).optimize(problem.acquisition, 5, problem.observed)
    assert len(pool) == 5
    bound, value = pool.certificate.bound, pool.certificate.value
    assert best is not None
    assert bound is not None
    assert value is not None
    assert bound <= best <= value


def test_limits_that_no_chain_satisfies_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_chains, "MANY_LABELLINGS", 0)
    whole = ChainSpace(6, ["a", "b", "c"])
    acquisition = random_problem(whole, 10).acquisition
    space = whole.constrain("a + b <= 2", "c <= 3")
    pool = BranchAndBound(space).optimize(acquisition, 3)
    assert len(pool) == 0
    assert pool.certificate.status is Status.EXHAUSTED


@pytest.mark.slow
def test_a_chain_of_twenty_layers_is_searched_within_a_small_gap() -> None:
    space = make_space(20, 9, 0, 0.3)
    problem = random_problem(space, 30, seed=0)
    pool = BranchAndBound(space, time_limit=3).optimize(problem.acquisition, 5, problem.observed)
    assert len(pool) == 5
    assert pool.certificate.gap is not None
    assert pool.certificate.gap < 0.5
    assert all(proposal.graph in space for proposal in pool)
