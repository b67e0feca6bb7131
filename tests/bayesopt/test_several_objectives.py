"""Searches of several objectives and under measured limits."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pytest

import nasgoat
from nasgoat import EdgeLabeledSpace, Optimizer, Settings, nasbench201
from nasgoat.acquisition import Acquisition, Catalogue, Constrained, Pool, Status
from nasgoat.bayesopt import Objectives
from nasgoat.bayesopt.front_functions import spread_weights
from nasgoat.bayesopt.measured_limits import split_limits
from nasgoat.errors import (
    ObjectiveError,
    ObservationError,
    SettingError,
    SpaceError,
    UnknownNameError,
)
from nasgoat.graphs import LabeledGraph

SPACE = EdgeLabeledSpace(nodes=3, ops=["conv", "pool", "skip"])
COSTS = {"params": {"conv": 9.0, "pool": 1.0}}


def measure(cell: LabeledGraph) -> dict[str, float]:
    """The error falls with convolutions, the latency rises with everything."""
    labels = list((cell.edge_labels or {}).values())
    weights = {"conv": 3.0, "pool": 1.0, "skip": 0.5}
    return {
        "error": 10.0 - 2.0 * labels.count("conv") - len(set(labels)),
        "latency": sum(weights[label] for label in labels),
    }


def propose(minimise: Any = ("error", "latency"), rounds: int = 4, **options: Any) -> list[bytes]:
    """The keys of what an optimiser proposes, told what is measured."""
    scale = options.pop("scale", 1.0)
    optimizer = Optimizer(SPACE, initial=4, minimise=minimise, **options)
    keys = []
    for _ in range(rounds):
        for proposal in optimizer.ask(3):
            keys.append(SPACE.key(proposal.graph))
            found = measure(proposal.graph)
            optimizer.tell(proposal.graph, {**found, "latency": scale * found["latency"]})
    return keys


@pytest.mark.parametrize("acquisition", ["hypervolume", "chebyshev", "epsilon"])
def test_proposals_are_distinct_follow_from_the_seed_and_ignore_units(acquisition: str) -> None:
    settings = Settings(acquisition=acquisition)
    once, again = propose(settings=settings), propose(settings=settings)
    assert len(set(once)) == len(once) == 12
    assert once == again == propose(settings=settings, scale=1024.0)  # a power of two: no rounding
    assert once != propose(settings=settings, seed=1)


@pytest.mark.parametrize("minimise", [["error", "latency"], ["error", "latency", "energy"]])
def test_a_small_space_is_searched_to_its_true_front(minimise: list[str]) -> None:
    def objective(cell: LabeledGraph) -> Mapping[str, float]:
        return {**measure(cell), "energy": float(len(cell.edges)), "note": 1.0}

    result = nasgoat.search(objective, SPACE, 100, minimise=minimise, progress=None)
    assert str(result.stop) == "exhausted"
    every = [objective(e.graph) for e in result.evaluations]
    values = [tuple(metrics[name] for name in minimise) for metrics in every]
    expected = {
        row
        for row in values
        if not any(other != row and np.less_equal(other, row).all() for other in values)
    }
    assert [result.objectives.pick(e.metrics) for e in result.front] == sorted(expected)
    assert result.hypervolume() > 0
    assert set(result.evaluations[0].proposal.to_dict()) >= {"graph", "lcb", "certificate"}


def test_proposals_carry_every_posterior_and_a_proof() -> None:
    optimizer = Optimizer(SPACE, initial=4, minimise=["error", "latency"])
    for proposal in optimizer.ask(4):
        optimizer.tell(proposal.graph, measure(proposal.graph))
    proposals = optimizer.ask(3)
    assert {p.certificate.status for p in proposals} == {Status.OPTIMAL}
    assert {len(p.parts) for p in proposals} == {2}
    assert list(optimizer.surrogates) == ["error", "latency"]


def test_one_objective_proposes_what_it_always_did() -> None:
    def keys(**options: Any) -> list[bytes]:
        optimizer = Optimizer(SPACE, initial=4, **options)
        found = []
        for _ in range(4):
            for proposal in optimizer.ask(3):
                found.append(SPACE.key(proposal.graph))
                optimizer.tell(proposal.graph, measure(proposal.graph)["error"])
        return found

    assert keys() == keys(minimise=["error"]) == keys(minimise="error")


def test_a_constant_objective_and_equal_points_do_no_harm() -> None:
    def objective(cell: LabeledGraph) -> Mapping[str, float]:
        return {"error": float(len(cell.edges)), "latency": 3.0}

    for acquisition in ("hypervolume", "chebyshev", "epsilon"):
        settings = Settings(acquisition=acquisition)
        result = nasgoat.search(
            objective, SPACE, 20, minimise=["error", "latency"], settings=settings, progress=None
        )
        assert [e.metrics["error"] for e in result.front] == [2.0]
        assert result.knee is None


def test_a_cost_of_the_space_is_an_objective_that_nobody_measures() -> None:
    space = SPACE.constrain(costs=COSTS)

    def objective(cell: LabeledGraph) -> float:
        return measure(cell)["error"]

    result = nasgoat.search(objective, space, 20, minimise=["error", "params"], progress=None)
    for evaluation in result.evaluations:
        assert evaluation.metrics["params"] == space.price([evaluation.graph], "params")[0]
    assert len(result.front) > 1
    with pytest.raises(SettingError, match="at least one value must be measured"):
        nasgoat.search(objective, space, 20, minimise=["params"], progress=None)


def test_one_limit_may_be_a_text() -> None:
    space, measured = split_limits(SPACE, "latency <= 5")
    assert space == SPACE and [limit.text for limit in measured] == ["latency <= 5"]
    assert Objectives.of("error", "latency <= 5") == Objectives.of("error", ["latency <= 5"])
    result = nasgoat.search(measure, SPACE, 6, initial=3, limits="latency <= 5", progress=None)
    assert [limit.text for limit in result.objectives.limits] == ["latency <= 5"]


@pytest.mark.parametrize(
    ("text", "problem", "said"),
    [
        ("latency <= abc", SettingError, "a limit must read 'NAME <= NUMBER'"),
        ("latency", SettingError, "a limit must read 'NAME <= NUMBER'"),
        ("conv", SpaceError, "must have <=, >= or == here"),
        ("convv <= pool", UnknownNameError, "did you mean conv"),
        ("conv + latency <= 5", UnknownNameError, "an operation in a limit must be one of"),
        ("'conv'[7>9] <= 1", SpaceError, "must be an edge such as 0>1, got '7>9'"),
        ("sum(parms) <= 1", UnknownNameError, "did you mean params"),
        ("edge:convv <= 1", UnknownNameError, "did you mean conv"),
    ],
)
def test_a_limit_that_can_not_be_read_names_what_is_wrong(
    text: str, problem: type[Exception], said: str
) -> None:
    with pytest.raises(problem, match=re.escape(said)):
        split_limits(SPACE.constrain(costs=COSTS), [text])


def test_names_near_to_those_of_the_space_are_refused_before_the_first_evaluation() -> None:
    def refuse(cell: LabeledGraph) -> float:
        raise AssertionError("nothing must be evaluated")

    space = SPACE.constrain(costs=COSTS)
    with pytest.raises(SettingError, match=r"did you mean params \(a cost of the space\)"):
        nasgoat.search(refuse, space, 20, minimise=["error", "parms"], progress=None)
    with pytest.raises(SettingError, match=r"did you mean pool \(an operation of the space\)"):
        nasgoat.search(refuse, space, 20, limits=["poool <= 1"], progress=None)
    for own in ("params_gpu", "parans", "latency", "error"):  # names of what may be measured
        Objectives.of(["error", own] if own != "error" else "error").refuse_misspelt(space)


def test_a_limit_on_what_the_space_knows_always_holds() -> None:
    space, measured = split_limits(
        SPACE.constrain(costs=COSTS), ["sum(params) <= 10", "conv <= 1", "latency <= 5"]
    )
    assert [limit.text for limit in measured] == ["latency <= 5"]
    result = nasgoat.search(
        measure, SPACE.constrain(costs=COSTS), 30, limits=["conv <= 1"], progress=None
    )
    assert result.objectives.plain
    labels = [list((e.graph.edge_labels or {}).values()) for e in result.evaluations]
    assert max(found.count("conv") for found in labels) == 1
    assert all(graph in SPACE for graph in space.sample(3, np.random.default_rng(0)))


def test_a_measured_limit_is_learnt_and_the_best_keeps_it() -> None:
    def objective(cell: LabeledGraph) -> Mapping[str, float]:
        edges = len(cell.edges)
        return {"error": 9.0 - edges, "latency": float(edges)}

    result = nasgoat.search(
        objective, nasbench201(), 40, limits=["latency <= 4.5"], progress=None, seed=3
    )
    assert (result.best.metrics["latency"], result.best.error) == (4.0, 5.0)
    assert result.feasible and result.objectives.names == ("error",)
    chosen = [e for e in result.evaluations if e.proposal.certificate.status is Status.OPTIMAL]
    kept = [e.metrics["latency"] <= 4 for e in chosen]
    assert sum(kept) > 0.8 * len(kept) > 20
    shown = [e.proposal.probability for e in chosen]
    assert all(p is not None and 0 <= p <= 1 for p in shown)
    assert np.mean([p for p, k in zip(shown, kept, strict=True) if k]) > 0.5


def test_bounds_of_limited_values_are_optimistic_but_narrow() -> None:
    seen: list[tuple[float, ...]] = []

    class Recording(Catalogue):
        def optimize(
            self, acquisition: Acquisition, k: int = 1, exclude: Collection[bytes] = ()
        ) -> Pool:
            assert isinstance(acquisition, Constrained)
            seen.append(tuple(part.sqrt_beta for part in acquisition.modelled))
            return super().optimize(acquisition, k, exclude)

    engine = Recording(nasbench201(), None)
    optimizer = Optimizer(nasbench201(), Settings(), engine, 10, limits=["latency <= 2"])
    for proposal in optimizer.ask(10):
        convolutions = list((proposal.graph.edge_labels or {}).values()).count("nor_conv_3x3")
        found = {"error": 9.0 - convolutions, "latency": float(convolutions)}
        optimizer.tell(proposal.graph, found)
    optimizer.ask(5)
    assert sorted({error for error, _ in seen}) == [0.5, 1.0, 2.0, 3.0, 5.0]
    assert [limited for _, limited in seen] == pytest.approx([0.2 * error for error, _ in seen])


def test_limits_that_nothing_keeps_lead_to_what_breaks_them_least() -> None:
    result = nasgoat.search(measure, SPACE, 15, limits=["latency <= 0.1"], progress=None)
    lowest = min(e.metrics["latency"] for e in result.evaluations)
    assert not result.feasible and result.front == ()
    assert result.best.metrics["latency"] == lowest
    assert result.hypervolume() == 0.0
    assert "no evaluation keeps latency <= 0.1" in str(result)


def test_two_objectives_under_a_measured_limit() -> None:
    def objective(cell: LabeledGraph) -> Mapping[str, float]:
        return {**measure(cell), "energy": float(len(cell.edges))}

    for acquisition in ("hypervolume", "chebyshev", "epsilon"):
        result = nasgoat.search(
            objective,
            SPACE,
            30,
            minimise=["error", "latency"],
            limits=["energy >= 3"],
            settings=Settings(acquisition=acquisition),
            progress=None,
        )
        assert result.front
        assert all(e.metrics["energy"] >= 3 for e in result.front)


def test_graphs_that_will_probably_fail_are_avoided() -> None:
    def objective(cell: LabeledGraph) -> float:
        if list((cell.edge_labels or {}).values()).count("nor_conv_3x3") >= 2:
            raise MemoryError("too large")
        return 9.0 - len(cell.edges)

    def count_failures(learn: bool) -> int:
        optimizer = Optimizer(nasbench201(), initial=10, learn_failures=learn)
        failed = 0
        for _ in range(6):
            for proposal in optimizer.ask(5):
                try:
                    optimizer.tell(proposal.graph, objective(proposal.graph))
                except MemoryError:
                    optimizer.tell_failed(proposal.graph)
                    failed += 1
        return failed

    learnt, ignored = count_failures(True), count_failures(False)
    assert learnt < ignored


def test_nan_in_one_objective_fails_the_evaluation_and_teaches_nothing() -> None:
    def objective(cell: LabeledGraph) -> Mapping[str, float]:
        found = measure(cell)
        return found if len(cell.edges) > 2 else {**found, "latency": float("nan")}

    first = next(
        seed for seed in range(99) if len(Optimizer(SPACE, seed=seed).ask(1)[0].graph.edges) > 2
    )
    result = nasgoat.search(
        objective, SPACE, 12, minimise=["error", "latency"], seed=first, progress=None, batch=2
    )
    assert result.failures
    reasons = {t.failure.reason for t in result.failures if t.failure}
    assert reasons == {"the latency must be finite, got nan"}
    assert all(len(e.graph.edges) > 2 for e in result.evaluations)


def test_what_an_objective_lacks_is_named_with_what_came() -> None:
    with pytest.raises(
        ObjectiveError, match=r"must return 'latncy', got \['error', 'latency'\]; did you mean lat"
    ):
        nasgoat.search(measure, SPACE, 5, minimise=["error", "latncy"], progress=None)
    with pytest.raises(ObjectiveError, match="a mapping with 'error', 'latency', got 3"):
        nasgoat.search(lambda _: 3, SPACE, 5, minimise=["error", "latency"], progress=None)
    optimizer = Optimizer(SPACE, minimise=["error", "latency"])
    with pytest.raises(ObservationError, match=r"must return 'latency', got \['error'\]"):
        optimizer.tell(optimizer.ask(1)[0].graph, {"error": 3.0})
    assert optimizer.observations == []


def test_what_can_not_be_sought_is_refused() -> None:
    with pytest.raises(SettingError, match="one to 3 values must be minimised, got 4"):
        Objectives.of(["a", "b", "c", "d"])
    with pytest.raises(SettingError, match="minimised once, got a, a"):
        Objectives.of(["a", "a"])
    with pytest.raises(SettingError, match="some value of a, got a >= 3 and a <= 2"):
        Objectives.of("error", ["a <= 2", "a <= 4", "a >= 3"])
    with pytest.raises(SettingError, match="acquisition chebyshev must come with several"):
        Optimizer(SPACE, Settings(acquisition="chebyshev"))
    with pytest.raises(UnknownNameError, match="acquisition of 2 objectives must be one of"):
        Optimizer(SPACE, Settings(acquisition="ei"), minimise=["error", "latency"])
    with pytest.raises(UnknownNameError, match="acquisition of 3 objectives must be one of"):
        Optimizer(SPACE, Settings(acquisition="hypervolume"), minimise=["a", "b", "c"])
    with pytest.raises(SettingError, match="batch strategy must be portfolio"):
        Optimizer(SPACE, Settings(batch_strategy="top"), minimise=["error", "latency"])
    with pytest.raises(SettingError, match="must be of one error"):
        Optimizer(SPACE, gain_margin=0.0, minimise=["error", "latency"])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_weights_fill_the_simplex_evenly(count: int) -> None:
    weights = np.array([spread_weights(place, count) for place in range(64)])
    assert weights.sum(axis=1) == pytest.approx(1.0)
    assert (weights > 0).all()
    assert weights.mean(axis=0) == pytest.approx(1 / count, abs=0.05)  # 64 places


def test_a_search_from_a_ledger_goes_on_as_if_it_had_never_stopped() -> None:
    whole = nasgoat.search(measure, SPACE, 18, minimise=["error", "latency"], progress=None)
    ledger = nasgoat.bayesopt.MemoryLedger()
    for evaluations in (11, 18):  # in the middle of a batch
        parts = nasgoat.search(
            measure, SPACE, evaluations, minimise=["error", "latency"], ledger=ledger, progress=None
        )
    assert [e.graph for e in parts.evaluations] == [e.graph for e in whole.evaluations]
