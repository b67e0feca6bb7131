"""What is known by name: acquisition functions, and optimisers with how they are made and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nasgoat.acquisition.candidates import Mutation, Sampling
from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.costs import forecast_branch, forecast_mip, forecast_together, looks_at_all
from nasgoat.acquisition.functions import ExpectedImprovement, ThompsonSampling
from nasgoat.acquisition.hypervolume import HypervolumeImprovement
from nasgoat.acquisition.local_search import LocalSearch
from nasgoat.acquisition.lower_confidence_bound import Acquisition, LowerConfidenceBound
from nasgoat.acquisition.proposals import AcquisitionOptimizer, Cost, Reason
from nasgoat.acquisition.scalarisations import Chebyshev, Constrained
from nasgoat.acquisition.several_objectives import SeveralAcquisition
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels import FORMS, require_bounded_blocks, require_paper_blocks
from nasgoat.memory import choose_limit
from nasgoat.spaces import SearchSpace
from nasgoat.upper_layers import FORMULATIONS, SOLVERS

_ONE: dict[str, type[Acquisition]] = {
    "lcb": LowerConfidenceBound,
    "ei": ExpectedImprovement,
    "thompson": ThompsonSampling,
}
_SEVERAL: dict[str, type[SeveralAcquisition]] = {
    "chebyshev": Chebyshev,
    "constrained": Constrained,
    "epsilon": Constrained,
    "hypervolume": HypervolumeImprovement,
}
#: Taken where limits are measured, and there alone: nothing to ask for.
_UNDER_LIMITS = "constrained"
_OUR_FUNCTIONS = frozenset({*_ONE, *_SEVERAL})


def list_acquisitions() -> list[str]:
    """Names of the acquisition functions of one objective.

    Example:
        >>> list_acquisitions()[:3]
        ['lcb', 'ei', 'thompson']
    """
    return list(_ONE)


def list_several_acquisitions() -> list[str]:
    """Names of the acquisition functions of several objectives.

    Example:
        >>> list_several_acquisitions()[:3]
        ['chebyshev', 'constrained', 'epsilon']
    """
    return list(_SEVERAL)


def find_acquisition(name: str) -> type[Acquisition]:
    """The acquisition function of a name, as a class.

    Example:
        >>> find_acquisition("ei").__name__, find_acquisition("chebyshev").__name__
        ('ExpectedImprovement', 'Chebyshev')
    """
    known = _ONE | _SEVERAL
    if name not in known:
        raise UnknownNameError("acquisition", name, known.keys() - {_UNDER_LIMITS})
    return known[name]


def register_acquisition(name: str, acquisition: type[Acquisition]) -> None:
    """Make an acquisition function known by a name, in Python and on the command line.

    Args:
        name: The name; registering it again replaces the function.
        acquisition: Its class; a subclass of :class:`SeveralAcquisition` is one of several
            objectives.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, eq=False)
        ... class Cautious(LowerConfidenceBound):
        ...     sqrt_beta: float = 0.1
        >>> register_acquisition("cautious", Cautious)
        >>> find_acquisition("cautious").__name__
        'Cautious'
    """
    if name in _OUR_FUNCTIONS:
        raise SettingError(f"a new acquisition must have a name of its own, got {name!r}")
    if issubclass(acquisition, SeveralAcquisition):
        _SEVERAL[name] = acquisition
    else:
        _ONE[name] = acquisition


Progress = Callable[[str], None]
OptimizerMaker = Callable[[SearchSpace, Progress | None], AcquisitionOptimizer]
CostModel = Callable[[SearchSpace, str, int], Cost | Reason]
_TOGETHER = 2  # searches that a look at all labellings for several objectives takes at most


@dataclass(frozen=True)
class Effort:
    """How much an optimiser may spend on one acquisition problem, and how it works on it.

    Every optimiser keeps to the time limit and to the memory; branch and bound has threads as well,
    and the mixed-integer programs have all of these.

    Args:
        time_limit: Seconds for one acquisition problem; 1800 in the paper. A catalogue has as many
            to be built, once.
        gap: MIP: relative gap at which a proposal counts as optimal.
        threads: Threads of the solver or of branch and bound.
        memory: Megabytes that it may take; by default half of what is free.
        formulation: MIP: ``"compact"`` or ``"paper"``.
        independent: MIP: take nothing from branch and bound.
        child: MIP: solve in a child process, which can be stopped.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import make_optimizer
        >>> make_optimizer("scip", nasbench201(), effort=Effort(time_limit=10)).limits.seconds
        10
    """

    time_limit: float = 1800.0
    gap: float = 1e-4
    threads: int = 2
    memory: float | None = None
    formulation: str = "compact"
    independent: bool = False
    child: bool = True

    def __post_init__(self) -> None:
        positive = {"time_limit": self.time_limit, "memory": self.memory}
        for name, value in positive.items():
            if value is not None and not value > 0:
                raise SettingError(f"{name} must be positive, got {value!r}")
        if self.threads < 1:
            raise SettingError(f"threads must be at least 1, got {self.threads!r}")
        if not 0 <= self.gap < 1:
            raise SettingError(f"gap must be from 0 to less than 1, got {self.gap!r}")
        if self.formulation not in FORMULATIONS:
            raise UnknownNameError("formulation", self.formulation, FORMULATIONS)


@dataclass(frozen=True)
class Entry:
    """One optimiser of the table.

    Args:
        make: Makes it for a space.
        cost: What it costs; None if that is not known, and ``auto`` never takes it. Where it works
            with bounds, the blocks are the last argument.
        title: What a reason calls it.
        by_name_only: Whether ``auto`` leaves it out all the same.
        bounds: Whether it works with bounds, and knows some kernels alone, with blocks that less
            than a graph decides.
        program: Whether it writes a mixed-integer program.
        all_normalised: Whether it knows the normalised kernel with blocks other than the paper's.
    """

    make: Callable[[SearchSpace, Progress | None, Effort | None], AcquisitionOptimizer]
    cost: Callable[..., Cost | Reason] | None
    title: str
    by_name_only: bool = False
    bounds: bool = False
    program: bool = False
    all_normalised: bool = True

    def require_bounds(
        self, name: str, space: SearchSpace, kernel: str, blocks: Sequence[str], acquisition: str
    ) -> None:
        """Refuse what an optimiser that works by bounds can't bound."""
        if not self.bounds:
            return
        if kernel not in FORMS:
            raise SettingError(
                f"the kernel must be {' or '.join(FORMS)} for the optimizer {name}, got "
                f"{kernel!r}; use the catalogue"
            )
        require_bounded_blocks(space, blocks, f"the optimizer {name}", self.program)
        if kernel == "normalised" and not self.all_normalised:
            require_paper_blocks(blocks)
        function = find_acquisition(acquisition)
        if refusal := function.explain_unbounded(kernel):
            if function.explain_unbounded("linear") is None:
                raise SettingError(
                    f"the optimizer {name} must come with the linear kernel (--kernel linear) for "
                    f"the acquisition {acquisition}, got {kernel!r}: {refusal}; or use the "
                    "catalogue"
                )
            raise SettingError(
                f"the optimizer {name} must be able to bound the acquisition {acquisition}, got "
                f"one that it can't: {refusal}; use the catalogue"
            )

    def forecast(
        self,
        space: SearchSpace,
        kernel: str,
        questions: int,
        blocks: tuple[str, ...],
        acquisition: str,
    ) -> Cost | Reason | None:
        """What it costs, or why it does not apply; None if nothing is known."""
        if self.cost is None:
            return None
        if not self.bounds:
            return self.cost(space, kernel, questions)
        function = find_acquisition(acquisition)
        cost = self.cost(space, kernel, questions, blocks)
        if kernel in FORMS and (refusal := function.explain_unbounded(kernel)):
            return Reason(refusal)
        if isinstance(cost, Reason):
            return cost
        several = issubclass(function, SeveralAcquisition) and not self.program
        if several and looks_at_all(space, kernel, blocks):
            seconds = min(questions * forecast_together(space), _TOGETHER * cost.seconds)
            return replace(cost, seconds=seconds)
        return replace(cost, seconds=function.forecast_searches(kernel) * cost.seconds)


