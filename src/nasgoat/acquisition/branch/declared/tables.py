"""From a posterior to the tables of the compiled search of declared graphs.

Notation: see ``declared.records``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from nasgoat.acquisition.branch.cells.tables import find_largest_products, make_feature_columns
from nasgoat.acquisition.branch.declared.records import DeclaredTables
from nasgoat.acquisition.branch.declared.structures import DeclaredBlock
from nasgoat.acquisition.branch.records import Floats, Integers
from nasgoat.kernels import FeatureMap
from nasgoat.surrogate.posterior import LinearPosterior

_GRAM_ROWS = 2_000  # interactions whose products are all computed; of more, the largest norms
_PIVOTED = 250  # vectors whose rank is looked for: that takes ten times as long
_RANK = 1e-14  # a direction in which all vectors are shorter, relatively, is rounding


def make_declared_tables(
    features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float, block: DeclaredBlock
) -> DeclaredTables:
    """The columns of a posterior for the pair classes of a block."""
    space = block.space
    own, path, edge, codes = _read_columns(features, posterior, sqrt_beta, block.n)
    labels = len(own)
    fit = block.rules.weight[:, None, None] <= np.minimum(
        block.rules.high[1][:, None], block.rules.high[0][None, :]
    )
    share = fit / np.maximum(fit.sum(axis=0), 1)
    mean_edge = np.einsum("lab,labw->abw", share, edge)
    there, back = block.classes.T
    pair = path[there] + path[back].swapaxes(1, 2)
    pair[there == 1] += mean_edge
    if space.directed:
        pair[back == 1] += mean_edge.swapaxes(0, 1)
    delta = edge - mean_edge
    # A pair seen from its other end has the same columns, its labels swapped.
    known = [tuple(x) for x in block.classes.tolist()]
    one_way = np.array([k for k, (x, y) in enumerate(known) if x <= y])
    home = [known.index((min(x), max(x))) for x in known]
    own, pair, delta, codes = _compress(own, pair[one_way], delta, codes)
    place = np.searchsorted(one_way, home)
    pair = np.where((there <= back)[:, None, None, None], pair[place], pair[place].swapaxes(1, 2))
    free = np.arange(bool(space.sources), labels - bool(space.sinks))
    star = np.full(labels, 1.0 / max(len(free), 1)) * np.isin(np.arange(labels), free)
    wide = np.concatenate([np.eye(labels), star[None]])
    pair = np.einsum("xa,yb,kabw->kxyw", wide, wide, pair, optimize=True)
    tail = pair[:, :-1] - pair[:, -1:]
    both = tail[:, :, :-1] - tail[:, :, -1:]
    longest = np.where(fit, np.linalg.norm(delta[..., 1:], axis=-1), 0.0).max(axis=0)
    least = np.where(fit, delta[..., 0], np.inf).min(axis=0)
    reach = np.stack([np.where(fit.any(axis=0), least, 0.0), longest], axis=-1)
    return DeclaredTables(
        own=wide @ own,
        pair=np.ascontiguousarray(pair),
        tail=np.ascontiguousarray(tail),
        both=np.ascontiguousarray(both),
        delta=np.ascontiguousarray(delta),
        reach=reach,
        gram=_spread(_multiply_classes(both[one_way], free, delta, fit), place),
        codes=codes,
    )


def _read_columns(
    features: FeatureMap, posterior: LinearPosterior, sqrt_beta: float, n: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Columns of nodes (L), of paths (n + 1, L, L), of edges (M, L, L) and of codes."""
    columns = make_feature_columns(features, posterior, sqrt_beta, n)
    space = features.space
    labels, ops = max(len(space.node_vocabulary), 1), max(len(space.edge_vocabulary), 1)
    path = np.zeros((max(space.sizes[-1], n) + 1, labels, labels, columns.shape[1]))
    s, a, b = np.array(features.path_types).T
    path[s, a, b] = columns[: len(s)]
    own = path[0, np.arange(labels), np.arange(labels)].copy()
    path[0] = path[n] = 0.0  # no pair of two nodes is at distance 0; n is "unreachable"
    edge = np.zeros((ops, labels, labels, columns.shape[1]))
    after = len(s) + len(features.edge_types)
    if space.edge_vocabulary:
        a, b, code = np.array(features.edge_types).T
        edge[code, a, b] = columns[len(s) : after]
        if not space.directed:
            edge[code, b, a] = columns[len(s) : after]
    return own, path, edge, columns[after:]


def _compress(*tables: Floats) -> list[Floats]:
    """The same columns with vectors in as few dimensions as they span: all products are kept."""
    flat = np.concatenate([table.reshape(-1, table.shape[-1]) for table in tables])
    seen: dict[bytes, int] = {}
    place = [seen.setdefault(row[1:].tobytes(), len(seen)) for row in flat]
    vectors = np.zeros((len(seen), flat.shape[1] - 1))
    vectors[place] = flat[:, 1:]
    few = len(vectors) <= _PIVOTED
    if vectors.shape[1] > 0 and (len(vectors) < vectors.shape[1] or few):
        found = qr(vectors.T, mode="r", pivoting=few)
        order = found[1] if few else np.arange(len(vectors))
        size = np.abs(np.diag(found[0]))
        rank = max(int((size > _RANK * size.max(initial=0.0)).sum()), 1) if few else len(size)
        vectors = np.zeros((len(vectors), rank))
        vectors[order] = found[0][:rank].T
    short = np.column_stack([flat[:, 0], vectors[place]])
    parts = np.split(short, np.cumsum([table[..., 0].size for table in tables])[:-1])
    width = short.shape[1]
    return [part.reshape(*x.shape[:-1], width) for part, x in zip(parts, tables, strict=True)]


def _multiply_classes(
    both: Floats, free: Integers, delta: Floats, fit: NDArray[np.bool_]
) -> Floats:
    """For each two pair classes the largest product of two interactions, δ the last class."""
    classes = [b[np.ix_(free, free)].reshape(-1, b.shape[-1])[:, 1:] for b in both]
    classes.append(delta[fit][:, 1:])
    if sum(len(c) for c in classes) > _GRAM_ROWS:
        longest = [np.linalg.norm(c, axis=1).max(initial=0.0) for c in classes]
        return np.outer(longest, longest)
    return find_largest_products(classes)


def _spread(gram: Floats, place: Integers) -> Floats:
    """The products of classes one way as those of all classes, δ the last."""
    places = np.append(place, len(gram) - 1)
    return np.ascontiguousarray(gram[np.ix_(places, places)])
