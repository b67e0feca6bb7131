"""The example on scikit-learn's digits: trainings that go on where they stopped."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from examples import digits

from nasgoat import LabeledGraph, search
from nasgoat.spaces import NodeLabeledSpace

CELL = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv3x3", "output"])


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the images, and one cell instead of three."""
    whole = digits.data()
    part = {name: (images[:100], classes[:100]) for name, (images, classes) in whole.items()}
    monkeypatch.setattr(digits, "data", lambda: part)
    monkeypatch.setattr(digits, "CELLS", 1)


def test_a_training_that_goes_on_ends_where_one_without_a_stop_does(tmp_path: Path) -> None:
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    stopped.mkdir()
    whole.mkdir()
    digits.train(CELL, 1, stopped)
    assert digits.train(CELL, 3, stopped) == digits.train(CELL, 3, whole)
    assert digits.train(CELL, 3, stopped) == digits.train(CELL, 3, whole)  # made once, read twice


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[range]:
    """The epochs of each training, as they are made."""
    epochs: list[range] = []
    run = digits.run_epochs

    def note(network: Any, optimizer: Any, given: range, rate: Any) -> None:
        epochs.append(given)
        run(network, optimizer, given, rate)

    monkeypatch.setattr(digits, "run_epochs", note)
    return epochs


def test_it_goes_on_instead_of_beginning_again(tmp_path: Path, trained: list[range]) -> None:
    for length in (1, 3, 2):  # the last is shorter than what was kept: it begins anew
        digits.train(CELL, length, tmp_path)
    assert trained == [range(1), range(1, 3), range(2)]


def test_a_search_over_lengths_trains_each_epoch_once(trained: list[range]) -> None:
    space = NodeLabeledSpace(nodes=(2, 3), ops=["conv3x3", "maxpool3x3"])
    result = search(digits.train, space, 2, initial=3, fidelities="epochs=1,2", progress=None)
    assert trained.count(range(1)) == len(result.partial)
    assert trained.count(range(1, 2)) == len(result.evaluations) > 0
    assert len(trained) == len(result.partial) + len(result.evaluations)
