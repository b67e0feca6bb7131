"""Every method over 20 seeds: how close to the optimum it comes, and what it costs.

    python benchmarks/baselines.py [--methods random,evolution] [--seeds 20] [--minutes 9]

One record per run is kept in ``benchmarks/records/baselines.jsonl``; a run that is already there is
not repeated, so that a broken benchmark goes on where it stopped. Prints one line per method: mean
and median regret of the best cell, the mean advantage over random search with the same seeds and
its standard error, and processor seconds of a run on one thread (other work on the machine disturbs
them, but less than it would the clock's).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402 - after the number of threads is set

from nasgoat import benchmark, make_method, run  # noqa: E402
from nasgoat.baselines import available, methods, own_batch, remedy  # noqa: E402

RECORDS = Path(__file__).parent / "records" / "baselines.jsonl"
CHECKPOINTS = (40, 80, 160)
REACHED = 1e-9  # percentage points: table values are compared with themselves

Key = tuple[str, bool, str, int, int]
Record = dict[str, Any]


def records() -> dict[Key, Record]:
    if not RECORDS.exists():
        return {}
    lines = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    return {
        (r["benchmark"], r["noisy"], r["method"], r["evaluations"], r["seed"]): r for r in lines
    }


def one_run(key: Key) -> Record:
    """Regret of the best cell after some evaluations, and the processor seconds of the run."""
    name, noisy, method, evaluations, seed = key
    table = benchmark(name, noisy)
    rng = np.random.default_rng([seed, 1])
    start = time.process_time()
    asker = make_method(method, table.space, seed=seed, evaluations=evaluations, noisy=noisy)
    result = run(asker, lambda graph: table.query(graph, rng), evaluations, own_batch(method))
    seconds = time.process_time() - start
    best = np.minimum.accumulate([evaluation.error for evaluation in result.evaluations])
    # The regret is that of the cell the search would return: its mean error, not what was drawn.
    firsts = [int(np.argmax(best == best[t - 1])) for t in range(1, len(best) + 1)]
    regret = [table.mean_error(result.evaluations[i].graph) - table.optimum for i in firsts]
    reached = [t + 1 for t, value in enumerate(regret) if value < REACHED]
    return {
        "benchmark": name,
        "noisy": noisy,
        "method": method,
        "evaluations": evaluations,
        "seed": seed,
        "regret": round(regret[-1], 6),
        "regret_after": {str(t): round(regret[t - 1], 6) for t in CHECKPOINTS if t <= len(regret)},
        "reached": reached[0] if reached else None,
        "seconds": round(seconds, 1),
    }


def line(method: str, done: list[Record], random: dict[int, Record]) -> str:
    """A row of the table."""
    regrets = np.array([record["regret"] for record in done])
    seconds = [record["seconds"] for record in done]
    reached = sum(record["reached"] is not None for record in done)
    pairs = [random[r["seed"]]["regret"] - r["regret"] for r in done if r["seed"] in random]
    gain = "|"
    if method != "random" and len(pairs) > 1:
        gain = f"{np.mean(pairs):.3f} ± {np.std(pairs, ddof=1) / np.sqrt(len(pairs)):.3f} |"
    return (
        f"| {method} | {len(done)} | {regrets.mean():.3f} | {np.median(regrets):.3f} "
        f"| {reached}/{len(done)} | {gain} {np.mean(seconds):.1f} | {max(seconds):.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(methods()))
    parser.add_argument("--benchmark", default="nb201/cifar10")
    parser.add_argument("--noisy", action="store_true")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=160)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after")
    parser.add_argument("--shown", action="store_true", help="run nothing, print what is there")
    options = parser.parse_args()
    RECORDS.parent.mkdir(exist_ok=True)
    end = 0.0 if options.shown else time.monotonic() + 60 * options.minutes
    common = (options.benchmark, options.noisy)
    print(f"{options.benchmark}, {options.evaluations} evaluations")
    print("| method | seeds | mean regret | median | optimum | below random | seconds | most |")
    print("|---|---|---|---|---|---|---|---|")
    for method in options.methods.split(","):
        if not available(method):
            print(f"| {method} | not installed: {remedy(method)} |")
            continue
        for seed in range(options.seeds):
            key = (*common, method, options.evaluations, seed)
            if key not in records() and time.monotonic() < end:
                with RECORDS.open("a") as file:
                    file.write(json.dumps(one_run(key)) + "\n")
        known = {k: r for k, r in records().items() if k[:2] == common}
        done = [r for k, r in known.items() if k[2:4] == (method, options.evaluations)]
        same = [r for k, r in known.items() if k[2:4] == ("random", options.evaluations)]
        if done:
            print(line(method, done, {r["seed"]: r for r in same}), flush=True)


if __name__ == "__main__":
    main()
