"""Several cells at once: the contract of spaces, limits that span cells, files, and bad input."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from nasgoat import (
    Cells,
    ChainSpace,
    DartsSpace,
    EdgeLabeledSpace,
    FeatureMap,
    GraphSpace,
    LabeledGraph,
    NamedGraphs,
    NodeLabeledSpace,
    SearchSpace,
)
from nasgoat.errors import GraphError, SpaceError, SpaceFileError, UnknownNameError
from nasgoat.spaces import parse_space, to_toml
from nasgoat.testing import SpaceContract
from tests.strategies import seeds, spaces

EDGES, NODES = EdgeLabeledSpace(3, ["a", "b"]), NodeLabeledSpace((2, 4), ["b", "c"])
CHAINS = ChainSpace((1, 2), ["a", "c"])
MOLECULES = GraphSpace(2, ["C", "O"], ["x", "y"], "undirected", "connected")
MIXED = Cells(normal=EDGES, reduction=NODES)
CASES = {
    "labels on edges": Cells(normal=EDGES, reduction=CHAINS),
    "labels on both": MIXED,
    "three cells": Cells(one=CHAINS, two=NodeLabeledSpace(3, ["a"]), three=CHAINS),
    "declared graphs": Cells(cell=NodeLabeledSpace(3, ["a", "b"]), atoms=MOLECULES),
    "with limits": Cells(normal=EDGES.constrain("a <= 2"), reduction=CHAINS, limits=()).constrain(
        "normal.a + reduction.a <= 2", "edges >= 3", "normal.b[0>1] <= reduction.c"
    ),
}


class TestCells(SpaceContract):
    spaces = CASES
    seeds = range(1)
    mutual_neighbours = False


class Quickly(SpaceContract):
    """What is quick enough for a random space."""

    most_candidates = 200
    mutual_neighbours = False
    seeds = range(1)


@given(spaces, spaces, seeds)
@settings(max_examples=5)
def test_random_cells_keep_the_contract(first: SearchSpace, second: SearchSpace, seed: int) -> None:
    small = [space for space in (first, second) if space.size_bound() <= 12]
    space = Cells(dict(zip("xyz", [*small, CHAINS, EDGES][:2], strict=False)))
    assert "test_every_graph_is_listed_once_and_counted" in Quickly.verify(space=space, seed=seed)


def test_every_combination_is_listed() -> None:
    listed = {tuple(graph.cells.values()) for batch in MIXED.enumerate() for graph in batch}
    parts = [[graph for batch in cell.enumerate() for graph in batch] for cell in (EDGES, NODES)]
    assert listed == set(product(*parts))
    assert MIXED.count() == EDGES.count() * NODES.count() == len(listed)


def test_a_graph_has_its_cells_by_name() -> None:
    graph = MIXED.sample(1, np.random.default_rng(0))[0]
    assert isinstance(graph, NamedGraphs)
    normal, reduction = graph
    assert (graph.normal, graph["reduction"]) == (normal, reduction)
    assert list(graph.cells) == ["normal", "reduction"]
    assert graph.n == normal.n + reduction.n
    assert pickle.loads(pickle.dumps(graph)) == graph  # noqa: S301
    with pytest.raises(
        AttributeError, match="a cell must be one of normal, reduction, got 'other'"
    ):
        _ = graph.other


def test_the_kernel_is_a_sum_over_cells() -> None:
    """Rows of a combination are those of its cells, one after the other."""
    graphs = MIXED.sample(9, np.random.default_rng(1))
    parts = [
        FeatureMap(cell).rows([graph.cells[name] for graph in graphs])
        for name, cell in MIXED.cells.items()
    ]
    features = FeatureMap(MIXED)
    assert np.array_equal(features.rows(graphs), np.hstack(parts))
    for name, own in zip(MIXED.cells, parts, strict=True):
        assert np.array_equal(features.rows(graphs)[:, features.restrict_to_cell(name)[1]], own)


def test_limits_span_cells() -> None:
    costs = {"params": {"a": 3.0, "b": 2.0, "c": 1.0, "constant": 0.5}}
    text = "normal.sum(params) + 2*reduction.sum(params) - normal.edges <= 7"
    space = MIXED.constrain(text, costs=costs)
    every = [graph for batch in MIXED.enumerate() for graph in batch]

    def total(graph: LabeledGraph) -> float:
        own = {**costs["params"], "input": 0.0, "output": 0.0}
        cells = graph.cells
        normal = sum(own[op] for op in (cells["normal"].edge_labels or {}).values())
        reduction = sum(own[op] for op in cells["reduction"].node_labels or ())
        return normal + 2 * reduction - len(cells["normal"].edges)

    kept = {space.key(graph) for graph in every if total(graph) <= 7}
    assert 0 < len(kept) < len(every)
    assert {space.key(graph) for batch in space.enumerate() for graph in batch} == kept
    assert space.count() == len(kept)
    rng = np.random.default_rng(0)
    assert all(graph in space for graph in space.sample(20, rng))
    assert all(space.mutate(graph, rng) in space for graph in space.sample(5, rng))
    whole = MIXED.constrain("sum(params) <= 7.5", costs=costs)
    apart = MIXED.constrain("normal.sum(params) + reduction.sum(params) + 0.5 <= 7.5", costs=costs)
    assert whole.count() == apart.count() < MIXED.count()


FILE = """
[cells.normal]
kind = "edge-labelled"
nodes = 3
ops = ["a", "b"]

