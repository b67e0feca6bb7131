"""Processor time of this version beside another one, row by row: ``against.py FOLDER``.

FOLDER is a checkout of the other version. Each version runs in a process of its own, with its own
``benchmarks/branch.py``, and the two take turns, because machines are shared and noisy: the
shortest of several turns counts. The rows are those of ``branch.py --table`` and of ``speed.py``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

HERE = Path(__file__).resolve().parent.parent
Answer = dict[str, Any]
Work = Callable[[], Answer]

#: What a new process runs.
FRESH = {
    "help": "import runpy, sys; sys.argv = ['nasgoat', '--help']; runpy.run_module('nasgoat')",
    "import": "import nasgoat",
    "count nb101": "from nasgoat import nasbench101; nasbench101().count()",
    "build nb101": "from nasgoat import Catalogue, nasbench101; Catalogue(nasbench101())",
}
#: Rows besides those of branch and bound.
ROWS = [
    *FRESH,
    *("score linear", "score exponential", "fit 300", "fit 1000"),
    *("key nb101", "sample nb101", "mutate nb101"),
    *("search nb201/cifar10 linear", "search nb201/cifar10 exponential"),
    *("search nb101 linear", "search nb101 exponential"),
]


def measure(work: Callable[[], object]) -> Answer:
    """Seconds of the processor, of this process and of children that ended."""
    before = _processor()
    work()
    return {"cpu": _processor() - before}


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(x.ru_utime + x.ru_stime for x in used)


def branch_row(text: str, form: str, t: int, seed: int, limit: float | None) -> Work:
    """Five proposals of branch and bound: a row of ``branch.py --table`` for one seed."""
    import numpy as np

    branch = importlib.import_module("branch")
    space, rng = branch.space_of(text), np.random.default_rng(seed)
    graphs = space.sample(t, rng)
    acquisition = branch.Objective(space, form, rng).given(graphs)
    solver = branch.BranchAndBound(space, time_limit=limit)
    keys = {space.key(graph) for graph in graphs}
    solver.prepare(form == "exponential")
    solver.time_limit = 0.01  # load the compiled code
    solver.optimize(acquisition)
    solver.time_limit = limit

    def work() -> Answer:
        start = time.process_time()
        pool = solver.optimize(acquisition, 5, keys)
        found = {"cpu": time.process_time() - start, "nodes": solver.nodes_}
        values = [round(proposal.certificate.value, 9) for proposal in pool]
        return {**found, "gap": pool.certificate.gap, "values": values}

    return work


def speed_row(name: str) -> Work:
    """One of ``ROWS``."""
    if name in FRESH:
        return lambda: measure(lambda: _run_fresh(FRESH[name], empty=name.startswith("build")))
    import numpy as np

    from nasgoat import Catalogue, Optimizer, Settings, benchmark, nasbench101, search
    from nasgoat.acquisition import random_problem

    kind, _, rest = name.partition(" ")
    space, rng = nasbench101(), np.random.default_rng(0)
    if kind == "score":
        catalogue, problem = Catalogue(space), random_problem(space, 150, rest)

        def score() -> None:
            # Forget the answer of the round before; earlier versions kept one.
            if hasattr(catalogue._scored, "clear"):
                catalogue._scored.clear()
            else:
                vars(catalogue)["_scored"] = None
            catalogue.optimize(problem.acquisition, 5)

        return lambda: measure(score)
    if kind in ("fit", "search"):
        which, _, form = rest.partition(" ")
        table = benchmark(which if form else "nb201/cifar10")
        if kind == "search":
            settings = Settings(kernel=form)
            query = lambda graph: table.query(graph, rng)  # noqa: E731
            return lambda: measure(lambda: search(query, table.space, settings=settings))
        cells = table.space.sample(int(rest), rng)

        def fit() -> Answer:
            optimizer = Optimizer(table.space, initial=len(cells))
            for cell in cells:
                optimizer.tell(cell, table.mean_error(cell))
            return measure(lambda: optimizer.ask(5))

        return fit
    cells = space.sample(1000, rng)
    works: dict[str, Callable[[], object]] = {
        "key": lambda: [space.key(cell) for cell in cells],
        "sample": lambda: space.sample(1000, rng),
        "mutate": lambda: [space.mutate(cell, rng) for cell in cells[:300]],
    }
    return lambda: measure(works[kind])


def _run_fresh(code: str, empty: bool) -> None:
    """Run code in a new process, without a catalogue of an earlier one if ``empty``."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **({"NASGOAT_CACHE": folder} if empty else {})}
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)  # noqa: S603


