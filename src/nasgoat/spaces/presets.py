"""The published search spaces."""

from collections.abc import Callable

from nasgoat.errors import UnknownNameError
from nasgoat.spaces.darts_like import DartsSpace
from nasgoat.spaces.edge_labeled import EdgeLabeledSpace
from nasgoat.spaces.node_labeled import NodeLabeledSpace
from nasgoat.spaces.search_space import SearchSpace


def nasbench101() -> NodeLabeledSpace:
    """NAS-Bench-101: up to seven nodes and nine edges, three operations on nodes.

    Source: Ying et al., ICML 2019; 423,624 cells.
    """
    return NodeLabeledSpace(nodes=(2, 7), ops=["conv3x3", "conv1x1", "maxpool3x3"], max_edges=9)


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
    ops = ["skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
    return EdgeLabeledSpace(nodes=4, ops=ops, connected=connected)


def darts() -> DartsSpace:
    """A DARTS cell: two inputs, four inner nodes with two predecessors, seven operations on edges.

    Source: Liu, Simonyan and Yang, ICLR 2019. A network has a normal and a reduction cell; this is
    the space of either.

    Example:
        >>> darts().count()  # 180 structures, eight edges
        1037664180
    """
    ops = [
        "sep_conv_3x3",
        "sep_conv_5x5",
        "dil_conv_3x3",
        "dil_conv_5x5",
        "max_pool_3x3",
        "avg_pool_3x3",
        "skip_connect",
    ]
    return DartsSpace(nodes=6, ops=ops)


_PRESETS: dict[str, Callable[[], SearchSpace]] = {
    "nb101": nasbench101,
    "nb201": nasbench201,
    "nb201-all": lambda: nasbench201(connected=False),
    "darts": darts,
}


def preset_names() -> list[str]:
    """Names that :func:`preset` knows."""
    return sorted(_PRESETS)


def preset(name: str) -> SearchSpace:
    """A published space by its short name.

    Example:
        >>> preset("nb201").count()
        9280
    """
    if name not in _PRESETS:
        raise UnknownNameError("space", name, _PRESETS)
    return _PRESETS[name]()
