"""Profiles: how many pairs of nodes are how far apart, over all structures of a size.

Notation (node-labelled cells with n nodes; s from 1 to n - 2)
    family 0, 1, 2   pairs (source, v), pairs (v, sink), pairs (u, v) of inner nodes u < v
    T[f, s]          number of pairs of family f at distance s
    W[f, i]          1 if family f has its i-th profile (T[f, 1], T[f, 2], ...)

The profiles, and which of two families occur together, are read off the list of all structures up
to isomorphism: T does not depend on the order of nodes. So every cell has one profile of each
family, and the rows below hold for every cell. They only tighten the relaxation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from nasgoat.formulations.layers import express_distance
from nasgoat.formulations.tagged_model import TaggedModel, Terms, sum_linearly
from nasgoat.graphs.shortest_paths import find_distances
from nasgoat.spaces.structures import list_acyclic_structures

IntArray = NDArray[np.int_]
SOURCE, SINK, INNER = range(3)
_LARGEST = 9  # nodes up to which listing structures is cheap beside a solve
_SPARE = 3  # edges beyond the number of nodes up to which it is


@dataclass(frozen=True, eq=False)
class Profiles:
    """Profiles of the structures with n nodes and a limited number of edges.

    Args:
        values: For each family the distinct profiles, shape (profiles, n - 2).
        together: For two families f, g: [i, j] says whether some structure has both.
        ends: For each family: [i, s - 1] says whether source and sink can be s apart.
        crossing: [s - 1]: the largest P[s, a, b] with a ≠ b that any labels give.
        places: For each family the profile of every structure.
    """

    values: tuple[IntArray, ...]
    together: dict[tuple[int, int], NDArray[np.bool_]]
    ends: tuple[NDArray[np.bool_], ...]
    crossing: tuple[int, ...]
    places: tuple[IntArray, ...]

    def find_most(self, family: int, s: int) -> int:
        """The largest T[f, s]."""
        return int(self.values[family][:, s - 1].max()) if s <= self.values[family].shape[1] else 0

    def find_most_among(self, structures: IntArray) -> IntArray:
        """The largest T[f, s] of some structures, (3, n - 2)."""
        each = zip(self.values, self.places, strict=True)
        return np.array([values[place[structures]].max(axis=0) for values, place in each])

    def find_most_crossing(self, s: int) -> int:
        """The largest P[s, a, b] with a ≠ b; a space of larger cells also asks for larger s."""
        return self.crossing[s - 1] if s <= len(self.crossing) else 0


@lru_cache(maxsize=32)
def list_structure_profiles(n: int, edges: int) -> Profiles | None:
    """The profiles of all structures, or None where there are too many (or too few) to list.

    Example:
        >>> profiles = list_structure_profiles(4, 6)
        >>> profiles.values[SOURCE].tolist()  # two inner nodes: a chain, or both after the source
        [[1, 1], [2, 0]]
    """
    if n < 4 or (n > 5 and (n > _LARGEST or edges > n + _SPARE)):
        return None
    return make_profiles(find_distances(list_acyclic_structures(n, edges).adjacency))


def make_profiles(d: NDArray[np.uint8]) -> Profiles:
    """The profiles of structures with these distances, shape (S, n, n), n at least 4."""
    n = d.shape[1]
    steps = range(1, n - 1)
    pairs = (d[:, 0, 1:-1], d[:, 1:-1, -1], d[:, 1:-1, 1:-1].reshape(len(d), -1))
    found = [
        np.unique(np.stack([(p == s).sum(axis=1) for s in steps], 1), axis=0, return_inverse=True)
        for p in pairs
    ]
    places = [inverse.ravel() for _, inverse in found]
    together = {}
    for f, g in permutations(range(3), 2):
        both = np.zeros((len(found[f][0]), len(found[g][0])), dtype=bool)
        both[places[f], places[g]] = True
        together[f, g] = both
    ends = []
    for (values, _), place in zip(found, places, strict=True):
        apart = np.zeros((len(values), n - 1), dtype=bool)
        apart[place, d[:, 0, -1] - 1] = True
        ends.append(apart)
    inner = np.unique(d[:, 1:-1, 1:-1], axis=0)
    crossing = tuple(_count_crossing(inner == s) for s in steps)
    distinct = tuple(values for values, _ in found)
    return Profiles(
        values=distinct,
        together=together,
        ends=tuple(ends),
        crossing=crossing,
        places=tuple(places),
    )


def _count_crossing(apart: NDArray[np.bool_]) -> int:
    """The most pairs, over structures and sets of nodes, that lead out of the set."""
    size = apart.shape[1]
    most = 0
    for chosen in range(1, 2**size - 1):
        tail = np.array([chosen >> v & 1 for v in range(size)], dtype=bool)
        most = max(most, int(apart[:, tail][:, :, ~tail].sum(axis=(1, 2)).max(initial=0)))
    return most


def find_family(a: int, b: int, last: int) -> int:
    """The family of pairs with labels a and b, 0 being the source's and ``last`` the sink's."""
    return SOURCE if a == 0 else SINK if b == last else INNER


def list_pairs(family: int, n: int) -> list[tuple[int, int]]:
    """The pairs of nodes of a family.

    Example:
        >>> list_pairs(SOURCE, 4), list_pairs(INNER, 4)
        ([(0, 1), (0, 2)], [(1, 2)])
    """
    inner = range(1, n - 1)
    if family == INNER:
        return [(u, v) for u in inner for v in inner if u < v]
    return [(0, v) if family == SOURCE else (v, n - 1) for v in inner]


def add_profile_variables(m: TaggedModel, profiles: Profiles) -> None:
    """(profiles) W: one profile of each family, Σ_i W[f, i] = 1."""
    n, families = m.n, range(3)
    keys = [(f, i) for f in families for i in range(len(profiles.values[f]))]

    def meaning(g: Any, f: int, i: int) -> float:
        pairs = list_pairs(f, n)
        return float(
            all(
                sum(g.d[u, v] == s for u, v in pairs) == count
                for s, count in enumerate(profiles.values[f][i], 1)
            )
        )

    W = m.add_variable("W", keys, pyo.Binary, meaning)
    m.add_rows("profiles", "one", [((f,), _sum(W, f, profiles) == 1) for f in families])


def add_profile_rows(m: TaggedModel, profiles: Profiles) -> None:
    """(profiles): Σ_i T_i[f, s] W[f, i] = Σ d^s over the pairs of f, and W[f, i] ≤ Σ_j W[g, j].

    The second sum is over the profiles j of family g that occur together with i.
    """
    n, W = m.n, m.W
    value = []
    for f in range(3):
        for s in range(1, n - 1):
            far = [(u, v) for u, v in list_pairs(f, n) if v - u >= s]
            apart: Terms = [t for u, v in far for t in express_distance(m, u, v, s)]
            counted: Terms = [
                (-float(T[s - 1]), W[f, i]) for i, T in enumerate(profiles.values[f]) if T[s - 1]
            ]
            if apart or counted:
                value.append(((f, s), sum_linearly([*apart, *counted]) == 0))
    m.add_rows("profiles", "value", value)
    m.add_rows("profiles", "together", _list_joint_rows(m, profiles))


def _list_joint_rows(m: TaggedModel, profiles: Profiles) -> list[tuple[tuple[int, ...], Any]]:
    """Rows W[f, i] ≤ Σ of the profiles, or end distances, that occur together with i."""
    rows: list[tuple[tuple[int, ...], Any]] = []
    for (f, g), both in profiles.together.items():
        others: list[Terms] = [[(1.0, m.W[g, j])] for j in range(both.shape[1])]
        rows += [((f, g, *key), row) for key, row in _bound_others(m, f, both, others)]
    for f, apart in enumerate(profiles.ends):
        others = [express_distance(m, 0, m.n - 1, s) for s in range(1, m.n)]
        rows += [((f, 3, *key), row) for key, row in _bound_others(m, f, apart, others)]
    return rows


def _bound_others(
    m: TaggedModel, f: int, possible: NDArray[np.bool_], others: list[Terms]
) -> list[tuple[tuple[int, ...], Any]]:
    """W[f, i] ≤ Σ of the possible others, written by those that are not where they are fewer."""
    rows: list[tuple[tuple[int, ...], Any]] = []
    for i, row in enumerate(possible):
        if row.all():
            continue
        sign = -1.0 if 2 * row.sum() <= len(row) else 1.0
        chosen = np.flatnonzero(row if sign < 0 else ~row).tolist()
        terms = [(sign * c, x) for j in chosen for c, x in others[j]]
        rows.append(((i,), sum_linearly([(1.0, m.W[f, i]), *terms]) <= (0 if sign < 0 else 1)))
    return rows


def sum_at_least(m: TaggedModel, profiles: Profiles, family: int, s: int, c: int) -> Terms:
    """1(T[f, s] ≥ c) as terms of a sum."""
    values = profiles.values[family]
    return [(1.0, m.W[family, i]) for i, T in enumerate(values) if T[s - 1] >= c]


def _sum(W: Any, family: int, profiles: Profiles) -> Any:
    return sum_linearly((1.0, W[family, i]) for i in range(len(profiles.values[family])))
