"""Pictures: every graph can be drawn, whatever its labels say."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from nasgoat import LabeledGraph, nasbench101
from nasgoat.figures import draw, ladder, save
from nasgoat.figures.layout import layered
from tests.strategies import generators, labeled_graphs

HOSTILE = ["<script>", "../../etc", "x" * 10_000, "\x1b[2J\n", r"$\frac{1}{0}$", "\\"]


@given(labeled_graphs())
@settings(max_examples=30)
def test_every_graph_has_a_layout_and_a_text(graph: LabeledGraph) -> None:
    layout = layered(graph)
    assert set(layout.nodes) == set(range(graph.n))
    assert set(layout.edges) == set(graph.edges)
    assert len(ladder(graph).splitlines()) == 2 + len(graph.edges)


@given(generators)
@settings(max_examples=20)
def test_edges_go_right_and_no_two_nodes_or_bends_share_a_place(rng: object) -> None:
    graph = nasbench101().sample(1, rng)[0]  # type: ignore[arg-type]
    layout = layered(graph)
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


def test_cycles_and_undirected_graphs_go_on_a_circle(tmp_path: Path) -> None:
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
