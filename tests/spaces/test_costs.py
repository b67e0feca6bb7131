"""Costs that a space knows: by operation, place, pair and count, in prices, limits and files."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nasgoat import (
    ChainSpace,
    EdgeLabeledSpace,
    LabeledGraph,
    NodeLabeledSpace,
)
from nasgoat.errors import SpaceError, SpaceFileError, UnknownNameError
from nasgoat.spaces import CellSpace, Limit, parse_space, to_toml
from nasgoat.testing.contract import count_word, list_graphs
from tests.strategies import seeds

NUMBERS = st.integers(-8, 8).map(lambda x: x / 4)
CELLS = EdgeLabeledSpace(4, ["a", "b"], connected=False)
EVERYTHING = {
    **{"a": 2.0, "b": -0.5, "0>3": 0.25, "edges": 0.125, "nodes": 3.0, "depth": 0.5},
    **{"constant": -1.5, "0>1": {"a": 1.0}, "2>3": {"a": 0.5, "b": 4.0}},
}


def price_by_hand(graph: LabeledGraph) -> float:
    """What EVERYTHING says, edge by edge."""
    network = graph.to_networkx()
    depth = nx.shortest_path_length(network, 0, 3) if nx.has_path(network, 0, 3) else 0
    total = -1.5 + 3.0 * graph.n + 0.5 * depth
    for (u, v), op in (graph.edge_labels or {}).items():
        total += 0.125 + {"a": 2.0, "b": -0.5}[op] + (0.25 if (u, v) == (0, 3) else 0.0)
        total += {(0, 1): {"a": 1.0}, (2, 3): {"a": 0.5, "b": 4.0}}.get((u, v), {}).get(op, 0.0)
    return total


def test_a_price_is_what_adding_up_by_hand_gives() -> None:
    space = CELLS.constrain(costs={"latency": EVERYTHING})
    graphs = list_graphs(CELLS)
    assert len(graphs) == 3**6
    expected = [price_by_hand(graph) for graph in graphs]
    assert space.price(graphs, "latency") == pytest.approx(expected, abs=1e-12)
    assert CELLS.price(graphs, space.cost("latency")) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("text", ["latency <= 11", "sum(latency) <= 11", "2*latency - 22 <= 0"])
def test_a_limit_on_a_cost_leaves_the_graphs_that_cost_no_more(text: str) -> None:
    space = CELLS.constrain(text, costs={"latency": EVERYTHING})
    fitting = {CELLS.key(g) for g in list_graphs(CELLS) if price_by_hand(g) <= 11}
    assert {CELLS.key(graph) for graph in list_graphs(space)} == fitting
    assert space.count() == len(fitting)
    limited = CELLS.constrain(space.cost("latency").at_most(11))
    assert {CELLS.key(graph) for graph in list_graphs(limited)} == fitting


def test_costs_by_layer_are_charged_in_their_layer() -> None:
    costs = {"latency": {"a": [1.0, 2.0, 4.0], "1": 8.0, "2": {"b": 16.0}, "constant": 0.5}}
    space = ChainSpace((2, 3), ["a", "b"]).constrain(costs=costs)
    chains = [space.from_operations(ops) for ops in ("ab", "ba", "aab", "bba")]
    assert space.price(chains, "latency").tolist() == [9.5, 10.5, 27.5, 12.5]
    assert space.with_nodes(3).price(chains[:2], "latency").tolist() == [9.5, 10.5]


def test_a_cost_on_nodes_is_by_operation_and_count() -> None:
    costs = {"params": {"conv": 9.0, "nodes": 1.0, "constant": 2.0}}
    space = NodeLabeledSpace((2, 5), ["conv", "pool"]).constrain(costs=costs)
    graphs = list_graphs(space)
    expected = [9 * count_word(g, "conv") + g.n + 2 for g in graphs]
    assert space.price(graphs, "params").tolist() == expected


@given(
    table=st.dictionaries(st.sampled_from(["a", "b", "0>1", "1>3", "edges", "constant"]), NUMBERS),
    seed=seeds,
)
def test_the_text_of_a_cost_says_the_same_as_its_table(table: dict[str, float], seed: int) -> None:
    space = CELLS.constrain(costs={"cost": table})
    again = CELLS.constrain(costs={"cost": space.cost("cost").text})
    graphs = CELLS.sample(5, np.random.default_rng(seed))
    assert again.price(graphs, "cost") == pytest.approx(space.price(graphs, "cost"), abs=1e-12)


def test_a_space_keeps_its_costs_and_stays_the_same_set() -> None:
    space = CELLS.constrain(costs={"latency": EVERYTHING})
    assert space == CELLS
    assert space.fingerprint() == CELLS.fingerprint()
    narrowed = space.constrain("latency <= 11", "energy <= 1", costs={"energy": {"a": 1}})
    assert [cost.name for cost in narrowed.costs] == ["latency", "energy"]
    assert [cost.name for cost in narrowed.with_limits(()).costs] == ["latency", "energy"]
    assert pickle.loads(pickle.dumps(narrowed)).cost("latency") == space.cost("latency")  # noqa: S301
    assert "latency" in repr(space)


def test_a_file_declares_costs_by_table_and_by_text() -> None:
    text = """
    [space]
    kind = "edge-labelled"
    nodes = 4
    ops = ["a", "b"]
    connected = false
    [limits]
    light = "energy <= 3"
    [costs]
    energy = "2*a[0>3] + 0.5*edges + 1"
    [costs.latency]
    a = 2.0
    b = -0.5
    "0>3" = 0.25
    edges = 0.125
    nodes = 3
    depth = 0.5
    constant = -1.5
    "0>1" = { a = 1.0 }
    [costs.latency."2>3"]
    a = 0.5
    b = 4.0
    """
    space = parse_space(text)
    graphs = list_graphs(space)
    assert space.price(graphs, "latency") == pytest.approx([price_by_hand(g) for g in graphs])
    assert space.price(graphs, "energy").max() <= 3
    again = parse_space(to_toml(space))
    assert again.limits == space.limits
    assert again.costs == space.costs


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('latency = "2*c"', "s:6: costs.latency: an operation in a cost must be one of a, b"),
        ('latency = "a <= 3"', "costs.latency: a cost must have +, - or the end of costs.latency"),
        ('latency = "a ^ 2"', "costs.latency: a cost must be like '2*conv + 0.5'"),
        ('latency = "sum(latency)"', "costs.latency: the cost of a limit must be one of (none)"),
        ("latency = 3", "s:6: costs.latency must be a table"),
        ('latency = { "0>9" = 1.0 }', "the place of a cost must be an edge such as 0>1, got '0>9'"),
        ('latency = { "0>1" = nan }', "costs.latency.0>1 must be a finite number, got nan"),
        ("latency = { constnt = 1.0 }", "got 'constnt'; did you mean constant?"),
        ("latency = { constant = [1.0] }", "costs.latency.constant"),
    ],
)
def test_a_wrong_cost_is_one_line_with_its_place(line: str, said: str) -> None:
    text = f'[space]\nkind = "edge-labelled"\nnodes = 4\nops = ["a", "b"]\n[costs]\n{line}'
    with pytest.raises(SpaceFileError) as caught:
        parse_space(text, "s")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_cost_names_the_nearest() -> None:
    space = CELLS.constrain(costs={"latency": {"a": 1.0}})
    with pytest.raises(UnknownNameError, match="did you mean latency"):
        space.cost("latencey")
    with pytest.raises(UnknownNameError, match=r"must be one of \(none\)"):
        CELLS.price(list_graphs(CELLS)[:1], "latency")


def test_places_need_nodes_that_are_told_apart() -> None:
    with pytest.raises(SpaceError, match="told apart, got '0>1'; leave the place out"):
        NodeLabeledSpace((2, 4), ["a"]).constrain(costs={"l": {"0>1": 1.0}})


def test_an_operation_called_like_a_count_or_a_cost_is_the_operation() -> None:
    space = EdgeLabeledSpace(3, ["constant", "edges", "latency"]).constrain(
        costs={"latency": {"constant": 2.0, "edges": 1.0}}
    )
    graph = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["constant", "edges"])
    assert space.price([graph], "latency").tolist() == [3.0]
    assert space.constrain("latency <= 0").limits[0].edge_ops["latency"] == 1.0


@dataclass(frozen=True)
class Paths(CellSpace):
    """A family that has limits and keeps no costs."""

    ops: tuple[str, ...]
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    labels_on = "edges"
    kind = "paths"

    @property
    def sizes(self) -> range:
        return range(4, 5)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        yield np.eye(n, k=1, dtype=bool)[None]


def test_a_family_that_keeps_no_costs_may_still_limit_them() -> None:
    space = Paths(("a", "b")).constrain("sum(l) <= 1", costs={"l": {"a": 1.0}})
    assert space.count() == 4
    assert space.costs == ()
