"""The limits of a space as rows that the compiled searches prune with.

Notation (``spaces/limits.py``)
    total = Σ node_ops[l] N_l + Σ edge_ops[l] E_l + nodes · n + edges · e + depth · D

A structure fixes n, e and D, so a row is a constant for each shape plus a cost for each label,
which may differ by edge. In a prefix the edges to the last two nodes belong to the states, and D is
the source's distance to the sink, which its state says.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.blocks import Block
from nasgoat.acquisition.branch.records import Floats, Integers, LimitRows
from nasgoat.spaces.limits import TOLERANCE, Limit

EPSILON = 1e-9  # limits with decimal coefficients hold up to this
_SIGNS = {"<=": (1.0,), ">=": (-1.0,), "==": (1.0, -1.0)}


def make_limit_rows(block: Block) -> LimitRows:
    """All limits of the block's space, as totals that may not exceed caps."""
    limits = list(block.space.all_limits)
    if block.prefix_states is not None:
        limits.append(Limit("max_edges", "<=", block.space.edge_limit, edges=1.0))
    rows = [(limit, sign) for limit in limits for sign in _SIGNS[limit.sense]]
    if not rows:
        return no_limit_rows(block)
    return LimitRows(
        cap=np.array([s * x.bound + TOLERANCE * max(1.0, abs(x.bound)) for x, s in rows]),
        state=np.stack([sign * _state_costs(block, limit) for limit, sign in rows]),
        place=_number_places(block),
        shape=np.stack([sign * _shape_costs(block, limit) for limit, sign in rows]),
        last_label=np.stack([sign * _last_costs(block, limit) for limit, sign in rows]),
    )


def no_limit_rows(block: Block) -> LimitRows:
    """No rows at all: nothing is said about floating nodes, for example."""
    shapes, found = block.shapes, block.prefix_states
    states = block.labels if found is None else len(found.label)
    return LimitRows(
        cap=np.zeros(0),
        state=np.zeros((0, 1, states)),
        place=np.zeros(shapes.twin.shape, dtype=np.int64),
        shape=np.zeros((0, len(shapes.nodes))),
        last_label=np.zeros((0, 0 if found is None else block.labels)),
    )


def _number_places(block: Block) -> Integers:
    """For each variable the row of ``_label_costs`` that holds for it."""
    shapes = block.shapes
    if block.space.labels_on == "nodes":
        return np.zeros(shapes.twin.shape, dtype=np.int64)
    ends, n = shapes.ends.astype(np.int64), shapes.distance.shape[1]
    return np.ascontiguousarray(ends[:, :, 0] * n + ends[:, :, 1])


def _label_costs(block: Block, limit: Limit) -> Floats:
    """Cost of each label, one row for all nodes or a row for each edge u · n + v."""
    space, n = block.space, block.shapes.distance.shape[1]
    if space.labels_on == "nodes":
        return limit.node_coefficients(space.ops)[None]
    return np.array([limit.edge_cost(u, v, space.ops) for u in range(n) for v in range(n)])


def _state_costs(block: Block, limit: Limit) -> Floats:
    """Cost of each state, by place."""
    costs, found = _label_costs(block, limit), block.prefix_states
    if found is None:
        return costs
    source = found.label == block.labels
    known = np.append(costs[0], 0.0)[found.label] + limit.depth * np.where(source, found.sink, 0)
    joined = (found.last == 1).astype(float) + (found.sink == 1)
    return np.asarray(known + limit.edges * joined)[None]


def _last_costs(block: Block, limit: Limit) -> Floats:
    """Of the last inner node of a prefix, and of its edge to the sink."""
    if block.prefix_states is None:
        return np.zeros(0)
    return np.asarray(_label_costs(block, limit)[0] + limit.edges)


def _shape_costs(block: Block, limit: Limit) -> Floats:
    """What is known of every shape."""
    space, shapes = block.space, block.shapes
    more = 0 if block.prefix_states is None else 2
    found: Floats = limit.edges * block.adjacency.sum(axis=(1, 2)) + limit.nodes * (
        shapes.nodes + more
    )
    if space.node_vocabulary:
        found = found + limit.node_coefficients(space.node_vocabulary)[[0, -1]].sum()
    if block.prefix_states is None and limit.depth:
        for n in np.unique(shapes.nodes).tolist():
            rows = shapes.nodes == n
            u, v = np.array(space.end_pairs(n)).T
            found[rows] += limit.depth * shapes.distance[rows][:, u, v].max(axis=1)
    return found
