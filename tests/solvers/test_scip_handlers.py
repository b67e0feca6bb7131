"""Cuts at integral labels hold for every cell, and are tight at the labels they were made for."""

import numpy as np
import pytest

from nasgoat import NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.cells.composition_bounds import choose_columns
from nasgoat.formulations import formulate, name_entry
from nasgoat.solvers.scip_handlers import LabelCuts
from nasgoat.solvers.scip_model import ScipModel

SPACE = NodeLabeledSpace(nodes=(6, 6), ops=["a", "b", "c"], max_edges=8)


class Recorder:
    """Stands for SCIP at one solution, and keeps the rows it is given."""

    def __init__(self, values: dict[str, float]) -> None:
        self.values = values
        self.rows: list[dict[str, float]] = []
        self.lhs: list[float] = []

    def getSolVal(self, solution: None, var: object) -> float:  # noqa: N802
        return self.values[var.name]  # type: ignore[attr-defined]

    def createEmptyRowUnspec(self, name: str, lhs: float, **_: object) -> int:  # noqa: N802
        self.rows.append({})
        self.lhs.append(lhs)
        return len(self.rows) - 1

    def addVarToRow(self, row: int, var: object, coefficient: float) -> None:  # noqa: N802
        self.rows[row][var.name] = coefficient  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return lambda *_, **__: None


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_holds_for_all_cells_and_is_tight_at_its_own(seed: int) -> None:
    acquisition = random_problem(SPACE, 25, seed=seed).acquisition
    search = BranchAndBound(SPACE)
    value = search.optimize(acquisition, 40)[-1].lcb
    assert value is not None
    columns = choose_columns(search, acquisition, 6, value, np.inf)
    assert columns is not None
    model = formulate(SPACE, acquisition, columns=columns)
    whole = ScipModel(model.rows, separated=True)
    below = [p.graph for p in search.optimize(acquisition, 39)]
    points = [model.encode(graph) for graph in below]
    checked = 0
    for part in model.rows.parts:
        mine = [p for p in points if p[name_entry(part.chosen)] > 0.5]
        held = whole.copy_part(part)
        assert part.values is not None
        for point in mine:
            cuts = LabelCuts(held, part)
            scip = Recorder({**point, "lcb": -1e6})  # far below: the cut is violated
            assert cuts.separate(scip)
            [row], [lhs] = scip.rows, scip.lhs
            slack = [sum(c * other[x] for x, c in row.items()) - lhs for other in mine]
            assert min(slack) >= -1e-6
            assert slack[mine.index(point)] == pytest.approx(0.0, abs=1e-6)
            checked += 1
    assert checked == len(points)
