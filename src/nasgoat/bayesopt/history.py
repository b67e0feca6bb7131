"""The history of a search: what it proposed and evaluated, and the ledger that keeps it.

The driver writes before it acts: a proposal before it is evaluated, an outcome before anybody hears
of it. Whatever a ledger returned from was kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from nasgoat.acquisition import Proposal
from nasgoat.bayesopt.gain import Convergence, Gain
from nasgoat.errors import SettingError
from nasgoat.evaluation import Failure, Fidelity, Outcome
from nasgoat.evaluation.objectives import read_error
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace
from nasgoat.surrogate import ModelCheck
from nasgoat.upper_layers import find


@dataclass(frozen=True)
class Ticket:
    """One proposed graph and its state: proposed, running or finished.

    Args:
        number: Its place among all proposals, from 0.
        iteration: The batch it belongs to, from 0.
        proposal: The graph with its posterior and certificate.
        hyperparameters: Of the surrogate that proposed it; None in the initial design.
        outcome: How its evaluation ended; None if it has not.
        elapsed: Seconds of search, over all its sessions, until it ended.
        model: What the surrogate that proposed it had learnt; None in the initial design.
        gain: What was left to gain when it was proposed; None where that was not measured.
    """

    number: int
    iteration: int
    proposal: Proposal
    hyperparameters: Mapping[str, float] | None = None
    outcome: Outcome | None = None
    elapsed: float = 0.0
    model: ModelCheck | None = None
    gain: Gain | None = None

    @property
    def graph(self) -> LabeledGraph:
        """The graph to evaluate."""
        return self.proposal.graph

    @property
    def fidelity(self) -> Fidelity | None:
        """How it is evaluated; None in a search without fidelities."""
        return self.proposal.fidelity

    @property
    def at(self) -> tuple[Fidelity, ...]:
        """The fidelity as further arguments of a call; none where there is none."""
        return () if self.fidelity is None else (self.fidelity,)

    @property
    def cost(self) -> float:
        """What its evaluation costs, in full ones."""
        return 1.0 if self.fidelity is None else self.fidelity.cost

    @property
    def full(self) -> bool:
        """Whether its error is one that the search is about."""
        return self.fidelity is None or self.fidelity.full

    @property
    def finished(self) -> bool:
        """Whether its evaluation ended, well or not."""
        return self.outcome is not None

    @property
    def metrics(self) -> Mapping[str, Any] | None:
        """What its evaluation measured; None if it failed or has not ended."""
        return self.outcome.metrics if self.outcome else None

    @property
    def error(self) -> float:
        """The error that the search minimises; the first metric if none has that name."""
        if self.metrics is None:
            raise ValueError(f"proposal {self.number} must have an error, got none")
        return read_error(self.metrics)

    @property
    def failure(self) -> Failure | None:
        """Why its evaluation failed; None if it did not, or has not ended."""
        return self.outcome.failure if self.outcome else None


class Ledger(Protocol):
    """Keeps the tickets of one search.

    One that also has ``converge`` is told by what a search ended early
    (:class:`~nasgoat.bayesopt.Convergence`).
    """

    def tickets(self) -> list[Ticket]:
        """Every ticket by number; without an outcome if its evaluation never ended."""

    def propose(self, tickets: Sequence[Ticket]) -> None:
        """Keep new tickets."""

    def requeue(self, tickets: Sequence[Ticket]) -> None:
        """Note that tickets which an earlier session left behind are evaluated again."""

    def finish(self, ticket: Ticket) -> None:
        """Keep the outcome of a ticket."""


class MemoryLedger:
    """Keeps tickets as long as the process lives.

    Example:
        >>> MemoryLedger().tickets()
        []
    """

    def __init__(self) -> None:
        self._tickets: dict[int, Ticket] = {}
        self.converged: Convergence | None = None

    def tickets(self) -> list[Ticket]:
        """Every ticket by number."""
        return [self._tickets[number] for number in sorted(self._tickets)]

    def propose(self, tickets: Sequence[Ticket]) -> None:
        """Keep new tickets."""
        self._tickets |= {ticket.number: ticket for ticket in tickets}

    def requeue(self, tickets: Sequence[Ticket]) -> None:
        """Forget that these were running."""
        self.propose([replace(ticket, outcome=None) for ticket in tickets])

    def finish(self, ticket: Ticket) -> None:
        """Keep the outcome of a ticket."""
        self.propose([ticket])

    def converge(self, converged: Convergence) -> None:
        """Keep what the search stopped at."""
        self.converged = converged


def open_ledger(
    ledger: Ledger | None,
    storage: str | Path | None,
    study: str | None,
    space: SearchSpace,
    declaration: dict[str, Any],
    evaluations: int,
) -> AbstractContextManager[Ledger | None]:
    """The ledger that was given, or that of a stored search."""
    if storage is None:
        if study is not None:
            raise SettingError(f"study must come with storage, got {study!r} alone")
        return nullcontext(ledger)
    if ledger is not None:
        raise SettingError("storage must come without a ledger, got both")
    opened: AbstractContextManager[Ledger | None] = find("open a study")(
        storage, study or "search", space, declaration, evaluations
    )
    return opened


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
        return cls(ticket.number, ticket.iteration, ticket.proposal, ticket.metrics or {})

    @property
    def graph(self) -> LabeledGraph:
        """The graph that was evaluated."""
        return self.proposal.graph

    @property
    def error(self) -> float:
        """The error that the search minimises; the first metric if none has that name."""
        return read_error(self.metrics)

    def __repr__(self) -> str:
        size = f"{self.graph.n} nodes, {len(self.graph.edges)} edges"
        status = self.proposal.certificate.status
        return f"<Evaluation number {self.number}: error {self.error:g}, {status}, {size}>"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        head = {"number": self.number, "iteration": self.iteration, "metrics": dict(self.metrics)}
        return {**head, **self.proposal.to_dict()}
