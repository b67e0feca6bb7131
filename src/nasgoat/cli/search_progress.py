"""What a search shows while it runs: a table of its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable

from nasgoat.acquisition import Status
from nasgoat.bayesopt import Evaluation, Events, Gain, Iteration, Objectives, Ticket
from nasgoat.cli.terminal import note
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import ModelCheck

_HEAD = " iteration  evaluations  best error    regret  certificate  model      gain   seconds"
_CLEAR = "\r\x1b[K"


class ProgressTable:
    """The progress of a search on standard error: a line a batch, on a terminal also a live one.

    Args:
        evaluations: The budget.
        done: Evaluations that earlier sessions finished.
        regret: The regret of a graph; None where nobody knows it.
    """

    head = _HEAD

    def __init__(
        self, evaluations: int, done: int, regret: Callable[[LabeledGraph], float | None]
    ) -> None:
        self._evaluations = evaluations
        self._done = done
        self._regret = regret
        self._best = float("inf")
        self._warned = False  # of a model that has learnt nothing: once is enough
        self._live = sys.stderr.isatty()
        note(self.head)

    def events(self, proposed: Callable[[Ticket], None] | None = None) -> Events:
        """What the driver calls."""
        return Events(self.evaluation, self.failure, self.iteration, proposed)

    def evaluation(self, evaluation: Evaluation) -> None:
        """One evaluation has ended: shown on a terminal until the next line."""
        self._best = min(self._best, evaluation.error)
        self._advance()

    def failure(self, ticket: Ticket) -> None:
        """One evaluation has failed."""
        if failure := ticket.failure:
            self._say(f"evaluation {ticket.number + 1} failed ({failure.kind}): {failure.reason}")
        self._advance()

    def iteration(self, iteration: Iteration) -> None:
        """A batch has ended."""
        given = {e.proposal.certificate.status for e in iteration.batch}
        statuses = sorted(map(str, given - {Status.REPEAT} or given))
        regret = self._regret(iteration.best.graph)
        shown = f"{'-':>9}" if regret is None else f"{regret:9.3f}"
        self._best = iteration.best.error
        # With fidelities what was spent, in full evaluations.
        spent = f"{iteration.evaluations:12d}"
        if iteration.cost is not None:
            spent = f"{iteration.cost:12.2f}"
        self._say(
            f"{iteration.number:10d} {spent} {iteration.best.error:11.3f} "
            f"{shown}  {'/'.join(statuses) or 'failed':<11} {_show_model(iteration.model)} "
            f"{_show_gain(iteration.gain)} {iteration.seconds:9.1f}"
        )
        if iteration.model and not iteration.model.learnt and not self._warned:
            self._warned = True
            self._say(f"! {iteration.model.describe()}")

    def _advance(self) -> None:
        self._done += 1
        if self._live:
            best = "" if self._best == float("inf") else f", best {self._best:.3f}"
            text = f"{_CLEAR}           {self._done:12d} of {self._evaluations}{best} ..."
            print(text, end="", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        if self._live:
            print(_CLEAR, end="", file=sys.stderr)
        note(text)


class FrontTable(ProgressTable):
    """The progress of a search of several objectives, or under measured limits.

    Args:
        evaluations: The budget.
        done: Evaluations that earlier sessions finished.
        objectives: What is minimised and limited.
    """

    def __init__(self, evaluations: int, done: int, objectives: Objectives) -> None:
        self._objectives = objectives
        names = "".join(f"{f'best {name}':>16}" for name in objectives.names)
        front = "   front" * objectives.several
        holds = "   probability" * bool(objectives.limits)
        self.head = f" iteration  evaluations{names}{front}{holds}  certificate  model   seconds"
        super().__init__(evaluations, done, lambda graph: None)

    def iteration(self, iteration: Iteration) -> None:
        """A batch has ended."""
        given = {e.proposal.certificate.status for e in iteration.batch}
        statuses = "/".join(sorted(map(str, given))) or "failed"
        shown = iteration.front or (iteration.best,)
        lowest = [min(e.metrics[name] for e in shown) for name in self._objectives.names]
        values = "".join(f"{value:16.4g}" for value in lowest)
        front = f"{len(iteration.front):8d}" if self._objectives.several else ""
        self._best = lowest[0]
        self._say(
            f"{iteration.number:10d} {iteration.evaluations:12d}{values}{front}"
            f"{self._show_probability(iteration)}  {statuses:<11} {_show_model(iteration.model)} "
            f"{iteration.seconds:9.1f}"
        )

    def _show_probability(self, iteration: Iteration) -> str:
        """The mean probability that the graphs of a batch keep the limits."""
        if not self._objectives.limits:
            return ""
        known = [e.proposal.probability for e in iteration.batch]
        given = [share for share in known if share is not None]
        return f"{sum(given) / len(given):14.2f}" if given else f"{'-':>14}"


def _show_model(model: ModelCheck | None) -> str:
    """The rank correlation of a model, marked where it has learnt nothing."""
    if model is None:
        return f"{'-':>6}"
    ranked = "-" if model.rank_correlation is None else f"{model.rank_correlation:.2f}"
    return f"{ranked + '!' * (not model.learnt):>6}"


def _show_gain(gain: Gain | None) -> str:
    """How much better another graph can be."""
    return f"{'-':>9}" if gain is None or gain.bound is None else f"{gain.bound:9.3f}"
