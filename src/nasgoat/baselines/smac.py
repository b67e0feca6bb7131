"""SMAC's hyperparameter facade over the categorical encoding, with its defaults.

Source: Lindauer et al., JMLR 2022: a random forest and expected improvement, optimised by local
search.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace
from joblib import parallel_config
from smac import HyperparameterOptimizationFacade, Scenario
from smac.model.random_forest import RandomForest
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from nasgoat.acquisition import Proposal
from nasgoat.baselines.categorical import CategoricalSearch, Question

_LEAVES = 2**14
logging.getLogger("smac").addHandler(logging.NullHandler())  # else Python prints its warnings


class Smac(CategoricalSearch):
    """SMAC, asked for as many configurations as the batch has.

    SMAC itself fits its forest again after eight evaluations, so a batch of five costs it nothing.
    """

    batch: ClassVar[int] = 5

    def _choose(self, k: int, taken: set[bytes], rng: np.random.Generator) -> list[Proposal]:
        with (
            tempfile.TemporaryDirectory() as folder,
            warnings.catch_warnings(),
            parallel_config("sequential"),  # its threads for ten small trees only wait
        ):
            warnings.simplefilter("ignore")  # SMAC warns of what we ask of it on purpose
            facade = self._make_facade(Path(folder), int(rng.integers(2**31)))
            worst = max(self._errors)
            return self._collect(k, taken, rng, lambda: self._ask_optimizer(facade, worst))

    def _make_facade(self, folder: Path, seed: int) -> Any:
        """A facade that was told every observation."""
        choices = {name: list(values) for name, values in self.encoded.parameters.items()}
        space = ConfigurationSpace(choices, seed=seed)
        scenario = Scenario(
            space, n_trials=10**6, deterministic=True, seed=seed, output_directory=folder
        )
        observed = [
            Configuration(space, values=self.encoded.encode(graph)) for graph in self._data()[0]
        ]
        facade: Any = HyperparameterOptimizationFacade(
            scenario,
            lambda configuration, seed=0: 0.0,
            model=_make_forest(scenario),
            initial_design=HyperparameterOptimizationFacade.get_initial_design(
                scenario, n_configs=0, additional_configs=observed[:1]
            ),
            overwrite=True,
            logging_level=False,
        )
        for configuration, error in zip(observed, self._data()[1], strict=True):
            facade.tell(
                TrialInfo(configuration, seed=seed), TrialValue(cost=float(error)), save=False
            )
        return facade

    def _ask_optimizer(self, facade: Any, worst: float) -> Question:
        info = facade.ask()

        def answer(error: float | None) -> None:
            facade.tell(info, TrialValue(cost=worst if error is None else error), save=False)

        return {name: str(value) for name, value in dict(info.config).items()}, answer


def _make_forest(scenario: Scenario) -> RandomForest:
    """The facade's own forest, with room for fewer leaves.

    SMAC reserves space for a million leaves in every tree, which takes longer than to grow it.
    Trees of this many observations or fewer are the same.
    """
    return RandomForest(
        configspace=scenario.configspace,
        log_y=True,
        n_trees=10,
        ratio_features=1.0,
        min_samples_split=2,
        min_samples_leaf=1,
        max_leaf_nodes=_LEAVES,
        seed=scenario.seed,
    )
