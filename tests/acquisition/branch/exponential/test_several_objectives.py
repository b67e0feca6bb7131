"""Several objectives over all labellings: what a batch shares, and when it applies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nasgoat import EdgeLabeledSpace, NodeLabeledSpace
from nasgoat.acquisition import (
    Catalogue,
    Chebyshev,
    Constrained,
    HypervolumeImprovement,
    KnownCost,
    LinearAcquisition,
    random_problem,
)
from nasgoat.acquisition.branch import BranchAndBound
from nasgoat.acquisition.branch.exponential import several_objectives
from nasgoat.acquisition.several_objectives import Part
from nasgoat.spaces import SearchSpace
from nasgoat.testing.contract import list_graphs

AGREEMENT = 1e-9  # of values: both ask the same surrogates
SPACES = [
    NodeLabeledSpace((3, 6), ["a", "b", "c"], max_edges=7),
    EdgeLabeledSpace(4, ["a", "b", "c"]),
    NodeLabeledSpace((3, 5), ["a", "b", "c"]).constrain("a <= 2", "depth >= 2"),
]


def make_parts(
    space: SearchSpace, t: int = 40, kernel: str = "exponential"
) -> list[LinearAcquisition]:
    return [random_problem(space, t, kernel, seed=seed).acquisition for seed in (0, 1)]


def improve(parts: list[Any]) -> HypervolumeImprovement:
    graphs = parts[0].gp.graphs_
    observed = np.column_stack([part.predict(graphs)[0] for part in parts])
    return HypervolumeImprovement(parts, observed, (observed.max(axis=0) + 0.1).tolist())


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The posteriors by which all labellings were gone through."""
    seen, note_block = list[Any](), several_objectives.note_block

    def note_and_count(block: Any, features: Any, posterior: Any, *rest: Any) -> Any:
        seen.append(posterior)
        return note_block(block, features, posterior, *rest)

    monkeypatch.setattr(several_objectives, "note_block", note_and_count)
    return seen


@pytest.mark.parametrize("space", SPACES, ids=["nodes", "edges", "limited"])
@pytest.mark.parametrize("kernel", ["exponential", "normalised"])
@pytest.mark.parametrize("t", [8, 60])
def test_a_batch_is_that_of_the_catalogue_and_shares_its_first_look(
    space: SearchSpace, t: int, kernel: str, notes: list[Any]
) -> None:
    function, taken = improve(make_parts(space, t, kernel)), set[bytes]()
    search, catalogue = BranchAndBound(space, None), Catalogue(space, None)
    for _ in range(5):
        (found,), (expected,) = (
            optimizer.optimize(function, 1, taken) for optimizer in (search, catalogue)
        )
        assert found.lcb == pytest.approx(expected.lcb, rel=AGREEMENT, abs=AGREEMENT)
        assert found.certificate.certified
        taken.add(space.key(found.graph))
        function = function.assume_predicted([found.graph])
    assert len(notes) == 2  # once for each objective


def test_other_objectives_are_looked_at_anew(notes: list[Any]) -> None:
    space, search = SPACES[0], BranchAndBound(SPACES[0], None)
    parts, costs = make_parts(space), [KnownCost.of(space, text) for text in ("a", "edges")]
    functions = [
        Chebyshev(parts, [0.5, 0.5], [0.0, 0.0]),
        Chebyshev(parts[::-1], [0.2, 0.8], [0.0, 0.0]),
        Chebyshev([costs[0], parts[1]], [0.5, 0.5], [0.0, 0.0]),
        Chebyshev([costs[1], parts[1]], [0.5, 0.5], [0.0, 0.0]),
        Constrained([parts[0], costs[1], parts[1]], [5.0, 0.5]),
    ]
    for function in functions:
        found, expected = (o.optimize(function, 3) for o in (search, Catalogue(space, None)))
        values = [[proposal.lcb for proposal in pool] for pool in (found, expected)]
        assert values[0] == pytest.approx(values[1], rel=AGREEMENT, abs=AGREEMENT)
    assert len(notes) == 3  # both, and the first one again after it was not asked for


def test_a_search_within_limits_has_its_own_labellings() -> None:
    space = SPACES[0]
    search, function = BranchAndBound(space, None), improve(make_parts(space))
    search.optimize(function, 1)
    (limit,) = space.constrain("edges <= 4").limits
    found = search.limit([limit]).optimize(function, 4)
    expected = Catalogue(space.constrain("edges <= 4"), None).optimize(function, 4)
    assert [p.lcb for p in found] == pytest.approx([p.lcb for p in expected], abs=AGREEMENT)


def test_a_search_that_is_stopped_has_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    space = SPACES[0]
    function = improve(make_parts(space))
    search = BranchAndBound(space, None, time_limit=60.0, threads=1)
    looks = iter([False] * 3 + [True] * 1_000)  # once for each part, then among the boxes
    monkeypatch.setattr(several_objectives, "is_over", lambda deadline: next(looks))
    pool = search.optimize(function, 500)
    best = np.sort(function.score(list_graphs(space)))
    bounds = [proposal.certificate.bound for proposal in pool]
    assert len(pool) == 500
    assert not pool[499].certificate.certified
    true = zip(bounds, best[:500], strict=True)
    assert all(bound is not None and bound <= value + AGREEMENT for bound, value in true)


@pytest.mark.parametrize("kernels", [("exponential", "linear"), ("linear", "linear")])
def test_objectives_under_other_kernels_are_searched_in_turn(
    kernels: tuple[str, str], notes: list[Any]
) -> None:
    space = SPACES[0]
    parts: list[Part] = [
        random_problem(space, 20, kernel, seed=seed).acquisition
        for seed, kernel in enumerate(kernels)
    ]
    BranchAndBound(space, None).optimize(Chebyshev(parts, [0.5, 0.5], [0.0, 0.0]), 1)
    assert not notes


def test_many_labellings_are_not_listed(notes: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    space = NodeLabeledSpace((3, 4), ["a", "b"])
    function = improve(make_parts(space, 9))
    few = BranchAndBound(space, None, memory=1e-3).optimize(function, 3)
    assert not notes
    monkeypatch.setattr(several_objectives, "FEW_TOGETHER", 0)
    by_parts = BranchAndBound(space, None).optimize(function, 3)
    assert not notes
    monkeypatch.undo()
    jointly = BranchAndBound(space, None).optimize(function, 3)
    for pool in (few, by_parts):
        values = [[proposal.lcb for proposal in each] for each in (pool, jointly)]
        assert values[0] == pytest.approx(values[1], rel=AGREEMENT, abs=AGREEMENT)
