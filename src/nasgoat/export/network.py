"""Cells as PyTorch modules. Import needs torch; :func:`nasgoat.export.to_torch` says so kindly.

A node-labelled cell works as in NAS-Bench-101: a node sums what comes in and applies its operation;
``output`` concatenates and projects to the cell's channels. An edge-labelled cell works as in
NAS-Bench-201: an edge applies its operation, a node sums what comes in; a chain of layers is such a
cell with one path. All operations keep the size of the image and the number of channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from nasgoat.errors import GraphError, SettingError, UnknownNameError
from nasgoat.graphs import LabeledGraph

Operation = Callable[[int], nn.Module]


def convolution(channels: int, size: int, groups: int = 1, dilation: int = 1) -> nn.Sequential:
    """Convolution, batch normalisation, ReLU; the image keeps its size."""
    padding = dilation * (size // 2)
    return nn.Sequential(
        nn.Conv2d(
            channels, channels, size, 1, padding, dilation=dilation, groups=groups, bias=False
        ),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
    )


def _make_separable(channels: int, size: int, dilation: int = 1) -> nn.Sequential:
    depthwise = convolution(channels, size, channels, dilation)
    return nn.Sequential(*depthwise, *convolution(channels, 1))


#: What a label builds, by the names of NAS-Bench-101, NAS-Bench-201 and DARTS.
OPERATIONS: dict[str, Operation] = {
    "conv1x1": lambda c: convolution(c, 1),
    "conv3x3": lambda c: convolution(c, 3),
    "maxpool3x3": lambda c: nn.MaxPool2d(3, 1, 1),
    "nor_conv_1x1": lambda c: convolution(c, 1),
    "nor_conv_3x3": lambda c: convolution(c, 3),
    "avg_pool_3x3": lambda c: nn.AvgPool2d(3, 1, 1, count_include_pad=False),
    "max_pool_3x3": lambda c: nn.MaxPool2d(3, 1, 1),
    "skip_connect": lambda c: nn.Identity(),
    "sep_conv_3x3": lambda c: _make_separable(c, 3),
    "sep_conv_5x5": lambda c: _make_separable(c, 5),
    "dil_conv_3x3": lambda c: _make_separable(c, 3, 2),
    "dil_conv_5x5": lambda c: _make_separable(c, 5, 2),
}


class NodeCell(nn.Module):
    """A cell with operations on its nodes."""

    def __init__(
        self, graph: LabeledGraph, channels: int, operations: Mapping[str, Operation]
    ) -> None:
        super().__init__()
        labels = graph.node_labels or ()
        self.source, self.sink = labels.index("input"), labels.index("output")
        self.parents = [np.flatnonzero(graph.adjacency[:, v]).tolist() for v in range(graph.n)]
        self.operations = nn.ModuleDict(
            {
                str(v): operations[labels[v]](channels)
                for v in range(graph.n)
                if v not in (self.source, self.sink)
            }
        )
        self.project = nn.Sequential(
            nn.Conv2d(channels * len(self.parents[self.sink]), channels, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        )

    def forward(self, images: Tensor) -> Tensor:
        """The cell's output."""
        values: dict[int, Tensor] = {self.source: images}
        for v in range(len(self.parents)):
            if v in (self.source, self.sink):
                continue
            total = sum((values[u] for u in self.parents[v]), torch.zeros_like(images))
            values[v] = self.operations[str(v)](total)
        parts = [values[u] for u in self.parents[self.sink]]
        out: Tensor = self.project(torch.cat(parts, dim=1))
        return out


class EdgeCell(nn.Module):
    """A cell with operations on its edges; a node that nothing reaches is zero."""

    def __init__(
        self, graph: LabeledGraph, channels: int, operations: Mapping[str, Operation]
    ) -> None:
        super().__init__()
        self.n = graph.n
        labels = graph.edge_labels or {}
        self.operations = nn.ModuleDict(
            {f"{u}_{v}": operations[label](channels) for (u, v), label in labels.items()}
        )
        self.edges = list(labels)

    def forward(self, images: Tensor) -> Tensor:
        """The cell's output."""
        values = [images, *(torch.zeros_like(images) for _ in range(self.n - 1))]
        for v in range(1, self.n):
            for u, w in self.edges:
                if w == v:
                    values[v] = values[v] + self.operations[f"{u}_{v}"](values[u])
        return values[-1]


def build(
    graph: LabeledGraph,
    in_channels: int,
    classes: int,
    channels: int,
    cells: int,
    operations: Mapping[str, Operation],
    order: Sequence[str] = (),
) -> nn.Sequential:
    """Stem, cells with pooling between, global pooling and a linear classifier."""
    for name, value in (("channels", channels), ("cells", cells), ("classes", classes)):
        if value < 1:
            raise SettingError(f"{name} must be at least 1, got {value}")
    known = {**OPERATIONS, **operations}
    stack = _list_cells(graph, cells, order)
    for label in dict.fromkeys(label for cell in stack for label in _list_labels(cell)):
        if label not in known:
            raise UnknownNameError("operation", label, known)
    layers: list[nn.Module] = [
        nn.Conv2d(in_channels, channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels),
    ]
    for place, graph in enumerate(stack):
        cell = NodeCell if graph.node_labels is not None else EdgeCell
        layers.append(cell(graph, channels, known))
        if place < len(stack) - 1:
            layers += [nn.Conv2d(channels, 2 * channels, 1, bias=False), nn.MaxPool2d(2)]
            layers.append(nn.BatchNorm2d(2 * channels))
            channels *= 2
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return nn.Sequential(*layers)


def _list_cells(graph: LabeledGraph, cells: int, order: Sequence[str]) -> list[LabeledGraph]:
    """The cells to stack: the same one every time, or several in an order, else in turn."""
    if not graph.cells:
        if order:
            raise SettingError(f"order must be of a graph of several cells, got {list(order)}")
        return [_check(graph)] * cells
    checked = {name: _check(cell) for name, cell in graph.cells.items()}
    for name in order:
        if name not in checked:
            raise UnknownNameError("a cell of order", name, checked)
    names = list(order) or [list(checked)[place % len(checked)] for place in range(cells)]
    return [checked[name] for name in names]


def _check(graph: LabeledGraph) -> LabeledGraph:
    """The cell with its nodes in an order in which every edge ascends, or an error."""
    if not graph.is_acyclic():
        raise GraphError("a cell must be directed and acyclic, got another graph")
    if (graph.node_labels is None) == (graph.edge_labels is None):
        raise GraphError("a cell must have operations either on its nodes or on its edges")
    labels = graph.node_labels
    if labels is not None and (labels.count("input") != 1 or labels.count("output") != 1):
        raise GraphError("a cell must have one node 'input' and one 'output'")
    if labels is not None:  # nodes may come in any order: their labels tell the ends
        return graph.sorted_topologically()
    for u, v in graph.edges:
        if u > v:
            raise GraphError(f"edges of an edge-labelled cell must ascend, got {u} -> {v}")
    return graph


def _list_labels(graph: LabeledGraph) -> list[str]:
    if graph.node_labels is not None:
        return [label for label in graph.node_labels if label not in ("input", "output")]
    return list((graph.edge_labels or {}).values())
