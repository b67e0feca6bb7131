"""Solvers for the formulations: SCIP by default, Gurobi where it is licensed."""

from nasgoat.solvers.interface import (
    Judge,
    Point,
    Report,
    SolveLimits,
    SolverError,
    SolverMissingError,
    SolveStatus,
)

__all__ = [
    "Judge",
    "Point",
    "Report",
    "SolveLimits",
    "SolveStatus",
    "SolverError",
    "SolverMissingError",
]
