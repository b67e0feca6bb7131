"""No structure that has a graph below the value is left out, whatever its labels."""

import time

import numpy as np
import pytest

from nasgoat import Catalogue, LabeledGraph, NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.cells.composition_bounds import choose_columns
from nasgoat.acquisition.proposals import Proposal
from nasgoat.formulations.structure_columns import StructureColumns
from nasgoat.kernels.summaries import list_compositions
from nasgoat.spaces.structures import list_acyclic_structures

SPACES = {
    "six nodes": NodeLabeledSpace((6, 6), ["a", "b", "c"], max_edges=8),
    "two operations": NodeLabeledSpace((3, 6), ["a", "b"], max_edges=7),
    "one operation": NodeLabeledSpace((6, 6), ["a"], max_edges=8),
    "four operations": NodeLabeledSpace((2, 5), ["a", "b", "c", "d"], max_edges=7),
}


def worth(proposal: Proposal) -> float:
    assert proposal.lcb is not None
    return proposal.lcb


def is_held(
    columns: StructureColumns, graph: LabeledGraph, value: float, space: NodeLabeledSpace
) -> bool:
    """Whether the list has the graph, with a bound that is not above its value."""
    labels = (graph.node_labels or ())[1:-1]
    found = (columns.allowed or {}).get(tuple(labels.count(op) for op in space.ops))
    matrix = columns.order(graph).adjacency
    return found is not None and any(
        (columns.adjacency[i] == matrix).all() and floor <= value
        for i, floor in zip(*found, strict=True)
    )


@pytest.mark.parametrize("t", [5, 40])
@pytest.mark.parametrize("name", SPACES)
def test_every_graph_below_the_value_is_held(name: str, t: int) -> None:
    space = SPACES[name]
    acquisition = random_problem(space, t, seed=t).acquisition
    pool = Catalogue(space).optimize(acquisition, k=30)
    value, n = worth(pool[-1]), space.sizes[-1]
    search = BranchAndBound(space, prefixes=False)
    columns = choose_columns(search, acquisition, n, value, np.inf)
    assert columns is not None
    wanted = [proposal for proposal in list(pool)[:-1] if proposal.graph.n == n]
    assert wanted
    assert all(is_held(columns, p.graph, worth(p), space) for p in wanted)
    # It is no list of everything.
    every = list_acyclic_structures(n, space.edge_limit).adjacency
    pairs = len(list(list_compositions(n - 2, len(space.ops)))) * len(every)
    assert columns.allowed is not None
    assert sum(len(found.structures) for found in columns.allowed.values()) < pairs


@pytest.mark.slow
def test_most_structures_are_left_out_where_much_is_known() -> None:
    space = NodeLabeledSpace(7, ["a", "b", "c"], max_edges=9)
    acquisition = random_problem(space, 150, seed=0).acquisition
    search = BranchAndBound(space)
    value = worth(search.optimize(acquisition, 5)[-1])
    columns = choose_columns(search, acquisition, 7, value, np.inf)
    assert columns is not None
    assert len(columns.adjacency) < 100  # of 1,574


def test_a_value_that_nothing_beats_leaves_nothing() -> None:
    space = SPACES["six nodes"]
    acquisition = random_problem(space, 20, seed=3).acquisition
    columns = choose_columns(BranchAndBound(space), acquisition, 6, -1e6, np.inf)
    assert columns is not None
    assert columns.allowed == {}


def test_without_time_every_structure_stays_that_no_bound_has_settled() -> None:
    space = SPACES["six nodes"]
    acquisition = random_problem(space, 20, seed=3).acquisition
    search = BranchAndBound(space)
    search.prepare()
    value = worth(search.optimize(acquisition, 5)[-1])
    hurried = choose_columns(search, acquisition, 6, value, time.perf_counter())
    patient = choose_columns(search, acquisition, 6, value, np.inf)
    assert hurried is not None
    assert patient is not None
    assert hurried.allowed
    assert patient.allowed
    assert set(patient.allowed) <= set(hurried.allowed)
    for C, found in patient.allowed.items():
        mine = {patient.adjacency[i].tobytes() for i in found.structures}
        assert mine <= {hurried.adjacency[i].tobytes() for i in hurried.allowed[C].structures}
