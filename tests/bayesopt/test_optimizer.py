"""Ask and tell: pure, deterministic, never twice the same graph."""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nasgoat import (
    Catalogue,
    ChainSpace,
    EdgeLabeledSpace,
    GraphGP,
    LabeledGraph,
    LowerConfidenceBound,
    NodeLabeledSpace,
    Optimizer,
    Settings,
    darts,
    nasbench201,
    search,
)
from nasgoat.acquisition import (
    Acquisition,
    ExpectedImprovement,
    Status,
    ThompsonSampling,
    Turn,
    find_acquisition,
)
from nasgoat.bayesopt import Iteration
from nasgoat.errors import (
    GraphError,
    ObjectiveError,
    ObservationError,
    SettingError,
    UnknownNameError,
)

SPACE = EdgeLabeledSpace(4, ["a", "b"])
FUNCTIONS = [
    Settings(acquisition="ei"),
    Settings(acquisition="thompson"),
    Settings(acquisition="thompson", kernel="linear"),
]
PRESETS = [
    Settings(),
    Settings.preset("paper"),
    Settings(kernel="linear"),
    Settings(target="log"),
    *FUNCTIONS,
]


def error(graph: LabeledGraph) -> float:
    weight = {"a": 1.0, "b": 3.0}
    return 20 - sum(weight[x] / (1 + v - u) for (u, v), x in (graph.edge_labels or {}).items())


@pytest.mark.parametrize("settings", PRESETS, ids=str)
def test_the_optimum_is_found_and_no_graph_comes_twice(settings: Settings) -> None:
    result = search(error, SPACE, evaluations=40, settings=settings)
    best = min(error(g) for batch in SPACE.enumerate() for g in batch)
    assert result.best.error == pytest.approx(best)
    assert len({SPACE.key(e.graph) for e in result.evaluations}) == 40
    assert result.certified == 1.0
    assert result.curve() == sorted(result.curve(), reverse=True)


@pytest.mark.parametrize("settings", PRESETS, ids=str)
def test_a_replay_proposes_the_same_graphs(settings: Settings) -> None:
    whole = search(error, SPACE, evaluations=30, settings=settings, seed=5)
    resumed = Optimizer(SPACE, settings, seed=5)
    for evaluation in whole.evaluations[:20]:
        resumed.tell(evaluation.graph, evaluation.error)
    again = [proposal.graph for proposal in resumed.ask(5)]
    assert again == [evaluation.graph for evaluation in whole.evaluations[20:25]]


def told(settings: Settings, seed: int = 0, optimizer: str = "auto") -> Optimizer:
    """An optimiser that knows the errors of ten graphs."""
    asker = Optimizer(SPACE, settings, optimizer, initial=10, seed=seed)
    for proposal in asker.ask(10):
        asker.tell(proposal.graph, error(proposal.graph))
    return asker


@pytest.mark.parametrize(
    ("settings", "make"),
    [
        (Settings(acquisition="ei"), lambda gp, _: ExpectedImprovement(gp)),
        (Settings(batch_strategy="spread"), lambda gp, beta: LowerConfidenceBound(beta, gp)),
    ],
    ids=["improvement", "spread"],
)
def test_a_batch_believes_what_it_proposed(
    settings: Settings, make: Callable[[GraphGP, float], Acquisition]
) -> None:
    asker = told(settings)
    proposals = asker.ask(3)
    assert asker.surrogate is not None
    taken = {SPACE.key(graph) for graph, _ in asker.observations}
    for i, proposal in enumerate(proposals):
        before = [p.graph for p in proposals[:i]]
        believed = asker.surrogate.assume_predicted(before) if before else asker.surrogate
        function = make(believed, asker.settings.sqrt_betas[(10 + i) % 5])
        best = Catalogue(SPACE).optimize(function, 1, taken)[0]
        assert proposal.graph == best.graph
        assert proposal.lcb == pytest.approx(best.lcb, abs=1e-6)  # believed one by one, or at once
        taken.add(SPACE.key(proposal.graph))


