"""Graphs without layers: planar ones are drawn without a crossing, nodes and labels apart."""

import itertools
import re
import sys
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest

from nasgoat import LabeledGraph, from_smiles
from nasgoat.figures import draw
from nasgoat.figures.layout import count_crossings, lay_out, place_nodes
from nasgoat.report.cells import draw_cell
from nasgoat.spaces import preset

Point = tuple[float, float]
RINGS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (4, 6), (6, 7), (7, 8), (5, 8), (0, 9)]
PLANAR = {
    "rings": nx.Graph(RINGS),
    "grid": nx.grid_2d_graph(4, 4),
    "cube": nx.hypercube_graph(3),
    "all pairs of four": nx.complete_graph(4),
    "tree": nx.balanced_tree(2, 3),
    "star": nx.star_graph(7),
    "wheel": nx.wheel_graph(8),
    "two and five": nx.complete_bipartite_graph(2, 5),
    "one node": nx.empty_graph(1),
    "parts": nx.disjoint_union_all([nx.cycle_graph(3), nx.empty_graph(2), nx.path_graph(3)]),
}


def number(graph: nx.Graph) -> tuple[int, list[tuple[int, int]]]:
    numbered = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    return len(numbered), sorted(tuple(sorted(edge)) for edge in numbered.edges)


def cross(a: Point, b: Point, p: Point, q: Point) -> bool:
    """Whether two segments have a point in common, by solving for it."""
    matrix = np.array([[b[0] - a[0], p[0] - q[0]], [b[1] - a[1], p[1] - q[1]]])
    if abs(np.linalg.det(matrix)) < 1e-9:  # parallel
        return False
    shares = np.linalg.solve(matrix, np.subtract(p, a))
    return bool(((shares >= 0) & (shares <= 1)).all())


@pytest.mark.parametrize("name", PLANAR)
def test_a_planar_graph_is_drawn_without_crossings(name: str) -> None:
    n, edges = number(PLANAR[name])
    places = place_nodes(n, edges)
    for one, two in itertools.combinations(edges, 2):
        if not set(one) & set(two):
            assert not cross(*places[list(one)], *places[list(two)])
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1) + 9 * np.eye(n)
    assert apart.min() > 0.5  # lengths of an edge
    assert np.array_equal(places, place_nodes(n, edges))


def test_random_planar_graphs_are_drawn_without_crossings() -> None:
    rng, seen = np.random.default_rng(0), 0
    while seen < 40:
        n = int(rng.integers(2, 10))
        graph = nx.gnm_random_graph(n, int(rng.integers(0, 2 * n)), seed=int(rng.integers(10**9)))
        if nx.check_planarity(graph)[0]:
            seen += 1
            places = place_nodes(n, list(graph.edges))
            assert count_crossings(places, list(graph.edges)) == 0


def test_crossings_are_counted() -> None:
    square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert count_crossings(square, [(0, 1), (2, 3)]) == 1
    assert count_crossings(square, [(0, 2), (1, 3)]) == 0
    n, edges = number(nx.complete_graph(5))
    assert count_crossings(place_nodes(n, edges), edges) >= 1  # none can be without


def read_lines(svg: str) -> list[list[tuple[Point, Point]]]:
    """The straight lines of each edge in a picture."""
    parts = ET.fromstring(svg)  # noqa: S314
    ways = [str(part.get("d")) for part in parts if str(part.get("class")).startswith("edge")]
    return [
        [
            tuple((float(x), float(y)) for x, y in re.findall(r"(\d+) (\d+)", line))  # type: ignore[misc]
            for line in way.split("M")[1:]
        ]
        for way in ways
    ]


@pytest.mark.parametrize("large", [False, True])
def test_molecules_have_no_crossings_in_a_picture(large: bool) -> None:
    graphs = preset("molecules").sample(20, np.random.default_rng(0))
    graphs.append(LabeledGraph.from_edges(10, RINGS, [*"NCNCCCNCNC"], directed=False))
    for graph in graphs:
        lines = read_lines(draw_cell(graph, {}, "c", "A molecule", large))
        assert len(lines) == len(graph.edges)
        for (e, one), (f, two) in itertools.combinations(zip(graph.edges, lines, strict=True), 2):
            if not set(e) & set(f):
                assert not any(cross(*a, *b) for a in one for b in two)


@pytest.mark.parametrize("rdkit", [False, True])
def test_bonds_are_as_many_parallel_lines_as_their_order(
    rdkit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rdkit:
        pytest.importorskip("rdkit", reason="RDKit is not installed")
    else:
        monkeypatch.setitem(sys.modules, "rdkit", None)
    labels, bonds = "CCCNO", ["single", "double", "triple", "single"]
    edges = [(0, 1), (0, 4), (2, 3), (1, 2)]
    graph = LabeledGraph.from_edges(5, edges, labels, bonds, directed=False)
    counts = [
        {"single": 1, "double": 2, "triple": 3}[(graph.edge_labels or {})[e]] for e in graph.edges
    ]
    svg = draw_cell(graph, {}, "c", "A molecule", large=True)
    assert [len(lines) for lines in read_lines(svg)] == counts
    assert "double</text>" not in svg
    directions = [{tuple(np.subtract(b, a)) for a, b in lines} for lines in read_lines(svg)]
    for ways in directions:
        first = next(iter(ways))
        assert all(abs(np.cross([*first, 0], [*way, 0])[2]) < 60 for way in ways)  # whole pixels
    axes = draw(graph).axes[0]
    assert len(axes.patches) == sum(counts)
    assert [text.get_text() for text in axes.texts] == list(labels)
    assert axes.get_aspect() == 1.0


def test_the_layout_of_rdkit_is_taken_where_nothing_crosses() -> None:
    pytest.importorskip("rdkit", reason="RDKit is not installed")
    ring = from_smiles("c1ccccc1")
    layout = lay_out(ring)
    lengths = [np.linalg.norm(np.subtract(line[0], line[1])) for line in layout.edges.values()]
    assert lengths == pytest.approx([1.0] * 6, abs=0.01)  # a regular hexagon
    caged = LabeledGraph.from_edges(
        4, itertools.combinations(range(4), 2), "CCCC", ["single"] * 6, directed=False
    )
    places = np.array([lay_out(caged).nodes[v] for v in range(4)])
    assert count_crossings(places, caged.edges) == 0


def test_edges_there_and_back_keep_both_labels() -> None:
    pair = LabeledGraph.from_edges(2, [(0, 1), (1, 0)], edge_labels=["there", "back"])
    texts = {t.get_text(): t.get_position() for t in draw(pair).axes[0].texts}
    assert texts["there"] != texts["back"]
    assert lay_out(pair).style == "free"


def test_no_label_of_a_cell_hides_another_where_there_is_room() -> None:
    labels = ["sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5", "max_pool_3x3"]
    edges = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    cell = LabeledGraph.from_edges(4, edges, edge_labels=labels)
    svg = ET.fromstring(draw_cell(cell, {}, "c", "A cell", large=True))  # noqa: S314
    boxes = [
        tuple(float(str(box.get(k))) for k in ("x", "y", "width", "height"))
        for box in svg.iter("rect")
    ]
    assert len(boxes) == 5 + 4
    for (x, y, w, h), (x2, y2, w2, h2) in itertools.combinations(boxes, 2):
        assert max(x - x2 - w2, x2 - x - w, y - y2 - h2, y2 - y - h) >= 0
