"""Costs fitted to measured values: exact where they are sums, and honest where they are not."""

from __future__ import annotations

import codecs
import csv
import json
import lzma
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat import ChainSpace, EdgeLabeledSpace, NodeLabeledSpace, load_space
from nasgoat.cli import run
from nasgoat.errors import GraphError, NasgoatError, NoDataError, SettingError
from nasgoat.spaces import SearchSpace, parse_space, to_toml
from nasgoat.spaces.measured_values import fit_cost, read_graph, read_measured
from nasgoat.testing.contract import list_graphs

CELLS = EdgeLabeledSpace(3, ["a", "b"])
BY_EDGE = {"constant": 1.5, "0>1": {"a": 2.0, "b": 0.5}, "1>2": {"a": -1.0}, "0>2": 0.25}


@pytest.mark.parametrize(
    ("space", "table", "by"),
    [
        (CELLS, {"a": 3.0, "b": 0.125, "constant": 2.0}, "operation"),
        (CELLS, BY_EDGE, "place"),
        (NodeLabeledSpace((2, 5), ["a", "b"]), {"a": 9.0, "constant": 4.0}, "operation"),
        (ChainSpace(4, ["a", "b", "c"]), {"b": [1, 2, 3, 4], "c": [0, 0, 7, 0]}, "place"),
        (ChainSpace((1, 3), ["a", "b"]), {"a": [1, 2, 4], "b": [3, 0, 5]}, "place"),
    ],
    ids=["operations", "edges", "nodes", "layers", "chains of several lengths"],
)
def test_a_cost_that_is_a_sum_is_found_again(
    space: SearchSpace, table: dict[str, object], by: str
) -> None:
    graphs = list_graphs(space)
    measured = space.constrain(costs={"l": table}).price(graphs, "l")
    fit = fit_cost(space, graphs, measured.tolist(), "l", by)
    assert fit.r_squared == pytest.approx(1.0, abs=1e-12)
    assert fit.largest_error == pytest.approx(0.0, abs=1e-5)  # coefficients have seven digits
    assert space.price(graphs, fit.cost) == pytest.approx(measured, abs=1e-5)


def test_what_is_said_of_the_fit_is_what_numpy_says() -> None:
    graphs, rng = list_graphs(CELLS), np.random.default_rng(0)
    y = rng.normal(size=len(graphs))
    counts = [[1.0, *(list(g.edge_labels.values()).count(o) for o in "ab")] for g in graphs]  # type: ignore[union-attr]
    X = np.array(counts)
    expected = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    fit = fit_cost(CELLS, graphs, y.tolist(), "l")
    assert CELLS.price(graphs, fit.cost) == pytest.approx(expected, abs=1e-6)
    assert fit.r_squared == pytest.approx(1 - ((y - expected) ** 2).sum() / y.var() / len(y))
    assert fit.largest_error == pytest.approx(np.abs(y - expected).max(), abs=1e-6)
    assert fit.mean_error == pytest.approx(np.abs(y - expected).mean(), abs=1e-6)


def test_the_printed_table_declares_the_same_cost() -> None:
    graphs = list_graphs(CELLS)
    measured = CELLS.constrain(costs={"l": BY_EDGE}).price(graphs, "l").tolist()
    for by in ("operation", "place"):
        fit = fit_cost(CELLS, graphs, measured, "my latency", by)
        text = f'[space]\nkind = "edge-labelled"\nnodes = 3\nops = ["a", "b"]\n\n{fit.toml}'
        prices = parse_space(text).price(graphs, "my latency")
        assert prices.tolist() == CELLS.price(graphs, fit.cost).tolist()


def test_operations_that_never_occur_cost_nothing() -> None:
    space = ChainSpace(2, ["a", "b", "c"])
    chains = [space.from_operations(ops) for ops in ("aa", "ab", "bb")]
    fit = fit_cost(space, chains, [1.0, 2.0, 3.0], "l")
    assert fit.toml == "[costs.l]\nconstant = 1.0\nb = 1.0"


