from __future__ import annotations

import pytest

from nasgoat import (
    EdgeLabeledSpace,
    FeatureMap,
    NodeLabeledSpace,
    darts,
    nasbench101,
    nasbench201,
)
from nasgoat.acquisition import choose, make_optimizer
from nasgoat.acquisition.choice import branch_start
from nasgoat.acquisition.shape_costs import shape_cost
from nasgoat.spaces import SearchSpace


@pytest.mark.parametrize(
    ("space", "name"),
    [
        (nasbench201(), "catalogue"),
        (nasbench101(), "branch"),
        (darts(), "branch"),
        (NodeLabeledSpace(10, ["a", "b", "c"], max_edges=12), "branch"),
        (NodeLabeledSpace(9, ["a", "b", "c"]), "branch"),
        (NodeLabeledSpace(10, ["a", "b", "c"]), "branch"),
        (EdgeLabeledSpace(8, ["a", "b"]), "scip"),
    ],
)
def test_the_choice_follows_the_size_of_the_space(space: SearchSpace, name: str) -> None:
    assert choose(space).name == name


def test_without_a_mip_solver_branch_and_bound_is_tried() -> None:
    assert choose(NodeLabeledSpace(11, ["a"]), available=()).name == "branch"


def test_the_reason_names_the_size() -> None:
    assert "180 structures" in choose(darts()).reason


def test_dense_spaces_start_from_prefixes() -> None:
    assert "prefixes" in choose(NodeLabeledSpace(8, ["a", "b", "c"])).reason
    assert "prefixes" not in choose(NodeLabeledSpace(8, ["a", "b", "c"], max_edges=10)).reason


def test_very_dense_spaces_grow_and_apply() -> None:
    space = NodeLabeledSpace(10, ["a", "b", "c"])
    start = branch_start(space, "linear")
    assert start is not None
    assert start.growing
    assert start.applies
    assert choose(space, "exponential").name == "scip"
    assert not shape_cost(NodeLabeledSpace(8, ["a", "b", "c"]), 8).growing


def test_the_exponential_kernel_costs_by_the_graph() -> None:
    space = NodeLabeledSpace(8, ["a", "b", "c"], max_edges=10)
    linear, exponential = choose(space), choose(space, "exponential")
    assert "0.3 s" in linear.reason
    assert "4 s" in exponential.reason or exponential.name == "scip"


@pytest.mark.parametrize(
    ("kernel", "questions", "name"),
    [
        ("linear", 1, "branch"),
        ("linear", 5, "catalogue"),  # which scores once for all five
        ("exponential", 1, "branch"),
        ("exponential", 5, "catalogue"),
    ],
)
def test_the_choice_follows_kernel_and_questions(kernel: str, questions: int, name: str) -> None:
    assert choose(nasbench101(), kernel, questions).name == name


def test_auto_says_what_it_chose() -> None:
    lines: list[str] = []
    assert make_optimizer("auto", darts(), lines.append).name == "branch"
    assert any("branch and bound: 180 structures" in line for line in lines)


@pytest.mark.parametrize(("n", "structures"), [(7, 1_574), (8, 5_482), (9, 16_306), (10, 42_913)])
def test_the_cost_is_that_of_structures_up_to_isomorphism(n: int, structures: int) -> None:
    cost = shape_cost(NodeLabeledSpace(n, ["a"], max_edges=n + 2), n, prefixes=False)
    work = (n - 2) ** 2 * len(FeatureMap(NodeLabeledSpace(n, ["a"])).source)
    assert cost.seconds / (1.2e-5 + 1.2e-9 * work) == pytest.approx(structures, rel=0.1)
