"""Hard limits: linear conditions on how many operations, edges and steps a graph has.

Notation
    N_l   number of nodes with operation l;  E_l number of edges with operation l
    F[u→v, l]  1 if edge u → v has operation l, where nodes are indexed
    n, e  number of nodes and of edges;  D depth: the longest distance from a source to a sink that
          it reaches, by the paper's shortest distances d

    total = Σ node_ops[l] N_l + Σ edge_ops[l] E_l + Σ edge_places[u, v][l] F[u→v, l]
            + nodes · n + edges · e + depth · D + Σ total of each cell's own terms
    the limit holds if total (<=, >= or ==) bound
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import SpaceError
from nasgoat.graphs import GraphBatch

Array = NDArray[np.float64]
Pair = tuple[int, int]
SENSES = ("<=", ">=", "==")
#: A limit as rows ``sign · total <= sign · bound``, by its sense.
SIGNS = {"<=": (1.0,), ">=": (-1.0,), "==": (1.0, -1.0)}
#: A total this close to the bound, relative to the larger of 1 and the bound, is on it: sums of
#: costs such as 0.1 + 0.2 are off by 1e-16, and costs that differ by less say the same.
TOLERANCE = 1e-9
_LONGEST_SUMMARY = 120  # characters


@dataclass(frozen=True)
class Limit:
    """One linear limit, by coefficients.

    Args:
        name: What messages and rows of a mathematical program call it.
        sense: ``"<="``, ``">="`` or ``"=="``.
        bound: The right-hand side.
        node_ops: Coefficient of each operation on nodes; one that is missing has 0.
        edge_ops: Coefficient of each operation on edges.
        nodes: Coefficient of the number of nodes.
        edges: Coefficient of the number of edges.
        depth: Coefficient of the depth.
        edge_places: Coefficients of operations on one edge (u, v) alone, besides ``edge_ops``; for
            spaces that tell their nodes apart.
        cells: Where a graph has several cells, the terms of each, as limits whose sense and bound
            mean nothing; such a limit has no other terms.

    Example:
        >>> limit = Limit("few", "<=", 3, node_ops={"conv3x3": 1, "conv1x1": 1})
        >>> limit.text
        'conv3x3 + conv1x1 <= 3'
        >>> limit.holds(np.array([3.0, 4.0])).tolist()
        [True, False]
    """

    name: str
    sense: str
    bound: float
    node_ops: Mapping[str, float] = field(default_factory=dict, hash=False)
    edge_ops: Mapping[str, float] = field(default_factory=dict, hash=False)
    nodes: float = 0.0
    edges: float = 0.0
    depth: float = 0.0
    edge_places: Mapping[Pair, Mapping[str, float]] = field(default_factory=dict, hash=False)
    cells: Mapping[str, Limit] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        return f"<Limit {self.name!r}: {self.text}>"

    def __post_init__(self) -> None:
        if self.sense not in SENSES:
            raise SpaceError(f"a limit's sense must be <=, >= or ==, got {self.sense!r}")
        for place in ("node_ops", "edge_ops", "cells"):
            object.__setattr__(self, place, MappingProxyType(dict(getattr(self, place))))
        placed = {pair: MappingProxyType(dict(ops)) for pair, ops in self.edge_places.items()}
        object.__setattr__(self, "edge_places", MappingProxyType(placed))
        numbers = [self.bound, *self._list_coefficients().values()]
        if not all(math.isfinite(number) for number in numbers):
            raise SpaceError(f"a limit must have finite numbers, got {self.text!r}")

    @property
    def text(self) -> str:
        """The limit as text that can be read again."""
        terms = [_write_term(c, name) for name, c in self._list_coefficients().items() if c]
        left = " ".join(terms).removeprefix("+ ") or "0"
        return f"{left} {self.sense} {_write_number(self.bound)}"

    @property
    def summary(self) -> str:
        """The limit as text; where that is long, as with costs by layer, only its name and bound.

        Example:
            >>> costs = {(i, i + 1): {"conv": 1.5 + i, "pool": 0.25} for i in range(9)}
            >>> Limit("latency", "<=", 12, edge_places=costs).summary
            'latency: ... <= 12'
        """
        if len(self.text) <= _LONGEST_SUMMARY:
            return self.text
        start = f"{self.name}:" if self.name != self.text else self.text[:40]
        return f"{start} ... {self.sense} {_write_number(self.bound)}"

    def node_coefficients(self, vocabulary: Sequence[str]) -> Array:
        """Coefficient of each node label, in code order."""
        return np.array([self.node_ops.get(label, 0.0) for label in vocabulary], dtype=float)

    def edge_coefficients(self, vocabulary: Sequence[str]) -> Array:
        """Coefficient of each edge label, in code order."""
        return np.array([self.edge_ops.get(label, 0.0) for label in vocabulary], dtype=float)

    def edge_cost(self, u: int, v: int, vocabulary: Sequence[str]) -> Array:
        """Coefficient of each label on the edge from u to v, in code order.

        Example:
            >>> limit = Limit("slow", "<=", 3, edge_ops={"a": 1}, edge_places={(0, 1): {"a": 0.5}})
            >>> limit.edge_cost(0, 1, ["a", "b"]).tolist(), limit.edge_cost(1, 2, ["a"]).tolist()
            ([1.5, 0.0], [1.0])
        """
        here = self.edge_places.get((u, v), {})
        on_this = np.array([here.get(label, 0.0) for label in vocabulary], dtype=float)
        return np.asarray(self.edge_coefficients(vocabulary) + on_this)

    def holds(self, totals: Array | float) -> NDArray[np.bool_]:
        """Whether totals satisfy the limit, rounding allowed for."""
        return np.asarray(self.excess(totals) <= TOLERANCE * max(1.0, abs(self.bound)))

    def excess(self, totals: Array | float) -> Array:
        """How far totals are beyond the bound; 0 or less if they satisfy the limit."""
        over = np.asarray(totals, dtype=float) - self.bound
        if self.sense == "<=":
            return np.asarray(over)
        return np.asarray(-over if self.sense == ">=" else np.abs(over))

    def to_dict(self) -> dict[str, str]:
        """The limit as plain values."""
        return {"name": self.name, "limit": self.text}

    def __reduce__(self) -> tuple[Any, ...]:
        ops = (dict(self.node_ops), dict(self.edge_ops))
        numbers = (self.nodes, self.edges, self.depth)
        placed = {pair: dict(table) for pair, table in self.edge_places.items()}
        named = (self.name, self.sense, self.bound)
        return Limit, (*named, *ops, *numbers, placed, dict(self.cells))

    def _list_coefficients(self) -> dict[str, float]:
        both = set(self.node_ops) & set(self.edge_ops)
        found = {("node:" if op in both else "") + quote(op): c for op, c in self.node_ops.items()}
        found |= {("edge:" if op in both else "") + quote(op): c for op, c in self.edge_ops.items()}
        for (u, v), table in self.edge_places.items():
            found |= {f"{quote(op)}[{u}>{v}]": c for op, c in table.items()}
        found |= {"nodes": self.nodes, "edges": self.edges, "depth": self.depth}
        for cell, terms in self.cells.items():
            found |= {f"{cell}.{what}": c for what, c in terms._list_coefficients().items()}
        return found


def measure_depths(
    batch: GraphBatch, sources: NDArray[np.bool_], sinks: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """The longest distance from a source to a sink that it reaches; 0 if there is none.

    Args:
        batch: The graphs.
        sources: Which nodes are sources, shape (B, n).
        sinks: Which nodes are sinks, shape (B, n).
    """
    d = batch.distances.astype(np.intp)
    reached = sources[:, :, None] & sinks[:, None, :] & (d < batch.n)
    longest: NDArray[np.intp] = np.where(reached, d, 0).max(axis=(1, 2), initial=0)
    return longest


def add_up_terms(
    limits: Sequence[Limit], batch: GraphBatch, depth: NDArray[np.intp] | None
) -> NDArray[np.float64]:
    """The total of each limit on each graph, shape (limits, B); ``depth`` only if one needs it."""
    found = np.zeros((len(limits), len(batch)))
    node_counts = _count_labels(batch.node_codes, len(batch.node_vocabulary))
    edge_codes = batch.edge_codes
    if edge_codes is not None and not batch.directed:
        edge_codes = np.where(np.triu(np.ones((batch.n, batch.n), dtype=bool)), edge_codes, -1)
    edge_counts = _count_labels(edge_codes, len(batch.edge_vocabulary))
    for total, limit in zip(found, limits, strict=True):
        total += limit.nodes * batch.sizes + limit.edges * batch.edge_counts
        if node_counts is not None:
            total += node_counts @ limit.node_coefficients(batch.node_vocabulary)
        if edge_counts is not None:
            total += edge_counts @ limit.edge_coefficients(batch.edge_vocabulary)
        if depth is not None:
            total += limit.depth * depth
        for (u, v), table in limit.edge_places.items():
            if edge_codes is not None and max(u, v) < batch.n:
                costs = [table.get(label, 0.0) for label in batch.edge_vocabulary]
                total += np.array([*costs, 0.0])[edge_codes[:, u, v]]  # code -1: no edge
    return found


class EdgeRow(NamedTuple):
    """A linear row over edges: Σ terms[u, v] A[u, v] (<=, >= or ==) bound.

    ``tag``, ``name`` and ``key`` are what the row is called in an exported program.
    """

    tag: str
    name: str
    key: tuple[int, ...]
    terms: Mapping[Pair, float]
    sense: str
    bound: float


def quote(name: str) -> str:
    """A name as it stands in the text of a limit: in quotes unless it is a plain word.

    Example:
        >>> quote("conv3x3"), quote("edges"), quote("max pool")
        ('conv3x3', "'edges'", "'max pool'")
    """
    plain = name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain and name not in ("nodes", "edges", "depth", "sum") else f"'{name}'"


def _count_labels(codes: NDArray[np.int8] | None, labels: int) -> NDArray[np.intp] | None:
    if codes is None:
        return None
    flat = codes.reshape(len(codes), -1)
    return np.stack([(flat == label).sum(axis=1) for label in range(labels)], axis=1)


def name_uniquely(limits: Sequence[Limit]) -> tuple[Limit, ...]:
    """The limits, each once; one whose name is taken gets a number behind it.

    Example:
        >>> first, second = Limit("a", "<=", 1, nodes=1.0), Limit("a", "<=", 2, nodes=1.0)
        >>> [limit.name for limit in name_uniquely([first, second, first])]
        ['a', 'a (2)']
    """
    found: dict[str, Limit] = {}
    for limit in limits:
        name, number = limit.name, 1
        while name in found and replace(found[name], name=limit.name) != limit:
            number += 1
            name = f"{limit.name} ({number})"
        found.setdefault(name, replace(limit, name=name))
    return tuple(found.values())


def _write_number(value: float) -> str:
    short = f"{value:.15g}"
    return short if float(short) == value else repr(float(value))


def _write_term(coefficient: float, name: str) -> str:
    sign = "-" if coefficient < 0 else "+"
    size = abs(coefficient)
    return f"{sign} {name}" if size == 1 else f"{sign} {_write_number(size)}*{name}"
