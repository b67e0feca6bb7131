"""What devices take (HW-NAS-Bench) and NAS-Bench-Macro: official formats, and the real tables."""

from __future__ import annotations

import csv
import json
import lzma
import pickle
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasgoat import benchmark
from nasgoat.benchmarks import (
    HwNasBench,
    NasBench201,
    NasBenchMacro,
    import_table,
    list_benchmarks,
    list_tables,
)
from nasgoat.benchmarks.hw_nasbench import DEVICES
from nasgoat.benchmarks.nasbench201 import OPERATIONS
from nasgoat.errors import DataError, UnknownNameError
from nasgoat.evaluation import Outcome
from nasgoat.testing import BenchmarkContract

OFFICIAL = ("cifar10", "cifar100", "ImageNet16-120")
MEASURED = [f"{device}_{metric}" for device, metrics in DEVICES.items() for metric in metrics]
DIGITS = list(product(range(5), repeat=6))
#: Another order than that of the rows, as the official index is.
SHUFFLED = np.random.default_rng(0).permutation(len(DIGITS))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NASGOAT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def real_tables(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NASGOAT_DATA", str(shared_data))
    return shared_data


def notation(digits: tuple[int, ...]) -> str:
    names = iter(OPERATIONS[digit] for digit in digits)
    nodes = ("|".join(f"{next(names)}~{u}" for u in range(v)) for v in (1, 2, 3))
    return "+".join(f"|{node}|" for node in nodes)


def measure(row: int, dataset: int, metric: int) -> float:
    """A number that tells cell, dataset and metric apart."""
    return row + dataset / 4 + metric / 64


@cache
def official_bytes() -> bytes:
    return pickle.dumps(official_pickle(arrays=False))


def official_pickle(arrays: bool) -> dict[str, Any]:
    """What HW-NAS-Bench-v1_0.pickle holds: lists by the official index, beside FBNet's space."""
    made: dict[str, Any] = {}
    for i, dataset in enumerate(OFFICIAL):
        columns: dict[str, Any] = {
            name: [measure(int(row), i, k) for row in SHUFFLED] for k, name in enumerate(MEASURED)
        }
        columns["eyeriss_arithmetic_intensity"] = [1.0] * len(DIGITS)
        if arrays:
            columns = {name: np.array(column) for name, column in columns.items()}
        columns["config"] = [
            {"name": "infer.tiny", "C": 16, "N": 5, "arch_str": notation(DIGITS[row])}
            for row in SHUFFLED
        ]
        made[dataset] = columns
    return {"nasbench201": made, "fbnet": {"edgegpu": {"k3_e1": 0.1}}}


@pytest.mark.parametrize(
    "arrays",
    [pytest.param(False, id="lists", marks=pytest.mark.slow), pytest.param(True, id="arrays")],
)
def test_the_official_pickle_becomes_a_table(data: Path, tmp_path: Path, arrays: bool) -> None:
    source = tmp_path / "HW-NAS-Bench-v1_0.pickle"
    source.write_bytes(pickle.dumps(official_pickle(arrays)))
    assert import_table("hw201", source) == data / "hw201.npz"
    rng = np.random.default_rng(0)
    for i, dataset in enumerate(("cifar10", "cifar100", "imagenet16-120")):
        table = HwNasBench(dataset, device="fpga")
        for graph in table.space.sample(5, rng):
            row = int("".join(map(str, table.space.digits(graph))), 5)
            metrics, plain = table.query(graph, rng), NasBench201(dataset).query(graph, rng)
            assert metrics["latency"] == measure(row, i, MEASURED.index("fpga_latency"))
            assert metrics["energy"] == measure(row, i, MEASURED.index("fpga_energy"))
            assert {k: metrics[k] for k in ("error", "params", "train_time")} == {
                k: plain[k] for k in ("error", "params", "train_time")
            }


def short(whole: dict[str, Any]) -> None:
    whole["nasbench201"]["cifar100"]["fpga_energy"] = [1.0] * 7


def without_a_metric(whole: dict[str, Any]) -> None:
    del whole["nasbench201"]["cifar10"]["pixel3_latency"]


def not_a_number(whole: dict[str, Any]) -> None:
    whole["nasbench201"]["cifar10"]["pixel3_latency"][3] = float("nan")


def of_another_space(whole: dict[str, Any]) -> None:
    whole["nasbench201"]["cifar10"]["config"][0]["arch_str"] = "|zeroize~0|"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(short, "damaged one", marks=pytest.mark.slow),
        (without_a_metric, "pixel3_latency"),
        (not_a_number, "1 cells without cifar10/pixel3_latency"),
        (of_another_space, "a cell of 1 edges"),
    ],
)
def test_a_damaged_pickle_is_refused_in_one_line(
    data: Path, tmp_path: Path, spoil: Any, said: str
) -> None:
    whole = pickle.loads(official_bytes())  # noqa: S301  (our own)
    spoil(whole)
    source = tmp_path / "HW-NAS-Bench-v1_0.pickle"
    source.write_bytes(pickle.dumps(whole))
    with pytest.raises(DataError, match=said) as caught:
        import_table("hw201", source)
    assert "\n" not in str(caught.value)
    assert not data.exists()


