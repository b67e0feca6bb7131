"""Several cells at once: branch and bound equals the catalogue, and honest when it is stopped."""

import numpy as np
import pytest

from nasgoat import (
    BranchAndBound,
    Catalogue,
    Cells,
    ChainSpace,
    DartsSpace,
    EdgeLabeledSpace,
    GraphSpace,
    NodeLabeledSpace,
    SearchSpace,
    darts,
)
from nasgoat.acquisition import make_optimizer, random_problem
from nasgoat.acquisition.branch.convex.cell_rows import CellPairs
from nasgoat.acquisition.branch.convex.several_cells import CellsRun
from nasgoat.acquisition.costs import forecast_branch, forecast_mip
from nasgoat.acquisition.proposals import Cost, Reason, Status
from nasgoat.errors import EmptySpaceError, SettingError
from nasgoat.surrogate import LinearPosterior
from nasgoat.testing.agreement import AgreementContract, assert_honest

CELLS: list[SearchSpace] = [
    EdgeLabeledSpace(3, ["a", "b"]),
    EdgeLabeledSpace(3, ["a", "b", "c"], connected=False),
    NodeLabeledSpace((2, 4), ["b", "c"]),
    NodeLabeledSpace(3, ["a"]),
    ChainSpace((1, 3), ["a", "c"]),
    ChainSpace(2, ["a", "b", "c"], layer_ops={1: ["a", "c"]}),
    DartsSpace(4, ["a", "b"]),
    GraphSpace(3, ["a", "O"], ["x", "y"], "undirected", "connected"),
    GraphSpace((1, 2), ["a", "b"]),
    EdgeLabeledSpace(3, ["a", "b"]).constrain("a <= 2"),
]
LIMITS = [
    "x.a + y.a <= 2",
    "edges >= 3",
    "x.edges - y.edges <= 1",
    "a == 1",
    "x.depth + y.nodes <= 6",
]


def draw_problem(seed: int) -> tuple[SearchSpace, int, int]:
    """A random space of two or three cells, how many graphs are observed, and how many wanted."""
    rng = np.random.default_rng([seed, 18])
    many = 3 if rng.random() < 0.2 else 2
    chosen = [CELLS[i] for i in rng.integers(len(CELLS), size=many)]
    space: SearchSpace = Cells(dict(zip("xyz", chosen, strict=False)))
    if space.size_bound() > 30_000:
        space = Cells(x=chosen[0], y=CELLS[3])
    for text in rng.permutation(LIMITS)[: int(rng.integers(3))]:
        if "a" not in text.replace("edges", "") or "a" in space.labels:
            try:
                space = space.constrain(str(text))
            except ValueError:  # a cell that has no such operation
                continue
    return space, int(rng.integers(1, 20)), int(rng.integers(1, 8))


def compare(seed: int) -> None:
    space, observations, k = draw_problem(seed)
    try:
        problem = random_problem(space, observations, seed=seed)
    except EmptySpaceError:
        with pytest.raises(EmptySpaceError):
            Catalogue(space, progress=None)
        return
    expected = Catalogue(space, progress=None).optimize(problem.acquisition, k, problem.observed)
    found = BranchAndBound(space, progress=None).optimize(problem.acquisition, k, problem.observed)
    values = [[proposal.lcb for proposal in pool] for pool in (expected, found)]
    assert values[1] == pytest.approx(values[0], abs=1e-9, rel=1e-9), space.describe()
    assert found.certificate.status is expected.certificate.status
    keys = {space.key(proposal.graph) for proposal in found}
    assert len(keys) == len(found)
    assert not keys & problem.observed
    assert all(proposal.graph in space for proposal in found)


@pytest.mark.parametrize("seed", range(16))
def test_it_equals_the_catalogue(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 216))
def test_two_hundred_problems_equal_the_catalogue(seed: int) -> None:
    compare(seed)


class TestAgreement(AgreementContract):
    """Both kernels in the catalogue, the linear one in branch and bound."""

    spaces = {
        "two": Cells(x=CELLS[0], y=CELLS[2]),
        "three": Cells(x=CELLS[3], y=CELLS[4], z=CELLS[0]),
    }
    kernels = ("linear",)
    exact_optimizers = ("catalogue", "branch")


