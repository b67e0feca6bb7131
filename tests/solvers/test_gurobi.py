"""Gurobi, on what its free licence admits."""

import numpy as np
import pytest

from nasgoat import Catalogue, EdgeLabeledSpace, GraphGP, LowerConfidenceBound, NodeLabeledSpace
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.solvers import SolveLimits, SolverMissingError
from nasgoat.spaces import SearchSpace

pytest.importorskip("gurobipy", reason="Gurobi is optional")
SMALL = EdgeLabeledSpace(nodes=3, ops=["a", "b"])


def acquisition(space: SearchSpace, form: str = "linear") -> LowerConfidenceBound:
    rng = np.random.default_rng(0)
    cells = space.sample(5, rng)
    gp = GraphGP(space, kernel=form, noise=1e-3).fit(cells, rng.random(len(cells)).tolist())
    return LowerConfidenceBound().given(gp)


@pytest.mark.parametrize(
    "space", [SMALL, NodeLabeledSpace(nodes=(2, 4), ops=["a", "b"], max_edges=5)]
)
def test_gurobi_finds_the_catalogues_three_best(space: SearchSpace) -> None:
    lcb = acquisition(space)
    optimizer = MipOptimizer(space, solver="gurobi", limits=SolveLimits(gap=0.0), child=False)
    try:
        pool = optimizer.optimize(lcb, 3)
    except SolverMissingError as refused:
        pytest.skip(str(refused))
    expected = Catalogue(space).optimize(lcb, 3)
    # Gurobi's own tolerance on the variance row decides which graphs enter its pool.
    assert [p.lcb for p in pool] == pytest.approx([p.lcb for p in expected], abs=1e-5)


def test_what_the_licence_refuses_names_scip() -> None:
    space = NodeLabeledSpace(nodes=(7, 7), ops=["a", "b", "c"], max_edges=9)
    optimizer = MipOptimizer(space, solver="gurobi", formulation="paper", child=False)
    try:
        optimizer.optimize(acquisition(space), 1)
    except SolverMissingError as refused:
        assert "scip" in str(refused)
    else:
        pytest.skip("a full licence admits it")


def test_the_exponential_kernel_is_left_to_scip() -> None:
    optimizer = MipOptimizer(SMALL, solver="gurobi", child=False)
    with pytest.raises(SolverMissingError, match="scip"):
        optimizer.optimize(acquisition(SMALL, "exponential"), 1)
