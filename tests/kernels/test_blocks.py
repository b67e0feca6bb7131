"""Blocks beside the paper's three: what they count, their code and their scale."""

from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from nasgoat import (
    ChainSpace,
    EdgeLabeledSpace,
    FeatureMap,
    GraphSpace,
    LabeledGraph,
    NodeLabeledSpace,
    SearchSpace,
    darts,
    molecules,
    nasbench101,
    nasbench201,
)
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.graphs.conversions import turn_edges_into_nodes
from nasgoat.kernels import PAPER_BLOCKS, block_names, check_blocks, require_bounded_blocks
from nasgoat.kernels.blocks import BLOCKS, code_block
from nasgoat.kernels.graph_counts import count_longest

SPACES: dict[str, SearchSpace] = {
    "nodes": NodeLabeledSpace((2, 6), ["a", "b", "c"], max_edges=9),
    "edges": nasbench201(),
    "darts": darts(),
    "chains": ChainSpace((2, 5), ["a", "b"]),
    "nodes that pass": NodeLabeledSpace((2, 6), ["a", "skip", "c"], max_edges=9),
    "chains that pass": ChainSpace((2, 5), ["a", "Identity"]),
    "molecules": molecules(),
    "cyclic": GraphSpace((2, 4), ["a", "b"], direction="directed"),
    "acyclic": GraphSpace((2, 5), ["a", "b"], ["x", "y"], direction="acyclic"),
}
SKELETON = LabeledGraph.from_edges(
    5, [(0, 1), (1, 2), (2, 4), (0, 3), (3, 4)], ["input", "a", "b", "a", "output"]
)


def draw(space: SearchSpace, count: int = 40) -> list[LabeledGraph]:
    return space.sample(count, np.random.default_rng(1))


def count(name: str, space: SearchSpace, graphs: list[LabeledGraph]) -> list[list[int]]:
    found: list[list[int]] = BLOCKS[name].count(space, space.batch(graphs)).tolist()
    return found


def richest(graph: LabeledGraph, op: str) -> int:
    """The most of an operation on a path, by listing all simple paths."""
    nodes, edges = graph.node_labels or [""] * graph.n, graph.edge_labels or {}
    network = nx.DiGraph(graph.edges)
    network.add_nodes_from(range(graph.n))
    paths: list[list[int]] = [[v] for v in network] + [
        path
        for u in network
        for v in network
        if u != v
        for path in nx.all_simple_paths(network, u, v)
    ]
    return max(
        len([v for v in path if nodes[v] == op])
        + len([edge for edge in pairwise(path) if edges.get(edge) == op])
        for path in paths
    )


@pytest.mark.parametrize("name", SPACES)
def test_operations_are_counted_on_nodes_and_edges(name: str) -> None:
    space = SPACES[name]
    graphs = draw(space)
    for graph, found in zip(graphs, count("operations", space, graphs), strict=True):
        labels = [*(graph.node_labels or ()), *(graph.edge_labels or {}).values()]
        assert found == [labels.count(op) for op in (*space.node_ops, *space.edge_vocabulary)]


@pytest.mark.parametrize("name", ["nodes", "edges", "darts", "chains", "acyclic"])
def test_longest_is_the_most_of_an_operation_on_any_path(name: str) -> None:
    space = SPACES[name]
    graphs = draw(space, 20)
    for graph, found in zip(graphs, count("longest", space, graphs), strict=True):
        ops = (*space.node_ops, *space.edge_vocabulary)
        assert found == [richest(graph, op) for op in ops]


def list_lengths(space: SearchSpace, graph: LabeledGraph) -> list[int]:
    """How many operations that are no identities each path from source to sink has."""
    network = nx.DiGraph(list(graph.edges))
    network.add_nodes_from(range(graph.n))
    nodes, edges = graph.node_labels or ("",) * graph.n, dict(graph.edge_labels or {})
    sources, sinks = (np.flatnonzero(ends[0]) for ends in space.ends(space.batch([graph])))
    working = {*space.node_ops, *space.edge_vocabulary} - {*space.identities}
    return [
        len([v for v in path if nodes[v] in working])
        + len([edge for edge in pairwise(path) if edges.get(edge) in working])
        for u in sources
        for v in sinks
        for path in nx.all_simple_paths(network, u, v)
    ]


@pytest.mark.parametrize("name", ["nodes that pass", "edges", "darts", "chains that pass"])
def test_lengths_count_the_paths_from_source_to_sink(name: str) -> None:
    space = SPACES[name]
    assert space.identities
    graphs = draw(space, 20)
    for graph, found in zip(graphs, count("lengths", space, graphs), strict=True):
        lengths = list_lengths(space, graph)
        assert found == [lengths.count(k) for k in range(len(found))]
        assert sum(found) == len(lengths) > 0


