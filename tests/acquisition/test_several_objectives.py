"""Acquisition functions of several objectives, and the catalogue that minimises them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat import EdgeLabeledSpace, GraphGP, LowerConfidenceBound, NodeLabeledSpace, nasbench201
from nasgoat.acquisition import (
    Catalogue,
    Chebyshev,
    Constrained,
    HypervolumeImprovement,
    KnownCost,
    Mutation,
    Status,
    ThompsonSampling,
    choose,
    list_several_acquisitions,
    random_problem,
    register_acquisition,
)
from nasgoat.acquisition.several_objectives import Part, SeveralAcquisition
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.limits import Limit
from nasgoat.testing.contract import list_graphs
from tests.acquisition.branch import problems

SPACE = EdgeLabeledSpace(3, ["a", "b"])
CELLS = NodeLabeledSpace((3, 5), ["a", "b"], max_edges=6)


def two_parts(
    space: SearchSpace, observations: int = 6, kernel: str = "linear"
) -> list[LowerConfidenceBound]:
    return [random_problem(space, observations, kernel, seed=seed).acquisition for seed in (0, 1)]


def values(part: Part, space: SearchSpace) -> NDArray[np.float64]:
    graphs = list_graphs(space)
    return part.combine(*part.predict(graphs))


@pytest.mark.parametrize("space", [SPACE, CELLS])
@pytest.mark.parametrize("kernel", ["linear", "exponential", "normalised"])
def test_chebyshev_is_the_augmented_maximum_of_every_graph(space: SearchSpace, kernel: str) -> None:
    first, second = two_parts(space, kernel=kernel)
    both = Chebyshev([first, second], [0.3, 1.7], [0.1, -0.4], augmentation=0.05)
    u, v = 0.3 * (values(first, space) - 0.1), 1.7 * (values(second, space) + 0.4)
    expected = np.maximum(u, v) + 0.05 * (u + v)
    pool = Catalogue(space).optimize(both, 4)
    assert [p.lcb for p in pool] == pytest.approx(np.sort(expected)[:4].tolist(), abs=1e-9)
    assert all(p.certificate.certified for p in pool)


def test_a_limit_on_a_part_holds_and_the_rest_is_ranked_by_the_first() -> None:
    first, second = two_parts(CELLS)
    u, v = values(first, CELLS), values(second, CELLS)
    limit = float(np.quantile(v, 0.1))
    pool = Catalogue(CELLS).optimize(Constrained([first, second], [limit]), 1000)
    assert len(pool) == (v <= limit).sum()
    assert [p.lcb for p in pool] == pytest.approx(np.sort(u[v <= limit]).tolist(), abs=1e-9)
    assert all(p.parts[1].mean - 3.0 * p.parts[1].std <= limit + 1e-8 for p in pool)


def test_limits_that_contradict_leave_nothing() -> None:
    first, second = two_parts(CELLS)
    cost = KnownCost.of(CELLS, "edges")
    pool = Catalogue(CELLS).optimize(Constrained([first, second, cost], [1e9, 0.5]), 3)
    assert len(pool) == 0
    assert pool.certificate.status is Status.EXHAUSTED
    found = Mutation(CELLS).optimize(Constrained([first, cost], [0.5]), 3)
    assert len(found) == 0
    assert found.certificate.status is Status.HEURISTIC  # which proves nothing


@pytest.mark.parametrize("space", [SPACE, CELLS, EdgeLabeledSpace(4, ["a", "b"])])
def test_a_known_cost_is_the_left_hand_side_of_a_limit(space: SearchSpace) -> None:
    costs = {"time": {"a": 2.0, "b": 0.25}}
    text = "sum(time) + 3*edges - depth + 4*nodes"
    cost = KnownCost.of(space.constrain("edges >= 2"), text + " + 0.5", costs)
    graphs = list_graphs(space)
    for bound in (8.0, 20.0):
        within = {
            space.key(g) for g in list_graphs(space.constrain(f"{text} <= {bound}", costs=costs))
        }
        found = {
            space.key(g)
            for g, total in zip(graphs, cost.predict(graphs)[0].tolist(), strict=True)
            if total <= bound + 0.5 + 1e-9
        }
        assert found == within
    listed = Catalogue(space)
    for part in (cost, KnownCost(space, cost.total)):  # the second time from memory
        mean, std = listed.measure(part)
        keys = [space.key(listed.graph(i)) for i in range(len(listed))]
        by_key = dict(zip(map(space.key, graphs), cost.predict(graphs)[0], strict=True))
        assert mean.tolist() == [by_key[key] for key in keys]
        assert not std.any()


def test_costs_by_place_are_known_costs_too() -> None:
    cost = KnownCost.of(SPACE, "sum(t)", {"t": {"a": 1.0, "0>2": {"a": 10.0}}})
    for graph, total in zip(list_graphs(SPACE), cost.predict(list_graphs(SPACE))[0], strict=True):
        labels = graph.edge_labels or {}
        everywhere = sum(label == "a" for label in labels.values())
        assert total == everywhere + 10.0 * (labels.get((0, 2)) == "a")


def test_scaling_an_objective_with_its_weight_changes_nothing() -> None:
    space = nasbench201()
    cells = space.sample(30, np.random.default_rng(0))
    errors = [np.random.default_rng([1, i]).normal() + len(c.edges) for i, c in enumerate(cells)]
    latency = np.array([3.0 + len(c.edges) + 0.1 * i % 7 for i, c in enumerate(cells)])
    part = LowerConfidenceBound(2.0, GraphGP(space).fit(cells, errors))
    found = []
    for unit in (1.0, 1e3, 1e-3):
        other = LowerConfidenceBound(
            2.0, GraphGP(space, target="plain").fit(cells, list(unit * latency))
        )
        cost = KnownCost.of(
            space, "sum(t)", {"t": {"nor_conv_3x3": unit, "skip_connect": 0.1 * unit}}
        )
        parts: list[Part] = [part, other, cost]
        weights = [0.5, 1.0, 0.2 / unit]
        both = Chebyshev(parts, weights, [0.0, 0.0, 2.0 * unit])
        limited = Constrained([part, cost], [1.2 * unit])
        front = np.array([[-0.5, 2.1 * unit], [0.3, 1.0 * unit]])
        ehvi = HypervolumeImprovement([part, cost], front, [1.0, 3.0 * unit])
        pools = [Catalogue(space).optimize(each, 5) for each in (both, limited, ehvi)]
        found.append([[space.key(p.graph) for p in pool] for pool in pools])
    assert found[0] == found[1] == found[2]


def test_a_constant_objective_leaves_the_order_of_the_other() -> None:
    first, _ = two_parts(CELLS)
    constant = KnownCost(CELLS, Limit("flat", "<=", -1.0))
    expected = [p.graph for p in Catalogue(CELLS).optimize(first, 5)]
    for both in (
        Chebyshev([first, constant], [1.0, 1.0], [-100.0, 0.0]),
        Constrained([first, constant], [1.0]),
        HypervolumeImprovement([replace(first, sqrt_beta=0.0), constant], [], [50.0, 1.5]),
    ):
        pool = Catalogue(CELLS).optimize(both, 5)
        if isinstance(both, HypervolumeImprovement):
            assert len(pool) == 5
        else:
            assert [p.graph for p in pool] == expected


def test_a_constant_observed_objective_and_equal_points_are_no_trouble() -> None:
    space = nasbench201()
    cells = space.sample(12, np.random.default_rng(0))
    one = LowerConfidenceBound(1.0, GraphGP(space).fit(cells, [5.0] * 12))
    two = LowerConfidenceBound(1.0, GraphGP(space).fit(cells, [1.0] * 6 + [2.0] * 6))
    front = np.zeros((12, 2))
    for both in (
        Chebyshev([one, two], [1.0, 1.0], [0.0, 0.0]),
        Constrained([one, two], [0.0]),
        HypervolumeImprovement([one, two], front, [1.0, 1.0]),
    ):
        pool = Catalogue(space).optimize(both, 4)
        assert len(pool) == 4
        assert all(p.lcb is not None and np.isfinite(p.lcb) for p in pool)


def test_ties_are_broken_by_the_order_of_the_space() -> None:
    first, second = two_parts(SPACE)
    flat = Chebyshev([first, KnownCost(SPACE, Limit("flat", "<=", 0.0))], [0.0, 1.0], [0.0, 0.0])
    listed = Catalogue(SPACE)
    assert [p.graph for p in listed.optimize(flat, 3)] == [listed.graph(i) for i in range(3)]
    assert len(listed.optimize(Chebyshev([second, second], [1, 1], [0, 0]), 3)) == 3


def test_proposals_say_what_each_objective_is_expected_to_be() -> None:
    first, second = two_parts(CELLS)
    both = Chebyshev([first, second, KnownCost.of(CELLS, "edges")], [1, 1, 0.1], [0, 0, 0])
    pool = Catalogue(CELLS).optimize(both, 2)
    for proposal in pool:
        assert (proposal.mean, proposal.std) == pytest.approx(proposal.parts[0])
        assert proposal.parts[2] == (len(proposal.graph.edges), 0.0)
        expected = [part.predict([proposal.graph])[0][0] for part in both.parts]
        assert [part.mean for part in proposal.parts] == pytest.approx(expected)
        said = json.loads(json.dumps(proposal.to_dict()))
        assert said["parts"][2] == {"mean": float(len(proposal.graph.edges)), "std": 0.0}
    assert "parts" not in Catalogue(CELLS).optimize(first)[0].to_dict()


def test_a_batch_that_believes_its_graphs_spreads() -> None:
    first, second = two_parts(CELLS)
    both = Chebyshev([first, second], [1.0, 1.0], [0.0, 0.0])
    (chosen,) = (p.graph for p in Catalogue(CELLS).optimize(both))
    after = both.assume_predicted([chosen])
    for old, new in zip(both.parts, after.parts, strict=True):
        assert new.predict([chosen])[0] == pytest.approx(old.predict([chosen])[0], abs=1e-6)
        assert new.predict([chosen])[1] < old.predict([chosen])[1]
    assert both.assume_predicted([]) is both
    assert after.weights == both.weights


def test_draws_may_be_parts() -> None:
    gps = [part.gp for part in two_parts(CELLS)]
    draws = [ThompsonSampling(seed, gp) for seed, gp in enumerate(gps)]
    both = Chebyshev(draws, [1.0, 1.0], [0.0, 0.0], 0.0)
    graphs = list_graphs(CELLS)
    expected = np.maximum(*(draw.score(graphs) for draw in draws))
    assert both.score(graphs) == pytest.approx(expected)
    assert Catalogue(CELLS).optimize(both)[0].lcb == pytest.approx(expected.min())


def test_the_scores_of_both_objectives_are_kept_for_the_next_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed, parts = Catalogue(CELLS), two_parts(CELLS)
    listed.optimize(Chebyshev(parts, [1.0, 1.0], [0.0, 0.0]))
    posterior: Any = type(parts[0].posterior)
    asked: list[int] = []
    original = posterior.fold_to_counts

    def count(*given: Any) -> Any:
        asked.append(1)
        return original(*given)

    monkeypatch.setattr(posterior, "fold_to_counts", count)
    for weight in (0.1, 0.5, 0.9):
        listed.optimize(Chebyshev(parts, [weight, 1.0 - weight], [0.0, 0.0]))
    assert asked == []
    random_part = problems.random_problem("linear", 0, 4)
    Catalogue(random_part.space).optimize(random_part.acquisition)
    assert asked != []


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: Chebyshev(p, [1.0], [0.0, 0.0]), "weights must be 2 finite numbers, one for"),
        (lambda p: Chebyshev(p, [1.0, np.nan], [0.0, 0.0]), "weights must be 2 finite"),
        (lambda p: Chebyshev(p, [1.0, 1.0], [0.0]), "reference must be 2 finite numbers"),
        (lambda p: Chebyshev(p, [1.0, -1.0], [0, 0]), r"weights must be from 0 up, .* \(1.0, -1"),
        (lambda p: Chebyshev(p, [0.0, 0.0], [0, 0]), "weights must be from 0 up, not all 0"),
        (lambda p: Chebyshev(p, [1, 1], [0, 0], -0.1), "augmentation must be from 0 up, got -0.1"),
        (lambda p: Constrained(p, []), "limits must be 1 numbers, one for each part but the"),
        (lambda p: Constrained(p, [np.nan]), "limits must be 1 numbers"),
        (lambda p: Constrained([KnownCost.of(SPACE, "edges")], []), "one with a surrogate, got"),
        (lambda p: HypervolumeImprovement(p[:1], [], [1.0, 1.0]), "two parts .* got 1 parts"),
        (lambda p: HypervolumeImprovement(p, [], [1.0, np.inf]), "two finite numbers, got 2 parts"),
        (lambda p: HypervolumeImprovement(p, [[0, np.nan]], [1, 1]), "front must be of finite"),
        (lambda p: Chebyshev(p, [1, 1], [0, 0]).given(p[0].gp), "surrogate for each part, got one"),
        (lambda p: Chebyshev([LowerConfidenceBound(), p[0]], [1, 1], [0, 0]).score([]), "given"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        make(two_parts(SPACE))


def test_a_cost_that_is_not_declared_is_named() -> None:
    with pytest.raises(UnknownNameError, match="latency"):
        KnownCost.of(SPACE, "sum(latency)", {"params": {"a": 1.0}})


def test_functions_of_several_objectives_have_names_of_their_own() -> None:
    assert {"chebyshev", "constrained", "epsilon", "hypervolume"} <= set(
        list_several_acquisitions()
    )
    for name in list_several_acquisitions():
        choice = choose(nasbench201(), acquisition=name)
        assert choice.name == "catalogue"

    class Mine(Chebyshev):
        pass

    register_acquisition("mine-of-several", Mine)
    assert "mine-of-several" in list_several_acquisitions()
    assert issubclass(Mine, SeveralAcquisition)
    with pytest.raises(SettingError, match="name of its own, got 'chebyshev'"):
        register_acquisition("chebyshev", Mine)


@pytest.mark.parametrize("form", ["linear", "exponential"])
@pytest.mark.parametrize("known", [False, True])
def test_a_batch_of_the_catalogue_is_that_of_every_graph_scored(form: str, known: bool) -> None:
    """Each graph is then believed to come out as predicted; scores from before are bounds."""
    space = NodeLabeledSpace((3, 5), ["a", "b", "c"], max_edges=7)
    parts: list[Part] = [random_problem(space, 20, form, seed=seed).acquisition for seed in (0, 1)]
    if known:
        parts[1] = KnownCost.of(space, "a + 0.3*edges")
    graphs, catalogue = list_graphs(space), Catalogue(space, None)
    means = np.column_stack([part.predict(graphs[::40])[0] for part in parts])
    functions: list[SeveralAcquisition] = [
        HypervolumeImprovement(parts, means, (means.max(axis=0) + 0.1).tolist()),
        Chebyshev(parts, [0.4, 0.6], means.min(axis=0).tolist()),
        Constrained(parts, [float(np.median(means[:, 1]))]),
    ]
    for function in functions:
        taken = {space.key(graph) for graph in graphs[::7]}
        for _ in range(4):
            left = [graph for graph in graphs if space.key(graph) not in taken]
            expected = np.sort(function.score(left))[:3]
            pool = catalogue.optimize(function, 3, taken)
            assert [p.lcb for p in pool] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            taken.add(space.key(pool[0].graph))
            function = function.assume_predicted([pool[0].graph])
