"""What every space says of itself holds for its graphs, whether it says it or takes the default."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nasgoat import (
    Cells,
    ChainSpace,
    EdgeLabeledSpace,
    GraphSpace,
    SearchSpace,
    darts,
    molecules,
    nasbench201,
)
from nasgoat.benchmarks.nasbench_graph import ListedTreeSpace

TREES = ListedTreeSpace(["gcn", "fc"], [((0, 1), (0, 1)), ((0, 0), (0, 1))])
PATHS = GraphSpace((3, 5), ["a"], direction="acyclic", connectivity="paths", sources=1, sinks=1)
BOTH_WAYS = GraphSpace((2, 3), ["a", "b"], direction="directed")
CELLS = Cells(normal=EdgeLabeledSpace(3, ["conv", "skip"]), chain=ChainSpace(2, ["conv", "pool"]))
SPACES: dict[str, SearchSpace] = {
    "list": TREES, "paths": PATHS, "both ways": BOTH_WAYS, "molecules": molecules(4),
    "nasbench201": nasbench201(), "darts": darts(), "cells": CELLS,
}  # fmt: skip


@pytest.mark.parametrize("name", SPACES)
def test_no_graph_has_more_edges_than_the_description_says(name: str) -> None:
    space = SPACES[name]
    graphs = space.sample(2 if name == "list" else 30, np.random.default_rng(0))
    assert graphs
    for graph in graphs:
        assert len(graph.edges) <= space.edge_limit


@pytest.mark.parametrize("name", ["both ways", "molecules", "nasbench201", "darts"])
def test_every_edge_is_where_the_description_says(name: str) -> None:
    space = SPACES[name]
    edges = {
        (graph.n, edge)
        for graph in space.sample(30, np.random.default_rng(0))
        for edge in graph.edges
    }
    assert edges <= {(n, place) for n in space.sizes for place in space.edge_places(n)}
    assert len(edges) > 3


def test_a_list_takes_the_defaults() -> None:
    n = TREES.sizes[-1]
    assert TREES.layout == "list"
    assert (TREES.sources, TREES.sinks, TREES.rules) == (0, 0, None)
    assert not TREES.on_paths
    assert not TREES.ordered
    assert TREES.end_pairs(n) == []
    assert TREES.structure_bound(n) == math.inf
    assert CELLS.structure_bound(CELLS.sizes[-1]) == math.inf


def test_declared_graphs_say_their_roles_and_degrees() -> None:
    assert (PATHS.sources, PATHS.sinks, PATHS.ordered) == (1, 1, True)
    assert molecules(4).rules.degree_in.high.max() == 4
    assert BOTH_WAYS.pairs(2) == BOTH_WAYS.edge_places(2) == [(0, 1), (1, 0)]
