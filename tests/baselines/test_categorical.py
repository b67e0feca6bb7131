from __future__ import annotations

import numpy as np
import pytest

from nasgoat import nasbench101, nasbench201
from nasgoat.baselines.categorical import CategoricalSpace
from nasgoat.spaces import ChainSpace, SearchSpace

CHAINS = ChainSpace((2, 5), ["conv", "pool"])


@pytest.mark.parametrize(
    "space", [nasbench101(), nasbench201(), CHAINS], ids=["nodes", "edges", "chains"]
)
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


def test_a_chain_has_one_parameter_for_each_layer() -> None:
    fixed = CategoricalSpace(ChainSpace(3, ["conv", "pool"])).parameters
    assert fixed == dict.fromkeys(["0>1", "1>2", "2>3"], ("conv", "pool"))
    encoded = CategoricalSpace(CHAINS)
    assert list(encoded.parameters) == ["0>1", "1>2", "2>3", "3>4", "4>5"]
    short = {"0>1": "conv", "1>2": "pool", "2>3": "none", "3>4": "none", "4>5": "none"}
    assert encoded.decode(short) == CHAINS.from_operations(["conv", "pool"])
    assert encoded.decode({**short, "4>5": "conv"}) is None  # a gap
    assert encoded.decode({**short, "1>2": "none"}) is None  # too short


def test_a_layer_offers_its_own_operations_alone() -> None:
    space = ChainSpace((1, 3), ["a", "b", "c"], layer_ops={0: ["b"], 2: ["a", "c"]})
    assert CategoricalSpace(space).parameters == {
        "0>1": ("none", "b"),
        "1>2": ("none", "a", "b", "c"),
        "2>3": ("none", "a", "c"),
    }
    fixed = ChainSpace(1, ["a", "b"], layer_ops={0: ["b"]})
    assert CategoricalSpace(fixed).parameters == {"0>1": ("b",)}
