"""Evaluation: what an objective answers, and running it so that it can be stopped.

An evaluator is a callable that turns a graph into an outcome and never raises. ``Inline`` calls a
Python function where it is; ``Isolated`` runs the objective in a child process that can be killed.
Both can be sent to another process or machine, so any ``concurrent.futures.Executor`` can run them.

Kept light on purpose: every worker process imports this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nasgoat.evaluation.fidelities import (
    Fidelities,
    Fidelity,
    call_objective,
    make_checkpoint,
)
from nasgoat.evaluation.isolated import Isolated, allow_children, kill_children
from nasgoat.evaluation.objectives import (
    ERROR,
    LARGEST_ERROR,
    Failure,
    FailureKind,
    Objective,
    Outcome,
    check_metrics,
    describe_exception,
)
from nasgoat.evaluation.workers import Share, list_devices
from nasgoat.graphs import LabeledGraph

__all__ = [
    "LARGEST_ERROR",
    "Evaluator",
    "Failure",
    "FailureKind",
    "Fidelities",
    "Fidelity",
    "Inline",
    "Isolated",
    "Objective",
    "Outcome",
    "Share",
    "allow_children",
    "check_metrics",
    "kill_children",
    "list_devices",
]


class Evaluator(Protocol):
    """Turns a graph into an outcome; never raises."""

    def __call__(
        self, graph: LabeledGraph, number: int, fidelity: Fidelity | None = None
    ) -> Outcome:
        """Evaluate a graph; the number of the evaluation seeds what is random."""


@dataclass(frozen=True)
class Inline:
    """Calls a Python function in the process and thread where the executor runs it.

    Args:
        objective: The function.
        needed: Metrics that it must return.
        checkpoints: Where each graph has a folder of its own, for objectives with fidelities.

    Example:
        >>> cell = LabeledGraph.from_edges(2, [(0, 1)])
        >>> Inline(lambda graph: len(graph.edges) / 2)(cell, 0).metrics
        {'error': 0.5}
    """

    objective: Objective
    needed: tuple[str, ...] = ERROR
    checkpoints: str | None = None

    def __call__(
        self, graph: LabeledGraph, number: int, fidelity: Fidelity | None = None
    ) -> Outcome:
        """Evaluate a graph; what the function raises becomes a failure."""
        try:
            if fidelity is None:
                return Outcome.of(self.objective(graph), self.needed)
            folder = make_checkpoint(self.checkpoints, graph)
            answer = call_objective(self.objective, graph, fidelity.value, folder)
            return Outcome.of(answer, self.needed)
        except Exception as problem:
            return describe_exception(problem)
