"""Search spaces: sets of labelled graphs that can be sampled, walked, counted and listed."""

from nasgoat.spaces.edge_labeled import EdgeLabeledSpace
from nasgoat.spaces.node_labeled import INPUT, OUTPUT, NodeLabeledSpace
from nasgoat.spaces.presets import nasbench101, nasbench201, preset, preset_names
from nasgoat.spaces.search_space import SearchSpace

__all__ = [
    "INPUT",
    "OUTPUT",
    "EdgeLabeledSpace",
    "NodeLabeledSpace",
    "SearchSpace",
    "nasbench101",
    "nasbench201",
    "preset",
    "preset_names",
]
