"""Each condition of the paper does something, and the kernel rows state the kernel."""

import functools
from itertools import product

import numpy as np
import pytest

from nasgoat import EdgeLabeledSpace, GraphGP, LabeledGraph, LowerConfidenceBound, NodeLabeledSpace
from nasgoat.formulations import GraphPoint, formulate
from nasgoat.formulations.graph_encoding import CONDITIONS, add_graph_variables, condition_c1
from nasgoat.formulations.tagged_model import TaggedModel

PATH = LabeledGraph.from_edges(3, [(0, 1), (1, 2)])


def rows_without(tag: str) -> TaggedModel:
    m = TaggedModel(3)
    add_graph_variables(m)
    if tag != "C1":
        condition_c1(m, 1)
    for condition in CONDITIONS:
        if condition.__name__ != f"condition_{tag.lower()}":
            condition(m)
    return m


def tags(m: TaggedModel, values: dict[str, float]) -> set[str]:
    return {v.row[1:3] for v in m.list_violations(values) if v.row.startswith("(C")}


@functools.cache
def wrong_points() -> list[tuple[dict[str, float], set[str]]]:
    """Graphs with one wrong value, and the conditions that each violates."""
    whole = rows_without("")
    found = []
    for bits in product((0, 1), repeat=2):
        edges = [edge for edge, bit in zip(PATH.edges, bits, strict=True) if bit]
        graph = LabeledGraph.from_edges(3, edges)
        values = whole.compute_values(GraphPoint(graph, 3))
        for name, value in values.items():
            largest = 3 if name.startswith("d(") else 1
            for wrong in {*range(largest + 1)} - {int(value)}:
                changed = {**values, name: float(wrong)}
                found.append((changed, tags(whole, changed)))
    return found


@pytest.mark.parametrize("tag", ["C1", "C2", "C3", "C4", "C5", "C7", "C8"])
def test_without_a_condition_the_encoding_admits_a_wrong_point(tag: str) -> None:
    without = rows_without(tag)
    found = False
    for changed, violated in wrong_points():
        found |= tag in violated
        assert tag not in tags(without, changed)
    assert found


def test_c6_forbids_a_node_on_a_path_that_is_not_reached() -> None:
    m = rows_without("")
    values = m.compute_values(GraphPoint(PATH, 3))
    violated = tags(m, {**values, "delta(1,0,2)": 1.0})
    assert "C6" in violated


@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize(
    "space",
    [NodeLabeledSpace(nodes=(3, 3), ops=["a", "b"], max_edges=3), EdgeLabeledSpace(3, ["a", "b"])],
)
def test_kernel_rows_state_the_kernel(
    space: NodeLabeledSpace | EdgeLabeledSpace, form: str
) -> None:
    cells = space.sample(4, np.random.default_rng(0))
    gp = GraphGP(space, kernel=form, noise=1e-2).fit(cells, [1.0, 2.0, 3.0, 4.0])
    model = formulate(space, LowerConfidenceBound().given(gp), "paper")
    kernel, rows = gp.gpr_.kernel_, gp.features.rows(cells)
    for i, cell in enumerate(cells):
        values = model.encode(cell)
        expected = kernel(rows[i : i + 1], gp.gpr_.X_train_)[0]
        assert [values[f"K({j})"] for j in range(len(expected))] == pytest.approx(expected)
        assert values["K_xx"] == pytest.approx(kernel.diag(rows[i : i + 1])[0])
        assert model.rows.list_violations(values) == []
        for name in ("K(0)", "K_xx", "mu", "lcb"):
            assert model.rows.list_violations({**values, name: values[name] + 1e-2})
