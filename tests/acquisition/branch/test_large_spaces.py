"""Spaces too large for the catalogue, against exhaustive search by halves and against SCIP."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import (
    ChainSpace,
    EdgeLabeledSpace,
    GraphGP,
    LowerConfidenceBound,
    NodeLabeledSpace,
    ShortestPathKernel,
    darts,
)
from nasgoat.acquisition import Status, make_optimizer, random_problem
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.spaces import DartsSpace
from nasgoat.surrogate.posterior import LinearPosterior, make_posterior

TIES = 1e-9  # sums in different orders


def sampled(space: DartsSpace | NodeLabeledSpace, t: int, seed: int) -> LowerConfidenceBound:
    rng = np.random.default_rng(seed)
    graphs = space.sample(t, rng)
    gp = GraphGP(space, ShortestPathKernel("linear", 30.0, 30.0, 10.0))
    rows = gp.features.rows(graphs)
    y = rows @ rng.normal(size=rows.shape[1])
    gp.graphs_, gp.targets_ = graphs, (y - y.mean()) / y.std()
    gp.posterior_ = make_posterior(gp.kernel, rows, np.full(t, 1e-3), gp.targets_)
    return LowerConfidenceBound().given(gp)


def combinations(columns: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sums of one row of each block, in the order of the digits."""
    total = np.zeros((1, columns[0].shape[1]))
    for block in columns:
        total = (total[:, None] + block[None]).reshape(-1, total.shape[1])
    return total


def search_exhaustively(
    space: DartsSpace, acquisition: LowerConfidenceBound, k: int
) -> list[float]:
    """The k lowest values of all cells: every structure, its edges split into two halves."""
    features = acquisition.gp.features
    posterior = acquisition.gp.posterior_
    assert isinstance(posterior, LinearPosterior)
    part = posterior.fold_to_counts(features, space.nodes)
    columns = np.column_stack([part.w, acquisition.sqrt_beta * part.R])
    place = {edge: i for i, edge in enumerate(features.edge_types, len(features.path_types))}
    lowest: list[float] = []
    for structure in space.listed[space.nodes].adjacency:
        ends = [(int(u), int(v)) for u, v in np.argwhere(structure)]
        cell = np.zeros(len(space.places), dtype=int)
        cell[[space.places.index(edge) for edge in ends]] = 1
        paths = features.counts(space.batch_from_digits(cell[None]))[0, : len(features.path_types)]
        blocks = [columns[[place[u, v, label] for label in range(len(space.ops))]] for u, v in ends]
        middle = len(blocks) // 2
        left, right = combinations(blocks[:middle]), combinations(blocks[middle:])
        left = left + paths @ columns[: len(paths)]
        square = (left[:, 1:] ** 2).sum(axis=1)[:, None] + (right[:, 1:] ** 2).sum(axis=1)
        square += 2 * left[:, 1:] @ right[:, 1:].T
        values = left[:, :1] + right[:, 0] - np.sqrt(np.maximum(square, 0.0))
        lowest = sorted([*lowest, *np.partition(values.ravel(), k)[:k].tolist()])[:k]
    return lowest


def values_of(space: DartsSpace, acquisition: LowerConfidenceBound) -> list[float | None]:
    return [proposal.lcb for proposal in BranchAndBound(space).optimize(acquisition, 5)]


def test_exhaustive_search_and_branch_and_bound_agree_on_a_smaller_cell() -> None:
    space = DartsSpace(nodes=5, ops=["a", "b", "c", "d"])
    acquisition = sampled(space, 40, 0)
    assert values_of(space, acquisition) == pytest.approx(
        search_exhaustively(space, acquisition, 5), abs=TIES
    )


@pytest.mark.slow
@pytest.mark.parametrize(("t", "seed"), [(50, 0), (150, 1)])
def test_the_best_darts_cells_are_those_of_the_exhaustive_search(t: int, seed: int) -> None:
    acquisition = sampled(darts(), t, seed)
    assert values_of(darts(), acquisition) == pytest.approx(
        search_exhaustively(darts(), acquisition, 5), abs=TIES
    )


@pytest.mark.slow
def test_the_best_darts_cell_is_that_of_scip() -> None:
    acquisition = sampled(darts(), 50, 0)
    best = BranchAndBound(darts()).optimize(acquisition)[0].lcb
    assert best is not None
    assert make_optimizer("scip", darts()).optimize(acquisition)[0].lcb == pytest.approx(
        best,
        rel=1e-4,  # SCIP's gap
    )


@pytest.mark.slow
def test_the_best_cell_of_eight_nodes_is_that_of_scip() -> None:
    space = NodeLabeledSpace(8, ["a", "b", "c"], max_edges=10)
    acquisition = sampled(space, 50, 0)
    best = BranchAndBound(space).optimize(acquisition)[0].lcb
    assert best is not None
    # On its own: by default the MIP takes bounds from branch and bound.
    solver = MipOptimizer(space, independent=True, child=False)
    assert solver.optimize(acquisition)[0].lcb == pytest.approx(best, rel=solver.limits.gap)


def test_two_nodes_are_searched_too() -> None:
    space = NodeLabeledSpace(2, ["a", "b"])
    acquisition = random_problem(space, 1).acquisition
    pool = BranchAndBound(space).optimize(acquisition, 3)
    assert len(pool) == 1
    assert pool.certificate.status is Status.OPTIMAL


@pytest.mark.parametrize(
    "space",
    [EdgeLabeledSpace(8, ["a", "b", "c"]), DartsSpace(12, ["a", "b"])],
    ids=["2^28 structures", "DARTS of 12 nodes"],
)
def test_a_time_limit_ends_the_listing_of_structures(
    space: EdgeLabeledSpace | DartsSpace,
) -> None:
    acquisition = random_problem(space, 5).acquisition
    pool = BranchAndBound(space, time_limit=0.1).optimize(acquisition, 3)
    assert len(pool) == 3
    assert pool.certificate.status is Status.FEASIBLE
    assert pool.certificate.bound is not None
    listed = next(iter(space.structures(space.sizes[-1])))
    assert len(listed) <= 2**17  # a portion, not all of them


def test_half_of_a_long_chain_is_never_listed_under_the_exponential_kernel() -> None:
    space = ChainSpace(20, [f"op{i}" for i in range(9)])
    acquisition = random_problem(space, 8, kernel="exponential").acquisition
    pool = BranchAndBound(space, time_limit=0.5).optimize(acquisition, 2)
    assert len(pool) == 2
    assert pool.certificate.status is Status.FEASIBLE