[cells.normal.limits]
few = "a <= 2"

[cells.normal.costs.energy]
a = 3

[cells.reduction]
kind = "node-labelled"
nodes = [2, 4]
ops = ["b", "c"]

[costs.params]
a = 2.0
c = 0.5

[limits]
budget = "normal.sum(params) + reduction.sum(params) <= 5"
both = "normal.energy + reduction.c <= 4"
"""


def test_cells_are_declared_in_a_file() -> None:
    space = parse_space(FILE)
    again = Cells(
        normal=EDGES.constrain({"few": "a <= 2"}, costs={"energy": {"a": 3}}), reduction=NODES
    ).constrain(
        {"budget": "2*normal.a + 0.5*reduction.c <= 5", "both": "3*normal.a + reduction.c <= 4"}
    )
    assert space == again
    assert parse_space(to_toml(space)) == space
    assert [cost.name for cost in space.costs] == ["energy", "params"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("normal.sum", "norml.sum", r"space:23: limits.budget: a cell in a limit must be one of"),
        (
            "reduction.c <=",
            "reduction.a <=",
            r"limits.both: .*of the cell reduction must be one of",
        ),
        ("normal.energy", "normal.enrgy", r"limits.both: .*of the cell normal must be one of"),
        ("[cells.reduction]", "[cells.nodes]", r"a cell must be named by a plain word.*'nodes'"),
        ("[cells.reduction]", '[cells."a b"]', r"a cell must be named by a plain word.*'a b'"),
        ("[cells.reduction]", "[cells.normal.cells.x]", r"cells.normal.cells must be one of"),
        ('kind = "edge-labelled"', 'kind = "cells"', r"cells.normal.kind must be one of"),
        ("[costs.params]", "[space]\nkind = 'chain'\n[costs.params]", r"must not stand beside"),
        ("a = 2.0", "q = 2.0", r"costs.params.q must be one of a, b, c"),
        ('ops = ["b", "c"]', 'ops = ["b", "c"]\nsize = 3', r"cells.reduction.size must be"),
        ('few = "a <= 2"', 'few = "c <= 2"', r"cells.normal.limits.few: an operation in a limit"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line(old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(SpaceFileError, match=said) as problem:
        parse_space(FILE.replace(old, new))
    assert "\n" not in str(problem.value)


def test_one_cell_is_refused() -> None:
    with pytest.raises(SpaceError, match="must have at least two cells, got normal; use"):
        Cells(normal=EDGES)
    with pytest.raises(SpaceFileError, match="must have at least two cells"):
        parse_space('[cells.normal]\nkind = "chain"\nlayers = 2\nops = ["a"]')


@pytest.mark.parametrize("name", ["edges", "sum", "_x", "2nd", "limits", "cells", "canonical_key"])
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(SpaceError, match="a cell must be named by a plain word"):
        Cells({name: EDGES, "other": NODES})


def test_cells_in_cells_are_refused() -> None:
    with pytest.raises(SpaceError, match="the cell outer must not have cells itself"):
        Cells(outer=MIXED, inner=EDGES)
    with pytest.raises(SpaceError, match="the cell outer must be a space, got 3"):
        Cells(outer=3, inner=EDGES)  # type: ignore[arg-type]


def test_limits_that_name_what_a_cell_has_not_are_refused() -> None:
    for text in ("normal.c <= 1", "other.a <= 1", "q <= 1", "normal.sum(params) <= 1"):
        with pytest.raises(UnknownNameError, match="must be one of"):
            MIXED.constrain(text)
    with pytest.raises(UnknownNameError, match="a cell in a limit must be one of"):
        EDGES.constrain("normal.a <= 1")
    # An operation that one cell has is that of this cell.
    assert MIXED.constrain("c <= 1").limits[0].text == "reduction.c <= 1"


def test_graphs_of_other_cells_are_refused() -> None:
    normal, reduction = MIXED.sample(1, np.random.default_rng(0))[0].cells.values()
    with pytest.raises(GraphError, match="must have the cells normal, reduction, got one graph"):
        MIXED.check(LabeledGraph.from_edges(2, [(0, 1)]))
    with pytest.raises(GraphError, match="the cell normal: "):
        MIXED.check(NamedGraphs(normal=reduction, reduction=reduction))
    with pytest.raises(GraphError, match="got reduction, normal"):
        MIXED.check(NamedGraphs(reduction=reduction, normal=normal))


def test_an_isomorphic_cell_is_the_same_and_exchanged_cells_are_not() -> None:
    cell = NodeLabeledSpace(4, ["a", "b"])
    space = Cells(one=cell, two=cell)
    first, second = cell.sample(2, np.random.default_rng(0))
    order = [0, 2, 1, 3]
    same = NamedGraphs(one=first.relabeled(order), two=second)
    assert space.key(same) == space.key(NamedGraphs(one=first, two=second))
    assert space.key(NamedGraphs(one=second, two=first)) != space.key(same)


def test_darts_cells_are_drawn_and_counted_without_being_listed() -> None:
    cell = DartsSpace(6, list("abcdefg"))
    space = Cells(normal=cell, reduction=cell)
    assert space.count() == 1_037_664_180**2
    assert len(space.sample(20, np.random.default_rng(0))) == 20
