"""Random moves and neighbours of cells, from the list of their structures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasgoat.graphs import LabeledGraph

if TYPE_CHECKING:
    from nasgoat.spaces.cell_space import CellSpace

Matrices = NDArray[np.bool_]
_NEAR = 12  # structures that a cell moves to, those with the fewest other edges first


def change_one_part(
    space: CellSpace, graph: LabeledGraph, rng: np.random.Generator
) -> LabeledGraph:
    """A cell with one other operation or, about as often as one of them, another structure."""
    matrix, codes = space.take_apart(graph)
    near = _near_structures(space, matrix)
    parts = len(codes) if len(space.ops) > 1 else 0
    if not parts and not near:
        return graph
    place = int(rng.integers(parts + bool(near)))
    if place < parts:
        changed = list(codes)
        changed[place] = (changed[place] + int(rng.integers(1, len(space.ops)))) % len(space.ops)
        return space.assemble(matrix, changed)
    other = near[int(rng.integers(len(near)))]
    kept = _carry_over(space, matrix, codes, other)
    labels = [int(rng.integers(len(space.ops))) if code is None else code for code in kept]
    return space.assemble(other, labels)


def list_neighbours(space: CellSpace, graph: LabeledGraph) -> list[LabeledGraph]:
    """Every cell with one other operation, and the cells of near structures, each once."""
    matrix, codes = space.take_apart(graph)
    found = {space.key(graph): graph}
    for other in _changes(space, matrix, codes):
        found.setdefault(space.key(other), other)
    return list(found.values())[1:]


def _changes(space: CellSpace, matrix: Matrices, codes: Sequence[int]) -> Iterator[LabeledGraph]:
    for place, code in enumerate(codes):
        for other in range(len(space.ops)):
            if other != code:
                yield space.assemble(matrix, [*codes[:place], other, *codes[place + 1 :]])
    for structure in _near_structures(space, matrix):
        kept = _carry_over(space, matrix, codes, structure)
        for new in range(len(space.ops) if None in kept else 1):
            yield space.assemble(structure, [new if code is None else code for code in kept])


def _near_structures(space: CellSpace, matrix: Matrices) -> list[Matrices]:
    """The structures of this or a neighbouring size with the fewest other edges."""
    n = len(matrix)
    found: list[tuple[int, Matrices]] = []
    for m in (n - 1, n, n + 1):
        listed = space.list_structures(m) if m in space.sizes else None
        if listed is None or not len(listed):
            continue
        differs = (_embed(space, matrix, m) != listed).sum(axis=(1, 2))
        chosen = np.argsort(differs, kind="stable")[: _NEAR + 1]
        found += [(int(differs[i]), listed[i]) for i in chosen if m != n or differs[i]]
    found.sort(key=lambda pair: pair[0])
    least = found[0][0] if found else 0
    return [other for differs, other in found[:_NEAR] if differs <= least + 1]


def _embed(space: CellSpace, matrix: Matrices, m: int) -> Matrices:
    """The matrix cut or padded to m nodes; where labels are on nodes the sink stays last."""
    n, wide = len(matrix), np.zeros((m, m), dtype=bool)
    k = min(n, m)
    wide[:k, :k] = matrix[:k, :k]
    if space.labels_on == "nodes" and n != m:
        wide[:, :] = False
        wide[: k - 1, : k - 1] = matrix[: k - 1, : k - 1]
        wide[: k - 1, m - 1] = matrix[: k - 1, n - 1]
    return wide


def _carry_over(
    space: CellSpace, matrix: Matrices, codes: Sequence[int], other: Matrices
) -> list[int | None]:
    """The labels that another structure's variables keep; None for those that are new."""
    if space.labels_on == "nodes":
        return [codes[i] if i < len(codes) else None for i in range(space.count_variables(other))]
    known = dict(zip(map(tuple, np.argwhere(matrix).tolist()), codes, strict=True))
    return [known.get(tuple(edge)) for edge in np.argwhere(other).tolist()]
