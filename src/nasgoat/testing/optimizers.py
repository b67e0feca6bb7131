"""What every acquisition optimiser promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest

from nasgoat.acquisition import (
    AcquisitionOptimizer,
    AcquisitionProblem,
    Chebyshev,
    Constrained,
    KnownCost,
    LowerConfidenceBound,
    Status,
    random_problem,
)
from nasgoat.errors import SettingError
from nasgoat.spaces import SearchSpace
from nasgoat.testing.agreement import ABSOLUTE, assert_honest, assert_same_values, score_all
from nasgoat.testing.contract import Contract, list_graphs


class OptimizerContract(Contract):
    """What an acquisition optimiser must keep; :meth:`make` says which.

    An *exact* optimiser proves its proposals optimal; any other must not claim so. The answers are
    compared with the scores of every graph, so give small spaces.

    Example:
        >>> from nasgoat import Catalogue, EdgeLabeledSpace
        >>> class TestCatalogue(OptimizerContract):
        ...     space = EdgeLabeledSpace(3, ["conv", "skip"])
        ...     def make(self, space):
        ...         return Catalogue(space)
        >>> "test_the_best_graphs_are_those_of_scoring_every_graph" in TestCatalogue.verify()
        True
    """

    #: The spaces by name; or set ``space`` for a single one.
    spaces: ClassVar[Mapping[str, SearchSpace]]
    #: Kernels that the optimiser knows.
    kernels: ClassVar[Sequence[str]] = ("linear", "exponential")
    #: Whether every answer without a time limit is proven optimal.
    exact: ClassVar[bool] = True
    #: How many proposals are asked for.
    k: ClassVar[int] = 4

    def make(self, space: SearchSpace) -> AcquisitionOptimizer:
        """The optimiser for a space, without a time limit."""
        raise NotImplementedError

    def make_limited(self, space: SearchSpace) -> AcquisitionOptimizer | None:
        """The optimiser with a limit that it hits at once; None if it has no limits."""
        return None

    def problem(self, space: SearchSpace, kernel: str, seed: int) -> AcquisitionProblem:
        """A random acquisition problem with some graphs left to propose."""
        return random_problem(space, max(1, min(8, space.count() // 3)), kernel, seed=seed)

    def test_the_best_graphs_are_those_of_scoring_every_graph(
        self, space: SearchSpace, kernel: str, seed: int
    ) -> None:
        if not self.exact:
            pytest.skip("the optimiser proves nothing")
        problem = self.problem(space, kernel, seed)
        pool = self.make(space).optimize(problem.acquisition, self.k, problem.observed)
        assert_same_values(pool, score_all(space, problem)[: self.k])
        for proposal in pool:
            assert proposal.certificate.certified
            assert proposal.certificate.bound is not None
            assert proposal.certificate.bound <= (proposal.lcb or 0.0) + ABSOLUTE

    def test_no_answer_is_better_than_the_best_graphs(
        self, space: SearchSpace, kernel: str, seed: int
    ) -> None:
        problem = self.problem(space, kernel, seed)
        best = score_all(space, problem)
        pool = self.make(space).optimize(problem.acquisition, self.k, problem.observed)
        assert 0 < len(pool) <= self.k
        for proposal, value in zip(pool, best[: len(pool)], strict=True):
            assert proposal.lcb is not None
            assert proposal.lcb >= value - ABSOLUTE
        assert_honest(pool, best)

    def test_proposals_are_members_best_first_and_score_what_they_say(
        self, space: SearchSpace, kernel: str, seed: int
    ) -> None:
        problem = self.problem(space, kernel, seed)
        pool = self.make(space).optimize(problem.acquisition, self.k)
        graphs = [proposal.graph for proposal in pool]
        assert len({space.key(graph) for graph in graphs}) == len(graphs) > 0
        assert all(graph in space for graph in graphs)
        values = [proposal.lcb or 0.0 for proposal in pool]
        assert values == pytest.approx(problem.acquisition.score(graphs), abs=ABSOLUTE)
        assert all(a <= b + ABSOLUTE for a, b in pairwise(values))
        assert pool.certificate == pool[0].certificate
        for proposal in pool:
            assert proposal.mean is not None
            assert proposal.std is not None
            bound = proposal.mean - problem.acquisition.sqrt_beta * proposal.std
            assert proposal.lcb == pytest.approx(bound, abs=1e-6)  # a standard deviation is a root

    def test_excluded_graphs_are_not_proposed(self, space: SearchSpace, kernel: str) -> None:
        problem = self.problem(space, kernel, 0)
        optimizer = self.make(space)
        first = {space.key(p.graph) for p in optimizer.optimize(problem.acquisition, 2)}
        second = optimizer.optimize(problem.acquisition, 2, exclude=first)
        assert len(second) > 0
        assert not first & {space.key(p.graph) for p in second}

    def test_what_is_left_comes_back_and_then_nothing(self, space: SearchSpace) -> None:
        problem = self.problem(space, self.kernels[0], 0)
        keys = {space.key(graph) for graph in list_graphs(space)}
        left = set(sorted(keys)[:2])
        optimizer = self.make(space)
        pool = optimizer.optimize(problem.acquisition, 5, exclude=keys - left)
        assert {space.key(proposal.graph) for proposal in pool} == left
        empty = optimizer.optimize(problem.acquisition, 5, exclude=keys)
        assert len(empty) == 0
        assert empty.certificate.status is Status.EXHAUSTED

    def test_the_same_problem_has_the_same_answer(self, space: SearchSpace, kernel: str) -> None:
        optimizer = self.make(space)
        answers = [
            [(p.graph, p.lcb) for p in made.optimize(problem.acquisition, self.k)]
            for made in (optimizer, optimizer, self.make(space))
            for problem in [self.problem(space, kernel, 1)]
        ]
        assert answers[0] == answers[1] == answers[2]

    def test_a_limit_that_is_hit_leaves_valid_bounds(self, space: SearchSpace, kernel: str) -> None:
        limited = self.make_limited(space)
        if limited is None:
            pytest.skip("the optimiser has no limits")
        problem = self.problem(space, kernel, 0)
        best = score_all(space, problem)
        assert_honest(limited.optimize(problem.acquisition, self.k, problem.observed), best)

    def test_a_limit_that_is_hit_leaves_no_pool_half_full(
        self, space: SearchSpace, kernel: str
    ) -> None:
        limited = self.make_limited(space)
        if limited is None:
            pytest.skip("the optimiser has no limits")
        problem = self.problem(space, kernel, 0)
        pool = limited.optimize(problem.acquisition, self.k, problem.observed)
        assert len(pool) in {0, min(self.k, len(score_all(space, problem)))}

    def test_several_objectives_are_minimised_or_refused(
        self, space: SearchSpace, kernel: str
    ) -> None:
        parts = [self.problem(space, kernel, seed).acquisition for seed in (0, 1)]
        values = np.stack([part.score(list_graphs(space)) for part in parts])
        functions = [
            Chebyshev(parts, [0.7, 0.3], values.min(axis=1).tolist()),
            Constrained(parts, [float(np.median(values[1]))]),
            Constrained([parts[0], KnownCost.of(space, "edges")], [float(space.sizes[0])]),
        ]
        for function in functions:
            try:
                pool = self.make(space).optimize(function, self.k)
            except SettingError as refusal:
                assert "must" in str(refusal)
                continue
            best = np.sort(function.score(list_graphs(space)))
            assert_honest(pool, best[best < np.inf])
            if self.exact:
                assert_same_values(pool, best[best < np.inf][: self.k], type(function).__name__)

    def test_wrong_calls_are_refused(self, space: SearchSpace) -> None:
        optimizer = self.make(space)
        problem = self.problem(space, self.kernels[0], 0)
        with pytest.raises(SettingError, match="at least 1, got 0"):
            optimizer.optimize(problem.acquisition, 0)
        with pytest.raises(SettingError, match=r"surrogate|given"):
            optimizer.optimize(LowerConfidenceBound())
