"""From a posterior to the tables and codes of the compiled search of declared graphs.

As with cells (``branch.block_codes``), the codes of kernel blocks other than the paper's are
constants for all graphs of one structure and summary (Lemma 10): a column that is known of each
structure from the start.

Notation: see ``declared.records``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from nasgoat.acquisition.branch.block_codes import SummaryRun, add_summary, bound_codes
from nasgoat.acquisition.branch.cells.tables import find_largest_products, make_feature_columns
from nasgoat.acquisition.branch.declared.records import DeclaredSummary, DeclaredTables
from nasgoat.acquisition.branch.declared.search import DeclaredRun
from nasgoat.acquisition.branch.declared.structures import DeclaredBlock
from nasgoat.acquisition.branch.records import Floats, Integers, Run
from nasgoat.compiled import Threads
from nasgoat.graphs import GraphBatch
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.graph_counts import count_labels, find_richest_path, list_operations
from nasgoat.kernels.summaries import (
    NOTHING,
    STRUCTURE,
    Summary,
    count_ends,
    list_summaries,
    may_have_numbers,
)
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


@dataclass(frozen=True, eq=False)
class DeclaredCodes:
    """The codes of the blocks other than the paper's (Lemma 10), for structures of one size.

    Args:
        features: The features of the kernel.
        block: The structures.

    Example:
        >>> from nasgoat import molecules
        >>> from nasgoat.acquisition.branch.declared.structures import DeclaredListing
        >>> (block,) = DeclaredListing(molecules(2)).list_blocks()
        >>> codes = DeclaredCodes(FeatureMap(molecules(2), ("paths", "operations")), block)
        >>> len(codes.summaries)  # two of C, N, O and F that a single, double or triple bond joins
        22
    """

    features: FeatureMap
    block: DeclaredBlock

    @cached_property
    def summaries(self) -> list[Summary]:
        """The summaries to search on their own, those aside that degrees rule out."""
        space, n = self.block.space, self.block.n
        on_nodes, on_edges = count_labels(space)
        nodes = n - count_ends(space) if on_nodes else 0
        totals = [(nodes, int(e) if on_edges else 0) for e in np.unique(self.block.shapes.edges)]
        found = list_summaries(totals, (on_nodes, on_edges), self.features.decided_by)
        return [held for held in found if may_have_numbers(space, held.numbers)]

    def find(self, held: Summary) -> NDArray[np.uint8]:
        """The codes of every structure, shape (S, C), for graphs of this summary."""
        return add_summary(self.features, self._by_structure, held)

    def fits(self, held: Summary) -> Integers:
        """The structures that may have graphs of this summary."""
        on_nodes, on_edges = count_labels(self.block.space)
        found = np.ones(len(self.block.adjacency), dtype=bool)
        if held.numbers is not None and on_edges:
            found &= self.block.shapes.edges == sum(held.numbers[on_nodes:])
        if held.longest is not None:
            parts = held.longest[:on_nodes], held.longest[on_nodes:]
            for part, depth in zip(parts, self._depths, strict=True):
                if part:
                    found &= (depth <= sum(part)) & (depth >= max(part))
        return np.flatnonzero(found)

    def hold(self, held: Summary, tables: DeclaredTables) -> DeclaredSummary:
        """What the compiled search knows of all graphs of a summary."""
        none = np.zeros(0, dtype=np.int64)
        given = self.find(held) @ tables.codes
        if held.longest is None:
            return DeclaredSummary(given, none, none)
        on_nodes, _ = list_operations(self.block.space)
        nodes = np.full(tables.own.shape[0] - 1, -1, dtype=np.int64)
        nodes[on_nodes] = held.longest[: len(on_nodes)]
        edges = np.array(held.longest[len(on_nodes) :], dtype=np.int64)
        return DeclaredSummary(given, nodes, edges)

    @cached_property
    def _by_structure(self) -> NDArray[np.uint8]:
        shapes = self.block.shapes
        labels = np.argmax(shapes.allowed, axis=2)
        states = np.hstack([labels, np.zeros(shapes.ends.shape[:2], dtype=np.int64)])
        graphs = [self.block.make_graph(s, states[s]) for s in range(len(states))]
        return self.features.encode_decided(self.block.space.batch(graphs), STRUCTURE)

    @cached_property
    def _depths(self) -> tuple[Integers, Integers]:
        """The most nodes, and the most edges, with an operation on a path of each structure."""
        adjacency, roles = self.block.adjacency, self.block.roles
        batch = GraphBatch(adjacency, np.full(len(adjacency), self.block.n, dtype=np.int8))
        free, none = roles < 0, np.zeros(roles.shape, dtype=bool)
        on_nodes = find_richest_path(batch, free, free[:, None, :])
        return on_nodes.astype(np.int64), find_richest_path(batch, none, adjacency).astype(np.int64)


def start_declared(
    codes: DeclaredCodes, tables: DeclaredTables, floor: Callable[[], float], threads: Threads
) -> Run:
    """The search of declared graphs of one size, each summary on its own."""
    block = codes.block

    def start(held: Summary, roots: Floats | None = None) -> DeclaredRun:
        rows = None if held.numbers is None else block.hold_numbers(held.numbers)
        given, chosen = codes.hold(held, tables), codes.fits(held)
        run = DeclaredRun(block, tables, floor, threads, held=given, rows=rows, chosen=chosen)
        if roots is not None:
            run.search_below(roots)
        return run

    def bound(held: Summary) -> Iterator[Floats | None]:
        if not len(codes.fits(held)):
            yield np.full(len(block.adjacency), np.inf)
        else:
            yield from _bound_in_steps(start(held))

    if codes.summaries:
        every = DeclaredRun(block, tables, floor, threads)
        without = _bound_in_steps(every), bound_codes(tables.codes)
        return SummaryRun(block, codes.summaries, bound, start, floor, without)
    return start(NOTHING)


def _bound_in_steps(run: DeclaredRun) -> Iterator[Floats | None]:
    """Bounds of all structures at last, None whenever it may pause before."""
    while not run.bounded:
        run.go_on(np.inf)
        yield None
    yield run.roots
