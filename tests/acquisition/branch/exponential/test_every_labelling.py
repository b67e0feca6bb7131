"""Every labelling of a space: means, bounds on deviations, and which graphs they are."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nasgoat import (
    DartsSpace,
    EdgeLabeledSpace,
    GraphGP,
    NodeLabeledSpace,
    ShortestPathKernel,
)
from nasgoat.acquisition import KnownCost
from nasgoat.acquisition.branch.cells.structures import Listing
from nasgoat.acquisition.branch.exponential import several_objectives
from nasgoat.acquisition.branch.exponential.several_objectives import Labellings, note_block
from nasgoat.compiled import ALONE
from nasgoat.spaces import CellSpace
from nasgoat.testing.contract import list_graphs
from tests.acquisition.branch.problems import fitted

ROUNDING = 1e-9  # sums in different orders
SPACES = {
    "nodes": NodeLabeledSpace((2, 5), ["a", "b", "c"], max_edges=6),
    "limited": NodeLabeledSpace((3, 5), ["a", "b"]).constrain("a <= 1", "edges <= 6"),
    "edges": EdgeLabeledSpace(4, ["a", "b"]),
    "darts": DartsSpace(nodes=4, ops=["a", "b"]),
}


def note(space: CellSpace, form: str, t: int) -> tuple[Labellings, GraphGP]:
    gp = fitted(space, ShortestPathKernel(form, 0.7, 0.4, 1.3), t, seed=t)
    (block,) = Listing(space, False).list_blocks()
    noted = note_block(block, gp.features, gp.posterior_, ALONE, None)  # type: ignore[arg-type]
    assert noted is not None
    return Labellings(block, noted), gp


@pytest.mark.parametrize("form", ["exponential", "normalised"])
@pytest.mark.parametrize("t", [3, 60])
@pytest.mark.parametrize("kind", SPACES)
def test_means_are_exact_and_deviations_bounded(kind: str, t: int, form: str) -> None:
    labellings, gp = note(SPACES[kind], form, t)
    noted = labellings.noted
    graphs = [labellings.make_graph(i) for i in range(len(noted.mean))]
    assert {gp.space.key(g) for g in graphs} == {gp.space.key(g) for g in list_graphs(gp.space)}
    mean, std = gp.predict(graphs)
    assert noted.mean == pytest.approx(mean, abs=ROUNDING)
    assert (noted.std >= std).all()
    if t <= several_objectives._EXPLAINING:
        assert noted.std == pytest.approx(std, abs=1e-5)  # the root of what rounding may change


@pytest.mark.parametrize("kind", SPACES)
def test_graphs_as_arrays_are_those_at_their_places(kind: str) -> None:
    labellings, gp = note(SPACES[kind], "exponential", 9)
    places = np.random.default_rng(0).permutation(len(labellings.noted.mean))[:200]
    graphs = [labellings.make_graph(int(place)) for place in places]
    cost = KnownCost.of(gp.space, "edges + 0.5*a + 1")
    mean, std = labellings.measure([cost], places)
    assert mean[0] == pytest.approx(cost.predict(graphs)[0], abs=ROUNDING)
    assert not std.any()
    assert labellings.measure_cost(cost)[places] == pytest.approx(mean[0], abs=ROUNDING)


def test_nothing_is_noted_once_the_time_is_up() -> None:
    space = SPACES["nodes"]
    gp = fitted(space, ShortestPathKernel("exponential"), 5, seed=0)
    (block,) = Listing(space, False).list_blocks()
    asked = block, gp.features, gp.posterior_, ALONE
    assert note_block(*asked, time.perf_counter() - 1.0) is None  # type: ignore[arg-type]
