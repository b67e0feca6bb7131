from __future__ import annotations

import numpy as np
import pytest

from nasgoat import LabeledGraph, make_method, run
from nasgoat.benchmarks import NasBenchGraph, benchmark
from nasgoat.benchmarks.nasbench_graph import ListedTreeSpace
from nasgoat.errors import GraphError, SettingError

SPACE = ListedTreeSpace(
    ["gcn", "fc"],
    [((0, 1), (0, 1)), ((0, 1), (1, 1)), ((0, 0), (0, 1)), ((0, 0), (0, 0))],
)


@pytest.fixture(scope="module")
def cora() -> NasBenchGraph:
    pytest.importorskip("nas_bench_graph", reason="nas-bench-graph is not installed")
    return NasBenchGraph("cora")


def test_trees_come_back_in_any_order_of_their_nodes() -> None:
    for tree in SPACE.trees:
        graph = SPACE.graph(tree)
        assert SPACE.find_tree(graph) == tree
        shuffled = graph.relabeled([0, 2, 1, 3])
        assert SPACE.key(SPACE.graph(SPACE.find_tree(shuffled))) == SPACE.key(graph)


def test_moves_stay_among_the_listed_cells() -> None:
    rng = np.random.default_rng(0)
    for tree in SPACE.trees:
        graph = SPACE.graph(tree)
        assert SPACE.mutate(graph, rng) in SPACE
        assert all(neighbour in SPACE for neighbour in SPACE.neighbours(graph))
    assert sum(len(batch) for batch in SPACE.enumerate()) == SPACE.count() == 4


def test_unlisted_cells_are_refused() -> None:
    with pytest.raises(GraphError, match="one of the listed cells"):
        SPACE.check(SPACE.graph(((0, 1), (1, 0))))
    edges = [(0, 1), (0, 2), (1, 2), (2, 3)]
    joined = LabeledGraph.from_edges(4, edges, ["input", "gcn", "fc", "output"])
    with pytest.raises(GraphError, match="must follow one node"):
        SPACE.check(joined)


def test_the_published_number_of_architectures_is_there(cora: NasBenchGraph) -> None:
    assert cora.space.count() == 26_206
    keys = {cora.space.key(graph) for graph in cora.space.sample(200, np.random.default_rng(0))}
    assert len(keys) == 200


def test_queries_answer_validation_and_test(cora: NasBenchGraph) -> None:
    rng = np.random.default_rng(0)
    graph = cora.space.sample(1, rng)[0]
    metrics = cora.query(graph, rng)
    assert cora.optimum <= metrics["error"] == cora.mean_error(graph)
    assert 0 < metrics["test_error"] < 100


def test_a_baseline_searches_it(cora: NasBenchGraph) -> None:
    method = make_method("evolution", cora.space)
    result = run(method, lambda graph: cora.query(graph, np.random.default_rng(0)), 40, 1)
    assert len(result.evaluations) == 40
    assert result.best.error < 25


def test_it_has_no_single_trainings() -> None:
    with pytest.raises(SettingError, match="noisy must be off for nbgraph"):
        benchmark("nbgraph/cora", noisy=True)
