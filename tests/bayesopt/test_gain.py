"""What is left to gain: against brute force, against draws from the prior, as a rule to stop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from nasgoat import GraphGP, LabeledGraph, Settings, ShortestPathKernel, nasbench201, search
from nasgoat.acquisition import Catalogue, make_optimizer
from nasgoat.bayesopt import Gain, MemoryLedger, Optimizer, Stop, StopRule, measure_gain
from nasgoat.bayesopt.recommendation import recommend
from nasgoat.errors import SettingError
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import EdgeLabeledSpace, NodeLabeledSpace

SPACE = NodeLabeledSpace(nodes=(2, 5), max_edges=6, ops=["a", "b"])
TINY = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])  # 12 graphs


def list_graphs(catalogue: Catalogue) -> list[LabeledGraph]:
    return [catalogue.graph(i) for i in range(len(catalogue))]


def count_edges(graph: LabeledGraph) -> float:
    return 12.0 - len(graph.edges) + 0.3 * graph.n


@pytest.mark.parametrize("optimizer", ["catalogue", "branch"])
def test_bound_and_expected_number_are_those_of_brute_force(optimizer: str) -> None:
    graphs = list_graphs(Catalogue(SPACE, progress=None))
    told = [(g, count_edges(g)) for g in graphs[::9]]
    seen = {SPACE.key(graph) for graph, _ in told}
    engine = make_optimizer(optimizer, SPACE, None, "linear")
    gain = measure_gain(SPACE, engine, told, seen, "linear", margin=0.2)
    process = GraphGP(SPACE, "linear", target="log").fit(*zip(*told, strict=True))
    unseen = [g for g in graphs if SPACE.key(g) not in seen]
    mean, std = process.predict(unseen)
    assert gain is not None and process.check_.spread is not None
    stretch = max(1.0, process.check_.spread)
    best = min(error for _, error in told)
    noise = process.noise_  # none was repeated, so it may be particular to the graphs
    low = (mean - 2.5 * stretch * std).min() - 2.5 * stretch * np.sqrt(noise)
    lowest = process.to_error(np.array([low]))[0]
    assert gain.bound == pytest.approx(max(best - lowest, 0), abs=1e-7)
    if optimizer == "branch":
        assert gain.expected is None
    else:
        z = process.scale_.to_target(np.array([best - 0.2]))
        below = norm.cdf((z - mean) / (stretch * np.sqrt(std**2 + noise))).sum()
        assert gain.expected == pytest.approx(below, abs=1e-6)


def test_the_bound_holds_where_errors_come_from_the_prior() -> None:
    """The process is right then: at least 95 % of the bounds must hold."""
    catalogue = Catalogue(SPACE, progress=None)
    graphs = list_graphs(catalogue)
    rows = FeatureMap(SPACE).rows(graphs)
    kernel = ShortestPathKernel("exponential", 3.0, 3.0, 3.0, widths=FeatureMap(SPACE).widths)
    factor = np.linalg.cholesky(kernel(rows) + 1e-8 * np.eye(len(rows)))
    rng, held, widths = np.random.default_rng(0), [], []
    for _ in range(40):
        errors = np.exp(0.1 * factor @ rng.standard_normal(len(rows)))
        order = rng.permutation(len(graphs))[:40]
        told = [(graphs[i], float(errors[i])) for i in order]
        gain = measure_gain(SPACE, catalogue, told, {SPACE.key(g) for g, _ in told})
        assert gain is not None and gain.bound is not None
        held.append(gain.bound >= errors[order].min() - errors.min() - 1e-9)
        widths.append(gain.bound / (errors[order].min() - errors.min() + np.ptp(errors)))
    assert np.mean(held) >= 0.95
    assert np.median(widths) < 1.0  # and yet it says something


def test_what_the_kernel_cannot_explain_may_be_particular_to_a_graph() -> None:
    catalogue = Catalogue(SPACE, progress=None)
    graphs, rng = list_graphs(catalogue), np.random.default_rng(0)
    smooth, held = np.array([count_edges(graph) for graph in graphs]), []
    for _ in range(20):
        errors = smooth + 0.5 * rng.standard_normal(len(graphs))
        order = rng.permutation(len(graphs))[:60]
        told = [(graphs[i], float(errors[i])) for i in order]
        gain = measure_gain(SPACE, catalogue, told, {SPACE.key(g) for g, _ in told}, "linear")
        assert gain is not None
        if gain.bound is not None:
            held.append(gain.bound >= errors[order].min() - errors.min())
    assert len(held) >= 15 and np.mean(held) >= 0.95  # with σ alone fewer than half hold


def test_noise_that_repeats_show_is_not_particular_to_a_graph() -> None:
    catalogue, rng = Catalogue(SPACE, progress=None), np.random.default_rng(0)
    graphs = SPACE.sample(60, rng)
    told = [(g, count_edges(g) + 0.5 * rng.standard_normal()) for _ in range(6) for g in graphs]
    gain = measure_gain(SPACE, catalogue, told, {SPACE.key(g) for g in graphs}, "linear")
    process = GraphGP(SPACE, "linear", target="log").fit(*zip(*told, strict=True))
    z = process.scale_.to_target(np.array([error for _, error in told])).reshape(6, 60)
    particular = max(process.noise_ - z.var(axis=0, ddof=1).mean(), 0.0)
    assert gain is not None and particular < 0.5 * process.noise_
    seen = {SPACE.key(graph) for graph in graphs}
    mean, std = process.predict([g for g in list_graphs(catalogue) if SPACE.key(g) not in seen])
    width = 2.5 * gain.calibration
    low = (mean - width * std).min() - width * np.sqrt(particular)
    best = recommend([SPACE.key(graph) for graph, _ in told], [error for _, error in told])
    lowest = process.to_error(np.array([low]))[0]
    assert gain.bound == pytest.approx(max(best.shift(2.0) - lowest, 0.0), abs=1e-7)


def test_too_few_observations_say_nothing_and_no_graph_left_means_no_gain() -> None:
    catalogue = Catalogue(TINY, progress=None)
    told = [(graph, float(i + 1)) for i, graph in enumerate(list_graphs(catalogue))]
    assert measure_gain(TINY, catalogue, told[:5]) is None
    everything = {TINY.key(graph) for graph, _ in told}
    gain = measure_gain(TINY, catalogue, told, everything)
    assert gain is not None and (gain.bound, gain.expected) == (0.0, 0.0)


def test_a_heuristic_bounds_nothing() -> None:
    told = [(g, count_edges(g)) for g in SPACE.sample(20, np.random.default_rng(0))]
    gain = measure_gain(SPACE, make_optimizer("sampling", SPACE), told)
    assert gain is not None and gain.bound is None and gain.expected is None


def test_errors_that_are_not_positive_are_taken_as_they_are() -> None:
    catalogue = Catalogue(SPACE, progress=None)
    told = [(g, count_edges(g) - 9) for g in SPACE.sample(40, np.random.default_rng(0))]
    assert min(error for _, error in told) <= 0
    gain = measure_gain(SPACE, catalogue, told, margin=1.0)
    assert gain is not None and gain.bound is not None and gain.bound >= 0


def test_a_search_stops_when_little_is_left_to_gain_and_again_when_it_is_resumed() -> None:
    rule, calls = StopRule(gain=1.0, patience=2, least=20), []

    def measure(graph: LabeledGraph) -> float:
        calls.append(graph)
        return count_edges(graph)

    def run(ledger: MemoryLedger) -> tuple[Stop, int]:
        settings = Settings(kernel="linear")
        result = search(
            measure, SPACE, 150, stop_when=rule, settings=settings, ledger=ledger, progress=None
        )
        assert result.converged is not None and result.converged == ledger.converged
        assert result.gains[-1] == result.converged.gain
        assert result.gains[-1].bound is not None and result.gains[-1].bound <= 1.0
        kept = {t.iteration: t.gain for t in ledger.tickets() if t.gain}
        assert result.gains[:-1] == tuple(kept.values())  # the deciding one has no ticket
        assert str(result.converged) in str(result)
        return result.stop, len(result.evaluations)

    ledger = MemoryLedger()
    stop, evaluations = run(ledger)
    assert stop is Stop.CONVERGED and 20 <= evaluations < 150
    assert run(ledger) == (stop, evaluations)
    assert len(calls) == evaluations


def test_the_rule_waits_for_patience_and_for_the_least_number_of_evaluations() -> None:
    rule = StopRule(0.5, patience=2, least=30)
    assert not rule.is_met([Gain(0.1)], 40)
    assert not rule.is_met([Gain(0.1), Gain(0.1)], 29)
    assert not rule.is_met([Gain(0.1), None], 40)
    assert not rule.is_met([Gain(0.1), Gain(0.6)], 40)
    assert rule.is_met([Gain(0.6), Gain(0.5), Gain(0.1)], 30)


@pytest.mark.parametrize("text", ["", "gain", "gain >= 1", "loss <= 1", "gain <= x", "gain <= -"])
def test_a_rule_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="stop-when must read 'gain <= NUMBER', got"):
        StopRule.parse(text)


def test_odd_numbers_in_a_rule_are_refused() -> None:
    with pytest.raises(SettingError, match="the gain to stop at must be a number from 0"):
        StopRule.parse("gain <= -1")
    with pytest.raises(SettingError, match="patience must be at least 1, got 0"):
        StopRule(1.0, patience=0)


def test_an_optimiser_that_proves_nothing_can_not_decide_when_to_stop() -> None:
    with pytest.raises(SettingError, match="must come with an optimizer that bounds, got 'local'"):
        search(count_edges, SPACE, 40, stop_when="gain <= 1", optimizer="local")


def test_proposals_are_the_same_with_and_without_the_measurement() -> None:
    pairs = []
    for margin in (None, 0.3):
        optimizer = Optimizer(nasbench201(), initial=10, progress=None, gain_margin=margin)
        for _ in range(4):
            for proposal in optimizer.ask(5):
                optimizer.tell(proposal.graph, 5.0 + len(proposal.graph.edges))
        pairs.append([graph for graph, _ in optimizer.observations])
        assert (optimizer.gain is None) == (margin is None)
    assert pairs[0] == pairs[1]
