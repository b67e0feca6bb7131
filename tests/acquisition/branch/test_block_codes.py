"""Kernel blocks beside the paper's: branch and bound and the program against the catalogue."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nasgoat import Catalogue, ChainSpace, GraphGP, LowerConfidenceBound, NodeLabeledSpace, darts
from nasgoat.acquisition import Pool, make_optimizer
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.runs import RunMaker
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.compiled import Threads
from nasgoat.kernels import list_bounded_blocks
from nasgoat.solvers import SolveLimits

from .block_problems import FAMILIES, cell_problem, declared_problem, fitted, several_problem
from .problems import Problem, observed
from .test_branch_and_bound import TIES, assert_same


def list_values(pool: Pool) -> list[float]:
    return [float(proposal.lcb or 0.0) for proposal in pool]


def agrees(problem: Problem) -> None:
    """The k best equal the catalogue's, in value and number, and are proven."""
    arguments = (problem.acquisition, problem.k, problem.exclude)
    pool = BranchAndBound(problem.space, progress=None).optimize(*arguments)
    assert_same(problem, pool, Catalogue(problem.space).optimize(*arguments))


@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_graphs_under_any_blocks_are_those_of_the_catalogue(seed: int, form: str) -> None:
    agrees(cell_problem(form, seed, 5))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("must", ["operations", "shape", "longest"])
def test_two_hundred_problems_under_any_blocks(form: str, must: str) -> None:
    for seed in range(100, 300):
        agrees(cell_problem(form, seed, 5, must))


@pytest.mark.parametrize("must", ["operations", "shape", "longest"])
@pytest.mark.parametrize("seed", range(2))
def test_declared_graphs_under_any_blocks(seed: int, must: str) -> None:
    agrees(declared_problem(seed, must))


@pytest.mark.slow
@pytest.mark.parametrize("must", ["operations", "shape", "longest"])
def test_two_hundred_problems_of_declared_graphs(must: str) -> None:
    for seed in range(100, 300):
        agrees(declared_problem(seed, must))


@pytest.mark.parametrize("seed", range(4))
def test_several_cells_under_any_blocks(seed: int) -> None:
    agrees(several_problem(seed))


@pytest.mark.slow
def test_two_hundred_problems_of_several_cells() -> None:
    for seed in range(100, 300):
        agrees(several_problem(seed))


def check_program(problem: Problem, formulation: str = "compact") -> None:
    arguments = (problem.acquisition, problem.k, problem.exclude)
    limits, space = SolveLimits(seconds=120), problem.space
    program = MipOptimizer(
        space, child=False, independent=True, limits=limits, formulation=formulation
    )
    values = list_values(program.optimize(*arguments))
    expected = list_values(Catalogue(problem.space).optimize(*arguments))
    size = max([1.0, *map(abs, expected)])
    np.testing.assert_allclose(values, expected, rtol=0, atol=2e-4 * size)  # its gap is 1e-4


@pytest.mark.parametrize("seed", [1, 3, 6, 7])
def test_the_program_knows_any_blocks(seed: int) -> None:
    check_program(cell_problem("linear", seed, 4))


def test_the_program_knows_any_blocks_of_declared_graphs() -> None:
    check_program(declared_problem(3, "longest", program=True))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["linear", "exponential"])
def test_sixty_programs_under_any_blocks(form: str) -> None:
    for seed in range(100, 130):
        check_program(cell_problem(form, seed, 4))


@pytest.mark.slow
def test_two_hundred_programs_under_longest() -> None:
    for seed in range(100, 300):
        check_program(cell_problem("linear", seed, 4, "longest"))


@pytest.mark.slow
@pytest.mark.parametrize("must", ["operations", "shape", "longest"])
def test_two_hundred_programs_of_declared_graphs(must: str) -> None:
    for seed in range(100, 300):
        check_program(declared_problem(seed, must, program=True))


def test_the_program_solves_in_a_child_process_too() -> None:
    problem = cell_problem("linear", 3, 4, "operations")
    assert problem.acquisition.features.codes
    pool = MipOptimizer(problem.space).optimize(problem.acquisition, 1)
    assert str(pool.certificate.status) == "optimal"


