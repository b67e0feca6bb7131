"""Bounds of all structures at once against those that the search takes one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from nasgoat import GraphGP, NodeLabeledSpace, ShortestPathKernel, darts, nasbench201
from nasgoat.acquisition import random_problem
from nasgoat.acquisition.branch.cells.domains import make_limit_rows
from nasgoat.acquisition.branch.cells.reference import measure_changes
from nasgoat.acquisition.branch.cells.search import LinearRun
from nasgoat.acquisition.branch.cells.structure_bounds import Multipliers, bound_structures
from nasgoat.acquisition.branch.cells.structures import Listing
from nasgoat.acquisition.branch.cells.tables import make_tables
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace
from nasgoat.surrogate.posterior import LinearPosterior, make_posterior
from tests.acquisition.branch.problems import bound_shapes

SPACES = {
    "sizes": NodeLabeledSpace((2, 6), ["a", "b"]),
    "sparse": NodeLabeledSpace(7, ["a", "b", "c"], max_edges=9),
    "one operation": NodeLabeledSpace(5, ["a"]),
    "edges": nasbench201(),
    "darts": darts(),
}
ROUNDING = 1e-9  # what the bounds in step give away, relative to values of size 1


def run_of(space: CellSpace) -> LinearRun:
    gp = GraphGP(space, ShortestPathKernel("linear", 3.0, 3.0, 3.0))
    features, rng = gp.features, np.random.default_rng(1)
    rows = features.rows(space.sample(30, rng))
    y, noise = rng.normal(size=len(rows)), np.full(len(rows), 1e-3)
    posterior = make_posterior(gp.kernel, rows, noise, y)
    assert isinstance(posterior, LinearPosterior)
    (block,) = Listing(space, False).list_blocks()
    tables = make_tables(features, posterior, 3.0)
    return LinearRun(block, tables, make_limit_rows(block), lambda: -np.inf)


@pytest.mark.parametrize("name", SPACES)
def test_structures_in_step_have_the_bounds_of_structures_one_by_one(name: str) -> None:
    in_step, one_by_one = run_of(SPACES[name]), run_of(SPACES[name])
    one_by_one._groups.clear()
    assert len(bound_shapes(in_step)) == in_step.nodes
    difference = bound_shapes(one_by_one) - in_step.roots
    assert difference.min() >= -1e-12  # never above, but for the last bits of sums
    assert difference.max() <= ROUNDING


@pytest.mark.parametrize("seed", range(4))
def test_any_prices_and_any_c_bound_all_labels(seed: int) -> None:
    space, rng = NodeLabeledSpace(5, ["a", "b", "c"]), np.random.default_rng(seed)
    acquisition = random_problem(space, 15, seed=seed).acquisition
    posterior = acquisition.gp.posterior_
    assert isinstance(posterior, LinearPosterior)
    (block,) = Listing(space, False).list_blocks()
    (group,) = block.groups
    tables = make_tables(FeatureMap(space), posterior, acquisition.sqrt_beta)
    changes = measure_changes(tables, block.shapes, block.classes, 3)
    total = len(group.rows)
    prices = rng.normal(size=(total, 3))
    multipliers = Multipliers(prices=prices, stretch=np.exp(rng.normal(size=total)))
    every = np.array(list(product(range(3), repeat=3)))
    least = np.array(
        [
            (
                acquisition.score([block.make_graph(row, labels) for labels in every])
                + prices[every].sum(axis=1)
            ).min()
            for row, prices in zip(group.rows.tolist(), multipliers.prices, strict=True)
        ]
    )
    for sweeps in (1, 2, 6):
        bounds = bound_structures(tables, block.shapes, changes, group, multipliers, sweeps)
        assert np.isfinite(bounds).all()
        assert (bounds <= least + ROUNDING).all()
