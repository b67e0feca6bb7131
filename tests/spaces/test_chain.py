"""Chains of layers, and costs that differ by layer."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasgoat import ChainSpace, FeatureMap, LabeledGraph
from nasgoat.errors import GraphError, NasgoatError, SpaceError, SpaceFileError
from nasgoat.spaces import parse_space, read_declared_space, to_toml

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
    assert parse_space(to_toml(space)) == read_declared_space(space.to_dict()) == space


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


LAYER_OPS = {0: ["b"], 2: ["c", "a"]}


def words_by_layer(space: ChainSpace) -> set[tuple[str, ...]]:
    """The words of ``LAYER_OPS`` in three to four layers, written out."""
    return {
        word
        for m in space.lengths
        for word in product(OPS, repeat=m)
        if all(word[i] in own for i, own in LAYER_OPS.items() if i < m)
    }


def test_operations_by_layer_leave_the_words_written_out() -> None:
    space = ChainSpace((1, 4), OPS, layer_ops=LAYER_OPS)
    graphs = [graph for batch in space.enumerate() for graph in batch]
    words = words_by_layer(space)
    assert {space.operations(graph) for graph in graphs} == words
    assert len(graphs) == space.count() == space.size_bound() == len(words)
    assert space.with_nodes(3).count() == sum(len(word) == 2 for word in words)
    assert space.ops_of(2) == ("a", "c")
    costly = space.constrain("sum(latency) <= 4", costs=BY_LAYER)
    assert costly.count() == sum(latency(space, graph) <= 4 for graph in graphs)


def test_neighbours_by_layer_are_the_words_one_operation_away() -> None:
    space = ChainSpace(4, OPS, layer_ops=LAYER_OPS)
    words = words_by_layer(space)
    for word in sorted(words)[::5]:
        near = {space.operations(g) for g in space.neighbours(space.from_operations(word))}
        pairs = {other: sum(a != b for a, b in zip(word, other, strict=True)) for other in words}
        assert near == {other for other, differs in pairs.items() if differs == 1}


def test_draws_and_mutations_reach_every_operation_of_a_layer_alike() -> None:
    space, rng = ChainSpace(4, OPS, layer_ops=LAYER_OPS), np.random.default_rng(0)
    drawn = [space.operations(space.sample(1, rng)[0]) for _ in range(600)]
    assert Counter(word[0] for word in drawn) == {"b": 600}
    counts = Counter(word[2] for word in drawn)
    assert set(counts) == {"a", "c"}
    assert abs(counts["a"] - 300) < 75  # six standard deviations
    start = space.from_operations(["b", "a", "a", "a"])
    changed = Counter(space.operations(space.mutate(start, rng)) for _ in range(300))
    assert set(changed) == {("b", "b", "a", "a"), ("b", "c", "a", "a"), ("b", "a", "c", "a"),
                            ("b", "a", "a", "b"), ("b", "a", "a", "c")}  # fmt: skip


def test_a_long_chain_with_operations_by_layer_is_counted_and_drawn_at_once() -> None:
    ops = [f"o{i}" for i in range(20)]
    space = ChainSpace(30, ops, layer_ops={i: ops[i % 17 : i % 17 + 3] for i in range(30)})
    assert space.size() == (3**30, True)
    rng = np.random.default_rng(0)
    costs = {"params": {op: float(i) for i, op in enumerate(ops)}}
    limited = space.constrain("sum(params) <= 250", costs=costs)
    for graph in limited.sample(20, rng):
        assert graph in limited
        assert limited.mutate(graph, rng) in limited


def test_operations_by_layer_are_read_back_and_part_of_the_fingerprint() -> None:
    plain = ChainSpace((2, 4), OPS)
    space = ChainSpace((2, 4), OPS, layer_ops={2: ["c", "b"], 3: OPS})
    assert parse_space(to_toml(space)) == read_declared_space(space.to_dict()) == space
    assert space.layer_ops == ((2, ("b", "c")),)
    assert space.fingerprint() != plain.fingerprint()
    assert "layer_ops" not in plain.to_dict()
    assert hash(space) == hash(ChainSpace((2, 4), OPS, layer_ops={2: ["b", "c"]}))


def test_an_operation_of_another_layer_is_refused() -> None:
    space = ChainSpace(3, OPS, layer_ops={1: ["a", "b"]})
    with pytest.raises(GraphError, match="layer 1 must be a or b, got 'c'"):
        space.check(space.from_operations("acb"))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('4 = ["a"]', r"layer_ops must name layers from 0 to 3, got '4'"),
        ('first = ["a"]', "layer_ops must name layers from 0 to 3, got 'first'"),
        ("1 = []", r"layer_ops must be a list of names for layer 1, got \[\]"),
        ('1 = "a"', "layer_ops must be a list of names for layer 1, got 'a'"),
        ('1 = ["a", "d"]', "layer_ops of layer 1 must be one of a, b, c, got 'd'"),
    ],
)
def test_wrong_operations_of_a_layer_are_refused_at_their_line(table: str, said: str) -> None:
    chain = 'kind = "chain"\nlayers = [2, 4]\nops = ["a", "b", "c"]'
    text = f"[space]\n{chain}\n[space.layer_ops]\n{table}"
    with pytest.raises(SpaceFileError, match=f"chains.toml:[56]: .*{said}"):
        parse_space(text, "chains.toml")


@pytest.mark.parametrize("layers", ["0", "[3, 2]", "[1, 2, 3]", "101", "[1, 200]"])
def test_wrong_numbers_of_layers_are_refused(layers: str) -> None:
    with pytest.raises(SpaceFileError, match="layers must be"):
        parse_space(f'[space]\nkind = "chain"\nlayers = {layers}\nops = ["a"]')


def test_a_graph_that_is_no_chain_is_refused() -> None:
    space = ChainSpace(2, OPS)
    skip = LabeledGraph.from_edges(3, [(0, 1), (0, 2), (1, 2)], edge_labels=["a", "a", "b"])
    with pytest.raises(GraphError, match="must have a structure of the space"):
        space.check(skip)
