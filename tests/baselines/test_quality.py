"""Every baseline is better than chance on NAS-Bench-201."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from nasgoat import benchmark, make_method, run
from nasgoat.experiments import read_experiment
from nasgoat.search_methods import find_own_batch, is_available, methods

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
#: Ours has its own benchmark; the other packages' optimisers need not beat anything.
OTHERS = ("goat", "random", "tpe", "optuna-gp", "smac")
BASELINES = [name for name in methods() if name not in OTHERS]
#: A run of 160 evaluations takes over a minute.
LONG = ["bohamiann"]
#: Quick ones are also in the default test run, with fewer seeds and evaluations.
QUICK = ["evolution", "local-search"]


@lru_cache
def mean_regret(name: str, seeds: int, evaluations: int) -> float:
    """Mean over seeds of the regret of the best graph found on CIFAR-10."""
    table = benchmark("nb201/cifar10")
    regrets = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        method = make_method(name, table.space, seed=seed, evaluations=evaluations)
        batch = find_own_batch(name)
        result = run(method, lambda graph: table.query(graph, rng), evaluations, batch)  # noqa: B023
        regrets.append(result.best.error - table.optimum)
    return float(np.mean(regrets))


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_beats_random_in_the_mean_over_20_seeds(name: str) -> None:
    if not is_available(name):
        pytest.skip(f"the package that {name} needs is not installed")
    evaluations = 80 if name in LONG else 160
    assert mean_regret(name, 20, evaluations) < mean_regret("random", 20, evaluations)


def recorded(experiment: str, name: str) -> dict[int, float]:
    """Regret by seed in the records of our comparisons."""
    return {
        run["seed"]: run["regret"]
        for run in read_experiment(EXPERIMENTS / experiment).runs
        if (run["method"], run["benchmark"], run["noisy"]) == (name, "nb201/cifar10", False)
    }


@pytest.mark.parametrize("name", BASELINES)
def test_recorded_runs_of_20_seeds_beat_random(name: str) -> None:
    for experiment in ("compare", "compare-80"):
        found, random = recorded(experiment, name), recorded(experiment, "random")
        if len(found) >= 20 and set(found) == set(random):
            assert np.mean(list(found.values())) < np.mean(list(random.values()))
            return
    pytest.skip(f"20 seeds of {name} are not recorded yet; run nasgoat compare")


@pytest.mark.parametrize("name", QUICK)
def test_quick_methods_beat_random(name: str) -> None:
    assert mean_regret(name, 5, 100) < mean_regret("random", 5, 100)


def test_a_surrogate_beats_random_on_one_seed() -> None:
    assert mean_regret("nas-bowl", 1, 50) < mean_regret("random", 1, 50)
