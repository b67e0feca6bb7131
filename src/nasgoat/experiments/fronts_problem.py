"""A problem of several objectives or under limits, on a table where every answer is known.

A problem is a text: ``nb201/cifar10+edgegpu: error, latency`` asks for the front of two values,
``nb201/cifar10+edgegpu: error; latency <= 20 %`` for the lowest error where the latency is at most
its 20 % quantile over the space. A limit on a cost that the space knows is known before; every
other limit is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.hypervolume import find_nondominated
from nasgoat.bayesopt.front import hypervolume
from nasgoat.benchmarks import Benchmark, benchmark
from nasgoat.errors import SettingError
from nasgoat.spaces import SearchSpace

#: The kernels of our methods by the endings of their names; without one, the exponential one alone.
#: The default is the first of them where an operation passes its input on, else the second.
KERNEL_ENDINGS = {"-e": "evidence", "-t": "together"}
#: Our own acquisition functions of several values; of one value under limits there is one.
OURS = ("hypervolume-e", "chebyshev", "epsilon", "hypervolume", "hypervolume-t")
CONSTRAINED = "goat"
#: What our search takes by default on the tables of a family, where it is not the first of ours.
_DEFAULTS = {"macro": "hypervolume-t"}
#: Numbers of evaluations at which methods are compared.
MARKS = (50, 100, 160)
_QUANTILE = 0.8  # of each value over the space: the reference point


@dataclass(frozen=True)
class FrontProblem:
    """What is asked of a benchmark, read from a text.

    Example:
        >>> problem = FrontProblem.parse("nb201/cifar10+edgegpu: error; latency <= 20 %")
        >>> problem.benchmark, problem.names, problem.limits
        ('nb201/cifar10+edgegpu', ('error',), (('latency', 20.0),))
    """

    benchmark: str
    names: tuple[str, ...]
    limits: tuple[tuple[str, float], ...] = ()

    @classmethod
    def parse(cls, text: str) -> FrontProblem:
        """The problem that a text says."""
        name, colon, rest = text.partition(":")
        values, _, limits = rest.partition(";")
        names = tuple(part.strip() for part in values.split(",") if part.strip())
        try:
            found = [part.split("<=") for part in limits.split(",") if part.strip()]
            bounds = tuple((what.strip(), float(n.strip(" %"))) for what, n in found)
        except ValueError:
            colon = ""
            bounds = ()
        if not colon or not names:
            raise SettingError(
                f"a problem must be like 'BENCHMARK: error, latency; energy <= 20 %', got {text!r}"
            )
        return cls(name.strip(), names, bounds)

    @property
    def default(self) -> str:
        """Which of our methods the search takes for a front if none is asked for.

        Example:
            >>> FrontProblem.parse("macro/cifar10: error, flops").default
            'hypervolume-t'
        """
        return _DEFAULTS.get(self.benchmark.partition("/")[0], OURS[0])


class Arena:
    """A problem on its table: every graph with its values, the true front, the limits."""

    def __init__(self, text: str) -> None:
        self.problem = FrontProblem.parse(text)
        self.table: Benchmark = benchmark(self.problem.benchmark)
        space = self.table.space
        self.costs = {cost.name for cost in space.costs}
        rng = np.random.default_rng(0)  # tables answer means: nothing is drawn
        graphs = [graph for batch in space.enumerate() for graph in batch]
        rows = [self.table.query(graph, rng) for graph in graphs]
        #: The graphs of which all that is needed can be measured: evaluations of others fail.
        measured = [row for row in rows if self.is_measured(row)]
        self.failing_share = 1.0 - len(measured) / len(rows)
        self.metrics = {name: np.array([row[name] for row in measured]) for name in measured[0]}
        self.bounds = {
            name: float(np.quantile(self.metrics[name], share / 100))
            for name, share in self.problem.limits
        }
        kept = np.ones(len(measured), dtype=bool)
        for name, bound in self.bounds.items():
            kept &= self.metrics[name] <= bound
        self.feasible_share = float(kept.sum() / len(rows))
        self.optimum = float(self.metrics[self.problem.names[0]][kept].min())

    def is_measured(self, metrics: Mapping[str, Any]) -> bool:
        """Whether metrics have everything that is minimised or limited."""
        needed = (*self.problem.names, *(name for name, _ in self.problem.limits))
        return all(name in metrics for name in needed)

    def scale(self, metrics: Mapping[str, Any]) -> NDArray[np.float64]:
        """The values of a problem as columns, the error as its logarithm."""
        columns = {name: np.asarray(metrics[name], dtype=float) for name in self.problem.names}
        logs = [np.log(c) if name == "error" else c for name, c in columns.items()]
        return np.stack(logs, axis=-1)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Every graph that can be measured, on the scale of the hypervolume."""
        return self.scale(self.metrics)

    @cached_property
    def reference(self) -> list[float]:
        """The corner that hypervolumes are measured from: the 80 % quantile of each value."""
        found: list[float] = np.quantile(self.points, _QUANTILE, axis=0).tolist()
        return found

    @cached_property
    def front(self) -> NDArray[np.float64]:
        """The points of the true front, each once."""
        return self.points[find_nondominated(self.points)]

    @cached_property
    def volume(self) -> float:
        """The hypervolume of the true front."""
        return hypervolume(self.front, self.reference)

    def list_limits(self) -> list[str]:
        """The limits as texts."""
        return [f"{name} <= {bound!r}" for name, bound in self.bounds.items()]

    def limit_space(self) -> SearchSpace:
        """The space within the limits that are known before."""
        known = [f"{n} <= {bound!r}" for n, bound in self.bounds.items() if n in self.costs]
        return self.table.space.constrain(*known)

    def keeps(self, metrics: Mapping[str, float], known: bool) -> bool:
        """Whether metrics keep the limits that are known before, or those that are not."""
        return all(
            metrics[name] <= bound
            for name, bound in self.bounds.items()
            if (name in self.costs) == known
        )
