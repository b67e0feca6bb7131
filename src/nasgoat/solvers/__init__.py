"""Solvers for the formulations, SCIP by default and Gurobi where it is licensed.

What every solver is told (:class:`SolveTask`) and what it answers (:class:`Report`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nasgoat.errors import NasgoatError, SettingError, SolverLostError

if TYPE_CHECKING:
    from nasgoat.formulations import TaggedModel

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

Values = Mapping[str, float]
Progress = Callable[[str], None]


class SolverError(SolverLostError):
    """A solver failed; a search that meets it goes on with a heuristic."""


class SolverMissingError(NasgoatError, RuntimeError):
    """A solver is not installed, or its licence does not admit the model."""


class SolveStatus(enum.StrEnum):
    """How a solve ended."""

    COMPLETE = "complete"  # the whole tree was searched
    STOPPED = "stopped"  # a limit was reached first


@dataclass(frozen=True)
class SolveLimits:
    """When a solver stops, and what it may use.

    Args:
        seconds: Time limit of the whole acquisition problem; 1800 in the paper.
        gap: Relative gap at which a proposal counts as optimal; Gurobi's default in the paper.
        threads: Threads that the solver may use; with SCIP, trees that grow side by side.
        memory_mb: Memory limit of the solver in megabytes.
        nodes: Limit on branch-and-bound nodes, reproducible where a time limit is not; -1 for none.

    Example:
        >>> SolveLimits(seconds=10).gap
        0.0001
    """

    seconds: float = 1800.0
    gap: float = 1e-4
    threads: int = 2
    memory_mb: float = 8192.0
    nodes: int = -1

    def __post_init__(self) -> None:
        positive = {"time limit": self.seconds, "threads": self.threads, "memory": self.memory_mb}
        for name, value in positive.items():
            if not value > 0:
                raise SettingError(f"{name} must be positive, got {value!r}")
        if not 0 <= self.gap < 1:
            raise SettingError(f"gap must be from 0 to less than 1, got {self.gap!r}")


class Point(NamedTuple):
    """Decisions to be cut off: not all of ``ones`` at 1 and ``zeros`` at 0 again."""

    ones: Sequence[str]
    zeros: Sequence[str]


class Judge(Protocol):
    """The interface that scores integer points exactly and says which are still wanted."""

    @property
    def cutoff(self) -> float:
        """Points whose objective is at least this need not be found."""
        ...

    def consider(self, values: Values) -> list[Point]:
        """Score the point with these decisions and return the points to cut off."""
        ...


@dataclass(frozen=True, eq=False)
class SolveTask:
    """What a solver is to do: search for points below the judge's cut-off.

    Args:
        rows: The model, with an objective that is the variable ``lcb``.
        decisions: Names of the binary variables that determine a point.
        judge: Scores points, keeps the best, and sets the cut-off.
        limits: When to stop.
        progress: Called with a line of text now and then.
    """

    rows: TaggedModel
    decisions: Sequence[str]
    judge: Judge
    limits: SolveLimits
    progress: Progress | None = None


@dataclass(frozen=True)
class Report:
    """What a solver proved: no point that was not considered has an objective below ``bound``.

    Args:
        status: Whether the whole tree was searched.
        bound: No point that was not considered has a lower objective.
        seconds: Time of the solve, building included.
        nodes: Nodes of the search tree.
        variables: Number of variables of the model.
        constraints: Number of its rows.
        build_seconds: Time until the solver had the model.
    """

    status: SolveStatus
    bound: float
    seconds: float = 0.0
    nodes: int = 0
    variables: int = 0
    constraints: int = 0
    build_seconds: float = 0.0


def solve(solver: str, task: SolveTask) -> Report:
    """Run a solver, ``"scip"`` or ``"gurobi"``, on a task; only its own package is imported."""
    report: Report = import_module(f"nasgoat.solvers.{solver}").solve(task)
    return report
