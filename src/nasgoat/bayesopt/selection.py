"""Which evaluations stand out: the recommended one, the front, and choices from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nasgoat.bayesopt.front import (
    choose,
    find_best,
    find_knee,
    find_reference,
    hypervolume,
    list_front,
)
from nasgoat.bayesopt.history import Evaluation
from nasgoat.bayesopt.measured_limits import MeasuredLimit
from nasgoat.bayesopt.objectives import PLAIN, Objectives
from nasgoat.bayesopt.recommendation import recommend
from nasgoat.figures.wording import format_count, format_fixed


@dataclass(frozen=True, repr=False)
class Recommended(Evaluation):
    """The evaluation of the graph that a search recommends.

    Where evaluations were repeated, its error is the mean over those of this graph, not the lowest.

    Args:
        uncertainty: Standard error of its error; None where nothing was evaluated twice.
        times: How often it was evaluated.
    """

    uncertainty: float | None = None
    times: int = 1

    def describe_error(self) -> str:
        """The error with its uncertainty, if that is known: ``26.507 ± 0.120 (8 evaluations)``."""
        if self.uncertainty is None:
            return format_fixed(self.error)
        of = format_count(self.times, "evaluation")
        return f"{format_fixed(self.error)} ± {format_fixed(self.uncertainty)} ({of})"


def recommend_evaluation(
    evaluations: Sequence[Evaluation], objectives: Objectives = PLAIN
) -> Recommended:
    """The graph to take, as :mod:`nasgoat.bayesopt.recommendation` says.

    Of several objectives, or under measured limits, it is the evaluation of lowest first value
    among those that keep the limits.
    """
    if not objectives.plain:
        first = evaluations[find_best(objectives, [e.metrics for e in evaluations])]
        return Recommended(first.number, first.iteration, first.proposal, first.metrics)
    found = recommend([e.graph for e in evaluations], [e.error for e in evaluations])
    first = evaluations[found.place]
    return Recommended(
        first.number,
        first.iteration,
        first.proposal,
        {**first.metrics, "error": found.error},
        found.uncertainty,
        found.times,
    )


def pick_front(evaluations: Sequence[Evaluation], objectives: Objectives) -> list[Evaluation]:
    """The evaluations that keep every limit and that no other such dominates, of equals one."""
    places = list_front(objectives, [e.metrics for e in evaluations])
    return [evaluations[place] for place in places]


class FrontResult:
    """A result with a front; one of a single objective has the best evaluation alone in it."""

    evaluations: tuple[Evaluation, ...]
    objectives: Objectives

    @property
    def feasible(self) -> bool:
        """Whether some evaluation keeps every limit that was measured."""
        return any(self.objectives.is_feasible(e.metrics) for e in self.evaluations)

    @property
    def front(self) -> tuple[Evaluation, ...]:
        """The evaluations that keep every limit and that no other such dominates, of equals one.

        They come by the first objective.

        Example:
            >>> from nasgoat import nasbench201, search
            >>> def objective(cell):
            ...     edges = len(cell.edges)
            ...     return {"error": 9 - edges, "latency": edges}
            >>> result = search(objective, nasbench201(), 20, minimise=["error", "latency"])
            >>> [(e.metrics["error"], e.metrics["latency"]) for e in result.front]
            [(3.0, 6.0), (4.0, 5.0), (5.0, 4.0), (6.0, 3.0)]
            >>> result.choose("latency <= 4.5").error
            5.0
        """
        return tuple(pick_front(self.evaluations, self.objectives))

    @property
    def knee(self) -> Evaluation | None:
        """Where the front bends most; None if it does not bend or has fewer than three points."""
        front = self.front
        place = find_knee([self.objectives.pick(e.metrics) for e in front]) if front else None
        return None if place is None else front[place]

    @property
    def reference(self) -> list[float]:
        """The reference point of the hypervolume: a tenth beyond the worst of the front."""
        kept = [e.metrics for e in self.evaluations if self.objectives.is_feasible(e.metrics)]
        return find_reference([self.objectives.pick(metrics) for metrics in kept])

    def hypervolume(self, reference: Sequence[float] | None = None) -> float:
        """The volume between the front and a reference point; 0 without a front.

        Args:
            reference: One number for each objective: what lies beyond counts nothing. Runs can be
                compared only at the same one; by default :attr:`reference`.
        """
        points = [self.objectives.pick(e.metrics) for e in self.front]
        if not points:
            return 0.0
        return hypervolume(points, self.reference if reference is None else reference)

    def choose(self, *limits: str | MeasuredLimit) -> Evaluation:
        """The best evaluation under further limits such as ``"latency <= 4"``.

        The first objective that these do not limit decides.

        Raises:
            SettingError: If no evaluation keeps them.
        """
        evaluated = [e.metrics for e in self.evaluations]
        return self.evaluations[choose(self.objectives, evaluated, limits)]

    def summarise_front(self) -> list[str]:
        """The front in a few lines: a row of values for each evaluation on it."""
        if not self.feasible:
            limits = " and ".join(limit.text for limit in self.objectives.limits)
            return [f"no evaluation keeps {limits}"]
        if not self.objectives.several:
            return []
        names, knee = self.objectives.names, self.knee
        widths = [max(len(name), 10) for name in names]
        head = "  ".join(f"{name:>{w}}" for name, w in zip(names, widths, strict=True))
        lines = [f"front of {format_count(len(self.front), 'evaluation')}", f"{head}  evaluation"]
        for e in self.front:
            values = zip(self.objectives.pick(e.metrics), widths, strict=True)
            row = "  ".join(f"{value:>{w}.4g}" for value, w in values)
            lines.append(f"{row}  {e.number + 1:>10}{'  knee' * (e is knee)}")
        return lines
