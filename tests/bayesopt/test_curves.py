"""Trainings that were stopped early teach: steps as sources, and the same search without any."""

import math
from typing import Any

import numpy as np
import pytest

from nasgoat import LabeledGraph, Optimizer, nasbench201
from nasgoat.bayesopt import CurveOptimizer, Settings
from nasgoat.bayesopt.curves import MOST_STEPS, choose_steps
from nasgoat.bayesopt.evidence import EVIDENCE, PATH_CANDIDATES, SOURCED_CANDIDATES
from nasgoat.surrogate import SourcedGP

SPACE = nasbench201()
CELLS = SPACE.sample(30, np.random.default_rng(0))


def error(cell: LabeledGraph) -> float:
    """Cells with many convolutions are good."""
    labels = (cell.edge_labels or {}).values()
    return 20.0 - 2 * sum(label == "nor_conv_3x3" for label in labels) + 0.1 * len(cell.edges)


def curve(cell: LabeledGraph, steps: int) -> dict[int, float]:
    return {step: error(cell) + 30 / step for step in range(1, steps + 1)}


def make() -> CurveOptimizer:
    return CurveOptimizer(SPACE, initial=6, seed=3, progress=None)


def test_without_a_stopped_training_proposals_are_those_of_errors_alone() -> None:
    plain, curves = Optimizer(SPACE, initial=6, seed=3, progress=None), make()
    for _ in range(3):
        asked = plain.ask(3)
        assert [p.graph for p in asked] == [p.graph for p in curves.ask(3)]
        for proposal in asked:
            plain.tell(proposal.graph, error(proposal.graph))
            curves.tell_curve(proposal.graph, curve(proposal.graph, 4), error(proposal.graph))
    assert [p.certificate.value for p in plain.ask(2)] == [
        p.certificate.value for p in curves.ask(2)
    ]
    assert not isinstance(curves.surrogate, SourcedGP)


def test_a_training_observes_every_step_that_it_reached() -> None:
    optimizer = make()
    optimizer.tell_curve(CELLS[0], curve(CELLS[0], 8), error(CELLS[0]))
    optimizer.tell_curve(CELLS[1], curve(CELLS[1], 2))
    optimizer.tell_curve(CELLS[2], {1: 44.0, 4: 33.0})
    optimizer.tell_curve(CELLS[3], {3: 50.0, 7: 40.0}, 39.0)
    full, fourth, second = optimizer.sources
    assert (full.name, fourth.name, second.name) == ("full", "step 4", "step 2")
    assert list(full.graphs) == [CELLS[0], CELLS[3]]
    assert list(zip(fourth.graphs, fourth.errors, strict=True)) == [
        (CELLS[0], error(CELLS[0]) + 7.5),
        (CELLS[2], 33.0),
        (CELLS[3], 50.0),
    ]
    assert list(zip(second.graphs, second.errors, strict=True)) == [
        (CELLS[0], error(CELLS[0]) + 15.0),
        (CELLS[1], error(CELLS[1]) + 15.0),
        (CELLS[2], 44.0),
    ]


def test_stopped_trainings_predict_full_errors() -> None:
    stopped, ignored = make(), make()
    for place, cell in enumerate(CELLS):
        if place < 5:
            stopped.tell_curve(cell, curve(cell, 4), error(cell))
            ignored.tell(cell, error(cell))
        else:
            stopped.tell_curve(cell, curve(cell, 2))
            ignored.tell_failed(cell)
    others = SPACE.sample(200, np.random.default_rng(1))
    truth = [error(cell) for cell in others]
    found = {}
    for name, optimizer in (("stopped", stopped), ("ignored", ignored)):
        optimizer.ask(6)  # what is left of the initial design
        optimizer.ask(1)
        assert optimizer.surrogate is not None
        found[name] = np.corrcoef(optimizer.surrogate.predict(others)[0], truth)[0, 1]
    assert found["stopped"] > 0.9 > found["ignored"]


def test_if_none_went_to_its_end_the_last_step_is_the_target() -> None:
    optimizer = make()
    for cell in CELLS[:12]:
        optimizer.tell_curve(cell, curve(cell, 3))
    asked = optimizer.ask(7)
    assert asked[-1].certificate.certified
    assert isinstance(optimizer.surrogate, SourcedGP)
    assert [source.name for source in optimizer.surrogate.sources_] == ["step 3"]


def test_a_stopped_graph_is_not_proposed_again_and_counts_in_the_portfolio() -> None:
    optimizer = make()
    for place, cell in enumerate(CELLS):
        optimizer.tell_curve(cell, curve(cell, 3), error(cell) if place < 8 else None)
    asked = {SPACE.key(proposal.graph) for proposal in optimizer.ask(12)}
    assert not asked & {SPACE.key(cell) for cell in CELLS}
    assert optimizer._count_proposed() == len(CELLS) + 12


@pytest.mark.parametrize("values", [{}, {1: math.nan}, {2: math.inf}])
def test_a_training_without_a_number_teaches_nothing(values: dict[int, float]) -> None:
    optimizer = make()
    optimizer.tell_curve(CELLS[0], values)
    assert optimizer.sources == ()
    assert SPACE.key(CELLS[0]) not in {SPACE.key(p.graph) for p in optimizer.ask(6)}


def test_steps_are_few_and_keep_the_first_and_the_last() -> None:
    stopped = np.random.default_rng(0).integers(3, 90, 50).tolist()
    steps = choose_steps(stopped)
    assert len(steps) == MOST_STEPS
    assert (steps[0], steps[-1]) == (max(stopped), min(stopped))
    assert choose_steps([7]) == [7]


class TestTheKernelOnceATrainingWasStopped:
    def test_the_evidence_chooses_as_with_short_trainings(self) -> None:
        optimizer = make()
        assert optimizer.candidates == [*PATH_CANDIDATES]
        for cell in CELLS[:4]:
            optimizer.tell_curve(cell, curve(cell, 4), error(cell))
        assert optimizer.candidates == [*PATH_CANDIDATES]
        for cell in CELLS[4:12]:
            optimizer.tell_curve(cell, curve(cell, 2))
        assert optimizer.settings.kernel == EVIDENCE
        assert optimizer.candidates == [*SOURCED_CANDIDATES]
        assert optimizer.ask(7)[-1].certificate.certified

    @pytest.mark.parametrize("options", [{"settings": Settings()}, {"optimizer": "branch"}])
    def test_one_that_was_named_or_that_alone_can_be_minimised_stays(
        self, options: dict[str, Any]
    ) -> None:
        optimizer = CurveOptimizer(SPACE, initial=6, seed=3, progress=None, **options)
        first = optimizer.candidates[0]
        optimizer.tell_curve(CELLS[0], curve(CELLS[0], 2))
        assert optimizer.candidates == [first]  # what stands in is for full trainings alone
