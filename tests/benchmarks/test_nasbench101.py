"""The reader of the official file, on a small file in the exact official format."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from nasgoat import LabeledGraph
from nasgoat.benchmarks import NasBench101
from nasgoat.benchmarks.nasbench101 import hash_module
from nasgoat.benchmarks.nasbench101_files import (
    compute_masked_crc32c,
    import_nasbench101,
    read_records,
)
from nasgoat.errors import DataError, SettingError

OFFICIAL = {"conv3x3": "conv3x3-bn-relu", "conv1x1": "conv1x1-bn-relu"}
CHAIN = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], ["input", "conv3x3", "output"])
EMPTY = LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"])


def frame(data: bytes) -> bytes:
    """A record with its length and checksums."""
    length = struct.pack("<Q", len(data))
    checks = [struct.pack("<I", compute_masked_crc32c(part)) for part in (length, data)]
    return length + checks[0] + data + checks[1]


def double(number: int, value: float) -> bytes:
    return bytes([number << 3 | 1]) + struct.pack("<d", value)


def evaluation(epoch: float, validation: float, test: float) -> bytes:
    parts = [(1, epoch), (2, 60.0), (3, 0.99), (4, validation), (5, test)]
    return b"".join(double(number, value) for number, value in parts)


def message(validation: float, test: float) -> bytes:
    """A ModelMetrics message: three evaluations, a varint of parameters, the total time."""
    parts = [evaluation(0.0, 0.1, 0.1), evaluation(54.0, 0.5, 0.5)]
    parts.append(evaluation(108.0, validation, test) + bytes([6 << 3 | 2, 2]) + b"ab")
    body = b"".join(bytes([1 << 3 | 2, len(part)]) + part for part in parts)
    return body + bytes([2 << 3 | 0, 0x8A, 0x93, 0x20]) + double(3, 120.0)


def record(graph: LabeledGraph, epochs: int, validation: float, test: float) -> bytes:
    labels = [OFFICIAL.get(label, label) for label in graph.node_labels or ()]
    bits = "".join(str(int(bit)) for bit in graph.adjacency.ravel())
    metrics = base64.b64encode(message(validation, test)).decode()
    row = [hash_module(graph).hex(), epochs, bits, ",".join(labels), metrics]
    return frame(json.dumps(row).encode())


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NASGOAT_DATA", str(tmp_path / "data"))
    path = tmp_path / "nasbench_full.tfrecord"
    rows = [
        record(graph, epochs, value + run / 100, value - 0.01 + run / 100)
        for graph, value in ((CHAIN, 0.90), (EMPTY, 0.80))
        for epochs in (36, 108)
        for run in range(3)
    ]
    path.write_bytes(b"".join(rows))
    return path


def test_imported_trainings_are_answered(official: Path) -> None:
    folder = import_nasbench101(official)
    assert folder.is_dir()
    table = NasBench101()
    rng = np.random.default_rng(0)
    assert table.metric == "validation error after 108 epochs (%)"
    assert table.query(CHAIN, rng)["error"] == pytest.approx(9.0, abs=1e-4)  # stored as float32
    assert table.query(CHAIN, rng)["test_error"] == pytest.approx(10.0, abs=1e-4)
    assert table.optimum == table.mean_error(CHAIN)
    assert NasBench101(epochs=36).mean_error(EMPTY) == pytest.approx(19.0, abs=1e-4)


def test_noisy_queries_answer_single_trainings(official: Path) -> None:
    import_nasbench101(official)
    table = NasBench101(noisy=True)
    rng = np.random.default_rng(0)
    seen = {round(table.query(CHAIN, rng)["error"], 2) for _ in range(50)}
    assert seen == {8.0, 9.0, 10.0}


def test_unknown_epochs_are_named(official: Path) -> None:
    import_nasbench101(official)
    with pytest.raises(SettingError, match="epochs must be among 36, 108"):
        NasBench101(epochs=4)


def test_crc_has_its_published_check_value() -> None:
    mask = 0xA282EAD8
    crc = (compute_masked_crc32c(b"123456789") - mask) & 0xFFFFFFFF
    assert ((crc << 15) | (crc >> 17)) & 0xFFFFFFFF == 0xE3069283


@pytest.mark.parametrize("place", [3, 9, 40, -2])
def test_a_flipped_bit_is_noticed(official: Path, place: int) -> None:
    data = bytearray(official.read_bytes())
    data[place] ^= 4
    official.write_bytes(bytes(data))
    with pytest.raises(DataError, match="damage at byte"):
        import_nasbench101(official)


def test_a_file_cut_short_is_noticed(official: Path) -> None:
    official.write_bytes(official.read_bytes()[:-10])
    with pytest.raises(DataError, match="ends inside a record"):
        import_nasbench101(official)


@pytest.mark.parametrize("row", [b"{}", b"[1, 2]", b'["zz", 108, "", "", "!!"]', b"\xff"])
def test_foreign_records_are_refused(official: Path, row: bytes) -> None:
    official.write_bytes(frame(row))
    with pytest.raises(DataError, match="a record must be one of NAS-Bench-101"):
        import_nasbench101(official)


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    rows = [b"", b"a", bytes(range(256)) * 10]
    path.write_bytes(b"".join(frame(row) for row in rows))
    assert list(read_records(path)) == rows


Runs = tuple[list[LabeledGraph], np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def real_runs(shared_data: Path) -> Runs:
    """Some real cells with validation and test accuracy by (cell, epochs, training)."""
    names = {-1: "input", -2: "output", 0: "conv3x3", 1: "conv1x1", 2: "maxpool3x3"}
    with np.load(shared_data / "nb101.npz") as table:
        places = table["runs_idx"][::2000]
        columns = [table[name][places] for name in ("n_vertices", "adjacency", "ops")]
        runs = table["runs_val"][::2000].astype(float), table["runs_test"][::2000].astype(float)
    cells = [
        LabeledGraph(matrix[:n, :n].astype(bool), tuple(names[int(op)] for op in ops[:n]))
        for n, matrix, ops in zip(*columns, strict=True)
    ]
    return cells, *runs


@pytest.mark.parametrize(
    ("name", "budgets"),
    [("nasbench_full.tfrecord", (4, 12, 36, 108)), ("nasbench_only108.tfrecord", (108,))],
)
def test_real_cells_come_back(
    name: str,
    budgets: tuple[int, ...],
    real_runs: Runs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NASGOAT_DATA", str(tmp_path / "data"))
    cells, validation, test = real_runs
    rows = [
        record(cell, epochs, validation[i, b, run], test[i, b, run])
        for b, epochs in enumerate((4, 12, 36, 108))
        if epochs in budgets
        for run in range(3)
        for i, cell in enumerate(cells)
    ]
    (tmp_path / name).write_bytes(b"".join(rows))
    import_nasbench101(tmp_path / name)
    rng = np.random.default_rng(0)
    for b, epochs in enumerate((4, 12, 36, 108)):
        if epochs not in budgets:
            with pytest.raises(SettingError, match="epochs must be among 108"):
                NasBench101(epochs=epochs)
            continue
        mean, noisy = NasBench101(epochs=epochs), NasBench101(epochs=epochs, noisy=True)
        for i, cell in enumerate(cells):
            metrics = mean.query(cell, rng)
            # Stored in single precision.
            assert metrics["error"] == pytest.approx(100 * (1 - validation[i, b].mean()), abs=1e-4)
            assert metrics["test_error"] == pytest.approx(100 * (1 - test[i, b].mean()), abs=1e-4)
            drawn = 1 - noisy.query(cell, rng)["error"] / 100
            assert np.abs(validation[i, b] - drawn).min() < 1e-6
        best = 100 * (1 - validation[:, b].mean(axis=1).max())
        assert mean.optimum == pytest.approx(best, abs=1e-4)


def test_table_is_mapped_and_not_read(official: Path) -> None:
    import_nasbench101(official)
    table = NasBench101()
    assert table.test_accuracies is not None
    for array in (table.hashes, table.accuracies, table.test_accuracies):
        while array.base is not None and not isinstance(array, np.memmap):
            array = array.base
        assert isinstance(array, np.memmap)


def test_line_breaks_in_the_metrics_are_no_trouble(official: Path) -> None:
    labels = ["input", "conv3x3-bn-relu", "output"]
    metrics = base64.encodebytes(message(0.9, 0.8)).decode()
    assert "\n" in metrics.strip()
    row = [hash_module(CHAIN).hex(), 108, "010001000", ",".join(labels), metrics]
    official.write_bytes(frame(json.dumps(row).encode()))
    import_nasbench101(official)
    assert NasBench101().mean_error(CHAIN) == pytest.approx(10.0, abs=1e-4)
