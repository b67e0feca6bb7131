"""Every family keeps the contract of spaces, on chosen instances and on random ones."""

from hypothesis import HealthCheck, assume, given, settings

from nasgoat import ChainSpace, DartsSpace, EdgeLabeledSpace, GraphSpace, NodeLabeledSpace
from nasgoat.errors import SpaceError
from nasgoat.spaces import SearchSpace
from nasgoat.testing import CellContract, SpaceContract
from tests.graph_spaces import DECLARED, graph_spaces
from tests.strategies import limited_spaces, seeds, spaces

NODES = {
    "two to four nodes": NodeLabeledSpace((2, 4), ["a", "b"]),
    "one operation": NodeLabeledSpace((3, 5), ["a"], max_edges=6),
    "few edges": NodeLabeledSpace((2, 5), ["a", "b"], max_edges=5),
    "a single cell": NodeLabeledSpace(2, []),
    "with limits": NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6).constrain(
        "a <= 1", "depth <= 3", "sum(cost) <= 5", costs={"cost": {"a": 3, "b": 2}}
    ),
}
EDGES = {
    "three operations": EdgeLabeledSpace(3, ["a", "b", "c"]),
    "not connected": EdgeLabeledSpace(4, ["a"], connected=False),
    "four nodes": EdgeLabeledSpace(4, ["a", "b"]),
    "with limits": EdgeLabeledSpace(4, ["a", "b"]).constrain("a >= 1", "edges <= 4"),
}
DARTS = {
    "five nodes": DartsSpace(5, ["a", "b"]),
    "three inputs": DartsSpace(5, ["a", "b"], inputs=3, predecessors=1),
    "with limits": DartsSpace(4, ["a", "b"]).constrain("a <= 2", "depth <= 1"),
}
CHAINS = {
    "three layers": ChainSpace(3, ["a", "b", "c"]),
    "two to four layers": ChainSpace((2, 4), ["a", "b"]),
    "costs by layer": ChainSpace((1, 4), ["a", "b"]).constrain(
        "sum(cost) <= 4", costs={"cost": {"a": [1, 1, 2, 4], "b": 1}}
    ),
    "operations by layer": ChainSpace((1, 3), ["a", "b", "c"], layer_ops={0: ["a"], 2: ["b", "c"]}),
    "both by layer": ChainSpace(4, ["a", "b", "c"], layer_ops={1: ["c", "a"]}).constrain(
        "sum(cost) <= 5", costs={"cost": {"a": [1, 1, 2, 4], "b": 1}}
    ),
}
LIMITED_GRAPHS = GraphSpace((2, 3), ["C", "O"], ["x", "y"], "undirected", "connected")


class TestNodeLabeledSpace(CellContract):
    spaces = NODES
    kernels = ("linear",)


class TestEdgeLabeledSpace(CellContract):
    spaces = EDGES
    kernels = ("linear",)


class TestDartsSpace(CellContract):
    spaces = DARTS
    kernels = ("linear",)


class TestChainSpace(CellContract):
    spaces = CHAINS
    kernels = ("linear",)


class TestGraphSpace(SpaceContract):
    spaces = {f"{i}: {space.describe()}": space for i, space in enumerate(DECLARED[:17])} | {
        "with limits": LIMITED_GRAPHS.constrain("O <= 1", "edges >= 2")
    }
    seeds = range(1)
    kernels = ("linear",)
    mutual_neighbours = False


class TestGraphSpaceWithFixedParts(TestGraphSpace):
    spaces = {space.describe(): space for space in DECLARED[17:]}
    interchangeable = False


class TestGraphSpaceByProgram(SpaceContract):
    """The mixed-integer program on some declared spaces: each takes seconds."""

    spaces = {"molecules": DECLARED[8], "paths": DECLARED[10]}
    exact_optimizers = ("scip",)
    mutual_neighbours = False
    seeds = range(1)


class Quickly(SpaceContract):
    """What is quick enough for a random space."""

    kernels = ("linear",)
    most_candidates = 500
    mutual_neighbours = False
    interchangeable = False


def verify(space: SearchSpace, seed: int) -> None:
    try:
        assume(0 < space.size_bound() <= 200 and space.count() > 0)
    except SpaceError:  # rules that leave no graph
        assume(False)
    assert "test_every_graph_is_listed_once_and_counted" in Quickly.verify(space=space, seed=seed)


@given(spaces, seeds)
@settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much])
def test_random_cells_keep_the_contract(space: SearchSpace, seed: int) -> None:
    verify(space, seed)


@given(limited_spaces() | graph_spaces(), seeds)
@settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much])
def test_random_spaces_with_rules_keep_the_contract(space: SearchSpace, seed: int) -> None:
    verify(space, seed)
