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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, spearmanr

from nasgoat.benchmarks import Benchmark, NasBench201, benchmark, benchmark_names
from nasgoat.errors import DataError, SettingError
from nasgoat.experiments.kernel_models import KERNELS, predict
from nasgoat.experiments.study import (
    Record,
    Run,
    check_least,
    check_names,
    run_id,
    versions,
)
from nasgoat.graphs import LabeledGraph
from nasgoat.graphs.edges_as_nodes import edges_as_nodes
from nasgoat.spaces import SearchSpace, nasbench201

GROUP = 10  # cells whose means are one point of a figure
CELLS = ("searched", "all", "nas-bowl")
_SKIP = "skip_connect"
_LISTS = ("benchmarks", "kernels", "cells", "noises")
_EDGE_KERNELS = ("WL-edge",)  # make sense only where edges carry the labels


@dataclass(frozen=True)
class KernelStudy:
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

    benchmarks: Sequence[str]
    kernels: Sequence[str] = KERNELS
    cells: Sequence[str] = ("searched",)
    noises: Sequence[float | str] = ("fit",)
    train: int = 50
    test: int = 400
    seeds: int = 20

    kind: ClassVar[str] = "kernels"

    def __post_init__(self) -> None:
        check_names("benchmarks", self.benchmarks, benchmark_names())
        check_names("kernels", self.kernels, KERNELS)
        check_names("cells", self.cells, CELLS)
        for noise in self.noises:
            if noise != "fit" and not (isinstance(noise, int | float) and 0 < noise < np.inf):
                raise SettingError(f'noises must be positive numbers or "fit", got {noise!r}')
        check_least({"train": self.train, "test": self.test}, 2)
        check_least({"seeds": self.seeds}, 1)

    def runs(self) -> list[Run]:
        """Replication by replication, so that whatever is done is the same for every kernel."""
        gone = self._left_out()
        return [
            self._run(name, cells, noise, kernel, seed)
            for noise, cells, seed, name, kernel in product(
                self.noises, self.cells, range(self.seeds), self.benchmarks, self.kernels
            )
            if name not in gone and _applies(kernel, cells, name)
        ]

    def left_out(self) -> list[str]:
        """Benchmarks without a table."""
        return [f"{name}: {why}" for name, why in self._left_out().items()]

    def declaration(self) -> Record:
        """The study as a JSON-ready mapping."""
        lists = {key: list(getattr(self, key)) for key in _LISTS}
        return {**lists, "train": self.train, "test": self.test, "seeds": self.seeds}

    def _run(self, name: str, cells: str, noise: float | str, kernel: str, seed: int) -> Run:
        settings = {
            "benchmark": name, "cells": cells, "kernel": kernel, "noise": noise,
            "train": self.train, "test": self.test, "seed": seed,
        }  # fmt: skip
        said = noise if isinstance(noise, str) else f"{noise:g}"
        return Run(run_id(name, cells, f"noise-{said}", kernel, f"seed{seed}"), settings)

    def _left_out(self) -> dict[str, str]:
        found = {}
        for name in self.benchmarks:
            try:
                benchmark(name)
            except DataError as problem:
                found[name] = str(problem)
        return found


def execute(settings: Mapping[str, Any]) -> list[Record]:
    """One run: its measures, then one line per predicted graph."""
    train, test, seed = settings["train"], settings["test"], settings["seed"]
    table = _load_table(settings["benchmark"], settings["cells"])
    graphs, errors = _draw_sample(settings["benchmark"], settings["cells"], train + test, seed)
    learnt = {table.space.key(graph) for graph in graphs[:train]}
    begun, used = time.perf_counter(), time.process_time()
    found = predict(
        settings["kernel"],
        table.space,
        graphs[:train],
        errors[:train],
        graphs[train:],
        settings["noise"],
    )
    truth = np.log(errors[train:])
    summary: Record = {
        **settings,
        "rmse": float(np.sqrt(np.mean((truth - found.mean) ** 2))),
        "mnll": float(-norm.logpdf(truth, found.mean, found.std).mean()),
        "spearman": _correlate_ranks(truth, found.mean),
        "target_sd": float(truth.std()),
        "known": float(np.mean([table.space.key(graph) in learnt for graph in graphs[train:]])),
        "hyperparameters": found.fitted,
        "seconds": round(time.perf_counter() - begun, 3),
        "cpu_seconds": round(time.process_time() - used, 3),
        "versions": versions(),
    }
    if seed == 0:  # what figures show
        summary["groups"] = group_means(truth, found.mean, found.std)
    rows = zip(truth.tolist(), found.mean.tolist(), found.std.tolist(), strict=True)
    lines = [
        {"kind": "prediction", "seed": seed, "number": i, "truth": y, "mean": mean, "std": std}
        for i, (y, mean, std) in enumerate(rows)
    ]
    return [summary, *lines]


def group_means(
    truth: NDArray[np.float64],
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
    size: int = GROUP,
) -> list[list[float]]:
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


def _correlate_ranks(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """The rank correlation; 0 where all predictions are the same and rank nothing."""
    if np.ptp(predicted) == 0 or np.ptp(truth) == 0:
        return 0.0
    return float(spearmanr(truth, predicted).statistic)


@lru_cache(maxsize=4)
def _load_table(name: str, cells: str) -> Benchmark:
    table = benchmark(name)
    if cells != "searched" and isinstance(table, NasBench201):
        return NasBench201(table.dataset, space=nasbench201(connected=False))
    return table


@lru_cache(maxsize=4)
def _draw_sample(
    name: str, cells: str, count: int, seed: int
) -> tuple[list[LabeledGraph], NDArray[np.float64]]:
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
    return [cell for cell in drawn if edges_as_nodes(cell, _SKIP).edges][:count]


def _applies(kernel: str, cells: str, name: str) -> bool:
    return name.startswith("nb201/") or (kernel not in _EDGE_KERNELS and cells != "all")
