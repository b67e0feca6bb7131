"""What all searches of branch and bound share: records of arrays, and sums of columns.

Notation (docs/branch-and-bound.md)
    V  variables: nodes or edges that wait for a label;  r  length of a feature's vector
    D  most states in the domain of one variable
    "*" the mean over all labels of a node or edge

A feature f has a mean part w_f and a vector √β Rᵀ e_f, so that the acquisition of a graph whose
features are added up is (sum of mean parts) - ‖sum of vectors‖. A *column* holds both: 1 + r
numbers, the mean part first.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nasgoat.compiled import compiled_inline
from nasgoat.compiled_records import record
from nasgoat.graphs import LabeledGraph

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.int8]
#: Counters in compiled code: a plain literal would be compiled once for each of its values.
Index = int | np.int64
Found = tuple[int, Integers, float]  # shape, states and value of a graph

#: A subtree is dropped if its bound exceeds the k-th best value by this: rounding in a bound is
#: about 1e-13, so no better graph is lost to it.
MARGIN = 1e-10
#: How a call of a compiled search ends.
DONE, FOUND, PAUSED = 0, 1, 2
#: What ``place`` of a search holds: shapes taken from the order so far, depth of the current node
#: (-1 between two shapes), nodes explored, and the current shape.
POSITION, DEPTH, NODES, SHAPE = 0, 1, 2, 3
#: What ``factor`` of a bound holds: ρ = 1 / 2c and 1 + ε of Lemma 2.
RHO, WIDE = 0, 1


class Builds(Protocol):
    """Makes graphs of shapes and the states of their variables."""

    def make_graph(self, s: int, states: Integers, /) -> LabeledGraph:
        """The graph of shape s with these states."""


class Run(Protocol):
    """A search of a block of shapes, in steps, so that it can be stopped at any time."""

    @property
    def block(self) -> Builds:
        """The shapes that the graphs found last belong to."""

    @property
    def nodes(self) -> int:
        """Nodes explored so far."""

    def go_on(self, best: float) -> list[Found] | None:
        """Graphs better than ``best``, none of them for a pause; None when all is explored."""

    def open_bound(self) -> float:
        """A lower bound on everything that is not explored yet."""


@record
class Potentials(NamedTuple):
    """Potentials of states and of pairs of states, and what message passing makes of them.

    Several problems may lie side by side in *lanes*: entry c of lane x is at c · lanes + x.
    """

    open: Integers  # (V,) the open variables
    unary: Floats  # (V, D · lanes) potential of a state
    pair: Floats  # potentials of two states, one block for each pair of variables
    pair_at: Integers  # (V, V) where the block of a pair i < j begins: rows i, columns j
    belief: Floats  # (V, D · lanes) potential with the messages
    given: Floats  # (D · lanes,) what a variable hands to a pair
    kept: Floats  # (V,) share of its belief that a variable did not hand on
    bound: Floats  # (lanes,)


class NodeSizes(NamedTuple):
    """What a bound needs to know of the completions of a search node, apart from its potentials."""

    open: int  # open variables
    mean: float  # m of the reference graph
    square: float  # ‖p‖²
    norm: float  # about the largest ‖p + U + W‖
    length: float  # about the largest ‖U‖
    omega: float  # ω ≥ ‖W‖


@record
class Answers(NamedTuple):
    """Where a call of a compiled search puts the graphs that it found."""

    chosen: Integers  # (most graphs of a call, V) their states
    values: Floats  # (most graphs of a call,)


def make_place() -> Integers:
    """Before the first shape."""
    return np.array([0, -1, 0, -1], dtype=np.int64)


def make_potentials(variables: int, domain: int, lanes: int = 1) -> Potentials:
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


def make_answers(most: int, variables: int) -> Answers:
    """Room for the graphs of one call."""
    return Answers(chosen=np.zeros((most, variables), dtype=np.int64), values=np.zeros(most))


@compiled_inline
def dot(a: Floats, b: Floats) -> float:
    """The product of the vectors of two columns."""
    product = 0.0
    for x in range(1, len(a)):
        product += a[x] * b[x]
    return product


@compiled_inline
def add_to(total: Floats, column: Floats) -> None:
    """Add a column to another one, in place."""
    for x in range(len(total)):
        total[x] += column[x]
