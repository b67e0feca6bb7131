"""Cells as PyTorch networks."""

import numpy as np
import pytest

from nasgoat.errors import GraphError, UnknownNameError
from nasgoat.export import to_torch
from nasgoat.graphs import LabeledGraph
from nasgoat.spaces import ChainSpace, SearchSpace, nasbench101, nasbench201

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install nasgoat[neural]")


@pytest.mark.parametrize("space", [nasbench101(), nasbench201()])
def test_every_cell_becomes_a_network_that_learns(space: SearchSpace) -> None:
    images = torch.rand(4, 1, 8, 8)
    for cell in space.sample(8, np.random.default_rng(0)):
        network = to_torch(cell, in_channels=1, channels=4, cells=2)
        scores = network(images)
        assert scores.shape == (4, 10)
        scores.sum().backward()
        assert all(p.grad is not None for p in list(network.parameters())[-2:])


def test_isomorphic_cells_have_networks_of_equal_size() -> None:
    cell = nasbench101().sample(1, np.random.default_rng(3))[0]
    order = [0, *reversed(range(1, cell.n - 1)), cell.n - 1]
    sizes = {
        sum(p.numel() for p in to_torch(g).parameters()) for g in (cell, cell.relabeled(order))
    }
    assert len(sizes) == 1


def test_unknown_labels_and_other_graphs_are_refused() -> None:
    odd = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "warp", "output"])
    with pytest.raises(UnknownNameError, match="operation must be one of"):
        to_torch(odd)
    network = to_torch(odd, operations={"warp": lambda channels: torch.nn.Identity()})
    assert network(torch.rand(1, 3, 8, 8)).shape == (1, 10)
    with pytest.raises(GraphError, match="either on its nodes or on its edges"):
        to_torch(LabeledGraph.from_edges(2, [(0, 1)]))


def test_a_chain_applies_its_layers_one_after_the_other() -> None:
    space = ChainSpace((2, 4), ["clip", "fill"])
    chain = space.from_operations(["fill", "clip", "fill"])
    operations = {
        "fill": lambda channels: torch.nn.Threshold(float("inf"), -2.0),  # all become -2
        "clip": lambda channels: torch.nn.ReLU(),  # negative ones become 0
    }
    cell = list(to_torch(chain, channels=4, cells=1, operations=operations).children())[2]
    images = torch.rand(2, 4, 8, 8)
    torch.testing.assert_close(cell(images), torch.full_like(images, -2.0))
    shorter = space.from_operations(["fill", "clip"])
    cell = list(to_torch(shorter, channels=4, cells=1, operations=operations).children())[2]
    torch.testing.assert_close(cell(images), torch.zeros_like(images))


def test_descending_edges_are_refused_where_nodes_have_no_labels() -> None:
    backward = LabeledGraph.from_edges(3, [(0, 2), (2, 1)], edge_labels=["conv3x3"] * 2)
    with pytest.raises(GraphError, match="must ascend, got 2 -> 1"):
        to_torch(backward)
