"""Branch and bound on declared graphs, against the catalogue."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nasgoat import Catalogue, GraphSpace, LowerConfidenceBound, ShortestPathKernel, molecules
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.declared.search import DeclaredRun
from nasgoat.acquisition.branch.declared.structures import DeclaredListing
from nasgoat.acquisition.branch.declared.tables import make_declared_tables
from nasgoat.acquisition.k_best import KBest
from nasgoat.acquisition.lower_confidence_bound import LinearAcquisition
from nasgoat.acquisition.mip import MipOptimizer
from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate.posterior import LinearPosterior
from tests.acquisition.branch.declared.graph_problems import random_graph_problem, resized
from tests.acquisition.branch.problems import Problem, bound_shapes, fitted

ROUNDING = 1e-9  # values of a search and of the catalogue: other orders of the same sums
MOLECULES = {"C": (0, 4), "O": (0, 2)}
SPECIAL = {
    "one node": GraphSpace(1, ["a", "b", "c"]),
    "one node, no label": GraphSpace(1),
    "no degrees": GraphSpace(4, ["a", "b"], ["x", "y"], "undirected", degree={"*": 0}),
    "not connected": GraphSpace(4, ["a", "b"], ["x", "y"], "undirected", max_edges=3),
    "all labels equal": GraphSpace((1, 4), ["a"], ["x"], "undirected"),
    "no labels": GraphSpace((2, 5), direction="undirected", connectivity="connected"),
    "all edges": GraphSpace(5, ["a", "b", "c"], direction="undirected", min_edges=10),
    "stars": GraphSpace(6, ["a", "b"], ["x", "y"], "undirected", "connected", max_edges=5,
                        degree={"a": (1, 5), "b": 1}),
    "cycles": GraphSpace(6, ["a", "b"], ["x", "y"], "undirected", "connected", degree={"*": 2}),
    "fixed parts": GraphSpace(4, ["C", "O"], ["-", "="], "undirected", "connected",
                              degree=MOLECULES, edge_weights={"=": 2},
                              fixed={"edges": [[0, 1, "="]], "not_edges": [[1, 2]],
                                     "labels": {"0": "C"}, "not_labels": {"2": "O"}}),
    "named sources": GraphSpace(4, ["a", "b"], direction="acyclic", sources=1, sinks=1,
                                fixed={"labels": {"2": "input"}, "edges": [[2, 0]]}),
    "inputs with edges": GraphSpace(4, ["a"], direction="directed", sources=2, sinks=1,
                                    in_degree={"input": (0, 2), "*": (0, 2)}, max_edges=4),
    "least degrees": GraphSpace(4, ["a", "b"], ["x", "y"], "directed", in_degree={"*": (1, 2)},
                                out_degree={"a": 2, "b": (0, 2)}, edge_weights={"y": 2},
                                max_edges=4),
    "one graph left": GraphSpace(3, ["a", "b"], direction="undirected").constrain(
        "a == 3", "edges == 3"),
}  # fmt: skip


def check(problem: Problem) -> None:
    """The k best equal the catalogue's, in value and number, and are proven."""
    space, acquisition = problem.space, problem.acquisition
    wanted = Catalogue(space).optimize(acquisition, problem.k, problem.exclude)
    pool = BranchAndBound(space, progress=None).optimize(acquisition, problem.k, problem.exclude)
    values = [proposal.certificate.value for proposal in pool]
    best = [proposal.certificate.value for proposal in wanted]
    assert values == pytest.approx(best, rel=ROUNDING, abs=ROUNDING)
    assert str(pool.certificate.status) == ("optimal" if best else "exhausted")
    keys = {space.key(proposal.graph) for proposal in pool}
    assert len(keys) == len(pool)
    assert not keys & problem.exclude
    assert all(proposal.graph in space for proposal in pool)


def problem_of(space: GraphSpace, seed: int = 0, k: int = 4, t: int = 8) -> Problem:
    gp = fitted(space, ShortestPathKernel("linear", 3.0, 2.0, 5.0), t, seed)
    return Problem(space, LowerConfidenceBound(2.0).given(gp), k, set())