def test_a_batch_of_draws_has_a_draw_for_each_graph() -> None:
    asker = told(Settings(acquisition="thompson", kernel="linear"), seed=3)
    proposals = asker.ask(3)
    assert asker.surrogate is not None
    for i, proposal in enumerate(proposals):
        draw = ThompsonSampling((3, 10 + i), asker.surrogate)
        assert draw.score([proposal.graph])[0] == pytest.approx(proposal.lcb, abs=1e-9)


@pytest.mark.parametrize("settings", FUNCTIONS, ids=str)
def test_the_strategy_top_takes_the_best_graphs_of_one_function(settings: Settings) -> None:
    asker = told(replace(settings, batch_strategy="top"))
    proposals = asker.ask(4)
    assert asker.surrogate is not None
    turn = Turn(asker.surrogate, place=10)
    taken = {SPACE.key(graph) for graph, _ in asker.observations}
    best = Catalogue(SPACE).optimize(find_acquisition(settings.acquisition).make(turn), 4, taken)
    assert [p.graph for p in proposals] == [p.graph for p in best]


@pytest.mark.parametrize("settings", [Settings(acquisition="ei"), FUNCTIONS[2]], ids=str)
def test_exact_optimisers_propose_the_same_by_every_function(settings: Settings) -> None:
    values = [[p.lcb for p in told(settings, 1, name).ask(3)] for name in ("catalogue", "branch")]
    assert values[0] == pytest.approx(values[1], abs=1e-6)  # a believer's posterior is its own


def test_the_seed_decides_the_draws() -> None:
    settings = Settings(acquisition="thompson")
    first, same, other = ([p.lcb for p in told(settings, s).ask(3)] for s in (0, 0, 1))
    assert first == same
    assert first != other


def test_an_acquisition_is_declared_unless_it_is_the_first_there_was() -> None:
    assert "acquisition" not in Settings().declare()
    assert Settings(acquisition="ei").declare()["acquisition"] == "ei"


def test_the_seed_decides_the_initial_design() -> None:
    first, same, other = (Optimizer(SPACE, seed=seed).ask(10) for seed in (0, 0, 1))
    assert [p.graph for p in first] == [p.graph for p in same]
    assert [p.graph for p in first] != [p.graph for p in other]
    assert all(p.certificate.status is Status.INITIAL for p in first)


def test_pending_graphs_are_not_proposed_again() -> None:
    optimizer = Optimizer(SPACE, initial=5)
    for proposal in optimizer.ask(5):
        optimizer.tell(proposal.graph, error(proposal.graph))
    first, second = optimizer.ask(5), optimizer.ask(5)
    keys = {SPACE.key(p.graph) for p in [*first, *second]}
    assert len(keys) == 10
    assert len(optimizer.pending) == 10
    optimizer.tell(first[0].graph, 1.0)
    assert len(optimizer.pending) == 9


def test_failed_graphs_are_not_proposed_again_nor_learnt_from() -> None:
    optimizer = Optimizer(SPACE, initial=3)
    for proposal in optimizer.ask(3):
        optimizer.tell_failed(proposal.graph)
    assert optimizer.observations == []
    more = optimizer.ask(3)  # nothing to learn from and the design is used up: random graphs
    assert len({SPACE.key(p.graph) for p in more}) == 3
    assert {str(p.certificate.status) for p in more} == {"initial"}
    for proposal in more:
        optimizer.tell_failed(proposal.graph)
    optimizer.tell(SPACE.from_digits([1, 1, 1, 1, 1, 1]), 5.0)
    assert len(optimizer.ask(3)) == 3


def test_asking_beyond_the_space_returns_what_is_left() -> None:
    space = NodeLabeledSpace((2, 3), ["a", "b"])
    result = search(lambda g: 1.0 + g.n, space, evaluations=100, initial=3)
    assert len(result.evaluations) == space.count() == 5
    optimizer = Optimizer(space, initial=100)
    assert len(optimizer.ask(100)) == 5
    assert optimizer.ask(1) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 10**400])
