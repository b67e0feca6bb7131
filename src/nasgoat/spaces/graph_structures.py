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

from nasgoat.errors import TooLargeError
from nasgoat.graphs import canonical
from nasgoat.graphs.shortest_paths import find_nodes_on_paths
from nasgoat.spaces.graph_growth import Growth, Matrix, Roles, compare_ranks

if TYPE_CHECKING:
    from nasgoat.spaces.graph_space import GraphSpace

Structure = tuple[Matrix, Roles]
#: Structures of one number of nodes that are listed: more would take minutes.
LARGEST_STRUCTURES = 300_000
_WAYS = 1 << 16  # ways to join one more node, at most


class StructureListing(Growth):
    """Lists structures with roles, smaller ones first kept for larger ones.

    Example:
        >>> from nasgoat.spaces import GraphSpace
        >>> trees = GraphSpace(5, direction="undirected", connectivity="connected", max_edges=4)
        >>> sum(len(chunk) for chunk, _ in StructureListing(trees).list_chunks(5))
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

    def list_chunks(self, n: int) -> Iterator[tuple[Matrix, Roles]]:
        """Matrices (S, n, n) and roles (S, n); empty chunks come while larger ones are made."""
        none = np.zeros((0, n, n), dtype=bool), np.zeros((0, n), dtype=np.int8)
        sinks = self.rules.sinks if self._in_order else 0
        for done in self.grow(n - sinks, sinks):
            if not done:
                yield none
        found: list[Structure] = []
        for matrix in self.grown[n - sinks, sinks]:
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
        return bool(find_nodes_on_paths(matrix[None], sources, sinks).all())

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
                found.setdefault(self.make_key(matrix, roles), roles)
        return list(found.values())

    def _assign_roles(self, inner_nodes: int, sinks: int) -> Roles:
        roles = np.full(inner_nodes + sinks, -1, dtype=np.int8)
        if self._in_order:
            first, last = self._codes
            roles[: len(first)] = first[:inner_nodes]
            if sinks:
                roles[inner_nodes:] = last[0]
        return roles

    def _list_ways(self, m: int, roles: Roles) -> Matrix:
        if (2 if self.forward or not self.space.directed else 4) ** m > _WAYS:
            raise TooLargeError(
                f"structures must have fewer nodes to be listed, got {m + 1}; use scip or mutation"
            )
        ways = self._list_new_nodes(m)
        if not self._in_order:
            return ways
        if roles[m] == 0 and self.rules.sources:
            return ways[~ways[:, 0].any(axis=1)]
        if self.space.connectivity == "paths" and self.rules.sources and self.forward:
            return ways[ways[:, 0].any(axis=1)]  # only sources have no incoming edge
        return ways

    def _refuse_count(self, found: int, nodes: int) -> None:
        if found > LARGEST_STRUCTURES:
            raise TooLargeError(
                f"structures must be at most {LARGEST_STRUCTURES:,} to be listed, got more "
                f"with {nodes} nodes; use scip or mutation"
            )

    def _keep(self, grown: Matrix, roles: Roles) -> Matrix:
        grown = super()._keep(grown, roles)
        grown = grown[self._keep_degrees(grown, roles)]
        mark = roles.astype(np.int64)
        mark[: self.pinned] = np.arange(min(self.pinned, len(roles))) + 1000
        last_is_largest = np.zeros(len(grown), dtype=np.int8)
        compare_ranks(grown, mark, self.forward, self.joins, last_is_largest)
        return grown[last_is_largest > 0]

    def _keep_degrees(self, grown: Matrix, roles: Roles) -> Matrix:
        """Which prefixes no role or label forbids by its largest degrees."""
        least = int(self.rules.weights.min()) if len(self.rules.weights) else 1
        keep = np.ones(len(grown), dtype=bool)
        for axis, bounds in ((1, self.rules.degree_in), (2, self.rules.degree_out)):
            free = bounds.high[self._others] if self._in_order else bounds.high
            most = np.where(roles >= 0, bounds.high[roles], free.max(initial=0))
            keep &= (grown.sum(axis=axis) * least <= most).all(axis=1)
        return keep

    def find_symmetries(self, matrix: Matrix, roles: Roles, most: int) -> NDArray[np.intp]:
        """Automorphisms that keep roles and named nodes, the identity left out; some if many."""
        kinds = list(self.group_alike(roles).values())
        return canonical.list_automorphisms(matrix, kinds, self.space.directed, most)[1:]


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
    """Logarithm of the number of subsets of n things with this many of them; 0 of none."""
    counts = [_log_choose(n, k) for k in range(least, min(n, most) + 1)]
    return float(np.logaddexp.reduce(counts)) if counts else 0.0


def _stack(found: list[Structure]) -> tuple[Matrix, Roles]:
    matrices, roles = zip(*found, strict=True)
    return np.array(matrices), np.array(roles)
