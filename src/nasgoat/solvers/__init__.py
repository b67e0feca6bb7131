"""Solvers for the formulations: SCIP by default, Gurobi where it is licensed."""

from nasgoat.solvers.limits import (
    Judge,
    Limits,
    Outcome,
    Point,
    Report,
    SolverError,
    SolverMissingError,
)

__all__ = [
    "Judge",
    "Limits",
    "Outcome",
    "Point",
    "Report",
    "SolverError",
    "SolverMissingError",
]
