"""Baselines for several objectives and measured limits: what is told is a mapping.

A limit is given as a function of the metrics that is at most 0 where it holds. Everything is
minimised. Of an evaluation that failed a method learns that its graph must not be asked for again.

- ``random``: distinct random graphs.
- ``local-search``: neighbours of the best graph of a weighted maximum, in random order, moving at
  the first improvement; whenever all neighbours are known, other weights.
- ``nsga2``, ``tpe``: Optuna's samplers on categorical parameters, one for each place of an
  operation. A choice that is no graph is pruned, one that is known is told again at no cost. Limits
  are its ``constraints_func``.
- ``qnehvi``: BoTorch's hypervolume improvement over a pool, for fronts alone
  (:mod:`nasgoat.baselines.qnehvi`, which needs BoTorch).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from nasgoat.acquisition import draw_initial_design
from nasgoat.baselines.categorical import CategoricalSpace
from nasgoat.bayesopt.front_functions import spread_weights
from nasgoat.errors import MissingPackageError
from nasgoat.graphs import LabeledGraph
from nasgoat.progress import quieten_optuna
from nasgoat.spaces import SearchSpace

Metrics = Mapping[str, float]
Excess = Callable[[Metrics], float]
_STREAM = 5  # keeps these random numbers apart from those of the initial design
_TRIES = 200  # choices of a sampler that are known or no graph, before a random graph is taken
_POPULATION = 20
_VIOLATION = "nasgoat:excess"
_PENALTY = 10.0  # ranges of the values: what breaking a limit costs a local search


@dataclass
class SeveralMethod(ABC):
    """A method that is asked for one graph at a time.

    Args:
        space: The space to search.
        names: What is minimised.
        limits: By how much metrics break each limit; at most 0 where it holds.
        initial: Random graphs before its own, the same for every method.
        seed: Seed of everything random.
    """

    space: SearchSpace
    names: Sequence[str]
    limits: Sequence[Excess] = ()
    initial: int = 10
    seed: int = 0
    graphs: list[LabeledGraph] = field(default_factory=list, init=False)
    metrics: list[Metrics] = field(default_factory=list, init=False)
    #: Every graph that was evaluated: its place among those that were measured, None if it failed.
    known: dict[bytes, int | None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, _STREAM])
        self._design = draw_initial_design(self.space, self.initial, self.seed)

    def ask(self) -> LabeledGraph | None:
        """The next graph; None if the space is used up."""
        if len(self.known) < len(self._design):
            return self._begin(self._design[len(self.known)])
        return self._choose()

    def tell(self, graph: LabeledGraph, metrics: Metrics) -> None:
        """Learn the metrics of a graph."""
        self.known[self.space.key(graph)] = len(self.graphs)
        self.graphs.append(graph)
        self.metrics.append(metrics)

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Note that a graph could not be evaluated: it is not asked for again."""
        self.known[self.space.key(graph)] = None

    def _begin(self, graph: LabeledGraph) -> LabeledGraph:
        """A graph of the initial design is about to be evaluated."""
        return graph

    @abstractmethod
    def _choose(self) -> LabeledGraph | None:
        """The next graph after the initial design."""

    def _draw(self) -> LabeledGraph | None:
        return next(iter(self.space.sample(1, self.rng, set(self.known))), None)

    def _list_values(self, metrics: Metrics) -> list[float]:
        return [float(metrics[name]) for name in self.names]

    def _measure_excesses(self, metrics: Metrics) -> list[float]:
        return [float(excess(metrics)) for excess in self.limits]


class RandomSeveral(SeveralMethod):
    """Distinct random graphs."""

    def _choose(self) -> LabeledGraph | None:
        return self._draw()


