"""Pictures of cells: every kind of graph, every node and edge, hostile labels."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from nasgoat.figures.wording import describe_graph
from nasgoat.graphs import LabeledGraph
from nasgoat.report.cells import assign_classes, draw_cell
from nasgoat.spaces import SearchSpace, list_presets, preset
from tests.graph_spaces import DECLARED
from tests.report.studies import HOSTILE, hostile_space


@pytest.mark.parametrize("space", [*map(preset, list_presets()), *DECLARED, hostile_space()])
@pytest.mark.parametrize("large", [False, True])
def test_every_node_and_edge_of_every_kind_of_graph_is_drawn(
    space: SearchSpace, large: bool
) -> None:
    classes = assign_classes([*space.node_vocabulary, *space.edge_vocabulary])
    for graph in space.sample(3, np.random.default_rng(0)):
        read = ET.fromstring(draw_cell(graph, classes, "c", "A cell", large))  # noqa: S314
        kinds = [str(part.get("class")).split()[0] for part in read]
        assert kinds.count("node") == graph.n
        assert kinds.count("edge") == len(graph.edges)
        assert kinds.count("head") == (len(graph.edges) if graph.directed else 0)
        width, height = map(float, str(read.get("viewBox")).split()[2:])
        for box in read.iter("rect"):
            x, y, w, h = (float(str(box.get(k))) for k in ("x", "y", "width", "height"))
            assert x >= 0
            assert y >= 0
            assert x + w <= width + 1
            assert y + h <= height + 1


@pytest.mark.parametrize("layers", [4, 8, 20])
@pytest.mark.parametrize("large", [False, True])
def test_a_chain_of_layers_keeps_its_nodes_apart_and_its_labels_inside(
    layers: int, large: bool
) -> None:
    edges = [(i, i + 1) for i in range(layers)]
    graph = LabeledGraph.from_edges(layers + 1, edges, edge_labels=["mb_3x3"] * layers)
    read = ET.fromstring(draw_cell(graph, {"mb_3x3": "o1"}, "c", "A chain", large))  # noqa: S314
    width, height = map(float, str(read.get("viewBox")).split()[2:])
    boxes = [
        tuple(float(str(box.get(k))) for k in ("x", "y", "width", "height"))
        for box in read.iter("rect")
    ]
    assert len(boxes) == layers + 1 + (layers if large else 0)
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
    for i, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[:i]:
            assert max(x - x2 - w2, x2 - x - w, y - y2 - h2, y2 - y - h) >= 0
    assert width < 1000  # fits a page


def test_labels_are_cut_and_stay_text() -> None:
    graph = LabeledGraph.from_edges(
        8, [(i, i + 1) for i in range(7)], ["input", *HOSTILE, "output"]
    )
    drawn = draw_cell(graph, assign_classes(HOSTILE), "c", "A cell", large=True)
    assert "<script" not in drawn
    assert "\x00" not in drawn
    assert "x" * 41 not in drawn
    read = ET.fromstring(drawn)  # noqa: S314
    assert len(read) == 2 + 7 * 2 + 8 * 2
    assert not any(name.startswith("on") for part in read.iter() for name in part.attrib)


def test_the_words_tell_the_whole_graph() -> None:
    graph = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], edge_labels=["a", "b"], directed=False)
    assert describe_graph(graph) == "3 nodes; 2 edges: 0 with 1 a, 1 with 2 b"
    assert describe_graph(LabeledGraph.from_edges(1, [])) == "1 node; 0 edges"
