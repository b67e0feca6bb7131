"""For Optuna: ``GoatSampler`` proposes graphs.

The sampler holds no state of its own that matters: before each proposal it reads the study's
trials, so several threads, processes or machines can share one study. A proposal is claimed under a
lock before it is handed out, so no two trials get the same graph.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from nasgoat.acquisition import AcquisitionOptimizer, Certificate, Proposal, Status
from nasgoat.bayesopt import CurveOptimizer, Objectives, Optimizer, Settings
from nasgoat.bayesopt.objectives import MOST_OBJECTIVES
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations.locks import make_claim_lock, take_turn
from nasgoat.integrations.replay import Replay, name_values
from nasgoat.integrations.trial_graphs import (
    GraphParameters,
    TrialGraphs,
    say_unused,
    write_claim,
)
from nasgoat.spaces import SearchSpace, load_space

logger = logging.getLogger(__name__)

_ROUNDS = 20  # proposals that others claimed first, before a random graph is taken
_QUICK = 0.5  # seconds for a proposal that others can wait for


@dataclass(eq=False, repr=False)
class GoatSampler(BaseSampler):
    """Proposes the graph of an Optuna trial; other parameters go to an inner sampler.

    A study may have up to three directions; its trials then cover the front. A trial that a pruner
    stopped teaches by what it reported. Without ``settings`` the kernel is the one that suits the
    space (:meth:`Settings.choose_kernel`).

    Args:
        space: The space of graphs, or its name as for :func:`~nasgoat.load_space`.
        settings, optimizer, initial: As for :class:`~nasgoat.Optimizer`.
        batch: Proposals to compute at a time; the next trials get them without a new fit.
        seed: Seed of everything random here.
        inner: Samples what is not a graph; Optuna's TPE by default.
        name: Name of the graph's parameter.

    Example:
        >>> import optuna
        >>> from nasgoat import nasbench201, suggest_graph
        >>> study = optuna.create_study(sampler=GoatSampler(nasbench201(), initial=3))
        >>> trial = study.ask()
        >>> suggest_graph(trial, nasbench201()) in nasbench201()
        True
    """

    space: SearchSpace | str
    settings: Settings | None = None
    optimizer: str | AcquisitionOptimizer = "auto"
    initial: int = 10
    batch: int = 1
    seed: int = 0
    inner: BaseSampler | None = None
    name: str = "graph"

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise SettingError(f"batch must be at least 1, got {self.batch}")
        self._space = self.space = load_space(self.space)
        self._kernel_is_open, self._asked = self.settings is None, self.optimizer
        self._settings = self.settings = self.settings or Settings()
        self._own_inner = self.inner is None
        self._inner = self.inner = self.inner or TPESampler(seed=self.seed)
        self._alone: set[tuple[str, int]] = set()  # studies without other relative parameters
        self.parameters = GraphParameters(self._space, self.name)
        self._graphs = TrialGraphs(self.parameters)
        self._pool: list[Proposal] = []
        self._own = threading.local()  # each thread's optimiser
        self._seconds = math.inf  # of the last proposals

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The graph's parameters, and the inner sampler's."""
        ours = self.parameters.distributions
        if (study.study_name, study._study_id) in self._alone:
            return ours
        inner = self._inner.infer_relative_search_space(study, trial)
        if self._own_inner and inner and inner.keys() <= ours.keys():
            # What all complete trials have in common only shrinks: no need to read them again.
            self._alone.add((study.study_name, study._study_id))
        return {**inner, **ours}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """A proposal's parameters, and the inner sampler's."""
        ours = self.parameters.distributions
        others = {name: d for name, d in search_space.items() if ours.get(name) != d}
        values = self._inner.sample_relative(study, trial, others) if others else {}
        for name, distribution in others.items():
            if name not in values:
                values[name] = self._inner.sample_independent(study, trial, name, distribution)
        if all(search_space.get(name) == distribution for name, distribution in ours.items()):
            values |= self.parameters.encode(self._claim_graph(study, trial))
        return values

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: Any
    ) -> Any:
        """A parameter that is not the graph's, from the inner sampler."""
        return self._inner.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Reseed the inner sampler; proposals of graphs follow from the study alone."""
        self._inner.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Refuse a study of too many directions, and pass on to the inner sampler.

        Raises:
            SettingError: If the study has more than three; the trial has then failed.
        """
        if (count := len(study.directions)) > MOST_OBJECTIVES:
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            raise SettingError(
                f"a study of GoatSampler must have one to {MOST_OBJECTIVES} directions, got {count}"
            )
        self._inner.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Say which enqueued values nobody asked for, and pass on to the inner sampler."""
        if state is TrialState.COMPLETE:
            say_unused(trial)
        self._inner.after_trial(study, trial, state, values)

    def __getstate__(self) -> dict[str, Any]:
        """Without the catalogue, which every process loads for itself."""
        named = self.optimizer if isinstance(self.optimizer, str) else self.optimizer.name
        state = {**self.__dict__, "optimizer": named, "_pool": []}
        del state["_own"], state["_graphs"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._own, self._graphs = threading.local(), TrialGraphs(self.parameters)

    def _claim_graph(self, study: Study, trial: FrozenTrial) -> LabeledGraph:
        """A graph that no other trial has, or one to repeat; kept before anybody sees it."""
        storage = study._storage
        key, lock = (id(storage), study.study_name), make_claim_lock(storage, study.study_name)
        for _ in range(_ROUNDS):
            # Others wait for a quick proposal: none computes the same, and trials are read once.
            quick = not self._pool and self._seconds < _QUICK
            proposals = self._pool if self._pool or quick else self._compute_proposals(study, trial)
            with take_turn(key, lock):
                proposals = self._compute_proposals(study, trial) if quick else proposals
                taken = set() if quick else self._list_taken(study, trial)
                for i, proposal in enumerate(proposals):
                    again = proposal.certificate.status is Status.REPEAT
                    if again or self._space.key(proposal.graph) not in taken:
                        write_claim(storage, trial, proposal)
                        self._pool = proposals[i + 1 :]
                        return proposal.graph
            self._pool = []
            if not proposals:
                break
        return self._draw_any_graph(study, trial)

    def _compute_proposals(self, study: Study, trial: FrozenTrial) -> list[Proposal]:
        """Fresh proposals; no error may leave a sampler, or the trial stays running for ever."""
        start = time.monotonic()
        try:
            proposals = self._make_asker(study, trial).ask(self.batch)
        except Exception:
            logger.exception("no proposal could be computed; a random graph is taken")
            return []
        if any(p.certificate.status.optimized for p in proposals):
            self._seconds = time.monotonic() - start
        return proposals

    def _make_asker(self, study: Study, trial: FrozenTrial) -> Optimizer:
        """An optimiser that knows all trials of the study; each thread has its own."""
        signs = [-1.0 if d is StudyDirection.MAXIMIZE else 1.0 for d in study.directions]
        replays: dict[int, Replay] = self._own.__dict__.setdefault("replays", {})
        if len(signs) not in replays:
            fresh = partial(self._make_fresh, Objectives.of(name_values(len(signs))))
            replays[len(signs)] = Replay(fresh, self._graphs.find)
        return replays[len(signs)].catch_up(_list_others(study, trial), *signs)

    def _make_fresh(self, objectives: Objectives) -> CurveOptimizer:
        """An optimiser that knows nothing yet."""
        settings = self._settings
        if self._kernel_is_open:
            terms = objectives.plain, False, objectives.pair
            settings = settings.choose_kernel(self._space, self._asked, *terms)
        settings = settings.adapt_to(objectives, self._space, self.optimizer)
        self.optimizer = settings.find_optimizer(self.optimizer, self._space)
        given = (settings, self.optimizer, self.initial, self.seed)
        return CurveOptimizer(self._space, *given, minimise=objectives)

    def _list_taken(self, study: Study, trial: FrozenTrial) -> set[bytes]:
        graphs = map(self._graphs.find, _list_others(study, trial))
        return {self._graphs.keys[graph] for graph in graphs if graph is not None}

    def _draw_any_graph(self, study: Study, trial: FrozenTrial) -> LabeledGraph:
        """A random graph, new if there is one; ends ``optimize`` if the space is used up."""
        rng = np.random.default_rng([self.seed, trial.number])
        fresh = self._space.sample(1, rng, self._list_taken(study, trial))
        if not fresh:
            logger.warning("every graph of the space has been evaluated")
            try:
                study.stop()
            except RuntimeError:  # not inside optimize: the caller decides
                logger.info("the caller asks and tells, it goes on")
        graph = (fresh or self._space.sample(1, rng))[0]
        write_claim(study._storage, trial, Proposal(graph, Certificate(Status.HEURISTIC)))
        return graph


def _list_others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    """The trials of a study but this one, in the order of their numbers."""
    return [t for t in study.get_trials(deepcopy=False) if t.number != trial.number]
