"""(Graph-Encoding): every graph with n_0 to n nodes, with its reachability and shortest paths.

One function for each of the conditions (C1) to (C8) of Appendix A.1 of the paper, in its order and
with its symbols; :mod:`~nasgoat.formulations.tagged_model` holds the notation. "u ≠ v ≠ w" of the
paper means pairwise distinct (docs/decisions/0010-pairwise-distinct.md). Theorem 1: feasible points
and graphs are in bijection.
"""

from __future__ import annotations

from itertools import permutations

import pyomo.environ as pyo

from nasgoat.formulations.tagged_model import TaggedModel


def graph_encoding(n: int, smallest: int | None = None) -> TaggedModel:
    """(Graph-Encoding): the model whose feasible points are the graphs with n_0 to n nodes.

    Args:
        n: Largest number of nodes.
        smallest: n_0, the smallest number of nodes; n if None.

    Example:
        >>> m = graph_encoding(3)
        >>> sum(1 for _ in m.list_variables()), sum(1 for _ in m.list_constraints())
        (54, 120)
    """
    m = TaggedModel(n)
    add_graph_variables(m)
    condition_c1(m, n if smallest is None else smallest)
    for condition in CONDITIONS:
        condition(m)
    return m


def add_graph_variables(m: TaggedModel) -> None:
    """Table 1: A, r, d and δ."""
    n = m.n
    nodes = range(n)
    pairs = [(u, v) for u in nodes for v in nodes]
    triples = [(u, v, w) for u, v in pairs for w in nodes]
    m.add_variable("A", pairs, pyo.Binary, lambda g, u, v: g.A[u, v])
    m.add_variable("r", pairs, pyo.Binary, lambda g, u, v: g.r[u, v])
    m.add_variable("d", pairs, pyo.Integers, lambda g, u, v: g.d[u, v], bounds=(0, n))
    m.add_variable("delta", triples, pyo.Binary, lambda g, u, v, w: g.delta[u, v, w])


def condition_c1(m: TaggedModel, smallest: int) -> None:
    """(C1): at least n_0 nodes exist, the ones with smaller indices first.

    Σ_v A[v, v] ≥ n_0,  A[v, v] ≥ A[v + 1, v + 1].
    """
    m.add_rows("C1", "size", [((), sum(m.A[v, v] for v in range(m.n)) >= smallest)])
    m.add_rows("C1", "order", [((v,), m.A[v, v] >= m.A[v + 1, v + 1]) for v in range(m.n - 1)])


def condition_c2(m: TaggedModel) -> None:
    """(C2): nothing starts or ends at a node that does not exist.

    2 A[u, v] ≤ A[u, u] + A[v, v],  2 r[u, v] ≤ A[u, u] + A[v, v],  d[u, v] ≥ n (1 - A[u, u]),
    d[u, v] ≥ n (1 - A[v, v]).
    """
    n, pairs = m.n, list(permutations(range(m.n), 2))
    exist = {(u, v): m.A[u, u] + m.A[v, v] for u, v in pairs}
    m.add_rows("C2", "edge", [((u, v), 2 * m.A[u, v] <= exist[u, v]) for u, v in pairs])
    m.add_rows("C2", "reach", [((u, v), 2 * m.r[u, v] <= exist[u, v]) for u, v in pairs])
    m.add_rows("C2", "tail", [((u, v), m.d[u, v] >= n * (1 - m.A[u, u])) for u, v in pairs])
    m.add_rows("C2", "head", [((u, v), m.d[u, v] >= n * (1 - m.A[v, v])) for u, v in pairs])


def condition_c3(m: TaggedModel) -> None:
    """(C3): a node reaches itself at distance 0, and is alone on that path.

    r[v, v] = 1,  d[v, v] = 0,  δ[v, v, v] = 1,  δ[v, v, w] = 0.
    """
    nodes = range(m.n)
    m.add_rows("C3", "reach", [((v,), m.r[v, v] == 1) for v in nodes])
    m.add_rows("C3", "distance", [((v,), m.d[v, v] == 0) for v in nodes])
    m.add_rows("C3", "self", [((v,), m.delta[v, v, v] == 1) for v in nodes])
    others = permutations(nodes, 2)
    m.add_rows("C3", "others", [((v, w), m.delta[v, v, w] == 0) for v, w in others])


def condition_c4(m: TaggedModel) -> None:
    """(C4): an edge is a path of length 1; without it the distance is larger.

    r[u, v] ≥ A[u, v],  d[u, v] ≥ 2 - A[u, v],  d[u, v] ≤ 1 + (n - 1) (1 - A[u, v]).
    """
    n, pairs = m.n, list(permutations(range(m.n), 2))
    m.add_rows("C4", "reach", [((u, v), m.r[u, v] >= m.A[u, v]) for u, v in pairs])
    m.add_rows("C4", "without", [((u, v), m.d[u, v] >= 2 - m.A[u, v]) for u, v in pairs])
    m.add_rows(
        "C4", "with", [((u, v), m.d[u, v] <= 1 + (n - 1) * (1 - m.A[u, v])) for u, v in pairs]
    )