class TestCatalogue(AgreementContract):
    spaces = TestAgreement.spaces
    kernels = ("exponential",)
    exact_optimizers = ("catalogue",)


def test_bounds_of_pairs_are_below_all_their_graphs() -> None:
    """Lemma 11 on every pair of structures of two small cells."""
    space = Cells(x=DartsSpace(4, ["a", "b"]), y=ChainSpace(3, ["a", "b", "c"]))
    problem = random_problem(space, 10, seed=3)
    lcb = problem.acquisition
    pairs = CellPairs.of(space)
    assert isinstance(lcb.posterior, LinearPosterior)
    run = CellsRun(pairs, *pairs.list_columns(lcb.features, lcb.posterior, lcb.sqrt_beta))
    assert run._bound is not None
    numbers = np.arange(len(pairs.first.rows) * len(pairs.second.rows))
    bounds, _ = run._bound.bound(run._bound.list_pairs(numbers), 10, np.inf)
    assert len(numbers) == 3
    for number, bound in zip(numbers.tolist(), bounds, strict=True):
        columns = run._find_columns(number)
        places, labels, _ = columns.label.shape
        every = np.stack(np.unravel_index(np.arange(labels**places), [labels] * places), axis=1)
        values = columns.evaluate(every)
        assert bound <= values.min() + 1e-9
        assert bound >= values.min() - 0.2 * abs(values.min())  # and of some use
        graphs = [pairs.make_graph(number, row) for row in every[:50]]
        assert lcb.score(graphs) == pytest.approx(values[:50], abs=1e-9)


def test_a_stopped_search_is_honest() -> None:
    space = Cells(x=CELLS[0], y=CELLS[2])
    problem = random_problem(space, 5, seed=1)
    graphs = [graph for batch in space.enumerate() for graph in batch]
    left = [graph for graph in graphs if space.key(graph) not in problem.observed]
    best = np.sort(problem.acquisition.score(left))
    pool = BranchAndBound(space, progress=None, time_limit=0.0).optimize(
        problem.acquisition, 3, problem.observed
    )
    assert len(pool) == 3
    assert_honest(pool, best)


@pytest.mark.slow
def test_large_cells_are_certified() -> None:
    """Too many combinations to list: 6 x 10^9."""
    space = Cells(normal=DartsSpace(5, list("abcd")), reduction=DartsSpace(5, list("abcd")))
    problem = random_problem(space, 30, seed=0)
    pool = BranchAndBound(space, progress=None).optimize(problem.acquisition, 5, problem.observed)
    assert pool.certificate.status is Status.OPTIMAL
    other = make_optimizer("mutation", space).optimize(problem.acquisition, 5, problem.observed)
    best, near = pool.certificate.value, other.proposals[0].lcb
    assert best is not None
    assert near is not None
    assert best <= near + 1e-9


def test_what_does_not_apply_is_said_in_one_line() -> None:
    both = Cells(normal=darts(), reduction=darts())
    assert isinstance(forecast_branch(both, "linear", 1), Cost)
    exponential = forecast_branch(both, "exponential", 1)
    assert isinstance(exponential, Reason)
    assert "linear kernel alone" in exponential.said
    program = forecast_mip(both, "linear", 1)
    assert isinstance(program, Reason)
    assert "several cells" in program.said
    large = forecast_branch(Cells(x=NodeLabeledSpace((2, 9), ["a"]), y=darts()), "linear", 1)
    assert isinstance(large, Reason)
    assert "of the cell x" in large.said
    with pytest.raises(SettingError, match="the MIP must have one cell"):
        make_optimizer("scip", both)
    small = Cells(x=CELLS[0], y=CELLS[2])
    problem = random_problem(small, 5, "exponential")
    with pytest.raises(SettingError, match="must be linear for branch and bound on several cells"):
        BranchAndBound(small, progress=None).optimize(problem.acquisition)
