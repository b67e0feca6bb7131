"""Agreement: what SCIP proves equals what the catalogue lists."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nasgoat import (
    Catalogue,
    EdgeLabeledSpace,
    GraphGP,
    LabeledGraph,
    LowerConfidenceBound,
    NodeLabeledSpace,
    Pool,
)
from nasgoat.acquisition import Status
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.acquisition.mip_sizes import check_model
from nasgoat.acquisition.part_sums import Sieve
from nasgoat.acquisition.scalarisations import Chebyshev
from nasgoat.acquisition.several_objectives import KnownCost
from nasgoat.errors import ModelError, SettingError, UnknownNameError
from nasgoat.formulations import formulate
from nasgoat.solvers import SolveLimits, SolverError
from nasgoat.spaces import SearchSpace
from nasgoat.testing.agreement import assert_honest

#: Both sides score with the same posterior; only the order of sums may differ.
AGREEMENT = 1e-6
OPS = ["conv3x3", "conv1x1", "maxpool3x3"]


def acquisition(
    space: SearchSpace, t: int, form: str, seed: int
) -> tuple[LowerConfidenceBound, set[bytes]]:
    rng = np.random.default_rng(seed)
    cells = space.sample(t, rng)
    gp = GraphGP(space, kernel=form, noise=1e-3, target="plain")
    rows = gp.features.rows(cells)
    errors = rows @ rng.normal(size=rows.shape[1]) + 0.01 * rng.normal(size=len(cells))
    lcb = LowerConfidenceBound().given(gp.fit(cells, errors.tolist()))
    return lcb, {space.key(cell) for cell in cells}


def problems(count: int, largest: int) -> Iterator[tuple[int, SearchSpace, int, str, bool]]:
    """Random problems: sizes 3 to ``largest``, 1 to 150 observations, both kernels and kinds."""
    rng = np.random.default_rng(2024)
    for seed in range(count):
        form = ("linear", "exponential")[int(rng.random() < 0.3)]
        most = 40 if form == "exponential" else 150
        t = int(rng.integers(1, most + 1))
        space: SearchSpace
        if rng.random() < 0.35:
            n, ops = (4, int(rng.integers(1, 4))) if rng.random() < 0.7 else (3, 4)
            connected = bool(rng.random() < 0.7)
            space = EdgeLabeledSpace(nodes=n, ops=["a", "b", "c", "d"][:ops], connected=connected)
        else:
            n = int(rng.integers(3, largest + 1))
            low = int(rng.integers(2, n + 1))
            ops = int(rng.integers(1, 4))
            edges = n + int(rng.integers(0, 3))
            space = NodeLabeledSpace(nodes=(low, n), ops=OPS[:ops], max_edges=edges)
        yield seed, space, t, form, bool(rng.random() < 0.5)


def assert_agrees(pool: Pool, expected: Pool) -> None:
    assert len(pool) == len(expected)
    found = [proposal.lcb for proposal in pool]
    assert found == pytest.approx([p.lcb for p in expected], abs=AGREEMENT)
    assert all(p.certificate.status is Status.OPTIMAL for p in pool)


@pytest.mark.parametrize(("seed", "space", "t", "form", "excluding"), list(problems(25, 4)))
def test_scip_finds_the_catalogues_five_best(
    seed: int, space: SearchSpace, t: int, form: str, excluding: bool
) -> None:
    lcb, seen = acquisition(space, t, form, seed)
    exclude = seen if excluding else set()
    # Half of them without first graphs from branch and bound: the tree finds the best itself.
    independent = seed % 2 == 0
    limits = SolveLimits(gap=0.0, threads=1 + seed // 2 % 2)
    optimizer = MipOptimizer(space, limits=limits, child=False, independent=independent)
    assert_agrees(optimizer.optimize(lcb, 5, exclude), Catalogue(space).optimize(lcb, 5, exclude))


@pytest.mark.parametrize("threads", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_range_of_sizes_up_to_six_nodes(threads: int) -> None:
    """Cells of fewer nodes have no path as long as the kernel's longest."""
    space = NodeLabeledSpace(nodes=(2, 6), ops=OPS[:2], max_edges=8)
    lcb, seen = acquisition(space, 30, "linear", 3)
    limits = SolveLimits(gap=0.0, threads=threads)
    optimizer = MipOptimizer(space, limits=limits, child=False, independent=True)
    assert_agrees(optimizer.optimize(lcb, 5, seen), Catalogue(space).optimize(lcb, 5, seen))
    assert sorted(optimizer.last_.reports) == [2, 3, 4, 5, 6]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "space", "t", "form", "excluding"), list(problems(200, 6)))
def test_scip_finds_the_catalogues_five_best_on_larger_problems(
    seed: int, space: SearchSpace, t: int, form: str, excluding: bool
) -> None:
    lcb, seen = acquisition(space, t, form, seed + 1000)
    exclude = seen if excluding else set()
    limits = SolveLimits(gap=0.0, seconds=300, threads=1 + seed // 2 % 2)
    optimizer = MipOptimizer(space, limits=limits, child=False, independent=seed % 2 == 0)
    assert_agrees(optimizer.optimize(lcb, 5, exclude), Catalogue(space).optimize(lcb, 5, exclude))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "space", "t", "form", "excluding"), list(problems(40, 5)))
def test_scip_finds_the_catalogues_two_best_under_the_normalised_kernel(
    seed: int, space: SearchSpace, t: int, form: str, excluding: bool
) -> None:
    lcb, observed = acquisition(space, min(t, 30), "normalised", seed)
    exclude = observed if excluding else set()
    expected = Catalogue(space).optimize(lcb, 2, exclude)
    assert_agrees(MipOptimizer(space, independent=True).optimize(lcb, 2, exclude), expected)


