"""Which labels nodes and edges can still take: degrees, twins and limits, compiled.

Notation: see ``records``. Every rule only removes labels that no graph of the space has,
or of which an isomorphic copy remains (docs/branch-and-bound.md, "Why nothing is lost").
"""

from __future__ import annotations

import numpy as np

from nasgoat.acquisition.branch.cells.domains import EPSILON
from nasgoat.acquisition.branch.declared.records import DeclaredProblem, DeclaredStack, DegreeRules
from nasgoat.acquisition.branch.records import Index
from nasgoat.compiled import compiled_apart, compiled_inline


@compiled_inline
def find_least_weight(rules: DegreeRules, u: Index, v: Index) -> int:
    """The least that an edge adds to the degrees of its ends."""
    least = 1 << 40
    for x in range(len(rules.weight)):
        if rules.edge[u, v, x]:
            least = min(least, rules.weight[x])
    return least


@compiled_apart
def _measure_loads(problem: DeclaredProblem, stack: DeclaredStack, s: Index) -> None:
    """Least and largest degrees that the labels of edges so far leave to every node."""
    shapes, rules, load = problem.shapes, problem.rules, stack.load
    n = shapes.allowed.shape[1]
    load[:] = 0
    for e in range(shapes.edges[s]):
        u, v, x = shapes.ends[s, e, 0], shapes.ends[s, e, 1], stack.label[n + e]
        low, high = rules.weight[x], rules.weight[x]
        if x < 0:
            low, high = find_least_weight(rules, u, v), 0
            for y in range(len(rules.weight)):
                if rules.edge[u, v, y]:
                    high = max(high, rules.weight[y])
        for end in range(2):
            load[1, end, u] += low if end == 0 else high
            load[0, end, v] += low if end == 0 else high
            if not rules.directed[0]:
                load[0, end, u] += low if end == 0 else high
                load[1, end, v] += low if end == 0 else high


@compiled_apart
def narrow_labels(
    problem: DeclaredProblem, stack: DeclaredStack, s: Index, t: Index, threshold: float
) -> bool:
    """Domains of depth t from those of the depth below; False if one is empty.

    A variable with one state left gets it at once.
    """
    n, edges = problem.shapes.allowed.shape[1], problem.shapes.edges[s]
    stack.width[t] = 0
    again = True
    while again:
        again = False
        _measure_loads(problem, stack, s)
        for i in range(n + edges):
            if not _is_open(problem, stack, s, i):
                continue
            total = _narrow_domain(problem, stack, s, t, i, threshold)
            if total == 0:
                return False
            if total == 1:
                stack.label[i], stack.since[i] = stack.domain[t, i, 0], t
                again = True
        if not again and len(problem.rows.cap) > 0:
            kept = _keep_affordable(problem, stack, s, t)
            if kept < 0:
                return False
            again = kept > 0
    return has_declared_longest(problem, stack, s)


@compiled_inline
def _is_open(problem: DeclaredProblem, stack: DeclaredStack, s: Index, i: Index) -> bool:
    """Whether i is a variable without a label; an edge is one once both its ends have labels."""
    n = problem.shapes.allowed.shape[1]
    if stack.label[i] >= 0:
        return False
    if i < n:
        return True
    u, v = problem.shapes.ends[s, i - n, 0], problem.shapes.ends[s, i - n, 1]
    return bool(stack.label[u] >= 0 and stack.label[v] >= 0)