def condition_c5(m: TaggedModel) -> None:
    """(C5): u reaches v exactly if the distance is finite (< n).

    d[u, v] ≤ n - r[u, v],  d[u, v] ≥ n - (n - 1) r[u, v].
    """
    n, pairs = m.n, list(permutations(range(m.n), 2))
    m.add_rows("C5", "finite", [((u, v), m.d[u, v] <= n - m.r[u, v]) for u, v in pairs])
    m.add_rows("C5", "infinite", [((u, v), m.d[u, v] >= n - (n - 1) * m.r[u, v]) for u, v in pairs])


def condition_c6(m: TaggedModel) -> None:
    """(C6): a node on a shortest path is reached and reaches on; reachability is transitive.

    r[u, w] + r[w, v] ≥ 2 δ[u, v, w],  r[u, v] ≥ r[u, w] + r[w, v] - 1.
    """
    triples = list(permutations(range(m.n), 3))
    both = {(u, v, w): m.r[u, w] + m.r[w, v] for u, v, w in triples}
    m.add_rows("C6", "on_path", [(uvw, both[uvw] >= 2 * m.delta[uvw]) for uvw in triples])
    m.add_rows("C6", "transitive", [(uvw, m.r[uvw[:2]] >= both[uvw] - 1) for uvw in triples])


def condition_c7(m: TaggedModel) -> None:
    """(C7): a path without edge u → v has a node in between, any other has none.

    δ[u, v, u] = δ[u, v, v] = 1,
    2 + r[u, v] - A[u, v] ≤ Σ_w δ[u, v, w] ≤ 2 + (n - 2) (r[u, v] - A[u, v]).
    """
    n, pairs = m.n, list(permutations(range(m.n), 2))
    on_path = {(u, v): sum(m.delta[u, v, w] for w in range(n)) for u, v in pairs}
    detour = {(u, v): m.r[u, v] - m.A[u, v] for u, v in pairs}
    m.add_rows("C7", "first", [((u, v), m.delta[u, v, u] == 1) for u, v in pairs])
    m.add_rows("C7", "last", [((u, v), m.delta[u, v, v] == 1) for u, v in pairs])
    m.add_rows("C7", "some", [((u, v), on_path[u, v] >= 2 + detour[u, v]) for u, v in pairs])
    m.add_rows(
        "C7", "none", [((u, v), on_path[u, v] <= 2 + (n - 2) * detour[u, v]) for u, v in pairs]
    )


def condition_c8(m: TaggedModel) -> None:
    """(C8): the triangle inequality, with equality exactly at nodes on a shortest path.

    d[u, v] ≤ d[u, w] + d[w, v] - (1 - δ[u, v, w]) + (n + 1) (2 - r[u, w] - r[w, v]),
    d[u, v] ≥ d[u, w] + d[w, v] - 2 n (1 - δ[u, v, w]).
    """
    n, triples = m.n, list(permutations(range(m.n), 3))
    detour = {(u, v, w): m.d[u, w] + m.d[w, v] for u, v, w in triples}
    off_path = {uvw: 1 - m.delta[uvw] for uvw in triples}
    cut = {(u, v, w): 2 - m.r[u, w] - m.r[w, v] for u, v, w in triples}
    most = {uvw: detour[uvw] - off_path[uvw] + (n + 1) * cut[uvw] for uvw in triples}
    m.add_rows("C8", "at_most", [(uvw, m.d[uvw[:2]] <= most[uvw]) for uvw in triples])
    least = {uvw: detour[uvw] - 2 * n * off_path[uvw] for uvw in triples}
    m.add_rows("C8", "at_least", [(uvw, m.d[uvw[:2]] >= least[uvw]) for uvw in triples])


#: (C2) to (C8), which need nothing but the model.
CONDITIONS = (
    condition_c2,
    condition_c3,
    condition_c4,
    condition_c5,
    condition_c6,
    condition_c7,
    condition_c8,
)


def restrict_undirected(m: TaggedModel) -> None:
    """(undirected), Section 3.1: A, r, d and δ are symmetric in u and v."""
    pairs = [(u, v) for u in range(m.n) for v in range(u + 1, m.n)]
    for name in ("A", "r", "d"):
        x = getattr(m, name)
        m.add_rows("undirected", name, [((u, v), x[u, v] == x[v, u]) for u, v in pairs])
    triples = [(u, v, w) for u, v in pairs for w in range(m.n)]
    same = [((u, v, w), m.delta[u, v, w] == m.delta[v, u, w]) for u, v, w in triples]
    m.add_rows("undirected", "delta", same)


def restrict_strongly_connected(m: TaggedModel) -> None:
    """(strong_connectivity), Section 3.1: r[u, v] ≥ A[u, u] + A[v, v] - 1."""
    pairs = permutations(range(m.n), 2)
    reach = [((u, v), m.r[u, v] >= m.A[u, u] + m.A[v, v] - 1) for u, v in pairs]
    m.add_rows("strong_connectivity", "reach", reach)


def restrict_acyclic(m: TaggedModel) -> None:
    """(acyclic), Section 3.2: no two nodes reach each other, r[u, v] + r[v, u] ≤ 1."""
    pairs = [(u, v) for u in range(m.n) for v in range(u + 1, m.n)]
    m.add_rows("acyclic", "reach", [((u, v), m.r[u, v] + m.r[v, u] <= 1) for u, v in pairs])