@pytest.mark.parametrize("form", ["linear", "exponential", "normalised"])
@pytest.mark.parametrize(
    "space",
    [
        NodeLabeledSpace(nodes=(3, 3), ops=OPS, max_edges=5),
        EdgeLabeledSpace(nodes=3, ops=["a", "b"]),
    ],
)
def test_both_formulations_agree(space: SearchSpace, form: str) -> None:
    lcb, _ = acquisition(space, 4, form, 5)
    expected = Catalogue(space).optimize(lcb, 3)
    for formulation in ("paper", "compact"):
        optimizer = MipOptimizer(
            space, formulation=formulation, limits=SolveLimits(gap=0.0), child=False
        )
        assert_agrees(optimizer.optimize(lcb, 3), expected)


SMALL = NodeLabeledSpace(nodes=(2, 4), ops=["a", "b"], max_edges=5)


class OwnFamily(NodeLabeledSpace):
    """A space whose class is the user's."""


@pytest.mark.parametrize("home", ["ours", "a module", "the script that runs"])
def test_a_child_process_gives_the_same_answer(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if home == "the script that runs":  # which no other process can import
        monkeypatch.setattr(OwnFamily, "__module__", "__main__")
    family = NodeLabeledSpace if home == "ours" else OwnFamily
    space = family(nodes=(2, 4), ops=["a", "b"], max_edges=5)
    lcb, seen = acquisition(space, 6, "linear", 1)
    lines: list[str] = []
    optimizer = MipOptimizer(space, progress=lines.append, limits=SolveLimits(gap=0.0))
    pool = optimizer.optimize(lcb, 3, seen)
    assert_agrees(pool, Catalogue(space).optimize(lcb, 3, seen))
    assert any("variables" in line for line in lines)


def test_an_exhausted_space_gives_what_is_left() -> None:
    lcb, _ = acquisition(SMALL, 6, "linear", 1)
    keys = [SMALL.key(g) for batch in SMALL.enumerate() for g in batch]
    optimizer = MipOptimizer(SMALL, limits=SolveLimits(gap=0.0), child=False)
    assert len(optimizer.optimize(lcb, 5, set(keys[2:]))) == 2
    empty = optimizer.optimize(lcb, 5, set(keys))
    assert len(empty) == 0
    assert empty.certificate.status is Status.EXHAUSTED


def test_a_stopped_solve_never_claims_more_than_it_proved() -> None:
    space = NodeLabeledSpace(nodes=(5, 5), ops=OPS, max_edges=8)
    lcb, _ = acquisition(space, 20, "linear", 2)
    graphs = [graph for batch in space.enumerate() for graph in batch]
    pool = MipOptimizer(space, limits=SolveLimits(gap=0.0, nodes=1), child=False).optimize(lcb, 5)
    assert len(pool) == 5
    assert_honest(pool, np.sort(lcb.score(graphs)))


def test_a_failing_solver_falls_back_to_local_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise SolverError("the solver must not fail, got a crash")

    monkeypatch.setattr("nasgoat.acquisition.mip_sizes._solve_sizes", crash)
    lcb, seen = acquisition(SMALL, 6, "linear", 1)
    pool = MipOptimizer(SMALL, child=False).optimize(lcb, 3, seen)
    assert len(pool) == 3
    assert pool.certificate.status is Status.HEURISTIC
    assert pool.certificate.bound is None
    assert not {SMALL.key(p.graph) for p in pool} & seen


def test_a_model_that_contradicts_the_surrogate_is_an_error_with_its_file() -> None:
    lcb, _ = acquisition(SMALL, 6, "linear", 1)
    other, _ = acquisition(SMALL, 6, "linear", 2)
    model = formulate(SMALL, lcb)
    cell = SMALL.with_nodes(4).sample(1, np.random.default_rng(0))
    with pytest.raises(ModelError, match=r"model\.lp") as caught:
        check_model(model, cell, other)
    path = Path(str(caught.value).rsplit(" ", 1)[1])
    assert "(101_edge)limit" in path.read_text()


def test_limits_that_leave_out_the_best_so_far_do_not_stop_a_sieve() -> None:
    space = EdgeLabeledSpace(3, ["a", "b"])
    lcb, _ = acquisition(space, 5, "linear", 1)
    both = Chebyshev([lcb, KnownCost.of(space, "edges")], weights=[1.0, 1.0], reference=[0.0, 0.0])
    best = KBest(space, both, 1, ())
    best.add([LabeledGraph.from_edges(3, [(0, 1), (0, 2), (1, 2)], edge_labels=["a", "a", "a"])])
    sieve = Sieve(best=best, pieces=[both], weights=np.array([1.0, 0.0]), floor=np.array([-9.0, 0]))
    few = MipOptimizer(space.constrain("edges <= 2"), child=False)
    assert few.engine.sift(lcb, sieve, None) is None  # nothing was left out
    assert len(best.found[0].graph.edges) == 2


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="scip"):
        MipOptimizer(SMALL, solver="cplex")
    with pytest.raises(UnknownNameError, match="compact"):
        MipOptimizer(SMALL, formulation="full")
    lcb, _ = acquisition(SMALL, 6, "linear", 1)
    with pytest.raises(SettingError, match="at least 1"):
        MipOptimizer(SMALL, child=False).optimize(lcb, 0)
    with pytest.raises(SettingError, match="gap"):
        SolveLimits(gap=-1)
