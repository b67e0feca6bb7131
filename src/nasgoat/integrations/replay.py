"""What an optimiser learns from the trials of a study: each one once, however often it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite

from optuna.trial import FrozenTrial, TrialState

from nasgoat.bayesopt import CurveOptimizer
from nasgoat.graphs import LabeledGraph

Values = tuple[float, ...]
#: Number of a trial, its graph, its values if they can be learnt, and what it reported by step.
Told = tuple[int, LabeledGraph, Values | None, dict[int, float]]


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
        >>> replay = Replay(lambda: CurveOptimizer(nasbench201()), lambda trial: cell)
        >>> trial = optuna.trial.create_trial(state=TrialState.COMPLETE, value=0.5)
        >>> replay.catch_up([trial], 1.0).observations == [(cell, 0.5)]
        True
    """

    def __init__(
        self,
        make: Callable[[], CurveOptimizer],
        graph_of: Callable[[FrozenTrial], LabeledGraph | None],
    ) -> None:
        self._make = make
        self._graph_of = graph_of
        self._optimizer = make()
        self._told: list[Told] = []

    def catch_up(self, trials: Iterable[FrozenTrial], *signs: float) -> CurveOptimizer:
        """Tell the optimiser what is new in these trials, or all of them if old ones changed.

        Args:
            trials: In the order of their numbers.
            signs: Of each of their values: -1 if it is maximised.
        """
        ended: list[Told] = []
        running: list[LabeledGraph] = []
        for trial in trials:
            graph = self._graph_of(trial)
            if graph is None:
                continue
            if trial.state.is_finished():
                values, curve = read_values(trial, signs), read_curve(trial, *signs)
                ended.append((trial.number, graph, values, curve))
            else:
                running.append(graph)
        if self._told != ended[: len(self._told)]:
            self._optimizer, self._told = self._make(), []
        for _, graph, values, curve in ended[len(self._told) :]:
            self._tell(graph, values, curve)
        self._told = ended
        self._optimizer.expect_only(running)
        return self._optimizer

    def _tell(self, graph: LabeledGraph, values: Values | None, curve: dict[int, float]) -> None:
        """Tell how a trial ended."""
        if curve:
            self._optimizer.tell_curve(graph, curve, values[0] if values else None)
        elif values is None:
            self._optimizer.tell_failed(graph)
        elif len(values) == 1:
            self._optimizer.tell(graph, values[0])
        else:
            named = zip(name_values(len(values)), values, strict=True)
            self._optimizer.tell(graph, dict(named))


def name_values(count: int) -> list[str]:
    """The names under which an optimiser is told the values of a trial.

    Example:
        >>> name_values(1), name_values(2)
        (['error'], ['value 0', 'value 1'])
    """
    return ["error"] if count == 1 else [f"value {i}" for i in range(count)]


def read_values(trial: FrozenTrial, signs: Sequence[float]) -> Values | None:
    """The values to learn from; None of a trial that failed, or has one that can't be learnt.

    Args:
        trial: The trial.
        signs: Of each of its values: -1 if it is maximised.

    Example:
        >>> import optuna
        >>> read_values(optuna.trial.create_trial(state=TrialState.COMPLETE, value=0.5), [-1.0])
        (-0.5,)
    """
    values = trial.values if trial.state is TrialState.COMPLETE else None
    if values is None or not all(map(isfinite, values)):
        return None
    return tuple(sign * float(value) for sign, value in zip(signs, values, strict=True))


def read_curve(trial: FrozenTrial, *signs: float) -> dict[int, float]:
    """What a trial of one value reported by step, if it was pruned or went well to its end.

    Example:
        >>> import optuna
        >>> pruned = {"state": TrialState.PRUNED, "intermediate_values": {1: 0.5, 2: 0.25}}
        >>> read_curve(optuna.trial.create_trial(**pruned), -1.0)
        {1: -0.5, 2: -0.25}
    """
    if len(signs) > 1:
        return {}
    pruned = trial.state is TrialState.PRUNED
    if not pruned and read_values(trial, signs) is None:
        return {}
    reported = sorted(trial.intermediate_values.items())
    return {step: signs[0] * float(value) for step, value in reported if isfinite(value)}