def _ignore_effort(make: OptimizerMaker) -> Callable[..., AcquisitionOptimizer]:
    """A maker of optimisers that have no limits."""
    return lambda space, progress, effort: make(space, progress)


def _make_branch(
    space: SearchSpace, progress: Progress | None, effort: Effort | None
) -> AcquisitionOptimizer:
    from nasgoat.acquisition.branch import BranchAndBound  # Numba takes half a second to import

    if effort is None:
        return BranchAndBound(space, progress)
    limits = effort.time_limit, effort.threads
    return BranchAndBound(space, progress, *limits, memory=effort.memory)


def _make_catalogue(
    space: SearchSpace, progress: Progress | None, effort: Effort | None
) -> AcquisitionOptimizer:
    if effort is None:
        return Catalogue(space, progress)
    return Catalogue(space, progress, effort.time_limit, effort.memory)


def _make_heuristic(
    kind: type[LocalSearch] | type[Mutation] | type[Sampling],
    space: SearchSpace,
    progress: Progress | None,
    effort: Effort | None,
) -> AcquisitionOptimizer:
    if effort is None:
        return kind(space, progress)
    return kind(space, progress, time_limit=effort.time_limit)


def _make_mip(
    solver: str, space: SearchSpace, progress: Progress | None, effort: Effort | None
) -> AcquisitionOptimizer:
    """The optimiser by a mixed-integer program, solved by SCIP or Gurobi."""
    # Imported when asked for: Pyomo and SCIP take half a second.
    from nasgoat.acquisition.mip import MipOptimizer
    from nasgoat.solvers import SolveLimits

    if effort is None:
        return MipOptimizer(space, progress, solver)
    return MipOptimizer(
        space,
        progress,
        solver,
        effort.formulation,
        SolveLimits(
            effort.time_limit, effort.gap, effort.threads, choose_limit(effort.memory) / 2**20
        ),
        child=effort.child,
        independent=effort.independent,
    )


