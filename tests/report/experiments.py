"""Records of experiments for the tests of reports, made up instead of measured."""

import json
from pathlib import Path
from typing import Any

from nasgoat.experiments import ExperimentRecords, read_experiment

HOSTILE = "<img src=x onerror=alert(1)> ]]> \x00 \u202e"
COMMON = {"cpu_seconds": 1.5, "seconds": 2.0, "versions": {}}


def write(folder: Path, kind: str, declaration: dict[str, Any], runs: list[Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    head = {
        "format": 1,
        "kind": kind,
        "name": kind,
        "title": f"A {kind} of {HOSTILE}",
        "description": f"Described {HOSTILE}",
        "declaration": declaration,
        "command": f"nasgoat {kind} {HOSTILE}",
        "versions": {"nasgoat": "0.1.0", "python": "3.11"},
    }
    (folder / "experiment.json").write_text(json.dumps(head))
    (folder / "summary.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))


def compare(folder: Path, methods: int = 12, seeds: int = 3) -> ExperimentRecords:
    """A comparison of so many methods, the first two ours, on two benchmarks."""
    names = ["goat-e", HOSTILE, *(f"method-{i}" for i in range(2, methods))]
    kinds = ["goat", "goat", *("random" for _ in names[2:])]
    benchmarks = ["nb201/cifar10", "nb101"]
    declaration = {
        "benchmarks": benchmarks,
        "settings": ["deterministic", "noisy"],
        "initial": 10,
        "evaluations": 40,
        "seeds": seeds,
        "methods": [
            {"name": name, "method": kind, "batch": None, "options": {}, "seeds": None}
            for name, kind in zip(names, kinds, strict=True)
        ],
    }
    runs = [
        _compared(benchmark, noisy, name, i, seed)
        for benchmark in benchmarks
        for noisy in (False, True)
        for i, name in enumerate(names)
        for seed in range(seeds)
    ]
    write(folder, "compare", declaration, runs)
    return read_experiment(folder)


def _compared(benchmark: str, noisy: bool, name: str, i: int, seed: int) -> dict[str, Any]:
    best = 8.0 + 0.1 * i
    test = 6.0 + 0.1 * i if benchmark.startswith("nb201") else None
    return {
        **COMMON,
        "run": f"{benchmark.replace('/', '-')}.{noisy}.{i}.seed{seed}",
        "benchmark": benchmark,
        "noisy": noisy,
        "method": name,
        "seed": seed,
        "evaluations": 40,
        "metric": "validation error after 200 epochs (%)",
        "optimum": 8.0,
        "steps": [[1, 12.0, 12.0, test], [5 + i + seed, best, best, test]],
        "regret": best - 8.0,
        "test_error": test,
        "reached": 5 + seed if i == 0 else None,
        "iterations": 6,
        "seconds_per_iteration": 0.1,
        "certified": 1.0 if i < 2 else None,
    }


def kernels(folder: Path, details: bool = True, groups: bool = False) -> ExperimentRecords:
    """A comparison of two kernels, with or without its predictions, cell by cell or in groups."""
    declaration = {
        "benchmarks": ["nb201/cifar10"], "cells": ["searched"], "noises": ["fit"],
        "train": 5, "test": 200,
    }  # fmt: skip
    runs = []
    for kernel in ("SP", "ESP"):
        run = {
            **COMMON,
            "run": f"nb201-cifar10.{kernel}.seed0",
            "benchmark": "nb201/cifar10",
            "kernel": kernel,
            "cells": "searched",
            "noise": "fit",
            "seed": 0,
            "train": 5,
            "test": 200,
            "rmse": 0.2,
            "mnll": -0.1,
            "spearman": 0.8,
            "target_sd": 0.3,
        }
        if groups:
            run["groups"] = [[2.0 + i / 20, 2.1 + i / 25, 0.2] for i in range(20)]
        runs.append(run)
        lines = [{"kind": "run", **run}]
        for i in range(200):
            line = {"truth": 2.0 + i / 200, "mean": 2.1 + i / 250, "std": 0.2, "run": run["run"]}
            lines.append({"kind": "prediction", "number": i, **line})
        if details:
            (folder / "runs").mkdir(parents=True, exist_ok=True)
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / "runs" / f"{run['run']}.jsonl").write_text(text)
    write(folder, "kernels", declaration, runs)
    return read_experiment(folder)


def scale(folder: Path) -> ExperimentRecords:
    """Two methods on three sizes; one of them does not prove the largest."""
    declaration = {
        "methods": ["branch", HOSTILE], "nodes": [4, 5, 6], "observations": [50],
        "kernels": ["linear"], "seeds": [0], "top": 5,
    }  # fmt: skip
    runs = []
    for method in ("branch", HOSTILE):
        for n in (4, 5, 6):
            mip = method != "branch"
            proven = not mip or n < 6
            runs.append({
                **COMMON, "run": f"{'mip' if mip else 'branch'}.{n}", "method": method, "nodes": n,
                "observations": 50, "kernel": "linear", "top": 5, "seed": 0,
                "status": "optimal" if proven else "feasible", "value": -1.0, "bound": -1.0,
                "gap": 0.0 if proven else 0.3, "build_seconds": 0.1 if mip else None,
                "variables": 100 * n if mip else None, "constraints": 200 * n if mip else None,
                "tree_nodes": 10 if mip else None,
            })  # fmt: skip
    write(folder, "scale", declaration, runs)
    return read_experiment(folder)
