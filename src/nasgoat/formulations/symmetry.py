"""Symmetry breaking for node-labelled cells: fewer topological orders of one and the same graph.

Give node v the key (label, Σ_{u<v} 2^u A[u, v]). Among the topological orders of a graph take one
with the lexicographically least sequence of keys. If nodes v and v + 1 are not joined there, then
key(v) ≤ key(v + 1): otherwise swapping the two is a topological order again, it leaves the keys
before v and the incoming edges of both as they are, and its sequence is smaller. So the rows below
keep an order of every graph, and every other order may go.
"""

from __future__ import annotations

import numpy as np

from nasgoat.formulations.kernel_encoding import linear_sum
from nasgoat.formulations.tagged_model import TaggedModel
from nasgoat.graphs import LabeledGraph


def symmetry_rows(m: TaggedModel, labels: range) -> None:
    """(symmetry): keys ascend wherever neighbours in the order are not joined by an edge."""
    neighbours = [(v, v + 1) for v in range(1, m.n - 2)]
    ascending = []
    for v, w in neighbours:
        for c in labels[1:]:
            larger = [(1.0, m.F[v, label]) for label in labels if label >= c]
            smaller = [(1.0, m.F[w, label]) for label in labels if label < c]
            row = linear_sum([*larger, *smaller, (-1.0, m.A[v, w])]) <= 1
            ascending.append(((v, c), row))
    m.rows("symmetry", "labels", ascending)
    tied = []
    for v, w in neighbours:
        most = float(2**v - 1)
        first = [(2.0**u, m.A[u, v]) for u in range(v)]
        second = [(-(2.0**u), m.A[u, w]) for u in range(v)]
        for a in labels:
            loose = [(-most, m.A[v, w]), (most, m.F[v, a]), (most, m.F[w, a])]
            tied.append(((v, a), linear_sum([*first, *second, *loose]) <= 2 * most))
    m.rows("symmetry", "edges", tied)


def least_order(graph: LabeledGraph, codes: list[int]) -> LabeledGraph:
    """The topological order with the least sequence of keys, which the rows above keep."""
    prefix: list[tuple[tuple[tuple[int, int], ...], list[int]]] = [((), [])]
    for _ in range(graph.n):
        longer = []
        for keys, order in prefix:
            place = {v: i for i, v in enumerate(order)}
            for v in range(graph.n):
                before = np.flatnonzero(graph.adjacency[:, v]).tolist()
                if v not in place and all(u in place for u in before):
                    key = (codes[v], sum(2 ** place[u] for u in before))
                    longer.append(((*keys, key), [*order, v]))
        least = min(keys for keys, _ in longer)
        prefix = [(keys, order) for keys, order in longer if keys == least]
    return graph.relabeled(prefix[0][1])
