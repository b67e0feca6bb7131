from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import EdgeLabeledSpace, FeatureMap, NodeLabeledSpace, darts, nasbench101, nasbench201
from nasgoat.acquisition import Catalogue, Cost, Mutation, Reason, Sampling, choose
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.costs import (
    LARGEST_BRANCH,
    bound_graphs,
    forecast_branch,
    forecast_mip,
    forecast_shapes,
)
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.acquisition.proposals import USUAL_SPREAD
from nasgoat.benchmarks.nasbench_graph import ListedTreeSpace
from nasgoat.spaces import CellSpace, GraphSpace, Limit, SearchSpace, load_space
from nasgoat.spaces.graph_structures import LARGEST_STRUCTURES

OPS = ["a", "b", "c"]


def _cost(answer: Cost | Reason) -> Cost:
    assert isinstance(answer, Cost), answer
    return answer


@dataclass(frozen=True)
class Ladders(CellSpace):
    """A family of one's own: the path of n nodes, with or without a shortcut over each node."""

    ops: tuple[str, ...]
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    kind = "ladders"
    labels_on = "nodes"

    @property
    def sizes(self) -> range:
        return range(4, 7)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        path = np.eye(n, k=1, dtype=bool)
        yield np.stack([path, path | np.eye(n, k=2, dtype=bool)])


def test_every_optimiser_describes_its_cost() -> None:
    space = nasbench201()
    for kind in (Catalogue, BranchAndBound, MipOptimizer, Mutation, Sampling):
        cost = _cost(kind.cost(space, "linear", 1))
        assert cost.seconds > 0
        assert cost.said
    assert not _cost(Mutation.cost(space, "linear", 1)).exact


@pytest.mark.parametrize("kernel", ["linear", "exponential"])
def test_a_family_of_ones_own_gets_true_answers(kernel: str) -> None:
    space = Ladders(("conv", "pool"))
    assert _cost(Catalogue.cost(space, kernel, 1)).said == "56 graphs at most"
    assert _cost(forecast_branch(space, kernel, 1)).said == "6 structures of 56 graphs"
    assert _cost(forecast_mip(space, kernel, 1)).said == "3 programs, the largest of 6 nodes"


@pytest.mark.parametrize(
    "space", [EdgeLabeledSpace(8, OPS), GraphSpace((1, 30), OPS, direction="acyclic")], ids=repr
)
def test_where_no_proof_is_in_sight_auto_takes_what_has_a_bound(space: SearchSpace) -> None:
    hurried = choose(space, time_limit=5.0)
    assert hurried.name == "branch"
    assert hurried.reason.endswith("a bound, but no proof, in time")
    assert hurried.seconds is None
    assert "without a proof" in (hurried.warn(5.0) or "")
    assert choose(space).name == "scip"  # with all the time there is
    assert choose(space, "exponential", time_limit=5.0).name != "branch"
    asked = choose(space, name="branch", time_limit=5.0)
    assert "may not apply" in (asked.warn(5.0) or "")


def test_general_graphs_and_lists_are_told_why_an_optimiser_does_not_apply() -> None:
    molecules = load_space("molecules")
    listed = ListedTreeSpace(["gcn", "fc"], [((0, 1), (0, 1)), ((0, 0), (0, 1))])
    refused = forecast_branch(molecules, "exponential", 1)
    assert isinstance(refused, Reason)
    assert "under the linear kernel alone" in refused.said
    assert isinstance(forecast_branch(molecules, "linear", 1), Cost)
    assert isinstance(forecast_mip(molecules, "linear", 1), Cost)
    assert _cost(Catalogue.cost(listed, "linear", 1)).said == "2 graphs at most"
    for model in (forecast_branch, forecast_mip):
        refused = model(listed, "linear", 1)
        assert isinstance(refused, Reason)
        assert "the space is a list of graphs" in refused.said


def test_other_kernels_than_the_papers_are_for_the_catalogue_alone() -> None:
    assert isinstance(forecast_branch(nasbench201(), "smooth", 1), Reason)
    assert isinstance(forecast_mip(nasbench201(), "smooth", 1), Reason)
    assert isinstance(Catalogue.cost(nasbench201(), "smooth", 1), Cost)


def test_dense_spaces_start_from_prefixes() -> None:
    dense, sparse = NodeLabeledSpace(8, OPS), NodeLabeledSpace(8, OPS, max_edges=10)
    assert "prefixes" in _cost(forecast_branch(dense, "linear", 1)).said
    assert "prefixes" not in _cost(forecast_branch(sparse, "linear", 1)).said


def test_very_dense_spaces_grow_and_apply_with_the_linear_kernel_alone() -> None:
    space = NodeLabeledSpace(10, OPS)
    assert forecast_shapes(space, 10).growing
    assert forecast_shapes(NodeLabeledSpace(8, OPS), 8).growing
    assert not forecast_shapes(NodeLabeledSpace(7, OPS), 7).growing
    assert isinstance(forecast_branch(space, "linear", 1), Cost)
    refused = forecast_branch(space, "exponential", 1)
    assert isinstance(refused, Reason)
    assert f"{LARGEST_BRANCH:,} fit in memory" in refused.said


def test_the_exponential_kernel_costs_nine_times_the_linear_one_at_most() -> None:
    small, large = (NodeLabeledSpace(n, OPS, max_edges=n + 2) for n in (6, 8))
    costs = {
        (space.sizes[-1], kernel): _cost(forecast_branch(space, kernel, 1)).seconds
        for space in (small, large)
        for kernel in ("linear", "exponential")
    }
    assert costs[8, "exponential"] == pytest.approx(9 * costs[8, "linear"])
    by_graph = costs[6, "linear"] + 0.003 + 6e-8 * bound_graphs(small)
    assert costs[6, "exponential"] == pytest.approx(by_graph)
    assert "about 0.4 s a question" in _cost(forecast_branch(large, "exponential", 1)).describe()


