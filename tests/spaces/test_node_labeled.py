"""NAS-Bench-101 and its kind."""

from ast import literal_eval
from pathlib import Path

import numpy as np
import pytest

from nasgoat import LabeledGraph, NodeLabeledSpace, nasbench101
from nasgoat.errors import GraphError, SpaceError
from nasgoat.graphs.canonical import make_key
from nasgoat.spaces.structures import list_acyclic_structures

OPS = ["conv3x3", "conv1x1", "maxpool3x3"]


def test_nasbench101_has_its_published_numbers_of_cells() -> None:
    assert [len(batch) for batch in nasbench101().enumerate()] == [1, 6, 84, 2441, 62010, 359082]
    assert nasbench101().count() == 423_624


def test_structures_have_the_known_numbers() -> None:
    counts = [len(list_acyclic_structures(n, n + 2).adjacency) for n in (7, 8)]
    assert counts == [1574, 5482]


def published_keys(folder: Path, step: int) -> set[bytes]:
    """Canonical keys of every step-th cell of the published table."""
    with np.load(folder / "nb101.npz") as table:
        sizes, matrices, ops = (table[name][::step] for name in ("n_vertices", "adjacency", "ops"))
    names = dict(enumerate(OPS)) | {-1: "input", -2: "output"}
    return {
        make_key(matrix[:n, :n].astype(bool), [names[int(op)] for op in row[:n]])
        for n, matrix, row in zip(sizes, matrices, ops, strict=True)
    }


def test_published_small_cells_of_nasbench101_are_listed(shared_data: Path) -> None:
    space = NodeLabeledSpace((2, 5), OPS, max_edges=9)
    listed = {space.key(graph) for batch in space.enumerate() for graph in batch}
    with np.load(shared_data / "nb101.npz") as table:
        small = int((table["n_vertices"] <= 5).sum())
    assert len(listed) == small
    sample = {k for k in published_keys(shared_data, step=20) if _nodes(k) <= 5}
    assert sample
    assert sample <= listed


def _nodes(canonical_key: bytes) -> int:
    """Number of nodes of a cell, from the label counts at the head of its key."""
    _, counts = literal_eval(canonical_key.split(b"\0")[0].decode())
    return int(sum(count for _, count in counts))


@pytest.mark.slow
def test_every_cell_of_nasbench101_is_in_the_published_table(shared_data: Path) -> None:
    published = published_keys(shared_data, step=1)
    labels = nasbench101().node_vocabulary
    listed = set()
    for batch in nasbench101().enumerate():
        assert batch.node_codes is not None
        n = int(batch.sizes[0])
        for matrix, codes in zip(batch.adjacency, batch.node_codes, strict=True):
            listed.add(make_key(matrix[:n, :n], [labels[code] for code in codes[:n]]))
    assert len(published) == 423_624
    assert listed == published


def cell(edges: list[tuple[int, int]], labels: list[str], n: int | None = None) -> LabeledGraph:
    return LabeledGraph.from_edges(n or len(labels), edges, labels)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (cell([(0, 1), (1, 2), (2, 1)], ["input", "conv3x3", "output"]), "acyclic, got a cycle"),
        (cell([(0, 1), (1, 2)], ["input", "conv9x9", "output"]), "got 'conv9x9'"),
        (cell([(0, 1)], ["input", "conv3x3"]), "one node must be labelled 'output', got 0"),
        (cell([(0, 1)], ["input", "input"]), "labelled 'input', got 2"),
        (cell([(0, 2)], ["input", "conv3x3", "output"]), "node 1 is not"),
        (cell([(v, v + 1) for v in range(7)], ["input", *OPS, *OPS, "output"]), "2 to 7 nodes"),
        (LabeledGraph.from_edges(2, [(0, 1)]), "labels on its nodes"),
        (LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["conv3x3"]), "labels on its nodes"),
        (
            LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"], directed=False),
            "directed and acyclic",
        ),
        (
            cell(
                [(0, v) for v in range(1, 6)] + [(v, 5) for v in range(1, 5)] + [(1, 2), (1, 3)],
                ["input", *OPS, "conv3x3", "output"],
            ),
            "at most 9 edges, got 11",
        ),
    ],
)
def test_what_is_outside_is_refused_with_the_reason(graph: LabeledGraph, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        nasbench101().check(graph)
    assert graph not in nasbench101()


def test_membership_does_not_depend_on_the_order_of_nodes() -> None:
    shuffled = LabeledGraph.from_edges(3, [(2, 0), (0, 1)], ["conv3x3", "output", "input"])
    assert shuffled in nasbench101()
    assert shuffled.sorted_topologically().node_labels == ("input", "conv3x3", "output")
    assert all(other in nasbench101() for other in nasbench101().neighbours(shuffled))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": (5, 7), "ops": OPS, "max_edges": 3}, "at least 4 to connect 5 nodes, got 3"),
        ({"nodes": (7, 5), "ops": OPS}, "smallest first"),
        ({"nodes": 0, "ops": OPS}, "nodes must be from 2"),
        ({"nodes": 1000, "ops": OPS}, "nodes must be from 2"),
        ({"nodes": (2, 3, 4), "ops": OPS}, "a pair of integers"),
        ({"nodes": 2.5, "ops": OPS}, "nodes must be"),
        ({"nodes": 4, "ops": []}, "at least one operation for 4 nodes, got none"),
        ({"nodes": 4, "ops": ["a", "a"]}, "distinct, got 'a' twice"),
        ({"nodes": 4, "ops": ["input"]}, "must not be 'input' or 'output'"),
        ({"nodes": 4, "ops": "conv"}, "a list of names"),
        ({"nodes": 4, "ops": [3]}, "a list of names"),
    ],
)
def test_an_unsatisfiable_declaration_is_refused(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(SpaceError, match=message):
        NodeLabeledSpace(**arguments)  # type: ignore[arg-type]


def test_sizes_that_too_few_edges_empty_are_left_out() -> None:
    space = NodeLabeledSpace((2, 20), ["a"], max_edges=3)
    assert list(space.sizes) == [2, 3, 4]


def test_large_sparse_cells_can_be_drawn() -> None:
    space = NodeLabeledSpace(12, OPS, max_edges=14)
    cells = space.sample(5, np.random.default_rng(0))
    assert len(cells) == 5
    assert all(c in space and c.n == 12 for c in cells)


def test_the_part_with_one_size_holds_that_size() -> None:
    assert nasbench101().with_nodes(5).count() == 2441
    with pytest.raises(SpaceError, match="from 2 to 7 in this space, got 8"):
        nasbench101().with_nodes(8)


def test_sampling_ends_in_a_large_declaration_with_a_single_graph() -> None:
    space = NodeLabeledSpace(9, ["a"], max_edges=8)  # only the chain
    assert len(space.sample(2, np.random.default_rng(0))) == 1


def test_neighbours_do_not_depend_on_the_order_of_nodes() -> None:
    space, rng = nasbench101(), np.random.default_rng(0)
    for graph in space.sample(10, rng):
        shuffled = graph.relabeled(rng.permutation(graph.n).tolist())
        one, other = ({space.key(g) for g in space.neighbours(x)} for x in (graph, shuffled))
        assert one == other
