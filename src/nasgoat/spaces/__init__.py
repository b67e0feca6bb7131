"""Search spaces: sets of labelled graphs that can be sampled, walked, counted and listed.

The published ones, from the TOML files beside this module, and those of others, have names.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

from nasgoat.errors import SettingError, SpaceError, SpaceFileError, UnknownNameError
from nasgoat.spaces.cell_space import CellSpace
from nasgoat.spaces.chain import ChainSpace
from nasgoat.spaces.costs import Cost
from nasgoat.spaces.darts_like import DartsSpace
from nasgoat.spaces.edge_labeled import EdgeLabeledSpace, IndexedSpace
from nasgoat.spaces.graph_space import GraphSpace
from nasgoat.spaces.label_sites import INPUT, OUTPUT
from nasgoat.spaces.limits import EdgeRow, Limit
from nasgoat.spaces.names import Names
from nasgoat.spaces.node_labeled import NodeLabeledSpace
from nasgoat.spaces.search_space import SearchSpace
from nasgoat.spaces.several_cells import Cells
from nasgoat.spaces.toml_file import parse_space, read_declared_space, register_family, to_toml
from nasgoat.toml_reader import read_text

__all__ = [
    "INPUT",
    "OUTPUT",
    "CellSpace",
    "Cells",
    "ChainSpace",
    "Cost",
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
    "list_presets",
    "load_space",
    "molecules",
    "nasbench101",
    "nasbench201",
    "nasbench_graph",
    "parse_space",
    "preset",
    "read_declared_space",
    "register_family",
    "register_space",
    "to_toml",
]

_FOLDER = resources.files("nasgoat.spaces").joinpath("declarations")
_ALIASES = {"darts": "darts-normal"}
_ENDING = ".toml"
#: Spaces that others registered.
_OTHERS: dict[str, Callable[[], SearchSpace]] = {}

for _family in (NodeLabeledSpace, EdgeLabeledSpace, DartsSpace, ChainSpace, GraphSpace):
    register_family(_family)


def register_space(name: str, make: Callable[[], SearchSpace]) -> None:
    """Make a space known by a name, in :func:`preset` and on the command line.

    Args:
        name: The name; registering it again replaces the space.
        make: Returns the space.

    Example:
        >>> register_space("small", lambda: NodeLabeledSpace(nodes=(2, 4), ops=["conv", "pool"]))
        >>> preset("small").count()
        43
    """
    if name in _list_published():
        raise SettingError(f"a new space must have a name of its own, got {name!r}")
    _OTHERS[name] = make


def nasbench101() -> NodeLabeledSpace:
    """NAS-Bench-101: up to seven nodes and nine edges, three operations on nodes.

    Source: Ying et al., ICML 2019; 423,624 cells.

    Example:
        >>> space = nasbench101()
        >>> space.sizes, space.node_ops
        (range(2, 8), ('conv3x3', 'conv1x1', 'maxpool3x3'))
    """
    return cast(NodeLabeledSpace, preset("nb101"))


def nasbench201(connected: bool = True) -> EdgeLabeledSpace:
    """NAS-Bench-201: four indexed nodes, four operations (and "none") on six edges.

    Source: Dong and Yang, ICLR 2020.

    Args:
        connected: True for the 9,280 cells with every node on a path from input to output, as the
            paper restricts them; False for all 15,625.

    Example:
        >>> nasbench201().count(), nasbench201(connected=False).count()
        (9280, 15625)
    """
    return cast(EdgeLabeledSpace, preset("nb201" if connected else "nb201-all"))


def darts() -> DartsSpace:
    """A DARTS cell: two inputs, four inner nodes with two predecessors, seven operations on edges.

    Source: Liu, Simonyan and Yang, ICLR 2019. A network has a normal and a reduction cell; this is
    the space of either.

    Example:
        >>> darts().count()  # 180 structures, eight edges
        1037664180
    """
    return cast(DartsSpace, preset("darts-normal"))


def nasbench_graph() -> GraphSpace:
    """NAS-Bench-Graph: four operations of nine kinds, each with one predecessor.

    Source: Qin et al., NeurIPS 2022. The benchmark has values for 26,206 of these cells, one of
    each group that computes the same.

    Example:
        >>> nasbench_graph().count()
        35919
    """
    return cast(GraphSpace, preset("nbgraph"))


def molecules(nodes: int | tuple[int, int] | None = None) -> GraphSpace:
    """Molecules: C, N, O, F with their valences, bonds of order 1 to 3, hydrogen left out.

    Args:
        nodes: The number of heavy atoms, or the smallest and the largest; one to six by default.

    Example:
        >>> molecules(3).count(), molecules().sizes
        (94, range(1, 7))
    """
    space = cast(GraphSpace, preset("molecules"))
    return space if nodes is None else replace(space, nodes=nodes)


def list_presets() -> list[str]:
    """Names that :func:`preset` knows."""
    return sorted([*_list_published(), *_OTHERS])


def _list_published() -> list[str]:
    files = [entry.name for entry in _FOLDER.iterdir() if entry.name.endswith(_ENDING)]
    return [*(name.removesuffix(_ENDING) for name in files), *_ALIASES]


def read_preset_text(name: str) -> str:
    """The TOML declaration of a published space."""
    if name not in list_presets():
        raise UnknownNameError("space", name, list_presets())
    if name in _OTHERS:
        return to_toml(_OTHERS[name]())
    return _FOLDER.joinpath(_ALIASES.get(name, name) + _ENDING).read_text(encoding="utf-8")


def preset(name: str) -> SearchSpace:
    """A published or registered space by its short name.

    Example:
        >>> preset("nb201").count()
        9280
    """
    return _OTHERS[name]() if name in _OTHERS else parse_space(read_preset_text(name), name)


def load_space(name: SearchSpace | str | Path, nodes: int | None = None) -> SearchSpace:
    """A space from the name of a preset or the path of a TOML file; a space is returned as it is.

    Args:
        name: The preset, the file, or the space.
        nodes: The number of nodes of its graphs; where graphs are declared by their labels and
            degrees, as molecules are, any number.

    Raises:
        UnknownNameError: If no preset has the name.
        SpaceFileError: If the file can't be read or declares no space.
        SpaceError: If its graphs can't have this many nodes.

    Example:
        >>> load_space("nb201").count()
        9280
        >>> load_space("molecules", nodes=7).sizes
        range(7, 8)
        >>> load_space("nb102")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        nasgoat.errors.UnknownNameError: space must be one of darts, ..., got 'nb102'; did you mean
        nb101 or ...
    """
    if nodes is not None:
        return _resize(load_space(name), nodes)
    if isinstance(name, SearchSpace):
        return name
    if not isinstance(name, str | Path):
        raise SpaceError(
            f"the space must be a SearchSpace, the name of a preset or a file, got {name!r:.80}"
        )
    if isinstance(name, Path) or is_file_name(name):
        return parse_space(read_text(name, SpaceFileError), str(name))
    return preset(name)


def _resize(space: SearchSpace, nodes: int) -> SearchSpace:
    """A part of the space; or declared graphs, such as molecules, with another number of nodes."""
    if nodes in space.sizes or space.layout != "graph":
        return space.with_nodes(nodes)
    return cast(SearchSpace, replace(cast(Any, space), nodes=nodes))


def is_file_name(name: str) -> bool:
    """Whether a space is named by its file: it ends in .toml, or a file is there."""
    return name.endswith(_ENDING) or (name not in list_presets() and Path(name).is_file())
