"""What ``nasgoat space check`` forecasts, against measured seconds of the processor.

Each case is a space, a kernel and an optimiser. Its problems are of the middle of a search: half of
the 50 observed graphs are random, half are changes of the best of these, so that they crowd around
the best as they do there. The first question to a fresh optimiser gets it ready and is not counted;
the forecast is of one further question. Printed are the forecast, the geometric mean over the
problems, the least and the most, and the ratio. A case ends with its first question that the time
limit stops. The constants of ``acquisition/costs.py`` were fitted on the first half of the cases;
figures of the second were seen, but not used, before. Mixed-integer programs are measured with
``--programs``, in this process instead of one of their own, so that their time is seen.

    python benchmarks/forecast.py                     all cases
    python benchmarks/forecast.py --only molecules    those whose name contains a text
    python benchmarks/forecast.py --file FILE         keep what is measured, and go on from it
    python benchmarks/forecast.py --programs          mixed-integer programs instead
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nasgoat import (
    Cells,
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
from nasgoat.acquisition.costs import forecast_paper
from nasgoat.acquisition.lower_confidence_bound import NOISE
from nasgoat.kernels import PAPER_FORMS, FeatureMap
from nasgoat.spaces import SearchSpace

LIMIT = 60.0  # seconds for a question; longer ones only show whether the forecast says so
PROGRAM_LIMIT = 120.0  # the same for a mixed-integer program
PROBLEMS, PROGRAM_PROBLEMS = 3, 2  # surrogates of each case
OBSERVED, BEST = 50, 5
OPS = ["conv", "pool", "skip", "wide", "narrow", "sep", "dil", "max", "none"]


def _cells(n: int, edges: int | None = None, ops: int = 3) -> NodeLabeledSpace:
    return NodeLabeledSpace((2, n), OPS[:ops], edges)


def _acyclic(n: int) -> GraphSpace:
    return GraphSpace(n, OPS[:4], (), "acyclic", "paths", sources=2, sinks=2)


def _molecules(atoms: int) -> GraphSpace:
    return replace(molecules(), nodes=atoms)


def _pair(first: SearchSpace, second: SearchSpace) -> Cells:
    return Cells(normal=first, reduction=second)


#: The constants are fitted on these.
FIRST: dict[str, Any] = {
    "cells of 4, 5 ops": lambda: _cells(4, ops=5),
    "cells of 5": lambda: _cells(5),
    "cells of 7, any edges": lambda: _cells(7),
    "NAS-Bench-101": nasbench101,
    "cells of 8, 10 edges, 5 ops": lambda: _cells(8, 10, 5),
    "cells of 9, 11 edges": lambda: _cells(9, 11),
    "NAS-Bench-201": nasbench201,
    "edges labelled, 4 nodes": lambda: EdgeLabeledSpace(4, OPS[:3]),
    "edges labelled, 6 nodes": lambda: EdgeLabeledSpace(6, OPS[:3]),
    "DARTS": darts,
    "DARTS of 7 nodes": lambda: DartsSpace(7, OPS[:5]),
    "DARTS of 4 nodes": lambda: DartsSpace(4, OPS[:5]),
    "chain 8 x 3": lambda: ChainSpace(8, OPS[:3]),
    "chain 12 x 6": lambda: ChainSpace(12, OPS[:6]),
    "chain 16 x 5": lambda: ChainSpace(16, OPS[:5]),
    "chain 24 x 3": lambda: ChainSpace(24, OPS[:3]),
    "molecules of 3": lambda: _molecules(3),
    "molecules of 5": lambda: _molecules(5),
    "molecules of 7": lambda: _molecules(7),
    "acyclic graphs of 6": lambda: _acyclic(6),
    "DARTS of 4 and of 5 nodes": lambda: _pair(DartsSpace(4, OPS[:4]), DartsSpace(5, OPS[:4])),
    "cells of 4 and of 5": lambda: _pair(_cells(4), _cells(5)),
}
#: The fit leaves these out.
SECOND: dict[str, Any] = {
    "cells of 4": lambda: _cells(4),
    "cells of 6": lambda: _cells(6),
    "cells of 7, 9 edges, 5 ops": lambda: _cells(7, 9, 5),
    "cells of 8, 10 edges": lambda: _cells(8, 10),
    "cells of 8, any edges": lambda: _cells(8),
    "cells of 9, any edges": lambda: _cells(9),
    "cells of 9, any edges, 5 ops": lambda: _cells(9, ops=5),
    "edges labelled, 5 nodes": lambda: EdgeLabeledSpace(5, OPS[:4]),
    "DARTS of 5 nodes": lambda: DartsSpace(5, OPS[:7]),
    "DARTS of 6 nodes, 4 ops": lambda: DartsSpace(6, OPS[:4]),
    "chain 5 x 4": lambda: ChainSpace(5, OPS[:4]),
    "chain 10 x 5": lambda: ChainSpace(10, OPS[:5]),
    "chain 14 x 6": lambda: ChainSpace(14, OPS[:6]),
    "molecules of 4": lambda: _molecules(4),
    "molecules of 6": lambda: _molecules(6),
    "molecules of 8": lambda: _molecules(8),
    "acyclic graphs of 5": lambda: _acyclic(5),
    "acyclic graphs of 7": lambda: _acyclic(7),
    "undirected graphs of 4": lambda: GraphSpace(4, OPS[:3], (), "undirected", "connected"),
    "undirected graphs of 6": lambda: GraphSpace(6, OPS[:3], (), "undirected", "connected"),
    "DARTS of 5 nodes, twice": lambda: _pair(DartsSpace(5, OPS[:5]), DartsSpace(5, OPS[:5])),
    "NAS-Bench-201, twice": lambda: _pair(nasbench201(), nasbench201()),
}
SPACES = FIRST | SECOND
EXPONENTIAL = (
    ("cells of 5", "NAS-Bench-101", "NAS-Bench-201", "chain 8 x 3", "chain 12 x 6", "DARTS"),
    (
        *("cells of 6", "cells of 8, 10 edges", "edges labelled, 5 nodes", "DARTS of 5 nodes"),
        *("DARTS of 6 nodes, 4 ops", "chain 10 x 5"),
    ),
)
LISTED = (
    ("NAS-Bench-101", "NAS-Bench-201", "molecules of 5"),
    ("cells of 6", "edges labelled, 5 nodes", "molecules of 6"),
)


@dataclass(frozen=True)
class Case:
    """A space, a kernel and an optimiser; of a program also its formulation and observations."""

    space: str
    kernel: str
    optimizer: str
    formulation: str = "compact"
    observed: int = OBSERVED

    def __str__(self) -> str:
        return ", ".join(str(part) for part in astuple(self))

    @property
    def seconds(self) -> float | None:
        """The forecast."""
        space = SPACES[self.space]()
        if self.formulation == "paper":
            return forecast_paper(space)
        return choose(space, self.kernel, name=self.optimizer).seconds


CASES = [
    *(Case(name, "linear", "branch") for name in SPACES),
    *(Case(name, "exponential", "branch") for half in EXPONENTIAL for name in half),
    *(Case(name, form, "catalogue") for half in LISTED for name in half for form in PAPER_FORMS),
]
#: Programs by formulation and kernel, for the fit and others.
PROGRAMS = {
    ("compact", "linear"): (
        *("cells of 4", "cells of 5", "cells of 6", "NAS-Bench-101", "cells of 7, 9 edges, 5 ops"),
        *("cells of 7, any edges", "cells of 8, 10 edges", "cells of 8, 10 edges, 5 ops"),
        *("NAS-Bench-201", "edges labelled, 4 nodes", "edges labelled, 5 nodes"),
        *("edges labelled, 6 nodes", "DARTS", "DARTS of 5 nodes", "DARTS of 7 nodes"),
        *("chain 8 x 3", "chain 10 x 5", "chain 12 x 6", "molecules of 3", "molecules of 4"),
        *("undirected graphs of 4", "acyclic graphs of 5"),
    ),
    ("compact", "exponential"): (
        *("cells of 4", "cells of 5", "cells of 6", "NAS-Bench-101", "NAS-Bench-201"),
        *(
            "edges labelled, 4 nodes",
            "DARTS of 4 nodes",
            "DARTS of 5 nodes",
            "chain 5 x 4",
            "molecules of 3",
        ),
    ),
    ("paper", "linear"): (
        *("cells of 4", "cells of 5", "cells of 4, 5 ops", "NAS-Bench-201"),
        *("edges labelled, 4 nodes", "molecules of 3"),
    ),
}
PROGRAM_CASES = [
    Case(name, kernel, "scip", formulation)
    for (formulation, kernel), names in PROGRAMS.items()
    for name in names
] + [
    Case("cells of 5", "exponential", "scip", observed=150),
    Case("cells of 6", "linear", "scip", observed=150),
]


def make_problem(
    space: SearchSpace, kernel: str, seed: int, observed: int = OBSERVED
) -> LowerConfidenceBound:
    """A surrogate of the middle of a search for the minimum of a random linear function."""
    rng = np.random.default_rng([seed, observed])
    features = FeatureMap(space)
    weights = rng.standard_normal(len(features.source))
    graphs = space.sample(observed // 2, rng)
    for _ in range(observed // 2 // BEST):
        order = np.argsort(features.rows(graphs) @ weights)
        for i in order[:BEST].tolist():
            graphs += space.variants(graphs[i], 1, rng)
    values = features.rows(graphs) @ weights
    values = values / (values.std() or 1.0) + np.sqrt(NOISE) * rng.standard_normal(len(values))
    gp = GraphGP(space, ShortestPathKernel(kernel), noise=NOISE, target="plain")
    return LowerConfidenceBound(3.0, gp.fit(graphs, values.tolist()))


def measure(case: Case) -> dict[str, Any]:
    """Measured seconds of a case, one for each problem."""
    space = SPACES[case.space]()
    choice = choose(space, case.kernel, name=case.optimizer)
    if choice.seconds is None:
        return {"taken": []}
    program = case.optimizer == "scip"
    limit = PROGRAM_LIMIT if program else LIMIT
    effort = Effort(time_limit=limit, threads=1, child=False, formulation=case.formulation)
    solver = make_optimizer(choice, space, effort=effort)
    taken: list[float] = []
    for seed in range((PROGRAM_PROBLEMS if program else PROBLEMS) + 1):
        problem = make_problem(space, case.kernel, seed, case.observed)
        seen = {space.key(graph) for graph in problem.gp.graphs_}
        before = _processor_seconds()
        pool = solver.optimize(problem, BEST, seen)
        seconds = max(_processor_seconds() - before, 1e-4)
        stopped = not pool.certificate.certified
        if seed > 0 or (stopped and program):  # the first gets the optimiser ready
            taken.append(seconds)
        if taken and stopped:
            return {"taken": taken, "certified": False}
    return {"taken": taken, "certified": True}


def _processor_seconds() -> float:
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _say(case: Case, found: dict[str, Any]) -> float | None:
    """Print a case; the ratio of forecast and measurement, if nothing was stopped."""
    optimizer = "paper" if case.formulation == "paper" else case.optimizer
    said = f"{case.space:28s} {case.kernel:12s} {optimizer:10s}"
    if (forecast := case.seconds) is None or not found["taken"]:
        print(f"{said} does not apply")
        return None
    taken = found["taken"]
    middle = math.exp(np.log(taken).mean())
    more = "" if case.observed == OBSERVED else f"  {case.observed} observed"
    more += "" if found["certified"] else "  stopped"
    spread = f"{min(taken):.2g} to {max(taken):.2g}"
    print(f"{said} {forecast:8.2g} {middle:8.2g} {spread:>17s} {forecast / middle:6.2f}{more}")
    return forecast / middle if found["certified"] else None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--file", type=Path, default=None)
    parser.add_argument("--programs", action="store_true")
    asked = parser.parse_args()
    cases = PROGRAM_CASES if asked.programs else CASES
    known = json.loads(asked.file.read_text()) if asked.file and asked.file.exists() else {}
    head = f"{'space':28s} {'kernel':12s} {'optimiser':10s}"
    for half, spaces in (("first", FIRST), ("second", SECOND)):
        print(f"{half} half\n{head} forecast measured     least to most  ratio", flush=True)
        ratios = []
        for case in cases:
            if case.space not in spaces or asked.only not in (key := str(case)):
                continue
            if key not in known:
                known[key] = measure(case)
                if asked.file:
                    asked.file.write_text(json.dumps(known, indent=1))
            if (ratio := _say(case, known[key])) is not None:
                ratios.append(ratio)
            sys.stdout.flush()
        good = sum(max(ratio, 1 / ratio) <= 3 for ratio in ratios)
        usual = math.exp(np.abs(np.log(ratios)).mean()) if ratios else 1.0
        print(f"{good} of {len(ratios)} within a factor of three, usually {usual:.1f}\n")


if __name__ == "__main__":
    main()
