"""What came of a search: evaluations, the graph that it recommends, and why it ended."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nasgoat.acquisition import Proposal
from nasgoat.bayesopt.gain import Convergence, Gain
from nasgoat.bayesopt.history import Evaluation, Ticket
from nasgoat.bayesopt.known_results import KnownResult, describe_known
from nasgoat.bayesopt.objectives import PLAIN, Objectives
from nasgoat.bayesopt.selection import FrontResult, Recommended, recommend_evaluation
from nasgoat.bayesopt.spending import Spending
from nasgoat.errors import MissingPackageError
from nasgoat.figures import ladder
from nasgoat.figures.wording import format_count, format_duration, format_percent
from nasgoat.surrogate import ModelCheck
from nasgoat.upper_layers import ShownAsHtml

if TYPE_CHECKING:
    from pandas import DataFrame


_NOTHING = Spending()


class Stop(enum.StrEnum):
    """Why a search ended."""

    FINISHED = "finished"  # the budget is spent
    CONVERGED = "converged"  # no more is left to gain than the search was to stop at
    EXHAUSTED = "exhausted"  # every graph of the space was proposed
    INTERRUPTED = "interrupted"  # asked to stop; what ran was finished
    FAILING = "failing"  # the first evaluation failed, or several in a row


@dataclass(frozen=True)
class SearchResult(FrontResult, ShownAsHtml):
    """Everything a search evaluated, and why it ended.

    ``hyperparameters`` and ``models`` hold one entry for each fit of a surrogate: what it found,
    and what it had learnt; ``gains`` what was left to gain, where that was measured. ``converged``
    says what a search stopped at that ended early, by the last of its ``gains``. Evaluations at
    lower fidelities are in ``partial``, and ``spending`` says what each source cost and was worth;
    results that were known before are in ``known``.

    Example:
        >>> from nasgoat import EdgeLabeledSpace, search
        >>> space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        >>> result = search(lambda cell: 5 + len(cell.edges), space, evaluations=50)
        >>> result.best.error, len(result.evaluations), str(result.stop)
        (7.0, 12, 'exhausted')
        >>> print(result)  # doctest: +ELLIPSIS
        12 evaluations in ... s, exhausted
        proven optimal: 100 % of the proposals after the initial design
        best error 7.000, evaluation ...
        (0) ...
    """

    evaluations: tuple[Evaluation, ...]
    seconds: float
    hyperparameters: tuple[Mapping[str, float], ...] = ()
    failures: tuple[Ticket, ...] = ()
    stop: Stop = Stop.FINISHED
    models: tuple[ModelCheck, ...] = ()
    gains: tuple[Gain, ...] = ()
    objectives: Objectives = PLAIN
    partial: tuple[Evaluation, ...] = ()
    spending: Spending = _NOTHING
    known: tuple[KnownResult, ...] = ()
    converged: Convergence | None = None

    @classmethod
    def of(
        cls,
        tickets: list[Ticket],
        seconds: float,
        stop: Stop,
        objectives: Objectives = PLAIN,
        converged: Convergence | None = None,
    ) -> SearchResult:
        """The result of finished tickets, in the order of their numbers."""
        fits = {t.iteration: t.hyperparameters for t in tickets if t.hyperparameters is not None}
        models = {t.iteration: t.model for t in tickets if t.model is not None}
        gains = {t.iteration: t.gain for t in tickets if t.gain is not None}
        full = tuple(Evaluation.of(t) for t in tickets if t.metrics and t.full)
        best = recommend_evaluation(full, objectives).number if full else None
        last = () if converged is None else (converged.gain,)
        return cls(
            full,
            seconds,
            tuple(values for _, values in sorted(fits.items())),
            tuple(t for t in tickets if t.failure),
            stop,
            tuple(model for _, model in sorted(models.items())),
            (*(gain for _, gain in sorted(gains.items())), *last),
            objectives,
            tuple(Evaluation.of(t) for t in tickets if t.metrics and not t.full),
            Spending.of(tickets, best),
            converged=converged,
        )

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        first, best = self.objectives.names[0], ""
        if self.evaluations:
            best = f", best {first} {self.best.metrics[first]:g}"
            best += f", front of {len(self.front)}" * self.objectives.several
        return f"<SearchResult: {len(self.evaluations)} evaluations{failed}{best}, {self.stop}>"

    def __str__(self) -> str:
        drawn = [ladder(self.best.graph)] if self.evaluations else []
        return "\n".join([*self.summarise(), *drawn])

    @property
    def best(self) -> Recommended:
        """The recommended graph: lowest error, or where evaluations were repeated, lowest mean."""
        return recommend_evaluation(self.evaluations, self.objectives)

    @property
    def lowest(self) -> Evaluation:
        """The evaluation of lowest error, the first of equals; under noise it was lucky."""
        return min(self.evaluations, key=lambda evaluation: evaluation.error)

    @property
    def lowest_to_compare(self) -> float | None:
        """The lowest error, if one error is all that counts."""
        comparable = self.evaluations and self.objectives.plain
        return self.lowest.error if comparable else None

    @property
    def certified(self) -> float | None:
        """Share of the proposals after the initial design that are proven optimal."""
        given = [e.proposal.certificate for e in self.evaluations]
        proven = [c.certified for c in given if c.status.optimized]
        return sum(proven) / len(proven) if proven else None

    def summarise(self) -> list[str]:
        """The search in a few sentences."""
        count, taken = format_count(len(self.evaluations), "evaluation"), self.seconds
        failed = f", {len(self.failures)} failed" if self.failures else ""
        why = f" ({self.converged})" if self.converged else ""
        lines = [f"{count} in {format_duration(taken)}, {self.stop}{why}{failed}"]
        if self.certified is not None:
            share = format_percent(self.certified)
            lines.append(f"proven optimal: {share} of the proposals after the initial design")
        if self.evaluations:
            best = self.best
            first = self.objectives.names[0]
            said = best.describe_error() if self.objectives.plain else f"{best.metrics[first]:.4g}"
            lines.append(f"best {first} {said}, evaluation {best.number + 1}")
            lines += self.summarise_front()
        if self.known:
            lines.append(describe_known(self.known, self.lowest_to_compare))
        return lines + self.spending.summarise()

    def to_dataframe(self) -> DataFrame:
        """A pandas ``DataFrame`` with a row for each evaluation, failed ones included, by number.

        Columns: ``number``, ``iteration``, ``error`` and every other metric, ``best`` (the lowest
        error so far), ``status``, ``lcb``, ``mean``, ``std``, ``bound``, ``gap``, ``failure`` (why
        it failed) and ``graph``.

        Raises:
            MissingPackageError: If pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise MissingPackageError("pandas", "pandas") from None
        rows = [_make_row(e.number, e.iteration, e.proposal, e.metrics) for e in self.evaluations]
        for t in self.failures:
            row = _make_row(t.number, t.iteration, t.proposal, {})
            rows.append({**row, "failure": t.failure and t.failure.reason})
        rows.sort(key=lambda row: row["number"])
        metrics = dict.fromkeys(name for e in self.evaluations for name in e.metrics)
        columns = ["number", "iteration", *metrics, "status", *_POSTERIOR, "failure", "graph"]
        table = DataFrame(rows, columns=list(dict.fromkeys(columns)))
        if "error" in metrics:
            table.insert(list(table.columns).index("error") + 1, "best", table["error"].cummin())
        return table

    def curve(self) -> list[float]:
        """The lowest observed error after each evaluation."""
        best: list[float] = np.minimum.accumulate([e.error for e in self.evaluations]).tolist()
        return best


_POSTERIOR = ("lcb", "mean", "std", "bound", "gap")


def _make_row(
    number: int, iteration: int, proposal: Proposal, metrics: Mapping[str, Any]
) -> dict[str, Any]:
    """The row of an evaluation in a table; its own columns win over metrics of their names."""
    own = {
        "number": number,
        "iteration": iteration,
        "status": str(proposal.certificate.status),
        "lcb": proposal.lcb,
        "mean": proposal.mean,
        "std": proposal.std,
        "bound": proposal.certificate.bound,
        "gap": proposal.certificate.gap,
        "graph": proposal.graph,
    }
    return {**metrics, **own}
