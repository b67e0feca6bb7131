"""The acquisition optimisers by name: how each is made, what it costs, and which ``auto`` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

from nasgoat.acquisition.candidates import Mutation, Sampling
from nasgoat.acquisition.catalogue import Catalogue
from nasgoat.acquisition.costs import (
    SLOW_PAPER,
    branch_cost,
    mip_cost,
    paper_seconds,
)
from nasgoat.acquisition.named_functions import find_acquisition
from nasgoat.acquisition.proposals import AcquisitionOptimizer, Cost, Reason, describe_seconds
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.kernels import PAPER_BLOCKS, PAPER_FORMS, check_blocks, require_paper_blocks
from nasgoat.spaces import SearchSpace
from nasgoat.upper_layers import FORMULATIONS, SOLVERS

Progress = Callable[[str], None]
OptimizerMaker = Callable[[SearchSpace, Progress | None], AcquisitionOptimizer]
CostModel = Callable[[SearchSpace, str, int], Cost | Reason]

#: Seconds to get ready, and for all questions, below which nothing is worth comparing: loading
#: compiled code or a solver takes longer.
_QUICK = 0.4


@dataclass(frozen=True)
class Effort:
    """How much an exact optimiser may spend on one acquisition problem, and how it works on it.

    Branch and bound has a time limit and threads, the mixed-integer programs have all of these; the
    other optimisers have none.

    Args:
        time_limit: Seconds for one acquisition problem; 1800 in the paper.
        gap: MIP: relative gap at which a proposal counts as optimal.
        threads: Threads of the solver or of branch and bound.
        memory: MIP: megabytes.
        formulation: MIP: ``"compact"`` or ``"paper"``.
        independent: MIP: take nothing from branch and bound.
        child: MIP: solve in a child process, which can be stopped.

    Example:
        >>> from nasgoat import nasbench201
        >>> make_optimizer("scip", nasbench201(), effort=Effort(time_limit=10)).limits.seconds
        10
    """

    time_limit: float = 1800.0
    gap: float = 1e-4
    threads: int = 2
    memory: float = 8192.0
    formulation: str = "compact"
    independent: bool = False
    child: bool = True

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


@dataclass(frozen=True)
class _Entry:
    """One optimiser of the table.

    Args:
        make: Makes it for a space.
        cost: What it costs; None if that is not known, and ``auto`` never takes it.
        title: What a reason calls it.
        by_name_only: Whether ``auto`` leaves it out all the same.
        bounds: Whether it works with bounds, and knows the linear and the exponential kernel
            alone, with the paper's blocks.
    """

    make: Callable[[SearchSpace, Progress | None, Effort | None], AcquisitionOptimizer]
    cost: CostModel | None
    title: str
    by_name_only: bool = False
    bounds: bool = False


def _ignore_effort(make: OptimizerMaker) -> Callable[..., AcquisitionOptimizer]:
    """A maker of optimisers that have no limits."""
    return lambda space, progress, effort: make(space, progress)


def _make_branch(
    space: SearchSpace, progress: Progress | None, effort: Effort | None
) -> AcquisitionOptimizer:
    from nasgoat.acquisition.branch import BranchAndBound  # Numba takes half a second to import

    if effort is None:
        return BranchAndBound(space, progress)
    return BranchAndBound(space, progress, effort.time_limit, effort.threads)


def _make_mip(
    solver: str, space: SearchSpace, progress: Progress | None, effort: Effort | None
) -> AcquisitionOptimizer:
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
        SolveLimits(effort.time_limit, effort.gap, effort.threads, effort.memory),
        child=effort.child,
        independent=effort.independent,
    )


_TABLE: dict[str, _Entry] = {
    "catalogue": _Entry(_ignore_effort(Catalogue), Catalogue.cost, "catalogue"),
    "branch": _Entry(_make_branch, branch_cost, "branch and bound", bounds=True),
    **{
        solver: _Entry(
            partial(_make_mip, solver),
            mip_cost,
            "MIP",
            by_name_only=solver != "scip",  # another one needs a licence
            bounds=True,
        )
        for solver in SOLVERS
    },
    "mutation": _Entry(_ignore_effort(Mutation), Mutation.cost, "mutation"),
    "sampling": _Entry(_ignore_effort(Sampling), Sampling.cost, "sampling"),
}
_OURS = frozenset({"auto", *_TABLE})


def optimizer_names() -> list[str]:
    """Names that :func:`make_optimizer` knows."""
    return ["auto", *_TABLE]


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
        >>> register_optimizer("bigger", lambda space, progress: Sampling(space, size=500))
        >>> make_optimizer("bigger", nasbench201()).name
        'sampling'
    """
    if name in _OURS:
        raise SettingError(f"a new optimizer must have a name of its own, got {name!r}")
    _TABLE[name] = _Entry(_ignore_effort(make), cost, name)


