"""The two parts of a vector that Lemma 2 treats each on its own, chosen for shapes of one kind.

Notation (docs/branch-and-bound.md)
    U, W  sums of changes and of interactions;  S_U, S_W  their second moments, one by one
    E     the matrix for which tr(E S_U) + tr(E⁻¹ S_W) is least: S_U⁻¹ # S_W, a geometric mean

Any orthonormal basis gives the same norms. In that of the eigenvectors of E, changes are long in
the entries of its small eigenvalues and interactions in those of its large ones. The first entries
become the *first part*, where √(tr S_U · tr S_W), added up over the parts, is least.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.cells.records import Tables
from nasgoat.acquisition.branch.cells.reference import measure_changes, no_changes
from nasgoat.acquisition.branch.cells.structures import Block
from nasgoat.acquisition.branch.cells.tables import measure_states
from nasgoat.acquisition.branch.records import Floats

_LONGEST = 400  # entries of vectors for which a basis is looked for: that takes their cube
_REGULAR = 1e-2  # of the trace, spread over all directions: none is without length


def split_vectors(tables: Tables, block: Block) -> Tables:
    """The tables in the basis, and with the parts, that suit the shapes of a block of prefixes."""
    if not can_split(tables):
        return turn_tables(tables, None, 0)
    changes, interactions = _measure_changes(tables, block), _measure_interactions(tables, block)
    if not np.trace(changes) > 0 or not np.trace(interactions) > 0:
        return turn_tables(tables, None, 0)
    basis = _find_basis(changes, interactions)
    long = np.einsum("ij,ik,kj->j", basis, changes, basis, optimize=True)
    wide = np.einsum("ij,ik,kj->j", basis, interactions, basis, optimize=True)
    return turn_tables(tables, basis, _find_split(long, wide))


def can_split(tables: Tables) -> bool:
    """Whether a basis is looked for: not where vectors are very long."""
    return bool(tables.option.shape[-1] <= _LONGEST)


def turn_tables(tables: Tables, basis: Floats | None, split: int) -> Tables:
    """The same columns with Ω of two parts, their vectors in another orthonormal basis.

    Args:
        tables: The columns.
        basis: The basis as columns; that of the tables if None.
        split: Entries of the first part.
    """

    def turn(columns: Floats) -> Floats:
        if basis is None:
            return columns
        return np.concatenate([columns[..., :1], columns[..., 1:] @ basis], axis=-1)

    pairs = tables.pairs._replace(path=turn(tables.pairs.path), both=turn(tables.pairs.both))
    turned = tables._replace(
        pairs=pairs, shift=turn(tables.shift), option=turn(tables.option), split=split
    )
    parts = slice(split), slice(split, None)
    if is_labelled(tables):
        return turned._replace(pull=np.stack([_bound_pulls(turned, part) for part in parts]))
    spread = [_bound_products(turned, part) for part in parts]
    return turned._replace(spread=np.stack(spread)[:, :, None])


def is_labelled(tables: Tables) -> bool:
    """Whether tables of floating nodes are for prefixes all of whose labels are known."""
    return tables.named == 0


def _bound_pulls(tables: Tables, part: slice) -> Floats:
    """Products of an option with the best option of another pair, (kinds, n, kinds + 1).

    A kind is a code with both labels, or from the source with one. The last column has the squares
    of the options.
    """
    codes, labels, width = len(tables.option) // 2, tables.option.shape[1], tables.option.shape[3]
    pairs = tables.option[:codes, ..., 1:].reshape(codes * labels**2, width, -1)
    ends = tables.option[codes:, 0, ..., 1:].reshape(codes * labels, width, -1)
    vectors = np.concatenate([pairs, ends])[..., part]
    totals = tables.options[-2 * codes :]
    totals = np.concatenate(
        [np.repeat(totals[:codes], labels**2), np.repeat(totals[codes:], labels)]
    )
    used = np.arange(width) < totals[:, None]
    pulls = np.empty((len(vectors), width, len(vectors) + 1))
    for kind, options in enumerate(vectors):
        products = np.tensordot(vectors, options[: totals[kind]], axes=(2, 1))
        pulls[:, :, kind] = products.max(axis=2)
    pulls[:, :, -1] = (vectors**2).sum(axis=2)
    pulls[~used] = 0.0
    return pulls


def _bound_products(tables: Tables, part: slice) -> Floats:
    """The terms of Ω in one part of the entries: (2, codes, codes, L, L), by tails and by heads.

    A product of two interactions is at most its largest value given both tails, and given both
    heads, so it is at most half the sum. The source has no label: there the heads decide.
    """
    vectors, labels = list_interactions(tables), tables.option.shape[1]
    total = len(vectors)
    codes = len(tables.option) // 3
    source = range(total - 2 * codes, total - codes)
    terms = np.zeros((2, total, total, labels, labels))
    for c in range(1, total):
        first = vectors[c][..., part]
        for d in range(1, c + 1):
            second = vectors[d][..., part]
            products = np.tensordot(first, second, axes=(3, 3))
            heads = products.max(axis=(0, 2, 3, 5))
            if c not in source and d not in source:
                terms[0, c, d] = 0.5 * products.max(axis=(1, 2, 4, 5))
                heads *= 0.5
            terms[1, c, d] = heads
            terms[:, d, c] = terms[:, c, d].swapaxes(1, 2)
    return terms


def list_interactions(tables: Tables) -> list[Floats]:
    """For every distance, and every code of an open one, its interactions: (L, L, options, r).

    The codes after the distances are those between labelled nodes, those from the source, and those
    between labelled nodes of which one label is known.
    """
    known = len(tables.options) - len(tables.option)
    codes = len(tables.option) // (2 if is_labelled(tables) else 3)
    vectors = [both[:, :, None, 1:] for both in tables.pairs.both[0, :known]]
    for c, (option, total) in enumerate(zip(tables.option, tables.options[known:], strict=True)):
        source = codes <= c < 2 * codes
        vectors.append(option[: 1 if source else None, :, :total, 1:])
    return vectors


def _measure_changes(tables: Tables, block: Block) -> Floats:
    """S_U: of changes by labels, and by what a state has with the last two nodes."""
    if is_labelled(tables):
        changes = no_changes(tables)
    else:
        changes = measure_changes(tables, block.shapes, block.classes, block.labels)
    states = measure_states(block, tables, changes)
    total = np.zeros((changes.move.shape[-1] - 1,) * 2)
    for columns in (changes.move, states.added if states is not None else changes.move[:0]):
        vectors = columns[..., 1:].reshape(-1, len(total))
        total += vectors.T @ vectors / max(len(vectors), 1)
    return total


def _measure_interactions(tables: Tables, block: Block) -> Floats:
    """S_W: of interactions at all distances, as often as shapes have them."""
    vectors, distance = list_interactions(tables), block.shapes.distance.astype(np.int64)
    often = np.bincount(distance[:, 1:].ravel(), minlength=len(vectors))
    often += np.bincount(distance[:, 0].ravel(), minlength=len(vectors)) * (tables.options > 0)
    often[0] = 0  # no pair
    total = np.zeros((tables.option.shape[-1] - 1,) * 2)
    for d in np.flatnonzero(often).tolist():
        rows = vectors[d].reshape(-1, len(total))
        total += often[d] / often.sum() * (rows.T @ rows) / len(rows)
    return total


def _find_basis(changes: Floats, interactions: Floats) -> Floats:
    """The eigenvectors of E as columns, those of small eigenvalues first."""
    eye = np.eye(len(changes)) * (_REGULAR / len(changes))
    values, vectors = np.linalg.eigh(changes / np.trace(changes) + eye)
    root, inverse = (vectors * values**power @ vectors.T for power in (0.5, -0.5))
    within = root @ (interactions / np.trace(interactions) + eye) @ root
    values, vectors = np.linalg.eigh(within)
    middle = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    basis: Floats = np.linalg.eigh(inverse @ middle @ inverse)[1]
    return basis


def _find_split(long: Floats, wide: Floats) -> int:
    """How many of the first entries form the first part."""
    long, wide = np.maximum(long, 0.0), np.maximum(wide, 0.0)
    before = np.sqrt(np.cumsum(long) * np.cumsum(wide))
    after = np.sqrt(np.cumsum(long[::-1]) * np.cumsum(wide[::-1]))[::-1]
    return int(np.argmin(before[:-1] + after[1:])) + 1 if len(long) > 1 else 0
