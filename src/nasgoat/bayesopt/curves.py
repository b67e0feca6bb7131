"""The ask/tell optimiser for learning curves: trainings that were stopped early teach too.

A training reports its error after some of its steps, and somebody, a pruner of Optuna for one, may
stop it because it looks bad. What it reported until then is learnt: a step is a source of its own
(:mod:`nasgoat.surrogate.coregionalisation`), and the errors of trainings that went to their end are
the target. As long as none was stopped, nothing of this is needed, and the search is the same as
with errors alone.

From the first one that was stopped on, where the evidence chooses the kernel, it does so as in a
search with short trainings: what is seen is what the model chose, and one kernel alone can rule the
best graph out for good (docs/decisions/0091-fidelities-by-value-for-cost.md).

Not every step becomes a source: each has parameters to fit, and neighbouring steps say much the
same. At most ``MOST_STEPS`` are taken, spread over those at which trainings were stopped, the first
and the last among them. A training is an observation of every one of these steps that it reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from nasgoat.bayesopt.optimizer import Optimizer
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import GraphGP, Source, SourcedGP

MOST_STEPS = 2  # sources other than the target
Curve = Mapping[int, float]


class CurveOptimizer(Optimizer):
    """Proposes graphs and learns from their errors, and from trainings that were stopped early.

    Its arguments are those of :class:`~nasgoat.Optimizer`.

    Example:
        >>> optimizer = CurveOptimizer("nb201", initial=8, seed=0)
        >>> for proposal in optimizer.ask(8):
        ...     error = 10.0 + len(proposal.graph.edges)
        ...     curve = {1: 3 * error, 2: 2 * error}
        ...     optimizer.tell_curve(proposal.graph, curve, error if error < 16 else None)
        >>> optimizer.sources
        (<Source 'full': 2 observations>, <Source 'step 2': 8 observations>)
        >>> optimizer.ask(1)[0].certificate.certified
        True
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._curves: list[tuple[LabeledGraph, dict[int, float]]] = []
        self._stopped: list[int] = []  # the last step of each training that was stopped

    def tell_curve(self, graph: LabeledGraph, curve: Curve, error: float | None = None) -> None:
        """Learn what a training reported, and its error if it went to its end.

        Args:
            graph: The graph that was trained.
            curve: The errors after some steps; those that are no finite numbers are left out.
            error: At the end; None if the training was stopped.
        """
        kept = {step: float(value) for step, value in sorted(curve.items()) if isfinite(value)}
        if error is not None:
            self.tell(graph, error)
        else:
            self.tell_failed(graph)
            if kept:
                self._stopped.append(max(kept))
            if kept and not self.has_short_trainings:
                self.has_short_trainings = True
                self.candidates = self._list_candidates()
        if kept:
            self._curves.append((graph, kept))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the model: full errors, the target, then steps from last to first.

        Where no training went to its end, the last step is the target.
        """
        full = [Source("full", self._graphs, self._errors)] if self._graphs else []
        return (*full, *(self._observe(step) for step in choose_steps(self._stopped)))

    def _observe(self, step: int) -> Source:
        """What trainings that reached a step had reported until then, the latest of it."""
        seen = [
            (graph, curve[max(s for s in curve if s <= step)])
            for graph, curve in self._curves
            if min(curve) <= step <= max(curve)
        ]
        return Source(f"step {step}", [graph for graph, _ in seen], [error for _, error in seen])

    def _fit_candidate(
        self, options: dict[str, Any], graphs: Sequence[LabeledGraph], values: Sequence[float]
    ) -> GraphGP:
        if not self._stopped:
            return super()._fit_candidate(options, graphs, values)
        target, *others = self.sources
        fitted = SourcedGP(self.space, **options)
        return fitted.fit(target.graphs, target.errors, [*others, *self.transfer], target.name)

    def _say_weak_points(self, surrogate: GraphGP) -> None:
        if not self._stopped:  # otherwise steps say what a few full errors can't
            super()._say_weak_points(surrogate)

    def _has_observed(self) -> bool:
        return bool(self._graphs or self._stopped)

    def _count_proposed(self) -> int:
        return super()._count_proposed() + len(self._stopped)


def choose_steps(stopped: Sequence[int]) -> list[int]:
    """The steps that become sources, the last one first.

    Args:
        stopped: The last step of every training that was stopped.

    Example:
        >>> choose_steps([2, 2, 5]), choose_steps([1, 2, 2, 2, 3, 9]), choose_steps([])
        ([5, 2], [9, 1], [])
    """
    if not stopped:
        return []
    steps = sorted(set(stopped))
    if len(steps) > MOST_STEPS:
        places = np.linspace(0, 1, MOST_STEPS)
        steps = sorted({int(s) for s in np.quantile(stopped, places, method="nearest")})
    return steps[::-1]
