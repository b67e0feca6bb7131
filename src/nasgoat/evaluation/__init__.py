"""Evaluation: what an objective answers, and running it so that it can be stopped.

Kept light on purpose: every worker process imports this package.
"""

from nasgoat.evaluation.evaluators import (
    Evaluator,
    Inline,
    Isolated,
    allow_children,
    kill_children,
)
from nasgoat.evaluation.outcomes import (
    LARGEST_ERROR,
    Failure,
    FailureKind,
    Objective,
    Outcome,
    check_metrics,
)
from nasgoat.evaluation.slots import Share, list_devices

__all__ = [
    "LARGEST_ERROR",
    "Evaluator",
    "Failure",
    "FailureKind",
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
