"""Which states each variable can still take, compiled.

Notation
    last(x), sink(x)  distance of a node in state x to the last inner node (0: no path) and the sink
    d(i, j)           distance from node i to node j within the prefix, 0 if there is no path

Every rule only removes states that no graph of the space has (docs/branch-and-bound.md).
"""

from __future__ import annotations

from nasgoat.acquisition.branch.arrays import Index, Limits, Shapes, Stack, States, Terms
from nasgoat.compiled import inner

_EPSILON = 1e-9  # limits with decimal coefficients hold up to this


@inner
def open_domains(shapes: Shapes, states: States, stack: Stack, s: Index) -> None:
    """All states that a variable of shape s can take by itself."""
    p, tail = shapes.home[s], shapes.tail[s]
    for i in range(shapes.variables[p]):
        stack.states[i] = -1
        total, reach = 0, shapes.reach[p, i]
        source = len(states.label) if tail < 0 else states.label[len(states.label) - 1]
        for x in range(len(states.label)):
            if tail >= 0:
                last, sink = states.last[x], states.sink[x]
                if (states.label[x] == source) != (i == 0) or last > reach + 1:
                    continue
                if last == 0 and sink > reach + 1:
                    continue
                # Of several inner nodes without inner successor the last one has the largest label.
                if last == 0 and reach == 0 and states.label[x] > tail:
                    continue
            stack.domain[0, i, total] = x
            stack.move_bound[0, i, total] = -1e300
            total += 1
        stack.width[0, i] = total


@inner
def narrow(
    shapes: Shapes, states: States, stack: Stack, s: Index, t: Index, threshold: float
) -> bool:
    """Domains of depth t + 1 once the variable of depth t has its state; False if one is empty."""
    p, i = shapes.home[s], stack.variable[t]
    k = stack.states[i]
    prefix = shapes.tail[s] >= 0
    for j in range(shapes.variables[p]):
        if stack.states[j] >= 0:
            continue
        twins = shapes.twin[p, j] == shapes.twin[p, i]
        ahead = shapes.distance[p, i, j] if prefix else 0
        behind = shapes.distance[p, j, i] if prefix else 0
        total = 0
        for c in range(stack.width[t, j]):
            x = stack.domain[t, j, c]
            fits = stack.move_bound[t, j, c] < threshold
            if twins and (x < k if j > i else x > k):
                fits = False
            if fits and ahead > 0:
                fits = states.clash[ahead, k, x] == 0
            if fits and behind > 0:
                fits = states.clash[behind, x, k] == 0
            if fits:
                stack.domain[t + 1, j, total] = x
                stack.origin[t + 1, j, total] = c
                total += 1
        stack.width[t + 1, j] = total
        if total == 0:
            return False
    return True


@inner
def _supported(shapes: Shapes, states: States, terms: Terms, p: Index, i: Index, x: Index) -> bool:
    """Whether some successor of node i can be on shortest paths as long as state x says."""
    last, sink = states.last[x], states.sink[x]
    to_last = last <= 1
    to_sink = sink == 1 or (sink == 2 and last == 1)
    for j in range(i + 1, shapes.variables[p]):
        # Where the distance is open, an edge is possible.
        if shapes.distance[p, i, j] == 1 or shapes.distance[p, i, j] >= len(states.clash):
            to_last = to_last or terms.mask[j, 0] >> (last - 1) & 1 == 1
            to_sink = to_sink or terms.mask[j, 1] >> (sink - 1) & 1 == 1
    return bool(to_last and to_sink)


@inner
def support(shapes: Shapes, states: States, stack: Stack, terms: Terms, s: Index, t: Index) -> bool:
    """Drop distances that no successor can bring about; False if a domain runs empty."""
    p = shapes.home[s]
    # From the last node to the first: the successors of a node are done before it.
    for back in range(shapes.variables[p]):
        i = shapes.variables[p] - 1 - back
        terms.mask[i, 0] = terms.mask[i, 1] = 0
        if stack.states[i] >= 0:
            x = stack.states[i]
            if not _supported(shapes, states, terms, p, i, x):
                return False
            terms.mask[i, 0] = 1 << states.last[x]
            terms.mask[i, 1] = 1 << states.sink[x]
            continue
        total = 0
        for c in range(stack.width[t, i]):
            x = stack.domain[t, i, c]
            if _supported(shapes, states, terms, p, i, x):
                terms.mask[i, 0] |= 1 << states.last[x]
                terms.mask[i, 1] |= 1 << states.sink[x]
                stack.domain[t, i, total] = x
                stack.origin[t, i, total] = stack.origin[t, i, c]
                total += 1
        stack.width[t, i] = total
        if total == 0:
            return False
    return True


@inner
def _least_cost(limits: Limits, stack: Stack, k: int, t: Index, i: int) -> float:
    """What open variable i adds to limit k at least."""
    least = 1e300
    for c in range(stack.width[t, i]):
        least = min(least, limits.state[k, stack.domain[t, i, c]])
    return least


@inner
def within_limits(shapes: Shapes, limits: Limits, stack: Stack, s: Index, t: Index) -> bool:
    """Drop states that break a limit whatever the others are; False if a domain runs empty."""
    p, tail = shapes.home[s], shapes.tail[s]
    for k in range(len(limits.cap)):
        spent = limits.shape[k, p] + (limits.tail[k, tail] if tail >= 0 else 0.0)
        for i in range(shapes.variables[p]):
            if stack.states[i] >= 0:
                spent += limits.state[k, stack.states[i]]
            else:
                spent += _least_cost(limits, stack, k, t, i)
        if spent > limits.cap[k] + _EPSILON:
            return False
        for i in range(shapes.variables[p]):
            if stack.states[i] >= 0:
                continue
            room = limits.cap[k] + _EPSILON - spent + _least_cost(limits, stack, k, t, i)
            total = 0
            for c in range(stack.width[t, i]):
                x = stack.domain[t, i, c]
                if limits.state[k, x] <= room:
                    stack.domain[t, i, total] = x
                    stack.origin[t, i, total] = stack.origin[t, i, c]
                    total += 1
            stack.width[t, i] = total
    return True


@inner
def consistent(shapes: Shapes, states: States, stack: Stack, s: Index) -> bool:
    """Whether the distances of all states are those of the graph that they describe."""
    p = shapes.home[s]
    for i in range(shapes.variables[p]):
        last, sink = 1000, 1000
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
        if sink != states.sink[x] or (0 if last == 1000 else last) != states.last[x]:
            return False
    return True