def test_errors_that_are_not_finite_are_refused(bad: float) -> None:
    optimizer = Optimizer(SPACE)
    graph = optimizer.ask(1)[0].graph
    with pytest.raises(ObservationError, match="the error must be finite"):
        optimizer.tell(graph, bad)
    assert optimizer.observations == []
    assert optimizer.pending == [graph]


@pytest.mark.parametrize("bad", [None, "3", [1.0], True, 1j])
def test_errors_that_are_no_numbers_are_refused(bad: object) -> None:
    optimizer = Optimizer(SPACE)
    with pytest.raises(ObservationError, match="the error must be a number, got"):
        optimizer.tell(optimizer.ask(1)[0].graph, bad)  # type: ignore[arg-type]


def test_graphs_outside_the_space_are_refused() -> None:
    optimizer = Optimizer(nasbench201())
    with pytest.raises(GraphError, match="4 nodes, got 2"):
        optimizer.tell(LabeledGraph.from_edges(2, [(0, 1)], edge_labels=["skip_connect"]), 1.0)
    with pytest.raises(GraphError, match="must be a LabeledGraph, got str"):
        optimizer.tell("cell", 1.0)  # type: ignore[arg-type]


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="acquisition must be one of"):
        Settings(acquisition="ucb")
    with pytest.raises(SettingError, match="initial must be at least 1"):
        Optimizer(SPACE, initial=0)
    with pytest.raises(SettingError, match="at least 1, got 0"):
        Optimizer(SPACE).ask(0)
    with pytest.raises(SettingError, match="evaluations must be at least 1, got 0"):
        search(error, SPACE, evaluations=0)
    with pytest.raises(UnknownNameError, match="did you mean linear"):
        Settings(kernel="lin")
    with pytest.raises(UnknownNameError, match="did you mean portfolio"):
        Settings(batch_strategy="portfolios")
    with pytest.raises(UnknownNameError, match="did you mean paper"):
        Settings.preset("papr")
    with pytest.raises(UnknownNameError, match="did you mean rank"):
        Settings(target="rnk")
    with pytest.raises(SettingError, match="at least one number"):
        Settings(sqrt_betas=())
    with pytest.raises(UnknownNameError, match="did you mean shape"):
        Settings(blocks=("paths", "shapes"))
    with pytest.raises(SettingError, match="blocks must hold at least one name"):
        Settings(blocks=())


def test_blocks_and_priors_reach_the_surrogate() -> None:
    settings = Settings(kernel="normalised", blocks=("edges", "shape"), priors=True)
    optimizer = Optimizer(SPACE, settings, initial=5)
    for proposal in optimizer.ask(5):
        optimizer.tell(proposal.graph, error(proposal.graph))
    assert optimizer.ask(1)[0].certificate.certified
    assert optimizer.surrogate is not None
    assert [*optimizer.surrogate.hyperparameters] == ["gamma", "shape", "variance", "noise"]
    assert optimizer.surrogate.priors


def test_blocks_are_left_out_where_the_optimiser_does_not_know_them() -> None:
    settings = Settings(kernel="linear", blocks=("paths", "edges", "shape", "longest"))
    optimizer = Optimizer(darts(), settings, initial=5)
    for i, proposal in enumerate(optimizer.ask(5)):
        optimizer.tell(proposal.graph, 1.0 + i)
    assert optimizer.ask(1)[0].certificate.certified
    assert [c.blocks for c in optimizer.candidates] == [("paths", "edges", "shape")]


