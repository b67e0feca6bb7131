"""Which graph a search recommends under noise, and the repeats that it rests on."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasgoat import LabeledGraph, Optimizer, Settings, nasbench201, search
from nasgoat.acquisition import Proposal, Status
from nasgoat.bayesopt import MemoryLedger, Stop
from nasgoat.bayesopt.recommendation import estimate_errors, list_contenders, recommend
from nasgoat.errors import SettingError
from nasgoat.spaces import EdgeLabeledSpace

SPACE = nasbench201()
TINY = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])  # 12 graphs


def measure(graph: LabeledGraph) -> float:
    """A weighted sum over the edges; hardly two graphs have the same."""
    labels = graph.edge_labels or {}
    ops = sorted(SPACE.edge_vocabulary)
    return 5.0 + sum((u + 2 * v) * ops.index(label) / 6 for (u, v), label in labels.items())


class NoisyErrors:
    """What a graph measures, plus noise that differs from call to call."""

    def __init__(self, sd: float = 0.5) -> None:
        self.rng, self.sd, self.calls = np.random.default_rng(3), sd, 0

    def __call__(self, graph: LabeledGraph) -> float:
        self.calls += 1
        return measure(graph) + self.sd * self.rng.standard_normal()


def ask_and_tell(optimizer: Optimizer, batches: int, errors: NoisyErrors) -> list[list[Proposal]]:
    asked = []
    for _ in range(batches):
        asked.append(optimizer.ask(5))
        for proposal in asked[-1]:
            optimizer.tell(proposal.graph, errors(proposal.graph))
    return asked


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-10, 10)), min_size=1, max_size=40))
def test_the_pooled_variance_is_that_of_an_analysis_of_variance(
    told: list[tuple[int, float]],
) -> None:
    graphs, errors = [graph for graph, _ in told], [error for _, error in told]
    groups = [[e for g, e in told if g == graph] for graph in dict.fromkeys(graphs)]
    free = len(told) - len(groups)
    within = sum(len(group) * np.var(group) for group in groups)
    for group, estimate in zip(groups, estimate_errors(graphs, errors), strict=True):
        assert estimate.times == len(group)
        assert estimate.error == pytest.approx(np.mean(group))
        if free == 0:
            assert estimate.uncertainty is None
        else:
            expected = np.sqrt(within / free / len(group))
            assert estimate.uncertainty == pytest.approx(expected, abs=1e-6)


def test_without_repeats_the_lowest_error_is_recommended_and_the_first_of_equals() -> None:
    found = recommend("abcd", [3.0, 2.0, 2.0, 4.0])
    assert (found.place, found.error, found.uncertainty, found.times) == (1, 2.0, None, 1)


def test_one_lucky_number_does_not_beat_many_good_ones() -> None:
    errors = [2.95, *np.tile([2.5, 3.5], 8).tolist()]
    assert recommend("a" + 16 * "b", errors).place == 1
    assert recommend("ab", errors[:2]).place == 1  # 2.5, the lowest
    assert recommend("ab", [2.95, 3.0]).place == 0


def test_contenders_may_be_better_than_the_recommended_and_the_likeliest_comes_first() -> None:
    graphs, errors = "aaaabcd", [2.5, 3.5, 2.5, 3.5, 2.7, 3.6, 9.0]
    assert recommend(graphs, errors).place == 0
    found = list_contenders(graphs, errors)  # one standard error of an evaluation is 0.577
    assert [graphs[contender.place] for contender in found] == ["b", "a", "c"]


def test_without_noise_only_the_best_is_a_contender() -> None:
    assert [c.place for c in list_contenders("abca", [3.0, 2.5, 4.0, 3.0])] == [1]


def test_what_came_out_lowest_is_repeated_whatever_the_surrogate_expects_of_it() -> None:
    optimizer = Optimizer(SPACE, Settings("linear", repeats=3), initial=24, progress=None)
    graphs = [proposal.graph for proposal in optimizer.ask(24)]
    lucky = max(graphs, key=measure)
    for graph in graphs:
        optimizer.tell(graph, min(map(measure, graphs)) - 0.1 if graph == lucky else measure(graph))
    (proposal,) = optimizer.ask(1)
    assert proposal.certificate.status is Status.REPEAT and proposal.graph == lucky
    assert optimizer.surrogate is not None and proposal.mean is not None
    means, _ = optimizer.surrogate.predict(graphs)
    assert np.sum(means < proposal.mean) >= 3  # by its mean it would not have been among three


def test_a_graph_told_a_thousand_times_is_not_recommended_for_that() -> None:
    rng = np.random.default_rng(0)
    errors = [*(9 + 0.1 * rng.standard_normal(1000)), 5.0, 5.1]
    found = recommend([0] * 1000 + [1, 2], errors)
    assert (found.place, found.times) == (1000, 1)


def test_a_thousand_tellings_of_one_graph_leave_the_search_as_fast_as_one() -> None:
    optimizer = Optimizer(SPACE, Settings(repeats=3), initial=5, progress=None)
    for proposal in optimizer.ask(5):
        optimizer.tell(proposal.graph, measure(proposal.graph))
    graph = optimizer.observations[0][0]
    for _ in range(1000):
        optimizer.tell(graph, 9.0)
    proposals = optimizer.ask(5)
    assert optimizer.surrogate is not None and len(optimizer.surrogate.graphs_) == 5
    assert SPACE.key(graph) not in {SPACE.key(p.graph) for p in proposals}  # enough of it


def test_one_proposal_in_five_repeats_a_promising_graph_up_to_its_limit() -> None:
    optimizer = Optimizer(SPACE, Settings(repeats=3), initial=10, progress=None)
    asked = ask_and_tell(optimizer, 14, NoisyErrors())
    statuses = [[p.certificate.status for p in batch] for batch in asked]
    assert all(status is Status.INITIAL for batch in statuses[:2] for status in batch)
    assert all(batch.count(Status.REPEAT) <= 1 for batch in statuses)
    repeats = sum(batch.count(Status.REPEAT) for batch in statuses)
    assert repeats >= 6
    times = Counter(SPACE.key(graph) for graph, _ in optimizer.observations)
    assert max(times.values()) == 3
    assert len(optimizer.observations) - len(times) == repeats


def test_after_a_hundred_evaluations_three_proposals_in_five_may_be_repeats() -> None:
    optimizer = Optimizer(SPACE, Settings("linear", repeats=24), initial=10, progress=None)
    asked = ask_and_tell(optimizer, 22, NoisyErrors())
    counted = [sum(p.certificate.status is Status.REPEAT for p in batch) for batch in asked]
    assert max(counted[:20]) == 1  # batches of five, two of them the initial design
    assert counted[20:] == [3, 3]


def test_where_errors_turn_out_to_have_no_noise_only_the_best_is_repeated() -> None:
    optimizer = Optimizer(SPACE, Settings(repeats=3), initial=10, progress=None)
    best, repeats = np.inf, Counter[bytes]()
    for batch in ask_and_tell(optimizer, 10, NoisyErrors(sd=0.0)):
        repeated = [p.graph for p in batch if p.certificate.status is Status.REPEAT]
        assert all(measure(graph) == best for graph in repeated)
        best = min(best, *(measure(p.graph) for p in batch))
        repeats.update(SPACE.key(graph) for graph in repeated)
    assert repeats.total() >= 2
    assert max(repeats.values()) == 2  # so it is evaluated three times


def test_a_deterministic_search_repeats_nothing() -> None:
    optimizer = Optimizer(SPACE, initial=10, progress=None)
    ask_and_tell(optimizer, 8, NoisyErrors())
    keys = [SPACE.key(graph) for graph, _ in optimizer.observations]
    assert len(set(keys)) == len(keys) == 40


def test_a_repeat_that_failed_counts_and_one_under_way_is_not_asked_for_again() -> None:
    optimizer = Optimizer(SPACE, Settings(repeats=2), initial=9, progress=None)
    for proposal in optimizer.ask(9):
        optimizer.tell(proposal.graph, measure(proposal.graph))
    (first,) = optimizer.ask(1)
    assert first.certificate.status is Status.REPEAT
    assert optimizer.pending == [first.graph]
    optimizer.tell_failed(first.graph)
    asked = [p for _ in range(2) for p in optimizer.ask(5)]
    assert SPACE.key(first.graph) not in {SPACE.key(p.graph) for p in asked}


def test_repeats_count_as_evaluations_and_the_recommended_graph_has_several() -> None:
    errors = NoisyErrors()
    result = search(errors, SPACE, 80, settings=Settings(repeats=6), progress=None)
    assert len(result.evaluations) == errors.calls == 80
    assert result.best.times > 1 and result.best.uncertainty is not None
    own = [e.error for e in result.evaluations if e.graph == result.best.graph]
    assert result.best.error == pytest.approx(np.mean(own))
    assert result.best.metrics["error"] == result.best.error
    assert result.lowest.error == min(e.error for e in result.evaluations) < result.best.error
    assert f"± {result.best.uncertainty:.3f} ({result.best.times} evaluations)" in str(result)
    assert result.certified == 1.0  # repeats are no proposals that could be proven


def test_where_the_lowest_are_repeated_the_recommended_graph_is_better_than_the_lowest() -> None:
    rng, regrets = np.random.default_rng(0), []
    for _ in range(200):
        true = 0.5 * rng.standard_normal(100)
        once = true + rng.standard_normal(100)
        again = np.repeat(np.argsort(once)[:5], 5)
        graphs = [*range(100), *again.tolist()]
        errors = [*once, *(true[again] + rng.standard_normal(25))]
        best, lowest = graphs[recommend(graphs, errors).place], graphs[int(np.argmin(errors))]
        regrets.append((true[best], true[lowest]))
    best, lowest = np.mean(regrets, axis=0)
    assert best < lowest - 0.1  # 0.2 of the standard deviation between graphs


def test_a_search_that_was_cut_off_among_repeats_goes_on_with_the_same_ones() -> None:
    def draw(number: int, graph: LabeledGraph) -> float:
        return measure(graph) + np.random.default_rng(number).standard_normal()

    def run(ledger: MemoryLedger, evaluations: int) -> list[tuple[LabeledGraph, str]]:
        numbers = iter(range(len(ledger.tickets()), 100))
        settings = Settings(repeats=4)
        result = search(
            lambda graph: draw(next(numbers), graph),
            SPACE,
            evaluations,
            settings=settings,
            ledger=ledger,
            progress=None,
        )
        return [(e.graph, str(e.proposal.certificate.status)) for e in result.evaluations]

    whole, ledger = run(MemoryLedger(), 40), MemoryLedger()
    for evaluations in (15, 28, 40):  # two of them in the middle of a batch with a repeat
        parts = run(ledger, evaluations)
    assert parts == whole
    assert [status for _, status in whole].count("repeat") >= 3


def test_a_space_that_is_used_up_is_not_repeated_for_ever() -> None:
    errors = NoisyErrors()
    result = search(
        lambda graph: errors.rng.random(), TINY, 200, settings=Settings(repeats=3), progress=None
    )
    assert result.stop is Stop.EXHAUSTED
    times = Counter(TINY.key(e.graph) for e in result.evaluations)
    assert len(times) == 12 and max(times.values()) <= 3


def test_settings_of_earlier_versions_declare_the_same() -> None:
    assert "repeats" not in Settings().declare()
    assert Settings(repeats=4).declare()["repeats"] == 4
    assert Settings.preset("default", noisy=True).repeats == 24
    assert Settings.preset("default", noisy=True, repeats=1).repeats == 1
    assert Settings.preset("paper", noisy=True).repeats == 1
    with pytest.raises(SettingError, match="repeats must be at least 1, got 0"):
        Settings(repeats=0)
