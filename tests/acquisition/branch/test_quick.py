"""Bounds of all structures at once against those that the search takes one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from nasgoat import GraphGP, NodeLabeledSpace, ShortestPathKernel, darts, nasbench201
from nasgoat.acquisition import random_problem
from nasgoat.acquisition.branch.kinds import measured_kinds
from nasgoat.acquisition.branch.limits import limits_of
from nasgoat.acquisition.branch.quick import Free, quick_bounds
from nasgoat.acquisition.branch.runs import LinearRun
from nasgoat.acquisition.branch.skeletons import Skeletons
from nasgoat.acquisition.branch.states import states_of
from nasgoat.acquisition.branch.tables import tables_of
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate.posterior import LinearPosterior, posterior_of

SPACES = {
    "sizes": NodeLabeledSpace((2, 6), ["a", "b"]),
    "sparse": NodeLabeledSpace(7, ["a", "b", "c"], max_edges=9),
    "one operation": NodeLabeledSpace(5, ["a"]),
    "edges": nasbench201(),
    "darts": darts(),
}
ROUNDING = 1e-9  # what the quick bounds give away, relative to values of size 1


def run_of(space: SearchSpace) -> LinearRun:
    gp = GraphGP(space, ShortestPathKernel("linear", 3.0, 3.0, 3.0))
    features, rng = gp.features, np.random.default_rng(1)
    rows = features.rows(space.sample(30, rng))
    y, noise = rng.normal(size=len(rows)), np.full(len(rows), 1e-3)
    posterior = posterior_of(gp.kernel, rows, noise, y)
    assert isinstance(posterior, LinearPosterior)
    (block,) = Skeletons(space, False).blocks()
    tables = tables_of(features, posterior, 3.0)
    arguments = (block, tables, states_of(block, tables), limits_of(block))
    return LinearRun(*arguments, lambda: -np.inf)


@pytest.mark.parametrize("name", SPACES)
def test_structures_in_step_have_the_bounds_of_structures_one_by_one(name: str) -> None:
    quick, slow = run_of(SPACES[name]), run_of(SPACES[name])
    slow._groups.clear()
    assert len(quick.bounds()) == quick.nodes
    difference = slow.bounds() - quick.roots
    assert difference.min() >= -1e-12  # never above, but for the last bits of sums
    assert difference.max() <= ROUNDING


@pytest.mark.parametrize("seed", range(4))
def test_any_prices_and_any_c_bound_all_labels(seed: int) -> None:
    space, rng = NodeLabeledSpace(5, ["a", "b", "c"]), np.random.default_rng(seed)
    acquisition = random_problem(space, 15, seed=seed).acquisition
    posterior = acquisition.gp.posterior_
    assert isinstance(posterior, LinearPosterior)
    (block,) = Skeletons(space, False).blocks()
    (group,) = block.groups
    tables = tables_of(FeatureMap(space), posterior, acquisition.sqrt_beta)
    kinds = measured_kinds(tables, block.shapes, states_of(block, tables), 3)
    free = Free(rng.normal(size=(len(group.rows), 3)), np.exp(rng.normal(size=len(group.rows))))
    every = np.array(list(product(range(3), repeat=3)))
    least = np.array(
        [
            (
                acquisition.score([block.graph(row, labels) for labels in every])
                + prices[every].sum(axis=1)
            ).min()
            for row, prices in zip(group.rows.tolist(), free.prices, strict=True)
        ]
    )
    for sweeps in (1, 2, 6):
        bounds = quick_bounds(tables, block.shapes, kinds, group, free, sweeps)
        assert np.isfinite(bounds).all()
        assert (bounds <= least + ROUNDING).all()
