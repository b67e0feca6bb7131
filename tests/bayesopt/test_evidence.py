"""The choice between surrogates by evidence, and what happens while none has learnt anything."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nasgoat import (
    Catalogue,
    EdgeLabeledSpace,
    GraphGP,
    GraphSpace,
    LabeledGraph,
    NodeLabeledSpace,
    Optimizer,
    SearchSpace,
    Settings,
    darts,
    nasbench101,
    nasbench201,
    search,
)
from nasgoat.acquisition import AveragedBound, Proposal, Status
from nasgoat.bayesopt import FidelityOptimizer, MemoryLedger
from nasgoat.bayesopt.evidence import (
    CANDIDATES,
    COST_CANDIDATES,
    GOES_ON,
    LEAD,
    LEAST_SHARE,
    NODE_CANDIDATES,
    PATH_CANDIDATES,
    RANDOM_EVERY,
    SETTLED,
    SHAPE_LEAD,
    SOURCED_CANDIDATES,
    STANDS_IN,
    Candidate,
    choose_speaker,
    describe_response,
    find_speaker,
    has_learnt,
    list_candidates,
    list_equals,
    list_voices,
)
from nasgoat.bayesopt.plan import describe_fit
from nasgoat.bayesopt.settings import EXPLORE
from nasgoat.errors import SettingError
from nasgoat.kernels import PAPER_BLOCKS
from nasgoat.surrogate import Source

SPACE = nasbench201()
EVIDENCE = Settings(kernel="evidence")
AVERAGED = Settings(kernel="averaged")
TOGETHER = Settings(kernel="together")


def fits(
    errors: Any,
    cells: list[LabeledGraph] | None = None,
    candidates: Sequence[Candidate] = CANDIDATES,
    space: SearchSpace = SPACE,
) -> list[GraphGP]:
    graphs = cells or space.sample(len(errors), np.random.default_rng(0))
    return [GraphGP(space, **candidate.options).fit(graphs, errors) for candidate in candidates]


def with_checks(fitted: list[GraphGP], *checks: dict[str, Any]) -> list[GraphGP]:
    for gp, changes in zip(fitted, checks, strict=True):
        gp.check_ = replace(gp.check_, **changes)
    return fitted


def ask_and_tell(optimizer: Optimizer, errors: Any, batches: int) -> list[list[Proposal]]:
    found = []
    for size in [optimizer.initial, *[5] * batches]:
        found.append(optimizer.ask(size))
        for proposal in found[-1]:
            optimizer.tell(proposal.graph, errors(proposal.graph))
    return found


@pytest.mark.parametrize("candidates", [CANDIDATES, SOURCED_CANDIDATES])
def test_who_predicts_best_speaks_if_it_makes_up_for_its_handicap(
    candidates: tuple[Candidate, ...],
) -> None:
    m, fitted = 20, fits(range(20), candidates=candidates)
    for i, candidate in enumerate(candidates):
        handicap = max(candidate.handicap, m * candidate.growth)
        for share, speaks in ((0.99, i == 0), (1.01, True)):
            gains = [0.5] * len(fitted)
            gains[i] += (share * handicap if handicap else share - 1.0) / m
            with_checks(fitted, *({"gain": gain} for gain in gains))
            assert (choose_speaker(candidates, fitted) is fitted[i]) == speaks, (i, share)


def test_the_handicap_of_shapes_grows_with_what_is_observed() -> None:
    few, many = (fits(range(m))[-1] for m in (5, 40))
    with_checks([few, many], {"gain": 0.5}, {"gain": 0.5})
    assert CANDIDATES[-1].weigh(few) == pytest.approx(5 * 0.5 - LEAD)
    assert CANDIDATES[-1].weigh(many) == pytest.approx(40 * (0.5 - SHAPE_LEAD))


def test_weights_are_those_of_the_predictions_and_the_least_are_not_heard() -> None:
    m, fitted = 20, fits(range(20))
    nats = [5.0, 5.0, 0.0, 0.0]  # after handicaps 5, 4, -4 and -4
    with_checks(fitted, *({"gain": nat / m} for nat in nats))
    voices = list_voices(CANDIDATES, fitted)
    assert [voice.surrogate for voice in voices] == fitted[:2]
    expected = np.exp([5.0, 4.0]) / np.exp([5.0, 4.0]).sum()
    assert [voice.weight for voice in voices] == pytest.approx(expected.tolist())
    nats = [5.0, 6.0, 5.0 + np.log(2.2 * LEAST_SHARE) + 0.2 * m, 0.0]
    with_checks(fitted, *({"gain": nat / m} for nat in nats))
    assert len(list_voices(CANDIDATES, fitted)) == 3  # the third just counts
    nats[2] -= np.log(1.1)
    with_checks(fitted, *({"gain": nat / m} for nat in nats))
    assert len(list_voices(CANDIDATES, fitted)) == 2


def test_equals_are_the_exponential_ones_unless_another_is_ahead() -> None:
    m, fitted = 20, fits(range(20))
    for nats, places in (([5.0, 0.0, 5.0, 0.0], [0, 1, 2]), ([5.0, 0.0, 5.0, 9.1], [3])):
        with_checks(fitted, *({"gain": nat / m} for nat in nats))  # the last has a handicap of 4
        voices = list_equals(CANDIDATES, fitted)
        assert [voice.surrogate for voice in voices] == [fitted[place] for place in places]
        assert [voice.weight for voice in voices] == [1 / len(places)] * len(places)


@pytest.mark.parametrize("settings", [AVERAGED, TOGETHER], ids=["averaged", "together"])
def test_what_is_proposed_is_the_least_bound_of_the_mixture(settings: Settings) -> None:
    catalogue = Catalogue(SPACE)
    optimizer = Optimizer(SPACE, settings, catalogue, initial=21)
    rng = np.random.default_rng(4)

    def error(cell: LabeledGraph) -> float:
        return -cell.to_json().count("nor_conv_3x3") + rng.standard_normal()

    ask_and_tell(optimizer, error, 0)
    graphs, errors = zip(*optimizer.observations, strict=True)
    find_voices = list_voices if settings is AVERAGED else list_equals
    voices = find_voices(CANDIDATES, fits(errors, list(graphs)))
    assert len(voices) > 1
    (proposal,) = optimizer.ask(1)
    sqrt_beta = EVIDENCE.sqrt_betas[len(graphs) % len(EVIDENCE.sqrt_betas)]
    surrogates, weights = zip(*((v.surrogate, v.weight) for v in voices), strict=True)
    mixture = AveragedBound(surrogates, weights, sqrt_beta)
    seen = {SPACE.key(graph) for graph in graphs}
    (least,) = catalogue.optimize(mixture, 1, seen)
    assert proposal.graph == least.graph
    assert proposal.certificate.value == pytest.approx(least.certificate.value)
    assert proposal.mean == pytest.approx(mixture.predict([least.graph])[0][0])


def test_the_error_of_a_front_is_that_of_the_mixture() -> None:
    catalogue = Catalogue(SPACE)
    optimizer = Optimizer(SPACE, TOGETHER, catalogue, initial=20, minimise=["error", "latency"])
    for proposal in optimizer.ask(20):
        convolutions = proposal.graph.to_json().count("nor_conv_3x3")
        found = {
            "error": len(set(proposal.graph.to_json())) - convolutions,
            "latency": convolutions,
        }
        optimizer.tell(proposal.graph, found)
    graphs, errors = zip(*optimizer.observations, strict=True)
    voices = list_equals(CANDIDATES, fits(errors, list(graphs)))
    assert len(voices) == 3
    (proposal,) = optimizer.ask(1)
    mixture = AveragedBound(tuple(v.surrogate for v in voices), (1 / 3, 1 / 3, 1 / 3))
    mean, std = mixture.predict([proposal.graph])
    assert proposal.parts[0] == pytest.approx((mean[0], std[0]))
    assert proposal.certificate.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("settings", "space"),
    [
        (EVIDENCE, SPACE),
        (replace(AVERAGED, acquisition="ei"), SPACE),
        (AVERAGED, darts()),  # branch and bound
        (replace(TOGETHER, acquisition="ei"), SPACE),
        (TOGETHER, darts()),
    ],
)
def test_where_nothing_is_averaged_the_best_speaks_alone(
    settings: Settings, space: SearchSpace
) -> None:
    asker = Optimizer(space, settings, progress=None)
    cells = space.sample(15, np.random.default_rng(0))
    errors = np.random.default_rng(1).random(15)
    fitted = fits(errors, cells, asker.candidates, space)
    (voice,) = asker._list_voices(fitted)
    assert voice.surrogate is choose_speaker(asker.candidates, fitted)


def test_a_label_blind_function_is_learnt_by_its_shape() -> None:
    space = NodeLabeledSpace((2, 6), ["a", "b"], max_edges=9)
    cells = space.sample(40, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    errors = [abs(len(c.edges) - 6.0) + 0.3 * rng.standard_normal() for c in cells]
    fitted = fits(errors, cells, space=space)
    assert choose_speaker(CANDIDATES, fitted) in fitted[2:]  # those that know shapes
    assert choose_speaker(CANDIDATES, fitted).check_.learnt


def test_nothing_is_learnt_of_a_constant() -> None:
    fitted = fits([1.0] * 12)
    assert not has_learnt(fitted)
    assert choose_speaker(CANDIDATES, fitted) is fitted[0]


def test_one_error_and_sources_have_candidates_of_their_own() -> None:
    both = Optimizer(SPACE, EVIDENCE, minimise=["error", "latency"])
    for optimizer in (Optimizer(SPACE, EVIDENCE), both):
        assert optimizer.candidates == list(PATH_CANDIDATES)
    without = EdgeLabeledSpace(4, ["conv", "pool"])  # nothing that passes its input on
    for space, settings in ((without, EVIDENCE), (SPACE, TOGETHER), (SPACE, AVERAGED)):
        assert Optimizer(space, settings).candidates == list(CANDIDATES)
    on_nodes = NodeLabeledSpace((2, 4), ["conv", "pool"])
    assert Optimizer(on_nodes, EVIDENCE).candidates == list(NODE_CANDIDATES)
    assert Optimizer(on_nodes, AVERAGED).candidates == list(CANDIDATES)
    assert [c.form for c in Optimizer(on_nodes, EVIDENCE, "branch").candidates] == [
        "exponential"
    ] * 3
    by_labels = {"edge": GraphSpace(3, edge_ops=["a", "b"], direction="acyclic")}
    by_labels["node"] = GraphSpace(3, ["a", "b"], direction="acyclic")
    assert Optimizer(by_labels["edge"], EVIDENCE).candidates == list(CANDIDATES)
    assert Optimizer(by_labels["node"], EVIDENCE).candidates == list(NODE_CANDIDATES)
    other = [Source("other", SPACE.sample(3, np.random.default_rng(0)), [1.0, 2.0, 3.0])]
    transferred = Optimizer(SPACE, EVIDENCE, transfer=other)
    short = FidelityOptimizer(SPACE, "epochs=12,200", settings=EVIDENCE)
    for optimizer in (transferred, short):
        assert optimizer.candidates == list(SOURCED_CANDIDATES)


def test_the_error_of_a_front_has_every_candidate_and_a_cost_the_first() -> None:
    """A cost that depends on shape alone, where the kernels that know shapes predict it best."""
    space = NodeLabeledSpace((2, 6), ["a", "b"], max_edges=9)
    optimizer = Optimizer(space, EVIDENCE, initial=40, minimise=["latency", "error"])
    for proposal in optimizer.ask(40):
        depth = abs(len(proposal.graph.edges) - 6.0)
        optimizer.tell(proposal.graph, {"error": depth + 1.0, "latency": depth})
    optimizer.ask(1)
    fitted = optimizer.surrogates
    assert fitted["error"].features.blocks != PAPER_BLOCKS
    assert fitted["latency"].features.blocks == PAPER_BLOCKS


def test_a_cost_beside_kernels_together_gets_the_one_that_predicts_it_best_and_keeps_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nasgoat.bayesopt.optimizer.SETTLED", 24)
    limits = ["energy <= 9"]
    optimizer = Optimizer(
        SPACE, TOGETHER, Catalogue(SPACE), 25, minimise=["error", "latency"], limits=limits
    )
    rng = np.random.default_rng(0)
    for proposal in optimizer.ask(25):
        labels = list((proposal.graph.edge_labels or {}).values())
        latency = 3.0 * labels.count("nor_conv_3x3") + labels.count("nor_conv_1x1")
        found = {"error": rng.standard_normal(), "latency": latency, "energy": float(len(labels))}
        optimizer.tell(proposal.graph, found)
    optimizer.ask(1)
    graphs = [graph for graph, _ in optimizer.observations][:24]
    latencies = [metrics["latency"] for metrics in optimizer._metrics][:24]
    fitted = [
        GraphGP(SPACE, **c.options, target="plain").fit(graphs, latencies) for c in COST_CANDIDATES
    ]
    best = COST_CANDIDATES[find_speaker(COST_CANDIDATES, fitted)]
    assert "operations" in best.blocks  # the latency is a sum over them
    assert optimizer._list_candidates_of("latency") == [best]
    assert optimizer.surrogates["latency"].features.blocks == best.blocks
    assert optimizer.surrogates["energy <= 9"].features.blocks == PAPER_BLOCKS


def test_without_settings_kernels_speak_together_or_the_evidence_chooses() -> None:
    assert Optimizer(SPACE).settings.kernel == "evidence"
    without = EdgeLabeledSpace(4, ["conv", "pool"])  # nothing that passes its input on
    assert Optimizer(without).settings.kernel == "together"
    assert Optimizer(without, minimise=["error", "latency"]).settings.kernel == "together"
    assert Optimizer(NodeLabeledSpace(5, ["a", "b"])).settings.kernel == "evidence"
    assert FidelityOptimizer(SPACE, "epochs=12,200").settings.kernel == "evidence"
    assert Optimizer(SPACE, minimise=["error", "latency"]).settings.kernel == "evidence"
    assert Optimizer(SPACE, minimise=["a", "b", "c"]).settings.kernel == "exponential"
    nodes = NodeLabeledSpace(5, ["a", "b"])
    assert Optimizer(nodes, minimise=["error", "latency"]).settings.kernel == "exponential"
    branch = Optimizer(SPACE, None, "branch", minimise=["error", "latency"])
    assert branch.settings.kernel == "exponential"
    assert Optimizer(darts()).settings.kernel == "exponential"
    assert Optimizer(SPACE, Settings()).settings.kernel == "exponential"  # it was asked for


def test_an_optimiser_of_the_papers_kernels_gets_those_alone() -> None:
    assert list_candidates(None) == list(CANDIDATES)
    assert list_candidates(PAPER_BLOCKS) == [CANDIDATES[0]]
    assert Optimizer(darts(), EVIDENCE).candidates == list(CANDIDATES[:2])  # branch and bound


@pytest.mark.parametrize("name", ["branch", "scip"])
@pytest.mark.parametrize(("space", "known"), [(nasbench101(), 3), (SPACE, 3), (darts(), 2)])
def test_an_optimiser_that_is_named_gets_the_candidates_that_it_can_bound(
    space: SearchSpace, known: int, name: str
) -> None:
    for settings in (EVIDENCE, AVERAGED, TOGETHER):
        optimizer = Optimizer(space, settings, name, progress=None)
        assert optimizer.candidates == list(CANDIDATES[:known])


def test_part_of_a_batch_is_random_and_marked_until_something_is_learnt() -> None:
    optimizer = Optimizer(SPACE, EVIDENCE, Catalogue(SPACE), initial=10)
    _, constant = ask_and_tell(optimizer, lambda cell: 1.0, 1)
    statuses = [proposal.certificate.status for proposal in constant]
    expected = [
        Status.HEURISTIC if i % RANDOM_EVERY == 0 else Status.OPTIMAL for i in range(10, 15)
    ]
    assert statuses == expected
    assert not any(proposal.informed for proposal in constant)
    optimizer = Optimizer(SPACE, EVIDENCE, Catalogue(SPACE), initial=30)
    _, learnt = ask_and_tell(optimizer, lambda cell: float(len(cell.edges)), 1)
    assert len(learnt) == 5
    assert all(proposal.certificate.certified for proposal in learnt)
    assert all(proposal.informed for proposal in learnt)


@pytest.mark.parametrize("share", [1, 3, 5])
def test_a_kernel_alone_explores_as_it_is_told_until_something_is_learnt(share: int) -> None:
    settings = Settings(explore=share)
    optimizer = Optimizer(SPACE, settings, Catalogue(SPACE), initial=10)
    _, constant = ask_and_tell(optimizer, lambda cell: 1.0, 1)
    statuses = [proposal.certificate.status for proposal in constant]
    assert statuses.count(Status.HEURISTIC) == share
    assert statuses.count(Status.OPTIMAL) == RANDOM_EVERY - share
    assert "random graph" in optimizer.response
    optimizer = Optimizer(SPACE, settings, Catalogue(SPACE), initial=30)
    _, learnt = ask_and_tell(optimizer, lambda cell: float(len(cell.edges)), 1)
    assert all(proposal.certificate.certified for proposal in learnt)


def test_a_kernel_that_is_named_proposes_whatever_it_knows() -> None:
    optimizer = Optimizer(SPACE, Settings(kernel="exponential"), Catalogue(SPACE), initial=10)
    _, constant = ask_and_tell(optimizer, lambda cell: 1.0, 1)
    assert all(proposal.certificate.certified for proposal in constant)
    assert optimizer.response.endswith("as by any kernel that is named")


def test_a_space_that_is_too_large_to_score_is_explored_by_default() -> None:
    optimizer = Optimizer(nasbench101(), None, "branch", initial=5, progress=None)
    assert optimizer.settings.explore == EXPLORE
    _, constant = ask_and_tell(optimizer, lambda cell: 1.0, 1)
    statuses = [proposal.certificate.status for proposal in constant]
    assert statuses.count(Status.HEURISTIC) == EXPLORE
    named = Settings(blocks=("paths", "edges")).choose_kernel(nasbench101(), "branch")
    assert named.explore == 0


def count_edges_off_six(cell: LabeledGraph) -> float:
    return 5.0 + abs(len(cell.edges) - 6)


def test_a_kernel_of_shapes_stands_in_by_local_search_where_it_predicts_far_better(
    caplog: pytest.LogCaptureFixture,
) -> None:
    optimizer = Optimizer(nasbench101(), Settings(explore=3), "branch", 30, progress=None)
    _, found = ask_and_tell(optimizer, count_edges_off_six, 1)
    assert optimizer.surrogate is not None
    assert optimizer.surrogate.kernel.form == "normalised"
    assert [proposal.certificate.status for proposal in found] == [Status.HEURISTIC] * 5
    assert all(proposal.informed for proposal in found)
    assert caplog.text.count("found by local search and not proven; --kernel exponential") == 1
    assert optimizer.response == STANDS_IN
    assert describe_fit(optimizer)[1] == replace(optimizer.surrogate.check_, response=STANDS_IN)
    assert np.mean([count_edges_off_six(p.graph) for p in found]) < 6.0


def test_an_optimiser_of_any_kernel_proves_what_a_stand_in_proposes() -> None:
    space = NodeLabeledSpace((2, 5), ["conv", "pool"])
    optimizer = Optimizer(space, Settings(explore=3), Catalogue(space), 30, progress=None)
    _, found = ask_and_tell(optimizer, count_edges_off_six, 1)
    assert optimizer.surrogate is not None
    assert describe_fit(optimizer)[1] == optimizer.surrogate.check_  # nothing to be said
    assert optimizer.surrogate.kernel.form == "normalised"
    assert [proposal.certificate.status for proposal in found] == [Status.OPTIMAL] * 5


def test_a_kernel_that_predicts_as_well_keeps_its_proofs() -> None:
    optimizer = Optimizer(nasbench101(), Settings(explore=3), "branch", 20, progress=None)
    _, found = ask_and_tell(optimizer, lambda cell: float(str(cell).count("conv3x3")), 1)
    assert [proposal.certificate.status for proposal in found] == [Status.OPTIMAL] * 5


def test_nothing_stands_in_for_kernels_that_are_named_or_learn_from_more_than_errors() -> None:
    settings, cells = Settings(explore=3), SPACE.sample(3, np.random.default_rng(0))
    assert len(Optimizer(SPACE, settings, progress=None).candidates) == 2
    others: list[dict[str, Any]] = [
        {"settings": Settings(kernel="exponential")},
        {"settings": settings, "minimise": ["error", "latency"]},
        {"settings": settings, "transfer": [Source("other", cells, [1.0, 2.0, 3.0])]},
    ]
    for options in others:
        optimizer = Optimizer(SPACE, **options, progress=None)
        assert len(optimizer.candidates) == 1


def test_studies_of_earlier_versions_declare_the_same() -> None:
    assert Settings(explore=EXPLORE).declare() == Settings().declare()


def test_shares_beyond_a_batch_are_refused() -> None:
    with pytest.raises(SettingError, match="explore must be 0 to 5, got 6"):
        Settings(explore=6)


def test_what_is_done_about_a_model_that_knows_nothing_is_said() -> None:
    told = [
        describe_response(random, learnt, named)
        for random, learnt, named in [(1, False, False), (5, False, False), (0, True, False)]
    ]
    assert told[:2] == [
        "until it has, one of five proposals is a random graph",
        "until it has, every proposal is a random graph",
    ]
    assert "another kernel" in told[2]
    assert describe_response(0, False, False) == GOES_ON


def test_two_hundred_observations_settle_the_choice() -> None:
    rng = np.random.default_rng(6)
    cells = SPACE.sample(SETTLED + 20, rng)
    errors = [len(cell.edges) + 0.3 * rng.standard_normal() for cell in cells]
    told = list(zip(cells, errors, strict=True))
    optimizer = Optimizer(SPACE, EVIDENCE, Catalogue(SPACE), known=told[:SETTLED])
    optimizer.ask(1)
    assert optimizer.candidates == list(PATH_CANDIDATES)
    fitted = fits(errors[:SETTLED], cells[:SETTLED], PATH_CANDIDATES)
    chosen = PATH_CANDIDATES[find_speaker(PATH_CANDIDATES, fitted)]
    for whole in (optimizer, Optimizer(SPACE, EVIDENCE, Catalogue(SPACE), known=told[:SETTLED])):
        whole.tell_known(told[SETTLED:])
        whole.ask(1)
        assert whole.candidates == [chosen]


def test_a_replay_proposes_the_same_graphs() -> None:
    def error(cell: LabeledGraph) -> float:
        return float(np.random.default_rng(len(cell.to_json())).random())

    runs = [
        ask_and_tell(Optimizer(SPACE, EVIDENCE, Catalogue(SPACE), 6, 3), error, 3) for _ in range(2)
    ]
    graphs = [[p.graph for batch in run for p in batch] for run in runs]
    assert graphs[0] == graphs[1]
    assert len({SPACE.key(g) for g in graphs[0]}) == len(graphs[0])


def test_a_search_can_be_cut_off_and_resumed() -> None:
    def error(cell: LabeledGraph) -> float:
        return 5.0 + abs(len(cell.edges) - 5)

    whole = search(error, SPACE, 30, settings=EVIDENCE, progress=None)
    ledger = MemoryLedger()
    search(error, SPACE, 17, settings=EVIDENCE, progress=None, ledger=ledger)
    resumed = search(error, SPACE, 30, settings=EVIDENCE, progress=None, ledger=ledger)
    assert [e.graph for e in resumed.evaluations] == [e.graph for e in whole.evaluations]


@pytest.mark.parametrize("acquisition", ["ei", "thompson"])
def test_other_acquisition_functions_may_be_asked_too(acquisition: str) -> None:
    settings = replace(EVIDENCE, acquisition=acquisition)
    optimizer = Optimizer(SPACE, settings, Catalogue(SPACE), initial=30)
    _, learnt = ask_and_tell(optimizer, lambda cell: float(len(cell.edges)), 1)
    assert len(learnt) == 5
    assert all(proposal.certificate.certified for proposal in learnt)


def test_blocks_are_left_to_the_evidence() -> None:
    with pytest.raises(SettingError, match="blocks and priors must be left to the kernel"):
        Settings(kernel="evidence", blocks=("paths", "shape"))
    with pytest.raises(SettingError, match="blocks and priors must be left to the kernel"):
        Settings(kernel="evidence", priors=True)
    assert EVIDENCE.declare() == Settings().declare() | {"kernel": "evidence"}
