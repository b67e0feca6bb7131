"""Branch and bound against the catalogue, which scores every graph."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nasgoat import Catalogue, LowerConfidenceBound, NodeLabeledSpace, ShortestPathKernel, darts
from nasgoat.acquisition import Pool, Status, make_optimizer
from nasgoat.acquisition.branch import BranchAndBound, optimizer, runs, search
from nasgoat.acquisition.branch.exponential import enumeration, split_labellings
from nasgoat.compiled import Threads
from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace

from .problems import Problem, fitted, random_problem

TIES = 1e-9  # the catalogue and the search add up features in different orders
ROUNDING = 3e-9  # σ² is a difference of numbers that may be 1e5 under the exponential kernel


def assert_same(problem: Problem, pool: Pool, oracle: Pool) -> None:
    values = np.array([proposal.lcb for proposal in pool])
    expected = np.array([proposal.lcb for proposal in oracle])
    assert len(values) == len(expected)
    assert pool.certificate.status is oracle.certificate.status
    np.testing.assert_allclose(values, expected, rtol=0, atol=ROUNDING)
    keys = [problem.space.key(proposal.graph) for proposal in pool]
    assert len(set(keys)) == len(keys)
    assert not problem.exclude & set(keys)
    for i, proposal in enumerate(pool):
        assert proposal.graph in problem.space
        alone = (np.abs(expected - expected[i]) > TIES).sum() == len(expected) - 1
        if alone and i < len(expected) - 1:  # a tie with the (k+1)-th can't be seen here
            assert keys[i] == problem.space.key(oracle[i].graph)


def agrees(
    form: str, seed: int, largest: int, prefixes: bool | None = None, growing: int = 10**9
) -> None:
    problem = random_problem(form, seed, largest)
    arguments = (problem.acquisition, problem.k, problem.exclude)
    solver = BranchAndBound(problem.space, prefixes=prefixes, growing=growing)
    pool = solver.optimize(*arguments)
    assert_same(problem, pool, Catalogue(problem.space).optimize(*arguments))


@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("seed", range(40))
def test_the_best_graphs_are_those_of_the_catalogue(seed: int, form: str) -> None:
    agrees(form, seed, 5)


@pytest.mark.parametrize("seed", range(20))
def test_so_they_are_under_the_normalised_kernel(seed: int) -> None:
    agrees("normalised", seed, 5)


@pytest.mark.slow
def test_two_hundred_problems_of_the_normalised_kernel_agree() -> None:
    for seed in range(1000, 1200):
        agrees("normalised", seed, 6)


@pytest.mark.parametrize("seed", range(40, 70))
def test_prefixes_lead_to_the_best_graphs(seed: int) -> None:
    agrees("linear", seed, 6, prefixes=True)


@pytest.mark.parametrize("seed", range(70, 100))
def test_prefixes_that_grow_lead_to_the_best_graphs(seed: int) -> None:
    agrees("linear", seed, 7, prefixes=True, growing=0)


@pytest.mark.slow
def test_five_hundred_problems_agree_with_the_catalogue() -> None:
    for seed in range(1000, 1125):
        for form in ("linear", "exponential"):
            agrees(form, seed, 7)
        agrees("linear", seed + 1000, 7, prefixes=True)
        agrees("linear", seed + 2000, 7, prefixes=False)
        agrees("linear", seed + 3000, 7, prefixes=True, growing=0)


def stopped_anywhere(
    space: SearchSpace, form: str, seed: int, prefixes: bool, growing: int = 10**9
) -> None:
    """Whatever was explored, the bound is below the optimum and the best value above it."""
    acquisition = LowerConfidenceBound().given(fitted(space, ShortestPathKernel(form), 20, seed))
    optimum = Catalogue(space).optimize(acquisition)[0].lcb
    assert optimum is not None
    solver = BranchAndBound(space, threads=2, prefixes=prefixes, growing=growing)
    with ThreadPoolExecutor(2) as pool:
        maker = runs.RunMaker(FeatureMap(space), acquisition, None, Threads(2, pool))
        steps = solver._make_runs(maker)
        best, pauses = np.inf, 0
        for at, run in enumerate(steps):
            found: object = ()
            while found is not None:
                left = min(run.open_bound() for run in steps[at:])
                assert min(best, left) <= optimum + TIES
                assert best >= optimum - TIES
                found = run.go_on(best)
                best = min([best, *(value for _, _, value in found or ())])
                pauses += 1
    assert pauses > 2
    assert best == pytest.approx(optimum, abs=TIES)


@pytest.mark.parametrize(
    "way", ["linear", "linear by prefixes", "linear by growing prefixes", "exponential"]
)
@pytest.mark.parametrize("seed", range(6))
def test_a_search_stopped_anywhere_has_a_valid_bound(
    seed: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_PAUSE", 3)
    monkeypatch.setattr(enumeration, "_PAUSE", 50)
    monkeypatch.setattr(split_labellings, "_MANY_LABELLINGS", 100 if seed % 2 else 10**9)
    monkeypatch.setattr(runs, "_MANY", 100 if seed % 2 else 10**6)
    space = NodeLabeledSpace((4, 6), ["a", "b", "c"], max_edges=8)
    growing = 0 if "growing" in way else 10**9
    stopped_anywhere(space, way.split()[0], seed, "prefixes" in way, growing)


def test_a_search_stopped_while_listing_has_a_valid_bound() -> None:
    space = NodeLabeledSpace(6, ["a", "b"])
    acquisition = LowerConfidenceBound().given(fitted(space, ShortestPathKernel(), 20, 0))
    pool = BranchAndBound(space, time_limit=0.0, prefixes=False).optimize(acquisition, 5)
    optimum = Catalogue(space).optimize(acquisition)[0].lcb
    assert len(pool) == 5
    assert pool.certificate.status is Status.FEASIBLE
    assert pool.certificate.bound is not None
    assert optimum is not None
    assert pool.certificate.bound <= optimum


def test_threads_give_the_same_answer_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_MANY", 10)
    space = NodeLabeledSpace(6, ["a", "b", "c"])
    acquisition = LowerConfidenceBound().given(fitted(space, ShortestPathKernel(), 30, 0))
    pools = [BranchAndBound(space, threads=n).optimize(acquisition, 20) for n in (1, 2, 2)]
    found = [[space.key(proposal.graph) for proposal in pool] for pool in pools]
    assert found[1] == found[2]
    values = [[proposal.lcb or 0.0 for proposal in pool] for pool in pools]
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=TIES)


@pytest.mark.parametrize("form", ["linear", "exponential", "normalised"])
def test_a_time_limit_never_gives_a_false_certificate(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_PAUSE", 3)
    monkeypatch.setattr(enumeration, "_PAUSE", 50)
    space = NodeLabeledSpace((5, 6), ["a", "b", "c"], max_edges=9)
    acquisition = LowerConfidenceBound().given(fitted(space, ShortestPathKernel(form), 20, 0))
    oracle = [proposal.lcb or 0.0 for proposal in Catalogue(space).optimize(acquisition, 5)]
    stopped = proven = 0
    for looks in (0, 2, 20, 60, 120, 240, 480, 960, 100_000):
        ticks = count(10**12)  # a look at the clock takes a second; listing has all the time
        monkeypatch.setattr(optimizer, "time", SimpleNamespace(perf_counter=ticks.__next__))
        pool = BranchAndBound(space, time_limit=looks).optimize(acquisition, 5)
        assert len({space.key(proposal.graph) for proposal in pool}) == 5  # many more are left
        stopped += not pool[-1].certificate.certified
        for proposal, best in zip(pool, oracle[: len(pool)], strict=True):
            certificate = proposal.certificate
            assert certificate.value is not None
            assert certificate.bound is not None
            assert certificate.bound - TIES <= best <= certificate.value + TIES
            if certificate.certified:
                proven += 1
                assert certificate.value == pytest.approx(best, rel=0, abs=TIES)
    assert stopped >= 2
    assert proven >= 5


def test_an_exhausted_space_says_so() -> None:
    space = NodeLabeledSpace(3, ["a"])
    gp = fitted(space, ShortestPathKernel(), 1, 0)
    everything = {space.key(graph) for batch in space.enumerate() for graph in batch}
    pool = BranchAndBound(space).optimize(LowerConfidenceBound().given(gp), 3, everything)
    assert len(pool) == 0
    assert pool.certificate.status is Status.EXHAUSTED


def test_a_negative_time_limit_is_refused() -> None:
    with pytest.raises(SettingError, match="time_limit must be"):
        BranchAndBound(darts(), time_limit=-1.0)


def test_the_compiled_code_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, loaded = random_problem("linear", 0), list[bool]()
    monkeypatch.setattr(runs, "load_linear", loaded.append)
    solver = BranchAndBound(problem.space)
    solver.load_code()
    first = len(loaded)
    solver.load_code()
    assert first == len(loaded) > 0


def test_the_registry_knows_it() -> None:
    assert make_optimizer("branch", darts()).name == "branch"


def test_it_is_correct_without_machine_code() -> None:
    program = (
        "from tests.acquisition.branch.test_branch_and_bound import agrees\n"
        "for form in ('linear', 'exponential'):\n"
        "    for seed in (3, 4, 7):\n"
        "        agrees(form, seed, 4)\n"
        "agrees('linear', 45, 4, prefixes=True)\n"
        "agrees('linear', 79, 5, prefixes=True, growing=0)\n"
    )
    root = Path(__file__).parents[3]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", program], cwd=root, env=environment, check=True)
