"""Theorem 1 by trial: a graph's point satisfies every row, and any wrong value violates one."""

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nasgoat import EdgeLabeledSpace, GraphGP, LabeledGraph, LowerConfidenceBound, NodeLabeledSpace
from nasgoat.errors import GraphError, SpaceError, UnknownNameError
from nasgoat.formulations import AcquisitionModel, GraphPoint, formulate, graph_encoding
from nasgoat.formulations.graph_encoding import (
    restrict_acyclic,
    restrict_strongly_connected,
    restrict_undirected,
)
from nasgoat.formulations.tagged_model import name_entry
from nasgoat.graphs.shortest_paths import find_distances

Space = NodeLabeledSpace | EdgeLabeledSpace
NODE = NodeLabeledSpace(nodes=(2, 4), ops=["a", "b"], max_edges=5)
EDGE = EdgeLabeledSpace(nodes=4, ops=["a", "b"])
ANY = EdgeLabeledSpace(nodes=3, ops=["a", "b"], connected=False)
SPACES: dict[str, Space] = {"node": NODE, "edge": EDGE, "unconnected": ANY}
#: μ, σ and the kernel are sums of about 50 products of order 1.
ROUNDING = 1e-7
ENCODINGS = {n: graph_encoding(n, 1) for n in (1, 2, 3, 4)}


@st.composite
def digraphs(draw: st.DrawFn, largest: int = 4) -> LabeledGraph:
    n = draw(st.integers(1, largest))
    bits = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    matrix = np.array(bits).reshape(n, n)
    np.fill_diagonal(matrix, False)
    return LabeledGraph(matrix)


def acquisition(space: Space, form: str) -> LowerConfidenceBound:
    rng = np.random.default_rng(7)
    cells = space.sample(8, rng)
    return LowerConfidenceBound().given(
        GraphGP(space, kernel=form, noise=1e-2).fit(cells, (rng.random(len(cells)) + 0.5).tolist())
    )


MODELS: dict[tuple[str, str, str, bool], tuple[AcquisitionModel, LowerConfidenceBound]] = {}


def model_of(
    name: str, form: str, formulation: str, symmetry: bool = False
) -> tuple[AcquisitionModel, LowerConfidenceBound]:
    key = (name, form, formulation, symmetry)
    if key not in MODELS:
        lcb = acquisition(SPACES[name], form)
        MODELS[key] = (formulate(SPACES[name], lcb, formulation, symmetry=symmetry), lcb)
    return MODELS[key]


def cells_of(space: Space, count: int = 12) -> list[LabeledGraph]:
    return space.with_nodes(space.sizes[-1]).sample(count, np.random.default_rng(3))


@settings(max_examples=60, deadline=None)
@given(digraphs(), st.integers(0, 3))
def test_every_digraph_satisfies_the_graph_encoding(graph: LabeledGraph, more: int) -> None:
    rows = ENCODINGS[min(graph.n + more, 4)]
    assert rows.list_violations(rows.compute_values(GraphPoint(graph, rows.n))) == []


@settings(max_examples=60, deadline=None)
@given(digraphs(3), st.data())
def test_any_single_wrong_value_violates_the_graph_encoding(
    graph: LabeledGraph, data: st.DataObject
) -> None:
    rows = ENCODINGS[3]
    values = rows.compute_values(GraphPoint(graph, 3))
    name = data.draw(st.sampled_from(sorted(values)))
    largest = 3 if name.startswith("d(") else 1
    wrong = data.draw(st.integers(0, largest).filter(lambda x: x != values[name]))
    # An isolated last node may also not exist: both are graphs, so this one is no error.
    other = {**values, name: float(wrong)}
    sizes = [v for v in range(3) if other[f"A({v},{v})"]]
    assume(name not in (f"A({len(sizes)},{len(sizes)})", f"A({len(sizes) - 1},{len(sizes) - 1})"))
    assert rows.list_violations(other)


def test_restrictions_admit_exactly_their_graphs() -> None:
    edge = LabeledGraph.from_edges(3, [(0, 1), (1, 2)])
    cycle = LabeledGraph.from_edges(3, [(0, 1), (1, 2), (2, 0)])
    both = LabeledGraph.from_edges(3, [(0, 1), (1, 0), (1, 2), (2, 1)])
    expected = {
        restrict_undirected: (False, False, True),
        restrict_strongly_connected: (False, True, True),
        restrict_acyclic: (True, False, False),
    }
    for restrict, admitted in expected.items():
        rows = graph_encoding(3)
        restrict(rows)
        for graph, fine in zip((edge, cycle, both), admitted, strict=True):
            assert (not rows.list_violations(rows.compute_values(GraphPoint(graph, 3)))) is fine


