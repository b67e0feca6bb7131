"""Known results: read, checked, learnt from, not evaluated again, part of the declaration."""

import codecs
import csv
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat import ChainSpace, LabeledGraph, Optimizer, nasbench201, search
from nasgoat.bayesopt import FidelityOptimizer, Settings
from nasgoat.bayesopt.known_results import KnownResult, gather_known
from nasgoat.errors import FileError, SettingError, StudyError

SPACE = nasbench201()
CELLS = SPACE.sample(12, np.random.default_rng(5))


def error(cell: LabeledGraph) -> float:
    labels = (cell.edge_labels or {}).values()
    return 20.0 - 2 * sum(label == "nor_conv_3x3" for label in labels)


PAIRS = [(cell, error(cell)) for cell in CELLS]


def write_csv(path: Path, rows: Sequence[tuple[str, object]], graph: str = "graph") -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", graph, "error"])
        writer.writerows([("a cell", *row) for row in rows])
    return path


def digits(cell: LabeledGraph) -> str:
    return "".join(map(str, SPACE.digits(cell)))


class TestSearch:
    def test_known_graphs_are_learnt_from_and_not_evaluated(self) -> None:
        seen: list[bytes] = []

        def train(cell: LabeledGraph) -> float:
            seen.append(SPACE.key(cell))
            return error(cell)

        result = search(train, SPACE, evaluations=6, batch=3, known=PAIRS, progress=None)
        assert len(seen) == len(result.evaluations) == 6
        assert not {*seen} & {SPACE.key(cell) for cell in CELLS}
        statuses = {str(e.proposal.certificate.status) for e in result.evaluations}
        assert statuses == {"optimal"}  # they stand for the initial design
        assert [(known.graph, known.error) for known in result.known] == PAIRS
        assert "12 known results, the best" in str(result)

    def test_fewer_results_leave_the_rest_of_the_initial_design(self) -> None:
        result = search(error, SPACE, evaluations=9, initial=7, known=PAIRS[:4], progress=None)
        statuses = [str(e.proposal.certificate.status) for e in result.evaluations]
        assert statuses == ["initial"] * 3 + ["optimal"] * 6

    def test_asynchronous_searches_begin_with_what_is_known(self) -> None:
        result = search(error, SPACE, 5, known=PAIRS, asynchronous=True, progress=None)
        assert len(result.evaluations) == 5

    def test_without_known_results_nothing_changes(self) -> None:
        plain = search(error, SPACE, 14, progress=None)
        empty = search(error, SPACE, 14, progress=None, known=[])
        assert [e.graph for e in plain.evaluations] == [e.graph for e in empty.evaluations]
        assert plain.known == ()

    def test_what_is_known_makes_the_search_better(self) -> None:
        known = search(error, SPACE, 6, known=PAIRS, progress=None, initial=3)
        alone = search(error, SPACE, 6, progress=None, initial=3)
        assert known.best.error < alone.best.error

    def test_a_search_is_resumed_with_the_same_results_only(self, tmp_path: Path) -> None:
        def run(evaluations: int, known: Any, name: str = "a.db") -> list[LabeledGraph]:
            stored: dict[str, Any] = {"storage": tmp_path / name, "known": known, "progress": None}
            found = search(error, SPACE, evaluations, batch=3, initial=8, **stored)
            return [e.graph for e in found.evaluations]

        table = write_csv(tmp_path / "known.csv", [(c.to_json(), e) for c, e in PAIRS[:5]])
        run(4, table)  # in the middle of a batch
        resumed = run(9, PAIRS[:5])
        assert resumed == run(9, table, "whole.db")
        with pytest.raises(StudyError, match="known"):
            run(9, PAIRS[:4])
        with pytest.raises(StudyError, match="known"):
            run(9, ())

    def test_results_of_an_earlier_run(self, tmp_path: Path) -> None:
        first = search(error, SPACE, 12, storage=tmp_path / "a.db", progress=None)
        found = gather_known(tmp_path / "a.db", SPACE)
        assert [known.graph for known in found] == [e.graph for e in first.evaluations]


class TestOptimizer:
    def test_repeats_leave_known_graphs_alone(self) -> None:
        optimizer = Optimizer(SPACE, Settings(repeats=3), initial=3, known=PAIRS, progress=None)
        asked = {SPACE.key(p.graph) for _ in range(3) for p in optimizer.ask(5)}
        assert not asked & {SPACE.key(cell) for cell in CELLS}

    def test_with_fidelities_they_are_full_results_that_cost_nothing(self) -> None:
        optimizer = FidelityOptimizer(SPACE, "epochs=12,200", 20, known=PAIRS, progress=None)
        assert optimizer.spent == 0
        assert [source.name for source in optimizer.sources] == ["epochs 200"]
        assert optimizer.ask(2)[0].certificate.certified

    def test_several_objectives_take_metrics(self) -> None:
        pairs = [(cell, {"error": e, "latency": float(len(cell.edges))}) for cell, e in PAIRS]
        optimizer = Optimizer(
            SPACE, initial=3, minimise=["error", "latency"], known=pairs, progress=None
        )
        assert optimizer.initial == 0
        with pytest.raises(SettingError, match=r"known result 1 .* 'latency'"):
            Optimizer(SPACE, minimise=["error", "latency"], known=PAIRS)


