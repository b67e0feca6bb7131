"""The limits of a space as rows that the compiled search prunes with.

Notation (``spaces/limits.py``)
    total = Σ node_ops[l] N_l + Σ edge_ops[l] E_l + nodes · n + edges · e + depth · D

A structure fixes n, e and D, so a row is a constant for each shape plus a cost for each label. In a
prefix the edges to the last two nodes belong to the states, and D is the source's distance to the
sink, which its state says.
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.arrays import Floats, Limits
from nasgoat.acquisition.branch.shapes import Block
from nasgoat.spaces import NodeLabeledSpace, SearchSpace
from nasgoat.spaces.limits import TOLERANCE, Limit


def limits_of(block: Block) -> Limits:
    """All limits of the block's space, as totals that may not exceed caps."""
    limits = list(block.space.limits)
    if block.prefixes and isinstance(block.space, NodeLabeledSpace):
        limits.append(Limit("max_edges", "<=", block.space.edge_limit, edges=1.0))
    rows = [(limit, sign) for limit in limits for sign in _signs(limit)]
    caps = [s * x.bound + TOLERANCE * max(1.0, abs(x.bound)) for x, s in rows]
    total, shapes, states = len(rows), len(block.shapes.nodes), len(block.label)
    tails = block.labels if block.prefixes else 0
    return Limits(
        np.array(caps),
        _stacked([sign * _state_costs(block, limit) for limit, sign in rows], (total, states)),
        _stacked([sign * _shape_costs(block, limit) for limit, sign in rows], (total, shapes)),
        _stacked([sign * _tail_costs(block, limit) for limit, sign in rows], (total, tails)),
    )


def _signs(limit: Limit) -> tuple[float, ...]:
    return {"<=": (1.0,), ">=": (-1.0,), "==": (1.0, -1.0)}[limit.sense]


def _stacked(rows: list[Floats], shape: tuple[int, int]) -> Floats:
    return np.ascontiguousarray(np.array(rows, dtype=float).reshape(shape))


def _label_costs(space: SearchSpace, limit: Limit) -> Floats:
    """Cost of each label of a variable."""
    if isinstance(space, NodeLabeledSpace):
        return limit.node_coefficients(space.node_vocabulary)[1:-1]
    return limit.edge_coefficients(space.edge_vocabulary)


def _state_costs(block: Block, limit: Limit) -> Floats:
    costs = _label_costs(block.space, limit)
    if not block.prefixes:
        return costs
    source = block.label == block.labels
    known = np.append(costs, 0.0)[block.label] + limit.depth * np.where(source, block.sink, 0)
    joined = (block.last == 1).astype(float) + (block.sink == 1)
    found: Floats = known + limit.edges * joined
    return found


def _tail_costs(block: Block, limit: Limit) -> Floats:
    """Of the last inner node of a prefix, and of its edge to the sink."""
    if not block.prefixes:
        return np.zeros(0)
    return _label_costs(block.space, limit) + limit.edges


def _shape_costs(block: Block, limit: Limit) -> Floats:
    """What is known of every shape."""
    space, shapes = block.space, block.shapes
    if not isinstance(space, NodeLabeledSpace):
        return _indexed_costs(block, limit)
    ends = limit.node_coefficients(space.node_vocabulary)[[0, -1]].sum()
    nodes = shapes.nodes + (2 if block.prefixes else 0)
    found: Floats = limit.edges * shapes.edges + limit.nodes * nodes + ends
    if not block.prefixes:
        found = found + limit.depth * shapes.distance[np.arange(len(nodes)), 0, nodes - 1]
    return found


def _indexed_costs(block: Block, limit: Limit) -> Floats:
    """From the totals of graphs whose edges all carry the first label."""
    labels = np.zeros(block.shapes.ends.shape[1], dtype=np.int64)
    first = [block.graph(s, labels) for s in block.shapes.home.tolist()]
    totals = block.space.with_limits([limit]).limit_totals(first)[0]
    found: Floats = totals - _label_costs(block.space, limit)[0] * block.shapes.variables
    return found
