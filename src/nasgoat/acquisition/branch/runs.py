"""One solve, seen from Python: go on, what was found, what is still open."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch import exhaust, search
from nasgoat.acquisition.branch.arrays import Exponential, Tables, new_stack, new_terms
from nasgoat.acquisition.branch.bounds import exponential_roots, linear_roots
from nasgoat.acquisition.branch.shapes import Skeletons
from nasgoat.acquisition.branch.tables import factors_of, tables_of
from nasgoat.kernels import FeatureMap
from nasgoat.spaces import NodeLabeledSpace
from nasgoat.surrogate import Posterior
from nasgoat.surrogate.posterior import ExponentialPosterior, LinearPosterior

#: A subtree is dropped if its bound exceeds the k-th best value by this: rounding in a bound is
#: about 1e-13, so no better graph is lost to it.
MARGIN = 1e-10
_PAUSE = 2_000  # nodes between two looks at the clock, some 20 ms
_LONG_PAUSE = 50_000  # the same where a node takes less
_PATIENCE = 2.0  # seconds of loading compiled code before something is said
Found = tuple[int, NDArray[np.int64], float]  # structure, labels, value


class Run(Protocol):
    """A search that can be continued."""

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        ...

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        ...

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        ...


def new_run(skeletons: Skeletons, posterior: Posterior, sqrt_beta: float) -> Run:
    """A run for either kernel, its root bounds computed."""
    tables, model = tables_of(skeletons.space, posterior, sqrt_beta)
    if isinstance(posterior, ExponentialPosterior):
        return ExponentialRun(skeletons, tables, model, posterior)
    return LinearRun(skeletons, tables)


def warm_up(exponential: bool, progress: Callable[[str], None] | None = None) -> None:
    """Compile, or load, the machine code of one kernel; once in a process."""
    words = "compiling the search: once on a machine, about half a minute"
    timer = threading.Timer(_PATIENCE, progress or print, [words])
    if progress:
        timer.start()
    _load_code(exponential)
    timer.cancel()


@functools.cache
def _load_code(exponential: bool) -> None:
    space = NodeLabeledSpace(4, ["a", "b"])
    width = len(FeatureMap(space).source)
    posterior: Posterior = LinearPosterior(np.zeros(width), np.eye(width))
    if exponential:
        one = np.eye(1)
        posterior = ExponentialPosterior(np.zeros((width, 1)), np.zeros(width), 1.0, one[0], one)
    new_run(Skeletons.of(space), posterior, 1.0).go_on(np.inf)


class LinearRun:
    """Depth-first search with bounds below every structure."""

    def __init__(self, skeletons: Skeletons, tables: Tables) -> None:
        shapes, labels = skeletons.shapes, skeletons.labels
        variables, n = int(shapes.variables.max()), skeletons.space.sizes[-1]
        self.tables, self.shapes = tables, shapes
        self.stack = new_stack(variables, labels, tables.path_vector.shape[-1])
        self.terms = new_terms(variables, labels, n)
        self.roots = np.empty(len(shapes.nodes))
        linear_roots(tables, shapes, self.stack, self.terms, 1, self.roots)
        self.order = np.argsort(self.roots, kind="stable")
        self.labels = np.zeros((max(labels, 1), variables), dtype=np.int64)
        self.values = np.zeros(max(labels, 1))

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return int(self.stack.place[search.NODES])

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        arrays = (self.tables, self.shapes, self.stack, self.terms, self.order, self.roots)
        status, found = search.search(*arrays, best, MARGIN, _PAUSE, self.labels, self.values)
        if status == search.DONE:
            return None
        place = self.stack.place
        s = int(self.order[place[search.POSITION] - (place[search.DEPTH] < 0)]) if found else -1
        return [(s, self.labels[x].copy(), float(self.values[x])) for x in range(found)]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        stack = self.stack
        position, depth = stack.place[search.POSITION], stack.place[search.DEPTH]
        waiting = self.order[position + (depth >= 0) :]
        lowest = float(self.roots[waiting[0]]) if len(waiting) else np.inf
        for t in range(depth + 1):
            if stack.next[t] < stack.order.shape[1]:
                label = stack.order[t, stack.next[t]]
                lowest = min(lowest, float(stack.move_bound[t, stack.variable[t], label]))
        return lowest


class ExponentialRun:
    """Every labelling of every structure whose bound does not rule it out."""

    def __init__(
        self,
        skeletons: Skeletons,
        tables: Tables,
        model: Exponential,
        posterior: ExponentialPosterior,
    ) -> None:
        shapes, labels = skeletons.shapes, skeletons.labels
        variables, n = int(shapes.variables.max()), skeletons.space.sizes[-1]
        self.model, self.shapes, self.count = model, shapes, labels
        stack = new_stack(variables, labels, tables.path_vector.shape[-1])
        self.roots = np.empty(len(shapes.nodes))
        terms = new_terms(variables, labels, n)
        exponential_roots(tables, model, shapes, stack, terms, 1, self.roots)
        self.order = np.argsort(self.roots, kind="stable")
        self.factors = factors_of(skeletons.space, posterior)
        features = FeatureMap(skeletons.space)
        columns = len(features.path_types) + len(features.edge_types)
        self.state = exhaust.new_labelling(variables, labels, len(posterior.dual), columns)

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return int(self.state.place[exhaust.NODES])

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        arrays = (self.factors, self.model, self.shapes, self.state)
        place = self.state.place
        status, value = exhaust.exhaust(
            *arrays, self.count, self.order, self.roots, best, MARGIN, _LONG_PAUSE
        )
        if status == exhaust.DONE:
            return None
        if status == exhaust.PAUSED:
            return []
        s = int(self.order[place[exhaust.POSITION] - (place[exhaust.DEPTH] < 0)])
        return [(s, self.state.labels.copy(), float(value))]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        waiting = self.order[self.state.place[exhaust.POSITION] :]
        return float(self.roots[waiting[0]]) if len(waiting) else np.inf
