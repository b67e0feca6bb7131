"""What both sides of a search promise: the method that asks, the benchmark that answers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from nasgoat.acquisition import draw_initial_design
from nasgoat.bayesopt import Asker, SearchResult, run
from nasgoat.benchmarks import Benchmark
from nasgoat.benchmarks import benchmark as find_benchmark
from nasgoat.errors import (
    DataError,
    GraphError,
    MissingPackageError,
    NasgoatError,
    ObservationError,
)
from nasgoat.graphs import LabeledGraph
from nasgoat.search_methods import find_own_batch, is_available, make_method
from nasgoat.spaces import EdgeLabeledSpace, NodeLabeledSpace, SearchSpace
from nasgoat.testing.contract import Contract, list_graphs

#: Larger spaces of benchmarks are not listed; the optimum is compared with random graphs then.
MOST_LISTED = 20_000
_CELLS = NodeLabeledSpace(nodes=(2, 5), ops=["a", "b"], max_edges=7)
_EDGES = EdgeLabeledSpace(nodes=4, ops=["conv", "skip", "pool"])
_SPACES = {
    "edges": _EDGES,
    "nodes": _CELLS,
    "edges with limits": _EDGES.constrain(
        "conv + pool <= 3", "sum(cost) <= 9", costs={"cost": {"conv": 4.0}}
    ),
    "nodes with limits": _CELLS.constrain("a <= 2", "edges <= 6", "depth <= 3"),
}


class MethodContract(Contract):
    """What a search method must keep; ``methods`` are names that ``make_method`` knows.

    Example:
        >>> class TestRandom(MethodContract):
        ...     method = "random"
        >>> "test_same_seed_gives_the_same_search" in TestRandom.verify()
        True
    """

    #: Names of methods; or set ``method`` for a single one.
    methods: ClassVar[Mapping[str, str] | list[str]]
    #: Spaces with more than twenty graphs, the first one for the tests that take no space.
    spaces: ClassVar[Mapping[str, SearchSpace]] = _SPACES
    #: A space of at most forty graphs, which a search uses up.
    small_space: ClassVar[SearchSpace] = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
    #: For each method options that make it quick enough for a test.
    options: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def make(
        self,
        method: str,
        space: SearchSpace,
        initial: int = 5,
        seed: int = 0,
        evaluations: int = 20,
    ) -> Asker:
        """The method for a space; replace it for one that has no name."""
        if not is_available(method):
            pytest.skip(f"the package that {method} needs is not installed")
        options = self.options.get(method, {})
        return make_method(method, space, initial, seed, evaluations, **options)

    def batch(self, method: str) -> int:
        """How many graphs the method is asked for at a time."""
        return find_own_batch(method)

    def search(
        self, method: str, space: SearchSpace, evaluations: int, seed: int = 0
    ) -> SearchResult:
        """Search with the toy error."""
        asker = self.make(method, space, seed=seed, evaluations=evaluations)
        return run(asker, toy_error, evaluations, self.batch(method))

    @property
    def first_space(self) -> SearchSpace:
        """The space of tests that take none."""
        return next(iter(self.spaces.values()))

    def test_never_evaluates_twice_and_stays_in_the_space(
        self, method: str, space: SearchSpace
    ) -> None:
        result = self.search(method, space, 20)
        keys = {space.key(evaluation.graph) for evaluation in result.evaluations}
        assert len(keys) == len(result.evaluations) == 20
        assert all(evaluation.graph in space for evaluation in result.evaluations)

    def test_same_seed_gives_the_same_search(self, method: str) -> None:
        first, second = (self.search(method, self.first_space, 15) for _ in range(2))
        assert [e.graph for e in first.evaluations] == [e.graph for e in second.evaluations]

    def test_other_seeds_give_other_searches(self, method: str) -> None:
        first, second = (self.search(method, self.first_space, 10, seed) for seed in (0, 1))
        assert [e.graph for e in first.evaluations] != [e.graph for e in second.evaluations]

    def test_starts_with_the_common_initial_design(self, method: str) -> None:
        asked = self.make(method, self.first_space, initial=6, seed=3).ask(6)
        expected = draw_initial_design(self.first_space, 6, seed=3)
        assert [proposal.graph for proposal in asked] == expected

    def test_what_was_told_decides_what_is_asked(self, method: str) -> None:
        result, last = self.search(method, self.first_space, 15), self.batch(method)
        replayed = self.make(method, self.first_space, evaluations=15)
        for evaluation in result.evaluations[:-last]:
            replayed.tell(evaluation.graph, evaluation.error)
        asked = [proposal.graph for proposal in replayed.ask(last)]
        assert asked == [evaluation.graph for evaluation in result.evaluations[-last:]]

    def test_ends_when_the_space_is_used_up(self, method: str) -> None:
        result = self.search(method, self.small_space, 50)
        keys = {self.small_space.key(evaluation.graph) for evaluation in result.evaluations}
        assert len(keys) == len(result.evaluations) == self.small_space.count()

    def test_constant_errors_are_survived(self, method: str) -> None:
        asker = self.make(method, self.first_space)
        assert len(run(asker, lambda graph: 1.0, 12, self.batch(method)).evaluations) == 12

    def test_asking_twice_before_telling_gives_other_graphs(self, method: str) -> None:
        asker = self.make(method, self.first_space)
        for proposal in asker.ask(5):
            asker.tell(proposal.graph, toy_error(proposal.graph))
        asked = [*asker.ask(2), *asker.ask(2)]
        assert len({self.first_space.key(proposal.graph) for proposal in asked}) == 4

    def test_bad_observations_are_refused(self, method: str) -> None:
        asker = self.make(method, self.first_space)
        graph = self.first_space.sample(1, np.random.default_rng(0))[0]
        with pytest.raises(ObservationError, match="finite"):
            asker.tell(graph, float("nan"))
        with pytest.raises(GraphError):
            asker.tell(LabeledGraph.from_edges(self.first_space.sizes[-1] + 1, []), 1.0)


def toy_error(graph: LabeledGraph) -> float:
    """An error that edges and some labels make larger."""
    labels = graph.node_labels or tuple((graph.edge_labels or {}).values())
    return 5.0 + len(graph.edges) + sum(len(label) % 3 for label in labels)


class BenchmarkContract(Contract):
    """What a benchmark, a table of errors over a space, must keep; :meth:`make` finds it.

    Example:
        >>> class TestTable(BenchmarkContract):
        ...     benchmark = "nb201/cifar10"
        >>> "test_the_optimum_is_the_smallest_mean_error" in TestTable.verify()
        True
    """

    #: Names of benchmarks; or set ``benchmark`` for a single one.
    benchmarks: ClassVar[Collection[str]]
    #: Whether queries answer single trainings.
    noisy: ClassVar[bool] = False

    def make(self, benchmark: str) -> Benchmark:
        """The benchmark of a name; replace it for one that has none."""
        try:
            return find_benchmark(benchmark, self.noisy)
        except (DataError, MissingPackageError) as missing:
            pytest.skip(str(missing))

    def test_queries_are_finite_and_have_an_error(self, benchmark: str, seed: int) -> None:
        table = self.make(benchmark)
        rng = np.random.default_rng(seed)
        for graph in table.space.sample(10, rng):
            metrics = table.query(graph, rng)
            assert "error" in metrics
            assert all(math.isfinite(value) for value in metrics.values())
            assert math.isfinite(table.mean_error(graph))

    def test_the_same_seed_gives_the_same_noise(self, benchmark: str, seed: int) -> None:
        table = self.make(benchmark)
        graphs = table.space.sample(10, np.random.default_rng(seed))
        first, second = (
            [table.query(graph, rng) for graph in graphs]
            for rng in (np.random.default_rng(seed), np.random.default_rng(seed))
        )
        assert first == second
        assert [table.mean_error(g) for g in graphs] == [table.mean_error(g) for g in graphs]

    def test_the_mean_lies_among_single_trainings(self, benchmark: str, seed: int) -> None:
        table = self.make(benchmark)
        rng = np.random.default_rng(seed)
        for graph in table.space.sample(5, rng):
            errors = [table.query(graph, rng)["error"] for _ in range(40)]
            mean = table.mean_error(graph)
            assert min(errors) - 1e-9 <= mean <= max(errors) + 1e-9

    def test_the_optimum_is_the_smallest_mean_error(self, benchmark: str) -> None:
        table = self.make(benchmark)
        listed = table.space.size_bound() <= MOST_LISTED
        rng = np.random.default_rng(0)
        graphs = list_graphs(table.space) if listed else table.space.sample(200, rng)
        smallest = min(table.mean_error(graph) for graph in graphs)
        assert smallest == pytest.approx(table.optimum) if listed else smallest >= table.optimum

    def test_nodes_in_another_order_have_the_same_error(self, benchmark: str, seed: int) -> None:
        table = self.make(benchmark)
        if table.space.indexed:
            pytest.skip("the space tells nodes apart by their index")
        rng = np.random.default_rng(seed)
        for graph in table.space.sample(10, rng):
            other = graph.relabeled(rng.permutation(graph.n).tolist())
            assert table.mean_error(other) == table.mean_error(graph)

    def test_a_graph_outside_the_space_is_refused(self, benchmark: str) -> None:
        table = self.make(benchmark)
        outside = LabeledGraph.from_edges(table.space.sizes[-1] + 1, [])
        with pytest.raises(NasgoatError):
            table.mean_error(outside)
        with pytest.raises(NasgoatError):
            table.query(outside, np.random.default_rng(0))

    def test_it_says_what_it_measures(self, benchmark: str) -> None:
        table = self.make(benchmark)
        assert table.name
        assert table.metric
        assert table.space.describe()
