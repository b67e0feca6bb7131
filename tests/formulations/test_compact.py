"""The compact formulation's own parts: convex split, counts, symmetry."""

from itertools import permutations

import numpy as np
import pytest

from nasgoat import EdgeLabeledSpace, GraphGP, LabeledGraph, LowerConfidenceBound, NodeLabeledSpace
from nasgoat.formulations import TaggedModel, formulate
from nasgoat.formulations.cell_domains import build_compact_domain, list_needed_columns
from nasgoat.formulations.variance_bound import find_convex_diagonal, find_directions
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import CellSpace, ChainSpace, DartsSpace
from nasgoat.spaces.names import list_topological_orders

NODE = NodeLabeledSpace(nodes=(4, 4), ops=["a", "b", "c"], max_edges=5)
SPACES: list[CellSpace] = [
    NODE,
    NodeLabeledSpace(nodes=(2, 5), ops=["a"], max_edges=7),
    EdgeLabeledSpace(nodes=4, ops=["a", "b"]),
    EdgeLabeledSpace(nodes=4, ops=["a"], connected=False),
    DartsSpace(nodes=5, ops=["a", "b"]),
    ChainSpace(layers=(2, 4), ops=["a", "b"]),
]


@pytest.mark.parametrize("space", SPACES)
def test_every_graph_satisfies_the_equations_and_bounds_of_the_counts(
    space: CellSpace,
) -> None:
    features = FeatureMap(space)
    for batch in space.enumerate():
        n = int(batch.sizes[0])
        columns = list_needed_columns(space, n, features)
        counts = build_compact_domain(TaggedModel(n), space, features, columns).counts
        z = features.counts(batch).astype(float)
        G, h = counts.make_matrix()
        assert np.abs(z @ G.T - h).max() == 0
        upper = np.array([c.upper if c.terms else c.constant for c in counts.counts])
        assert (z <= upper).all()


@pytest.mark.parametrize("space", SPACES)
def test_the_split_is_convex_and_exact(space: CellSpace) -> None:
    rng = np.random.default_rng(1)
    cells = space.sample(10, rng)
    lcb = LowerConfidenceBound().given(
        GraphGP(space, noise=1e-2).fit(cells, rng.random(len(cells)).tolist())
    )
    for n in space.sizes:
        model = formulate(space, lcb, "compact", nodes=n)
        for cell in space.with_nodes(n).sample(5, rng):
            values = model.encode(cell)
            assert model.rows.list_violations(values) == []
            # The row is tight: any larger σ violates it, so it is exact and not a relaxation.
            more = {**values, "sigma": values["sigma"] + 1e-3, "lcb": values["lcb"] - 3e-3}
            assert [v.row for v in model.rows.list_violations(more, 1e-9)] == ["(Acq_Opt)variance"]


def test_the_diagonal_is_convex_on_random_problems() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 30):
        factor = rng.normal(size=(size, size))
        covariance = factor @ factor.T
        V = find_directions(rng.normal(size=(size // 3, size)), size)
        d = find_convex_diagonal(covariance, V, np.ones(size))
        least = np.linalg.eigvalsh(V.T @ (np.diag(d) - covariance) @ V)[0]
        assert least >= -1e-9 * np.linalg.eigvalsh(covariance)[-1]
        assert d.sum() <= 2 * size * np.linalg.eigvalsh(covariance)[-1]


def test_counts_are_forced_once_graph_and_labels_are_fixed() -> None:
    cell = NODE.sample(1, np.random.default_rng(2))[0]
    lcb = LowerConfidenceBound().given(GraphGP(NODE, noise=1e-2).fit([cell], [1.0]))
    model = formulate(NODE, lcb)
    values = model.encode(cell)
    counts = [name for name in values if name[:2] in ("p(", "f(", "t(", "R(", "z(")]
    assert {name[0] for name in counts} == {*"pftRz"}
    for name in counts:
        assert model.rows.list_violations({**values, name: values[name] + 0.5}), name


def test_topological_orders_are_all_found_once() -> None:
    graph = LabeledGraph.from_edges(
        5, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)], ["input", "a", "a", "b", "output"]
    )
    expected = {
        relabeled
        for order in permutations(range(5))
        if not np.tril((relabeled := graph.relabeled(order)).adjacency).any()
    }
    assert set(list_topological_orders(graph, 100)) == expected
    assert len(list_topological_orders(graph, 2)) == 2
