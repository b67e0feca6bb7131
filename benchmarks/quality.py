"""How often and how soon a search reaches the optimum: ``make quality``.

Runs every benchmark with both kernels, for the default settings and for the paper's, over 20 seeds
(``--seeds``), and prints the table of the README. One record per run is kept in
``benchmarks/records/quality.jsonl``; a run that is already there is not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from statistics import median
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("NASGOAT_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "data"))

import numpy as np  # noqa: E402 - after the number of threads is set

from nasgoat import Settings, benchmark, search  # noqa: E402
from nasgoat.errors import DataError  # noqa: E402

RECORDS = Path(__file__).parent / "records" / "quality.jsonl"
BENCHMARKS = ("nb201/cifar10", "nb201/cifar100", "nb201/imagenet16-120", "nb101")
EVALUATIONS = 160
REACHED = 1e-9  # percentage points: table values are compared with themselves

Key = tuple[str, str, str, int]


def records() -> dict[Key, dict[str, Any]]:
    if not RECORDS.exists():
        return {}
    lines = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    return {(r["benchmark"], r["preset"], r["kernel"], r["seed"]): r for r in lines}


def run(name: str, preset: str, kernel: str, seed: int) -> dict[str, Any]:
    table = benchmark(name)
    rng = np.random.default_rng([seed, 1])
    settings = Settings.preset(preset, kernel=kernel)
    result = search(lambda g: table.query(g, rng), table.space, settings=settings, seed=seed)
    regret = [error - table.optimum for error in result.curve()]
    reached = [i + 1 for i, value in enumerate(regret) if value < REACHED]
    return {
        "benchmark": name,
        "preset": preset,
        "kernel": kernel,
        "seed": seed,
        "regret": round(regret[-1], 6),
        "reached": reached[0] if reached else None,
        "certified": result.certified,
    }


def summary(done: list[dict[str, Any]]) -> str:
    hits = [r["reached"] for r in done if r["reached"]]
    # A run that never reached the optimum counts as later than any that did.
    middle = median(r["reached"] or float("inf") for r in done)
    when = f"{middle:.0f}" if middle < float("inf") else f"> {EVALUATIONS}"
    return f"| {median(r['regret'] for r in done):.3f} | {len(hits)}/{len(done)} | {when} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--benchmarks", nargs="+", default=BENCHMARKS)
    parser.add_argument("--presets", nargs="+", default=("default", "paper"))
    options = parser.parse_args()
    RECORDS.parent.mkdir(exist_ok=True)
    known = records()
    print(
        "| benchmark | settings | kernel | median regret | reached the optimum | after (median) |"
    )
    print("|---|---|---|---|---|---|")
    for name in options.benchmarks:
        try:
            benchmark(name)
        except DataError as problem:
            print(f"| {name} | skipped: {problem} |")
            continue
        for preset in options.presets:
            for kernel in ("exponential", "linear"):
                keys = [(name, preset, kernel, seed) for seed in range(options.seeds)]
                for key in keys:
                    if key not in known:
                        known[key] = run(*key)
                        with RECORDS.open("a") as file:
                            file.write(json.dumps(known[key]) + "\n")
                line = summary([known[key] for key in keys])
                print(f"| {name} | {preset} | {kernel} {line}", flush=True)


if __name__ == "__main__":
    main()
