"""What came of a search: evaluations, the progress of each batch, and the result."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nasgoat.acquisition import Proposal, Status
from nasgoat.bayesopt.ledger import Ticket
from nasgoat.graphs import LabeledGraph


@dataclass(frozen=True)
class Evaluation:
    """One evaluated graph: number and iteration from 0, its proposal and its metrics."""

    number: int
    iteration: int
    proposal: Proposal
    metrics: Mapping[str, Any]

    @classmethod
    def of(cls, ticket: Ticket) -> Evaluation:
        """The evaluation that a ticket with metrics stands for."""
        metrics = ticket.outcome.metrics if ticket.outcome else None
        return cls(ticket.number, ticket.iteration, ticket.proposal, metrics or {})

    @property
    def graph(self) -> LabeledGraph:
        """The graph that was evaluated."""
        return self.proposal.graph

    @property
    def error(self) -> float:
        """The error that the search minimises."""
        error: float = self.metrics["error"]
        return error

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        head = {"number": self.number, "iteration": self.iteration, "metrics": dict(self.metrics)}
        return {**head, **self.proposal.to_dict()}


@dataclass(frozen=True)
class Iteration:
    """What progress shows after each batch."""

    number: int
    batch: tuple[Evaluation, ...]
    best: Evaluation
    evaluations: int
    seconds: float

    @classmethod
    def of(
        cls, batch: Sequence[Ticket], tickets: Collection[Ticket], seconds: float
    ) -> Iteration | None:
        """What progress shows when a batch has ended; None before the first success."""
        evaluations = [Evaluation.of(t) for t in tickets if t.outcome and t.outcome.metrics]
        if not evaluations:
            return None
        best = min(evaluations, key=lambda evaluation: (evaluation.error, evaluation.number))
        numbers = {ticket.number for ticket in batch}
        shown = tuple(e for e in evaluations if e.number in numbers)
        done = sum(ticket.finished for ticket in tickets)
        return cls(batch[0].iteration, shown, best, done, seconds)


class Stop(enum.StrEnum):
    """Why a search ended."""

    FINISHED = "finished"  # the budget is spent
    EXHAUSTED = "exhausted"  # every graph of the space was proposed
    INTERRUPTED = "interrupted"  # asked to stop; what ran was finished
    FAILING = "failing"  # the first evaluation failed, or several in a row


@dataclass(frozen=True)
class SearchResult:
    """Everything a search evaluated, and why it ended."""

    evaluations: tuple[Evaluation, ...]
    seconds: float
    hyperparameters: tuple[Mapping[str, float], ...] = field(default=())
    failures: tuple[Ticket, ...] = field(default=())
    stop: Stop = Stop.FINISHED

    @classmethod
    def of(cls, tickets: list[Ticket], seconds: float, stop: Stop) -> SearchResult:
        """The result of finished tickets, in the order of their numbers."""
        fits = {t.iteration: t.hyperparameters for t in tickets if t.hyperparameters is not None}
        return cls(
            tuple(Evaluation.of(t) for t in tickets if t.outcome and t.outcome.metrics),
            seconds,
            tuple(values for _, values in sorted(fits.items())),
            tuple(t for t in tickets if t.outcome and t.outcome.failure),
            stop,
        )

    @property
    def best(self) -> Evaluation:
        """The evaluation of lowest error, the first of equals."""
        return min(self.evaluations, key=lambda evaluation: evaluation.error)

    @property
    def certified(self) -> float | None:
        """Share of the proposals after the initial design that are proven optimal."""
        chosen = [e.proposal.certificate for e in self.evaluations]
        chosen = [c for c in chosen if c.status is not Status.INITIAL]
        return sum(c.certified for c in chosen) / len(chosen) if chosen else None

    def curve(self) -> list[float]:
        """The lowest error after each evaluation."""
        best: list[float] = np.minimum.accumulate([e.error for e in self.evaluations]).tolist()
        return best
