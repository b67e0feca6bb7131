"""Tables against known optima and against each other."""

import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest

from nasgoat import LabeledGraph, benchmark, nasbench201
from nasgoat.benchmarks import NasBench101, NasBench201
from nasgoat.benchmarks.nasbench101 import hash_module
from nasgoat.errors import DataError, SettingError, UnknownNameError
from nasgoat.safe_files import PLAIN_VALUES, load

ACCURACY = {"cifar10": 91.607, "cifar100": 73.493, "imagenet16-120": 46.733}
COLUMN = {"cifar10": "c10", "cifar100": "c100", "imagenet16-120": "in16"}


@pytest.mark.parametrize("dataset", ACCURACY)
def test_the_optimum_is_the_published_one_and_in_the_space(dataset: str) -> None:
    table = NasBench201(dataset)
    assert 100 - table.optimum == pytest.approx(ACCURACY[dataset], abs=5e-4)
    best = min(table.mean_error(g) for batch in table.space.enumerate() for g in batch)
    assert best == table.optimum


@pytest.mark.parametrize("dataset", ACCURACY)
def test_embedded_values_equal_the_full_table(dataset: str, shared_data: Path) -> None:
    table = NasBench201(dataset, space=nasbench201(connected=False))
    with lzma.open(shared_data / "nb201.csv.xz", "rt") as file:
        names = next(file).rstrip().split(",")
        ops, mean = names.index("ops"), names.index(f"{COLUMN[dataset]}_val200")
        for i, line in enumerate(file):
            if i % 97 == 0:
                values = line.rstrip("\n").split(",")
                graph = table.space.from_digits([int(digit) for digit in values[ops]])
                assert 100 - table.mean_error(graph) == pytest.approx(float(values[mean]), abs=1e-3)


def test_noisy_queries_answer_single_trainings() -> None:
    noisy, rng = NasBench201("cifar10", noisy=True), np.random.default_rng(0)
    for graph in noisy.space.sample(5, rng):
        digits = "".join(map(str, noisy.space.digits(graph)))
        trainings = noisy.errors[int(digits, 5)]
        # sixty draws of two or three values miss one of them with probability below 1e-9
        values = {noisy.query(graph, rng)["error"] for _ in range(60)}
        assert values == set(trainings[~np.isnan(trainings)])
        assert np.nanmean(trainings) == pytest.approx(noisy.mean_error(graph))
        steady = NasBench201("cifar10")
        assert steady.query(graph, rng)["error"] == steady.mean_error(graph)


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean nb201/cifar10"):
        benchmark("nb201/cifar")
    with pytest.raises(UnknownNameError, match="did you mean cifar10"):
        NasBench201("cifar-10")


def test_a_table_with_classes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.pkl"
    path.write_bytes(pickle.dumps(Path("x")))
    with path.open("rb") as file, pytest.raises(DataError, match="plain values only, got pathlib"):
        load(file, PLAIN_VALUES)


def test_a_missing_nasbench101_table_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NASGOAT_DATA", str(tmp_path))
    with pytest.raises(DataError, match="set NASGOAT_DATA"):
        benchmark("nb101")


def test_module_hash_is_the_official_one(shared_data: Path) -> None:
    with np.load(shared_data / "nb101.npz") as table:
        columns = [table[name][::5000] for name in ("hash16", "n_vertices", "adjacency", "ops")]
    names = {-1: "input", -2: "output", 0: "conv3x3", 1: "conv1x1", 2: "maxpool3x3"}
    for digest, n, matrix, ops in zip(*columns, strict=True):
        graph = LabeledGraph(matrix[:n, :n].astype(bool), tuple(names[int(op)] for op in ops[:n]))
        assert hash_module(graph) == digest.tobytes()


def test_nasbench101_has_its_known_optimum(shared_data: Path) -> None:
    table = NasBench101(shared_data / "nb101.npz")
    with pytest.raises(SettingError, match="noisy must be off for nb101"):
        NasBench101(shared_data / "nb101.npz", noisy=True)
    assert table.optimum == pytest.approx(5.682425, abs=1e-6)
    rng = np.random.default_rng(0)
    graph = table.space.sample(1, rng)[0]
    shuffled = graph.relabeled(rng.permutation(graph.n).tolist())
    assert table.query(graph, rng) == table.query(shuffled, rng)
    foreign = LabeledGraph.from_edges(2, [], ["input", "output"])
    with pytest.raises(DataError, match="must be in the table"):
        table.mean_error(foreign)