@pytest.mark.parametrize("space", [nasbench101(), darts(), EdgeLabeledSpace(4, OPS)])
@pytest.mark.parametrize("kernel", ["linear", "exponential"])
def test_questions_cost_all_but_the_catalogue_once_more_each(
    space: SearchSpace, kernel: str
) -> None:
    for model in (forecast_branch, forecast_mip):
        one, five = _cost(model(space, kernel, 1)), _cost(model(space, kernel, 5))
        assert five.seconds == pytest.approx(5 * one.seconds)
    assert Catalogue.cost(space, kernel, 1) == Catalogue.cost(space, kernel, 5)


def test_a_range_is_said_where_surrogates_differ_much_in_what_they_cost() -> None:
    dense, sparse = NodeLabeledSpace(9, OPS), NodeLabeledSpace(9, OPS, max_edges=11)
    assert " s to " in _cost(forecast_branch(dense, "linear", 1)).describe()
    assert _cost(forecast_branch(sparse, "linear", 1)).describe().startswith("about ")
    listed = {entry["name"]: entry for entry in choose(dense).list_exact()}
    assert listed["branch"]["spread"] > USUAL_SPREAD
    assert listed["catalogue"]["spread"] is None, "it does not apply"


def test_growing_prefixes_cost_little_more_with_more_operations() -> None:
    three, five = (NodeLabeledSpace(10, OPS + more, None) for more in ([], ["d", "e"]))
    costs = [_cost(forecast_branch(space, "linear", 1)).seconds for space in (three, five)]
    assert costs[0] < costs[1] < 4 * costs[0]


@pytest.mark.parametrize(("n", "structures"), [(7, 1_574), (8, 5_482), (9, 16_306), (10, 42_913)])
def test_the_cost_is_that_of_structures_up_to_isomorphism(n: int, structures: int) -> None:
    cost = forecast_shapes(NodeLabeledSpace(n, ["a"], max_edges=n + 2), n, prefixes=False)
    work = (n - 2) ** 2 * len(FeatureMap(NodeLabeledSpace(n, ["a"])).source)
    assert cost.seconds / (2e-6 + 1.7e-10 * work) == pytest.approx(structures, rel=0.1)


def test_spaces_of_any_size_have_a_forecast() -> None:
    huge = NodeLabeledSpace(60, OPS)
    assert _cost(forecast_branch(huge, "linear", 5)).describe(5).startswith("days a question")
    large = NodeLabeledSpace(20, OPS)
    assert _cost(forecast_mip(large, "linear", 5)).describe(5).startswith("days a question")


def test_what_can_not_be_written_down_does_not_apply() -> None:
    program = forecast_mip(NodeLabeledSpace(60, OPS), "linear", 1)
    assert isinstance(program, Reason)
    assert "variables, 600,000 can be formulated" in program.said
    wide = NodeLabeledSpace(12, [f"op{i}" for i in range(60)])
    for model in (forecast_branch, forecast_mip):
        answer = model(wide, "linear", 1)
        assert isinstance(answer, Reason)
        assert answer.said.endswith("features, 4,000 can be bounded")
    assert choose(wide).name == "local"


@pytest.mark.parametrize(
    ("space", "structures"),
    [
        (load_space("molecules"), {5: 21, 6: 78, 7: 353, 8: 1_929, 9: 12_207, 10: 89_402}),
        (GraphSpace(5, direction="undirected"), {6: 156, 7: 1_044, 8: 12_346}),
        (GraphSpace(5, direction="acyclic"), {4: 31, 5: 302, 6: 5_984, 7: 243_668}),
        (GraphSpace(3, direction="directed"), {3: 16, 4: 218, 5: 9_608}),
        (GraphSpace(5, direction="acyclic", sources=2, sinks=2, connectivity="paths"), {7: 30_693}),
        (load_space("nbgraph"), {5: 9}),
    ],
)
def test_the_number_of_structures_is_forecast_within_a_factor_of_three(
    space: GraphSpace, structures: dict[int, int]
) -> None:
    for n, known in structures.items():
        assert 1 / 3 <= replace(space, nodes=(n, n)).structure_bound(n) / known <= 3


def test_declared_graphs_with_too_many_structures_are_refused() -> None:
    refused = forecast_branch(GraphSpace((2, 30), OPS, direction="acyclic"), "linear", 1)
    assert isinstance(refused, Reason)
    assert f"{LARGEST_STRUCTURES:,} can be listed" in refused.said


@pytest.mark.parametrize("acquisition", ["hypervolume", "chebyshev", "constrained"])
@pytest.mark.parametrize("kernel", ["exponential", "normalised"])
def test_several_objectives_take_what_is_quicker(kernel: str, acquisition: str) -> None:
    # Measured for a batch of five gains of hypervolume on NAS-Bench-101's space: 0.7 to 0.9 s by
    # branch and bound, 3.2 to 3.9 s by the catalogue, under either kernel.
    chosen = choose(nasbench101(), kernel, acquisition=acquisition)
    assert chosen.name == "branch"
    assert chosen.seconds == pytest.approx(0.17, rel=0.3)
    assert choose(nasbench201(), kernel, acquisition=acquisition).name == "catalogue"
