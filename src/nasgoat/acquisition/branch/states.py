"""The states of nodes of a prefix: what they add to mean and norm, and which contradict each other.

In a structure a state is a label. In a prefix it is a label, a distance to the last inner node (0
for no path) and a distance to the sink; the label after the last one stands for the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import Floats, Integers, States, Tables
from nasgoat.acquisition.branch.tables import split_columns

if TYPE_CHECKING:
    from nasgoat.acquisition.branch.blocks import Block


class PrefixStates(NamedTuple):
    """Label, distance to the last inner node and distance to the sink of every state, (X,)."""

    label: Integers
    last: Integers
    sink: Integers


def list_prefix_states(labels: int, n: int) -> PrefixStates:
    """All states of a node in a prefix of graphs with n nodes.

    Every node is reached from the source, so the source has a path to the last inner node.

    Example:
        >>> states = list_prefix_states(1, 4)
        >>> list(zip(*(column.tolist() for column in states)))[:5]
        [(0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 0, 2), (1, 1, 1)]
    """
    states = []
    for label in range(labels + 1):
        source = label == labels
        longest = n - 2 if source else n - 3
        found = []
        for last in range(1 if source else 0, longest + 1):
            # Through the last inner node the sink is one step further.
            furthest = last + 1 if last else longest + 1
            found += [(last, sink) for sink in range(1, furthest + 1)]
        # By the path that a state needs within the prefix: what a node can be in comes first.
        found.sort(key=lambda state: state[0] or state[1])
        states += [(label, *state) for state in found]
    columns = np.ascontiguousarray(np.array(states, dtype=np.int64).T)
    return PrefixStates(*columns)


def measure_states(block: Block, tables: Tables) -> States | None:
    """What the states of prefixes add besides the changes of their labels; None for structures."""
    found = block.prefix_states
    if found is None:
        return None
    size, labels = int(block.shapes.size[0]), block.labels
    paths = np.concatenate([tables.path_mean[size, ..., None], tables.path_vector[size]], axis=-1)
    source, out = found.label == labels, labels + 1
    code = np.where(source, 0, found.label + 1)
    added, fixed = [], []
    for tail in range(1, labels + 1):
        to_last = np.where(found.last[:, None] > 0, paths[found.last, code, tail], 0.0)
        both = to_last + paths[found.sink, code, out]
        # Centred, so that changes are short: what is not exact in the norm grows with them.
        inner, first = both[~source].mean(axis=0), both[source].mean(axis=0)
        ends = paths[0, out, out] + paths[0, tail, tail] + paths[1, tail, out]
        added.append(both - np.where(source[:, None], first, inner))
        fixed.append([ends, inner, first])
    mean, vector = split_columns(np.array(added))
    fixed_mean, fixed_vector = split_columns(np.array(fixed))
    link, link_vector = _find_links(found, labels, paths)
    return States(
        label=found.label,
        last=found.last,
        sink=found.sink,
        mean=mean,
        vector=vector,
        gram=np.ascontiguousarray(vector @ vector.swapaxes(1, 2)),
        link=link,
        link_vector=link_vector,
        clash=_find_clashes(found, int(block.shapes.nodes[0]) + 2),
        fixed_mean=fixed_mean,
        fixed_vector=fixed_vector,
    )


def _find_links(found: PrefixStates, labels: int, paths: Floats) -> tuple[Integers, Floats]:
    """The two links of every state, and their vectors for each label of the last inner node."""
    source, out = found.label == labels, labels + 1
    code = np.where(source, 0, found.label + 1)
    first, place = np.unique(np.stack([code, found.last]), axis=1, return_inverse=True)
    second, other = np.unique(np.stack([code, found.sink]), axis=1, return_inverse=True)
    vectors = []
    for tail in range(1, labels + 1):
        to_last = np.where(first[1][:, None] > 0, paths[first[1], first[0], tail], 0.0)
        to_sink = paths[second[1], second[0], out]
        both = to_last[place.ravel()] + to_sink[other.ravel()]
        inner, start = both[~source].mean(axis=0), both[source].mean(axis=0)
        to_sink = to_sink - np.where((second[0] == 0)[:, None], start, inner)
        vectors.append(np.concatenate([to_last, to_sink])[:, 1:])
    link = np.stack([place.ravel(), len(first[0]) + other.ravel()], axis=1)
    return np.ascontiguousarray(link.astype(np.int64)), np.ascontiguousarray(np.array(vectors))


def _find_clashes(found: PrefixStates, n: int) -> NDArray[np.int8]:
    """Whether a node in one state can't be at distance d before a node in another, (n, X, X).

    With a path of length d from u to v, u is at most d further than v from wherever v leads.
    """
    d = np.arange(n)[:, None, None]
    near, far = found.last[None, :, None], found.last[None, None, :]
    cut = (far > 0) & ((near == 0) | (near > d + far))
    cut |= found.sink[None, :, None] > d + found.sink[None, None, :]
    return np.ascontiguousarray(cut.astype(np.int8))
