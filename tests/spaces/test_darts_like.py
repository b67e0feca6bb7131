from __future__ import annotations

import numpy as np
import pytest

from nasgoat import DartsSpace, LabeledGraph, darts
from nasgoat.errors import GraphError, SpaceError, TooLargeError
from nasgoat.kernels import FeatureMap

SMALL = DartsSpace(nodes=5, ops=["conv", "skip"])


def test_a_darts_cell_has_about_a_billion_choices() -> None:
    assert darts().count() == 180 * 7**8
    assert len(darts().listed[6].adjacency) == 180


def test_the_listing_has_every_cell_once() -> None:
    keys = {SMALL.key(cell) for batch in SMALL.enumerate() for cell in batch}
    assert len(keys) == SMALL.count() == SMALL.size_bound() == 1 * 3 * 6 * 2**6
    assert all(cell in SMALL for batch in SMALL.enumerate() for cell in batch)


def test_samples_and_mutations_stay_in_the_space() -> None:
    rng = np.random.default_rng(0)
    for cell in darts().sample(20, rng):
        assert cell in darts()
        mutated = darts().mutate(cell, rng)
        assert mutated in darts()
        assert mutated != cell


def test_neighbours_change_one_operation_or_one_predecessor() -> None:
    cell = SMALL.sample(1, np.random.default_rng(1))[0]
    near = SMALL.neighbours(cell)
    # Six edges with one other operation each; 0 + 1 + 2 free predecessors for two edges each.
    assert len({SMALL.key(graph) for graph in near}) == len(near) == 6 + 2 * (0 + 1 + 2)
    assert all(graph in SMALL for graph in near)


def test_a_node_with_one_predecessor_is_refused() -> None:
    cell = LabeledGraph.from_edges(3, [(0, 2)], edge_labels=["conv"])
    with pytest.raises(GraphError, match="node 2 must have 2 incoming edges, got 1"):
        DartsSpace(nodes=3, ops=["conv"]).check(cell)


def test_more_predecessors_than_inputs_are_refused() -> None:
    with pytest.raises(SpaceError, match="predecessors must be"):
        DartsSpace(nodes=6, ops=["conv"], inputs=2, predecessors=3)


def test_a_billion_cells_are_not_listed() -> None:
    with pytest.raises(TooLargeError, match="1,037,664,180"):
        next(iter(darts().enumerate()))


def test_every_path_type_occurs() -> None:
    features = FeatureMap(SMALL)
    total = sum(features.counts(batch).sum(axis=0) for batch in SMALL.enumerate())
    assert isinstance(total, np.ndarray)
    assert (total[: len(features.path_types)] > 0).all()
