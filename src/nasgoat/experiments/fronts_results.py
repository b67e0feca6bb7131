"""What the runs of a comparison of fronts say together: tables, charts, and aims met or not.

Notation
    HV     hypervolume relative to that of the true front;  share  of the true front's points found
    mean ± one standard error over seeds
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from nasgoat.experiments import Table
from nasgoat.experiments.compare_tables import (
    format_arrival,
    format_share,
    group_by_method,
    measure_deviation,
)
from nasgoat.experiments.fronts_problem import CONSTRAINED, MARKS, OURS, FrontProblem
from nasgoat.experiments.records import ExperimentRecords, expand_steps
from nasgoat.experiments.study import Record
from nasgoat.figures.charts import Axis, Band, Chart, Line, Mark, Panels

Array = NDArray[np.float64]
_VOLUME, _SHARE = 1, 2  # columns of a step
#: What the hypervolume should be after this many evaluations where the front is large.
AIMS = {100: 0.97, 160: 0.99}
LARGE_FRONT = 10
_LEADING = 1  # series of the method that a chart is about
_OTHERS = (0, 2, 3, 4, 5, 8)  # series of those beside it
_AGAINST_OTHERS = "Hypervolume against evaluations"
_AMONG_OURS = "Hypervolume against evaluations, our methods"
_HOW = (
    "HV: hypervolume of (log error, other value) relative to the true front's, the reference point "
    "at the 80 % quantiles of the space; share: of the true front's points found; mean over seeds "
    "± one standard error. Seconds are processor time of a whole run."
)
_HOW_LIMITS = (
    "Evaluations to the lowest error that keeps every limit: median, a run that never gets there "
    "counts as later than any that does. Infeasible: evaluations after the initial design that "
    "break a limit which is known only once a graph is measured. Broken: evaluations, of all, that "
    "break a limit which is known before. Means over seeds."
)


@dataclass(frozen=True)
class FrontContest:
    """All methods on one problem: their runs, in the order of the declaration."""

    text: str
    runs: dict[str, list[Record]]

    @property
    def problem(self) -> FrontProblem:
        """What was asked."""
        return FrontProblem.parse(self.text)

    @property
    def several(self) -> bool:
        """Whether the answer is a front."""
        return len(self.problem.names) > 1

    def list_values_at(self, method: str, number: int, column: int = _VOLUME) -> list[float]:
        """A value of each run of a method after this many evaluations."""
        return [float(expand(run, column)[number - 1]) for run in self.runs[method]]

    def list_marks(self) -> list[int]:
        """The numbers of evaluations at which methods are compared."""
        least = min(run["evaluations"] for runs in self.runs.values() for run in runs)
        return [mark for mark in MARKS if mark <= least] or [least]


def expand(run: Record, column: int) -> Array:
    """A value after each evaluation of a run."""
    found = expand_steps(run, column)
    return np.zeros(run["evaluations"]) if found is None else found


def list_contests(records: ExperimentRecords) -> list[FrontContest]:
    """What was run on each problem, in the order of the declaration."""
    found = []
    for text in records.declaration["problems"]:
        own = [run for run in records.runs if run["problem"] == text]
        if by_method := group_by_method(own, records.declaration["methods"]):
            found.append(FrontContest(text, by_method))
    return found


def make_tables(records: ExperimentRecords) -> list[Table]:
    """Hypervolumes of all problems and whether the aims are met, then each problem by itself."""
    found = list_contests(records)
    fronts = [contest for contest in found if contest.several]
    tables = [_make_overview(fronts), _make_aims(fronts)] if fronts else []
    tables += [_make_table(contest) for contest in fronts]
    return [*tables, *(_make_limits_table(c) for c in found if not c.several)]


def _make_overview(fronts: Sequence[FrontContest]) -> Table:
    methods = list(dict.fromkeys(name for contest in fronts for name in contest.runs))
    rows = []
    for contest in fronts:
        marks = contest.list_marks()
        means = {
            name: [fmean(contest.list_values_at(name, mark)) for mark in marks]
            for name in contest.runs
        }
        best = [max(values[i] for values in means.values()) for i in range(len(marks))]
        cells = [
            " / ".join(
                f"**{value:.3f}**" if value == top else f"{value:.3f}"
                for value, top in zip(means[name], best, strict=True)
            )
            if name in means
            else "–"
            for name in methods
        ]
        rows.append((_name(contest), str(_count_front(contest)), *cells))
    numbers = " / ".join(map(str, fronts[0].list_marks()))
    title = f"Mean relative hypervolume after {numbers} evaluations"
    seeds = sorted({len(runs) for contest in fronts for runs in contest.runs.values()})
    said = f"Seeds: {seeds[0]}" + (f" to {seeds[-1]}" if len(seeds) > 1 else "") + "."
    return Table(title, ("problem", "front", *methods), tuple(rows), (said,), _HOW)


def _make_aims(fronts: Sequence[FrontContest]) -> Table:
    """Whether our best method is ahead of every other, and as far as was aimed at."""
    rows = []
    for contest in fronts:
        ours = [name for name in contest.runs if name in OURS]
        others = [name for name in contest.runs if name not in OURS]
        cells = []
        for mark in contest.list_marks():
            if not ours or not others:
                cells.append("–")
                continue
            best = max(ours, key=lambda name: fmean(contest.list_values_at(name, mark)))
            rival = max(others, key=lambda name: fmean(contest.list_values_at(name, mark)))
            value, other = (fmean(contest.list_values_at(name, mark)) for name in (best, rival))
            said = f"{'yes' if value > other else 'no'}: {best} {value:.3f}, {rival} {other:.3f}"
            if mark in AIMS and _count_front(contest) >= LARGE_FRONT:
                met = "met" if value >= AIMS[mark] else "not met"
                said += f"; {AIMS[mark]} {met}"
            cells.append(said)
        rows.append((_name(contest), str(_count_front(contest)), *cells))
    columns = ("problem", "front", *(f"best at {mark}" for mark in fronts[0].list_marks()))
    how = (
        "Whether the best of our methods has a larger mean hypervolume than the best of the others "
        f"and, where the true front has at least {LARGE_FRONT} points, whether it reaches "
        + " and ".join(f"{value} at {mark}" for mark, value in AIMS.items())
        + "."
    )
    return Table("Aims, met or not", columns, tuple(rows), (), how)


def _make_table(contest: FrontContest) -> Table:
    marks = contest.list_marks()
    columns = ("method", "seeds", *(f"HV {m}" for m in marks), *(f"share {m}" for m in marks), "s")
    rows = []
    for name, runs in contest.runs.items():
        volumes = [_format_mean(contest.list_values_at(name, mark)) for mark in marks]
        shares = [f"{fmean(contest.list_values_at(name, mark, _SHARE)):.2f}" for mark in marks]
        seconds = f"{fmean(run['cpu_seconds'] for run in runs):.1f}"
        rows.append((name, str(len(runs)), *volumes, *shares, seconds))
    title = f"{_name(contest)}: a true front of {_count_front(contest)} points"
    return Table(title, columns, tuple(rows), (), _HOW)


def _make_limits_table(contest: FrontContest) -> Table:
    columns = ("method", "seeds", "at the optimum", "evaluations to it", "infeasible", "broken")
    rows = []
    for name, runs in contest.runs.items():
        means = (fmean(run[key] for run in runs) for key in ("wasted", "broken_known"))
        arrived = format_share(runs), format_arrival(runs)
        rows.append((name, str(len(runs)), *arrived, *(f"{mean:.1f}" for mean in means)))
    some = next(iter(contest.runs.values()))[0]
    title = f"{contest.text}: {100 * some['feasible']:.0f} % of the space, optimum "
    return Table(f"{title}{some['optimum']:.3f}", columns, tuple(rows), (), _HOW_LIMITS)


def _format_mean(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ± {measure_deviation(values) / len(values) ** 0.5:.3f}"


def _name(contest: FrontContest) -> str:
    return f"{contest.problem.benchmark}: {', '.join(contest.problem.names)}"


def _count_front(contest: FrontContest) -> int:
    return int(next(iter(contest.runs.values()))[0]["front"])


def make_charts(records: ExperimentRecords) -> dict[str, list[Chart]]:
    """Hypervolume against evaluations, problem by problem.

    First our default and the methods of others; then all of ours, where several were run.
    """
    fronts = [contest for contest in list_contests(records) if contest.several]
    others = [m for m in records.declaration["methods"] if m not in (*OURS, CONSTRAINED)]
    first = int(records.declaration["initial"])
    found = {_AGAINST_OTHERS: [_chart(contest, others, first) for contest in fronts]}
    contested = [contest for contest in fronts if sum(name in OURS for name in contest.runs) > 1]
    if contested:
        found[_AMONG_OURS] = [_chart(contest, OURS, first) for contest in contested]
    return found


def make_panels(records: ExperimentRecords) -> dict[str, Panels]:
    """One figure of all problems: our default and the methods of others."""
    fronts = [contest for contest in list_contests(records) if contest.several]
    if not fronts:
        return {}
    charts = make_charts(records)[_AGAINST_OTHERS]
    rows = [charts[i : i + 3] for i in range(0, len(charts), 3)]
    lines = [mark for chart in charts for mark in chart.marks if isinstance(mark, Line)]
    return {f"{records.name}-hypervolume": Panels(rows, _describe_lines(fronts, lines))}


def _find_leading(contest: FrontContest) -> str | None:
    """The method of ours that is the default, or the first that was run; None without any."""
    ours = [name for name in (contest.problem.default, *OURS) if name in contest.runs]
    return ours[0] if ours else None


def _chart(contest: FrontContest, beside: Sequence[str], first: int) -> Chart:
    """The missing hypervolume of our default and of the methods beside it, from ``first`` on."""
    leading, bands, lines = _find_leading(contest), list[Mark](), list[Line]()
    for name in [n for n in contest.runs if n == leading or n in beside]:
        bold = name == leading
        lost = 1.0 - np.array([expand(run, _VOLUME)[first - 1 :] for run in contest.runs[name]])
        x = [float(first + i) for i in range(lost.shape[1])]
        series = _LEADING if bold else _OTHERS[[*beside].index(name) % len(_OTHERS)]
        if bold and len(lost) > 1:
            low, high = np.quantile(lost, [0.25, 0.75], axis=0)
            bands.append(Band(x, low.tolist(), high.tolist(), series, steps=True))
        middle = lost.mean(axis=0).tolist()
        lines.append(Line(x, middle, series, steps=True, name=name, bold=bold))
    end = contest.list_marks()[-1]
    ends = {line.name: fmean(contest.list_values_at(line.name, end)) for line in lines}
    best = max(ends, key=lambda name: ends[name])
    return Chart(
        f"{_name(contest)}: missing hypervolume against evaluations",
        f"Largest hypervolume at the end: {best}, {ends[best]:.3f}.",
        Axis("evaluation", integer=True),
        Axis("missing hypervolume", log=True),
        [*bands, *sorted(lines, key=lambda line: line.bold)],  # nothing lies over a bold line
        heading=contest.problem.benchmark,
        caption=_describe_lines([contest], lines),
        note=f"front of {_count_front(contest)}",
        height=260.0,
        direct=True,
    )


def _describe_lines(contests: Sequence[FrontContest], lines: Iterable[Line]) -> str:
    """What lines are, and the band around the bold ones."""
    named = {line.name: line.bold for line in lines}
    seeds = [len(runs) for c in contests for name, runs in c.runs.items() if name in named]
    leading = " or ".join(name for name, bold in named.items() if bold)
    said = f"; the band holds the middle half of the runs of {leading}" if leading else ""
    return (
        "Share of the true front's hypervolume that is still missing, mean over "
        f"{median(seeds):.0f} seeds{said}."
    )
