"""Which acquisition optimiser ``auto`` takes for a space, why, and what it is forecast to cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from nasgoat.acquisition.costs import SLOW_PAPER, forecast_paper
from nasgoat.acquisition.proposals import AcquisitionOptimizer, Cost, Reason, describe_seconds
from nasgoat.acquisition.registry import TABLE, Effort, Progress, list_optimizers
from nasgoat.errors import UnknownNameError
from nasgoat.kernels import PAPER_BLOCKS, check_blocks, keep_bounded
from nasgoat.spaces import SearchSpace
from nasgoat.upper_layers import SOLVERS

_HOPELESS = 10.0  # times the time limit: an optimiser that is slower will hardly have a bound


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
        branch and bound: 180 structures of 1,037,664,180 graphs, about 0.005 s a question
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

    @property
    def proves(self) -> bool:
        """Whether the optimiser proves a bound on graphs it did not propose, by its cost model.

        Example:
            >>> from nasgoat import nasbench201
            >>> choose(nasbench201()).proves, choose(nasbench201(), name="mutation").proves
            (True, False)
        """
        cost = self.forecasts.get(self.name)
        return not isinstance(cost, Cost) or cost.exact

    def warn(self, time_limit: float) -> str | None:
        """What to do where the forecast exceeds the time limit of one question; None otherwise.

        An optimiser that was asked for by its name may also not apply at all.

        Example:
            >>> from nasgoat import NodeLabeledSpace
            >>> large = choose(NodeLabeledSpace(11, ["a", "b", "c"]))
            >>> large.warn(60.0)[:62], large.warn(1e6)
            ('a question to branch is forecast to take 500 s, the time limit', None)
        """
        cost = self.forecasts.get(self.name)
        if isinstance(cost, Reason) and not self.asked_for:
            return f"{cost.said}: proposals come with a bound, but without a proof"
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
                said, seconds, spread = f"does not apply: {cost.said}", None, None
            elif cost.exact:
                said, spread = cost.describe(self.questions), cost.spread
                seconds = cost.seconds / self.questions
            else:
                continue
            terms = {"applies": seconds is not None, "said": said}
            exact.append({"name": name, **terms, "seconds": seconds, "spread": spread})
        return exact

    def to_dict(self) -> dict[str, str]:
        """A JSON-ready mapping."""
        return {"name": self.name, "reason": self.reason}


def choose(
    space: SearchSpace,
    kernel: str = "linear",
    questions: int = 1,
    name: str = "auto",
    blocks: Sequence[str] = PAPER_BLOCKS,
    acquisition: str = "lcb",
    time_limit: float = inf,
) -> Choice:
    """Choose the optimiser of a name for a space; for ``"auto"``, the cheapest exact one.

    One that can answer within the time limit comes before one that can't. One that proves nothing
    is taken only where no exact one applies. Blocks that no exact one knows are left out, and the
    reason says so.

    Args:
        space: The space to optimise over.
        kernel: The name of the kernel.
        questions: How many acquisition problems share one fitted surrogate.
        name: One of :func:`list_optimizers`.
        blocks: The blocks of the kernel.
        acquisition: One of :func:`list_acquisitions`.
        time_limit: Seconds for one question, and for getting ready.

    Example:
        >>> from nasgoat import darts, nasbench201
        >>> choose(nasbench201(), name="branch").reason
        'branch: asked for'
        >>> choose(darts(), blocks=["paths", "edges", "operations", "longest"]).left_out
        ('longest',)
        >>> choose(darts(), "exponential", acquisition="thompson").forecasts["branch"].said
        'a draw under the exponential kernel is not a sum over features, one under linear is'
    """
    blocks = check_blocks(blocks)
    if name not in list_optimizers():
        raise UnknownNameError("optimizer", name, list_optimizers())
    if name == "auto":
        return _choose_cheapest(space, kernel, questions, blocks, acquisition, time_limit)
    TABLE[name].require_bounds(name, space, kernel, blocks, acquisition)
    cost = TABLE[name].forecast(space, kernel, questions, blocks, acquisition)
    known = {} if cost is None else {name: cost}
    terms = kernel, questions, known, True, blocks
    return Choice(name, f"{name}: asked for", *terms, acquisition=acquisition)


def _choose_cheapest(
    space: SearchSpace,
    kernel: str,
    questions: int,
    blocks: tuple[str, ...],
    acquisition: str,
    time_limit: float,
) -> Choice:
    """The cheapest exact optimiser; without the blocks that none knows, if there are such.

    Where none can come near to a proof in the time limit, one that has a bound at least is taken.
    """
    every = {
        name: entry.forecast(space, kernel, questions, blocks, acquisition)
        for name, entry in TABLE.items()
        if not entry.by_name_only
    }
    forecasts = {name: cost for name, cost in every.items() if cost is not None}
    costs = {name: cost for name, cost in forecasts.items() if isinstance(cost, Cost)}
    kept = keep_bounded(space, blocks) or PAPER_BLOCKS
    if kept != blocks and not any(cost.exact for cost in costs.values()):
        plain = choose(space, kernel, questions, "auto", kept, acquisition, time_limit)
        fallback = plain.forecasts[plain.name]
        if isinstance(fallback, Cost) and fallback.exact:
            left = tuple(name for name in blocks if name not in kept)
            reason = f"{plain.reason}; blocks left out: {', '.join(left)}"
            return replace(plain, reason=reason, left_out=left)
    taken = min(costs, key=lambda name: costs[name].rank(questions, time_limit))
    cost, terms = costs[taken], (kernel, questions, forecasts, False, blocks)
    if cost.seconds > _HOPELESS * questions * time_limit:
        for name, refusal in forecasts.items():
            if isinstance(refusal, Reason) and refusal.stops:
                said = f"{TABLE[name].title}: {refusal.said}; a bound, but no proof, in time"
                return Choice(name, said, *terms, acquisition=acquisition)
    choice = Choice(taken, "", *terms, acquisition=acquisition)
    said = f"{cost.said}, {cost.describe_question(questions)} ({choice.terms})"
    proof = "" if cost.exact else "; no exact optimiser applies"
    return replace(choice, reason=f"{TABLE[taken].title}: {said}{proof}")


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
    names = [other for other, entry in TABLE.items() if not entry.by_name_only]
    chosen = names if name == "auto" else [name]
    costs = [TABLE[x].forecast(space, kernel, 1, blocks, acquisition) for x in chosen]
    return min((x.seconds for x in costs if isinstance(x, Cost) and x.exact), default=inf)


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
        name: One of :func:`list_optimizers`, ``"auto"`` to choose for the space; or a choice that
            was made before.
        space: The space to optimise over.
        progress: Called with a line of text when something takes long.
        kernel: The name of the kernel, for the choice.
        questions: How many acquisition problems share one fitted surrogate, for the choice.
        effort: Limits of one acquisition problem, where the optimiser has any.
        blocks: The blocks of the kernel, for the choice.
        acquisition: One of :func:`list_acquisitions`, for the choice.

    Example:
        >>> from nasgoat import nasbench201
        >>> make_optimizer("auto", nasbench201()).name
        'catalogue'
    """
    choice = name
    if not isinstance(choice, Choice):
        limit = inf if effort is None else effort.time_limit
        choice = choose(space, kernel, questions, choice, blocks, acquisition, limit)
    if progress:
        if not choice.asked_for:
            progress(f"optimiser: {choice.reason}")
        literal = effort is not None and effort.formulation == "paper" and choice.name in SOLVERS
        if literal and space.sizes[-1] >= SLOW_PAPER:
            slow = forecast_paper(space)
            progress(
                f"the paper's formulation is slow from {SLOW_PAPER} nodes on: a question is "
                f"forecast to take {describe_seconds(slow)} or more; the compact one is exact too"
            )
        elif warning := choice.warn(inf if effort is None else effort.time_limit):
            progress(warning)
    return TABLE[choice.name].make(space, progress, effort)