@pytest.mark.parametrize("formulation", ["paper", "compact"])
@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("name", list(SPACES))
def test_encode_satisfies_every_row_and_decode_inverts_it(
    name: str, form: str, formulation: str
) -> None:
    model, lcb = model_of(name, form, formulation)
    for cell in cells_of(SPACES[name]):
        values = model.encode(cell)
        assert model.rows.list_violations(values) == []
        assert model.decode(values) == model.order(cell)
        assert values["lcb"] == pytest.approx(float(lcb.score([cell])[0]), abs=ROUNDING)


@pytest.mark.parametrize("formulation", ["paper", "compact"])
@pytest.mark.parametrize("name", list(SPACES))
def test_any_single_wrong_binary_violates_a_row(name: str, formulation: str) -> None:
    model, _ = model_of(name, "linear", formulation)
    rng = np.random.default_rng(0)
    binaries = [v for v in model.rows.list_variables() if v.is_binary()]
    assert len(binaries) > 5
    for cell in cells_of(SPACES[name], 2):
        values = model.encode(cell)
        for var in rng.permutation(np.array(binaries, dtype=object))[:12]:
            name_of = name_entry(var)
            wrong = {**values, name_of: 1 - values[name_of]}
            assert model.rows.list_violations(wrong), name_of


def test_symmetry_rows_keep_an_order_of_every_graph() -> None:
    model, _ = model_of("node", "linear", "compact", symmetry=True)
    for cell in cells_of(NODE, 40):
        values = model.encode(cell)
        assert model.rows.list_violations(values) == []
        assert NODE.key(model.decode(values)) == NODE.key(cell)


def test_missing_node_is_infinitely_far() -> None:
    point = GraphPoint(LabeledGraph.from_edges(2, [(0, 1)]), 4)
    assert point.d[0, 3] == 4
    assert point.r[3, 0] == 0
    assert point.delta[0, 3].tolist() == [1, 0, 0, 1]


@settings(max_examples=50, deadline=None)
@given(digraphs())
def test_delta_marks_exactly_the_nodes_on_shortest_paths(graph: LabeledGraph) -> None:
    point = GraphPoint(graph, graph.n)
    d = find_distances(graph.adjacency[None])[0]
    for u in range(graph.n):
        for v in range(graph.n):
            for w in {*range(graph.n)} - {u, v}:
                on_path = u != v and d[u, v] < graph.n and d[u, w] + d[w, v] == d[u, v]
                assert point.delta[u, v, w] == int(on_path)


def test_a_graph_of_another_space_is_refused() -> None:
    model, _ = model_of("node", "linear", "compact")
    with pytest.raises(GraphError, match="must"):
        model.encode(LabeledGraph.from_edges(2, [(0, 1)], ["input", "nonsense"]))
    with pytest.raises(GraphError, match="must have 4 nodes"):
        model.encode(LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"]))


def test_wrong_names_and_sizes_are_refused() -> None:
    lcb = acquisition(NODE, "linear")
    with pytest.raises(UnknownNameError, match="compact"):
        formulate(NODE, lcb, "compcat")
    with pytest.raises(SpaceError, match="from 2 to 4"):
        formulate(NODE, lcb, nodes=9)


def test_sizes_of_the_models() -> None:
    """Counts of variables: the paper's Table 1 and Appendix B, for n = 4 and four labels."""
    paper, _ = model_of("node", "linear", "paper")
    n, labels, t = 4, 4, 8
    graph = 3 * n**2 + n**3 + n * labels
    kernel = n**2 * (n + 1) + n**3 * labels**2 + n * labels**2 * (n**2 + 2) + labels * (n + 2)
    assert paper.variables == graph + kernel + t + 4  # K_xx, μ, σ and the LCB
    compact, _ = model_of("node", "linear", "compact")
    assert compact.variables < paper.variables / 10


def test_every_row_name_starts_with_a_tag() -> None:
    for formulation in ("paper", "compact"):
        model, _ = model_of("edge", "exponential", formulation)
        assert all(name_entry(row).startswith("(") for row in model.rows.list_constraints())
        assert list(model.pyomo.component_data_objects(pyo.Objective))
