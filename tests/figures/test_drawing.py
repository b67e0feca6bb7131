"""Pictures: every graph can be drawn, whatever its labels say."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from nasgoat import LabeledGraph, nasbench101
from nasgoat.figures import draw, ladder, save
from nasgoat.figures.layout import lay_out, order_chain
from tests.strategies import generators, labeled_graphs

HOSTILE = ["<script>", "../../etc", "x" * 10_000, "\x1b[2J\n", r"$\frac{1}{0}$", "\\"]


@given(labeled_graphs())
@settings(max_examples=30)
def test_every_graph_has_a_layout_and_a_text(graph: LabeledGraph) -> None:
    layout = lay_out(graph)
    assert set(layout.nodes) == set(range(graph.n))
    assert set(layout.edges) == set(graph.edges)
    if order_chain(graph) is None:
        assert len(ladder(graph).splitlines()) == 2 + len(graph.edges)


@given(generators)
@settings(max_examples=20)
def test_edges_go_right_and_no_two_nodes_or_bends_share_a_place(rng: object) -> None:
    graph = nasbench101().sample(1, rng)[0]  # type: ignore[arg-type]
    layout = lay_out(graph)
    bends = [point for line in layout.edges.values() for point in line[1:-1]]
    places = [*layout.nodes.values(), *bends]
    assert len(set(places)) == len(places)
    for line in layout.edges.values():
        assert [x for x, _ in line] == sorted({x for x, _ in line})


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_are_shown_harmlessly(label: str, tmp_path: Path) -> None:
    graph = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", label, "output"])
    save(graph, tmp_path / "graph.svg", title=label)
    text = (tmp_path / "graph.svg").read_text()
    assert "<script>" not in text
    assert "\x1b" not in ladder(graph)
    assert len(ladder(graph)) < 500


def test_cycles_and_undirected_graphs_are_drawn(tmp_path: Path) -> None:
    ring = LabeledGraph.from_edges(3, [(0, 1), (1, 2), (2, 0)], edge_labels=["a", "b", "c"])
    save(ring, tmp_path / "ring.png")
    bond = LabeledGraph.from_edges(2, [(0, 1)], ["C", "O"], ["double"], directed=False)
    save(bond, tmp_path / "bond.png")
    assert (tmp_path / "ring.png").stat().st_size > 1000
    assert "├" in ladder(bond)
    assert "◀" in ladder(ring)


def test_labels_are_in_the_picture() -> None:
    graph = LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["nor_conv_3x3"])
    texts = [text.get_text() for text in draw(graph).axes[0].texts]
    assert texts == ["nor_conv_3x3", "0", "1"]


def chain(layers: int) -> LabeledGraph:
    """A chain of layers, each with a label of its own."""
    edges = [(i, i + 1) for i in range(layers)]
    return LabeledGraph.from_edges(layers + 1, edges, edge_labels=[f"op{i}" for i in range(layers)])


@pytest.mark.parametrize("layers", [3, 8, 20])
def test_a_chain_of_layers_is_one_line_of_text_that_breaks(layers: int) -> None:
    lines = ladder(chain(layers)).splitlines()
    assert all(len(line) <= 80 for line in lines)
    words = " ".join(lines).split()
    assert [word for word in words if word.startswith("op")] == [f"op{i}" for i in range(layers)]
    assert [word for word in words if word.startswith("(")] == [f"({v})" for v in range(layers + 1)]


def test_a_long_chain_is_folded_into_rows_that_join() -> None:
    layout = lay_out(chain(20))
    assert (layout.style, layout.width, layout.height) == ("folded", 5, 5)
    assert len(set(layout.nodes.values())) == 21
    for (x0, y0), (x1, y1) in layout.edges.values():
        assert abs(x1 - x0) + abs(y1 - y0) == 1


def test_a_short_chain_stays_in_one_row_and_labelled_nodes_are_no_chain() -> None:
    assert {y for _, y in lay_out(chain(5)).nodes.values()} == {0}
    path = LabeledGraph.from_edges(8, [(i, i + 1) for i in range(7)], [*"abcdefgh"])
    assert lay_out(path).style == "layers"


@pytest.mark.parametrize("layers", [3, 8])
def test_the_picture_of_a_chain_has_every_layer_and_heads_that_are_seen(layers: int) -> None:
    axes = draw(chain(layers)).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts == [*(f"op{i}" for i in range(layers)), *map(str, range(layers + 1))]
    nodes = lay_out(chain(layers)).nodes
    for arrow, v in zip(axes.patches, range(1, layers + 1), strict=True):
        tip = np.asarray(arrow.get_path().vertices)[-1]
        assert np.abs(tip - np.array(nodes[v])).max() > 0.05  # units: outside of the node's box