class TestFiles:
    def test_csv_with_json_or_digits(self, tmp_path: Path) -> None:
        for place, (rows, column) in enumerate(
            [
                ([(c.to_json(), e) for c, e in PAIRS], "graph"),
                ([(digits(c), e) for c, e in PAIRS], "graph"),
                ([(digits(c), e) for c, e in PAIRS], "digits"),
            ]
        ):
            found = gather_known(write_csv(tmp_path / f"{place}.csv", rows, column), SPACE)
            assert [(known.graph, known.error) for known in found] == PAIRS
        marked = tmp_path / "marked.csv"  # as Excel writes it
        marked.write_bytes(codecs.BOM_UTF8 + (tmp_path / "0.csv").read_bytes())
        found = gather_known(marked, SPACE)
        assert [(known.graph, known.error) for known in found] == PAIRS

    @pytest.mark.parametrize("shape", ["list", "metrics", "history", "front", "best"])
    def test_json_of_any_shape_that_we_write(self, shape: str, tmp_path: Path) -> None:
        plain = [{"graph": cell.to_dict(), "error": e} for cell, e in PAIRS]
        deep = [{"graph": c.to_dict(), "metrics": {"error": e, "epochs": 3}} for c, e in PAIRS]
        documents = {
            "list": plain,
            "metrics": deep,
            "history": {"history": deep, "best": plain[0]},
            "front": {"front": deep, "best": plain[0]},
            "best": {"best": plain[0]},
        }
        path = tmp_path / "results.json"
        path.write_text(json.dumps(documents[shape]))
        found = gather_known(path, SPACE)
        wanted = PAIRS[:1] if shape == "best" else PAIRS
        assert [(known.graph, known.error) for known in found] == wanted

    def test_a_result_outside_the_space_is_refused_with_its_line(self, tmp_path: Path) -> None:
        limited = SPACE.constrain("nor_conv_3x3 <= 0")
        bad = next(i for i, cell in enumerate(CELLS) if cell not in limited)
        path = write_csv(tmp_path / "known.csv", [(c.to_json(), e) for c, e in PAIRS])
        with pytest.raises(
            FileError, match=rf"known.csv:{bad + 2}: graph must be one of the space"
        ):
            gather_known(path, limited)
        with pytest.raises(SettingError, match=rf"known result {bad + 1} must be one of the space"):
            gather_known(PAIRS, limited)

    @pytest.mark.parametrize(
        ("row", "said"),
        [
            (("{", 3.0), "known.csv:2: graph must be one of the space"),
            (("12", 3.0), "known.csv:2: graph must be one of the space: '12' instead of 6 digits"),
            (("999999", 3.0), "known.csv:2: graph must be one of the space"),
            (("333333", "nan"), "known.csv:2: error must be a finite number, got 'nan'"),
            (("333333", ""), "known.csv:2: error must be a finite number, got ''"),
        ],
    )
    def test_a_bad_line_is_named(self, row: tuple[str, object], said: str, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=said):
            gather_known(write_csv(tmp_path / "known.csv", [row]), SPACE)

    def test_a_file_without_the_column_and_none_at_all(self, tmp_path: Path) -> None:
        (tmp_path / "known.csv").write_text("graph,accuracy\n333333,90\n")
        with pytest.raises(FileError, match=r"known.csv:1: must have a column 'error'"):
            gather_known(tmp_path / "known.csv", SPACE)
        with pytest.raises(SettingError, match="known must be a folder of a run or a file"):
            gather_known(tmp_path / "none.csv", SPACE)

    def test_duplicates_count_once_and_repeats_are_merged(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        cell = digits(CELLS[0])
        path = write_csv(tmp_path / "known.csv", [(cell, 5.0), (cell, 5.0), (cell, 7.0)])
        with caplog.at_level(logging.WARNING):
            found = gather_known(path, SPACE)
        assert [known.error for known in found] == [5.0, 7.0]
        assert "1 known result came more than once" in caplog.text
        optimizer = Optimizer(SPACE, initial=5, known=[path], progress=None)
        assert (optimizer.initial, len(optimizer.observations)) == (4, 2)


def test_a_pair_must_be_one() -> None:
    with pytest.raises(
        SettingError, match="known result 2 must be a pair of a graph and its error"
    ):
        gather_known([PAIRS[0], 5.0], SPACE)  # type: ignore[list-item]
    with pytest.raises(SettingError, match=r"known result 1 .* LabeledGraph"):
        gather_known([("333333", 5.0)], SPACE)  # type: ignore[list-item]
    with pytest.raises(SettingError, match="known result 1"):
        gather_known([(CELLS[0], float("nan"))], SPACE)


def test_a_known_result_survives_json() -> None:
    known = KnownResult(CELLS[0], {"error": 5.0})
    assert KnownResult.from_dict(json.loads(json.dumps(known.to_dict()))) == known


def test_digits_of_chains_may_count_from_0_in_a_file_of_results(tmp_path: Path) -> None:
    chains = ChainSpace(2, ["skip", "conv"])
    file = tmp_path / "results.csv"
    file.write_text("digits,error\n01,1.0\n11,2.0\n")
    found = gather_known(str(file), chains)
    assert [chains.operations(each.graph) for each in found] == [("skip", "conv"), ("conv", "conv")]
