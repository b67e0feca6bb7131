"""Products of halves, structure after structure: the search of edge-labelled spaces from Python."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Limits
from nasgoat.acquisition.branch.exhaust import Factors, Model
from nasgoat.acquisition.branch.halves import Half, Structure
from nasgoat.acquisition.branch.runs import MARGIN, Found
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.threads import mapped


class HalvesRun:
    """Structure after structure, in the order of their bounds, by one or more threads.

    Args:
        block: Structures with labels on their edges.
        factors, model, limits: What the posterior and the space say about them.
        roots: A lower bound of each structure.
        pool: Threads to share the work, or None.
        threads: How many.
    """

    def __init__(
        self,
        block: Block,
        factors: Factors,
        model: Model,
        limits: Limits,
        roots: Floats,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        self.block, self.factors, self.model, self.limits = block, factors, model, limits
        self.roots, self.order = roots, np.argsort(roots, kind="stable").tolist()
        self._pool = pool
        self._working: list[Structure | None] = [None] * threads
        self._next = 0
        self.nodes = 0

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""
        for at, structure in enumerate(self._working):
            if structure is None and self._next < len(self.order):
                s = self.order[self._next]
                self._next = self._next + 1 if self.roots[s] < best + MARGIN else len(self.order)
                if self.roots[s] < best + MARGIN:
                    self._working[at] = self._structure(s)
        places = [at for at, structure in enumerate(self._working) if structure is not None]
        if not places:
            return None
        working = [s for s in self._working if s is not None]
        answers = mapped(self._pool, lambda structure: structure.go_on(best), working)
        for at, structure, answer in zip(places, working, answers, strict=True):
            if answer is None:
                self._working[at] = None
                self.nodes += len(structure.left.prior) * len(structure.right.prior)
        return [found for answer in answers for found in answer or ()]

    def _structure(self, s: int) -> Structure:
        shapes, limits = self.block.shapes, self.limits
        total = int(shapes.variables[s])
        base, prior = self._fixed(s)
        left = self._half(s, range(total // 2))
        right = self._half(s, range(total // 2, total))
        left = Half(left.kernel * base, left.prior * prior, left.labels)
        room = limits.cap - limits.shape[:, s] + 1e-9
        return Structure(s, self.model, left, right, room, limits.state, seed=s)

    def _fixed(self, s: int) -> tuple[Floats, float]:
        """Kernel vector and prior variance of the paths alone."""
        shapes, factors, size = self.block.shapes, self.factors, self.block.shapes.size[s]
        n, distance = int(shapes.nodes[s]), shapes.distance[s]
        kernel, square = np.full(len(self.model.dual), self.model.settings[0]), 0.0
        for u in range(n):
            for v in range(u, n):
                if u == v or distance[u, v] > 0:
                    kernel *= factors.path[size, distance[u, v], u, v]
                    square += factors.square[size, factors.path_column[distance[u, v], u, v]]
        return kernel, float(self.model.settings[0] * np.exp(square))

    def _half(self, s: int, edges: range) -> Half:
        factors, size = self.factors, self.block.shapes.size[s]
        kernel, prior = np.ones((1, len(self.model.dual))), np.ones(1)
        labels = np.zeros((1, 0), dtype=np.int64)
        count = self.block.labels
        for i in edges:
            u, v = self.block.shapes.ends[s, i]
            squares = np.exp(factors.square[size, factors.edge_column[u, v]])
            kernel = (kernel[:, None] * factors.edge[u, v]).reshape(-1, kernel.shape[1])
            prior = np.multiply.outer(prior, squares).ravel()
            each = np.tile(np.arange(count), len(labels))[:, None]
            labels = np.hstack([np.repeat(labels, count, axis=0), each])
        return Half(kernel, prior, labels)

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""
        left = self.order[self._next :][:1] + [s.shape for s in self._working if s is not None]
        return min((float(self.roots[s]) for s in left), default=np.inf)
