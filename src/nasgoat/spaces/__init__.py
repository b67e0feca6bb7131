"""Search spaces: sets of labelled graphs that can be sampled, walked, counted and listed."""

from nasgoat.spaces.cell_space import CellSpace
from nasgoat.spaces.darts_like import DartsSpace
from nasgoat.spaces.edge_labeled import EdgeLabeledSpace
from nasgoat.spaces.graph_space import GraphSpace
from nasgoat.spaces.indexed import ChainSpace, IndexedSpace
from nasgoat.spaces.label_sites import INPUT, OUTPUT
from nasgoat.spaces.limits import EdgeRow, Limit
from nasgoat.spaces.names import Names
from nasgoat.spaces.node_labeled import NodeLabeledSpace
from nasgoat.spaces.presets import (
    darts,
    load_space,
    molecules,
    nasbench101,
    nasbench201,
    nasbench_graph,
    preset,
    preset_names,
    register_family,
    register_space,
)
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.spaces.toml_file import (
    declared_space,
    parse_space,
    to_toml,
)

__all__ = [
    "INPUT",
    "OUTPUT",
    "CellSpace",
    "ChainSpace",
    "DartsSpace",
    "EdgeLabeledSpace",
    "EdgeRow",
    "GraphSpace",
    "IndexedSpace",
    "Limit",
    "Names",
    "NodeLabeledSpace",
    "SearchSpace",
    "darts",
    "declared_space",
    "load_space",
    "molecules",
    "nasbench101",
    "nasbench201",
    "nasbench_graph",
    "parse_space",
    "preset",
    "preset_names",
    "register_family",
    "register_space",
    "to_toml",
]
