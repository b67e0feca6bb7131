"""What is left to gain, for Optuna's terminator: exact over the space where its own samples."""

from __future__ import annotations

import math

from optuna.study import StudyDirection
from optuna.terminator import BaseImprovementEvaluator
from optuna.trial import FrozenTrial

from nasgoat.acquisition import make_optimizer
from nasgoat.bayesopt import measure_gain
from nasgoat.integrations.replay import read_values
from nasgoat.integrations.trial_graphs import GraphParameters, TrialGraphs
from nasgoat.spaces import SearchSpace, load_space


class ExactGainEvaluator(BaseImprovementEvaluator):
    """Bounds by how much any graph that was not tried can improve on the best trial.

    Args:
        space: The space of graphs, or its name as for :func:`~nasgoat.load_space`.
        kernel: Of the Gaussian process.
        optimizer: Minimises over all graphs.
        name: Name of the graph's parameter.

    Example:
        >>> import optuna
        >>> from nasgoat import GoatSampler, nasbench201, suggest_graph
        >>> space = nasbench201()
        >>> study = optuna.create_study(sampler=GoatSampler(space))
        >>> study.optimize(lambda trial: 5 + len(suggest_graph(trial, space).edges), n_trials=20)
        >>> ExactGainEvaluator(space).evaluate(study.trials, study.direction) >= 0
        True
    """

    def __init__(
        self,
        space: SearchSpace | str,
        kernel: str = "exponential",
        optimizer: str = "auto",
        name: str = "graph",
    ) -> None:
        self.space = load_space(space)
        self._kernel = kernel
        self._optimizer = make_optimizer(optimizer, self.space, None, kernel)
        self._graphs = TrialGraphs(GraphParameters(self.space, name))

    def evaluate(self, trials: list[FrozenTrial], study_direction: StudyDirection) -> float:
        """The bound, in units of the objective; infinite where nothing is known yet."""
        sign = -1.0 if study_direction is StudyDirection.MAXIMIZE else 1.0
        told, tried = [], set()
        for trial in trials:
            graph = self._graphs.find(trial)
            if graph is None:
                continue
            tried.add(self._graphs.keys[graph])
            if (values := read_values(trial, [sign])) is not None:
                told.append((graph, values[0]))
        gain = measure_gain(self.space, self._optimizer, told, tried, self._kernel)
        return math.inf if gain is None or gain.bound is None else gain.bound
