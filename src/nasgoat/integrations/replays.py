"""What an optimiser is told of a study's trials: each finished one once, however often it asks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from optuna.trial import FrozenTrial, TrialState

from nasgoat.bayesopt import Optimizer
from nasgoat.graphs import LabeledGraph

_Ended = tuple[int, LabeledGraph, float | None]  # number, graph, value unless it failed


class Replay:
    """An optimiser that keeps up with the trials of a study.

    It is told in the order of the trials' numbers, so that its proposals follow from the study
    alone: after a trial that ended later than its successors it begins anew.

    Args:
        make: Makes an optimiser that knows nothing.
        graph_of: The graph of a trial, if it has one.

    Example:
        >>> import optuna
        >>> from nasgoat import nasbench201
        >>> cell = nasbench201().from_digits([1, 0, 2, 3, 0, 4])
        >>> replay = Replay(lambda: Optimizer(nasbench201()), lambda trial: cell)
        >>> trial = optuna.trial.create_trial(state=TrialState.COMPLETE, value=0.5)
        >>> replay.caught_up([trial], sign=1.0).observations == [(cell, 0.5)]
        True
    """

    def __init__(
        self,
        make: Callable[[], Optimizer],
        graph_of: Callable[[FrozenTrial], LabeledGraph | None],
    ) -> None:
        self._make = make
        self._graph_of = graph_of
        self._optimizer = make()
        self._told: list[_Ended] = []

    def caught_up(self, trials: Iterable[FrozenTrial], sign: float) -> Optimizer:
        """The optimiser, knowing these trials and no others.

        Args:
            trials: In the order of their numbers.
            sign: Of the values: -1 if they are maximised.
        """
        ended: list[_Ended] = []
        running: list[LabeledGraph] = []
        for trial in trials:
            graph = self._graph_of(trial)
            if graph is None:
                continue
            if trial.state.is_finished():
                ended.append((trial.number, graph, _learnt(trial, sign)))
            else:
                running.append(graph)
        if self._told != ended[: len(self._told)]:
            self._optimizer, self._told = self._make(), []
        for _, graph, value in ended[len(self._told) :]:
            if value is None:
                self._optimizer.tell_failed(graph)
            else:
                self._optimizer.tell(graph, value)
        self._told = ended
        self._optimizer.expect_only(running)
        return self._optimizer


def _learnt(trial: FrozenTrial, sign: float) -> float | None:
    """The value to learn from; None of a trial that failed, or has none that can be learnt."""
    value = trial.value if trial.state is TrialState.COMPLETE else None
    return sign * float(value) if value is not None and math.isfinite(value) else None
