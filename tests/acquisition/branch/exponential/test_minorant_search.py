"""Minorants of the exponential kernel, and what their search finds against the catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import Catalogue, GraphGP, LowerConfidenceBound, NodeLabeledSpace, ShortestPathKernel
from nasgoat.acquisition.branch import BranchAndBound, runs
from nasgoat.acquisition.branch.exponential import minorant_search
from nasgoat.acquisition.branch.exponential.minorants import (
    Expansion,
    Minorant,
    Shell,
    compute_exp_tail,
)
from nasgoat.compiled import ALONE
from tests.acquisition.branch.problems import fitted, observed, random_problem

TIES = 1e-9  # sums in different orders
ROUNDING = 1e-7
SPACE = NodeLabeledSpace((3, 5), ["a", "b", "c"], max_edges=7)


@pytest.fixture(autouse=True)
def always_sift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small spaces are not left to the search of all labellings."""
    monkeypatch.setattr(runs, "FEW_LABELLINGS", 0)
    monkeypatch.setattr(runs, "_PER_NODE", 1e-9)


def compare_with_catalogue(form: str, seed: int, largest: int) -> bool:
    """Whether minorants had a part in it: not where fewer than k graphs are known."""
    problem = random_problem(form, seed, largest)
    pool = BranchAndBound(problem.space).optimize(problem.acquisition, problem.k, problem.exclude)
    oracle = Catalogue(problem.space).optimize(problem.acquisition, problem.k, problem.exclude)
    assert pool.certificate.status is oracle.certificate.status
    found, expected = ([proposal.lcb for proposal in one] for one in (pool, oracle))
    assert found == pytest.approx(expected, abs=TIES)
    return problem.space.labels_on == "nodes" and len(found) == problem.k


@pytest.mark.parametrize("form", ["exponential", "normalised"])
@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_minorants_lose_no_graph(form: str, seed: int) -> None:
    compare_with_catalogue(form, seed, 5)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["exponential", "normalised"])
def test_minorants_lose_no_graph_in_two_hundred_problems(form: str) -> None:
    sifted = [compare_with_catalogue(form, seed, 6) for seed in range(1_000, 1_200)]
    assert sum(sifted) >= 60


def evaluate(minorant: Minorant, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    both = rows @ np.column_stack([minorant.w, minorant.R]) + minorant.offset
    return np.asarray(both[:, 0] - np.linalg.norm(both[:, 1:], axis=1))


def make_expansion(form: str, weight: float, t: int) -> tuple[Expansion, GraphGP]:
    gp = fitted(SPACE, ShortestPathKernel(form, weight, 2.0, 1.0), t, 1)
    rows = gp.features.rows(observed(SPACE, 50, 2))
    posterior = gp.posterior_
    return Expansion(posterior, 3.0, rows.mean(axis=0) * np.sqrt(posterior.squares)), gp  # type: ignore[arg-type, union-attr]


@pytest.mark.parametrize("form", ["exponential", "normalised"])
@pytest.mark.parametrize("weight", [3.0, 100.0])
@pytest.mark.parametrize("share", [-1.2, -0.4, 0.5])
def test_a_minorant_is_below_every_value_of_its_shell(
    form: str, weight: float, share: float
) -> None:
    expansion, gp = make_expansion(form, weight, 40)
    graphs = observed(SPACE, 3_000, 3)
    rows = gp.features.rows(graphs)
    u = expansion.shift(rows)
    scale, q = np.exp(expansion.log_scale(u)), (u * u).sum(axis=1)
    mean, std = gp.posterior_.mean_std(rows)
    values = mean - 3.0 * std
    cut = -share * float(values.min())
    scales = float(scale.min()), float(scale.max())
    edges = np.linspace(0.0, float(q.max()), 4)
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        inside = np.flatnonzero((q >= low) & (q <= high))
        for usual in rows[:3]:
            minorant = expansion.bound(Shell(low, high, usual), cut, scales)
            bound = evaluate(minorant, rows[inside])
            assert (bound <= ((values - cut) / scale)[inside] + ROUNDING).all()
    assert len(rows) > 1_000


def test_a_minorant_of_counts_is_that_of_rows() -> None:
    expansion, gp = make_expansion("exponential", 3.0, 20)
    minorant = expansion.bound(Shell(0.0, 1.0, gp.features.rows(gp.graphs_)[0]), -1.0, (1.0, 1.2))
    graphs = [graph for graph in gp.graphs_ if graph.n == 5]
    counts = gp.features.counts(SPACE.batch(graphs)).astype(float)
    mean, std = minorant.fold_to_counts(gp.features, 5).mean_std(counts)
    assert mean - std == pytest.approx(evaluate(minorant, gp.features.rows(graphs)), abs=1e-6)


@pytest.mark.parametrize("form", ["exponential", "normalised"])
@pytest.mark.parametrize("seed", range(2))
def test_every_bound_of_a_stopped_search_is_valid(
    form: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minorant_search, "_PAUSE", 20)
    monkeypatch.setattr(minorant_search, "_DRAWN", 60)
    monkeypatch.setattr(minorant_search, "_RETRIES", (60, 200))
    kernel = ShortestPathKernel(form, 20.0, 2.0, 1.0)
    acquisition = LowerConfidenceBound().given(fitted(SPACE, kernel, 30, seed))
    pool = Catalogue(SPACE).optimize(acquisition, 30)
    expected = {SPACE.key(proposal.graph): float(proposal.lcb or 0.0) for proposal in pool}
    maker = runs.RunMaker(acquisition.features, acquisition, None, ALONE)
    known: dict[bytes, float] = {}
    bounds = []
    for run in maker.list_exponential(BranchAndBound(SPACE)._exponential):
        cutoff = np.inf
        while (found := run.go_on(cutoff)) is not None:
            for shape, labels, value in found:
                known[SPACE.key(run.block.make_graph(shape, labels))] = value
            cutoff = sorted([*known.values(), *[np.inf] * 30])[29]
            missing = [value for key, value in expected.items() if key not in known]
            if missing:
                bounds.append(run.open_bound())
                assert bounds[-1] <= min(missing) + ROUNDING
    assert len(bounds) > 5
    assert max(bounds) > min(bounds)
    assert sorted(known.values())[:30] == pytest.approx(list(expected.values()), abs=TIES)


def test_an_exponential_without_its_first_terms() -> None:
    z = np.array([-3.0, -0.1, 1e-6, 0.5, 1.9, 2.1, 6.0])
    assert compute_exp_tail(0, z) == pytest.approx(np.exp(z))
    assert compute_exp_tail(3, z) == pytest.approx(np.exp(z) - 1 - z - z**2 / 2, abs=1e-12)
    assert compute_exp_tail(3, z)[2] == pytest.approx(1e-18 / 6, rel=1e-5)
