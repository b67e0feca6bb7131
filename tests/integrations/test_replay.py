"""An optimiser that keeps up with a study knows what a fresh one would be told."""

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from nasgoat import LabeledGraph, nasbench201
from nasgoat.bayesopt import CurveOptimizer as Optimizer
from nasgoat.integrations.replay import Replay

SPACE = nasbench201()
CELLS = SPACE.sample(9, np.random.default_rng(0))


def trial(number: int, value: float | None, state: TrialState = TrialState.COMPLETE) -> FrozenTrial:
    made = optuna.trial.create_trial(state=state, value=value)
    made.number = number
    return made


def cell_of(trial: FrozenTrial) -> LabeledGraph:
    return CELLS[trial.number]


@pytest.fixture
def counted() -> list[Optimizer]:
    return []


@pytest.fixture
def replay(counted: list[Optimizer]) -> Replay:
    def make() -> Optimizer:
        counted.append(Optimizer(SPACE, initial=1))
        return counted[-1]

    return Replay(make, cell_of)


def test_a_finished_trial_is_told_once(replay: Replay, counted: list[Optimizer]) -> None:
    trials = [trial(i, float(i)) for i in range(4)]
    tell: Callable[..., None] = Optimizer.tell
    with patch.object(Optimizer, "tell", autospec=True, side_effect=tell) as told:
        for known in range(5):
            asker = replay.catch_up(trials[:known], 1.0)
            assert asker.observations == [(CELLS[i], float(i)) for i in range(known)]
    assert told.call_count == 4
    assert len(counted) == 1


def test_a_trial_that_ends_late_is_told_in_its_place(replay: Replay) -> None:
    late = trial(1, None, TrialState.RUNNING)
    asker = replay.catch_up([trial(0, 3.0), late, trial(2, 5.0)], 1.0)
    assert asker.pending == [CELLS[1]]
    asker = replay.catch_up([trial(0, 3.0), trial(1, 4.0), trial(2, 5.0)], 1.0)
    assert asker.observations == [(CELLS[i], 3.0 + i) for i in range(3)]
    assert asker.pending == []


def test_another_study_begins_anew(replay: Replay) -> None:
    replay.catch_up([trial(0, 3.0), trial(1, 4.0)], 1.0)
    assert replay.catch_up([trial(0, 7.0)], -1.0).observations == [(CELLS[0], -7.0)]


def test_failed_and_infinite_values_are_not_learnt(replay: Replay) -> None:
    failed = trial(1, None, TrialState.FAIL)
    asker = replay.catch_up([trial(0, float("inf")), failed, trial(2, 1.0)], 1.0)
    assert asker.observations == [(CELLS[2], 1.0)]
    asked = {proposal.graph for proposal in asker.ask(20)}
    assert not asked & set(CELLS[:3])


def test_what_was_asked_and_never_tried_may_be_proposed_again(replay: Replay) -> None:
    trials = [trial(i, float(i)) for i in range(3)]
    first, second = (
        [proposal.graph for proposal in replay.catch_up(trials, 1.0).ask(2)] for _ in range(2)
    )
    assert first == second