def test_a_shortcut_is_as_short_by_one_skip_connection_as_by_two() -> None:
    direct = LabeledGraph.from_edges(4, [(0, 3)], edge_labels=["skip_connect"])
    by_two = LabeledGraph.from_edges(
        4, [(0, 1), (1, 3)], edge_labels=["skip_connect", "skip_connect"]
    )
    by_pool = LabeledGraph.from_edges(
        4, [(0, 1), (1, 3)], edge_labels=["skip_connect", "avg_pool_3x3"]
    )
    one, two, longer = count("lengths", nasbench201(), [direct, by_two, by_pool])
    assert one == two == [1, 0, 0, 0]
    assert longer == [0, 1, 0, 0]


@pytest.mark.parametrize("name", ["Skip-Connect", "identity", "SKIP", "skip_connection"])
def test_identities_are_known_by_their_usual_names(name: str) -> None:
    assert EdgeLabeledSpace(3, ["conv", name]).identities == (name,)


def test_where_no_operation_passes_its_input_on_lengths_say_nothing() -> None:
    space = EdgeLabeledSpace(3, ["conv", "skipping", "pool"])
    assert space.identities == ()
    assert code_block("lengths", space).width == 0


def test_so_many_paths_that_nobody_needs_their_number() -> None:
    space = NodeLabeledSpace(12, ["skip", "conv"], max_edges=66)
    edges = [(u, v) for v in range(12) for u in range(v)]
    whole = LabeledGraph.from_edges(12, edges, ["input", *["conv"] * 10, "output"])
    assert count("lengths", space, [whole])[0] == [1, 10, 45, *[100] * 5, 45, 10, 1, 0, 0]


@pytest.mark.parametrize("block", ["longest", "lengths"])
@pytest.mark.parametrize("name", ["molecules", "cyclic"])
def test_graphs_with_cycles_have_no_paths_to_compare(name: str, block: str) -> None:
    assert code_block(block, SPACES[name]).width == 0


def describe_atom(graph: LabeledGraph, v: int, neighbours: bool) -> tuple[str, ...]:
    """An atom by its label and its bonds, with the atoms at their other ends if asked for."""
    labels, bonds = graph.node_labels or (), graph.edge_labels or {}
    near = [(label, u + w - v) for (u, w), label in bonds.items() if v in (u, w)]
    return (labels[v], *sorted(x + labels[w] if neighbours else x for x, w in near))


def test_surroundings_tell_atoms_apart_by_their_bonds_and_neighbours() -> None:
    space = SPACES["molecules"]
    graphs = draw(space, 60)
    found = np.array(count("surroundings", space, graphs))
    columns: dict[tuple[bool, tuple[str, ...]], set[int]] = {}
    for neighbours in (False, True):
        types = [Counter(describe_atom(g, v, neighbours) for v in range(g.n)) for g in graphs]
        for atom in set().union(*types):
            wanted = np.array([counted[atom] for counted in types])
            columns[neighbours, atom] = {*np.flatnonzero((wanted == found.T).all(axis=1)).tolist()}
    assert all(columns.values())  # each kind of atom has a column that counts it
    assert found.sum() == 2 * sum(g.n for g in graphs)  # each atom is counted twice


def test_surroundings_see_the_direction_of_edges() -> None:
    space = SPACES["cyclic"]
    into = LabeledGraph.from_edges(3, [(1, 0), (2, 0)], ["a", "b", "b"])
    out = LabeledGraph.from_edges(3, [(0, 1), (0, 2)], ["a", "b", "b"])
    one, two = count("surroundings", space, [into, out])
    assert sum(one) == sum(two) == 6
    assert one != two


@pytest.mark.parametrize("name", ["edges", "darts"])
def test_too_many_kinds_of_surroundings_are_not_told_apart(name: str) -> None:
    assert code_block("surroundings", SPACES[name]).width == 0


def test_shape_of_a_cell() -> None:
    found = count("shape", SPACES["nodes"], [SKELETON])
    assert found == [[3, 2, 5, 5, 2, 2]]  # depth, shortest path, nodes, edges, degrees


def test_operations_on_edges_are_the_nodes_of_a_shape() -> None:
    space = nasbench201()
    for graph, found in zip(draw(space), count("shape", space, draw(space)), strict=True):
        cell = turn_edges_into_nodes(graph)
        network = nx.DiGraph(cell.edges)
        lengths = [len(p) - 1 for p in nx.all_simple_paths(network, 0, cell.n - 1)]
        # A path through k operations has k + 1 edges there, and k here; input and output are nodes.
        assert found[:2] == [max(lengths) - 1, min(lengths) - 1]
        assert found[2:4] == [cell.n - 2, len(cell.edges)]
        assert found[4:] == [network.out_degree(0), network.in_degree(cell.n - 1)]


