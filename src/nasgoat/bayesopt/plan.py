"""What a driver needs: the method it asks, the budget, and the functions it notifies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from nasgoat.acquisition import Proposal
from nasgoat.bayesopt.evidence import STANDS_IN
from nasgoat.bayesopt.gain import Convergence, Gain, StopRule
from nasgoat.bayesopt.history import Evaluation, Ticket
from nasgoat.bayesopt.objectives import PLAIN, Objectives
from nasgoat.bayesopt.selection import Recommended, pick_front, recommend_evaluation
from nasgoat.errors import SettingError
from nasgoat.evaluation import Fidelities
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import ModelCheck

FAILURES_IN_A_ROW = 3
_ROUNDING = 1e-9  # of sums of costs


class Asker(Protocol):
    """The interface of a search method, ours or a baseline, as the driver uses it."""

    @property
    def initial(self) -> int:
        """Number of random graphs before the method's own proposals."""

    def ask(self, k: int = 1) -> list[Proposal]:
        """Up to k graphs to evaluate next; none when the space is used up."""

    def tell(self, graph: LabeledGraph, error: Any) -> None:
        """Learn the error of a graph; all its metrics where :attr:`objectives` are several."""

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Note that a graph could not be evaluated."""


@dataclass(frozen=True)
class Plan:
    """How many graphs to evaluate, and how many at a time.

    Args:
        evaluations: Graphs to evaluate in all, failed ones included.
        batch: Graphs to propose at a time after the initial design.
        asynchronous: Propose one by one, whenever a worker is free.
        stop: When to end before all are evaluated; None for never.
        fidelities: How graphs are evaluated; ``evaluations`` is then a cost, in full ones.
    """

    evaluations: int = 160
    batch: int = 5
    asynchronous: bool = False
    stop: StopRule | None = None
    fidelities: Fidelities | None = None

    def __post_init__(self) -> None:
        for name in ("evaluations", "batch"):
            if (value := getattr(self, name)) < 1:
                raise SettingError(f"{name} must be at least 1, got {value}")

    def count_left(self, tickets: Collection[Ticket]) -> int:
        """How many graphs may still be proposed after these, at most.

        With fidelities the method itself keeps to the budget, as long as a full evaluation fits.
        """
        if self.fidelities is None:
            return self.evaluations - len(tickets)
        left = self.evaluations - sum(ticket.cost for ticket in tickets)
        return max(int(left / self.fidelities[0].cost), 1) if left >= 1 - _ROUNDING else 0

    def size_batch(self, iteration: int, asker: Asker, tickets: Collection[Ticket]) -> int:
        """Size of a batch, cut off at the budget."""
        size = (asker.initial if iteration == 0 else 0) or self.batch
        return min(size, self.count_left([t for t in tickets if t.iteration < iteration]))

    def find_convergence(
        self, tickets: Collection[Ticket], gain: Gain | None
    ) -> Convergence | None:
        """Why to stop now, if too little is left to gain: after these tickets and before them."""
        if self.stop is None or gain is None:
            return None
        known = {ticket.iteration: ticket.gain for ticket in tickets if ticket.gain}
        gains = [*(known[i] for i in sorted(known)), gain]
        met = self.stop.is_met(gains, sum(ticket.finished for ticket in tickets))
        return Convergence(gain, self.stop, len(tickets)) if met else None

    def count_tolerated(self, initial: int, learn_failures: bool) -> int:
        """How many evaluations fail in a row until a search stops.

        Where failures are learnt from, as many as the initial design and two batches have.
        """
        return initial + 2 * self.batch if learn_failures else FAILURES_IN_A_ROW


@dataclass(frozen=True)
class Iteration:
    """A search after a batch: its best graph, the quality of its model, what is left to gain.

    ``cost`` is what was spent, in full evaluations, where there are fidelities; ``evaluations``
    counts those of any fidelity, ``best`` is one of the full ones. ``probabilities``
    say how probably each graph of the batch, failed ones too, keeps measured limits.
    """

    number: int
    batch: tuple[Evaluation, ...]
    best: Recommended
    evaluations: int
    seconds: float
    model: ModelCheck | None = None
    gain: Gain | None = None
    front: tuple[Evaluation, ...] = ()
    cost: float | None = None
    probabilities: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        batch: Sequence[Ticket],
        tickets: Collection[Ticket],
        seconds: float,
        objectives: Objectives = PLAIN,
    ) -> Iteration | None:
        """What progress shows when a batch has ended; None before the first success."""
        evaluations = [Evaluation.of(t) for t in tickets if t.metrics]
        full = [Evaluation.of(t) for t in tickets if t.metrics and t.full]
        if not full:
            return None
        best = recommend_evaluation(full, objectives)
        front = tuple(pick_front(full, objectives))
        numbers = {ticket.number for ticket in batch}
        shown = tuple(e for e in evaluations if e.number in numbers)
        done = sum(ticket.finished for ticket in tickets)
        last = batch[-1]
        spent = sum(ticket.cost for ticket in tickets if ticket.finished)
        cost = None if last.fidelity is None else spent
        believed = [ticket.proposal.probability for ticket in batch]
        known = tuple(share for share in believed if share is not None)
        said = (last.model, last.gain, front, cost, known)
        return cls(last.iteration, shown, best, done, seconds, *said)


@dataclass(frozen=True)
class Events:
    """Functions that the driver calls when something happens; each may be None."""

    evaluation: Callable[[Evaluation], None] | None = None
    failure: Callable[[Ticket], None] | None = None
    iteration: Callable[[Iteration], None] | None = None
    proposed: Callable[[Ticket], None] | None = None


def find_objectives(asker: Asker) -> Objectives:
    """What a method minimises: its error, unless it says otherwise."""
    found: Objectives = getattr(asker, "objectives", PLAIN)
    return found


def tell(asker: Asker, ticket: Ticket) -> None:
    """Tell how a ticket's evaluation ended, or that it is still to be expected.

    A method that says what it minimises (``objectives``) is told all metrics, any other the error.
    """
    plain = find_objectives(asker).plain
    if not ticket.finished:
        expect = getattr(asker, "expect", None)
        if expect is not None:
            expect(ticket.graph, *ticket.at)
    elif ticket.metrics is None:
        asker.tell_failed(ticket.graph, *ticket.at)
    elif plain:
        asker.tell(ticket.graph, ticket.metrics["error"], *ticket.at)
    else:
        asker.tell(ticket.graph, ticket.metrics, *ticket.at)


def describe_fit(asker: Asker) -> tuple[dict[str, float] | None, ModelCheck | None]:
    """The hyperparameters of the last fit of a method, and what it had learnt; None without one.

    Of several surrogates the names of hyperparameters begin with those of their objectives, and the
    check is that of the one that orders graphs worst, of those that have learnt nothing if any.
    """
    fits: Mapping[str, Any] = getattr(asker, "surrogates", None) or {}
    if fits:
        every = [(name, gp.hyperparameters) for name, gp in fits.items()]
        fitted = {f"{name} {key}": x for name, values in every for key, x in values.items()}
        checks = [replace(gp.check_, objective=name) for name, gp in fits.items()]
        worst = min(checks, key=lambda check: (check.learnt, check.rank_correlation or 0.0))
        return fitted, _add_response(worst, asker)
    surrogate = getattr(asker, "surrogate", None)
    if surrogate is None:
        return None, None
    check: ModelCheck | None = getattr(surrogate, "check_", None)
    return dict(surrogate.hyperparameters), check and _add_response(check, asker)


def _add_response(check: ModelCheck, asker: Asker) -> ModelCheck:
    """The same with what the method does: where nothing was learnt, or nothing can be proven."""
    response = getattr(asker, "response", None)
    silent = check.learnt and response != STANDS_IN
    return check if silent else replace(check, response=response)


def tell_progress(
    on_iteration: Callable[[Iteration], None] | None,
    progress: Callable[[str], None] | None,
    evaluations: int,
    objectives: Objectives,
) -> Callable[[Iteration], None]:
    """What happens after a batch: a line of progress, and what the caller wants."""

    def tell(iteration: Iteration) -> None:
        if progress is not None:
            name = objectives.names[0]
            best = f"best {name} {iteration.best.metrics[name]:.6g}"
            best += f", front of {len(iteration.front)}" * objectives.several
            progress(f"{iteration.evaluations} of {evaluations} evaluations, {best}")
        if on_iteration is not None:
            on_iteration(iteration)

    return tell
