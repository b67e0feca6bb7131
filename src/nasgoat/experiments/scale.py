"""How the optimisers scale: seconds, gap and model size against the number of nodes.

The problems are those of ``nasgoat solve``: n nodes, at most n + 2 edges, three operations, random
observations. Every method gets the same problem; ratios between methods are read off one run. On a
busy machine read the seconds of processor time, not those of the clock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Annotated, Any, ClassVar

from nasgoat.acquisition import random_problem
from nasgoat.experiments import Table
from nasgoat.experiments.methods import check_optimizer, make_timed_optimizer
from nasgoat.experiments.records import ExperimentRecords
from nasgoat.experiments.study import (
    ANY_NAMES,
    SECONDS,
    ExperimentRun,
    Key,
    Record,
    Study,
    check_positive,
    expect_counts,
    expect_names,
)
from nasgoat.figures.charts import Axis, Chart, Line, Mark, Panels, Points
from nasgoat.kernels import PAPER_FORMS
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.toml_reader import NUMBER, WHOLE

OPERATIONS = ("conv3x3", "conv1x1", "maxpool3x3")
EDGES_MORE = 2  # edges that a graph may have more than nodes
_QUANTITIES = {
    "cpu_seconds": "processor seconds",
    "gap": "gap",
    "variables": "variables",
    "constraints": "rows",
}
_COLUMNS = (
    "method", "kernel", "n", "t", "seeds", "status", "cpu s", "clock s", "build s", "gap",
    "variables", "rows", "tree",
)  # fmt: skip
_HOW = (
    "Median over seeds. n nodes, at most n + 2 edges, three operations, t observations; the {top} "
    "best graphs. The gap is that of the worst seed, the status that of most."
)


def _check_optimizers(key: str, names: Sequence[str]) -> None:
    for name in names:
        check_optimizer(key, name)


@dataclass(frozen=True)
class ScaleStudy(Study):
    """Acquisition optimisers on random problems of growing size.

    Args:
        methods: ``scip/compact``, ``scip/paper``, ``gurobi/compact`` or the name of an optimiser.
        nodes: Numbers of nodes.
        observations: Numbers t of observations.
        kernels: Forms of the kernel.
        top: How many best graphs.
        seeds: Seeds of the problems.
        time_limit: Seconds at most for each solve.
        gap: Relative gap that counts as optimal.

    Example:
        >>> study = ScaleStudy(methods=("catalogue",), nodes=(3, 4), observations=(5,), top=1)
        >>> found = [study.execute(run.settings)[0] for run in study.runs()]
        >>> [(record["nodes"], record["status"], record["gap"]) for record in found]
        [(3, 'optimal', 0.0), (4, 'optimal', 0.0)]
    """

    methods: Annotated[Sequence[str], Key(ANY_NAMES.value, _check_optimizers)] = ("scip/compact",)
    nodes: Annotated[Sequence[int], expect_counts(2)] = (5, 6, 7)
    observations: Annotated[Sequence[int], expect_counts(1)] = (50,)
    kernels: Annotated[Sequence[str], expect_names(PAPER_FORMS)] = ("linear",)
    top: Annotated[int, Key(WHOLE, check_positive)] = 5
    seeds: Annotated[Sequence[int], expect_counts(0)] = (0,)
    time_limit: Annotated[float, Key(SECONDS, check_positive)] = 600.0
    gap: Annotated[float, Key(NUMBER, check_positive)] = 1e-4

    kind: ClassVar[str] = "scale"

    def runs(self) -> list[ExperimentRun]:
        """The smallest problems first; every method on a problem before the next one."""
        found = []
        for kernel, n, t, seed, method in product(
            self.kernels, self.nodes, self.observations, self.seeds, self.methods
        ):
            settings = {
                "method": method, "nodes": n, "observations": t, "kernel": kernel, "top": self.top,
                "seed": seed, "time_limit": self.time_limit, "gap": self.gap,
            }  # fmt: skip
            parts = (kernel, f"n{n}", f"t{t}", method, f"seed{seed}")
            found.append(ExperimentRun.from_parts(*parts, settings=settings))
        return found

    @staticmethod
    def execute(settings: Mapping[str, Any]) -> list[Record]:
        """One run: one line, nothing beyond it."""
        n, kernel = settings["nodes"], settings["kernel"]
        space = NodeLabeledSpace(nodes=(n, n), ops=OPERATIONS, max_edges=n + EDGES_MORE)
        problem = random_problem(space, settings["observations"], kernel, seed=settings["seed"])
        limits = {"seconds": settings["time_limit"], "gap": settings["gap"]}
        optimizer = make_timed_optimizer(settings["method"], space, kernel, **limits)
        start = time.process_time()
        pool = optimizer.optimize(problem.acquisition, settings["top"], problem.observed)
        used = time.process_time() - start
        # The last proposal carries the bound on everything outside the pool.
        certificate = pool[-1].certificate if len(pool) else pool.certificate
        answer = getattr(optimizer, "last_", None)
        report = None if answer is None else answer.reports.get(n)
        names = ("method", "nodes", "observations", "kernel", "top", "seed")
        return [
            {
                **{name: settings[name] for name in names},
                "status": str(certificate.status),
                "value": pool.certificate.value,
                "bound": certificate.bound,
                "gap": certificate.gap,
                "seconds": pool.certificate.seconds,
                "cpu_seconds": used,
                "build_seconds": report and report.build_seconds,
                "variables": report and report.variables,
                "constraints": report and report.constraints,
                "tree_nodes": report and report.nodes,
            }
        ]


def make_tables(records: ExperimentRecords) -> list[Table]:
    """One table of everything."""
    title = "Seconds and gap of the acquisition optimisers"
    how = _HOW.format(top=records.declaration["top"])
    return [Table(title, _COLUMNS, _make_rows(records.runs), how=how)]


def _make_rows(runs: Sequence[Record]) -> tuple[tuple[str, ...], ...]:
    """One row for each problem size and method."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    order = sorted(runs, key=lambda r: (r["kernel"], r["nodes"], r["observations"]))
    for run in order:
        key = (run["method"], run["kernel"], run["nodes"], run["observations"])
        groups.setdefault(key, []).append(run)
    return tuple(_make_row(key, found) for key, found in groups.items())


