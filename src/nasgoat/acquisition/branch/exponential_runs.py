"""The search under the exponential kernel, seen from Python: every labelling, dismissed early."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from nasgoat.acquisition.branch import exhaust
from nasgoat.acquisition.branch.arrays import Floats, Integers, Limits
from nasgoat.acquisition.branch.runs import MARGIN, Found
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.threads import mapped

_PAUSE = 50_000  # nodes between two looks at the clock, some 20 ms


@dataclass
class _Worker:
    """The state of one thread."""

    state: exhaust.Labelling
    order: Integers
    done: bool = False


class ExponentialRun:
    """Every labelling of every structure whose bound does not rule it out.

    Args:
        block: The structures.
        factors, model, limits: What the posterior and the space say about them.
        roots: A lower bound of each structure.
        pool: Threads to share the work, or None.
        threads: How many.
    """

    def __init__(
        self,
        block: Block,
        factors: exhaust.Factors,
        model: exhaust.Model,
        limits: Limits,
        roots: Floats,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        self._arrays = (factors, model, block.shapes, limits)
        self.block = block
        self._labels, self._pool, self.roots = block.labels, pool, roots
        order = np.argsort(roots, kind="stable")
        variables = max(int(block.shapes.variables.max()), 1)
        sizes = (variables, block.labels, len(model.dual), factors.square.shape[1])
        self._workers = [
            _Worker(exhaust.new_labelling(*sizes, limits), order[j::threads].copy())
            for j in range(threads)
        ]

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""
        return sum(int(worker.state.place[exhaust.NODES]) for worker in self._workers)

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        working = [worker for worker in self._workers if not worker.done]
        if not working:
            return None
        answers = mapped(self._pool, lambda worker: self._step(worker, best), working)
        return [found for answer in answers for found in answer]

    def _step(self, worker: _Worker, best: float) -> list[Found]:
        place = worker.state.place
        mine = (worker.state, self._labels, worker.order, self.roots)
        status, value = exhaust.exhaust(*self._arrays, *mine, best, MARGIN, _PAUSE)
        worker.done = status == exhaust.DONE
        if status != exhaust.FOUND:
            return []
        s = int(worker.order[place[exhaust.POSITION] - (place[exhaust.DEPTH] < 0)])
        return [(s, worker.state.labels.copy(), float(value))]

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        waiting = [worker.order[worker.state.place[exhaust.POSITION] :] for worker in self._workers]
        return min((float(self.roots[rows[0]]) for rows in waiting if len(rows)), default=np.inf)