@pytest.mark.parametrize("name", ["hw201", "macro"])
@pytest.mark.parametrize("content", [b"", b"[1, 2", b"{}", b"\x80\x04N.", pickle.dumps(Path("x"))])
def test_files_of_another_kind_are_refused(
    data: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    for ending in (".pickle", ".json", ".csv.xz"):
        source = tmp_path / f"other{ending}"
        source.write_bytes(content)
        with pytest.raises(DataError) as caught:
            import_table(name, source)
        assert "\n" not in str(caught.value)


def macro_json() -> dict[str, Any]:
    """The official file's form, with accuracies, parameters and FLOPs that can be told apart."""
    found = {}
    for row, digits in enumerate(product("012", repeat=8)):
        codes = [int(digit) for digit in digits]
        runs = [80 + row / 1000, 81 + row / 1000, 82 + row / 1000]
        found["".join(digits)] = {
            "test_acc": runs,
            "mean_acc": float(np.mean(runs)),
            "std": float(np.std(runs)),
            "params": 100 + sum((i + 1) * 10 * c for i, c in enumerate(codes)),
            "flops": 7 + sum(2**i * c**2 for i, c in enumerate(codes)),
        }
    return found


def test_the_official_json_becomes_a_table(data: Path, tmp_path: Path) -> None:
    source = tmp_path / "nas-bench-macro_cifar10.json"
    source.write_text(json.dumps(macro_json()))
    assert import_table("macro", source) == data / "macro.npz"
    table, rng = NasBenchMacro(), np.random.default_rng(0)
    chain = table.space.from_operations(["mb6_k5", "mb3_k3", *["identity"] * 5, "mb3_k3"])
    row = int("21000001", 3)
    assert table.query(chain, rng) == {
        "error": pytest.approx(19 - row / 1000),
        "params": 100 + 20 + 20 + 80,
        "flops": 7 + 4 + 2 + 128,
    }
    assert table.optimum == pytest.approx(19 - (3**8 - 1) / 1000)
    graphs = table.space.sample(50, rng)
    for name in ("params", "flops"):
        priced = table.space.price(graphs, name).tolist()
        assert priced == [table.query(graph, rng)[name] for graph in graphs]
    noisy = NasBenchMacro(noisy=True)
    errors = {round(noisy.query(chain, rng)["error"] + row / 1000, 6) for _ in range(60)}
    assert errors == {18.0, 19.0, 20.0}


def test_a_macro_file_that_misses_chains_is_refused(data: Path, tmp_path: Path) -> None:
    source, whole = tmp_path / "nas-bench-macro_cifar10.json", macro_json()
    del whole["00120000"], whole["22222222"]
    source.write_text(json.dumps(whole))
    with pytest.raises(DataError, match="2 of 6561 chains missing"):
        import_table("macro", source)
    whole["0012000"] = whole["00000000"]
    source.write_text(json.dumps(whole))
    with pytest.raises(DataError, match="a chain of 7 layers"):
        import_table("macro", source)


def test_parameters_that_do_not_add_up_are_refused(data: Path, tmp_path: Path) -> None:
    source, whole = tmp_path / "nas-bench-macro_cifar10.json", macro_json()
    whole["22222222"]["flops"] += 1
    source.write_text(json.dumps(whole))
    import_table("macro", source)
    with pytest.raises(DataError, match="must add up by layer"):
        _ = NasBenchMacro().space


def test_a_missing_table_says_how_to_get_it(data: Path) -> None:
    for name, file in (("nb201/cifar10+fpga", "hw201 HW-NAS"), ("macro/cifar10", "macro nas-b")):
        with pytest.raises(DataError, match=f"run nasgoat data import {file}"):
            benchmark(name)
    lacks = {table.benchmark: table.lacks for table in list_tables()}
    assert "HW-NAS-Bench-v1_0.pickle" in lacks["hw201"]
    assert "nas-bench-macro_cifar10.json" in lacks["macro"]


def test_wrong_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean nb201/cifar10\+edgetpu"):
        benchmark("nb201/cifar10+edgetp")
    with pytest.raises(UnknownNameError, match="did you mean macro/cifar10"):
        benchmark("macro/cifar")


def test_the_package_has_parameters_time_and_latency(shared_data: Path) -> None:
    table, rng = NasBench201("cifar100"), np.random.default_rng(0)
    with lzma.open(shared_data / "nb201.csv.xz", "rt", newline="") as file:
        rows = {row["ops"]: row for row in csv.DictReader(file)}
    for graph in table.space.sample(30, rng):
        row, metrics = rows["".join(map(str, table.space.digits(graph)))], table.query(graph, rng)
        assert metrics["params"] == pytest.approx(1e6 * float(row["c100_params_M"]), abs=1)
        assert metrics["train_time"] == pytest.approx(float(row["c100_train_time_s"]), rel=1e-6)
        assert metrics["latency"] == pytest.approx(1e3 * float(row["c100_latency_s"]), abs=2e-3)


def test_an_imported_table_is_the_text_it_was_made_of(
    shared_data: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hw201", "macro"):
        import_table(name, shared_data / f"{name}.csv.xz")
    imported = [benchmark(name) for name in ("nb201/cifar10+pixel3", "macro/cifar10")]
    monkeypatch.setenv("NASGOAT_DATA", str(shared_data))
    for table in imported:
        same, rng = benchmark(table.name), np.random.default_rng(0)
        for graph in table.space.sample(20, rng):
            assert same.query(graph, rng) == table.query(graph, rng)
        assert table.optimum == same.optimum


def test_cells_that_the_edgetpu_refused_have_no_latency(real_tables: Path) -> None:
    table, rng = benchmark("nb201/cifar10+edgetpu"), np.random.default_rng(0)
    with lzma.open(real_tables / "hw201.csv.xz", "rt", newline="") as file:
        refused = {r["ops"] for r in csv.DictReader(file) if float(r["c10_edgetpu_latency"]) < 0}
    assert isinstance(table, HwNasBench)
    sampled = table.space.sample(300, rng)
    cells = {"".join(map(str, table.space.digits(cell))): cell for cell in sampled}
    assert 5 < len(refused & {*cells}) < 100
    for digits, cell in cells.items():
        metrics = table.query(cell, rng)
        assert ("latency" not in metrics) == (digits in refused)
        assert Outcome.of(metrics, ["error"]).failure is None
        needs_both = Outcome.of(metrics, ["error", "latency"])
        assert (needs_both.failure is not None) == (digits in refused)


def test_the_best_chain_is_the_published_one(real_tables: Path) -> None:
    table = NasBenchMacro()
    best = table.space.from_operations(["mb6_k5"] * 3 + ["mb3_k3"] + ["mb6_k5"] * 3 + ["identity"])
    assert 100 - table.mean_error(best) == pytest.approx(93.127, abs=1e-3)
    assert table.mean_error(best) == pytest.approx(table.optimum)


@pytest.mark.usefixtures("real_tables")
class TestTables(BenchmarkContract):
    benchmarks = ("nb201/cifar10+edgegpu", "macro/cifar10")


@pytest.mark.usefixtures("real_tables")
class TestNoisyTables(BenchmarkContract):
    benchmarks = ("macro/cifar10",)
    noisy = True


@pytest.mark.slow  # 40 s
@pytest.mark.usefixtures("real_tables")
class TestAllDevices(BenchmarkContract):
    benchmarks = [name for name in list_benchmarks() if "+" in name]
