from __future__ import annotations

import itertools

import numpy as np
import pytest

from nasgoat import Catalogue, EdgeLabeledSpace, GraphGP, LowerConfidenceBound, nasbench201
from nasgoat.acquisition import Mutation, Sampling, Status, make_optimizer, mutate_in_turn
from nasgoat.errors import SettingError

SPACE = nasbench201()


def acquisition() -> LowerConfidenceBound:
    cells = SPACE.sample(15, np.random.default_rng(0))
    gp = GraphGP(SPACE).fit(cells, [5.0 + len(cell.edges) for cell in cells])
    return LowerConfidenceBound().given(gp)


@pytest.mark.parametrize("name", ["mutation", "sampling"])
def test_proposals_are_the_best_of_the_pool_and_no_better_than_the_optimum(name: str) -> None:
    rule = acquisition()
    pool = make_optimizer(name, SPACE).optimize(rule, k=5)
    values = [proposal.lcb for proposal in pool]
    assert values == pytest.approx(rule.score([p.graph for p in pool]))
    assert all(before <= after for before, after in itertools.pairwise(p.lcb or 0 for p in pool))
    best = Catalogue(SPACE).optimize(rule).certificate.value
    assert best is not None and values[0] is not None
    assert values[0] >= best - 1e-9  # equal up to rounding if the pool holds the optimum
    assert pool.certificate.status is Status.HEURISTIC
    assert pool.certificate.bound is None


@pytest.mark.parametrize("kind", [Mutation, Sampling])
def test_excluded_graphs_are_not_proposed(kind: type[Mutation] | type[Sampling]) -> None:
    rule = acquisition()
    first = kind(SPACE).optimize(rule, k=5)
    keys = {SPACE.key(proposal.graph) for proposal in first}
    second = kind(SPACE).optimize(rule, k=5, exclude=keys)
    assert not keys & {SPACE.key(proposal.graph) for proposal in second}


@pytest.mark.parametrize("kind", [Mutation, Sampling])
def test_a_used_up_space_is_exhausted(kind: type[Mutation] | type[Sampling]) -> None:
    space = EdgeLabeledSpace(nodes=3, ops=["conv"])
    cells = space.sample(9, np.random.default_rng(0))
    rule = LowerConfidenceBound().given(GraphGP(space).fit(cells, list(range(1, len(cells) + 1))))
    pool = kind(space).optimize(rule, exclude={space.key(cell) for cell in cells})
    assert len(pool) == 0
    assert pool.certificate.status is Status.EXHAUSTED


def test_settings_are_checked() -> None:
    with pytest.raises(SettingError, match="size of the pool"):
        Sampling(SPACE, size=0)
    with pytest.raises(SettingError, match="number of proposals"):
        Sampling(SPACE).optimize(acquisition(), k=0)


def test_mutations_are_distinct_and_near_their_parents() -> None:
    rng = np.random.default_rng(0)
    parents = SPACE.sample(10, rng)
    found = mutate_in_turn(SPACE, parents, 100, {SPACE.key(p) for p in parents}, rng)
    assert len({SPACE.key(graph) for graph in found}) == 100
    digits = np.array([SPACE.digits(graph) for graph in found])
    nearest = [(digits != SPACE.digits(parent)).sum(axis=1) for parent in parents]
    assert np.min(nearest, axis=0).mean() < 2.5
