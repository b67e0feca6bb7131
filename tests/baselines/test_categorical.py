from __future__ import annotations

import numpy as np
import pytest

from nasgoat import nasbench101, nasbench201
from nasgoat.baselines.categorical import CategoricalSpace
from nasgoat.spaces import SearchSpace


@pytest.mark.parametrize("space", [nasbench101(), nasbench201()], ids=["nodes", "edges"])
def test_every_graph_comes_back(space: SearchSpace) -> None:
    encoded = CategoricalSpace(space)
    for graph in space.sample(50, np.random.default_rng(0)):
        decoded = encoded.decode(encoded.encode(graph))
        assert decoded is not None
        assert space.key(decoded) == space.key(graph)


def test_parameters_of_nasbench101_are_edges_and_operations() -> None:
    parameters = CategoricalSpace(nasbench101()).parameters
    assert len(parameters) == 21 + 5
    assert parameters["0>6"] == ("none", "edge")
    assert parameters["node 3"] == ("conv3x3", "conv1x1", "maxpool3x3")


def test_choices_outside_the_space_are_no_graph() -> None:
    encoded = CategoricalSpace(nasbench101())
    nothing = {name: choices[0] for name, choices in encoded.parameters.items()}
    everything = {name: choices[-1] for name, choices in encoded.parameters.items()}
    assert encoded.decode(nothing) is None  # no path from input to output
    assert encoded.decode(everything) is None  # more than nine edges