def runs_of(
    problem: Problem, listed: tuple[int, int]
) -> tuple[LinearAcquisition, list[DeclaredRun]]:
    """A run for every number of nodes, which bounds instead of listing where told so."""
    linear = problem.acquisition.linear
    assert linear is not None
    assert isinstance(linear.posterior, LinearPosterior)
    assert isinstance(problem.space, GraphSpace)
    runs = []
    for block in DeclaredListing(problem.space).list_blocks():
        tables = make_declared_tables(linear.features, linear.posterior, linear.sqrt_beta, block)
        runs.append(DeclaredRun(block, tables, lambda: -np.inf, listed=listed))
    return linear, runs


@pytest.mark.parametrize("seed", range(40))
def test_random_problems_equal_the_catalogue(seed: int) -> None:
    check(random_graph_problem(seed))


@pytest.mark.slow
def test_two_hundred_random_problems_equal_the_catalogue() -> None:
    for seed in range(1000, 1200):
        check(random_graph_problem(seed))


@pytest.mark.parametrize("name", SPECIAL)
def test_special_spaces_equal_the_catalogue(name: str) -> None:
    check(problem_of(SPECIAL[name]))


def test_molecules_equal_the_catalogue_in_two_threads() -> None:
    space = resized(molecules(), 5)
    check(problem_of(space, k=5, t=50))
    acyclic = GraphSpace(5, ["a", "b"], direction="acyclic")
    assert len(DeclaredListing(acyclic).list_blocks()[0].adjacency) == 302  # two threads
    check(problem_of(acyclic, k=5, t=50))


def test_limits_that_leave_nothing_are_exhausted() -> None:
    space = GraphSpace(3, ["a", "b"], direction="undirected")
    gp = fitted(space, ShortestPathKernel("linear"), 5, 0)
    empty = space.constrain("a >= 2", "b >= 2")
    pool = BranchAndBound(empty, progress=None).optimize(LowerConfidenceBound().given(gp), 3)
    assert len(pool) == 0
    assert str(pool.certificate.status) == "exhausted"


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("listed", [(1, 1), (4, 1)])
def test_bounds_without_listing_lose_nothing(seed: int, listed: tuple[int, int]) -> None:
    problem = random_graph_problem(seed)
    linear, runs = runs_of(problem, listed)
    best = KBest(problem.space, linear, problem.k, problem.exclude)
    for run in runs:
        while (found := run.go_on(best.cutoff)) is not None:
            for s, states, value in found:
                best.offer(run.block.make_graph(s, states), value)
    best.rescore()
    wanted = Catalogue(problem.space).optimize(problem.acquisition, problem.k, problem.exclude)
    values = [proposal.certificate.value for proposal in wanted]
    assert [x.value for x in best.found] == pytest.approx(values, rel=ROUNDING, abs=ROUNDING)


def test_it_is_said_once_that_structures_are_listed() -> None:
    said: list[str] = []
    listing = DeclaredListing(molecules(4), said.append)
    assert listing.list_blocks(time.perf_counter()) == []  # the time is up after the first chunk
    listing.limit(listing.space).list_blocks()
    listing.list_blocks()
    assert said == ["listing the structures of the space"]


@pytest.mark.parametrize("seed", range(10))
def test_a_structures_bound_is_below_all_its_graphs(seed: int) -> None:
    problem = random_graph_problem(seed)
    linear, runs = runs_of(problem, (1, 1))
    checked = 0
    for run in runs:
        lowest = np.full(len(run.roots), np.inf)
        roots = bound_shapes(run).copy()
        for graph, value in _score_all(problem.space, linear, run.block.n):
            s = _find_structure(run, graph)
            lowest[s] = min(lowest[s], value)
            checked += 1
        assert (roots <= lowest + ROUNDING).all()
    assert checked > 0


