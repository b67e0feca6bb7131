"""Acquisition optimisers as experiments compare them: in this process, compiled beforehand."""

from __future__ import annotations

from nasgoat.acquisition import AcquisitionOptimizer, Effort, make_optimizer, optimizer_names
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.solver_names import FORMULATIONS, SOLVERS
from nasgoat.spaces import SearchSpace

DEFAULT_SECONDS = 1800.0  # for one solve, as in the paper


def check_optimizer(name: str, key: str) -> tuple[str, str]:
    """The optimiser and the formulation that a name says; the key of a file is for the error.

    Example:
        >>> check_optimizer("scip/compact/independent", "methods")
        ('scip', 'compact')
    """
    solver, slash, formulation = name.removesuffix("/independent").partition("/")
    if (slash or name != solver) and solver not in SOLVERS:
        raise SettingError(f"{key} with a formulation must be scip/... or gurobi/..., got {name!r}")
    if slash and formulation not in FORMULATIONS:
        raise UnknownNameError(key, name, [f"{solver}/{form}" for form in FORMULATIONS])
    if solver not in optimizer_names():
        raise UnknownNameError(key, name, optimizer_names())
    return solver, formulation


def timed_optimizer(
    name: str,
    space: SearchSpace,
    kernel: str,
    questions: int = 1,
    seconds: float = DEFAULT_SECONDS,
    gap: float = 1e-4,
) -> AcquisitionOptimizer:
    """An optimiser whose processor time is all its own and all of it.

    Args:
        name: ``scip/compact``, ``scip/paper``, ``gurobi/compact`` or the name of an optimiser. With
            ``/independent`` at the end the MIP takes nothing from branch and bound.
        space: The space to optimise over.
        kernel: The form of the kernel.
        questions: How many acquisition problems share one fitted surrogate.
        seconds: Time limit of one solve.
        gap: Relative gap that counts as optimal, for the solvers.

    Example:
        >>> from nasgoat import nasbench201
        >>> timed_optimizer("catalogue", nasbench201(), "linear").name
        'catalogue'
    """
    solver, formulation = check_optimizer(name, "optimizer")
    effort = Effort(
        seconds,
        gap,
        formulation=formulation or "compact",
        independent=name.endswith("/independent"),
        child=False,  # the start of a child process is no part of what is compared
    )
    optimizer = make_optimizer(solver, space, None, kernel, questions, effort)
    if optimizer.name == "branch":
        from nasgoat.acquisition.branch import BranchAndBound

        # Neither compiling, once on a machine, nor listing structures, once for a space, is part of
        # what is compared: a search asks many questions.
        if isinstance(optimizer, BranchAndBound):
            optimizer.load_code(kernel != "linear")
            optimizer.prepare(kernel != "linear")
    return optimizer