@compiled_inline
def _narrow_domain(
    problem: DeclaredProblem, stack: DeclaredStack, s: Index, t: Index, i: Index, threshold: float
) -> int:
    """The labels that variable i may still take at depth t; returns how many.

    They are some of those so far at this depth; else of those of the depth below whose bounds beat
    the threshold; else, for a new variable, of all.
    """
    fresh = stack.width[t, i] == 0
    below = fresh and t > 0 and stack.width[t - 1, i] > 0
    many, total = stack.width[t, i], 0
    if fresh:
        many = stack.width[t - 1, i] if below else stack.move_bound.shape[2]
    for c in range(many):
        x, origin = c, -1
        if below:
            if stack.move_bound[t - 1, i, c] >= threshold:
                continue
            x, origin = stack.domain[t - 1, i, c], c
        elif not fresh:
            x, origin = stack.domain[t, i, c], stack.origin[t, i, c]
        if may_take(problem, stack, s, i, x):
            stack.domain[t, i, total], stack.origin[t, i, total] = x, origin
            total += 1
    stack.width[t, i] = total
    return total


@compiled_apart
def may_take(problem: DeclaredProblem, stack: DeclaredStack, s: Index, i: Index, x: Index) -> bool:
    """Whether the labels so far let node or edge i have label x."""
    shapes, rules, load = problem.shapes, problem.rules, stack.load
    n = shapes.allowed.shape[1]
    if i < n:
        if x >= shapes.allowed.shape[2] or not shapes.allowed[s, i, x]:
            return False
        for side in range(2):
            if load[side, 0, i] > rules.high[side, x] or load[side, 1, i] < rules.low[side, x]:
                return False
        if shapes.twin[s, i] >= 0:
            for j in range(n):
                y = stack.label[j]
                twins = j != i and shapes.twin[s, j] == shapes.twin[s, i]
                if twins and y >= 0 and (y > x if j < i else y < x):
                    return False
        return True
    u, v = shapes.ends[s, i - n, 0], shapes.ends[s, i - n, 1]
    if x >= len(rules.weight) or not rules.edge[u, v, x]:
        return False
    least = find_least_weight(rules, u, v)
    more = rules.weight[x] - least
    a, b = stack.label[u], stack.label[v]
    return bool(
        load[1, 0, u] + more <= rules.high[1, a] and load[0, 0, v] + more <= rules.high[0, b]
    )


@compiled_apart
def _keep_affordable(problem: DeclaredProblem, stack: DeclaredStack, s: Index, t: Index) -> int:
    """Drop states that break a limit whatever the others are.

    Returns -1 if no labels are left, 1 if a variable has one state left, which it gets; else 0.
    """
    rows, shapes = problem.rows, problem.shapes
    n, changed = shapes.allowed.shape[1], 0
    for k in range(len(rows.cap)):
        spent = rows.shape[k, s]
        for i in range(n + shapes.edges[s]):
            spent += _find_least_cost(problem, stack, k, s, t, i)
        room = rows.cap[k] + EPSILON - spent
        if room < 0.0:
            return -1
        for i in range(n + shapes.edges[s]):
            if stack.label[i] >= 0 or stack.width[t, i] == 0:
                continue
            most = room + _find_least_cost(problem, stack, k, s, t, i)
            total = 0
            for c in range(stack.width[t, i]):
                x = stack.domain[t, i, c]
                if (rows.node[k, x] if i < n else rows.edge[k, x]) <= most:
                    stack.domain[t, i, total] = x
                    stack.origin[t, i, total] = stack.origin[t, i, c]
                    total += 1
            stack.width[t, i] = total
            if total == 1:
                stack.label[i], stack.since[i] = stack.domain[t, i, 0], t
                changed = 1
    return changed


@compiled_inline
def _find_least_cost(
    problem: DeclaredProblem, stack: DeclaredStack, k: Index, s: Index, t: Index, i: Index
) -> float:
    """What node or edge i adds to limit k at least."""
    rows, n = problem.rows, problem.shapes.allowed.shape[1]
    x, least = stack.label[i], 1e300
    if x >= 0:
        return float(rows.node[k, x] if i < n else rows.edge[k, x])
    for c in range(stack.width[t, i]):
        y = stack.domain[t, i, c]
        least = min(least, rows.node[k, y] if i < n else rows.edge[k, y])
    if stack.width[t, i] == 0:  # an edge with an open end
        u, v = problem.shapes.ends[s, i - n, 0], problem.shapes.ends[s, i - n, 1]
        for y in range(rows.edge.shape[1]):
            if problem.rules.edge[u, v, y]:
                least = min(least, rows.edge[k, y])
    return least


