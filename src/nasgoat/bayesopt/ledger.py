"""Where a search writes down what it proposed and what came of it.

The driver writes before it acts: a proposal before it is evaluated, an outcome before anybody hears
of it. Whatever a ledger returned from was kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from nasgoat.bayesopt.results import Ticket


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
