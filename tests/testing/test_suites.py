"""A suite must fail where its promise is broken, and say what is missing where it can't run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import DotProduct, ExpSineSquared

from nasgoat import Catalogue, EdgeLabeledSpace, LowerConfidenceBound, NodeLabeledSpace, Pool
from nasgoat.acquisition import AcquisitionOptimizer, Certificate, Proposal, Sampling, Status
from nasgoat.bayesopt import Asker
from nasgoat.benchmarks import Benchmark, NasBench201
from nasgoat.errors import SettingError
from nasgoat.graphs import GraphBatch, LabeledGraph
from nasgoat.search_methods import make_method
from nasgoat.spaces import SearchSpace
from nasgoat.testing import (
    BenchmarkContract,
    CellContract,
    KernelContract,
    MethodContract,
    OptimizerContract,
    SpaceContract,
)

SPACE = EdgeLabeledSpace(3, ["a", "b"])


class ForgetsOne(EdgeLabeledSpace):
    """Lists all graphs but the first."""

    def _enumerate(self) -> Iterator[GraphBatch]:
        batches = list(super()._enumerate())
        yield batches[0].take(slice(1, None))
        yield from batches[1:]

    def _count(self) -> int:
        return super()._count() - 1


class CountsOneMore(EdgeLabeledSpace):
    def _count(self) -> int:
        return super()._count() + 1


class StaysWhereItIs(EdgeLabeledSpace):
    def mutate(self, graph: LabeledGraph, rng: np.random.Generator) -> LabeledGraph:
        return graph


class IgnoresLimits(EdgeLabeledSpace):
    def within_limits(self, graphs: Any) -> Any:
        return np.ones(len(graphs), dtype=bool)


@pytest.mark.parametrize(
    ("space", "test"),
    [
        (ForgetsOne, "test_nothing_is_missing_from_the_list"),
        (CountsOneMore, "test_every_graph_is_listed_once_and_counted"),
        (StaysWhereItIs, "test_mutation_stays_inside_and_moves"),
        (IgnoresLimits, "test_a_limit_leaves_the_graphs_that_satisfy_it"),
    ],
)
def test_a_space_that_breaks_a_promise_fails(space: type[EdgeLabeledSpace], test: str) -> None:
    class Suite(SpaceContract):
        pass

    broken = space(3, [space.__name__, "b"])  # a name of its own: listings are kept
    arguments = {"seed": 0} if "mutation" in test else {}
    with pytest.raises(AssertionError):
        getattr(Suite(), test)(broken, **arguments)


def test_structures_that_are_not_all_fail() -> None:
    class Fewer(NodeLabeledSpace):
        def structures(self, n: int) -> Iterator[Any]:
            for chunk in super().structures(n):
                yield chunk[1:]

    space = Fewer((4, 4), ["fewer"])
    with pytest.raises(AssertionError):
        CellContract().test_rows_hold_for_structures_and_for_nothing_else(space)


@dataclass
class Boaster:
    """Draws at random and calls the result optimal."""

    space: SearchSpace
    status: Status = Status.OPTIMAL
    name: str = "boaster"

    def optimize(
        self, acquisition: LowerConfidenceBound, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        worst = Catalogue(self.space).optimize(acquisition, 100, exclude).proposals[::-1][:k]
        proposals = tuple(replace(p, certificate=self._claim(p)) for p in worst)
        return Pool(proposals, proposals[0].certificate)

    def _claim(self, proposal: Proposal) -> Certificate:
        return replace(proposal.certificate, status=self.status, bound=proposal.lcb)


class BoasterSuite(OptimizerContract):
    space = SPACE
    status = Status.OPTIMAL

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        return Boaster(space, self.status)

    def make_limited(self, space: SearchSpace) -> AcquisitionOptimizer:
        return Boaster(space, self.status)


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.FEASIBLE, Status.HEURISTIC])
def test_a_false_certificate_fails(status: Status) -> None:
    class Suite(BoasterSuite):
        pass

    Suite.status = status
    with pytest.raises(AssertionError):
        Suite().test_a_limit_that_is_hit_leaves_valid_bounds(SPACE, "linear")
    with pytest.raises(AssertionError):
        Suite().test_no_answer_is_better_than_the_best_graphs(SPACE, "linear", 0)


def test_an_optimiser_that_is_never_the_same_fails() -> None:
    class Suite(OptimizerContract):
        space = EdgeLabeledSpace(4, ["a", "b"])
        made = 0

        def make(self, space: SearchSpace) -> AcquisitionOptimizer:
            Suite.made += 1
            return Sampling(space, size=5, seed=Suite.made)

    with pytest.raises(AssertionError):
        Suite().test_the_same_problem_has_the_same_answer(Suite.space, "linear")


def test_a_kernel_with_a_wrong_gradient_fails() -> None:
    class Wrong(DotProduct):  # type: ignore[misc]
        def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
            if not eval_gradient:
                return super().__call__(X, Y)
            K, gradient = super().__call__(X, Y, eval_gradient=True)
            return K, gradient / 2  # as if by the parameter instead of its logarithm

    class Suite(KernelContract):
        space = SPACE
        kernel = Wrong()

    with pytest.raises(AssertionError):
        Suite().test_gradient_equals_finite_differences(Suite.kernel)


def test_a_kernel_that_is_not_positive_fails() -> None:
    class Negative(ExpSineSquared):  # type: ignore[misc]
        def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
            return -super().__call__(X, Y)

    class Suite(KernelContract):
        space = SPACE
        kernel = Negative()

    with pytest.raises(AssertionError):
        Suite().test_matrix_is_symmetric_and_positive_semidefinite(Suite.kernel)


def test_a_method_that_does_not_follow_its_seed_fails() -> None:
    class Suite(MethodContract):
        method = "random"
        made = 0

        def make(self, *args: Any, **options: Any) -> Asker:
            Suite.made += 1
            return make_method("random", self.first_space, initial=5, seed=Suite.made)

    with pytest.raises(AssertionError):
        Suite().test_same_seed_gives_the_same_search("random")


def test_a_benchmark_with_a_wrong_optimum_fails() -> None:
    @dataclass(frozen=True, eq=False)
    class Wrong(NasBench201):
        @property
        def optimum(self) -> float:
            return 9.0

    class Suite(BenchmarkContract):
        benchmark = "wrong"

        def make(self, benchmark: str) -> Benchmark:
            return Wrong("cifar10")

    with pytest.raises(AssertionError):
        Suite().test_the_optimum_is_the_smallest_mean_error("wrong")


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