def serve() -> None:
    """Measure a row whenever a line comes in."""
    row = json.loads(input())
    work = speed_row(row) if isinstance(row, str) else branch_row(*row)
    while True:
        print("=" + json.dumps(work()), flush=True)
        input()


def answers(folder: Path, row: object) -> Iterator[Answer]:
    """Measurements of a row by the version in a folder, one whenever it is asked for."""
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-P", __file__, "--serve"],
        env={**os.environ, "PYTHONPATH": f"{folder}/src:{folder}/benchmarks:{folder}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with child:
        if child.stdin is None or child.stdout is None:
            return
        try:
            while True:
                child.stdin.write(json.dumps(row) + "\n")
                child.stdin.flush()
                lines = (line for line in child.stdout if line.startswith("="))
                yield dict(json.loads(next(lines, "=null")[1:]) or {})
        finally:
            child.kill()


def compare(
    other: Path, row: object, repeats: int, patience: float
) -> tuple[list[Answer], list[Answer]]:
    """Answers of the other version and of this one, in turns, while patience lasts."""
    turns = zip(answers(other, row), answers(HERE, row), strict=False)
    start, found = time.perf_counter(), list[tuple[Answer, Answer]]()
    while len(found) < repeats and (len(found) < 2 or time.perf_counter() - start < patience):
        found.append(next(turns))
        if not all(found[-1]):
            raise SystemExit(f"both versions must answer {row}, got {found[-1]}")
    return [pair[0] for pair in found], [pair[1] for pair in found]


def list_rows(seeds: list[int], limit: float | None) -> Iterator[tuple[str, object]]:
    """Names of all rows, and what is asked for each."""
    for text, form, observations, given in importlib.import_module("branch").TABLE:
        seconds = given if limit is None or given is None else min(limit, given)
        for t in observations:
            for seed in seeds:
                yield f"{text} {form} t={t} seed={seed}", [text, form, t, seed, seconds]
    yield from ((name, name) for name in ROWS)


def show(name: str, before: list[Answer], after: list[Answer]) -> str:
    """A row of the table."""
    times = [[answer["cpu"] for answer in found] for found in (before, after)]
    low, middle = ([pick(t) for t in times] for pick in (min, median))
    cells = [name, f"{1e3 * low[0]:.1f}", f"{1e3 * low[1]:.1f}"]
    cells += [f"{low[1] / low[0]:.2f}", f"{middle[1] / middle[0]:.2f}"]
    for key, form in (("nodes", "{:,}"), ("gap", "{:.3g}")):
        both = [form.format(found[0].get(key) or 0) for found in (before, after)]
        cells.append(" → ".join(dict.fromkeys(both)) if key in before[0] else "")
    same = before[0].get("values") == after[0].get("values")
    return f"| {' | '.join([*cells, 'yes' if same else 'no'])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="a checkout of the other version")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=[""], help="words in the names of rows")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--patience", type=float, default=30.0, help="seconds for a row")
    parser.add_argument("--limit", type=float, help="of rows that have a time limit")
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    print("| row | other, ms | this, ms | shortest | median | nodes | gap | same values |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, row in list_rows(given.seeds, given.limit):
        if any(word in name for word in given.only):
            print(
                show(name, *compare(given.folder, row, given.repeats, given.patience)), flush=True
            )


if __name__ == "__main__":
    main()
