"""What ``GoatSampler`` writes to the trials of a study and learns from them.

A claim says which graph a running trial will have, so that no two trials get the same. A replay
tells an optimiser of each finished trial once, however often it asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState

from nasgoat.acquisition import Proposal
from nasgoat.bayesopt import Optimizer
from nasgoat.graphs import LabeledGraph
from nasgoat.integrations.locks import Lock, make_study_lock
from nasgoat.integrations.storages import StorageAddress

CLAIM = "proposal"  # trial attribute: the graph it was given, before Optuna knows the parameter
_Ended = tuple[int, LabeledGraph, float | None]  # number, graph, value unless it failed


def write_claim(storage: BaseStorage, trial: FrozenTrial, proposal: Proposal) -> None:
    """Keep in a running trial which graph it will have, and its certificate.

    One attribute for both: each costs a commit.
    """
    claim = {"graph": proposal.graph.to_json(), "certificate": proposal.certificate.to_dict()}
    storage.set_trial_user_attr(trial._trial_id, CLAIM, claim)


def read_claimed_graph(trial: FrozenTrial) -> LabeledGraph | None:
    """The graph that a running trial will have; None if it has claimed none."""
    if trial.state is not TrialState.RUNNING or CLAIM not in trial.user_attrs:
        return None
    return LabeledGraph.from_json(trial.user_attrs[CLAIM]["graph"])


def make_claim_lock(storage: BaseStorage, study: str) -> Lock | None:
    """The lock between processes that share a database; None for a storage in memory."""
    backend = getattr(storage, "_backend", storage)
    if not isinstance(backend, RDBStorage):
        return None
    address = StorageAddress(backend.engine.url)
    if address.is_file and address.url.database in (None, "", ":memory:"):
        return None
    return make_study_lock(address, study, "claim")


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
        >>> replay.catch_up([trial], sign=1.0).observations == [(cell, 0.5)]
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

    def catch_up(self, trials: Iterable[FrozenTrial], sign: float) -> Optimizer:
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
