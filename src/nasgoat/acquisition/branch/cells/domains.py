"""Which states each variable can still take: limits as rows, and rules about distances, compiled.

Notation
    total = Σ node_ops[l] N_l + Σ edge_ops[l] E_l + nodes · n + edges · e + depth · D: what a limit
                      of the space bounds (``spaces/limits.py``)
    last(x), sink(x)  distance of a node in state x to the last inner node (0: no path) and the sink

A structure fixes n, e and D, so a row is a constant for each shape plus a cost for each label,
which may differ by edge. In a prefix the edges to the last two nodes belong to the states, and D is
the source's distance to the sink, which its state says. Every rule only removes states that no
graph of the space has (docs/branch-and-bound.md, "Why nothing is lost").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nasgoat.acquisition.branch.cells.records import LimitRows, Prefixes, Shapes, Stack
from nasgoat.acquisition.branch.cells.structures import CellBlock
from nasgoat.acquisition.branch.records import Floats, Index, Integers
from nasgoat.compiled import compiled_apart, compiled_inline
from nasgoat.spaces.limits import SIGNS, TOLERANCE, Limit

EPSILON = 1e-9  # limits with decimal coefficients hold up to this
_FAR = 1000  # more than any distance


def make_limit_rows(
    block: CellBlock,
    floating: bool = False,
    more: Sequence[Limit] = (),
    longest: Sequence[int] = (),
) -> LimitRows:
    """All limits of the block's space as rows; none where nodes float: too little is known then.

    Args:
        block: The shapes.
        floating: Whether some of their nodes float.
        more: Limits in addition to those of the space.
        longest: The most of each label on a path, where that is held.
    """
    shapes, prefix_states = block.shapes, block.prefix_states
    limits = [*block.space.all_limits, *more]
    if prefix_states is not None:
        limits.append(Limit("max_edges", "<=", block.space.edge_limit, edges=1.0))
    rows = [] if floating else [(x, sign) for x in limits for sign in SIGNS[x.sense]]
    total, n, place = len(rows), shapes.distance.shape[1], np.zeros(shapes.twin.shape, np.int64)
    if shapes.ends.shape[1]:
        place = shapes.ends.astype(np.int64) @ [n, 1]
    states = block.labels if prefix_states is None else len(prefix_states.label)
    found = LimitRows(
        cap=np.zeros(total),
        state=np.zeros((total, n * n if shapes.ends.shape[1] else 1, states)),
        place=place,
        shape=np.zeros((total, len(shapes.nodes))),
        last_label=np.zeros((total, block.labels)),
        longest=np.array(longest, dtype=np.int64),
    )
    for k, (limit, sign) in enumerate(rows):
        costs = _list_label_costs(block, limit)
        found.cap[k] = sign * limit.bound + TOLERANCE * max(1.0, abs(limit.bound))
        found.state[k] = sign * _list_state_costs(block, limit, costs)
        found.shape[k] = sign * _list_shape_costs(block, limit)
        found.last_label[k] = sign * (costs[0] + limit.edges)
    return found


def _list_label_costs(block: CellBlock, limit: Limit) -> Floats:
    """Cost of each label, one row for all nodes or a row for each edge u · n + v."""
    space, n = block.space, block.shapes.distance.shape[1]
    if space.labels_on == "nodes":
        return limit.node_coefficients(space.ops)[None]
    return np.array([limit.edge_cost(u, v, space.ops) for u in range(n) for v in range(n)])


def _list_state_costs(block: CellBlock, limit: Limit, costs: Floats) -> Floats:
    """Cost of each state, by place, from the costs of labels."""
    found = block.prefix_states
    if found is None:
        return costs
    source = found.label == block.labels
    known = np.append(costs[0], 0.0)[found.label] + limit.depth * np.where(source, found.sink, 0)
    joined = (found.last == 1).astype(float) + (found.sink == 1)
    return np.asarray(known + limit.edges * joined)[None]


def _list_shape_costs(block: CellBlock, limit: Limit) -> Floats:
    """What is known of every shape."""
    space, shapes = block.space, block.shapes
    more = 0 if block.prefix_states is None else 2
    found: Floats = limit.edges * block.adjacency.sum(axis=(1, 2))
    found = found + limit.nodes * (shapes.nodes + more)
    if space.node_vocabulary:
        found = found + limit.node_coefficients(space.node_vocabulary)[[0, -1]].sum()
    if block.prefix_states is None and limit.depth:
        for n in np.unique(shapes.nodes).tolist():
            rows = shapes.nodes == n
            u, v = np.array(space.end_pairs(n)).T
            found[rows] += limit.depth * shapes.distance[rows][:, u, v].max(axis=1)
    return found


@compiled_inline
def open_domains(shapes: Shapes, prefixes: Prefixes | None, stack: Stack, s: Index) -> None:
    """Give every variable of shape s all states that it can take by itself."""
    p, labels = shapes.home[s], stack.move.shape[2]
    total_states = labels if prefixes is None else len(prefixes.states.label)
    for i in range(shapes.variables[p]):
        stack.states[i] = -1
        total = 0
        for x in range(total_states):
            if prefixes is not None:
                states, reach = prefixes.states, prefixes.states.reach[p, i]
                last, sink = states.last[x], states.sink[x]
                if (states.label[x] == labels) != (i == 0) or (last or sink) > reach + 1:
                    continue
                if len(states.allowed) and states.allowed[s, i, x] == 0:
                    continue
                # Of several inner nodes without inner successor the last one has the largest label.
                if last == 0 and reach == 0 and states.label[x] > shapes.last_label[s]:
                    continue
            stack.domain[0, i, total] = x
            stack.move_bound[0, i, total] = -1e300
            total += 1
        stack.width[0, i] = total


@compiled_inline
def narrow_domains(
    shapes: Shapes, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index, threshold: float
) -> bool:
    """Domains of depth t + 1 once the variable of depth t has its state; False if one is empty.

    Twins keep the order of their states, states that contradict the new one go, and so do those
    whose bound is not below the threshold.
    """
    p, i = shapes.home[s], stack.variable[t]
    state = stack.states[i]
    for j in range(shapes.variables[p]):
        if stack.states[j] >= 0:
            continue
        twins = shapes.twin[p, j] == shapes.twin[p, i]
        total = 0
        for c in range(stack.width[t, j]):
            x = stack.domain[t, j, c]
            fits = stack.move_bound[t, j, c] < threshold
            if twins and (x < state if j > i else x > state):
                fits = False
            if prefixes is not None:
                clash = prefixes.states.clash
                ahead, behind = shapes.distance[p, i, j], shapes.distance[p, j, i]
                fits = fits and (ahead <= 0 or clash[ahead, state, x] == 0)
                fits = fits and (behind <= 0 or clash[behind, x, state] == 0)
            if fits:
                stack.domain[t + 1, j, total] = x
                stack.origin[t + 1, j, total] = c
                total += 1
        stack.width[t + 1, j] = total
        if total == 0:
            return False
    return True


@compiled_inline
def _is_supported(shapes: Shapes, prefixes: Prefixes, p: Index, i: Index, x: Index) -> bool:
    """Whether some successor of node i can be on shortest paths as long as state x says."""
    states, mask = prefixes.states, prefixes.scratch.mask
    last, sink = states.last[x], states.sink[x]
    to_last = last <= 1
    to_sink = sink == 1 or (sink == 2 and last == 1)
    for j in range(i + 1, shapes.variables[p]):
        # Where the distance is open, an edge is possible.
        if shapes.distance[p, i, j] == 1 or shapes.distance[p, i, j] >= len(states.clash):
            to_last = to_last or mask[j, 0] >> (last - 1) & 1 == 1
            to_sink = to_sink or mask[j, 1] >> (sink - 1) & 1 == 1
    return bool(to_last and to_sink)


@compiled_inline
def keep_supported(shapes: Shapes, prefixes: Prefixes, stack: Stack, s: Index, t: Index) -> bool:
    """Drop distances that no successor can bring about; False if a domain runs empty."""
    p, states, mask = shapes.home[s], prefixes.states, prefixes.scratch.mask
    # From the last node to the first: the successors of a node are done before it.
    for back in range(shapes.variables[p]):
        i = shapes.variables[p] - 1 - back
        mask[i, 0] = mask[i, 1] = 0
        known = stack.states[i]
        total = 0
        for c in range(1 if known >= 0 else stack.width[t, i]):
            x = known if known >= 0 else stack.domain[t, i, c]
            if _is_supported(shapes, prefixes, p, i, x):
                mask[i, 0] |= 1 << states.last[x]
                mask[i, 1] |= 1 << states.sink[x]
                if known < 0:
                    stack.domain[t, i, total] = x
                    stack.origin[t, i, total] = stack.origin[t, i, c]
                total += 1
        if known < 0:
            stack.width[t, i] = total
        if total == 0:
            return False
    return True


@compiled_inline
def _find_least_cost(
    limits: LimitRows, stack: Stack, k: Index, t: Index, i: Index, at: Index
) -> float:
    """What variable i adds to limit k at least."""
    if stack.states[i] >= 0:
        known: float = limits.state[k, at, stack.states[i]]
        return known
    least = 1e300
    for c in range(stack.width[t, i]):
        least = min(least, limits.state[k, at, stack.domain[t, i, c]])
    return least


@compiled_apart
def keep_affordable(
    shapes: Shapes, limits: LimitRows, prefixes: Prefixes | None, stack: Stack, s: Index, t: Index
) -> bool:
    """Drop states that break a limit whatever the others are; False if none is left."""
    p, last_label = shapes.home[s], shapes.last_label[s]
    for k in range(len(limits.cap)):
        spent = limits.shape[k, p]
        if last_label >= 0:
            spent += limits.last_label[k, last_label]
        for i in range(shapes.variables[p]):
            spent += _find_least_cost(limits, stack, k, t, i, limits.place[p, i])
        room = limits.cap[k] + EPSILON - spent
        if room < 0.0:
            return False
        for i in range(shapes.variables[p]):
            if stack.states[i] >= 0:
                continue
            place = limits.place[p, i]
            most = room + _find_least_cost(limits, stack, k, t, i, place)
            total = 0
            for c in range(stack.width[t, i]):
                x = stack.domain[t, i, c]
                if limits.state[k, place, x] <= most:
                    stack.domain[t, i, total] = x
                    stack.origin[t, i, total] = stack.origin[t, i, c]
                    total += 1
            stack.width[t, i] = total
    if prefixes is not None:  # the labels on paths are held for structures alone
        return True
    if len(limits.longest) == 0:
        return True
    return has_longest(shapes, limits.longest, stack.states, stack.richest, p)


@compiled_apart
def has_longest(
    shapes: Shapes, longest: Integers, labels: Integers, richest: Integers, p: Index
) -> bool:
    """Whether open labels (-1) of a structure can make these the most of each label on a path.

    For each label two paths are looked for: the richest one if no open variable gets the label, and
    if all of them do. What is held must lie between. ``richest`` is scratch, (2, n).
    """
    on_edges = shapes.ends.shape[1] > 0
    for x in range(len(longest)):
        richest[:] = 0
        if on_edges:
            for i in range(shapes.variables[p]):  # by tails: what leads to a tail comes first
                u, v, y = shapes.ends[p, i, 0], shapes.ends[p, i, 1], labels[i]
                for end in range(2):
                    more = 1 if y == x or (end == 1 and y < 0) else 0
                    richest[end, v] = max(richest[end, v], richest[end, u] + more)
        else:
            for v in range(1, shapes.nodes[p] - 1):
                y = labels[v - 1]
                for end in range(2):
                    for u in range(1, v):
                        if shapes.distance[p, u, v] == 1:
                            richest[end, v] = max(richest[end, v], richest[end, u])
                    richest[end, v] += 1 if y == x or (end == 1 and y < 0) else 0
        least, most = np.int64(0), np.int64(0)
        for v in range(shapes.nodes[p]):
            least, most = max(least, richest[0, v]), max(most, richest[1, v])
        if least > longest[x] or most < longest[x]:
            return False
    return True


@compiled_inline
def is_consistent(shapes: Shapes, prefixes: Prefixes, stack: Stack, s: Index) -> bool:
    """Whether the distances of all states are those of the graph that they describe."""
    p, states = shapes.home[s], prefixes.states
    for i in range(shapes.variables[p]):
        last, sink = _FAR, _FAR
        for j in range(i, shapes.variables[p]):
            d = shapes.distance[p, i, j]
            if d > 0 or i == j:
                x = stack.states[j]
                if states.last[x] == 1:
                    last = min(last, d + 1)
                if states.sink[x] == 1:
                    sink = min(sink, d + 1)
        sink = min(sink, last + 1)
        x = stack.states[i]
        if sink != states.sink[x] or (0 if last == _FAR else last) != states.last[x]:
            return False
    return True
