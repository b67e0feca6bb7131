"""How many matrices a node-labelled space has, labels left out: a cheap measure of its size."""

from __future__ import annotations

from math import comb

_FEW_NODES = 16


def count_matrices(n: int, max_edges: int) -> int:
    """Number of matrices with edges u < v and at most so many edges, every node on a path.

    An upper bound on the number of structures that costs next to nothing: inclusion and exclusion
    over the set of nodes without successor, as polynomials in the number of edges.

    Example:
        >>> [count_matrices(n, n + 2) for n in (7, 8, 10)]
        [4793, 28334, 753515]
    """
    if n > _FEW_NODES:  # far too many in any case: a coarser bound is enough
        pairs = n * (n - 1) // 2
        return sum(comb(pairs, edges) for edges in range(min(pairs, max_edges) + 1))
    signed = {0: [1] + [0] * max_edges}  # by number of smaller nodes taken to have no successor
    for v in range(n):
        if v > 0:
            signed = {a: _times_nonempty(p, v - a) for a, p in signed.items()}
        if v < n - 1:
            without = {a + 1: [-c for c in p] for a, p in signed.items()}
            for a, p in signed.items():
                without[a] = [x + y for x, y in zip(p, without.get(a, [0] * len(p)), strict=True)]
            signed = without
    return sum(sum(p) for p in signed.values())


def _times_nonempty(polynomial: list[int], items: int) -> list[int]:
    """Times (1 + x)^items - 1, cut at the same degree."""
    product = [0] * len(polynomial)
    for i, c in enumerate(polynomial):
        for j in range(1, min(items, len(polynomial) - 1 - i) + 1):
            product[i + j] += c * comb(items, j)
    return product


def count_prefixes(n: int, max_edges: int) -> int:
    """Number of matrices with edges u < v and at most so many, every node reached from the first.

    Example:
        >>> [count_prefixes(n, 28) for n in (1, 2, 3, 4)]
        [1, 1, 3, 21]
    """
    polynomial = [1] + [0] * max(max_edges, 0)
    for v in range(1, n):
        polynomial = _times_nonempty(polynomial, v)
    return sum(polynomial)