def _score_all(
    space: object, linear: LinearAcquisition, n: int
) -> list[tuple[LabeledGraph, float]]:
    assert isinstance(space, GraphSpace)
    graphs = [graph for batch in space.enumerate() for graph in batch if graph.n == n][:200]
    return list(zip(graphs, linear.assess(graphs)[0].tolist(), strict=True)) if graphs else []


def _find_structure(run: DeclaredRun, graph: LabeledGraph) -> int:
    """The structure of a block whose key, roles and names included, is the graph's."""
    space, labels = run.block.space, graph.node_labels or ()
    roles = np.full(graph.n, -1, dtype=np.int8)
    for v, label in enumerate(labels):
        if space.sources and label == "input":
            roles[v] = 0
        if space.sinks and label == "output":
            roles[v] = len(space.node_vocabulary) - 1
    key = space.structure_listing.make_key(graph.adjacency, roles)
    structures = zip(run.block.adjacency, run.block.roles, strict=True)
    known = [space.structure_listing.make_key(a, r) for a, r in structures]
    return known.index(key)


@pytest.mark.parametrize("seed", range(20))
def test_every_bound_of_a_stopped_search_holds(seed: int) -> None:
    problem = random_graph_problem(seed)
    optimum = Catalogue(problem.space).optimize(problem.acquisition, 1, problem.exclude)
    value = optimum[0].certificate.value if len(optimum) else np.inf
    assert value is not None
    linear, runs = runs_of(problem, (1, 1))
    best = KBest(problem.space, linear, 1, problem.exclude)
    for at, run in enumerate(runs):
        while (found := run.go_on(best.cutoff)) is not None:
            for s, states, offered in found[:1]:  # one at a time: many stops
                best.offer(run.block.make_graph(s, states), offered)
            left = min([best.cutoff, *(other.open_bound() for other in runs[at:])])
            assert left <= value + ROUNDING


@pytest.mark.parametrize("seed", range(4))
def test_no_time_at_all_gives_a_valid_bound_and_k_graphs(seed: int) -> None:
    problem = random_graph_problem(seed)
    solver = BranchAndBound(problem.space, progress=None, time_limit=0.0)
    pool = solver.optimize(problem.acquisition, problem.k, problem.exclude)
    wanted = Catalogue(problem.space).optimize(problem.acquisition, problem.k, problem.exclude)
    assert len(pool) == len(wanted)
    for proposal, best in zip(pool, wanted, strict=True):
        assert proposal.certificate.bound is not None
        assert best.certificate.value is not None
        assert proposal.certificate.bound <= best.certificate.value + ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 4])
def test_molecules_equal_scip_on_its_own(n: int) -> None:
    space = resized(molecules(), n)
    problem = problem_of(space, t=20)
    mip = MipOptimizer(space, child=False, independent=True)
    wanted = mip.optimize(problem.acquisition, 1)[0].certificate
    found = BranchAndBound(space, progress=None).optimize(problem.acquisition, 1)[0].certificate
    assert found.value == pytest.approx(wanted.value, rel=1e-4)  # SCIP's gap


def test_the_exponential_kernel_is_refused_in_one_line() -> None:
    space = GraphSpace(3, ["a", "b"], direction="undirected")
    gp = fitted(space, ShortestPathKernel("exponential"), 5, 0)
    with pytest.raises(SettingError, match="kernel must be linear"):
        BranchAndBound(space, progress=None).optimize(LowerConfidenceBound().given(gp))


def test_further_limits_keep_the_listed_structures() -> None:
    space = resized(molecules(), 4)
    problem = problem_of(space, t=20)
    linear = problem.acquisition.linear
    assert linear is not None
    search = BranchAndBound(space, progress=None)
    search.optimize(problem.acquisition)
    limits = space.constrain("C <= 1", "edges + depth >= 6").limits
    limited = search.limit(limits)
    assert limited.list_declared()[0].adjacency is search.list_declared()[0].adjacency
    pool = limited._minimize(linear, 3, (), None)
    wanted = Catalogue(limited.space).optimize(problem.acquisition, 3)
    values = [proposal.certificate.value for proposal in wanted]
    assert [p.certificate.value for p in pool] == pytest.approx(values, rel=ROUNDING)
