"""The comparison of kernels (Table 2 of the paper): what it measures, and one run of it.

Every kernel sees the same graphs of a replication. All three measures are of the natural logarithm
of the error; what the Gaussian processes learn is that logarithm, standardised by the training
graphs, and predictions are turned back before they are measured.

    RMSE      √ mean (y - μ)²
    MNLL      mean of -log N(y | μ, σ²), σ² with the noise: the density of the measured value
    Spearman  rank correlation of y and μ
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from nasgoat.benchmarks import Benchmark, NasBench201, benchmark, list_benchmarks
from nasgoat.errors import SettingError
from nasgoat.experiments.kernel_models import GROUP, KERNELS, predict
from nasgoat.experiments.study import ExperimentRun, Key, Record, Study, count_from, expect_names
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.conversions import turn_edges_into_nodes
from nasgoat.spaces import SearchSpace, nasbench201
from nasgoat.surrogate.model_check import correlate_ranks
from nasgoat.toml_reader import NUMBER, Value, list_of

Array = NDArray[np.float64]
CELLS = ("searched", "all", "nas-bowl")
_SKIP = "skip_connect"
_EDGE_KERNELS = ("WL-edge",)  # make sense only where edges carry the labels


def _check_noises(key: str, noises: Sequence[float | str]) -> None:
    for noise in noises:
        if noise != "fit" and not (isinstance(noise, int | float) and 0 < noise < np.inf):
            raise SettingError(f'{key} must be positive numbers or "fit", got {noise!r}')


_NOISE = Value('a number or "fit"', lambda value: value == "fit" or NUMBER.holds(value))
_NOISES = Key(list_of(_NOISE, 'numbers and "fit"'), _check_noises)


@dataclass(frozen=True)
class KernelStudy(Study):
    """Kernels on benchmarks, over random replications.

    Args:
        benchmarks: Names of benchmarks.
        kernels: Names of kernels.
        cells: ``"searched"`` draws from the space that a search goes through; ``"all"`` draws from
            all 15,625 cells of NAS-Bench-201, those without a path from input to output included;
            ``"nas-bowl"`` draws like the script of NAS-BOWL: a cell of NAS-Bench-101 can come
            twice, and those of NAS-Bench-201 have a path from input to output.
        noises: Noise variances of the standardised target; ``"fit"`` fits it.
        train: Graphs to learn from.
        test: Graphs to predict.
        seeds: Replications 0, 1, ...

    Example:
        >>> study = KernelStudy(("nb201/cifar10",), kernels=("SP",), seeds=1)
        >>> [run.id for run in study.runs()]
        ['nb201-cifar10.searched.noise-fit.SP.seed0']
    """

    benchmarks: Annotated[Sequence[str], expect_names(list_benchmarks())]
    kernels: Annotated[Sequence[str], expect_names(KERNELS)] = KERNELS
    cells: Annotated[Sequence[str], expect_names(CELLS)] = ("searched",)
    noises: Annotated[Sequence[float | str], _NOISES] = ("fit",)
    train: Annotated[int, count_from(2)] = 50
    test: Annotated[int, count_from(2)] = 400
    seeds: Annotated[int, count_from(1)] = 20

    kind: ClassVar[str] = "kernels"

    def runs(self) -> list[ExperimentRun]:
        """Replication by replication, so that whatever is done is the same for every kernel."""
        gone = self._find_missing_tables()
        return [
            self._run(name, cells, noise, kernel, seed)
            for noise, cells, seed, name, kernel in product(
                self.noises, self.cells, range(self.seeds), self.benchmarks, self.kernels
            )
            if (name,) not in gone and _applies(kernel, cells, name)
        ]

    def list_left_out(self) -> list[str]:
        """Benchmarks without a table."""
        return [f"{name}: {why}" for (name,), why in self._find_missing_tables().items()]

    def _run(
        self, name: str, cells: str, noise: float | str, kernel: str, seed: int
    ) -> ExperimentRun:
        settings = {
            "benchmark": name, "cells": cells, "kernel": kernel, "noise": noise,
            "train": self.train, "test": self.test, "seed": seed,
        }  # fmt: skip
        said = noise if isinstance(noise, str) else f"{noise:g}"
        return ExperimentRun.from_parts(
            name, cells, f"noise-{said}", kernel, f"seed{seed}", settings=settings
        )

    def _find_missing_tables(self) -> dict[tuple[Any, ...], str]:
        return self._find_missing(((name,) for name in self.benchmarks), benchmark)

    @staticmethod
    def execute(settings: Mapping[str, Any]) -> list[Record]:
        """One run: its measures, then one line per predicted graph."""
        count, seed = settings["train"], settings["seed"]
        name, cells = settings["benchmark"], settings["cells"]
        space = _load_table(name, cells).space
        graphs, errors = _draw_sample(name, cells, count + settings["test"], seed)
        train, test = graphs[:count], graphs[count:]
        learnt = {space.key(graph) for graph in train}
        begun, used = time.perf_counter(), time.process_time()
        found = predict(settings["kernel"], space, train, errors[:count], test, settings["noise"])
        truth = np.log(errors[count:])
        summary: Record = {
            **settings,
            "rmse": float(np.sqrt(np.mean((truth - found.mean) ** 2))),
            "mnll": float(-norm.logpdf(truth, found.mean, found.std).mean()),
            "spearman": correlate_ranks(found.mean, truth) or 0.0,  # equal predictions rank nothing
            "target_sd": float(truth.std()),
            "known": float(np.mean([space.key(graph) in learnt for graph in test])),
            "hyperparameters": found.fitted,
            "seconds": round(time.perf_counter() - begun, 3),
            "cpu_seconds": round(time.process_time() - used, 3),
        }
        if seed == 0:  # what figures show
            summary["groups"] = group_means(truth, found.mean, found.std)
        rows = zip(truth.tolist(), found.mean.tolist(), found.std.tolist(), strict=True)
        lines = [
            {"kind": "prediction", "seed": seed, "number": i, "truth": y, "mean": mean, "std": std}
            for i, (y, mean, std) in enumerate(rows)
        ]
        return [summary, *lines]


def group_means(truth: Array, mean: Array, std: Array, size: int = GROUP) -> list[list[float]]:
    """Means of truth, prediction and (root mean square) deviation over cells of similar truth.

    Example:
        >>> truth = np.array([3.0, 1.0, 2.0, 4.0])
        >>> group_means(truth, truth + 1.0, np.ones(4), size=2)
        [[1.5, 2.5, 1.0], [3.5, 4.5, 1.0]]
    """
    order = np.argsort(truth, kind="stable")
    parts = [order[i : i + size] for i in range(0, len(order), size)]
    rows = [(truth[p].mean(), mean[p].mean(), np.sqrt((std[p] ** 2).mean())) for p in parts]
    return [[round(float(value), 4) for value in row] for row in rows]


@lru_cache(maxsize=4)
def _load_table(name: str, cells: str) -> Benchmark:
    table = benchmark(name)
    if cells != "searched" and isinstance(table, NasBench201):
        return NasBench201(table.dataset, space=nasbench201(connected=False))
    return table


@lru_cache(maxsize=4)
def _draw_sample(name: str, cells: str, count: int, seed: int) -> tuple[list[LabeledGraph], Array]:
    """Graphs at random and their mean errors, the same for every kernel."""
    table, rng = _load_table(name, cells), np.random.default_rng(seed)
    draw = _draw_as_nas_bowl if cells == "nas-bowl" else SearchSpace.sample
    graphs = draw(table.space, count, rng)
    if len(graphs) < count:
        most = f"at most {len(graphs)} together, all cells of {name}"
        raise SettingError(f"train and test must be {most}, got {count}")
    return graphs, np.array([table.mean_error(graph) for graph in graphs])


def _draw_as_nas_bowl(
    space: SearchSpace, count: int, rng: np.random.Generator
) -> list[LabeledGraph]:
    """Cells of random matrices, repeats included; with labels on edges, distinct ones with a path.

    As ``random_sampling`` does in NAS-BOWL's code, whose script of the same comparison has 50
    cells, 400 cells and 20 replications by default.
    """
    if space.labels_on == "nodes":
        return [space.sample(1, rng)[0] for _ in range(count)]
    drawn = space.sample(2 * count, rng)
    return [cell for cell in drawn if turn_edges_into_nodes(cell, _SKIP).edges][:count]


def _applies(kernel: str, cells: str, name: str) -> bool:
    return name.startswith("nb201/") or (kernel not in _EDGE_KERNELS and cells != "all")
