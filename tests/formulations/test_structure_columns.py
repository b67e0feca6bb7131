"""A list of structures as columns: the same cells, each in one order, and nothing else."""

import numpy as np
import pytest

from nasgoat import LabeledGraph, NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.errors import GraphError
from nasgoat.formulations import AcquisitionModel, TaggedModel, formulate, name_entry
from nasgoat.formulations.cell_domains import build_compact_domain
from nasgoat.formulations.structure_columns import (
    ColumnBounds,
    StructureColumns,
    value_structures,
)
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.summaries import list_compositions
from nasgoat.solvers.scip_model import ScipModel
from nasgoat.spaces.structures import list_acyclic_structures
from nasgoat.surrogate import LinearPosterior
from nasgoat.surrogate.posterior import require_known_form

SPACE = NodeLabeledSpace(nodes=(6, 6), ops=["a", "b", "c"], max_edges=8)
PROBLEM = random_problem(SPACE, 20, seed=1)


def whole_list(space: NodeLabeledSpace, n: int) -> StructureColumns:
    adjacency = list_acyclic_structures(n, space.edge_limit).adjacency
    every = list_compositions(n - 2, len(space.ops))
    return StructureColumns(adjacency, {C: unbounded(np.arange(len(adjacency))) for C in every})


def unbounded(structures: np.ndarray) -> ColumnBounds:
    return ColumnBounds(structures, np.full(len(structures), -np.inf))


@pytest.fixture(scope="module")
def model() -> AcquisitionModel:
    return formulate(SPACE, PROBLEM.acquisition, columns=whole_list(SPACE, 6))


@pytest.mark.parametrize("seed", range(10))
def test_every_cell_is_a_point_with_its_value(model: AcquisitionModel, seed: int) -> None:
    [cell] = SPACE.sample(1, np.random.default_rng(seed))
    values = model.encode(cell)
    assert model.rows.list_violations(values) == []
    assert values["lcb"] == pytest.approx(float(PROBLEM.acquisition.score([cell])[0]))
    assert SPACE.key(model.decode(values)) == SPACE.key(cell)
    assert [x for name, x in values.items() if name.startswith("X(")].count(1.0) == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_binary_value_violates_a_row(model: AcquisitionModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    [cell] = SPACE.sample(1, rng)
    values = model.encode(cell)
    binary = [name_entry(x) for x in model.rows.list_variables() if x.is_binary()]
    for name in rng.choice(binary, 40, replace=False):
        wrong = {**values, name: 1 - values[name]}
        assert model.rows.list_violations(wrong), name


@pytest.mark.parametrize(("n", "ops"), [(3, 2), (4, 1), (4, 2), (5, 1)])
def test_scip_counts_each_structure_under_all_labels(n: int, ops: int) -> None:
    space = NodeLabeledSpace(n, ["a", "b"][:ops])
    rows, columns = TaggedModel(n), whole_list(space, n)
    build_compact_domain(rows, space, FeatureMap(space), columns)
    assert ScipModel(rows).count() == len(columns.adjacency) * ops ** (n - 2)


def test_the_parts_bounds_are_exact_at_their_cells() -> None:
    rng = np.random.default_rng(3)
    whole = whole_list(SPACE, 6)
    some = {
        C: np.sort(rng.choice(len(whole.adjacency), 40, replace=False)) for C in whole.allowed or {}
    }
    columns = StructureColumns(whole.adjacency, {C: unbounded(rows) for C, rows in some.items()})
    model = formulate(SPACE, PROBLEM.acquisition, columns=columns)
    for i, C in enumerate(sorted(some)):
        labels = rng.permutation(np.repeat(["a", "b", "c"], C)).tolist()
        structure = whole.adjacency[rng.choice(some[C])]
        values = model.encode(LabeledGraph(structure, ("input", *labels, "output")))
        part = model.rows.parts[i]
        assert values[name_entry(part.chosen)] == 1
        assert [values[name_entry(x)] for x in part.columns].count(1.0) == 1
        bound = part.variance()
        affine = bound.constant + sum(c * values[name_entry(x)] for c, x in bound.affine)
        q = bound.B.T @ (np.array([values[name_entry(x)] for x in bound.z]) - bound.centre)
        assert affine - q @ q == pytest.approx(values["sigma"] ** 2, abs=1e-7)


def test_labels_that_no_composition_has_are_left_out() -> None:
    whole = whole_list(SPACE, 6)
    some = {C: bounds for C, bounds in (whole.allowed or {}).items() if C[0] == 0}
    model = formulate(SPACE, PROBLEM.acquisition, columns=StructureColumns(whole.adjacency, some))
    labels = {name[-2] for name in model.list_decisions() if name.startswith("F(")}
    assert labels == {"2", "3"}
    cell = LabeledGraph(whole.adjacency[7], ("input", "b", "c", "c", "b", "output"))
    values = model.encode(cell)
    assert model.rows.list_violations(values) == []
    assert values["lcb"] == pytest.approx(float(PROBLEM.acquisition.score([cell])[0]))
    assert model.decode(values) == cell


def test_a_graph_finds_its_place_from_any_order() -> None:
    columns, rng = whole_list(SPACE, 6), np.random.default_rng(0)
    held = {matrix.tobytes() for matrix in columns.adjacency}
    for cell in SPACE.sample(20, rng):
        shuffled = cell.relabeled(rng.permutation(6).tolist())
        ordered = columns.order(shuffled)
        assert ordered.adjacency.tobytes() in held
        assert SPACE.key(ordered.sorted_topologically()) == SPACE.key(cell)


def test_a_structure_that_is_not_listed_is_refused() -> None:
    chain = np.eye(6, k=1, dtype=bool)[None]
    columns = StructureColumns(chain, {(4, 0, 0): unbounded(np.array([0]))})
    cell = LabeledGraph.from_edges(3, [(0, 1), (1, 2), (0, 2)])
    with pytest.raises(GraphError, match="must be in the list"):
        columns.order(cell)


def test_values_under_labels_are_those_of_the_surrogate() -> None:
    whole, rng = whole_list(SPACE, 6), np.random.default_rng(5)
    posterior = require_known_form(PROBLEM.acquisition.gp.posterior_)
    assert isinstance(posterior, LinearPosterior)
    features = FeatureMap(SPACE)
    values = value_structures(
        whole.distances,
        features,
        posterior.fold_to_counts(features, 6),
        PROBLEM.acquisition.sqrt_beta,
    )
    for _ in range(5):
        codes = rng.integers(1, 4, size=4).tolist()
        names = tuple(SPACE.node_vocabulary[c] for c in (0, *codes, 4))
        cells = [LabeledGraph(matrix, names) for matrix in whole.adjacency]
        assert values(codes) == pytest.approx(PROBLEM.acquisition.score(cells))
