"""A family of one's own has both formulations: by its rows, or by the list of its structures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import Catalogue
from nasgoat.acquisition import Status, random_problem
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.formulations import (
    FORMULATIONS,
    LAYOUTS,
    build_domain,
    formulate,
    graph_encoding,
    name_entry,
)
from nasgoat.formulations.cell_domains import restrict_to_paper_domain
from nasgoat.solvers import SolveLimits
from nasgoat.solvers.scip_model import ScipModel
from nasgoat.spaces import CellSpace, ChainSpace, EdgeRow
from nasgoat.spaces.limits import Limit
from nasgoat.spaces.names import list_topological_orders
from nasgoat.spaces.structures import list_acyclic_structures

#: Both sides score with the same posterior; only the order of sums may differ.
AGREEMENT = 1e-6


@dataclass(frozen=True)
class Sparse(CellSpace):
    """Cells of 3 to ``nodes`` nodes with at most as many edges as nodes, labels on nodes."""

    nodes: int
    ops: Sequence[str]
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    kind = "sparse"
    labels_on: ClassVar[Literal["nodes", "edges"]] = "nodes"

    @property
    def sizes(self) -> range:
        return range(3, self.nodes + 1)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        yield list_acyclic_structures(n, n).adjacency

    def with_nodes(self, n: int) -> CellSpace:
        return self if n == self.nodes else Sparse(n, self.ops, limits=self.limits)


@dataclass(frozen=True)
class SparseByRows(Sparse):
    """The same cells, told by rows."""

    def structure_rows(self, n: int) -> list[EdgeRow]:
        every = {(u, v): 1.0 for u in range(n) for v in range(u + 1, n)}
        return [EdgeRow("sparse", "edges", (), every, "<=", n)]


@dataclass(frozen=True)
class SparseByLopsidedRows(Sparse):
    """A row that tells inner nodes apart, which labels on nodes do not allow."""

    def structure_rows(self, n: int) -> list[EdgeRow]:
        return [EdgeRow("sparse", "first", (), {(0, 1): 1.0}, "==", 1.0)]


@dataclass(frozen=True)
class Skips(CellSpace):
    """A chain of four indexed nodes, with one edge that skips a node or none; labels on edges."""

    ops: Sequence[str]
    limits: tuple[Limit, ...] = field(default=(), kw_only=True)
    kind = "skips"
    labels_on: ClassVar[Literal["nodes", "edges"]] = "edges"

    @property
    def sizes(self) -> range:
        return range(4, 5)

    def structures(self, n: int) -> Iterator[NDArray[np.bool_]]:
        chain = np.eye(n, k=1, dtype=bool)
        skips = [chain.copy() for _ in range(n - 2)]
        for i, matrix in enumerate(skips):
            matrix[i, i + 2] = True
        yield np.array([chain, *skips])


FAMILIES: list[CellSpace] = [
    Sparse(4, ["a", "b"]),
    SparseByRows(4, ["a", "b"]),
    SparseByLopsidedRows(4, ["a", "b"]),
    Skips(["a", "b"]),
    ChainSpace(layers=(2, 3), ops=["a", "b"]),
    ChainSpace(layers=2, ops=["a"]),
]
FEW_ROWS = [FAMILIES[0], FAMILIES[3]]


@pytest.mark.parametrize("space", FAMILIES, ids=lambda space: type(space).__name__)
def test_scip_counts_the_cells_of_every_size(space: CellSpace) -> None:
    by_rows = type(space) is SparseByRows
    for n in space.sizes:
        if space.labels_on == "edges":
            expected = sum(len(space.ops) ** int(a.sum()) for a in space.listed[n].adjacency)
        else:
            expected = len(space.listed[n].adjacency) * len(space.ops) ** (n - 2)
        if by_rows:  # every topological order is a point of its own
            cells = [g for batch in space.enumerate() for g in batch if g.n == n]
            expected = sum(len(list_topological_orders(g, 100)) for g in cells)
        assert ScipModel(build_domain(space, n)).count() == expected
        rows = graph_encoding(n)
        restrict_to_paper_domain(rows, space)
        assert ScipModel(rows).count() == expected


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("space", FAMILIES, ids=lambda space: type(space).__name__)
def test_every_cell_is_a_point_with_its_value(
    space: CellSpace, form: str, formulation: str
) -> None:
    lcb = random_problem(space, 5, kernel=form).acquisition
    for n in space.sizes:
        model = formulate(space, lcb, formulation, nodes=n)
        for cell in space.with_nodes(n).sample(4, np.random.default_rng(1)):
            values = model.encode(cell)
            assert model.rows.list_violations(values) == []
            assert values["lcb"] == pytest.approx(float(lcb.score([cell])[0]), abs=AGREEMENT)
            assert space.key(model.decode(values)) == space.key(cell)


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("space", FAMILIES[:5], ids=lambda space: type(space).__name__)
def test_scip_finds_the_catalogues_best(space: CellSpace, independent: bool) -> None:
    lcb = random_problem(space, 6, seed=2).acquisition
    limits = SolveLimits(gap=0.0, threads=1)
    optimizer = MipOptimizer(space, limits=limits, child=False, independent=independent)
    pool, expected = optimizer.optimize(lcb, 4), Catalogue(space).optimize(lcb, 4)
    assert [p.lcb for p in pool] == pytest.approx([p.lcb for p in expected], abs=AGREEMENT)
    assert all(p.certificate.status is Status.OPTIMAL for p in pool)


@pytest.mark.parametrize("space", FEW_ROWS, ids=lambda space: type(space).__name__)
def test_the_papers_formulation_agrees(space: CellSpace) -> None:
    part = space.with_nodes(space.sizes[0])
    lcb = random_problem(part, 3, seed=2).acquisition
    optimizer = MipOptimizer(part, formulation="paper", limits=SolveLimits(gap=0.0), child=False)
    pool, expected = optimizer.optimize(lcb, 2), Catalogue(part).optimize(lcb, 2)
    assert [p.lcb for p in pool] == pytest.approx([p.lcb for p in expected], abs=AGREEMENT)


def test_rows_of_a_family_carry_its_own_tag() -> None:
    space = FAMILIES[1]
    for formulation in FORMULATIONS:
        model = formulate(space, random_problem(space, 4).acquisition, formulation)
        names = [name_entry(row) for row in model.rows.list_constraints()]
        assert "(sparse)edges" in names
        assert not any(name.startswith("(structures)") for name in names)


def test_a_layout_of_ones_own_is_an_entry_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAYOUTS, "mine", LAYOUTS["cell"])
    monkeypatch.setattr(Skips, "layout", "mine")
    space = Skips(["a", "b"])
    assert formulate(space, random_problem(space, 4).acquisition).n == 4
