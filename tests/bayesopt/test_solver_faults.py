"""A search whose solver is killed, runs out of time or contradicts the surrogate."""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from nasgoat import LabeledGraph, LowerConfidenceBound, NodeLabeledSpace, Optimizer, Pool, search
from nasgoat.acquisition import Acquisition
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.bayesopt import SearchResult, Settings
from nasgoat.errors import ModelError, SolverLostError, SurrogateError
from nasgoat.solvers import SolveLimits, SolverError

SPACE = NodeLabeledSpace(nodes=(4, 5), ops=["conv", "pool"], max_edges=7)


def edges(graph: LabeledGraph) -> float:
    return 1.0 + len(graph.edges)


def searched(optimizer: MipOptimizer) -> SearchResult:
    return search(edges, optimizer.space, evaluations=6, initial=5, batch=1, optimizer=optimizer)


def test_a_solver_that_is_killed_leaves_the_search_running() -> None:
    killed: list[int] = []

    def kill(line: str) -> None:
        process = optimizer._child._process if optimizer._child else None
        if process is not None and "rows" in line:
            os.kill(process.pid, signal.SIGKILL)
            killed.append(process.pid)

    optimizer = MipOptimizer(SPACE, progress=kill)
    result = searched(optimizer)
    assert killed
    assert len(result.evaluations) == 6
    assert result.certified == 0.0
    assert str(result.evaluations[5].proposal.certificate.status) == "heuristic"


def test_a_solver_without_time_leaves_the_search_running() -> None:
    space = NodeLabeledSpace(nodes=(6, 7), ops=["conv", "pool", "skip"], max_edges=10)
    result = searched(MipOptimizer(space, limits=SolveLimits(seconds=1e-3), child=False))
    assert len(result.evaluations) == 6
    assert result.certified == 0.0


def test_whatever_a_solver_fails_with_is_survived() -> None:
    assert issubclass(SolverError, SolverLostError)


class Contradicting(MipOptimizer):
    """Its surrogate scores by one posterior and hands another one to the paper's formulation."""

    def optimize(
        self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
    ) -> Pool:
        fitted = acquisition.gp.gpr_
        fitted.alpha_ = 1.1 * fitted.alpha_
        return super().optimize(acquisition, k, exclude)


@pytest.mark.parametrize("child", [True, False])
def test_a_wrong_answer_of_a_solver_is_never_silent(child: bool) -> None:
    space = NodeLabeledSpace(nodes=(3, 4), ops=["conv", "pool"], max_edges=4)
    optimizer = Contradicting(space, formulation="paper", child=child)
    with pytest.raises(ModelError, match=r"got value .* instead of .*model\.lp") as caught:
        search(edges, space, 6, 1, 5, settings=Settings(kernel="linear"), optimizer=optimizer)
    exported = Path(str(caught.value).rsplit(" ", 1)[1])
    assert "(Acq_Opt)mean" in exported.read_text()


def test_an_ill_conditioned_surrogate_costs_the_proof_and_not_the_search(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Cells with one operation are near each other, and errors without any pattern, of which next to
    # nothing may be noise, drive the variances up: values then hang on the order of the sums.
    space = NodeLabeledSpace(nodes=(2, 7), ops=["conv"], max_edges=9)
    settings = Settings(kernel="exponential", noise=1e-6, batch_strategy="top")
    asking = Optimizer(space, initial=1, settings=settings, optimizer=BranchAndBound(space))
    for cell in space.sample(400, np.random.default_rng(0)):
        asking.tell(cell, 10.0 + zlib.crc32(space.key(cell)) / 2**32)

    statuses = [str(proposal.certificate.status) for proposal in asking.ask(3)]
    assert statuses == ["heuristic", "heuristic", "heuristic"]
    assert "gave up (the search and the surrogate must agree" in caplog.text

    assert asking.surrogate is not None
    assert np.linalg.cond(asking.surrogate.gpr_.L_) ** 2 > 1e12
    with pytest.raises(SurrogateError, match="the search and the surrogate must agree"):
        BranchAndBound(space).optimize(LowerConfidenceBound(3.0, asking.surrogate), 3)
