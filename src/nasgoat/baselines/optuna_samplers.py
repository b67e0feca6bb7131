"""Optuna's samplers over the categorical encoding, with their defaults.

What a user of Optuna gets without telling it of graphs: the tree-structured Parzen estimator
(``TPESampler``) and the Gaussian process (``GPSampler``, needs PyTorch).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState, create_trial

from nasgoat.acquisition import Proposal
from nasgoat.baselines.categorical import CategoricalSearch, Question


class OptunaTpe(CategoricalSearch):
    """Optuna's tree-structured Parzen estimator.

    Example:
        >>> from nasgoat import nasbench201
        >>> from nasgoat.baselines.method import Setup
        >>> method = OptunaTpe(Setup(nasbench201(), initial=5))
        >>> for proposal in method.ask(5):
        ...     method.tell(proposal.graph, error=5.0 + len(proposal.graph.edges))
        >>> len(method.ask(1))
        1
    """

    sampler: ClassVar[Callable[..., optuna.samplers.BaseSampler]] = optuna.samplers.TPESampler

    tries: ClassVar[int] = 50
    #: Whether an infeasible choice is told the worst error so far, or as a pruned trial.
    infeasible_is_worst: ClassVar[bool] = False

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            with warnings.catch_warnings():
                # GPSampler announces that it is experimental; there is nothing to do about it.
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                study = self._study(int(rng.integers(2**31)))
                return self._collect(k, taken, rng, lambda: self._question(study))
        finally:
            optuna.logging.set_verbosity(level)

    @property
    def _distributions(self) -> dict[str, CategoricalDistribution]:
        choices = self.encoded.parameters.items()
        return {name: CategoricalDistribution(values) for name, values in choices}

    def _study(self, seed: int) -> optuna.Study:
        """A study that holds every observation."""
        study = optuna.create_study(sampler=type(self).sampler(seed=seed))
        for graph, error in zip(*self._data(), strict=True):
            params = self.encoded.encode(graph)
            study.add_trial(
                create_trial(
                    params=params, distributions=dict(self._distributions), value=float(error)
                )
            )
        return study

    def _question(self, study: optuna.Study) -> Question:
        trial = study.ask(dict(self._distributions))

        def answer(error: float | None) -> None:
            if error is None and self.infeasible_is_worst:
                error = max(self._errors)
            if error is None:
                study.tell(trial, state=TrialState.PRUNED)
            else:
                study.tell(trial, error)

        return trial.params, answer


class OptunaGp(OptunaTpe):
    """Optuna's Gaussian process sampler.

    It takes no notice of pruned trials and would suggest the same infeasible choice for ever, so
    that infeasible choices are told the worst error.
    """

    tries: ClassVar[int] = 1
    infeasible_is_worst: ClassVar[bool] = True
    sampler: ClassVar[Callable[..., optuna.samplers.BaseSampler]] = optuna.samplers.GPSampler
