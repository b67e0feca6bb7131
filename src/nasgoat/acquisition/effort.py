"""How much an exact optimiser may spend on one acquisition problem, and when it may stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nasgoat.acquisition.proposals import AcquisitionOptimizer
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.spaces import SearchSpace

FORMULATIONS = ("compact", "paper")


@dataclass(frozen=True)
class Effort:
    """Limits of branch and bound and of the mixed-integer optimisers; others have none.

    Args:
        time_limit: Seconds for one acquisition problem; 1800 in the paper.
        gap: MIP: relative gap at which a proposal counts as optimal.
        threads: Threads of the solver or of branch and bound.
        memory: MIP: megabytes.
        formulation: MIP: ``"compact"`` or ``"paper"``.

    Example:
        >>> from nasgoat import nasbench201
        >>> Effort(time_limit=10).optimizer("scip", nasbench201()).limits.seconds
        10
    """

    time_limit: float = 1800.0
    gap: float = 1e-4
    threads: int = 2
    memory: float = 8192.0
    formulation: str = "compact"

    def __post_init__(self) -> None:
        positive = {"time_limit": self.time_limit, "memory": self.memory}
        for name, value in positive.items():
            if not value > 0:
                raise SettingError(f"{name} must be positive, got {value!r}")
        if self.threads < 1:
            raise SettingError(f"threads must be at least 1, got {self.threads!r}")
        if not 0 <= self.gap < 1:
            raise SettingError(f"gap must be from 0 to less than 1, got {self.gap!r}")
        if self.formulation not in FORMULATIONS:
            raise UnknownNameError("formulation", self.formulation, FORMULATIONS)

    def optimizer(
        self, name: str, space: SearchSpace, progress: Callable[[str], None] | None = None
    ) -> AcquisitionOptimizer | None:
        """The optimiser of that name with these limits; None if it has no limits."""
        if name == "branch":
            from nasgoat.acquisition.branch import BranchAndBound  # Numba takes half a second

            return BranchAndBound(space, progress, self.time_limit, self.threads)
        if name not in ("scip", "gurobi"):
            return None
        from nasgoat.acquisition.mip import MipOptimizer
        from nasgoat.solvers import SolveLimits

        limits = SolveLimits(self.time_limit, self.gap, self.threads, self.memory)
        return MipOptimizer(space, progress, name, self.formulation, limits)
