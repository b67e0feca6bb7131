"""What ``nasgoat space check`` forecasts, against measured seconds of the processor.

Each case is a space, a kernel and an optimiser. Its problem is one of the middle of a search: half
of the 50 observed graphs are random, half are changes of the best of these, so that they crowd
around the best as they do there. The first question to a fresh optimiser gets it ready and is not
counted; the forecast is of one further question. The cases come in two halves: one to fit the
constants of ``acquisition/costs.py`` on, which has not been done yet, and one to compare with.

    python benchmarks/forecast.py                     all cases, each in a process of its own
    python benchmarks/forecast.py --only molecules    those whose name contains a text
    python benchmarks/forecast.py --file FILE         keep what is measured, and go on from it
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat import (
    ChainSpace,
    DartsSpace,
    EdgeLabeledSpace,
    GraphGP,
    GraphSpace,
    LowerConfidenceBound,
    NodeLabeledSpace,
    ShortestPathKernel,
    darts,
    molecules,
    nasbench101,
    nasbench201,
)
from nasgoat.acquisition import Effort, choose, make_optimizer
from nasgoat.acquisition.lower_confidence_bound import NOISE
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import SearchSpace

LIMIT = 60.0  # seconds for a question; longer ones only show whether the forecast says so
OBSERVED, BEST = 50, 5
OPS = ["conv", "pool", "skip", "wide", "narrow", "sep", "dil", "max", "none"]


def _cells(n: int, edges: int | None = None, ops: int = 3) -> NodeLabeledSpace:
    return NodeLabeledSpace((2, n), OPS[:ops], edges)


def _acyclic(n: int) -> GraphSpace:
    return GraphSpace(n, OPS[:4], (), "acyclic", "paths", sources=2, sinks=2)


def _molecules(atoms: int) -> GraphSpace:
    return replace(molecules(), nodes=atoms)


SPACES: dict[str, Any] = {
    "cells of 5": lambda: _cells(5),
    "cells of 6": lambda: _cells(6),
    "NAS-Bench-101": nasbench101,
    "cells of 7, any edges": lambda: _cells(7),
    "cells of 8, 10 edges": lambda: _cells(8, 10),
    "cells of 8, any edges": lambda: _cells(8),
    "cells of 9, 11 edges": lambda: _cells(9, 11),
    "cells of 10, 12 edges": lambda: _cells(10, 12),
    "NAS-Bench-201": nasbench201,
    "edges labelled, 5 nodes": lambda: EdgeLabeledSpace(5, OPS[:4]),
    "edges labelled, 6 nodes": lambda: EdgeLabeledSpace(6, OPS[:3]),
    "DARTS": darts,
    "DARTS of 5 nodes": lambda: DartsSpace(5, OPS[:7]),
    "DARTS of 7 nodes": lambda: DartsSpace(7, OPS[:5]),
    "chain 8 x 3": lambda: ChainSpace(8, OPS[:3]),
    "chain 12 x 6": lambda: ChainSpace(12, OPS[:6]),
    "chain 20 x 9": lambda: ChainSpace(20, OPS[:9]),
    "molecules of 4": lambda: _molecules(4),
    "molecules of 5": lambda: _molecules(5),
    "molecules of 6": lambda: _molecules(6),
    "molecules of 7": lambda: _molecules(7),
    "molecules of 8": lambda: _molecules(8),
    "molecules of 9": lambda: _molecules(9),
    "acyclic graphs of 6": lambda: _acyclic(6),
    "acyclic graphs of 7": lambda: _acyclic(7),
}
CASES = [
    *((name, "linear", "branch") for name in SPACES),
    *(
        (name, "exponential", "branch")
        for name in ("NAS-Bench-101", "NAS-Bench-201", "cells of 8, 10 edges", "DARTS of 5 nodes")
    ),
    *(
        (name, kernel, "catalogue")
        for name in ("NAS-Bench-101", "NAS-Bench-201", "molecules of 4", "edges labelled, 5 nodes")
        for kernel in ("linear", "exponential")
    ),
    *(
        (name, "linear", "scip")
        for name in ("cells of 5", "cells of 6", "NAS-Bench-201", "chain 8 x 3", "molecules of 4")
    ),
    ("cells of 5", "exponential", "scip"),
]


def make_problem(space: SearchSpace, kernel: str, seed: int) -> LowerConfidenceBound:
    """A surrogate of the middle of a search for the minimum of a random linear function."""
    rng = np.random.default_rng([seed, OBSERVED])
    features = FeatureMap(space)
    weights = rng.standard_normal(len(features.source))
    graphs = space.sample(OBSERVED // 2, rng)
    for _ in range(BEST):
        order = np.argsort(features.rows(graphs) @ weights)
        for i in order[:BEST].tolist():
            graphs += space.variants(graphs[i], 1, rng)
    values = features.rows(graphs) @ weights
    values = values / (values.std() or 1.0) + np.sqrt(NOISE) * rng.standard_normal(len(values))
    gp = GraphGP(space, ShortestPathKernel(kernel), noise=NOISE, target="plain")
    return LowerConfidenceBound(3.0, gp.fit(graphs, values.tolist()))


def measure(name: str, kernel: str, optimizer: str) -> dict[str, Any]:
    """Forecast and measured seconds of a case."""
    space = SPACES[name]()
    choice = choose(space, kernel, name=optimizer)
    solver = make_optimizer(choice, space, effort=Effort(time_limit=LIMIT, threads=1))
    taken, certified = [], []
    for seed in (0, 1):
        problem = make_problem(space, kernel, seed)
        seen = {space.key(graph) for graph in problem.gp.graphs_}
        if seed == 0:
            solver.optimize(problem, BEST, seen)
        before = _processor_seconds()
        pool = solver.optimize(problem, BEST, seen)
        taken.append(max(_processor_seconds() - before, 1e-4))
        certified.append(pool.certificate.certified)
    return {
        "forecast": choice.seconds,
        "measured": float(np.exp(np.log(taken).mean())),
        "certified": all(certified),
    }


def _processor_seconds() -> float:
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _measure_apart(case: tuple[str, str, str]) -> dict[str, Any]:
    """The same in a process of its own, so that no case warms up another."""
    command = [sys.executable, __file__, "--case", *case]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode:
        return {"error": ended.stderr.strip().splitlines()[-1:]}
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def _say(case: tuple[str, str, str], found: dict[str, Any], fitted: bool) -> float | None:
    name, kernel, optimizer = case
    said = f"{name:24s} {kernel:12s} {optimizer:10s}"
    if "error" in found:
        print(f"{said} {found['error']}")
        return None
    forecast, measured = found["forecast"], found["measured"]
    if forecast is None:
        print(f"{said} does not apply")
        return None
    stopped = "" if found["certified"] else " (stopped)"
    ratio = forecast / measured
    half = "first half" if fitted else "second half"
    print(f"{said} {forecast:9.3g} {measured:9.3g} {ratio:6.2f}  {half}{stopped}", flush=True)
    return ratio if found["certified"] else None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--file", type=Path, default=None)
    parser.add_argument("--case", nargs=3, default=None)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(measure(*asked.case)))
        return
    known = json.loads(asked.file.read_text()) if asked.file and asked.file.exists() else {}
    halves: dict[bool, list[float]] = {True: [], False: []}
    print(f"{'space':24s} {'kernel':12s} {'optimiser':10s}  forecast  measured  ratio")
    for number, case in enumerate(CASES):
        key = ", ".join(case)
        if asked.only not in key:
            continue
        if key not in known:
            started = time.monotonic()
            known[key] = _measure_apart(case)
            known[key]["clock"] = time.monotonic() - started
            if asked.file:
                asked.file.write_text(json.dumps(known, indent=1))
        elif "measured" in known[key]:
            known[key]["forecast"] = choose(SPACES[case[0]](), *case[1:2], name=case[2]).seconds
        ratio = _say(case, known[key], number % 2 == 0)
        if ratio is not None:
            halves[number % 2 == 0].append(ratio)
    for fitted, ratios in halves.items():
        good = sum(max(ratio, 1 / ratio) <= 3 for ratio in ratios)
        spread = math.exp(np.abs(np.log(ratios)).mean()) if ratios else 1.0
        half = "first half" if fitted else "second half"
        print(f"{half}: {good} of {len(ratios)} within a factor of three, usually {spread:.1f}")


if __name__ == "__main__":
    main()