def _make_row(key: tuple[Any, ...], runs: Sequence[Record]) -> tuple[str, ...]:
    statuses = [run["status"] for run in runs]
    gaps = [run["gap"] for run in runs if run["gap"] is not None]
    return (
        *map(str, key),
        str(len(runs)),
        max(set(statuses), key=statuses.count),
        _format_median(runs, "cpu_seconds", ".2f"),
        _format_median(runs, "seconds", ".2f"),
        _format_median(runs, "build_seconds", ".2f"),
        f"{max(gaps):.1e}" if gaps else "–",
        *(_format_median(runs, name, ".0f") for name in ("variables", "constraints", "tree_nodes")),
    )


def _format_median(runs: Sequence[Record], key: str, form: str) -> str:
    values = [run[key] for run in runs if run[key] is not None]
    return f"{median(values):{form}}" if values else "–"


def make_charts(records: ExperimentRecords) -> dict[str, list[Chart]]:
    """The charts under their headings: one for each kernel and number of observations."""
    declared = records.declaration
    return {
        f"The {kernel} kernel, {t} observations": _chart_quantities(records, kernel, t)
        for kernel in declared["kernels"]
        for t in declared["observations"]
    }


def make_panels(records: ExperimentRecords) -> dict[str, Panels]:
    """One figure per kernel, of the first number of observations."""
    caption = (
        "Seconds, gap and size of the model against the number of nodes, median over seeds; "
        "hollow: not proven for every seed."
    )
    t = records.declaration["observations"][0]
    drawn = {}
    for kernel in records.declaration["kernels"]:
        if row := [chart for chart in _chart_quantities(records, kernel, t) if chart.marks]:
            drawn[f"{records.name}-{kernel}"] = Panels([row], caption)
    return drawn


def _chart_quantities(records: ExperimentRecords, kernel: str, t: int) -> list[Chart]:
    own = [r for r in records.runs if (r["kernel"], r["observations"]) == (kernel, t)]
    # Records may be older than the declaration, and have methods that it no longer names.
    found = sorted({str(r["method"]) for r in own})
    methods = list(dict.fromkeys([*records.declaration["methods"], *found]))
    return [_chart_quantity(own, methods, key) for key in _QUANTITIES]


def _chart_quantity(runs: Sequence[Record], methods: Sequence[str], key: str) -> Chart:
    """A quantity against the number of nodes, hollow where not every seed was proven optimal."""
    marks: list[Mark] = []
    for i, method in enumerate(methods):
        own = [r for r in runs if r["method"] == method and r.get(key) is not None]
        sizes = sorted({r["nodes"] for r in own})
        if not sizes:
            continue
        groups = {n: [r for r in own if r["nodes"] == n] for n in sizes}
        middle = {n: float(median([r[key] for r in groups[n]])) for n in sizes}
        proven = [n for n in sizes if all(r["status"] == "optimal" for r in groups[n])]
        hollow = [n for n in sizes if n not in proven]
        series = i % 8 + 1
        marks.append(Line(sizes, list(middle.values()), series, dashed=i >= 8, name=method))
        for shape, kept in (("circle", proven), ("ring", hollow)):
            marks.append(Points(kept, [middle[n] for n in kept], series, shape))
    name = _QUANTITIES[key]
    return Chart(
        f"{name.capitalize()} against the number of nodes",
        "One line for each method, on a logarithmic axis.",
        Axis("nodes", integer=True),
        Axis(name, log=True),
        marks,
        heading=f"{name.capitalize()}.",
        caption="Median over seeds; hollow where not every seed was proven optimal.",
    )
