"""The lower bound of the linear kernel on all completions of a search node, compiled.

Notation (docs/branch-and-bound.md, Lemmas 2 and 3)
    m, p     mean part and vector of the reference graph: open variables carry the label "*"
    U, W     sums of the changes by all states and of the interactions of all pairs;  ω ≥ ‖W‖
    θ_i(a), θ_ij(a, b)  potentials; their sum over all variables and pairs is to be bounded below
    M_ji(a)             what the pair {i, j} hands to state a of variable i
    b_i(a)              belief: θ_i(a) + Σ_j M_ji(a)

Every completion has the value m + Σ m_i + Σ m_ij - ‖p + U + W‖. For any c, ε > 0
    ‖p + U + W‖ ≤ (‖p + U + W‖² + c²) / 2c,
    ‖p + U + W‖² ≤ ‖p‖² + 2 p·U + 2 p·W + (1 + ε) ‖U‖² + (1 + 1/ε) ω²,
which leaves a sum of potentials (``cells.potentials``) for message passing to bound. A sweep visits
the variables in turn. Variable i hands the share γ of its belief to each pair with a variable still
to come, and the pair hands M_ij(b) = min_a [θ_ij(a, b) - M_ji(a) + γ b_i(a)] to that variable. What
the variables have kept is the bound: Σ_i (1 - γ_i · pairs still to come) min_a b_i(a). These are
the sweeps of sequential tree-reweighted message passing (Kolmogorov, IEEE TPAMI 28(10), 2006). One
search bounds one node at a time; bounds of many structures run side by side in *lanes*, which is
what vector units are good at. Both use the same sweep, compiled for their number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nasgoat.acquisition.branch.cells.records import (
    FIRST_LENGTH,
    FIRST_OMEGA,
    FIRST_OVER,
    SECOND_LENGTH,
    SECOND_OMEGA,
    SECOND_OVER,
    USUAL_OMEGA,
    WIDER,
    Prefixes,
    Scratch,
    Stack,
)
from nasgoat.acquisition.branch.declared.records import DeclaredScratch, DeclaredStack
from nasgoat.acquisition.branch.records import (
    RHO,
    WIDE,
    Floats,
    Index,
    Integers,
    NodeSizes,
    Potentials,
)
from nasgoat.compiled import compiled_apart, compiled_inline

_TINY = 1e-150
_LEAST = 0.05  # ω of a part is never taken smaller than this part of its largest value
_FLOOR = 1e-2  # c and ‖U‖ are never taken smaller than this part of their largest value
#: Takes potentials, messages (V, V, D · lanes), the number of states of each variable, the number
#: of open variables, and whether they are visited forwards.
Sweep = Callable[[Potentials, Floats, Integers, Index, bool], None]
#: Takes potentials, messages, the number of states of each variable, and two variables.
Message = Callable[[Potentials, Floats, Integers, Index, Index], None]
AnyStack = Stack | DeclaredStack  # of cells, and of declared graphs
AnyScratch = Scratch | DeclaredScratch
#: Takes problem, prefixes, stack, scratch, shape, depth and the number of open variables.
Fill = Callable[..., None]
#: Takes problem, prefixes, stack, scratch, sizes, shape and depth.
Rescale = Callable[..., None]
#: Takes prefixes, stack, scratch, depth, the number of open variables, and what bound is enough.
Narrow = Callable[..., bool]
#: Takes problem, prefixes, stack, scratch, sizes, shape, depth, rounds, whether to keep the bounds
#: of each further choice, and what bound is enough.
Bound = Callable[
    [Any, Prefixes | None, Any, Any, NodeSizes, Index, Index, Index, bool, float], float
]


def _make_messages(lanes: int) -> tuple[Message, Message]:
    """The messages of variable i to a later variable j, and to an earlier one (Lemma 3)."""

    @compiled_inline
    def hand_forward(
        potentials: Potentials, message: Floats, width: Integers, i: Index, j: Index
    ) -> None:
        columns = width[j]
        for c in range(width[i]):
            at = potentials.pair_at[i, j] + c * columns * lanes
            for e in range(columns):
                for x in range(lanes):
                    value = potentials.given[c * lanes + x] + potentials.pair[at + e * lanes + x]
                    old = message[i, j, e * lanes + x]
                    message[i, j, e * lanes + x] = value if c == 0 or value < old else old

    @compiled_inline
    def hand_backward(
        potentials: Potentials, message: Floats, width: Integers, i: Index, j: Index
    ) -> None:
        at, rows = potentials.pair_at[j, i], width[i]
        for e in range(width[j]):
            if lanes == 1:  # the least stays in a register
                least = np.inf
                for c in range(rows):
                    least = min(least, potentials.given[c] + potentials.pair[at + c])
                message[i, j, e] = least
            else:
                for c in range(rows):
                    for x in range(lanes):
                        value = potentials.given[c * lanes + x]
                        value += potentials.pair[at + c * lanes + x]
                        old = message[i, j, e * lanes + x]
                        message[i, j, e * lanes + x] = value if c == 0 or value < old else old
            at += rows * lanes

    return hand_forward, hand_backward


def make_sweep(lanes: int) -> Sweep:
    """A sweep of Lemma 3 over that many problems; ``potentials.bound`` is what it proves."""
    hand_forward, hand_backward = _make_messages(lanes)

    @compiled_inline
    def sweep(
        potentials: Potentials, message: Floats, width: Integers, total: Index, forward: bool
    ) -> None:
        belief = potentials.belief
        potentials.bound[:] = 0.0
        for step in range(total):
            place = step if forward else total - 1 - step
            i, ahead = potentials.open[place], total - 1 - step
            rows, share = width[i], 1.0 / max(ahead, step, 1)
            for c in range(rows * lanes):
                belief[i, c] = potentials.unary[i, c]
            for y in range(total):
                if y != place:
                    for c in range(rows * lanes):
                        belief[i, c] += message[potentials.open[y], i, c]
            potentials.kept[i] = 1.0 - share * ahead
            for x in range(lanes):
                least = belief[i, x]
                for c in range(1, rows):
                    value = belief[i, c * lanes + x]
                    least = value if value < least else least
                potentials.bound[x] += potentials.kept[i] * least
            for y in range(place + 1 if forward else 0, total if forward else place):
                j = potentials.open[y]
                for c in range(rows * lanes):
                    potentials.given[c] = share * belief[i, c] - message[j, i, c]
                if forward:
                    hand_forward(potentials, message, width, i, j)
                else:
                    hand_backward(potentials, message, width, i, j)

    return sweep


@compiled_inline
def _start_messages(stack: AnyStack, potentials: Potentials, t: Index, total: Index) -> None:
    """Messages of depth t: those of the depth below between variables that were open there."""
    for y in range(total):
        for z in range(total):
            i, j = potentials.open[y], potentials.open[z]
            known = t > 0 and stack.width[t - 1, i] > 0
            for c in range(stack.width[t, j]):
                stack.message[t, i, j, c] = 0.0
                if known and stack.origin[t, j, c] >= 0:
                    stack.message[t, i, j, c] = stack.message[t - 1, i, j, stack.origin[t, j, c]]


@compiled_inline
def _keep_move_bounds(
    stack: AnyStack, potentials: Potentials, t: Index, total: Index, known: float, first: bool
) -> None:
    """The bound if one variable takes a given state: what the last sweep, or one before, proves."""
    lower = potentials.bound[0] + known
    for y in range(total):
        i = potentials.open[y]
        least = np.inf
        for c in range(stack.width[t, i]):
            least = min(least, potentials.belief[i, c])
        for c in range(stack.width[t, i]):
            bound = lower + potentials.kept[i] * (potentials.belief[i, c] - least)
            stack.move_bound[t, i, c] = bound if first else max(bound, stack.move_bound[t, i, c])


@compiled_inline
def note_domains(
    prefixes: Prefixes, stack: AnyStack, s: Index, lower: float, threshold: float
) -> None:
    """Note which states shape s can have in a graph whose value is below the threshold."""
    allowed = prefixes.states.allowed
    if len(allowed) == 0:
        return
    allowed[s] = 0
    for i in range(allowed.shape[1] if lower < threshold else 0):
        for c in range(stack.width[0, i]):
            if stack.move_bound[0, i, c] < threshold:
                allowed[s, i, stack.domain[0, i, c]] = 1
    if lower < threshold:
        _note_next_variable(prefixes, stack, s, threshold)


@compiled_inline
def _note_next_variable(prefixes: Prefixes, stack: AnyStack, s: Index, threshold: float) -> None:
    """Note the variable whose labels the bound tells apart best, and a bound for each of them."""
    states, bound = prefixes.states, prefixes.states.label_bound[s]
    best = -1.0
    states.next_variable[s] = -1
    for again in range(2):
        for i in range(1, states.allowed.shape[1]):
            if prefixes.scratch.known[i] == 1 or (again == 1 and i != states.next_variable[s]):
                continue
            bound[:] = threshold
            for c in range(stack.width[0, i]):
                a = states.label[stack.domain[0, i, c]]
                bound[a] = min(bound[a], stack.move_bound[0, i, c])
            total, least = 0.0, bound[0]
            for a in range(len(bound)):
                total, least = total + bound[a], min(least, bound[a])
            worth = total / len(bound) - least
            if worth > best:
                best = worth
                states.next_variable[s] = i


@compiled_inline
def _choose_best(stack: AnyStack, scratch: AnyScratch, t: Index, total: Index) -> None:
    """Note for every open variable the state of lowest belief: the next round is around it."""
    belief, choice = scratch.potentials.belief, scratch.choice
    for y in range(total):
        i = scratch.potentials.open[y]
        choice[i] = 0
        for c in range(1, stack.width[t, i]):
            if belief[i, c] < belief[i, choice[i]]:
                choice[i] = c


@compiled_inline
def _widen(
    prefixes: Prefixes | None, scale: Floats, factor: Floats, sizes: NodeSizes, t: Index
) -> float:
    """Choose each ε of Lemma 2 for the noted lengths; returns what ω adds to the bound on the norm.

    2 U·W ≤ ε ‖U‖² + ω² / ε for every ε > 0, in each part of the entries; ε = ω / ‖U‖ is best at
    states that matter.
    """
    omega: float = sizes.omega
    floor = _FLOOR * sizes.length + _TINY
    if prefixes is None:
        length: float = max(scale[t, 1], floor)
        factor[WIDE] = 1.0 + omega / length
        return omega * omega + omega * length
    parts = prefixes.scratch.parts
    first = parts[FIRST_OMEGA] * max(scale[t, 3], _LEAST) / max(scale[t, 2], floor)
    second = parts[SECOND_OMEGA] * max(scale[t, 4], _LEAST) / max(scale[t, 1], floor)
    factor[WIDE], parts[WIDER] = 1.0 + second, first - second
    parts[FIRST_OVER] = 1.0 + (1.0 / first if first > 0.0 else 0.0)
    parts[SECOND_OVER] = 1.0 + (1.0 / second if second > 0.0 else 0.0)
    return 0.0  # Ω is part of the potentials


@compiled_inline
def _start_scale(prefixes: Prefixes | None, scale: Floats, sizes: NodeSizes, t: Index) -> None:
    """Begin with the scale of the search node above, at the root with the largest lengths."""
    scale[t, 0] = scale[t - 1, 0] if t > 0 else sizes.norm
    scale[t, 1] = scale[t - 1, 1] if t > 0 else sizes.length
    if prefixes is not None:
        parts = prefixes.scratch.parts
        scale[t, 1] = scale[t - 1, 1] if t > 0 else parts[SECOND_LENGTH]
        scale[t, 2] = scale[t - 1, 2] if t > 0 else parts[FIRST_LENGTH]
        scale[t, 3] = scale[t - 1, 3] if t > 0 else USUAL_OMEGA
        scale[t, 4] = scale[t - 1, 4] if t > 0 else USUAL_OMEGA


@compiled_inline
def _narrow_nothing(*_: Any) -> bool:
    """All states stay."""
    return True


def make_bound(fill_potentials: Fill, rescale: Rescale, narrow: Narrow = _narrow_nothing) -> Bound:
    """The bound on all completions of a search node, for one kind of potentials.

    Args:
        fill_potentials: Writes θ_i and θ_ij of all open variables, given ρ and 1 + ε.
        rescale: Writes the c and ‖U‖ of the states of lowest belief to ``stack.scale``.
        narrow: Drops states whose bound is enough before another round; False if that leaves none.
    """
    sweep = make_sweep(1)

    @compiled_apart
    def bound_completions(
        problem: Any,
        prefixes: Prefixes | None,
        stack: Any,
        scratch: Any,
        sizes: NodeSizes,
        s: Index,
        t: Index,
        rounds: Index,
        keep: bool,
        enough: float,
    ) -> float:
        total, mean, square, norm, _, _ = sizes
        potentials, scale = scratch.potentials, stack.scale
        _start_messages(stack, potentials, t, total)
        _start_scale(prefixes, scale, sizes, t)
        best: float = -np.inf
        for turn in range(rounds):
            # States with a tiny norm must not stretch the potentials beyond what rounding bears.
            c = max(scale[t, 0], _FLOOR * norm + _TINY)
            scratch.factor[RHO] = 0.5 / c
            widened = _widen(prefixes, scale, scratch.factor, sizes, t)
            fill_potentials(problem, prefixes, stack, scratch, s, t, total)
            known = mean - (square + c * c + widened) / (2 * c)
            for half in range(2):
                sweep(potentials, stack.message[t], stack.width[t], total, half == 0)
                if keep:
                    _keep_move_bounds(stack, potentials, t, total, known, turn + half == 0)
            best = max(best, potentials.bound[0] + known)
            if best >= enough:
                return best
            if turn + 1 < rounds and not narrow(prefixes, stack, scratch, t, total, enough):
                return enough
            if keep or turn + 1 < rounds:
                _choose_best(stack, scratch, t, total)
                rescale(problem, prefixes, stack, scratch, sizes, s, t)
        return best

    return bound_completions
