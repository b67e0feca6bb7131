"""Contradictory limits are found before anything is evaluated, and the fewest are named."""

import pytest
from hypothesis import given, settings

from nasgoat import NodeLabeledSpace, Optimizer, darts, nasbench101
from nasgoat.acquisition.ask_tell import (
    _has_solution,
    find_smallest_conflict,
    is_satisfiable,
    require_satisfiable,
)
from nasgoat.errors import EmptySpaceError
from nasgoat.spaces import SearchSpace
from tests.strategies import limited_spaces


@given(limited_spaces())
@settings(max_examples=30)
def test_satisfiable_means_that_a_graph_is_there(space: SearchSpace) -> None:
    assert is_satisfiable(space) == (space.count() > 0)


@given(limited_spaces())
@settings(max_examples=10)
def test_the_mathematical_program_decides_alike(space: SearchSpace) -> None:
    assert _has_solution(space) == (space.count() > 0)


def test_a_smallest_conflict_is_named() -> None:
    limits = {
        "many": "conv3x3 >= 3",
        "three steps": "conv1x1 + maxpool3x3 >= 2",
        "cheap": "sum(params) <= 10",
        "shallow": "depth <= 3",
        "some": "conv3x3 + conv1x1 >= 2",
    }
    space = nasbench101().constrain(limits, costs={"params": {"conv3x3": 4, "conv1x1": 1}})
    conflict = find_smallest_conflict(space)
    assert conflict is not None
    assert [limit.name for limit in conflict] == ["many", "cheap"]
    with pytest.raises(EmptySpaceError, match=r"under many: conv3x3 >= 3 and cheap: 4\*conv3x3"):
        require_satisfiable(space)


def test_a_limit_that_contradicts_the_space_itself_is_named_alone() -> None:
    space = darts().constrain("edges <= 9", "depth <= 4", "skip_connect >= 9")
    conflict = find_smallest_conflict(space)
    assert conflict is not None
    assert [limit.text for limit in conflict] == ["skip_connect >= 9"]


@pytest.mark.slow
def test_a_large_space_is_decided_by_a_mathematical_program() -> None:
    space = NodeLabeledSpace((10, 10), ["a", "b"], max_edges=12)
    assert is_satisfiable(space.constrain("a >= 8", "edges >= 12", "depth == 5"))
    assert not is_satisfiable(space.constrain("a >= 8", "b >= 1"))


def test_no_search_begins_with_contradictory_limits() -> None:
    with pytest.raises(EmptySpaceError, match="got none under"):
        Optimizer(nasbench101().constrain("edges <= 3", "depth >= 4"))
