"""Evaluation: what an objective answers, and running it so that it can be stopped.

Kept light on purpose: every worker process imports this package.
"""

from nasgoat.evaluation.evaluators import Evaluator, Inline, Isolated, kill_children
from nasgoat.evaluation.outcomes import (
    LARGEST_ERROR,
    Failure,
    FailureKind,
    Objective,
    Outcome,
    checked_metrics,
)

__all__ = [
    "LARGEST_ERROR",
    "Evaluator",
    "Failure",
    "FailureKind",
    "Inline",
    "Isolated",
    "Objective",
    "Outcome",
    "checked_metrics",
    "kill_children",
]
