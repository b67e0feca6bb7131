"""Solvers for the formulations: SCIP by default, Gurobi where it is licensed."""

from importlib import import_module

from nasgoat.solvers.interface import (
    Judge,
    Point,
    Report,
    SolveLimits,
    SolverError,
    SolverMissingError,
    SolveStatus,
    SolveTask,
)

__all__ = [
    "Judge",
    "Point",
    "Report",
    "SolveLimits",
    "SolveStatus",
    "SolveTask",
    "SolverError",
    "SolverMissingError",
    "solve",
]


def solve(solver: str, task: SolveTask) -> Report:
    """Let a solver, ``"scip"`` or ``"gurobi"``, do a task; only its own package is loaded."""
    report: Report = import_module(f"nasgoat.solvers.{solver}").solve(task)
    return report
