"""A search whose solver is killed, runs out of time or contradicts the surrogate."""

from __future__ import annotations

import os
import signal

import pytest

from nasgoat import LabeledGraph, NodeLabeledSpace, search
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.acquisition.mip_sizes import ModelError
from nasgoat.bayesopt import SearchResult
from nasgoat.errors import SolverLostError
from nasgoat.solvers import SolveLimits, SolverError

SPACE = NodeLabeledSpace(nodes=(4, 5), ops=["conv", "pool"], max_edges=7)


def edges(graph: LabeledGraph) -> float:
    return 1.0 + len(graph.edges)


def searched(optimizer: MipOptimizer) -> SearchResult:
    return search(edges, SPACE, evaluations=6, initial=5, batch=1, optimizer=optimizer)


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
    result = searched(MipOptimizer(SPACE, limits=SolveLimits(seconds=1e-3), child=False))
    assert len(result.evaluations) == 6
    assert result.certified == 0.0


def test_whatever_a_solver_fails_with_is_survived() -> None:
    assert issubclass(SolverError, SolverLostError)


def test_a_model_that_contradicts_the_surrogate_ends_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def contradict(*_: object) -> None:
        raise ModelError("the model must hold the known graph, got another value; see model.lp")

    monkeypatch.setattr("nasgoat.acquisition.mip_sizes.check_model", contradict)
    with pytest.raises(ModelError, match=r"model\.lp"):
        searched(MipOptimizer(SPACE, child=False))
