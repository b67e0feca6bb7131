"""Every test of every suite fails where its promise is broken."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import DotProduct, WhiteKernel

from nasgoat import Catalogue, NodeLabeledSpace, Pool
from nasgoat.acquisition import (
    Acquisition,
    AcquisitionOptimizer,
    Certificate,
    Proposal,
    Sampling,
    Status,
)
from nasgoat.bayesopt import Asker
from nasgoat.benchmarks import Benchmark
from nasgoat.errors import GraphError, SettingError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.search_methods import make_method
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.names import CellNames
from nasgoat.testing import (
    BenchmarkContract,
    CellContract,
    Contract,
    KernelContract,
    MethodContract,
    OptimizerContract,
    SpaceContract,
)

SPACE = NodeLabeledSpace((2, 4), ["a", "b"])
FAILURES = (AssertionError, GraphError, pytest.fail.Exception)


def list_tests(suite: type[Contract]) -> set[str]:
    return {name for name in dir(suite) if name.startswith("test_")}


def run_test(suite: type[Contract], test: str, **subjects: Any) -> None:
    """Run one test of a suite for one value of each subject that it takes."""
    taken = signature(getattr(suite(), test)).parameters
    getattr(suite(), test)(**{name: subjects[name] for name in taken})


# Spaces


class CountsOneMore(NodeLabeledSpace):
    def _count(self) -> int:
        return super()._count() + 1


class RefusesAGraph(NodeLabeledSpace):
    def check(self, graph: LabeledGraph) -> None:
        super().check(graph)
        if len(graph.edges) == 1:
            raise GraphError("a graph must have two edges")


class ListsBackwards(NodeLabeledSpace):
    forwards: ClassVar[bool] = False

    def _enumerate(self) -> Iterator[GraphBatch]:
        batches = list(super()._enumerate())
        ListsBackwards.forwards = not self.forwards
        yield from batches if self.forwards else batches[::-1]


class ForgetsOne(NodeLabeledSpace):
    def _enumerate(self) -> Iterator[GraphBatch]:
        batches = list(super()._enumerate())
        yield batches[-1].take(slice(1, None))
        yield from batches[:-1]


class HasNoParts(NodeLabeledSpace):
    def with_nodes(self, n: int) -> HasNoParts:
        return self


class TakesAnything(NodeLabeledSpace):
    def check(self, graph: LabeledGraph) -> None:
        pass


class ComesBackAsAnother(NodeLabeledSpace):
    def __reduce__(self) -> Any:
        return NodeLabeledSpace, ((2, 4), ["x"])


class TellsNodesApart(NodeLabeledSpace):
    def key(self, graph: LabeledGraph) -> bytes:
        return graph.to_json().encode()


class DrawsTwice(NodeLabeledSpace):
    def sample(self, count: int, rng: np.random.Generator, exclude: Any = ()) -> list[LabeledGraph]:
        return super().sample(1, rng) * count


class IgnoresTheSeed(NodeLabeledSpace):
    drawn: ClassVar[int] = 0

    def sample(self, count: int, rng: np.random.Generator, exclude: Any = ()) -> list[LabeledGraph]:
        IgnoresTheSeed.drawn += 1
        return super().sample(count, np.random.default_rng(self.drawn), exclude)


class DrawsWhatIsExcluded(NodeLabeledSpace):
    def sample(self, count: int, rng: np.random.Generator, exclude: Any = ()) -> list[LabeledGraph]:
        return super().sample(count, rng)


class StaysWhereItIs(NodeLabeledSpace):
    def mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return graph


class HasFewVariants(NodeLabeledSpace):
    def variants(self, *args: Any, **options: Any) -> list[LabeledGraph]:
        return super().variants(*args, **options)[1:]


class NeighboursItself(NodeLabeledSpace):
    def neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        return [graph, *super().neighbours(graph)]


class OnlyLooksUp(NodeLabeledSpace):
    def neighbours(self, graph: LabeledGraph) -> list[LabeledGraph]:
        near = super().neighbours(graph)
        return [other for other in near if self.key(other) > self.key(graph)] or near[:1]


class MissesAPath(NodeLabeledSpace):
    def path_types(self) -> list[tuple[int, int, int]]:
        return super().path_types()[1:]


class BatchesBackwards(NodeLabeledSpace):
    def batch(self, graphs: Sequence[LabeledGraph]) -> GraphBatch:
        return super().batch(graphs[::-1])


class IgnoresLimits(NodeLabeledSpace):
    def within_limits(self, graphs: Any) -> Any:
        return np.ones(len(graphs), dtype=bool)


class HasOneFingerprint(NodeLabeledSpace):
    def fingerprint(self) -> str:
        return type(self).__name__


class DeclaresAnother(NodeLabeledSpace):  # its text does not name what is its own
    def fingerprint(self) -> str:
        return f"{super().fingerprint()} and more"


class OtherNames(CellNames):
    def decode(self, values: Mapping[str, float]) -> LabeledGraph:
        return super().decode(values).relabeled(range(self.n)[::-1])


class DecodesAnother(NodeLabeledSpace):
    def names(self, n: int) -> Any:
        return OtherNames(self, n)


class HasStructuresTwice(NodeLabeledSpace):
    def structures(self, n: int) -> Iterator[Any]:
        for chunk in super().structures(n):
            yield chunk
            yield chunk


class HasFewerStructures(NodeLabeledSpace):
    def structures(self, n: int) -> Iterator[Any]:
        for chunk in super().structures(n):
            yield chunk[1:]


BROKEN_SPACES: dict[str, type[NodeLabeledSpace]] = {
    "test_every_graph_is_listed_once_and_counted": CountsOneMore,
    "test_every_listed_graph_is_a_member": RefusesAGraph,
    "test_a_batch_has_graphs_of_one_size_and_the_order_never_changes": ListsBackwards,
    "test_nothing_is_missing_from_the_list": ForgetsOne,
    "test_the_parts_of_one_size_make_up_the_space": HasNoParts,
    "test_what_is_no_graph_of_the_space_is_refused": TakesAnything,
    "test_the_space_outlives_files_and_processes": ComesBackAsAnother,
    "test_nodes_in_another_order_make_the_same_graph": TellsNodesApart,
    "test_samples_are_distinct_members": DrawsTwice,
    "test_the_same_seed_draws_the_same_graphs": IgnoresTheSeed,
    "test_sampling_ends_when_the_space_is_used_up": DrawsWhatIsExcluded,
    "test_mutation_stays_inside_and_moves": StaysWhereItIs,
    "test_variants_are_members": HasFewVariants,
    "test_neighbours_are_distinct_members": NeighboursItself,
    "test_neighbours_are_mutual": OnlyLooksUp,
    "test_path_types_cover_every_pair_of_every_graph": MissesAPath,
    "test_a_batch_holds_its_graphs_and_has_their_features": BatchesBackwards,
    "test_a_limit_leaves_the_graphs_that_satisfy_it": IgnoresLimits,
    "test_the_fingerprint_follows_the_declaration": HasOneFingerprint,
    "test_the_declaration_is_read_back": DeclaresAnother,
    "test_variables_of_a_program_lead_there_and_back": DecodesAnother,
    "test_exact_optimizers_find_the_same_best_graphs": NodeLabeledSpace,  # by sampling
    "test_structures_ascend_and_are_distinct": HasStructuresTwice,
    "test_structures_and_labels_make_up_the_list": ForgetsOne,
    "test_rows_hold_for_structures_and_for_nothing_else": HasFewerStructures,
}


class BySampling(CellContract):
    exact_optimizers = ("sampling",)


@pytest.mark.parametrize("test", sorted(list_tests(CellContract)))
def test_a_space_that_breaks_a_promise_fails(test: str) -> None:
    space = BROKEN_SPACES[test]((2, 4), ["a", test])  # a label of its own: listings are kept
    with pytest.raises(FAILURES):
        run_test(BySampling, test, space=space, seed=0, kernel="linear")


# Kernels


class Wrong(DotProduct):  # type: ignore[misc]
    """A kernel whose answers can be changed."""

    def change(self, K: Any, gradient: Any, between: bool) -> tuple[Any, Any]:
        return K, gradient

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        if eval_gradient:
            K, gradient = super().__call__(X, Y, eval_gradient=True)
            return self.change(K, gradient, False)
        return self.change(super().__call__(X, Y), None, Y is not None)[0]


class HalfGradient(Wrong):  # as if by the parameter instead of its logarithm
    def change(self, K: Any, gradient: Any, between: bool) -> tuple[Any, Any]:
        return K, None if gradient is None else gradient / 2


class Negative(Wrong):
    def change(self, K: Any, gradient: Any, between: bool) -> tuple[Any, Any]:
        return -K, gradient


class OtherBetween(Wrong):
    def change(self, K: Any, gradient: Any, between: bool) -> tuple[Any, Any]:
        return K + between, gradient


class Mirrored(Wrong):  # between what is known and what is not
    def change(self, K: Any, gradient: Any, between: bool) -> tuple[Any, Any]:
        return -K if between else K, gradient


class OtherDiagonal(DotProduct):  # type: ignore[misc]
    def diag(self, X: Any) -> Any:
        return super().diag(X) + 1


BROKEN_KERNELS: dict[str, Any] = {
    "test_gradient_equals_finite_differences": HalfGradient(),
    "test_diagonal_equals_that_of_the_matrix": OtherDiagonal(),
    "test_matrix_is_symmetric_and_positive_semidefinite": Negative(),
    "test_two_sets_of_rows_give_a_part_of_the_matrix": OtherBetween(),
    "test_equal_rows_are_equally_alike": WhiteKernel(),
    "test_theta_there_and_back": DotProduct(1.0, (2.0, 3.0)),
    "test_a_gaussian_process_learns_with_it": Mirrored(),
}


class OnSmallCells(KernelContract):
    space = SPACE


@pytest.mark.parametrize("test", sorted(list_tests(KernelContract)))
def test_a_kernel_that_breaks_a_promise_fails(test: str) -> None:
    run_test(OnSmallCells, test, kernel=DotProduct())
    with pytest.raises(FAILURES):
        run_test(OnSmallCells, test, kernel=BROKEN_KERNELS[test])


# Acquisition optimisers


@dataclass
class Boaster:
    """Gives the worst graphs and says of them what is not true."""

    space: SearchSpace
    status: Status = Status.OPTIMAL
    name: str = "boaster"

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        worst = Catalogue(self.space).optimize(acquisition, 100).proposals[::-1][:k]
        proposals = tuple(replace(p, certificate=self._claim(p)) for p in worst)
        return Pool(proposals, proposals[0].certificate if proposals else Certificate(self.status))

    def _claim(self, proposal: Proposal) -> Certificate:
        return replace(proposal.certificate, status=self.status, bound=proposal.lcb)


class BoasterSuite(OptimizerContract):
    status = Status.OPTIMAL
    made = 0

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        return Boaster(space, self.status)

    def make_limited(self, space: SearchSpace) -> AcquisitionOptimizer:
        return Boaster(space, self.status)


class OtherSampleSuite(OptimizerContract):
    made = 0

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        OtherSampleSuite.made += 1
        return Sampling(space, size=5, seed=self.made)


class LenientSuite(OptimizerContract):
    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        class Lenient(Catalogue):
            def optimize(self, acquisition: Any, k: int = 1, exclude: Any = ()) -> Pool:
                return super().optimize(acquisition, max(k, 1), exclude)

        return Lenient(space)


class HalfFullSuite(BoasterSuite):
    def make_limited(self, space: SearchSpace) -> AcquisitionOptimizer:
        class HalfFull(Catalogue):
            def optimize(self, acquisition: Any, k: int = 1, exclude: Any = ()) -> Pool:
                return super().optimize(acquisition, k // 2, exclude)

        return HalfFull(space)


BROKEN_OPTIMIZERS: dict[str, type[OptimizerContract]] = {
    "test_a_limit_that_is_hit_leaves_no_pool_half_full": HalfFullSuite,
    "test_the_same_problem_has_the_same_answer": OtherSampleSuite,
    "test_wrong_calls_are_refused": LenientSuite,
}


@pytest.mark.parametrize("test", sorted(list_tests(OptimizerContract)))
def test_an_optimiser_that_breaks_a_promise_fails(test: str) -> None:
    suite = BROKEN_OPTIMIZERS.get(test, BoasterSuite)
    with pytest.raises(FAILURES):
        run_test(suite, test, space=SPACE, seed=0, kernel="linear")


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.FEASIBLE, Status.HEURISTIC])
def test_a_false_certificate_fails(status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoasterSuite, "status", status)
    for test in (
        "test_a_limit_that_is_hit_leaves_valid_bounds",
        "test_no_answer_is_better_than_the_best_graphs",
    ):
        with pytest.raises(AssertionError):
            run_test(BoasterSuite, test, space=SPACE, seed=0, kernel="linear")


# Search methods


@dataclass
class Wrapped:
    """Random search with one fault."""

    inner: Asker
    fault: str
    asked: int = 0
    errors: tuple[float, ...] = ()
    last: Sequence[Proposal] = ()

    @property
    def initial(self) -> int:
        return self.inner.initial

    def ask(self, k: int = 1) -> list[Proposal]:
        self.asked += 1
        if self.fault == "gives up early" and self.asked > 3:
            return []
        if self.fault == "needs two errors" and self.errors and len({*self.errors}) == 1:
            return []
        if self.fault == "repeats itself" and self.asked > 2:
            return list(self.last)
        self.last = self.inner.ask(k)
        return list(self.last)

    def tell(self, graph: LabeledGraph, error: float) -> None:
        self.errors += (error,)
        if self.fault == "believes anything":
            return
        if self.fault != "learns what it asked" or self.asked:
            self.inner.tell(graph, error)

    def tell_failed(self, graph: LabeledGraph) -> None:
        self.inner.tell_failed(graph)


class FaultyMethod(MethodContract):
    fault = ""
    made = 0

    def make(
        self,
        method: str,
        space: SearchSpace,
        initial: int = 5,
        seed: int = 0,
        evaluations: int = 20,
    ) -> Asker:
        FaultyMethod.made += 1
        if self.fault == "takes any seed":
            seed = self.made
        if self.fault == "takes no seed":
            seed = 7
        return Wrapped(make_method("random", space, initial, seed, evaluations), self.fault)


BROKEN_METHODS = {
    "test_never_evaluates_twice_and_stays_in_the_space": "gives up early",
    "test_same_seed_gives_the_same_search": "takes any seed",
    "test_other_seeds_give_other_searches": "takes no seed",
    "test_starts_with_the_common_initial_design": "takes no seed",
    "test_what_was_told_decides_what_is_asked": "learns what it asked",
    "test_ends_when_the_space_is_used_up": "gives up early",
    "test_constant_errors_are_survived": "needs two errors",
    "test_asking_twice_before_telling_gives_other_graphs": "repeats itself",
    "test_bad_observations_are_refused": "believes anything",
}


@pytest.mark.parametrize("test", sorted(list_tests(MethodContract)))
def test_a_method_that_breaks_a_promise_fails(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_test(FaultyMethod, test, method="random", space=SPACE)
    monkeypatch.setattr(FaultyMethod, "fault", BROKEN_METHODS[test])
    with pytest.raises(FAILURES):
        run_test(FaultyMethod, test, method="random", space=SPACE)


# Benchmarks


@dataclass
class Table:
    """The number of edges as error, with one fault."""

    fault: str = ""
    queries: int = 0
    space: SearchSpace = SPACE
    metric: str = "edges"

    @property
    def name(self) -> str:
        return "" if self.fault == "has no name" else "edges"

    @property
    def optimum(self) -> float:
        return 0.5 if self.fault == "promises too much" else 1.0

    def query(self, graph: LabeledGraph, rng: np.random.Generator) -> dict[str, float]:
        self.mean_error(graph)  # checks the graph
        self.queries += 1
        noise = self.queries if self.fault == "follows no seed" else rng.normal()
        error = float("nan") if self.fault == "has gaps" else len(graph.edges) + noise
        return {"error": error}

    def mean_error(self, graph: LabeledGraph) -> float:
        if self.fault != "takes any graph":
            self.space.check(graph)
        place = int(np.argwhere(graph.adjacency)[0, 0]) if graph.edges else 0
        shift = {"is far from its mean": 99.0, "reads the order": 0.1 * place}.get(self.fault, 0.0)
        return len(graph.edges) + shift


class FaultyTable(BenchmarkContract):
    def make(self, benchmark: str) -> Benchmark:
        table: Benchmark = Table(benchmark)
        return table


BROKEN_TABLES = {
    "test_queries_are_finite_and_have_an_error": "has gaps",
    "test_the_same_seed_gives_the_same_noise": "follows no seed",
    "test_the_mean_lies_among_single_trainings": "is far from its mean",
    "test_the_optimum_is_the_smallest_mean_error": "promises too much",
    "test_nodes_in_another_order_have_the_same_error": "reads the order",
    "test_a_graph_outside_the_space_is_refused": "takes any graph",
    "test_it_says_what_it_measures": "has no name",
}


@pytest.mark.parametrize("test", sorted(list_tests(BenchmarkContract)))
def test_a_benchmark_that_breaks_a_promise_fails(test: str) -> None:
    run_test(FaultyTable, test, benchmark="", seed=0)
    with pytest.raises(FAILURES):
        run_test(FaultyTable, test, benchmark=BROKEN_TABLES[test], seed=0)


# The suites themselves


def test_an_error_that_is_not_raised_is_a_broken_promise() -> None:
    with pytest.raises(AssertionError, match="DID NOT RAISE"):
        FaultyTable.verify(benchmark="takes any graph")


def test_a_suite_without_a_subject_says_so() -> None:
    with pytest.raises(SettingError, match="set the attribute space or spaces"):
        SpaceContract.verify()


def test_the_suites_say_that_they_need_pytest() -> None:
    program = "import sys; sys.modules['pytest'] = None; import nasgoat.testing"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'pytest must be installed for this; run pip install "nasgoat[dev]"' in done.stderr


def test_the_package_is_not_imported_with_nasgoat() -> None:
    program = "import sys, nasgoat, nasgoat.cli; assert 'nasgoat.testing' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
