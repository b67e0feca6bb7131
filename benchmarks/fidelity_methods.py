"""Searches over tables with trainings of several lengths: ours, and those of others.

Each yields what it has spent so far, in full trainings, and the error of the full training that it
has just paid for. A training of a cell that was paid for before costs nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import optuna
from benchmarks.fidelity_tables import NasBench201Task, Task, find_task

from nasgoat import Optimizer, Settings
from nasgoat.bayesopt import FidelityOptimizer
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate import Source

CAP = 160.0
GIVE_UP = 100.0  # of searches with short trainings: one that spends that much is a miss
DATASETS = ("cifar10", "cifar100", "imagenet16-120")
CROWD = 16  # short trainings for each full one, about: 200 / 12 epochs
EDGES, OPERATIONS = 6, 5  # of NAS-Bench-201
PAPER = Settings(kernel="exponential")  # one kernel, with the paper's blocks

Steps = Iterator[tuple[float, float]]


def search_fidelities(task: Task, seed: int) -> Steps:
    """Ours with trainings of all lengths."""
    asker = FidelityOptimizer(
        task.space,
        task.fidelities,
        min(GIVE_UP, task.most),
        optimizer=task.cells,
        seed=seed,
        progress=None,
    )
    cost = 0.0
    while proposals := asker.ask(10 if cost == 0 else 5):
        for proposal in proposals:
            at = proposal.fidelity or asker.fidelities[-1]
            cost += at.cost
            found = task.error(proposal.graph, int(at.value))
            asker.tell(proposal.graph, found, at)
            if at.full:
                yield cost, found


def search_full(
    task: Task, seed: int, transfer: tuple[Source, ...] = (), settings: Settings | None = PAPER
) -> Steps:
    """Ours with full trainings only."""
    asker = Optimizer(
        task.space, settings, optimizer=task.cells, seed=seed, progress=None, transfer=transfer
    )
    cost = 0.0
    while cost < task.most:
        for proposal in asker.ask(10 if cost == 0 else 5):
            cost += 1
            found = task.error(proposal.graph)
            asker.tell(proposal.graph, found)
            yield cost, found


def search_halving(task: Task, seed: int) -> Steps:
    """Random cells at the lowest fidelity, the best of each 16 in full."""
    rng, cost, seen = np.random.default_rng(seed), 0.0, set[bytes]()
    while cost < task.most:
        cells = task.space.sample(CROWD, rng, seen)
        seen |= {task.space.key(cell) for cell in cells}
        best = min(cells, key=lambda cell: task.error(cell, task.lengths[0]))
        cost += 1 + task.costs[0] * len(cells)
        yield cost, task.error(best)


class Trainings:
    """Errors of NAS-Bench-201 by the place of a cell, and what they have cost."""

    def __init__(self, task: NasBench201Task) -> None:
        self._errors = {e: np.nanmean(t.errors, axis=1) for e, t in task.tables.items()}
        self._paid: set[tuple[int, int]] = set()
        self.cost = 0.0

    def train(self, digits: list[int], epochs: int) -> float:
        """The error of a cell after so many epochs."""
        place = int(np.array(digits) @ OPERATIONS ** np.arange(EDGES)[::-1])
        if (place, epochs) not in self._paid:
            self._paid.add((place, epochs))
            self.cost += epochs / 200
        return float(self._errors[epochs][place])


def search_tpe(task: NasBench201Task, seed: int, pruner: optuna.pruners.BasePruner) -> Steps:
    """Optuna's TPE on one operation for each edge, pruned after 12 epochs."""
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
    study = optuna.create_study(sampler=sampler, pruner=pruner)
    trainings = Trainings(task)
    for _ in range(4000):
        if trainings.cost >= CAP:
            return
        trial = study.ask()
        digits = [trial.suggest_categorical(f"edge{i}", range(OPERATIONS)) for i in range(EDGES)]
        trial.report(trainings.train(digits, 12), 12)
        if trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        found = trainings.train(digits, 200)
        study.tell(trial, found)
        yield trainings.cost, found


def search_smac(task: NasBench201Task, seed: int) -> Steps:
    """SMAC's multi-fidelity facade: Hyperband of 12 and 200 epochs under a random forest."""
    from ConfigSpace import Categorical, ConfigurationSpace
    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    names = [f"edge{i}" for i in range(EDGES)]
    cells = ConfigurationSpace(seed=seed)
    cells.add([Categorical(name, list(range(OPERATIONS))) for name in names])
    trainings = Trainings(task)
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            cells,
            deterministic=True,
            n_trials=10_000,
            min_budget=200 / CROWD,
            max_budget=200,
            seed=seed,
            output_directory=Path(folder),
        )
        smac = MultiFidelityFacade(
            scenario,
            lambda config, seed, budget: 0.0,  # asked and told instead
            intensifier=MultiFidelityFacade.get_intensifier(scenario, eta=CROWD),
            logging_level=40,
            overwrite=True,
        )
        while trainings.cost < GIVE_UP:
            info = smac.ask()
            epochs = 200 if info.budget == 200 else 12
            found = trainings.train([int(info.config[name]) for name in names], epochs)
            smac.tell(info, TrialValue(cost=found))
            if epochs == 200:
                yield trainings.cost, found


@cache
def search_before(dataset: str, seed: int) -> tuple[list[LabeledGraph], list[float]]:
    """What an earlier search of 160 evaluations on a data set has seen."""
    task = find_task(dataset)
    asker = Optimizer(task.space, PAPER, optimizer=task.cells, seed=seed + 5000, progress=None)
    while len(asker.observations) < CAP:
        for proposal in asker.ask(10 if not asker.observations else 5):
            asker.tell(proposal.graph, task.error(proposal.graph))
    graphs, errors = zip(*asker.observations, strict=True)
    return list(graphs), list(errors)


def search_transferred(task: Task, seed: int, source: str, how: str) -> Steps:
    """Ours with another data set's run to learn from, or what is best there."""
    graphs, errors = search_before(source, seed)
    if how == "best":
        for place, i in enumerate(np.argsort(errors), start=1):
            yield place, task.error(graphs[i])
        return
    if how == "shuffled":
        errors = np.random.default_rng(seed).permutation(errors).tolist()
    yield from search_full(task, seed, (Source(source, graphs, errors),))


def list_methods(name: str) -> dict[str, Callable[[int], Steps]]:
    """Every method on a table, by name."""
    task = find_task(name)
    methods: dict[str, Callable[[int], Steps]] = {
        "fidelities": partial(search_fidelities, task),
        "default": partial(search_full, task, settings=None),
        "full": partial(search_full, task),
        "halving": partial(search_halving, task),
    }
    if not isinstance(task, NasBench201Task):
        return methods
    hyperband = optuna.pruners.HyperbandPruner(12, 200, reduction_factor=4)
    halving = optuna.pruners.SuccessiveHalvingPruner(12, reduction_factor=4)
    methods["tpe-hyperband"] = partial(search_tpe, task, pruner=hyperband)
    methods["tpe-halving"] = partial(search_tpe, task, pruner=halving)
    methods["smac"] = partial(search_smac, task)
    for source in DATASETS:
        for how in ("from", "shuffled", "best") if source != name else ():
            methods[f"{how}-{source}"] = partial(search_transferred, task, source=source, how=how)
    return methods
