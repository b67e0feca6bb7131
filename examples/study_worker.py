"""One of many processes, on one machine or on a hundred, that share a study.

    python -m examples.study_worker --study cells --space nb201 --objective examples.cifar10:train

Each takes the next graph, evaluates it and looks again, until the study has so many results. The
study is in the database that ``NASGOAT_STORAGE`` names. A process that dies leaves a trial behind;
the others notice that its heartbeat has stopped, and one of them evaluates the graph once more.
"""

from __future__ import annotations

import argparse
import os
import warnings

import optuna

from nasgoat import GoatSampler, load_space, suggest_graph
from nasgoat.evaluation import Isolated
from nasgoat.integrations import StorageAddress
from nasgoat.integrations.storages import write_persistently

HEARTBEAT = int(os.environ.get("HEARTBEAT", "60"))  # seconds


def repeat_once(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
    """Have the graph of a process that died evaluated by the next that is free, but only once."""
    if trial.params and not trial.user_attrs.get("repeated"):
        study.enqueue_trial(trial.params, user_attrs={"repeated": True})


def work(study_name: str, space_name: str, objective: str, evaluations: int) -> None:
    """Evaluate graphs until the study has so many results."""
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # the heartbeat
    space = load_space(space_name)
    address = StorageAddress.of(os.environ["NASGOAT_STORAGE"])
    storage = write_persistently(  # processes that begin together all try to make the tables
        lambda: optuna.storages.RDBStorage(
            address.full, heartbeat_interval=HEARTBEAT, heartbeat_stale_trial_callback=repeat_once
        )
    )
    evaluator = Isolated(objective)  # a crash costs one evaluation, not this process
    evaluator.check()

    def evaluate(trial: optuna.Trial) -> float:
        trial.set_user_attr("task", os.environ.get("SLURM_ARRAY_TASK_ID", ""))
        outcome = evaluator(suggest_graph(trial, space), trial.number)
        if outcome.metrics is None:
            raise RuntimeError(outcome.failure and outcome.failure.reason)
        for name, value in outcome.metrics.items():
            trial.set_user_attr(name, value)
        return float(outcome.metrics["error"])

    study = optuna.create_study(
        storage=storage, study_name=study_name, sampler=GoatSampler(space), load_if_exists=True
    )
    complete = (optuna.trial.TrialState.COMPLETE,)
    enough = optuna.study.MaxTrialsCallback(evaluations, complete)
    if len(study.get_trials(deepcopy=False, states=complete)) < evaluations:
        study.optimize(evaluate, callbacks=[enough], catch=(RuntimeError,))


def main() -> None:
    """Read the arguments and work."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--space", required=True)
    parser.add_argument("--objective", required=True)
    parser.add_argument("--evaluations", type=int, default=160)
    given = parser.parse_args()
    work(given.study, given.space, given.objective, given.evaluations)


if __name__ == "__main__":
    main()
