"""Chains of layers, and costs that differ by layer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasgoat import ChainSpace, FeatureMap, LabeledGraph
from nasgoat.errors import GraphError, NasgoatError, SpaceError, SpaceFileError
from nasgoat.spaces import declared_space, parse_space, to_toml

OPS = ["a", "b", "c"]
BY_LAYER = {"latency": {"a": [1, 2, 3, 4], "b": 0.5, "2": {"c": 1.5}}}


def latency(space: ChainSpace, graph: LabeledGraph) -> float:
    """The cost of ``BY_LAYER``, written out."""
    layers = enumerate(space.operations(graph))
    return sum(i + 1 if op == "a" else 0.5 if op == "b" else 1.5 * (i == 2) for i, op in layers)


def test_macro_is_a_chain_of_eight_layers() -> None:
    assert ChainSpace(8, ["identity", "mb3", "mb6"]).count() == 3**8


@given(st.integers(1, 4), st.integers(0, 2), st.integers(1, 3))
def test_every_word_is_one_chain(low: int, more: int, k: int) -> None:
    space = ChainSpace((low, low + more), OPS[:k])
    graphs = [graph for batch in space.enumerate() for graph in batch]
    words = {space.operations(graph) for graph in graphs}
    assert len(graphs) == len(words) == space.count() == sum(k**m for m in space.lengths)
    assert all(space.from_operations(space.operations(graph)) == graph for graph in graphs)
    assert all(space.from_digits(space.digits(graph)) == graph for graph in graphs)


def test_layers_are_told_apart_by_their_index() -> None:
    space = ChainSpace(3, OPS)
    rows = FeatureMap(space).rows([space.from_operations(w) for w in ("aab", "aba", "baa")])
    assert len(np.unique(rows, axis=0)) == 3


def test_costs_by_layer_are_those_written_out() -> None:
    plain = ChainSpace((2, 4), OPS)
    space = plain.constrain("sum(latency) <= 3", costs=BY_LAYER)
    graphs = [graph for batch in plain.enumerate() for graph in batch]
    expected = [latency(plain, graph) for graph in graphs]
    assert space.limit_totals(graphs)[0] == pytest.approx(expected)
    assert space.count() == sum(cost <= 3 for cost in expected)


def test_draws_and_mutations_keep_to_costs_by_layer() -> None:
    rng = np.random.default_rng(0)
    costs = {"latency": {f"o{i}": [i * (1 + j / 10) for j in range(20)] for i in range(9)}}
    space = ChainSpace(20, [f"o{i}" for i in range(9)])
    space = space.constrain("sum(latency) <= 30", "o8 >= 1", costs=costs)
    graphs = space.sample(30, rng)
    assert len({space.key(graph) for graph in graphs}) == 30
    assert all(graph in space and space.mutate(graph, rng) in space for graph in graphs)


def test_an_unsatisfiable_cost_by_layer_is_said() -> None:
    space = ChainSpace(3, ["a"]).constrain("sum(l) <= 1", costs={"l": {"a": [1, 1, 1]}})
    with pytest.raises(SpaceError, match="must leave at least one graph"):
        space.sample(1, np.random.default_rng(0))


@pytest.mark.parametrize("layers", [3, (2, 4)])
def test_a_declaration_is_read_back(layers: int | tuple[int, int]) -> None:
    costs = {"latency": {"a": [1.25] * (layers if isinstance(layers, int) else 4), "b": 0.1}}
    space = ChainSpace(layers, OPS).constrain(
        "sum(latency) <= 3", "a[1] + b[0>1] <= 1", costs=costs
    )
    assert parse_space(to_toml(space)) == declared_space(space.to_dict()) == space


def test_costs_of_a_file_may_be_lists_or_tables_of_a_layer() -> None:
    text = """
    [space]
    kind = "chain"
    layers = [2, 4]
    ops = ["a", "b", "c"]
    [limits]
    fast = "sum(latency) <= 3"
    [costs.latency]
    a = [1, 2, 3, 4]
    b = 0.5
    [costs.latency.2]
    c = 1.5
    """
    plain = ChainSpace((2, 4), OPS)
    assert parse_space(text) == plain.constrain({"fast": "sum(latency) <= 3"}, costs=BY_LAYER)


@pytest.mark.parametrize(
    ("limit", "costs", "said"),
    [
        ("a[9] <= 1", {}, "a layer from 0 to 3, got '9'"),
        ("a[0>2] <= 1", {}, "a layer from 0 to 3, got '0>2'"),
        ("sum(l) <= 1", {"l": {"a": [1, 2]}}, "must have 4 numbers, one a layer, got 2"),
        ("sum(l) <= 1", {"l": {"7": {"a": 1}}}, "a layer from 0 to 3, got '7'"),
        ("sum(l) <= 1", {"l": {"1": {"z": 1}}}, "must be one of a, b, c, got 'z'"),
        ("sum(l) <= 1", {"l": {"a": [1, 2, "x", 4]}}, r"costs.l.a\[2\] must be a number"),
    ],
)
def test_a_wrong_cost_by_layer_is_refused(limit: str, costs: dict[str, object], said: str) -> None:
    with pytest.raises(NasgoatError, match=said):
        ChainSpace((2, 4), OPS).constrain(limit, costs=costs)  # type: ignore[arg-type]


@pytest.mark.parametrize("layers", ["0", "[3, 2]", "[1, 2, 3]", "101", "[1, 200]"])
def test_wrong_numbers_of_layers_are_refused(layers: str) -> None:
    with pytest.raises(SpaceFileError, match="layers must be"):
        parse_space(f'[space]\nkind = "chain"\nlayers = {layers}\nops = ["a"]')


def test_a_graph_that_is_no_chain_is_refused() -> None:
    space = ChainSpace(2, OPS)
    skip = LabeledGraph.from_edges(3, [(0, 1), (0, 2), (1, 2)], edge_labels=["a", "a", "b"])
    with pytest.raises(GraphError, match="must have a structure of the space"):
        space.check(skip)
