"""Search: the ask/tell optimiser and the loop around it."""

from nasgoat.bayesopt.loop import (
    Asker,
    Evaluation,
    Iteration,
    Objective,
    SearchResult,
    run,
    search,
)
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.bayesopt.settings import PRESETS, STRATEGIES, Settings

__all__ = [
    "PRESETS",
    "STRATEGIES",
    "Asker",
    "Evaluation",
    "Iteration",
    "Objective",
    "Optimizer",
    "SearchResult",
    "Settings",
    "run",
    "search",
]