def test_places_need_a_space_that_has_some() -> None:
    space = NodeLabeledSpace((2, 4), ["a"])
    with pytest.raises(SettingError, match="by must be operation where nodes are not told apart"):
        fit_cost(space, list_graphs(space), [1.0] * space.count(), by="place")
    with pytest.raises(NasgoatError, match="did you mean place"):
        fit_cost(CELLS, list_graphs(CELLS), [1.0] * 12, by="places")
    with pytest.raises(SettingError, match=r"measured graphs of the space, got 1$"):
        fit_cost(CELLS, list_graphs(CELLS)[:1], [1.0])


def write(path: Path, rows: Sequence[Any]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_files_hold_json_or_digits_and_rows_outside_are_counted(tmp_path: Path) -> None:
    graphs = list_graphs(CELLS)
    by_json = [["graph", "ms"], *([g.to_json(), i] for i, g in enumerate(graphs))]
    digits = ["".join(map(str, CELLS.digits(g))) for g in graphs]
    by_digits = [["digits", "mj", "ms"], *([d, 0, i] for i, d in enumerate(digits)), ["000", 9, 9]]
    expected = (list(graphs), [float(i) for i in range(len(graphs))], "ms")
    assert read_measured(CELLS, write(tmp_path / "a.csv", by_json)) == (*expected, 0, 1)
    assert read_measured(CELLS, write(tmp_path / "b.csv", by_digits), "ms") == (*expected, 1, 1)
    (tmp_path / "c.csv").write_bytes(codecs.BOM_UTF8 + (tmp_path / "a.csv").read_bytes())
    assert read_measured(CELLS, tmp_path / "c.csv") == (*expected, 0, 1)  # as Excel writes it


@pytest.mark.parametrize("first", [0, 1])
def test_digits_of_chains_count_from_0_or_from_1(tmp_path: Path, first: int) -> None:
    space = ChainSpace(3, ["a", "b"])
    chains = list(list_graphs(space))
    digits = ["".join(str(int(digit) - 1 + first) for digit in space.digits(g)) for g in chains]
    file = write(tmp_path / "f.csv", [["digits", "ms"], *zip(digits, range(8), strict=True)])
    assert read_measured(space, file) == (chains, [float(i) for i in range(8)], "ms", 0, first)


def test_digits_of_chains_must_count_from_one_number_throughout(tmp_path: Path) -> None:
    rows = [["digits", "ms"], ["01", 1.0], ["12", 2.0]]
    with pytest.raises(NoDataError, match="digit 2 instead of at most 1; operations count from 0"):
        read_measured(ChainSpace(2, ["a", "b"]), write(tmp_path / "f.csv", rows))
    several = ChainSpace((1, 3), ["a", "b"])
    assert several.operations(read_graph(several, "210")) == ("b", "a")
    with pytest.raises(GraphError, match="'201' with a 0, which is no layer, before another"):
        read_graph(several, "201")


def test_the_costs_of_nas_bench_macro_are_those_of_its_layers(
    tmp_path: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lzma.open(shared_data / "macro.csv.xz", "rt") as file:
        table = [
            ["digits", "flops"],
            *([row["arch"], row["flops"]] for row in csv.DictReader(file)),
        ]
    chains = ChainSpace(8, ["Identity", "MB3_K3", "MB6_K5"])
    (tmp_path / "macro.toml").write_text(to_toml(chains))
    call = ["space", "costs", str(tmp_path / "macro.toml"), "--by", "place"]
    assert run([*call, "--fit", str(write(tmp_path / "f.csv", table))]) == 0
    shown = capsys.readouterr()
    costs = tomllib.loads(shown.out)["costs"]["flops"]
    assert costs["constant"] == 7713280 and costs["MB3_K3"][0] == 4415488
    assert "fitted to 6561 graphs; digits count operations from 0: R² 1.000" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_fit_that_says_little_is_warned_of() -> None:
    graphs = list_graphs(CELLS)
    fit = fit_cost(CELLS, graphs[:3], [1.0, 5.0, 2.0], by="place")
    assert fit.r_squared == pytest.approx(1.0) and fit.fitted == 3
    few, unseen = fit.list_warnings()
    assert few.startswith("3 coefficients fit any values of 3 graphs: R² says nothing")
    assert unseen.startswith(f"{fit.unseen} costs are 0 because no measured graph has")
    whole = fit_cost(CELLS, graphs, [float(i) for i in range(len(graphs))], by="place")
    assert whole.list_warnings() == []
    assert len(graphs) == 12
    (outside,) = replace(whole, left_out=13).list_warnings()
    assert outside.startswith("most rows, 13 of 25, are not in the space")
    assert replace(whole, left_out=12).list_warnings() == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["cell", "ms"]], "must have a column of graphs (graph, digits, ops), got cell, ms"),
        ([["digits", "ms", "mj"]], "must be named, got none; it has ms, mj"),
        ([["digits", "ms"], ["101", "fast"]], "line 2 of f.csv must have a finite number as ms"),
        ([["digits", "ms"], ["101", "nan"]], "got 'nan'"),
        ([["digits", "ms"], ["10", "1"]], "line 2 of f.csv must hold a graph, got '10' instead"),
        ([["digits", "ms"], ["109", "1"]], "'109' with the digit 9 instead of at most 2"),
        ([["digits", "ms"], ["1x2", "1"]], "'1x2' instead of 3 digits"),
        ([["graph", "ms"], ["{}", "1"]], "line 2 of f.csv must hold a graph"),
        ([["digits", "ms"], ["101"]], "must have a finite number as ms, got None"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, rows: list[list[str]], said: str) -> None:
    with pytest.raises(NasgoatError) as caught:
        read_measured(CELLS, write(tmp_path / "f.csv", rows))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    for name in ("x.csv", "x.csv.xz"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")
        with pytest.raises(NoDataError, match="must be a CSV file"):
            read_measured(CELLS, tmp_path / name)


def test_a_file_that_is_not_there_is_a_wrong_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["space", "costs", "nb201", "--fit", str(tmp_path / "nowhere.csv")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "the file of measured values must be there, got " in said
    assert run(["space", "costs", "nb201", "--fit", str(write(tmp_path / "f.csv", ["x"]))]) == 2


def test_the_command_prints_a_table_and_how_well_it_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = load_space("nb201")
    graphs = space.sample(60, np.random.default_rng(0))
    latency = [1.0 + 2.0 * len(graph.edges) for graph in graphs]
    rows = [["graph", "ms"], *([g.to_json(), y] for g, y in zip(graphs, latency, strict=True))]
    file, output = write(tmp_path / "m.csv", rows), tmp_path / "costs.toml"
    call = ["space", "costs", "nb201", "--fit", str(file), "--name", "latency"]
    assert run([*call, "--output", str(output)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[:2] == ["[costs.latency]", "constant = 1.0"]
    assert "R² 1.000, largest error" in said.err
    assert output.read_text().strip() == said.out.strip()
    assert run([*call, "--by", "place", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["r_squared"] == pytest.approx(1.0)
    assert document["graphs"] == 60
    assert run([*call, "--column", "mss"]) == 2
    assert "did you mean ms" in capsys.readouterr().err
    assert run(["space", "costs", "nb201", "--name", "x"]) == 2
    assert run(["space", "costs", "nb201"]) == 0


@pytest.mark.parametrize(
    ("column", "by", "r_squared"),
    [
        ("c10_fpga_latency", "operation", 1.0),
        pytest.param("c10_eyeriss_latency", "operation", 1.0, marks=pytest.mark.slow),  # 3 s
        pytest.param("c10_pixel3_latency", "place", 0.894, marks=pytest.mark.slow),
        pytest.param("c10_edgetpu_latency", "place", 0.936, marks=pytest.mark.slow),
    ],
)
def test_devices_are_as_linear_as_we_say(
    shared_data: Path, column: str, by: str, r_squared: float
) -> None:
    space = load_space("nb201-all")
    graphs, values, _, left_out, _ = read_measured(space, shared_data / "hw201.csv.xz", column)
    every = slice(None, None, 1 if r_squared < 1 else 25)
    kept = [i for i, value in enumerate(values) if value >= 0]  # -1: the compiler refused the cell
    chosen = kept[every]
    fit = fit_cost(space, [graphs[i] for i in chosen], [values[i] for i in chosen], "latency", by)
    assert (len(graphs), left_out) == (15625, 0)
    assert fit.r_squared == pytest.approx(r_squared, abs=5e-4)