@dataclass(frozen=True)
class Choice:
    """The optimiser chosen for a space, the reason, and its forecast cost.

    Args:
        name: The optimiser.
        reason: Why it is taken.
        kernel: The kernel that the forecasts are for.
        questions: How many questions to one fitted surrogate they are for.
        forecasts: What each optimiser that was considered costs, or why it does not apply.
        asked_for: Whether it was asked for by its name.
        blocks: The blocks of the kernel that it knows.
        left_out: Those that were asked for and have to be left out.
        acquisition: The acquisition function that the forecasts are for.

    Example:
        >>> from nasgoat import darts, nasbench201
        >>> choose(nasbench201()).name, choose(darts()).name
        ('catalogue', 'branch')
        >>> print(choose(darts()).reason)  # doctest: +NORMALIZE_WHITESPACE
        branch and bound: 180 structures of 1,037,664,180 graphs, about 0.03 s a question
        (linear kernel, 1 question at a time)
    """

    name: str
    reason: str
    kernel: str
    questions: int
    forecasts: Mapping[str, Cost | Reason] = field(default_factory=dict, repr=False)
    asked_for: bool = False
    blocks: tuple[str, ...] = PAPER_BLOCKS
    left_out: tuple[str, ...] = ()
    acquisition: str = "lcb"

    @property
    def terms(self) -> str:
        """What the forecasts are for, in words."""
        plural = "s" if self.questions > 1 else ""
        function = "" if self.acquisition == "lcb" else f"{self.acquisition}, "
        return f"{self.kernel} kernel, {function}{self.questions} question{plural} at a time"

    @property
    def seconds(self) -> float | None:
        """What one question is forecast to take; None if nothing is known."""
        cost = self.forecasts.get(self.name)
        return cost.seconds / self.questions if isinstance(cost, Cost) else None

    def warn(self, time_limit: float) -> str | None:
        """What to do where the forecast exceeds the time limit of one question; None otherwise.

        An optimiser that was asked for by its name may also not apply at all.

        Example:
            >>> from nasgoat import NodeLabeledSpace
            >>> large = choose(NodeLabeledSpace(10, ["a", "b", "c"]))
            >>> large.warn(1800.0)[:63], large.warn(1e6)
            ('a question to branch is forecast to take 4000 s, the time limit', None)
        """
        cost = self.forecasts.get(self.name)
        if isinstance(cost, Reason):
            return f"{self.name} may not apply: {cost.said}; take auto, which finds one that does"
        if cost is None or not cost.stops or self.seconds is None:
            return None
        if self.seconds <= time_limit:
            return None
        return (
            f"a question to {self.name} is forecast to take {describe_seconds(self.seconds)}, the "
            f"time limit is {time_limit:g} s: proposals may come with a gap instead of a proof; "
            "allow fewer nodes or edges, raise the time limit, or take mutation, which is quick "
            "and proves nothing"
        )

    def list_exact(self) -> list[dict[str, Any]]:
        """What each exact optimiser costs or why it does not apply, as JSON-ready mappings.

        Example:
            >>> from nasgoat import darts
            >>> [(entry["name"], entry["applies"]) for entry in choose(darts()).list_exact()]
            [('catalogue', False), ('branch', True), ('scip', True)]
        """
        exact: list[dict[str, Any]] = []
        for name, cost in self.forecasts.items():
            if isinstance(cost, Reason):
                said, seconds = f"does not apply: {cost.said}", None
            elif cost.exact:
                said, seconds = cost.describe(self.questions), cost.seconds / self.questions
            else:
                continue
            applies = seconds is not None
            exact.append({"name": name, "applies": applies, "said": said, "seconds": seconds})
        return exact

    def to_dict(self) -> dict[str, str]:
        """A JSON-ready mapping."""
        return {"name": self.name, "reason": self.reason}


