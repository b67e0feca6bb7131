"""Progress of a search on standard error: a line a batch, and on a terminal a line that lives."""

from __future__ import annotations

import sys
from collections.abc import Callable

from nasgoat.bayesopt import Evaluation, Events, Iteration, Ticket
from nasgoat.cli.output import note
from nasgoat.graphs import LabeledGraph

_HEAD = " iteration  evaluations  best error    regret  certificate   seconds"
_CLEAR = "\r\x1b[K"


class Progress:
    """Says what a search does, as it does it.

    Args:
        evaluations: The budget.
        done: Evaluations that earlier sessions finished.
        regret: The regret of a graph; None where nobody knows it.
    """

    def __init__(
        self, evaluations: int, done: int, regret: Callable[[LabeledGraph], float | None]
    ) -> None:
        self._evaluations = evaluations
        self._done = done
        self._regret = regret
        self._best = float("inf")
        self._live = sys.stderr.isatty()
        note(_HEAD)

    def events(self, proposed: Callable[[Ticket], None] | None = None) -> Events:
        """What the driver calls."""
        return Events(self.evaluation, self.failure, self.iteration, proposed)

    def evaluation(self, evaluation: Evaluation) -> None:
        """One evaluation has ended: shown on a terminal until the next line."""
        self._best = min(self._best, evaluation.error)
        self._advance()

    def failure(self, ticket: Ticket) -> None:
        """One evaluation has failed."""
        failure = ticket.outcome and ticket.outcome.failure
        if failure:
            self._line(f"evaluation {ticket.number + 1} failed ({failure.kind}): {failure.reason}")
        self._advance()

    def iteration(self, iteration: Iteration) -> None:
        """A batch has ended."""
        statuses = sorted({str(e.proposal.certificate.status) for e in iteration.batch})
        regret = self._regret(iteration.best.graph)
        shown = f"{'-':>9}" if regret is None else f"{regret:9.3f}"
        self._best = iteration.best.error
        self._line(
            f"{iteration.number:10d} {iteration.evaluations:12d} {iteration.best.error:11.3f} "
            f"{shown}  {'/'.join(statuses) or 'failed':<11} {iteration.seconds:9.1f}"
        )

    def _advance(self) -> None:
        self._done += 1
        if self._live:
            best = "" if self._best == float("inf") else f", best {self._best:.3f}"
            text = f"{_CLEAR}           {self._done:12d} of {self._evaluations}{best} ..."
            print(text, end="", file=sys.stderr, flush=True)

    def _line(self, text: str) -> None:
        if self._live:
            print(_CLEAR, end="", file=sys.stderr)
        note(text)
