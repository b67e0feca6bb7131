"""What the states of a block add to mean and norm, and which of them contradict each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.arrays import Floats, Integers, States, Tables
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.acquisition.branch.tables import split


def states_of(block: Block, tables: Tables) -> States:
    """What the states of a block add besides the changes of their labels."""
    if not block.prefixes:
        return _plain_states(block, tables.path_vector.shape[-1])
    size, labels = int(block.shapes.size[0]), block.labels
    paths = np.concatenate([tables.path_mean[size, ..., None], tables.path_vector[size]], axis=-1)
    source, out = block.label == labels, labels + 1
    code = np.where(source, 0, block.label + 1)
    added, fixed = [], []
    for tail in range(1, labels + 1):
        to_last = np.where(block.last[:, None] > 0, paths[block.last, code, tail], 0.0)
        both = to_last + paths[block.sink, code, out]
        # Centred, so that changes are short: what is not exact in the norm grows with them.
        inner, first = both[~source].mean(axis=0), both[source].mean(axis=0)
        ends = paths[0, out, out] + paths[0, tail, tail] + paths[1, tail, out]
        added.append(both - np.where(source[:, None], first, inner))
        fixed.append([ends, inner, first])
    mean, vector = split(np.array(added))
    part, part_vector = _parts(block, paths)
    return States(
        block.label,
        block.last,
        block.sink,
        mean,
        vector,
        np.ascontiguousarray(vector @ vector.swapaxes(1, 2)),
        part,
        part_vector,
        clashes(block, int(block.shapes.nodes[0]) + 2),
        *split(np.array(fixed)),
    )


def _plain_states(block: Block, r: int) -> States:
    """States that are labels and nothing else."""
    total = len(block.label)
    none = np.zeros(total, dtype=np.int64)
    return States(
        block.label,
        none,
        none,
        np.zeros((0, total)),
        np.zeros((0, total, r)),
        np.zeros((0, total, total)),
        np.zeros((total, 2), dtype=np.int64),
        np.zeros((0, 0, r)),
        np.zeros((1, 1, 1), dtype=np.int8),
        np.zeros((0, 3)),
        np.zeros((0, 3, r)),
    )


def _parts(block: Block, paths: Floats) -> tuple[Integers, Floats]:
    """The two parts of every state, and their vectors for each label of the last inner node."""
    labels = block.labels
    source, out = block.label == labels, labels + 1
    code = np.where(source, 0, block.label + 1)
    first, place = np.unique(np.stack([code, block.last]), axis=1, return_inverse=True)
    second, other = np.unique(np.stack([code, block.sink]), axis=1, return_inverse=True)
    vectors = []
    for tail in range(1, labels + 1):
        to_last = np.where(first[1][:, None] > 0, paths[first[1], first[0], tail], 0.0)
        to_sink = paths[second[1], second[0], out]
        both = to_last[place.ravel()] + to_sink[other.ravel()]
        inner, start = both[~source].mean(axis=0), both[source].mean(axis=0)
        to_sink = to_sink - np.where((second[0] == 0)[:, None], start, inner)
        vectors.append(np.concatenate([to_last, to_sink])[:, 1:])
    part = np.stack([place.ravel(), len(first[0]) + other.ravel()], axis=1)
    return np.ascontiguousarray(part.astype(np.int64)), np.ascontiguousarray(np.array(vectors))


def clashes(block: Block, n: int) -> NDArray[np.int8]:
    """Whether a node in one state can't be at distance d before a node in another.

    With a path of length d from u to v, u is at most d further than v from wherever v leads.
    """
    last, sink, d = block.last, block.sink, np.arange(n)[:, None, None]
    near, far = last[None, :, None], last[None, None, :]
    cut = (far > 0) & ((near == 0) | (near > d + far))
    cut |= sink[None, :, None] > d + sink[None, None, :]
    return np.ascontiguousarray(cut.astype(np.int8))
