"""Bounds of all structures at once against those that the search takes one by one."""

from __future__ import annotations

import numpy as np
import pytest

from nasgoat import GraphGP, NodeLabeledSpace, ShortestPathKernel, darts, nasbench201
from nasgoat.acquisition.branch.limits import limits_of
from nasgoat.acquisition.branch.runs import LinearRun
from nasgoat.acquisition.branch.skeletons import Skeletons
from nasgoat.acquisition.branch.states import states_of
from nasgoat.acquisition.branch.tables import tables_of
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
