"""Limits in the mathematical programs: one named row each, and the same graphs as the space's."""

import numpy as np
import pytest

from nasgoat import DartsSpace, EdgeLabeledSpace, LowerConfidenceBound, NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.formulations import (
    FORMULATIONS,
    GraphPoint,
    build_domain,
    formulate,
    graph_encoding,
    name_entry,
)
from nasgoat.formulations.cell_domains import restrict_to_paper_domain
from nasgoat.formulations.kernel_encoding import add_distance_indicators
from nasgoat.formulations.limit_rows import limit_cells
from nasgoat.solvers.scip_model import ScipModel
from nasgoat.spaces import CellSpace, ChainSpace
from nasgoat.spaces.names import list_topological_orders

SPACES = [
    NodeLabeledSpace(4, ["a", "b"]).constrain("a <= 1", "depth >= 2"),
    NodeLabeledSpace(4, ["a", "b"]).constrain("1000000*a + b <= 1000001", "edges + depth == 6"),
    EdgeLabeledSpace(3, ["a", "b"]).constrain("2*a + b <= 4", "edges == 3"),
    EdgeLabeledSpace(3, ["a", "b"], connected=False).constrain("depth <= 1", "a >= 1"),
    DartsSpace(4, ["a", "b"]).constrain("depth == 2", "a - b >= 0"),
    DartsSpace(4, ["a", "b"]).constrain("depth + nodes <= 5"),
    DartsSpace(4, ["a", "b"]).constrain("nodes <= 3"),
]
# An operation costs less in later layers.
BY_LAYER = ChainSpace(layers=(2, 3), ops=["a", "b"]).constrain(
    "sum(time) <= 4", costs={"time": {"a": [3, 2, 1], "b": 1}}
)


def acquisition(space: CellSpace) -> LowerConfidenceBound:
    return random_problem(space.with_limits(()), observations=4).acquisition


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_each_limit_is_one_named_row(formulation: str) -> None:
    space = EdgeLabeledSpace(4, ["a", "b"]).constrain({"few a": "a <= 2", "long": "depth >= 2"})
    model = formulate(space, acquisition(space), formulation)
    rows = [
        name_entry(row) for row in model.rows.list_constraints() if "(limit)" in name_entry(row)
    ]
    assert rows == ["(limit)0_few_a", "(limit)1_long"]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("space", SPACES[:6], ids=lambda space: space.describe())
def test_a_graph_is_feasible_exactly_if_it_is_within_its_limits(
    space: CellSpace, formulation: str
) -> None:
    plain = space.with_limits(())
    model = formulate(space, acquisition(space), formulation)
    free = formulate(plain, acquisition(space), formulation)
    rng = np.random.default_rng(0)
    for graph in plain.sample(12, rng):
        values = {**free.encode(graph)}
        point = model.rows.compute_values(GraphPoint(model.order(graph), model.n, model.features))
        values |= {name: value for name, value in point.items() if name.startswith("H(")}
        broken = [row for row, _ in model.rows.list_violations(values)]
        assert (not broken) == (graph in space), broken
        assert all("(limit)" in row for row in broken)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.describe())
def test_scip_counts_the_graphs_within_the_limits(space: CellSpace) -> None:
    n = space.sizes[-1]
    graphs = [graph for batch in space.enumerate() for graph in batch]
    orders = sum(len(list_topological_orders(g, 100)) if g.node_labels else 1 for g in graphs)
    assert ScipModel(build_domain(space, n)).count() == orders
    rows = graph_encoding(n)
    restrict_to_paper_domain(rows, space)
    add_distance_indicators(rows)
    limit_cells(rows, space)
    assert ScipModel(rows).count() == orders


@pytest.mark.parametrize("n", BY_LAYER.sizes)
def test_costs_may_differ_by_place(n: int) -> None:
    within = BY_LAYER.with_nodes(n).count()
    assert 0 < within < 2 ** (n - 1)
    assert ScipModel(build_domain(BY_LAYER, n)).count() == within
    rows = graph_encoding(n)
    restrict_to_paper_domain(rows, BY_LAYER)
    add_distance_indicators(rows)
    limit_cells(rows, BY_LAYER)
    assert ScipModel(rows).count() == within
