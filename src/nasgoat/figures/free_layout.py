"""Where to draw nodes that straight edges join, without a crossing where none is needed.

A graph without direction, such as a molecule, has no layers. Its nodes get places whose distances
are those along its edges, as well as a plane allows. Where edges cross although the graph is
planar, its planar drawing (Chrobak and Payne's, by networkx) is relaxed instead, and no step is
taken that would make two of its edges cross.

Notation
    d   d[u, v]: edges of a shortest path between u and v, whatever their directions
    x   x[v]: the place of node v, shape (n, 2)
    The stress Σ_{u<v} (|x_u - x_v| - d_uv)² / d_uv² is lowered node by node (Gansner, Koren and
    North, Graph Drawing 2004).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, shortest_path

Array = NDArray[np.float64]
Edges = Sequence[tuple[int, int]]
_SWEEPS, _GUARDED = 60, 20  # of all nodes, freely and where no edges may come to cross
_UNSEEN = 0.003  # lengths of an edge: a shorter way is not seen
_STEPS = (1.0, 0.5, 0.25, 0.1)  # of the way to where a node would be pulled, whichever is allowed
_CLEAR = 0.6  # from a node to an edge or node beside it, in lengths of an edge
_LARGEST = 3.0  # times an edge's length: how far a drawing is stretched to keep nodes clear


def place_nodes(n: int, edges: Edges, known: Array | None = None) -> Array:
    """Places of n nodes, adjacent ones about 1 apart; parts without an edge between them in a row.

    Args:
        n: Number of nodes.
        edges: Their edges.
        known: Places that are taken if no edges cross there and nothing lies on anything else.

    Example:
        >>> square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
        >>> places = place_nodes(4, square)
        >>> places.shape, count_crossings(places, square)
        ((4, 2), 0)
    """
    if known is not None and _is_clear(known, edges):
        return _stretch(known, edges)
    linked = np.zeros((n, n), dtype=bool)
    for u, v in edges:
        linked[u, v] = linked[v, u] = u != v
    count, parts = connected_components(linked, directed=False)
    places, right = np.zeros((n, 2)), 0.0
    for part in range(count):
        own = np.flatnonzero(parts == part)
        found = _lay_flat(_place_part(linked[np.ix_(own, own)]))
        places[own] = found + np.array([right - found[:, 0].min(), 0.0])
        right = places[own, 0].max() + 1.0
    return places


def _place_part(linked: NDArray[np.bool_]) -> Array:
    """Places of connected nodes: of several drawings the one of fewest crossings."""
    n = len(linked)
    d = shortest_path(linked, directed=False, unweighted=True)
    edges = [(int(u), int(v)) for u, v in np.argwhere(np.triu(linked))]
    found = []
    for start in (_project(d), _make_circle(n)):
        found.append(_relax(start, d))
        if _is_clear(found[-1], edges):
            return _stretch(found[-1], edges)
    planar = _draw_planar(n, edges)
    if planar is not None:
        return _stretch(_relax(planar, d, edges), edges)
    return _stretch(min(found, key=lambda places: count_crossings(places, edges)), edges)


def _is_clear(places: Array, edges: Edges) -> bool:
    """Whether no edges cross, and stretching the drawing parts all nodes and edges."""
    room = _measure_clearance(places, edges)
    return count_crossings(places, edges) == 0 and room >= _CLEAR / _LARGEST


def _stretch(places: Array, edges: Edges) -> Array:
    """The drawing, larger where nodes come too close to other nodes or edges."""
    room = max(_measure_clearance(places, edges), 1e-9)
    return places * float(np.clip(_CLEAR / room, 1.0, _LARGEST))


def _draw_planar(n: int, edges: Edges) -> Array | None:
    """A drawing without crossings; None if the graph has none."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    planar, embedding = networkx.check_planarity(graph)
    if not planar:
        return None
    grid = networkx.combinatorial_embedding_to_pos(embedding)
    places = np.array([grid[v] for v in range(n)], dtype=float)
    lengths = [np.linalg.norm(places[u] - places[v]) for u, v in edges]
    return places / float(np.median(lengths))


