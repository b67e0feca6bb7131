"""What a space owes to acquisition optimisers: that all exact ones find the same best graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat.acquisition import (
    AcquisitionProblem,
    Effort,
    Pool,
    Status,
    make_optimizer,
    random_problem,
)
from nasgoat.spaces import SearchSpace
from nasgoat.testing.contract import Contract, list_graphs

#: Relative difference that an optimiser's own tolerance may cause: the gap at which a
#: mixed-integer program stops is 1e-4.
RELATIVE, ABSOLUTE = 2e-4, 1e-7


class AgreementContract(Contract):
    """What a space owes to acquisition optimisers; ``SpaceContract`` inherits it."""

    #: Kernels for which the exact optimisers are compared.
    kernels: ClassVar[Sequence[str]] = ("linear", "exponential")
    #: Names of acquisition optimisers that must find the same best graphs.
    exact_optimizers: ClassVar[Sequence[str]] = ("catalogue",)

    def test_variables_of_a_program_lead_there_and_back(self, space: SearchSpace) -> None:
        if space.layout in ("list", "cells"):
            pytest.skip("the space is a list of graphs, or several cells, which no program holds")
        graphs = list_graphs(space)
        for graph in graphs[:: 1 + len(graphs) // 60]:
            names = space.names(graph.n)
            for ordered in names.list_orders(names.order(graph), 3):
                ones, missing = names.encode(ordered)
                decisions = names.list_decisions()
                assert set(missing) <= set(decisions)
                assert not set(ones) & set(missing)
                present = [name for name in decisions if name.startswith("A(")]
                values = dict.fromkeys(decisions, 0.0) | dict.fromkeys([*present, *ones], 1.0)
                decoded = names.decode(values | dict.fromkeys(missing, 0.0))
                assert decoded == ordered
                assert space.key(decoded) == space.key(graph)

    def test_exact_optimizers_find_the_same_best_graphs(
        self, space: SearchSpace, kernel: str
    ) -> None:
        observed = min(6, space.count() // 2)
        if observed < 1:
            pytest.skip("the space has a single graph")
        problem = random_problem(space, observed, kernel, seed=1)
        expected = score_all(space, problem)[:3]
        here = Effort(child=False)  # to start a process for a solver takes longer than to solve
        for name in self.exact_optimizers:
            optimizer = make_optimizer(name, space, effort=here)
            pool = optimizer.optimize(problem.acquisition, 3, problem.observed)
            assert all(proposal.graph in space for proposal in pool), name
            assert all(proposal.certificate.certified for proposal in pool), name
            assert_same_values(pool, expected, name)


def score_all(space: SearchSpace, problem: AcquisitionProblem) -> NDArray[np.float64]:
    """The acquisition values of every graph that was not observed, lowest first."""
    left = [graph for graph in list_graphs(space) if space.key(graph) not in problem.observed]
    return np.sort(problem.acquisition.score(left))


def assert_same_values(pool: Pool, expected: NDArray[np.float64], who: str = "") -> None:
    """The pool must have these values, up to the tolerance at which a solver stops."""
    found = [proposal.lcb for proposal in pool]
    assert found == pytest.approx(expected.tolist(), rel=RELATIVE, abs=ABSOLUTE), who


def assert_honest(pool: Pool, best: NDArray[np.float64]) -> None:
    """No certificate may claim more than is true; ``best`` are the true values, lowest first.

    The bound of the i-th proposal holds for all graphs except the better ones in the pool.
    """
    if not len(pool):
        status, bound = pool.certificate.status, pool.certificate.bound
        assert status is not Status.OPTIMAL
        if status is Status.EXHAUSTED:
            assert not len(best)
        if bound is not None:
            assert bound <= best[0] + ABSOLUTE
    for i, proposal in enumerate(pool):
        bound, value = proposal.certificate.bound, proposal.lcb
        assert value is not None
        assert value >= best[i] - ABSOLUTE
        if proposal.certificate.certified:
            assert value == pytest.approx(best[i], rel=RELATIVE, abs=ABSOLUTE)
        if proposal.certificate.status is Status.HEURISTIC:
            assert bound is None
        if bound is not None:
            assert bound <= best[i] + RELATIVE * abs(best[i]) + ABSOLUTE
