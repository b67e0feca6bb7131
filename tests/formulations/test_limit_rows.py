"""Limits in the mathematical programs: one named row each, and the same graphs as the space's."""

import numpy as np
import pytest

from nasgoat import DartsSpace, EdgeLabeledSpace, LowerConfidenceBound, NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.formulations import (
    FORMULATIONS,
    GraphPoint,
    domain_model,
    entry_name,
    formulate,
    graph_encoding,
)
from nasgoat.formulations.acquisition_model import cell_domain
from nasgoat.formulations.compact_model import Cell
from nasgoat.formulations.kernel_encoding import distance_indicators
from nasgoat.formulations.limit_rows import distance_by_indicator, limit_rows
from nasgoat.solvers.scip_model import ScipModel
from nasgoat.spaces.names import topological_orders

SPACES = [
    NodeLabeledSpace(4, ["a", "b"]).constrain("a <= 1", "depth >= 2"),
    NodeLabeledSpace(4, ["a", "b"]).constrain("1000000*a + b <= 1000001", "edges + depth == 6"),
    EdgeLabeledSpace(3, ["a", "b"]).constrain("2*a + b <= 4", "edges == 3"),
    EdgeLabeledSpace(3, ["a", "b"], connected=False).constrain("depth <= 1", "a >= 1"),
    DartsSpace(4, ["a", "b"]).constrain("depth == 2", "a - b >= 0"),
    DartsSpace(4, ["a", "b"]).constrain("depth + nodes <= 5"),
    DartsSpace(4, ["a", "b"]).constrain("nodes <= 3"),
]


def acquisition(space: Cell) -> LowerConfidenceBound:
    return random_problem(space.with_limits(()), observations=4).acquisition


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_each_limit_is_one_named_row(formulation: str) -> None:
    space = EdgeLabeledSpace(4, ["a", "b"]).constrain({"few a": "a <= 2", "long": "depth >= 2"})
    model = formulate(space, acquisition(space), formulation)
    rows = [entry_name(row) for row in model.rows.constraints() if "(limit)" in entry_name(row)]
    assert rows == ["(limit)0_few_a", "(limit)1_long"]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("space", SPACES[:6], ids=lambda space: space.describe())
def test_a_graph_is_feasible_exactly_if_it_is_within_its_limits(
    space: Cell, formulation: str
) -> None:
    plain = space.with_limits(())
    model = formulate(space, acquisition(space), formulation)
    free = formulate(plain, acquisition(space), formulation)
    rng = np.random.default_rng(0)
    for graph in plain.sample(12, rng):
        values = {**free.encode(graph)}
        point = model.rows.values(GraphPoint(model.ordered(graph), model.n, model.features))
        values |= {name: value for name, value in point.items() if name.startswith("D(")}
        broken = [row for row, _ in model.rows.violations(values)]
        assert (not broken) == (graph in space), broken
        assert all("(limit)" in row for row in broken)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.describe())
def test_scip_counts_the_graphs_within_the_limits(space: Cell) -> None:
    n = space.sizes[-1]
    graphs = [graph for batch in space.enumerate() for graph in batch]
    orders = sum(len(topological_orders(g, 100)) if g.node_labels else 1 for g in graphs)
    assert ScipModel(domain_model(space, n)).count() == orders
    rows = graph_encoding(n)
    cell_domain(rows, space)
    distance_indicators(rows)
    limit_rows(rows, space, distance_by_indicator)
    assert ScipModel(rows).count() == orders