def test_what_a_stored_search_declares_does_not_change_with_new_settings() -> None:
    before = {
        "kernel": "exponential",
        "target": "rank",
        "noise": "fit",
        "batch_strategy": "portfolio",
        "sqrt_beta": 3.0,
        "sqrt_betas": (0.5, 1.0, 2.0, 3.0, 5.0),
        "restarts": 0,
    }
    assert Settings().declare() == before
    other = Settings(blocks=("paths", "shape"), priors=True).declare()
    assert other == before | {"blocks": ("paths", "shape"), "priors": True}


@pytest.mark.parametrize("k", [0, 2.5, "2"])
def test_a_number_of_proposals_is_a_whole_one(k: Any) -> None:
    with pytest.raises(SettingError, match="must be whole and at least 1, got"):
        Optimizer(nasbench201(), optimizer="sampling").ask(k)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SettingError, match="the seed must be a whole number from 0, got -1"):
        Optimizer(nasbench201(), optimizer="sampling", seed=-1)


def test_progress_and_metrics_are_passed_on() -> None:
    seen: list[Iteration] = []
    result = search(
        lambda g: {"error": error(g), "edges": len(g.edges)},
        SPACE,
        evaluations=12,
        initial=6,
        batch=3,
        on_iteration=seen.append,
    )
    assert [iteration.evaluations for iteration in seen] == [6, 9, 12]
    assert seen[-1].best == result.best
    assert result.evaluations[0].metrics["edges"] == len(result.evaluations[0].graph.edges)
    assert len(result.hyperparameters) == 2


def test_workers_that_are_threads_say_so() -> None:
    def objective(cell: LabeledGraph) -> float:  # no other process can import it
        return 5.0 + len(cell.edges)

    with pytest.warns(UserWarning, match="runs in threads of this process") as said:
        result = search(objective, SPACE, evaluations=4, initial=4, workers=2)
    assert len(result.evaluations) == 4
    assert len(said) == 1
    assert said[0].filename == __file__


def test_an_objective_without_error_is_refused() -> None:
    with pytest.raises(ObjectiveError, match=r"must return 'error', got \['loss'\]"):
        search(lambda g: {"loss": 1.0}, SPACE, evaluations=3)


def test_noise_variance_and_repeated_tells_are_learnt() -> None:
    optimizer = Optimizer(SPACE, initial=4)
    rng = np.random.default_rng(0)
    for proposal in optimizer.ask(4):
        for _ in range(2):
            optimizer.tell(proposal.graph, error(proposal.graph) + rng.standard_normal())
    assert len(optimizer.observations) == 8
    assert len(optimizer.ask(2)) == 2


@pytest.mark.parametrize("told", [0, 1, 6])
@pytest.mark.parametrize("error", [0.0, 7.0, 1e-300, 1e90])
@pytest.mark.parametrize("settings", [Settings(), Settings.preset("paper")])
def test_constant_errors_one_or_none_give_a_proposal_without_warnings(
    told: int, error: float, settings: Settings
) -> None:
    optimizer = Optimizer(SPACE, settings, initial=max(told, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for proposal in optimizer.ask(told) if told else ():
            optimizer.tell(proposal.graph, error)
        (proposal,) = optimizer.ask(1)
    assert proposal.graph in SPACE
    assert proposal.graph not in [graph for graph, _ in optimizer.observations]


def test_the_linear_kernel_is_taken_and_said_where_the_other_never_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    space = ChainSpace(20, [f"op{i}" for i in range(9)])
    optimizer = Optimizer(space, initial=3, progress=None)
    assert optimizer.settings.kernel == "linear"
    assert "the linear kernel is taken" in caplog.text
    asked = Optimizer(space, Settings(kernel="exponential"), "mutation", 3, progress=None)
    assert asked.settings.kernel == "exponential"


@pytest.mark.parametrize(
    ("space", "kernel"),
    [("nb101", "evidence"), ("nb201", "evidence"), ("macro", "together"), ("darts", "exponential")],
)
def test_the_kernel_that_suits_a_space_is_taken(space: str, kernel: str) -> None:
    assert Optimizer(space, initial=3, progress=None).settings.kernel == kernel
