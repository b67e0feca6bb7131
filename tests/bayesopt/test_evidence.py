"""The choice between surrogates by evidence, and what happens while none has learnt anything."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nasgoat import (
    Catalogue,
    GraphGP,
    LabeledGraph,
    NodeLabeledSpace,
    Optimizer,
    SearchSpace,
    Settings,
    darts,
    nasbench201,
    search,
)
from nasgoat.acquisition import Proposal, Status, Turn, find_acquisition
from nasgoat.bayesopt import FidelityOptimizer, MemoryLedger
from nasgoat.bayesopt.evidence import (
    CANDIDATES,
    FAR_BEHIND,
    LEAD,
    RANDOM_EVERY,
    VOICES,
    Candidate,
    choose_speaker,
    choose_voices,
    has_learnt,
    list_candidates,
)
from nasgoat.errors import SettingError
from nasgoat.kernels import PAPER_BLOCKS
from nasgoat.surrogate import Source

SPACE = nasbench201()
EVIDENCE = Settings(kernel="evidence")


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


def test_the_preferred_one_speaks_unless_the_other_is_clearly_ahead() -> None:
    m, fitted = 20, fits(range(20))
    for lead, chosen in ((0.9, fitted[0]), (1.1, fitted[1]), (-5.0, fitted[0])):
        with_checks(fitted, {"gain": 0.5}, {"gain": 0.5 + lead * LEAD / m})
        assert choose_speaker(fitted) is chosen


def test_a_label_blind_function_is_learnt_by_its_shape() -> None:
    cells = SPACE.sample(40, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    fitted = fits([abs(len(c.edges) - 4.0) + 0.3 * rng.standard_normal() for c in cells], cells)
    assert choose_speaker(fitted) is fitted[0]
    assert fitted[0].check_.learnt


def test_nothing_is_learnt_of_a_constant() -> None:
    fitted = fits([1.0] * 12)
    assert not has_learnt(fitted)
    assert choose_speaker(fitted) is fitted[0]


def test_who_predicts_no_worse_than_those_before_speaks_unless_far_behind() -> None:
    fitted = fits(range(20), candidates=VOICES)
    learnt, best = {"rank_correlation": 0.5}, 2.0
    near, far = (best - share * FAR_BEHIND for share in (0.9, 1.1))
    for gains, voices in (
        ((best, near, near), [0]),
        ((near, best, near), [0, 1]),
        ((near, near, best), [0, 1, 2]),
        ((far, near, best), [1, 2]),
        ((near, far, best), [0, 2]),
        ((far, far, best), [2]),
    ):
        with_checks(fitted, *({**learnt, "gain": gain} for gain in gains))
        assert choose_voices(fitted) == [fitted[i] for i in voices]
    with_checks(fitted, *({"rank_correlation": 0.1, "gain": gain} for gain in (far, best, near)))
    assert choose_voices(fitted) == fitted


def test_where_the_shape_decides_the_papers_kernel_is_silent() -> None:
    space = NodeLabeledSpace((2, 6), ["a", "b"], max_edges=9)
    cells = space.sample(40, np.random.default_rng(0))
    fitted = fits([abs(len(c.edges) - 6.0) for c in cells], cells, VOICES, space)
    assert fitted[0] not in choose_voices(fitted)


@pytest.mark.parametrize("acquisition", ["lcb", "ei"])
def test_kernels_propose_in_turn_what_is_best_under_each(
    acquisition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against each kernel alone, which is asked for the same place of the batch."""
    monkeypatch.setattr("nasgoat.bayesopt.optimizer.choose_voices", list)  # all three speak
    catalogue = Catalogue(SPACE)
    cells = SPACE.sample(25, np.random.default_rng(4))
    rng = np.random.default_rng(5)
    errors = [len(c.edges) + rng.standard_normal() for c in cells]
    settings = Settings(kernel="in-turn", acquisition=acquisition)
    known = list(zip(cells, errors, strict=True))
    optimizer = Optimizer(SPACE, settings, catalogue, known=known)
    voices = fits(errors, cells, VOICES)
    taken = {SPACE.key(cell) for cell in cells}
    for place, proposal in enumerate(optimizer.ask(5), len(cells)):
        turn = Turn(voices[place % len(voices)], place, 0, Settings().sqrt_betas[place % 5])
        best = catalogue.optimize(find_acquisition(acquisition).make(turn), 1, taken)[0]
        assert SPACE.key(proposal.graph) == SPACE.key(best.graph)
        taken.add(SPACE.key(proposal.graph))
        if acquisition == "ei":
            voices = [voice.believing([proposal.graph]) for voice in voices]


def test_several_objectives_and_sources_take_no_turns() -> None:
    settings = Settings(kernel="in-turn")
    assert Optimizer(SPACE, settings).candidates == list(VOICES)
    both = Optimizer(SPACE, settings, minimise=["error", "latency"])
    other = [Source("other", SPACE.sample(3, np.random.default_rng(0)), [1.0, 2.0, 3.0])]
    transferred = Optimizer(SPACE, settings, transfer=other)
    short = FidelityOptimizer(SPACE, "epochs=12,200", settings=settings)
    for optimizer in (both, transferred, short):
        assert optimizer.candidates == list(CANDIDATES)


def test_an_optimiser_of_the_papers_kernels_gets_those_alone() -> None:
    assert list_candidates(None) == list(CANDIDATES)
    assert list_candidates(PAPER_BLOCKS) == [CANDIDATES[1]]
    assert Optimizer(darts(), EVIDENCE).candidates == [CANDIDATES[1]]


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
    assert all(proposal.certificate.certified for proposal in learnt)
    assert all(proposal.informed for proposal in learnt)


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
    assert all(proposal.certificate.certified for proposal in learnt)


def test_blocks_are_left_to_the_evidence() -> None:
    with pytest.raises(SettingError, match="blocks and priors must be left to the kernel"):
        Settings(kernel="evidence", blocks=("paths", "shape"))
    with pytest.raises(SettingError, match="blocks and priors must be left to the kernel"):
        Settings(kernel="evidence", priors=True)
    assert EVIDENCE.declare() == Settings().declare() | {"kernel": "evidence"}