def _require_bounds(name: str, kernel: str, blocks: Sequence[str], acquisition: str) -> None:
    """Refuse what an optimiser that works by bounds can't bound."""
    if kernel not in PAPER_FORMS:
        raise SettingError(
            f"the kernel must be linear or exponential for the optimizer {name}, got {kernel!r}; "
            "use the catalogue"
        )
    require_paper_blocks(blocks, f"the optimizer {name}")
    if refusal := find_acquisition(acquisition).explain_unbounded(kernel):
        raise SettingError(
            f"the optimizer {name} must be able to bound the acquisition {acquisition}, got one "
            f"that it can't: {refusal}; use the catalogue"
        )


def choose(
    space: SearchSpace,
    kernel: str = "linear",
    questions: int = 1,
    name: str = "auto",
    blocks: Sequence[str] = PAPER_BLOCKS,
    acquisition: str = "lcb",
) -> Choice:
    """Choose the optimiser of a name for a space; for ``"auto"``, the cheapest exact one.

    One that proves nothing is taken only where no exact one applies. Blocks that no exact one knows
    are left out, and the reason says so.

    Args:
        space: The space to optimise over.
        kernel: The name of the kernel.
        questions: How many acquisition problems share one fitted surrogate.
        name: One of :func:`optimizer_names`.
        blocks: The blocks of the kernel.
        acquisition: One of :func:`acquisition_names`.

    Example:
        >>> from nasgoat import darts, nasbench201
        >>> choose(nasbench201(), name="branch").reason
        'branch: asked for'
        >>> choose(darts(), blocks=["paths", "edges", "shape"]).left_out
        ('shape',)
        >>> choose(darts(), "exponential", acquisition="thompson").forecasts["branch"].said
        'a draw under the exponential kernel is not a sum over features, one under linear is'
    """
    blocks = check_blocks(blocks)
    if name not in optimizer_names():
        raise UnknownNameError("optimizer", name, optimizer_names())
    if name != "auto":
        entry = _TABLE[name]
        if entry.bounds:
            _require_bounds(name, kernel, blocks, acquisition)
        cost = _forecast(entry, space, kernel, questions, blocks, acquisition)
        known = {} if cost is None else {name: cost}
        terms = kernel, questions, known, True, blocks
        return Choice(name, f"{name}: asked for", *terms, acquisition=acquisition)
    every = {
        other: _forecast(entry, space, kernel, questions, blocks, acquisition)
        for other, entry in _TABLE.items()
        if not entry.by_name_only
    }
    forecasts = {other: cost for other, cost in every.items() if cost is not None}
    costs = {other: cost for other, cost in forecasts.items() if isinstance(cost, Cost)}
    if blocks != PAPER_BLOCKS and not any(cost.exact for cost in costs.values()):
        plain = choose(space, kernel, questions, acquisition=acquisition)
        if (fallback := plain.forecasts[plain.name]) and getattr(fallback, "exact", False):
            left = tuple(name for name in blocks if name not in PAPER_BLOCKS)
            reason = f"{plain.reason}; blocks left out: {', '.join(left)}"
            return replace(plain, reason=reason, left_out=left)
    taken = min(costs, key=lambda other: _rank(costs[other]))
    cost, terms = costs[taken], (kernel, questions, forecasts, False, blocks)
    choice = Choice(taken, "", *terms, acquisition=acquisition)
    said = f"{cost.said}, {cost.describe_question(questions)} ({choice.terms})"
    proof = "" if cost.exact else "; no exact optimiser applies"
    return replace(choice, reason=f"{_TABLE[taken].title}: {said}{proof}")


