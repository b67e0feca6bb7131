"""nasgoat against random search on real trainings: ``python benchmarks/digits.py --help``.

Both methods start from the same random cells and train the same number of cells; the network with
the lowest validation error is compared by its validation and test error. Finished seeds are kept in
the folder and not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.digits import train

from nasgoat import LabeledGraph, nasbench101, search


def one_seed(seed: int, evaluations: int, known: dict[bytes, dict[str, float]]) -> dict[str, Any]:
    space = nasbench101()

    def objective(graph: LabeledGraph) -> dict[str, float]:
        key = space.key(graph)
        if key not in known:
            known[key] = train(graph)
        return known[key]

    result = search(objective, space, evaluations=evaluations, seed=seed)
    found = [dict(e.metrics) for e in result.evaluations]
    rng = np.random.default_rng([seed, 0])  # begins with the initial design of the search
    random = [objective(graph) for graph in space.sample(evaluations, rng)]
    return {"nasgoat": found, "random": random}


def best(metrics: list[dict[str, float]]) -> dict[str, float]:
    return min(metrics, key=lambda m: m["error"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=list(range(10)))
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--folder", type=Path, default=Path("runs/digits"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    known: dict[bytes, dict[str, float]] = {}
    for seed in options.seeds:
        path = options.folder / f"seed{seed}-{options.evaluations}.json"
        if not path.exists():
            path.write_text(json.dumps(one_seed(seed, options.evaluations, known)))
    runs = [
        json.loads(p.read_text()) for p in options.folder.glob(f"seed*-{options.evaluations}.json")
    ]
    print(
        f"{len(runs)} seeds, {options.evaluations} trainings each; median (mean) of the best cell"
    )
    print(f"{'':10} {'validation error %':>20} {'test error %':>20}")
    for method in ("nasgoat", "random"):
        rows = [best(run[method]) for run in runs]
        for name in ("error", "test_error"):
            values = [row[name] for row in rows]
            shown = f"{np.median(values):.2f} ({np.mean(values):.2f})"
            print(f"{method:10} {shown:>20}" if name == "error" else f" {shown:>20}", end="")
        print()
    wins = [best(r["nasgoat"])["error"] - best(r["random"])["error"] for r in runs]
    print(f"nasgoat lower in {sum(w < 0 for w in wins)}, equal in {sum(w == 0 for w in wins)}")


if __name__ == "__main__":
    main()
