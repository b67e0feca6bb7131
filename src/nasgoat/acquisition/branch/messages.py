"""Message passing: a lower bound on a sum of potentials of states and of pairs of states, compiled.

Notation (docs/branch-and-bound.md, Lemma 3)
    θ_i(a), θ_ij(a, b)  potentials; their sum over all variables and pairs is to be bounded below
    M_ji(a)             what the pair {i, j} hands to state a of variable i
    b_i(a)              belief: θ_i(a) + Σ_j M_ji(a)

A sweep visits the variables in turn. Variable i hands the share γ of its belief to each pair with a
variable still to come, and the pair hands M_ij(b) = min_a [θ_ij(a, b) - M_ji(a) + γ b_i(a)] to that
variable, which leaves the pair with nothing negative. What the variables have kept is the bound:
Σ_i (1 - γ_i · pairs still to come) min_a b_i(a), with γ ≤ 1 / (pairs still to come). These are the
sweeps of sequential tree-reweighted message passing (Kolmogorov, IEEE TPAMI 28(10), 2006) on the
complete graph; the bound nears that of the linear relaxation.

One search bounds one node at a time; bounds of many structures run in *lanes* side by side, which
is what vector units are good at. Both use the same sweep, compiled for their number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nasgoat.acquisition.branch.records import Floats, Index, Integers, Potentials, Stack
from nasgoat.compiled import inner, merged

#: Takes potentials, messages (V, V, D · lanes), the number of states of each variable, the number
#: of open variables, and whether they are visited forwards.
Sweep = Callable[[Potentials, Floats, Integers, Index, bool], None]
#: Takes potentials, messages, the number of states of each variable, and two variables.
Message = Callable[[Potentials, Floats, Integers, Index, Index], None]


def new_potentials(variables: int, domain: int, lanes: int = 1) -> Potentials:
    """Scratch for that many variables, states of a variable and lanes."""
    blocks = variables * (variables - 1) // 2 * domain * domain * lanes
    return Potentials(
        open=np.arange(variables),
        unary=np.zeros((variables, domain * lanes)),
        pair=np.zeros(max(blocks, 1)),
        pair_at=np.zeros((variables, variables), dtype=np.int64),
        belief=np.zeros((variables, domain * lanes)),
        given=np.zeros(domain * lanes),
        kept=np.zeros(variables),
        bound=np.zeros(lanes),
    )


def _make_messages(lanes: int) -> tuple[Message, Message]:
    """The messages of variable i to a later variable j, and to an earlier one (Lemma 3)."""

    @merged
    def hand_forward(
        potentials: Potentials, message: Floats, width: Integers, i: Index, j: Index
    ) -> None:
        at, columns = potentials.pair_at[i, j], width[j]
        for c in range(width[i]):
            for e in range(columns):
                for x in range(lanes):
                    value = potentials.given[c * lanes + x] + potentials.pair[at + e * lanes + x]
                    old = message[i, j, e * lanes + x]
                    message[i, j, e * lanes + x] = value if c == 0 or value < old else old
            at += columns * lanes

    @merged
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
    """A sweep of Lemma 3 over that many problems at once; ``potentials.bound`` has what it proves.

    ``lanes`` is a constant of the compiled code: with one lane its loops run over states.
    """
    hand_forward, hand_backward = _make_messages(lanes)

    @inner
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


@merged
def start_messages(stack: Stack, potentials: Potentials, t: Index, total: Index) -> None:
    """Messages of depth t: none at the bottom, else those of the depth below."""
    for y in range(total):
        for z in range(total):
            i, j = potentials.open[y], potentials.open[z]
            for c in range(stack.width[t, j]):
                stack.message[t, i, j, c] = 0.0
                if t > 0:
                    stack.message[t, i, j, c] = stack.message[t - 1, i, j, stack.origin[t, j, c]]


@merged
def keep_move_bounds(
    stack: Stack, potentials: Potentials, t: Index, total: Index, lower: float
) -> None:
    """The bound of each further choice (after Lemma 3), from what the variables have kept."""
    for y in range(total):
        i = potentials.open[y]
        least = np.inf
        for c in range(stack.width[t, i]):
            least = min(least, potentials.belief[i, c])
        for c in range(stack.width[t, i]):
            more = potentials.kept[i] * (potentials.belief[i, c] - least)
            stack.move_bound[t, i, c] = lower + more