TABLE: dict[str, Entry] = {
    "catalogue": Entry(_make_catalogue, Catalogue.cost, "catalogue"),
    "branch": Entry(
        _make_branch, forecast_branch, "branch and bound", bounds=True, all_normalised=False
    ),
    **{
        solver: Entry(
            partial(_make_mip, solver),
            forecast_mip,
            "MIP",
            by_name_only=solver != "scip",  # another one needs a licence
            bounds=True,
            program=True,
        )
        for solver in SOLVERS
    },
    "local": Entry(partial(_make_heuristic, LocalSearch), LocalSearch.cost, "local search"),
    "mutation": Entry(partial(_make_heuristic, Mutation), Mutation.cost, "mutation"),
    "sampling": Entry(partial(_make_heuristic, Sampling), Sampling.cost, "sampling"),
}
_OUR_OPTIMIZERS = frozenset({"auto", *TABLE})


def list_optimizers() -> list[str]:
    """Names that :func:`make_optimizer` knows."""
    return ["auto", *TABLE]


def register_optimizer(name: str, make: OptimizerMaker, cost: CostModel | None = None) -> None:
    """Make an acquisition optimiser known by a name, in Python and on the command line.

    Args:
        name: The name; registering it again replaces the optimiser.
        make: Takes a space and a function that shows progress (or None); returns the optimiser.
        cost: Takes a space, the name of a kernel and the number of questions to one fitted
            surrogate; returns what these cost, or the reason why the optimiser does not apply.
            Without it, ``auto`` never takes the optimiser.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.acquisition import make_optimizer
        >>> register_optimizer("bigger", lambda space, progress: Sampling(space, size=500))
        >>> make_optimizer("bigger", nasbench201()).name
        'sampling'
    """
    if name in _OUR_OPTIMIZERS:
        raise SettingError(f"a new optimizer must have a name of its own, got {name!r}")
    TABLE[name] = Entry(_ignore_effort(make), cost, name)
