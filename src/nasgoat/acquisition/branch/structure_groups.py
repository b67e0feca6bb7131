"""Structures of one size in groups, and what their reference graphs consist of.

Notation (docs/branch-and-bound.md, "All structures in step")
    S, V  structures of one size, and their variables
    F     features of the reference graphs, whose labels are all "*": pairs of nodes, and edges
    h     (S, F) how often a structure has each of them
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import Integers, Shapes

_CHUNK = 8_192  # structures between two looks at the clock, some 10 ms


class Group(NamedTuple):
    """Structures of one size and number of variables: what their space alone says."""

    rows: Integers  # (S,) places among the shapes
    size: int  # place of the number of nodes among the sizes of the space
    feature: Integers  # (F,) flat places of the features in the tables of paths, then of edges
    times: NDArray[np.int8]  # (S, F) h
    apart: NDArray[np.int8]  # (S, V, V) distance from variable i to j, 0 if none
    pairs: NDArray[np.int8]  # (S, n - 1) pairs of variables at distance 1, 2, ...

    def take(self, places: Integers) -> Group:
        """Some of the structures."""
        return self._replace(
            rows=self.rows[places],
            times=self.times[places],
            apart=self.apart[places],
            pairs=self.pairs[places],
        )


def group_structures(shapes: Shapes, labels: int) -> list[Group]:
    """Structures in chunks of equal size and number of variables."""
    alike = np.stack([shapes.size, shapes.variables], axis=1)
    found = []
    for size, variables in np.unique(alike, axis=0).tolist():
        rows = np.flatnonzero((alike == (size, variables)).all(axis=1))
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        found += [make_group(shapes, labels, chunk) for chunk in chunks]
    return found


def make_group(shapes: Shapes, labels: int, rows: Integers) -> Group:
    """The group of these structures, which have one size and number of variables."""
    size, variables = int(shapes.size[rows[0]]), int(shapes.variables[rows[0]])
    n, widest = int(shapes.nodes[rows[0]]), shapes.distance.shape[1]
    distance = shapes.distance[rows, :n, :n].astype(np.int64)
    edges = shapes.ends.shape[1] > 0
    codes, code = (widest, np.arange(n)) if edges else (labels + 3, np.full(n, labels + 2))
    if not edges:
        code[0], code[-1] = 0, labels + 1
    place = (distance * codes + code[:, None]) * codes + code
    shape, u, v = np.nonzero((distance > 0) | np.eye(n, dtype=bool))
    flat = place[shape, u, v]
    if edges:
        ends = shapes.ends[rows, :variables].astype(np.int64)
        flat = np.append(flat, widest * codes**2 + (ends[..., 0] * widest + ends[..., 1]).ravel())
        shape = np.append(shape, np.repeat(np.arange(len(rows)), variables))
    feature, column = np.unique(flat, return_inverse=True)
    total = np.bincount(shape * len(feature) + column.ravel(), minlength=len(rows) * len(feature))
    apart = np.zeros((len(rows), variables, variables), dtype=np.int8)
    if not edges:
        apart[:] = shapes.distance[rows, 1 : n - 1, 1 : n - 1]
    first, second = np.triu_indices(variables, 1)
    pairs = (apart[:, first, second][:, :, None] == np.arange(1, widest)).sum(axis=1)
    return Group(
        rows=rows,
        size=size,
        feature=feature,
        times=total.reshape(len(rows), -1).astype(np.int8),
        apart=apart,
        pairs=pairs.astype(np.int8),
    )
