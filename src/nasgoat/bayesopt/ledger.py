"""Where a search writes down what it proposed and what came of it.

The driver writes before it acts: a proposal before it is evaluated, an outcome before anybody hears
of it. Whatever a ledger returned from was kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from nasgoat.acquisition import Proposal
from nasgoat.evaluation import Outcome
from nasgoat.graphs import LabeledGraph


@dataclass(frozen=True)
class Ticket:
    """One proposed graph on its way: proposed, running or finished.

    Args:
        number: Its place among all proposals, from 0.
        iteration: The batch it belongs to, from 0.
        proposal: The graph with its posterior and certificate.
        hyperparameters: Of the surrogate that proposed it; None in the initial design.
        outcome: How its evaluation ended; None if it has not.
        elapsed: Seconds of search, over all its sessions, until it ended.
    """

    number: int
    iteration: int
    proposal: Proposal
    hyperparameters: Mapping[str, float] | None = None
    outcome: Outcome | None = None
    elapsed: float = 0.0

    @property
    def graph(self) -> LabeledGraph:
        """The graph to evaluate."""
        return self.proposal.graph

    @property
    def finished(self) -> bool:
        """Whether its evaluation ended, well or not."""
        return self.outcome is not None


class Ledger(Protocol):
    """Keeps the tickets of one search."""

    def tickets(self) -> list[Ticket]:
        """Every ticket by number; without an outcome if its evaluation never ended."""
        ...

    def propose(self, tickets: Sequence[Ticket]) -> None:
        """Keep new tickets."""
        ...

    def requeue(self, tickets: Sequence[Ticket]) -> None:
        """Note that tickets which an earlier session left behind are evaluated again."""
        ...

    def finish(self, ticket: Ticket) -> None:
        """Keep the outcome of a ticket."""
        ...


class MemoryLedger:
    """Keeps tickets as long as the process lives.

    Example:
        >>> MemoryLedger().tickets()
        []
    """

    def __init__(self) -> None:
        self._tickets: dict[int, Ticket] = {}

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
        self._tickets[ticket.number] = ticket
