"""What every benchmark promises."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest

from nasgoat.benchmarks import Benchmark
from nasgoat.benchmarks import benchmark as find_benchmark
from nasgoat.errors import DataError, MissingPackageError, NasgoatError
from nasgoat.graphs import LabeledGraph
from nasgoat.testing.contract import Contract

#: Larger spaces are not listed; the optimum is compared with random graphs then.
MOST_LISTED = 20_000


class BenchmarkContract(Contract):
    """What a benchmark, a table of errors over a space, must keep; :meth:`make` finds it.

    Example:
        >>> class TestTable(BenchmarkContract):
        ...     benchmark = "nb201/cifar10"
        >>> "test_the_optimum_is_the_smallest_mean_error" in TestTable.verify()
        True
    """

    subjects: ClassVar[Mapping[str, str]] = {"benchmark": "benchmarks", "seed": "seeds"}
    #: Names of benchmarks; or set ``benchmark`` for a single one.
    benchmarks: ClassVar[Collection[str]]
    #: Whether queries answer single trainings.
    noisy: ClassVar[bool] = False
    #: Seeds of the random graphs.
    seeds: ClassVar[Sequence[int]] = range(2)

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
        space = table.space
        if space.size_bound() <= MOST_LISTED:
            graphs = [graph for batch in space.enumerate() for graph in batch]
            assert min(table.mean_error(g) for g in graphs) == pytest.approx(table.optimum)
            return
        graphs = space.sample(200, np.random.default_rng(0))
        assert all(table.mean_error(graph) >= table.optimum for graph in graphs)

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
