"""The bounds of the variance are exact at every cell, and their tangents never cut one off."""

import numpy as np
import pytest

from nasgoat import EdgeLabeledSpace, NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.formulations import AcquisitionModel, formulate, name_entry
from nasgoat.formulations.variance_bound import VarianceBound

SPACE = NodeLabeledSpace(nodes=(6, 6), ops=["a", "b", "c"], max_edges=8)


@pytest.fixture(scope="module")
def model() -> AcquisitionModel:
    return formulate(SPACE, random_problem(SPACE, 20, seed=1).acquisition)


def sides(bound: VarianceBound, values: dict[str, float]) -> tuple[float, float, np.ndarray]:
    """σ², a, and z at a point."""
    affine = bound.constant + sum(c * values[name_entry(x)] for c, x in bound.affine)
    z = np.array([values[name_entry(x)] for x in bound.z])
    return values["sigma"] ** 2, affine, z


def own_bound(model: AcquisitionModel, values: dict[str, float]) -> VarianceBound:
    own = [part for part in model.rows.parts if values[name_entry(part.chosen)] > 0.5]
    assert len(own) == 1
    bound: VarianceBound = own[0].variance()
    return bound


def test_there_is_a_part_for_every_composition(model: AcquisitionModel) -> None:
    assert len(model.rows.parts) == 15  # four inner nodes, three operations


@pytest.mark.parametrize("seed", range(12))
def test_both_bounds_are_exact_at_a_cell(model: AcquisitionModel, seed: int) -> None:
    [cell] = SPACE.sample(1, np.random.default_rng(seed))
    values = model.encode(cell)
    for bound in (model.rows.variance, own_bound(model, values)):
        variance, affine, z = sides(bound, values)
        q = bound.B.T @ (z - bound.centre)
        assert affine - q @ q == pytest.approx(variance, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_no_tangent_cuts_a_cell_off(model: AcquisitionModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for cell in SPACE.sample(5, rng):
        values = model.encode(cell)
        for bound in (model.rows.variance, own_bound(model, values)):
            _, affine, z = sides(bound, values)
            elsewhere = z + rng.normal(size=z.shape)
            tangent = bound.find_tangent(elsewhere, affine * rng.uniform(0.0, 3.0))
            most = tangent.slope * affine + tangent.slopes @ z + tangent.constant
            assert values["sigma"] <= most + 1e-9


def test_edge_labelled_cells_have_a_bound_and_no_parts() -> None:
    space = EdgeLabeledSpace(nodes=4, ops=["a", "b"])
    rows = formulate(space, random_problem(space, 10).acquisition).rows
    assert rows.variance is not None
    assert rows.parts == []
