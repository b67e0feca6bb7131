"""The search loop: ask, evaluate, tell, until the budget is spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

from nasgoat.acquisition import AcquisitionOptimizer, Proposal, Status
from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.bayesopt.settings import Settings
from nasgoat.errors import ObservationError, SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import SearchSpace

#: Takes a graph, returns its error or a mapping with ``error`` and more metrics.
Objective: TypeAlias = Callable[[LabeledGraph], float | Mapping[str, Any]]


class Fitted(Protocol):
    """A fitted surrogate, as far as the loop looks at it."""

    @property
    def hyperparameters(self) -> Mapping[str, float]:
        """The fitted hyperparameters by name."""
        ...


class Asker(Protocol):
    """What the loop drives: our optimiser, or any baseline."""

    @property
    def initial(self) -> int:
        """Number of random graphs before the method's own proposals."""
        ...

    @property
    def surrogate(self) -> Fitted | None:
        """The surrogate of the last proposals, if the method has one to show."""
        ...

    def ask(self, k: int = 1) -> list[Proposal]:
        """Up to k graphs to evaluate next; none when the space is used up."""
        ...

    def tell(self, graph: LabeledGraph, error: float) -> None:
        """Learn the error of a graph."""
        ...


@dataclass(frozen=True)
class Evaluation:
    """One evaluated graph: number and iteration from 0, its proposal and its metrics."""

    number: int
    iteration: int
    proposal: Proposal
    metrics: Mapping[str, float]

    @property
    def graph(self) -> LabeledGraph:
        """The graph that was evaluated."""
        return self.proposal.graph

    @property
    def error(self) -> float:
        """The error that the search minimises."""
        return self.metrics["error"]

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


@dataclass(frozen=True)
class SearchResult:
    """Everything a search evaluated."""

    evaluations: tuple[Evaluation, ...]
    seconds: float
    hyperparameters: tuple[Mapping[str, float], ...] = field(default=())

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


def search(
    objective: Objective,
    space: SearchSpace,
    evaluations: int = 160,
    batch: int = 5,
    initial: int = 10,
    seed: int = 0,
    settings: Settings | None = None,
    optimizer: str | AcquisitionOptimizer = "auto",
    on_evaluation: Callable[[Evaluation], None] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
    progress: Callable[[str], None] | None = None,
) -> SearchResult:
    """Find the graph of lowest error in few evaluations.

    Args:
        objective: Takes a graph, returns its error or a mapping with ``error`` and more metrics.
        space: The space to search.
        evaluations: How many graphs to evaluate; fewer if the space has no more.
        batch: How many graphs to propose at a time after the initial design.
        initial: Random graphs before the first proposal.
        seed: Seed of everything random here.
        settings: Kernel, target and batch strategy.
        optimizer: Acquisition optimiser, by name or ready made.
        on_evaluation: Called after each evaluation.
        on_iteration: Called after each batch.
        progress: Called with a line of text when something takes long.

    Example:
        >>> from nasgoat import nasbench201
        >>> result = search(lambda cell: 5 + len(cell.edges), nasbench201(), evaluations=20)
        >>> result.best.error, len(result.evaluations)
        (8, 20)
    """
    initial = min(initial, max(evaluations, 1))
    asker = Optimizer(space, settings, optimizer, initial, seed, progress)
    return run(asker, objective, evaluations, batch, on_evaluation, on_iteration)


def run(
    asker: Asker,
    objective: Objective,
    evaluations: int,
    batch: int,
    on_evaluation: Callable[[Evaluation], None] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
) -> SearchResult:
    """Drive a method until the budget or the space is used up."""
    if evaluations < 1 or batch < 1:
        raise SettingError(f"evaluations and batch must be at least 1, got {evaluations}, {batch}")
    start = time.perf_counter()
    done: list[Evaluation] = []
    hyperparameters: list[Mapping[str, float]] = []
    iteration = 0
    while len(done) < evaluations:
        size = asker.initial if not done else batch
        proposals = asker.ask(min(size, evaluations - len(done)))
        if not proposals:
            break
        if asker.surrogate is not None:
            hyperparameters.append(asker.surrogate.hyperparameters)
        for proposal in proposals:
            metrics = _metrics(objective(proposal.graph))
            asker.tell(proposal.graph, metrics["error"])
            done.append(Evaluation(len(done), iteration, proposal, metrics))
            if on_evaluation:
                on_evaluation(done[-1])
        if on_iteration:
            best = min(done, key=lambda evaluation: evaluation.error)
            seconds = time.perf_counter() - start
            on_iteration(
                Iteration(iteration, tuple(done[-len(proposals) :]), best, len(done), seconds)
            )
        iteration += 1
    return SearchResult(tuple(done), time.perf_counter() - start, tuple(hyperparameters))


def _metrics(answer: float | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(answer, Mapping):
        return {"error": answer}
    if "error" not in answer:
        raise ObservationError(f"the objective must return 'error', got {sorted(answer)}")
    return dict(answer)