class LocalSeveral(SeveralMethod):
    """Local search on weighted maxima of the values, scaled to those observed.

    Example:
        >>> from nasgoat import nasbench201
        >>> method = LocalSeveral(nasbench201(), ["edges", "skips"], initial=3)
        >>> for _ in range(8):
        ...     cell = method.ask()
        ...     labels = list(cell.edge_labels.values())
        ...     method.tell(cell, {"edges": len(labels), "skips": labels.count("skip_connect")})
        >>> len(method.known)
        8
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._turn, self._queue = -1, list[LabeledGraph]()
        self._current: int | None = None
        self._restarts = False

    def _score(self) -> NDArray[np.float64]:
        values = np.array([self._list_values(metrics) for metrics in self.metrics])
        low, spread = values.min(axis=0), np.ptp(values, axis=0)
        scaled = (values - low) / np.where(spread > 0, spread, 1.0)
        weights = spread_weights(self._turn, len(self.names)) if len(self.names) > 1 else 1.0
        score: NDArray[np.float64] = (weights * scaled).max(axis=1)
        if self.limits:
            broken = np.array([self._measure_excesses(metrics) for metrics in self.metrics])
            scale = np.maximum(broken.max(axis=0), 1e-12)
            score = score + _PENALTY * np.maximum(broken / scale, 0.0).sum(axis=1)
        return score

    def _choose(self) -> LabeledGraph | None:
        if not self.graphs:  # all of the initial design failed
            return self._draw()
        last = len(self.graphs) - 1
        if self._restarts or (
            self._current is not None and (scores := self._score())[last] < scores[self._current]
        ):
            self._move(last)
        self._restarts = False
        for _ in range(_TRIES if len(self.names) > 1 else 2):
            self._queue = [g for g in self._queue if self.space.key(g) not in self.known]
            if self._queue:
                return self._queue.pop(0)
            self._turn += 1
            self._move(int(np.argmin(self._score())))
        # Of one value there are no other weights: it begins again at a random graph.
        self._restarts = len(self.names) == 1
        return self._draw()

    def _move(self, place: int) -> None:
        self._current = place
        found = self.space.neighbours(self.graphs[place])
        self._queue = [found[i] for i in self.rng.permutation(len(found))]


class OptunaSeveral(SeveralMethod):
    """An Optuna sampler for several objectives, on categorical parameters."""

    @abstractmethod
    def make_sampler(self, constraints: Any) -> optuna.samplers.BaseSampler:
        """The sampler; ``constraints`` is None without limits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.encoded = CategoricalSpace(self.space)
        constraints = (lambda trial: trial.user_attrs[_VIOLATION]) if self.limits else None
        directions = [StudyDirection.MINIMIZE] * len(self.names)
        with quieten_optuna(), warnings.catch_warnings():
            # Of constraints_func, which Optuna 5 deprecates and 4 has no replacement for, too.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = self.make_sampler(constraints)
            self.study = optuna.create_study(sampler=sampler, directions=directions)
        self._trial: Trial | None = None

    def _begin(self, graph: LabeledGraph) -> LabeledGraph:
        self.study.enqueue_trial(self.encoded.encode(graph))
        self._trial = self.study.ask(self.encoded.distributions)
        return graph

    def tell(self, graph: LabeledGraph, metrics: Metrics) -> None:
        """Learn the metrics of a graph."""
        super().tell(graph, metrics)
        if self._trial is not None:
            self._answer(self._trial, metrics)
            self._trial = None

    def tell_failed(self, graph: LabeledGraph) -> None:
        """Note that a graph could not be evaluated; samplers learn nothing from such a trial."""
        super().tell_failed(graph)
        if self._trial is not None:
            self._fail(self._trial)
            self._trial = None

    def _answer(self, trial: Trial, metrics: Metrics) -> FrozenTrial:
        trial.set_user_attr(_VIOLATION, self._measure_excesses(metrics))
        return self.study.tell(trial, self._list_values(metrics))

    def _fail(self, trial: Trial) -> FrozenTrial:
        trial.set_user_attr(_VIOLATION, [1.0] * len(self.limits))
        return self.study.tell(trial, state=TrialState.FAIL)

    def _choose(self) -> LabeledGraph | None:
        for _ in range(_TRIES):
            trial = self.study.ask(self.encoded.distributions)
            graph = self.encoded.decode(trial.params)
            if graph is None:
                trial.set_user_attr(_VIOLATION, [1.0] * len(self.limits))
                self.study.tell(trial, state=TrialState.PRUNED)
                continue
            key = self.space.key(graph)
            if key not in self.known:
                self._trial = trial
                return graph
            if (place := self.known[key]) is None:
                self._fail(trial)
            else:
                self._answer(trial, self.metrics[place])
        return self._draw()


class Nsga2(OptunaSeveral):
    """Optuna's NSGA-II, population 20."""

    def make_sampler(self, constraints: Any) -> optuna.samplers.BaseSampler:
        """NSGA-II."""
        return optuna.samplers.NSGAIISampler(
            population_size=_POPULATION, seed=self.seed, constraints_func=constraints
        )


class TpeSeveral(OptunaSeveral):
    """Optuna's tree-structured Parzen estimator."""

    def make_sampler(self, constraints: Any) -> optuna.samplers.BaseSampler:
        """TPE of all parameters together, with as many random graphs first as every method has.

        One parameter at a time, its default, takes five times as long with several objectives.
        """
        return optuna.samplers.TPESampler(
            n_startup_trials=self.initial,
            multivariate=True,
            seed=self.seed,
            constraints_func=constraints,
        )


#: Baselines for several objectives by name.
SEVERAL_METHODS: dict[str, type[SeveralMethod]] = {
    "random": RandomSeveral,
    "local-search": LocalSeveral,
    "nsga2": Nsga2,
    "tpe": TpeSeveral,
}
#: Baselines for fronts alone, which need a package of their own.
FRONT_METHODS = ("qnehvi",)


def find_several_method(name: str) -> type[SeveralMethod]:
    """The baseline of a name.

    Raises:
        MissingPackageError: If its package is not installed.

    Example:
        >>> find_several_method("tpe").__name__
        'TpeSeveral'
    """
    if name not in FRONT_METHODS:
        return SEVERAL_METHODS[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # BoTorch uses what PyTorch is about to drop
            from nasgoat.baselines.qnehvi import QNoisyHypervolume
    except ImportError:
        raise MissingPackageError("BoTorch", "botorch") from None
    return QNoisyHypervolume
