"""Which acquisition optimiser is taken in a space, why, and what each is forecast to cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nasgoat.acquisition.costs import Cost, Reason, describe_seconds

#: Seconds to get ready, and for all questions, below which nothing is worth comparing: loading
#: compiled code or a solver takes longer.
_QUICK = 0.4


@dataclass(frozen=True)
class Choice:
    """The optimiser that is taken in a space, why, and what it is forecast to cost.

    Args:
        name: The optimiser.
        reason: Why it is taken.
        kernel: The kernel that the forecasts are for.
        questions: How many questions to one fitted surrogate they are for.
        forecasts: What each optimiser that was considered costs, or why it does not apply.
        asked_for: Whether it was asked for by its name.

    Example:
        >>> from nasgoat import darts, nasbench201
        >>> from nasgoat.acquisition import choose
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

    @property
    def terms(self) -> str:
        """What the forecasts are for, in words."""
        plural = "s" if self.questions > 1 else ""
        return f"{self.kernel} kernel, {self.questions} question{plural} at a time"

    @property
    def seconds(self) -> float | None:
        """What one question is forecast to take; None if nothing is known."""
        cost = self.forecasts.get(self.name)
        return cost.seconds / self.questions if isinstance(cost, Cost) else None

    def warn(self, time_limit: float) -> str | None:
        """What to do where the forecast exceeds the time limit of one question; None otherwise.

        Example:
            >>> from nasgoat import NodeLabeledSpace
            >>> from nasgoat.acquisition import choose
            >>> large = choose(NodeLabeledSpace(10, ["a", "b", "c"]))
            >>> large.warn(1800.0)[:63], large.warn(1e6)
            ('a question to branch is forecast to take 4000 s, the time limit', None)
        """
        cost = self.forecasts.get(self.name)
        if not isinstance(cost, Cost) or not cost.stops or self.seconds is None:
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
            >>> from nasgoat.acquisition import choose
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


def choose_cheapest(
    forecasts: Mapping[str, Cost | Reason], titles: Mapping[str, str], kernel: str, questions: int
) -> Choice:
    """The cheapest exact optimiser; one that proves nothing only where no exact one applies.

    Args:
        forecasts: What each optimiser costs, or why it does not apply.
        titles: What a reason calls each of them.
        kernel: The kernel that the forecasts are for.
        questions: How many questions they are for.
    """
    costs = {name: cost for name, cost in forecasts.items() if isinstance(cost, Cost)}
    name = min(costs, key=lambda other: _rank(costs[other]))
    cost, choice = costs[name], Choice(name, "", kernel, questions, forecasts)
    said = f"{cost.said}, {cost.describe_question(questions)} ({choice.terms})"
    proof = "" if cost.exact else "; no exact optimiser applies"
    return replace(choice, reason=f"{titles[name]}: {said}{proof}")


def _rank(cost: Cost) -> tuple[bool, bool, float]:
    """Exact ones first, then those that are ready at once, then the cheapest."""
    quick = cost.once <= _QUICK and cost.seconds <= _QUICK
    return not cost.exact, not quick, cost.seconds