def _project(d: Array) -> Array:
    """Classical scaling: the plane in which the distances between nodes are seen best."""
    n = len(d)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ (d**2) @ centre / 2)
    # Nodes that look alike from everywhere else would share a place: the circle parts them.
    seen: Array = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    return seen + 0.02 * _make_circle(n)


def _make_circle(n: int) -> Array:
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    return max(1.0, n / 6) * np.column_stack([np.cos(angle), np.sin(angle)])


def _relax(places: Array, d: Array, kept_apart: Edges = ()) -> Array:
    """Lower the stress node by node; edges that are to be kept apart never come to cross."""
    x, weights = places.copy(), 1 / np.maximum(d, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    for _ in range((_GUARDED if kept_apart else _SWEEPS) if len(x) > 1 else 0):
        before = x.copy()
        for v in range(len(x)):
            away = x[v] - x
            scale = d[v] / np.maximum(np.linalg.norm(away, axis=1), 1e-9)
            pulled = weights[v] @ (x + away * scale[:, None]) / weights[v].sum()
            if not kept_apart:
                x[v] = pulled
            elif np.abs(pulled - x[v]).max() > _UNSEEN:
                x = _step(x, v, pulled, kept_apart)
        if np.abs(x - before).max() < _UNSEEN:
            break
    return x


def _step(x: Array, v: int, pulled: Array, edges: Edges) -> Array:
    """Move a node as far as its edges then cross no other and come no closer to other nodes."""
    own = [edge for edge in edges if v in edge]
    room = min(_measure_clearance(x, edges), _CLEAR)
    for share in _STEPS:
        moved = x.copy()
        moved[v] += share * (pulled - x[v])
        crossed = _find_crossings(moved, own, edges).any()
        if not crossed and _measure_clearance(moved, edges) >= room:
            return moved
    return x


def count_crossings(places: Array, edges: Edges) -> int:
    """How many pairs of straight edges cross, those at a common node aside."""
    return int(_find_crossings(places, edges, edges).sum()) // 2


def _find_crossings(x: Array, some: Edges, others: Edges) -> NDArray[np.bool_]:
    """Which of some edges cross which others, shape (some, others)."""
    if not len(some) or not len(others):
        return np.zeros((len(some), len(others)), dtype=bool)
    one, two = np.asarray(some)[:, None, :], np.asarray(others)[None, :, :]
    a, b, p, q = x[one[..., 0]], x[one[..., 1]], x[two[..., 0]], x[two[..., 1]]
    apart = (one[..., :, None] != two[..., None, :]).all(axis=(-1, -2))
    across = _turn(a, b, p) * _turn(a, b, q) < 0
    along = _turn(p, q, a) * _turn(p, q, b) < 0
    return np.asarray(apart & across & along)


def _turn(a: Array, b: Array, c: Array) -> Array:
    """On which side of the line from a to b the point c lies."""
    ab, ac = b - a, c - a
    return np.asarray(ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0])


def _measure_clearance(x: Array, edges: Edges) -> float:
    """The least distance between two nodes, or a node and an edge of others."""
    apart = np.linalg.norm(x[:, None] - x[None], axis=-1)
    least = float(np.min(apart + np.diag(np.full(len(x), np.inf)), initial=np.inf))
    if not len(edges):
        return least
    ends = np.asarray(edges)
    start, along = x[ends[:, 0]][:, None], (x[ends[:, 1]] - x[ends[:, 0]])[:, None]
    share = ((x - start) * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-18)
    nearest = start + np.clip(share, 0.0, 1.0)[..., None] * along
    away = np.linalg.norm(x - nearest, axis=-1)
    own = (np.arange(len(x))[None] == ends[:, :1]) | (np.arange(len(x))[None] == ends[:, 1:])
    return min(least, float(np.min(np.where(own, np.inf, away), initial=np.inf)))


def _lay_flat(x: Array) -> Array:
    """The places turned so that the drawing is wider than high, around its middle."""
    x = x - x.mean(axis=0)
    _, vectors = np.linalg.eigh(x.T @ x)
    wide = vectors[:, ::-1] * np.sign(vectors[0, ::-1] + 1e-12)
    return np.asarray(x @ wide)