@compiled_apart
def is_leaf(problem: DeclaredProblem, stack: DeclaredStack, s: Index) -> bool:
    """Whether degrees and limits hold, all labels being known."""
    rows, shapes, rules = problem.rows, problem.shapes, problem.rules
    n = shapes.allowed.shape[1]
    for i in range(n):
        for side in range(2):
            degree, a = stack.load[side, 0, i], stack.label[i]
            if degree < rules.low[side, a] or degree > rules.high[side, a]:
                return False
    for k in range(len(rows.cap)):
        spent = rows.shape[k, s]
        for i in range(n + shapes.edges[s]):
            x = max(stack.label[i], 0)
            spent += rows.node[k, x] if i < n else rows.edge[k, x]
        if spent > rows.cap[k] + EPSILON:
            return False
    return has_declared_longest(problem, stack, s)


@compiled_apart
def has_declared_longest(problem: DeclaredProblem, stack: DeclaredStack, s: Index) -> bool:
    """Whether the open labels can still make each held number the most of its label on a path.

    For each label two paths are looked for: the richest one if nothing open gets the label, and if
    all that is open does. What is held must lie between.
    """
    held = problem.summary
    for x in range(len(held.nodes)):
        if held.nodes[x] >= 0 and not _is_between(problem, stack, s, x, held.nodes[x], False):
            return False
    for x in range(len(held.edges)):
        if held.edges[x] >= 0 and not _is_between(problem, stack, s, x, held.edges[x], True):
            return False
    return True


@compiled_apart
def _is_between(
    problem: DeclaredProblem, stack: DeclaredStack, s: Index, x: Index, held: Index, on_edges: bool
) -> bool:
    """Whether ``held`` is between the least and the most of label x on the richest path."""
    shapes, richest = problem.shapes, stack.richest
    n, only = shapes.allowed.shape[1], len(problem.rules.weight) == 1
    for end in range(2):
        most = np.int64(0)
        for v in range(n):
            y = stack.label[v]
            richest[end, v] = 0 if on_edges else _count_label(y, x, end, shapes.allowed[s, v, x])
            most = max(most, richest[end, v])
        again = True
        while again:  # the nodes of a structure may come in any order
            again = False
            for e in range(shapes.edges[s]):
                u, v, y = shapes.ends[s, e, 0], shapes.ends[s, e, 1], stack.label[n + e]
                if on_edges:
                    more = 1 if only or y == x or (end == 1 and y < 0) else 0
                else:
                    more = _count_label(stack.label[v], x, end, shapes.allowed[s, v, x])
                if richest[end, u] + more > richest[end, v]:
                    richest[end, v] = richest[end, u] + more
                    most, again = max(most, richest[end, v]), True
        if (most > held) if end == 0 else (most < held):
            return False
    return True


@compiled_inline
def _count_label(y: Index, x: Index, end: Index, may: Index) -> int:
    """1 if a node's label y is x or, at the upper end, may still become x."""
    return 1 if y == x or (end == 1 and y < 0 and may == 1) else 0


@compiled_inline
def weigh(
    problem: DeclaredProblem, stack: DeclaredStack, s: Index, e: Index, x: Index, sign: Index
) -> None:
    """Count the weight of label x of edge e in the least degrees of its ends, or take it away."""
    shapes, rules, load = problem.shapes, problem.rules, stack.load
    u, v = shapes.ends[s, e, 0], shapes.ends[s, e, 1]
    more = sign * (rules.weight[x] - find_least_weight(rules, u, v))
    load[1, 0, u] += more
    load[0, 0, v] += more
    if not rules.directed[0]:
        load[0, 0, u] += more
        load[1, 0, v] += more
