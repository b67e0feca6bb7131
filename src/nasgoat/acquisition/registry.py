"""Acquisition optimisers by name."""

from __future__ import annotations

from collections.abc import Callable

from nasgoat.acquisition.candidates import Mutation, Sampling
from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.choice import Choice, choose
from nasgoat.acquisition.effort import Effort
from nasgoat.acquisition.proposals import AcquisitionOptimizer
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels import FORMS
from nasgoat.spaces import SearchSpace

Progress = Callable[[str], None]
OptimizerMaker = Callable[[SearchSpace, Progress | None], AcquisitionOptimizer]


def _branch(space: SearchSpace, progress: Progress | None) -> AcquisitionOptimizer:
    from nasgoat.acquisition.branch import BranchAndBound  # Numba takes half a second to import

    return BranchAndBound(space, progress)


def _mip(solver: str) -> OptimizerMaker:
    def make(space: SearchSpace, progress: Progress | None) -> AcquisitionOptimizer:
        # Imported when asked for: Pyomo and SCIP take half a second.
        from nasgoat.acquisition.mip import MipOptimizer

        return MipOptimizer(space, progress, solver=solver)

    return make


_MAKERS: dict[str, OptimizerMaker] = {
    "branch": _branch,
    "catalogue": Catalogue,
    "mutation": Mutation,
    "sampling": Sampling,
    "gurobi": _mip("gurobi"),
    "scip": _mip("scip"),
}
_PAPER_KERNELS_ONLY = ("branch", "gurobi", "scip")
_OURS = frozenset({"auto", *_MAKERS})


def optimizer_names() -> list[str]:
    """Names that :func:`make_optimizer` knows."""
    return ["auto", *_MAKERS]


def register_optimizer(name: str, make: OptimizerMaker) -> None:
    """Make an acquisition optimiser known by a name, in Python and on the command line.

    ``auto`` never takes it; ask for it by its name.

    Args:
        name: The name; registering it again replaces the optimiser.
        make: Takes a space and a function that shows progress (or None); returns the optimiser.

    Example:
        >>> from nasgoat import nasbench201
        >>> register_optimizer("bigger", lambda space, progress: Sampling(space, size=500))
        >>> make_optimizer("bigger", nasbench201()).name
        'sampling'
    """
    if name in _OURS:
        raise SettingError(f"a new optimizer must have a name of its own, got {name!r}")
    _MAKERS[name] = make


def make_optimizer(
    name: str,
    space: SearchSpace,
    progress: Progress | None = None,
    kernel: str = "linear",
    questions: int = 1,
    effort: Effort | None = None,
) -> AcquisitionOptimizer:
    """An acquisition optimiser for a space.

    Args:
        name: One of :func:`optimizer_names`; ``"auto"`` chooses for the space.
        space: The space to optimise over.
        progress: Called with a line of text when something takes long.
        kernel: The form of the kernel, for the choice.
        questions: How many acquisition problems share one fitted surrogate, for the choice.
        effort: Limits of one acquisition problem, where the optimiser has any.

    Example:
        >>> from nasgoat import nasbench201
        >>> make_optimizer("auto", nasbench201()).name
        'catalogue'
    """
    choice = chosen_optimizer(name, space, kernel, questions)
    if progress and name == "auto":
        progress(f"optimiser: {choice.reason}")
    limited = None if effort is None else effort.optimizer(choice.name, space, progress)
    return limited or _MAKERS[choice.name](space, progress)


def chosen_optimizer(
    name: str, space: SearchSpace, kernel: str = "linear", questions: int = 1
) -> Choice:
    """The optimiser that a name stands for in a space, and why.

    Example:
        >>> from nasgoat import nasbench201
        >>> chosen_optimizer("branch", nasbench201()).reason
        'branch: asked for'
    """
    if name not in optimizer_names():
        raise UnknownNameError("optimizer", name, optimizer_names())
    if kernel not in FORMS and name in _PAPER_KERNELS_ONLY:
        raise SettingError(
            f"the kernel must be linear or exponential for the optimizer {name}, got {kernel!r}; "
            "use the catalogue"
        )
    if name == "auto":
        return choose(space, kernel, questions, _MAKERS)
    return Choice(name, f"{name}: asked for")
