"""The catalogue against scoring every graph one by one, and its file."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat import (
    Catalogue,
    EdgeLabeledSpace,
    GraphGP,
    LowerConfidenceBound,
    NodeLabeledSpace,
    molecules,
    nasbench201,
)
from nasgoat.acquisition import (
    Acquisition,
    ExpectedImprovement,
    Status,
    make_optimizer,
    random_problem,
)
from nasgoat.acquisition import catalogue as catalogue_module
from nasgoat.acquisition.catalogue_files import find_cache_folder
from nasgoat.errors import SettingError, TooLargeError, UnknownNameError
from nasgoat.kernels import FORMS, FeatureMap, block_names
from nasgoat.spaces import SearchSpace

SPACES: list[SearchSpace] = [
    NodeLabeledSpace((2, 5), ["a", "b", "c"], max_edges=7),
    EdgeLabeledSpace(4, ["a", "b"]),
    EdgeLabeledSpace(3, ["a", "b", "c"], connected=False),
]


@pytest.mark.parametrize("kernel", ["linear", "exponential"])
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.describe())
@pytest.mark.parametrize("seed", [0, 1])
def test_the_five_best_are_those_of_scoring_every_graph(
    space: SearchSpace, kernel: str, seed: int
) -> None:
    problem = random_problem(space, observations=5 + 10 * seed, kernel=kernel, seed=seed)
    pool = Catalogue(space).optimize(problem.acquisition, 5, problem.observed)
    graphs = [g for batch in space.enumerate() for g in batch]
    left = [g for g in graphs if space.key(g) not in problem.observed]
    expected = np.sort(problem.acquisition.score(left))[:5]
    values = [proposal.lcb for proposal in pool]
    assert values == pytest.approx(expected, abs=1e-9)
    assert problem.acquisition.score([p.graph for p in pool]) == pytest.approx(expected, abs=1e-9)
    assert len({space.key(p.graph) for p in pool}) == 5
    for proposal in pool:
        assert proposal.certificate.certified
        assert proposal.certificate.bound == proposal.certificate.value == proposal.lcb
        assert proposal.mean is not None
        assert proposal.std is not None
        assert proposal.lcb == pytest.approx(proposal.mean - 3 * proposal.std)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "space", [*SPACES, molecules((1, 5)).constrain("C <= 2")], ids=lambda space: space.describe()
)
def test_further_blocks_are_exact_too(space: SearchSpace, form: str) -> None:
    rng = np.random.default_rng(3)
    cells = space.sample(20, rng)
    gp = GraphGP(space, form, blocks=block_names(), priors=True).fit(cells, rng.random(20).tolist())
    lcb = LowerConfidenceBound(2.0, gp)
    graphs = [g for batch in space.enumerate() for g in batch]
    expected = np.sort(lcb.score(graphs))[:5]
    for _ in range(2):  # counted, then from the cache
        pool = Catalogue(space).optimize(lcb, 5)
        assert [p.lcb for p in pool] == pytest.approx(expected, abs=1e-9)
    paper = LowerConfidenceBound(2.0, GraphGP(space, form).fit(cells, rng.random(20).tolist()))
    one = Catalogue(space)
    one.optimize(lcb, 5)
    mixed = one.optimize(paper, 5)
    assert [p.lcb for p in mixed] == pytest.approx(np.sort(paper.score(graphs))[:5], abs=1e-9)


@pytest.mark.parametrize("function", [LowerConfidenceBound, ExpectedImprovement])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("space", [nasbench201(), molecules((1, 5))], ids=lambda s: s.describe())
def test_graphs_that_are_believed_change_no_proof(
    space: SearchSpace, form: str, function: type[Acquisition], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    cells = space.sample(24, rng)
    gp = GraphGP(space, form).fit(cells[:20], rng.random(20).tolist())
    asked = function(surrogate=gp.assume_predicted(cells[20:22]).assume_predicted(cells[22:]))  # type: ignore[call-arg]
    graphs = [g for batch in space.enumerate() for g in batch]
    seen = {space.key(cell) for cell in cells}
    expected = np.sort(asked.score([g for g in graphs if space.key(g) not in seen]))[:5]
    scored: list[int] = []
    make_scorer = Catalogue._make_scorer

    def count(self: Catalogue, *terms: Any) -> Any:
        score = make_scorer(self, *terms)

        def score_and_count(rows: Any) -> Any:
            found = score(rows)
            scored.append(len(found[0]))
            return found

        return score_and_count

    monkeypatch.setattr(catalogue_module, "_FIRST_SCORED", 32)
    monkeypatch.setattr(Catalogue, "_make_scorer", count)
    found = Catalogue(space).optimize(asked, 5, seen)
    assert [p.lcb for p in found] == pytest.approx(expected, abs=1e-9)
    assert sum(scored) < 2 * len(graphs)  # all before, some of them after


def test_damaged_counts_of_a_block_are_counted_again(caplog: pytest.LogCaptureFixture) -> None:
    space = EdgeLabeledSpace(3, ["damaged", "block"])
    cells = space.sample(6, np.random.default_rng(0))
    gp = GraphGP(space, "linear", blocks=["paths", "shape"]).fit(cells, range(6))
    before = Catalogue(space).optimize(LowerConfidenceBound(2.0, gp), 3)
    path = next(find_cache_folder().glob(f"catalogue-{space.fingerprint()}*")) / "shape.npz"
    for damage in (path.read_bytes()[:-30], b"", b"PK nonsense"):
        path.write_bytes(damage)
        with caplog.at_level(logging.WARNING):
            after = Catalogue(space).optimize(LowerConfidenceBound(2.0, gp), 3)
        assert "shape.npz are damaged" in caplog.text
        assert [p.lcb for p in after] == [p.lcb for p in before]
        caplog.clear()


def test_what_is_left_comes_back_and_then_nothing() -> None:
    space = NodeLabeledSpace((2, 3), ["a"])
    problem = random_problem(space, observations=1)
    catalogue = Catalogue(space)
    pool = catalogue.optimize(problem.acquisition, 10, problem.observed)
    assert len(pool) == space.count() - 1 == 2
    everything = problem.observed | {space.key(p.graph) for p in pool}
    empty = catalogue.optimize(problem.acquisition, 10, everything)
    assert len(empty) == 0
    assert empty.certificate.status is Status.EXHAUSTED


def test_a_damaged_catalogue_is_built_again(caplog: pytest.LogCaptureFixture) -> None:
    space = EdgeLabeledSpace(3, ["damaged"])
    before = len(Catalogue(space))
    folder = next(find_cache_folder().glob(f"catalogue-{space.fingerprint()}*"))
    with (folder / "counts.npy").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 255]))
    with caplog.at_level(logging.WARNING):
        assert len(Catalogue(space)) == before
    assert "counts.npy does not have its checksum" in caplog.text
    (folder / "meta.json").write_text("{")
    assert len(Catalogue(space)) == before


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a digit", lambda text: text.replace('"parts": {"3": [0, ', '"parts": {"3": [1, ')),
        ("no checksums", lambda text: json.dumps(json.loads(text) | {"checksums": {}})),
        ("a short list", lambda text: json.dumps(json.loads(text) | {"parts": {"3": [0]}})),
        ("a list", lambda text: "[]"),
        ("a number", lambda text: "7"),
        ("deep nesting", lambda text: "[" * 100_000),
        ("text of no encoding", lambda text: text.replace("parts", "\udcff")),
        ("another seal", lambda text: json.dumps(json.loads(text) | {"checksum": [1]})),
    ],
)
def test_a_changed_description_is_built_again(
    what: str, change: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    space = EdgeLabeledSpace(3, ["described", what])
    before = [Catalogue(space).graph(i) for i in range(len(Catalogue(space)))]
    meta = next(find_cache_folder().glob(f"catalogue-{space.fingerprint()}*")) / "meta.json"
    sound = meta.read_text()
    assert change(sound) != sound
    meta.write_bytes(change(sound).encode(errors="surrogateescape"))
    with caplog.at_level(logging.WARNING):
        again = Catalogue(space)
    assert "is damaged" in caplog.text
    assert [again.graph(i) for i in range(len(again))] == before
    assert meta.read_text() == sound


def test_counts_that_do_not_fit_in_a_byte_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = FeatureMap.counts
    monkeypatch.setattr(FeatureMap, "counts", lambda self, batch: counted(self, batch) + 255)
    with pytest.raises(TooLargeError, match="counts must be at most 255, got 256; use another"):
        Catalogue(EdgeLabeledSpace(3, ["many"]))


def test_a_catalogue_of_other_columns_is_not_used() -> None:
    space = EdgeLabeledSpace(3, ["columns"])
    Catalogue(space)
    meta = next(find_cache_folder().glob(f"catalogue-{space.fingerprint()}*")) / "meta.json"
    document = json.loads(meta.read_text())
    document["columns"] = document["columns"][::-1]
    meta.write_text(json.dumps(document))
    Catalogue(space)
    assert json.loads(meta.read_text())["columns"] != document["columns"]


def test_a_cache_that_can_not_be_written_costs_only_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NASGOAT_CACHE", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING):
        assert len(Catalogue(nasbench201())) == 9280
    assert "could not be kept" in caplog.text


def test_building_is_announced_and_loading_is_not() -> None:
    lines: list[str] = []
    space = EdgeLabeledSpace(3, ["announced"])
    Catalogue(space, lines.append)
    assert "building the catalogue" in lines[0]
    assert "4 graphs" not in lines[0]
    assert len(lines) == 2
    Catalogue(space, lines.append)
    assert len(lines) == 2


def test_a_space_too_large_is_refused() -> None:
    with pytest.raises(TooLargeError, match="at most 5,000,000 graphs"):
        Catalogue(EdgeLabeledSpace(6, ["a", "b", "c"]))


def test_ties_are_broken_by_the_order_of_the_catalogue() -> None:
    space = NodeLabeledSpace((2, 4), ["a", "b"])
    graphs = [g for batch in space.enumerate() for g in batch]
    gp = GraphGP(space).fit(graphs[:1], [1.0])
    lcb = LowerConfidenceBound(0.0, gp)  # a constant posterior mean: everything is a tie
    pool = Catalogue(space).optimize(lcb, 3)
    assert [p.graph for p in pool] == graphs[:3]


def test_wrong_calls_are_refused() -> None:
    space = NodeLabeledSpace((2, 3), ["a"])
    problem = random_problem(space, observations=1)
    with pytest.raises(SettingError, match="at least 1, got 0"):
        Catalogue(space).optimize(problem.acquisition, 0)
    with pytest.raises(SettingError, match=r"call .given\(gp\) first"):
        Catalogue(space).optimize(LowerConfidenceBound())
    with pytest.raises(SettingError, match="sqrt_beta must be a number from 0 up, got -1"):
        LowerConfidenceBound(-1)
    with pytest.raises(UnknownNameError, match="did you mean catalogue"):
        make_optimizer("catalog", space)
    with pytest.raises(SettingError, match="observations must be at least 1"):
        random_problem(space, observations=0)


def test_the_same_seed_gives_the_same_problem() -> None:
    one, two = (random_problem(nasbench201(), observations=12, seed=3) for _ in range(2))
    assert one.observed == two.observed
    graphs = nasbench201().sample(5, np.random.default_rng(0))
    assert one.acquisition.score(graphs).tolist() == two.acquisition.score(graphs).tolist()
