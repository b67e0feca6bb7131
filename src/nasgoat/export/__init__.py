"""Export: a labelled graph as a network that can be trained. Owns PyTorch's use for networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nasgoat.errors import MissingPackageError
from nasgoat.graphs import LabeledGraph

if TYPE_CHECKING:
    from torch import nn

__all__ = ["to_torch"]


def to_torch(
    graph: LabeledGraph,
    in_channels: int = 3,
    classes: int = 10,
    channels: int = 16,
    cells: int = 3,
    operations: Mapping[str, Callable[[int], Any]] | None = None,
    order: Sequence[str] = (),
) -> nn.Module:
    """The PyTorch network that stacks a cell: stem, cells with pooling between, classifier.

    Operations may be on the nodes of the cell (one node ``input``, one ``output``) or on its edges
    (first node in, last node out). A graph of several cells stacks them in turn, or in an ``order``
    such as ``["normal", "reduction", "normal"]``. See :mod:`nasgoat.export.network` for what each
    name builds.

    Args:
        graph: The cell; acyclic.
        in_channels: Channels of the images.
        classes: Number of classes.
        channels: Channels inside the first cell; doubled at each pooling.
        cells: How many cells to stack; images are halved after each but the last.
        operations: What further labels build, from the number of channels to a module; it may
            also replace built-in ones.
        order: The names of the cells to stack, of a graph of several; instead of ``cells``.

    Raises:
        GraphError: If the graph is no cell.
        UnknownNameError: If a label has no operation.
        MissingPackageError: If PyTorch is not installed.
    """
    try:
        from nasgoat.export.network import build
    except ModuleNotFoundError as problem:
        if problem.name != "torch":
            raise
        raise MissingPackageError("torch", "neural") from None
    return build(graph, in_channels, classes, channels, cells, operations or {}, order)
