"""The structures of a declared graph space, each once up to isomorphism, their labels left open.

A structure is an adjacency matrix together with the *roles* of its nodes: which of them are sources
and which are sinks. Structures grow node by node, each new node being the last of its kind (source,
other, sink). Two things keep the work small:

- Of the nodes that could have been the last one, the new node must have the largest *rank*, a
  number that isomorphic nodes share. Every structure has such a node, and what is left without it
  is in the list of smaller structures; so none is missed, and few come twice.
- Those that still come twice are told apart by their canonical key.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import exp, factorial, lgamma, log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import hypergeom

from nasgoat.compiled import compiled, inner
from nasgoat.errors import TooLargeError
from nasgoat.graphs import canonical
from nasgoat.graphs.shortest_paths import nodes_on_paths
from nasgoat.spaces.graph_listing import Listing, Matrix

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

Roles = NDArray[np.int8]  # the label code that its role gives to a node, -1 for all other nodes
Structure = tuple[Matrix, Roles]
#: Structures of one number of nodes that are listed: more would take minutes.
LARGEST_STRUCTURES = 300_000
_WAYS = 1 << 16  # ways to join one more node, at most
_PAUSE = 10  # prefixes between two looks at the clock of who asks


class StructureListing(Listing):
    """Lists structures with roles, smaller ones first kept for larger ones.

    Example:
        >>> from nasgoat.spaces import GraphSpace
        >>> trees = GraphSpace(5, direction="undirected", connectivity="connected", max_edges=4)
        >>> sum(len(chunk) for chunk, _ in StructureListing(trees).chunks(5))
        3
    """

    def __init__(self, space: GraphSpace) -> None:
        super().__init__(space)
        rules, last = self.rules, len(space.node_vocabulary) - 1
        self._codes = [0] * rules.sources, [last] * rules.sinks
        ends = bool(rules.sources or rules.sinks)
        # Sources first and sinks last, unless indices or declared degrees stand against it.
        self._in_order = ends and not self.pinned
        if rules.sources and rules.degree_in.high[0] > 0:
            self._in_order = False
        if rules.sinks and rules.degree_out.high[last] > 0:
            self._in_order = False
        self.joins = self.joins and not self._in_order
        self._others = np.ones(max(last + 1, 1), dtype=bool)
        self._others[[*set(self._codes[0]), *set(self._codes[1])]] = False
        self._grown: dict[tuple[int, int], list[Matrix]] = {}

    def chunks(self, n: int) -> Iterator[tuple[Matrix, Roles]]:
        """Matrices (S, n, n) and roles (S, n); empty chunks come while larger ones are made."""
        none = np.zeros((0, n, n), dtype=bool), np.zeros((0, n), dtype=np.int8)
        sinks = self.rules.sinks if self._in_order else 0
        for done in self._grow_steps(n - sinks, sinks):
            if not done:
                yield none
        found: list[Structure] = []
        for matrix in self._grown[n - sinks, sinks]:
            found += self._finish(matrix)
            if len(found) >= 1000:
                yield _stack(found)
                found = []
        if found:
            yield _stack(found)

    def _finish(self, matrix: Matrix) -> list[Structure]:
        """The structure with its roles, or all ways to give it roles; none if rules are broken."""
        if int(matrix.sum()) // (1 if self.space.directed else 2) < self.rules.min_edges:
            return []
        if self.space.connectivity != "paths" and not self._is_connected(matrix):
            return []
        return [(matrix, roles) for roles in self._list_roles(matrix) if self._fits(matrix, roles)]

    def _fits(self, matrix: Matrix, roles: Roles) -> bool:
        if self.space.connectivity != "paths":
            return True
        everywhere = np.ones((1, len(roles)), dtype=bool)
        sources = (roles == 0)[None] if self.rules.sources else everywhere
        sinks = (roles == self._codes[1][0])[None] if self.rules.sinks else everywhere
        return bool(nodes_on_paths(matrix[None], sources, sinks).all())

    def _list_roles(self, matrix: Matrix) -> list[Roles]:
        """Which nodes can be sources and sinks, one choice of each orbit."""
        n, (first, last) = len(matrix), self._codes
        roles = np.full(n, -1, dtype=np.int8)
        if self._in_order or not (first or last):
            roles[: len(first)] = first
            roles[n - len(last) :] = last
            return [roles]
        found: dict[bytes, Roles] = {}
        for sources in combinations(range(n), len(first)):
            rest = [v for v in range(n) if v not in sources]
            for sinks in combinations(rest, len(last)):
                roles = np.full(n, -1, dtype=np.int8)
                roles[list(sources)], roles[list(sinks)] = 0, last[:1] or -1
                found.setdefault(self._key_of(matrix, roles), roles)
        return list(found.values())

    # Growth

    def _grow_steps(self, inner_nodes: int, sinks: int) -> Iterator[bool]:
        """Make the prefixes of so many nodes before the sinks, and of so many sinks."""
        key = (inner_nodes, sinks)
        if key in self._grown:
            yield True
            return
        if key == (1, 0):
            self._grown[key] = [np.zeros((1, 1), dtype=bool)]
            yield True
            return
        if key == (0, 0):
            self._grown[key] = [np.zeros((0, 0), dtype=bool)]
            yield True
            return
        smaller = (inner_nodes, sinks - 1) if sinks else (inner_nodes - 1, 0)
        for done in self._grow_steps(*smaller):
            if not done:
                yield False
        yield from self._add_node(smaller, key)

    def _add_node(self, smaller: tuple[int, int], key: tuple[int, int]) -> Iterator[bool]:
        prefixes, m = self._grown[smaller], sum(smaller)
        if (2 if self.forward or not self.space.directed else 4) ** m > _WAYS:
            raise TooLargeError(
                f"structures must have fewer nodes to be listed, got {m + 1}; use scip or mutation"
            )
        roles = self._prefix_roles(*key)
        ways = self._list_ways(m, roles)
        found: dict[bytes, Matrix] = {}
        for count, prefix in enumerate(prefixes):
            grown = np.zeros((len(ways), m + 1, m + 1), dtype=bool)
            grown[:, :m, :m] = prefix
            grown[:, :m, m], grown[:, m, :m] = ways[:, 0], ways[:, 1]
            grown = grown[self._may_grow(grown)]
            grown = grown[self._keep_degrees(grown, roles)]
            mark = roles.astype(np.int64)
            mark[: self.pinned] = np.arange(min(self.pinned, m + 1)) + 1000
            last_is_largest = np.zeros(len(grown), dtype=np.int8)
            _compare_ranks(grown, mark, self.forward, self.joins, last_is_largest)
            for matrix in grown[last_is_largest > 0]:
                found.setdefault(self._key_of(matrix, roles), matrix)
            if len(found) > LARGEST_STRUCTURES:
                raise TooLargeError(
                    f"structures must be at most {LARGEST_STRUCTURES:,} to be listed, got more "
                    f"with {m + 1} nodes; use scip or mutation"
                )
            if count % _PAUSE == _PAUSE - 1:
                yield False
        self._grown[key] = list(found.values())
        yield True

    def _prefix_roles(self, inner_nodes: int, sinks: int) -> Roles:
        roles = np.full(inner_nodes + sinks, -1, dtype=np.int8)
        if self._in_order:
            first, last = self._codes
            roles[: len(first)] = first[:inner_nodes]
            if sinks:
                roles[inner_nodes:] = last[0]
        return roles

    def _list_ways(self, m: int, roles: Roles) -> Matrix:
        ways = self._list_new_nodes(m)
        if not self._in_order:
            return ways
        if roles[m] == 0 and self.rules.sources:
            return ways[~ways[:, 0].any(axis=1)]
        if self.space.connectivity == "paths" and self.rules.sources and self.forward:
            return ways[ways[:, 0].any(axis=1)]  # only sources have no incoming edge
        return ways

    def _keep_degrees(self, grown: Matrix, roles: Roles) -> Matrix:
        """Which prefixes no role or label forbids by its largest degrees."""
        least = int(self.rules.weights.min()) if len(self.rules.weights) else 1
        keep = np.ones(len(grown), dtype=bool)
        for axis, bounds in ((1, self.rules.degree_in), (2, self.rules.degree_out)):
            free = bounds.high[self._others] if self._in_order else bounds.high
            most = np.where(roles >= 0, bounds.high[roles], free.max(initial=0))
            keep &= (grown.sum(axis=axis) * least <= most).all(axis=1)
        return keep

    def _key_of(self, matrix: Matrix, roles: Roles) -> bytes:
        arcs = {u: np.flatnonzero(row).tolist() for u, row in enumerate(matrix)}
        colours = {f"{v}:{role}": nodes for (v, role), nodes in self.colours(roles).items()}
        return canonical.key_of_colored(len(matrix), arcs, colours, self.space.directed)

    def colours(self, roles: Roles) -> dict[tuple[int, int], set[int]]:
        """Nodes that may be alike: those of one role that no fixed part names."""
        found: dict[tuple[int, int], set[int]] = {}
        for v, role in enumerate(roles.tolist()):
            found.setdefault((v if v < self.pinned else -1, role), set()).add(v)
        return found

    def symmetries(self, matrix: Matrix, roles: Roles, most: int) -> NDArray[np.intp]:
        """Automorphisms that keep roles and named nodes, the identity left out; some if many."""
        kinds = list(self.colours(roles).values())
        return canonical.automorphisms(matrix, kinds, self.space.directed, most)[1:]


def estimate_structures(space: GraphSpace, n: int) -> float:
    """About how many structures of n nodes there are, in no time; never more than 1e300.

    Matrices are counted in an order of the nodes (sources, others, sinks; edges ascend in acyclic
    graphs), as far as the largest degrees let them. How many orders a structure has is known
    roughly: n! of n nodes, 1.33 · 1.6^(n - 3) topological ones, and few of sparse structures.

    Example:
        >>> from nasgoat import molecules
        >>> round(estimate_structures(molecules(), 6))  # there are 78
        45
    """
    rules = space.rules
    weight = int(rules.weights.min()) if len(rules.weights) else 1
    into, out = (int(x.high.max()) // weight for x in (rules.degree_in, rules.degree_out))
    if space.direction == "acyclic":
        inner_nodes = n - space.sources - space.sinks
        least = int(space.connectivity == "paths" and space.sources > 0)
        logs = [_log_subsets(space.sources + v, least, into) for v in range(inner_nodes)]
        logs += [_log_subsets(n - space.sinks, least, into)] * space.sinks
        orders = max(1.33 * 1.6 ** (inner_nodes - 3), 1.0)
        orders *= factorial(space.sources) * factorial(space.sinks)
        return exp(min(sum(logs) - log(orders), 690.0))
    pairs = space.most_edges(n)
    near, most = pairs * (1 if space.directed else 2) // max(n, 1), min(into, out)
    least = n - 1 if space.connectivity in ("connected", "strong") else 0
    largest = min(space.edge_limit, pairs, n * most // (1 if space.directed else 2))
    edges = np.arange(max(space.min_edges, least), largest + 1)
    if not len(edges):
        return 1.0
    choices = gammaln(pairs + 1) - gammaln(edges + 1) - gammaln(pairs - edges + 1)
    if most < near:
        choices += n * np.log(np.maximum(hypergeom.cdf(most, pairs, near, edges), 1e-300))
    total = float(np.logaddexp.reduce(choices))
    orders = lgamma(n + 1) - log(1.25 if most < near else 1.7)
    return exp(min(max(total - orders, 0.0), 690.0))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _log_subsets(n: int, least: int, most: int) -> float:
    """Logarithm of the number of subsets of n things with so many of them; 0 of none."""
    counts = [_log_choose(n, k) for k in range(least, min(n, most) + 1)]
    return float(np.logaddexp.reduce(counts)) if counts else 0.0


def _stack(found: list[Structure]) -> tuple[Matrix, Roles]:
    matrices, roles = zip(*found, strict=True)
    return np.array(matrices), np.array(roles)


@inner
def _mix(x: int) -> int:
    """A number whose bits all depend on all bits of x."""
    x = (x ^ (x >> 29)) * 0x1F3D5B79A7C4E2D1
    return (x ^ (x >> 31)) * 0x2545F4914F6CDD1D


@compiled
def _compare_ranks(
    grown: Matrix,
    mark: NDArray[np.int64],
    forward: bool,
    joins: bool,
    largest: NDArray[np.int8],
) -> None:
    """Note for each matrix whether no node that could be the last one ranks above the last one."""
    n = grown.shape[1]
    for g in range(len(grown)):
        largest[g] = 1
        a = grown[g]
        last = _rank(a, mark, n - 1)
        for w in range(n - 1):
            alike = mark[w] == mark[n - 1] and _may_be_last(a, mark, w, forward, joins)
            if alike and _rank(a, mark, w) > last:
                largest[g] = 0
                break


@inner
def _rank(a: Matrix, mark: NDArray[np.int64], v: int) -> int:
    """A number of node v that an isomorphism keeps: from its neighbours and theirs."""
    n = len(a)
    total = 0
    for u in range(n):
        if a[u, v] or a[v, u]:
            near = mark[u] + 7
            for w in range(n):
                near += (17 if a[u, w] else 0) + (4099 if a[w, u] else 0)
                if a[u, w] or a[w, u]:
                    out = 0
                    for x in range(n):
                        out += (1 if a[w, x] else 0) + (64 if a[x, w] else 0)
                        if (a[w, x] or a[x, w]) and (a[u, x] or a[x, u]):
                            out += 65537
                    near += _mix(out + mark[w])
            total += _mix(near + (0x5851F42D if a[u, v] else 0) + (0x14057B7F if a[v, u] else 0))
    return total


@inner
def _may_be_last(a: Matrix, mark: NDArray[np.int64], w: int, forward: bool, joins: bool) -> bool:
    """Whether the structure without node w is among the smaller ones."""
    n = len(a)
    if forward:
        for x in range(n):
            if a[w, x]:
                return False
    if not joins:
        return True
    # Every other node must still be joined to the first nodes: named ones, or any single one.
    start = 0
    for v in range(n):
        if mark[v] >= 1000:
            start |= 1 << v
    if start == 0:
        start = 1 if w != 0 else 2
    seen, before = start, 0
    while seen != before:
        before = seen
        for u in range(n):
            if seen >> u & 1:
                for v in range(n):
                    if v != w and (a[u, v] or a[v, u]):
                        seen |= 1 << v
    return bool(seen | 1 << w == (1 << n) - 1)