def test_the_papers_formulation_knows_any_blocks() -> None:
    space = NodeLabeledSpace((2, 4), ["a", "b"], max_edges=5)
    cells = observed(space, 8, 0)
    gp = GraphGP(space, blocks=("paths", "operations", "shape"))
    gp.fit(cells, [float(len(cell.edges)) for cell in cells])
    acquisition = LowerConfidenceBound().given(gp)
    program = MipOptimizer(space, formulation="paper", child=False, independent=True)
    values = list_values(program.optimize(acquisition, 2))
    expected = list_values(Catalogue(space).optimize(acquisition, 2))
    np.testing.assert_allclose(values, expected, rtol=0, atol=2e-3)


STOPPED = [
    ("cells, labels on nodes", "linear", ("paths", "operations", "shape"), 20),
    ("cells, labels on nodes", "exponential", ("paths", "operations", "shape"), 20),
    ("cells, labels on nodes", "linear", ("paths", "longest"), 20),
    ("cells, labels on nodes", "exponential", ("paths", "longest"), 20),
    ("declared, acyclic", "linear", ("paths", "operations", "shape"), 20),
    ("declared, acyclic", "linear", ("paths", "longest"), 20),
    ("declared, undirected", "linear", ("paths", "operations"), 20),
    ("several cells", "linear", ("paths", "longest"), 1),
]


@pytest.mark.parametrize(("family", "form", "blocks", "least"), STOPPED)
def test_a_search_that_is_stopped_has_a_valid_bound(
    family: str, form: str, blocks: tuple[str, ...], least: int
) -> None:
    space = FAMILIES[family]
    gp = fitted(space, form, blocks, 30, np.random.default_rng(0))
    acquisition = LowerConfidenceBound().given(gp)
    optimum = Catalogue(space).optimize(acquisition)[0].lcb
    assert optimum is not None
    steps, best = 0, np.inf
    with ThreadPoolExecutor(2) as pool:
        maker = RunMaker(acquisition.features, acquisition, None, Threads(2, pool))
        every = BranchAndBound(space, progress=None)._make_runs(maker)
        for at, run in enumerate(every):
            found = run.go_on(best)
            while found is not None:
                best = min([best, *(value for _, _, value in found)])
                left = [other.open_bound() for other in every[at:]]
                assert min([best, *left]) <= optimum + TIES
                steps, found = steps + 1, run.go_on(best)
    assert best == pytest.approx(optimum, abs=TIES)
    assert steps > least


@pytest.mark.parametrize("declared", [False, True])
def test_a_time_limit_leaves_a_bound_below_the_optimum(declared: bool) -> None:
    problem = declared_problem(0, "operations") if declared else cell_problem("linear", 0, 5)
    arguments = (problem.acquisition, problem.k, problem.exclude)
    stopped = BranchAndBound(problem.space, progress=None, time_limit=0.0).optimize(*arguments)
    wanted = Catalogue(problem.space).optimize(*arguments)
    assert len(wanted) > 0
    assert stopped.certificate.bound is not None
    assert stopped.certificate.bound <= list_values(wanted)[0] + TIES


def test_shapes_of_long_chains_are_bounded_by_relaxations() -> None:
    """Chains of several lengths differ in shape; their labellings are too many for a list."""
    space = ChainSpace((11, 12), ["a", "b", "c", "d", "e", "f", "g", "h"])
    rng = np.random.default_rng(0)
    chains = space.sample(30, rng)
    gp = GraphGP(space, blocks=("paths", "edges", "shape"))
    gp.fit(chains, [float(len(chain.edges)) + rng.normal() for chain in chains])
    pool = make_optimizer("branch", space, blocks=gp.features.blocks).optimize(
        LowerConfidenceBound(1.0).given(gp), 3
    )
    mean, std = gp.predict(space.sample(300, rng))
    assert str(pool.certificate.status) == "optimal"
    assert max(list_values(pool)) <= min(mean - std) + TIES


def test_operations_of_darts_cells_are_bounded() -> None:
    assert "operations" in list_bounded_blocks(darts())