def _forecast(
    entry: _Entry,
    space: SearchSpace,
    kernel: str,
    questions: int,
    blocks: tuple[str, ...],
    acquisition: str,
) -> Cost | Reason | None:
    """What an optimiser costs, or why it does not apply; None if nothing is known."""
    if entry.cost is None:
        return None
    if not entry.bounds:
        return entry.cost(space, kernel, questions)
    if blocks != PAPER_BLOCKS:
        return Reason(f"it knows the blocks {', '.join(PAPER_BLOCKS)} together, and no other")
    function = find_acquisition(acquisition)
    cost = entry.cost(space, kernel, questions)
    if kernel in PAPER_FORMS and (refusal := function.explain_unbounded(kernel)):
        return Reason(refusal)
    many = function.searches
    return replace(cost, seconds=many * cost.seconds) if isinstance(cost, Cost) else cost


def forecast_seconds(
    space: SearchSpace,
    kernel: str,
    name: str = "auto",
    blocks: tuple[str, ...] = PAPER_BLOCKS,
    acquisition: str = "lcb",
) -> float:
    """Seconds of a question to the cheapest exact optimiser, or to that of a name.

    Infinite if there is none.

    Example:
        >>> from nasgoat import ChainSpace
        >>> forecast_seconds(ChainSpace(30, ["a", "b", "c"]), "exponential") > 1e6
        True
    """
    names = [other for other, entry in _TABLE.items() if not entry.by_name_only]
    chosen = names if name == "auto" else [name]
    costs = [_forecast(_TABLE[x], space, kernel, 1, blocks, acquisition) for x in chosen]
    return min((x.seconds for x in costs if isinstance(x, Cost) and x.exact), default=inf)


def _rank(cost: Cost) -> tuple[bool, bool, float]:
    """Exact ones first, then those that are ready at once, then the cheapest."""
    quick = cost.once <= _QUICK and cost.seconds <= _QUICK
    return not cost.exact, not quick, cost.seconds


def make_optimizer(
    name: str | Choice,
    space: SearchSpace,
    progress: Progress | None = None,
    kernel: str = "linear",
    questions: int = 1,
    effort: Effort | None = None,
    blocks: Sequence[str] = PAPER_BLOCKS,
    acquisition: str = "lcb",
) -> AcquisitionOptimizer:
    """An acquisition optimiser for a space.

    Args:
        name: One of :func:`optimizer_names`, ``"auto"`` to choose for the space; or a choice that
            was made before.
        space: The space to optimise over.
        progress: Called with a line of text when something takes long.
        kernel: The name of the kernel, for the choice.
        questions: How many acquisition problems share one fitted surrogate, for the choice.
        effort: Limits of one acquisition problem, where the optimiser has any.
        blocks: The blocks of the kernel, for the choice.
        acquisition: One of :func:`acquisition_names`, for the choice.

    Example:
        >>> from nasgoat import nasbench201
        >>> make_optimizer("auto", nasbench201()).name
        'catalogue'
    """
    choice = name
    if not isinstance(choice, Choice):
        choice = choose(space, kernel, questions, choice, blocks, acquisition)
    if progress:
        if not choice.asked_for:
            progress(f"optimiser: {choice.reason}")
        literal = effort is not None and effort.formulation == "paper" and choice.name in SOLVERS
        if literal and (slow := paper_seconds(space)):
            progress(
                f"the paper's formulation is slow from {SLOW_PAPER} nodes on: a question is "
                f"forecast to take {describe_seconds(slow)} or more; the compact one is exact too"
            )
        elif warning := choice.warn(inf if effort is None else effort.time_limit):
            progress(warning)
    return _TABLE[choice.name].make(space, progress, effort)