def test_depth_of_graphs_with_cycles_is_their_largest_distance() -> None:
    space = SPACES["cyclic"]
    ring = LabeledGraph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)], ["a"] * 4)
    assert count("shape", space, [ring])[0][:4] == [3, 1, 4, 4]


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("block", BLOCKS)
def test_isomorphic_graphs_have_the_same_counts(block: str, name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(2)
    if space.indexed or code_block(block, space).width == 0:
        pytest.skip("nodes have an index, or nothing is counted")
    for graph in draw(space, 10):
        order = rng.permutation(graph.n).tolist()
        labels = graph.node_labels and [graph.node_labels[order.index(i)] for i in range(graph.n)]
        edges = [(order[u], order[v]) for u, v in graph.edges]
        on_edges = graph.edge_labels and [graph.edge_labels[edge] for edge in graph.edges]
        turned = LabeledGraph.from_edges(graph.n, edges, labels, on_edges, graph.directed)
        assert count(block, space, [turned]) == count(block, space, [graph])


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("block", BLOCKS)
def test_products_of_codes_are_sums_of_minima(block: str, name: str) -> None:
    space = SPACES[name]
    code = code_block(block, space)
    counts = code.count(space.batch(draw(space))).astype(int)
    rows = code.encode(counts).astype(int)
    assert rows.shape[1] == code.width
    if code.width == 0:
        return
    minima = np.minimum(counts[:, None], counts[None]) - code.low
    assert (rows @ rows.T == minima.sum(axis=2)).all()


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("block", [name for name in BLOCKS if name != "surroundings"])
def test_no_graph_is_beyond_the_values_that_a_code_tells_apart(block: str, name: str) -> None:
    space = SPACES[name]
    code = code_block(block, space)
    if code.width == 0:
        pytest.skip("nothing is counted")
    raw = code.block.count(space, space.batch(draw(space, 200)))
    assert (raw >= code.low).all()
    assert (raw <= code.high).all()


@pytest.mark.parametrize("name", ["nodes", "edges", "molecules"])
@pytest.mark.parametrize("block", ["operations", "shape"])
def test_random_graphs_are_at_mean_squared_distance_one(block: str, name: str) -> None:
    features = FeatureMap(SPACES[name], (block,))
    rows = features.rows(draw(SPACES[name], 300))
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    others = ~np.eye(len(rows), dtype=bool)
    assert squares[others].mean() == pytest.approx(1.0, rel=0.2)  # another sample of the space


def test_a_block_that_says_nothing_in_a_space_has_no_columns() -> None:
    features = FeatureMap(ChainSpace(8, ["a", "b"]), (*PAPER_BLOCKS, "shape", "operations"))
    assert features.widths == (45, 0, 16, 16, 0)


def test_rows_of_further_blocks_follow_those_of_the_paper() -> None:
    space = nasbench101()
    graphs = draw(space, 10)
    paper, every = FeatureMap(space), FeatureMap(space, tuple(block_names()))
    assert (every.rows(graphs)[:, : sum(paper.widths)] == paper.rows(graphs)).all()
    assert every.rows(graphs).shape[1] == sum(every.widths)


def test_blocks_that_count_nothing_in_a_space_leave_empty_rows() -> None:
    assert FeatureMap(nasbench201(), ("nodes",)).rows(draw(nasbench201(), 3)).shape == (3, 0)


def test_blocks_can_be_left_out() -> None:
    space = nasbench201()
    graphs = draw(space, 10)
    g, n, e = FeatureMap(space).widths
    rows = FeatureMap(space, ("edges",)).rows(graphs)
    assert (rows == FeatureMap(space).rows(graphs)[:, g + n :]).all()
    assert rows.shape[1] == e


def test_names_are_checked_and_put_in_order() -> None:
    assert check_blocks(["longest", "paths", "longest"]) == ("paths", "longest")
    with pytest.raises(UnknownNameError, match="did you mean shape"):
        check_blocks(["shap"])


def test_blocks_that_the_whole_graph_decides_are_refused_where_bounds_are_needed() -> None:
    with pytest.raises(SettingError, match="nothing less than the whole graph decides surround"):
        require_bounded_blocks(nasbench101(), ("paths", "surroundings"), "branch and bound")
    require_bounded_blocks(nasbench101(), ("shape", "operations", "longest"), "branch and bound")


def test_too_many_numbers_of_operations_are_refused() -> None:
    with pytest.raises(SettingError, match=r"10,015,005 numbers of operations decide operations"):
        long = ChainSpace(20, [f"op{i}" for i in range(9)])
        require_bounded_blocks(long, ("operations",), "branch and bound")
    with pytest.raises(SettingError, match="numbers of operations decide operations"):
        require_bounded_blocks(molecules(8), ("operations",), "branch and bound")


@pytest.mark.parametrize("name", ["nodes", "edges", "darts", "chains"])
def test_what_is_said_to_decide_a_block_does(name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(2)
    for block in BLOCKS.values():
        if block.decided_by == "graph":
            continue
        seen: dict[object, list[int]] = {}
        for graph in space.sample(150, rng):
            labels = sorted(graph.node_labels or (graph.edge_labels or {}).values())
            key: object = tuple(labels)
            if block.decided_by == "structure":
                key = graph.adjacency.tobytes()
            if block.decided_by == "longest":
                key = tuple(count_longest(space, space.batch([graph]))[0].tolist())
            counts = block.count(space, space.batch([graph]))[0].tolist()
            assert seen.setdefault(key, counts) == counts
        assert len(seen) < 150  # some graphs share what decides
