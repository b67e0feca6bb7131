"""Search spaces: sets of labelled graphs that can be sampled, walked, counted and listed."""

from nasgoat.spaces.darts_like import DartsSpace
from nasgoat.spaces.edge_labeled import EdgeLabeledSpace
from nasgoat.spaces.indexed import IndexedSpace
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.node_labeled import INPUT, OUTPUT, NodeLabeledSpace
from nasgoat.spaces.presets import darts, nasbench101, nasbench201, preset, preset_names
from nasgoat.spaces.search_space import SearchSpace

__all__ = [
    "INPUT",
    "OUTPUT",
    "DartsSpace",
    "EdgeLabeledSpace",
    "IndexedSpace",
    "Limit",
    "NodeLabeledSpace",
    "SearchSpace",
    "darts",
    "nasbench101",
    "nasbench201",
    "preset",
    "preset_names",
]
