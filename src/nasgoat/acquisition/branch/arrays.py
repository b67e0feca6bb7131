"""The arrays that the compiled search works on.

Notation
    S  structures;  n  nodes;  V  variables (inner nodes, or edges) of the largest structure
    L  labels of a variable;  r  length of a vector;  "*" the mean over all labels of a variable

A feature f has a mean part w_f and a vector √β Rᵀ e_f, so that the acquisition of a graph whose
features are added up is (sum of mean parts) - ‖sum of vectors‖.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Counters in compiled code: a plain literal would be compiled once for each of its values.
Index = int | np.int64


class Exponential(NamedTuple):
    """What the exponential kernel needs besides the tables; empty for the linear kernel.

    The first m entries of a vector are then k_lin with each of the m observed graphs, the others a
    root of k_lin with itself.
    """

    dual: Floats  # (m,) a = K⁻¹ y
    whitening: Floats  # (m, m) L⁻¹
    both_low: Floats  # (sizes, n, m) smallest interaction at each distance
    both_high: Floats  # (sizes, n, m) largest
    settings: Floats  # (2,) σ_k² and √β
    scratch: Floats  # (6, m)


class Shapes(NamedTuple):
    """Structures whose variables wait for labels."""

    size: NDArray[np.int64]  # (S,) place of the number of nodes among the sizes of the space
    nodes: NDArray[np.int64]  # (S,)
    variables: NDArray[np.int64]  # (S,)
    distance: NDArray[np.int8]  # (S, n, n), 0 where v is u or can't be reached
    ends: NDArray[np.int8]  # (S, V, 2) edges that carry labels; V = 0 where nodes do
    twin: NDArray[np.int8]  # (S, V) equal numbers mark variables that may be swapped


class Tables(NamedTuple):
    """Mean parts and vectors of all features, "*" included, for every number of nodes."""

    path_mean: Floats  # (sizes, n, labels, labels) of a pair at distance s with these codes
    path_vector: Floats  # (sizes, n, labels, labels, r)
    shift_mean: Floats  # (2, sizes, n, L, labels) label l instead of "*" at the tail or head
    shift_vector: Floats  # (2, sizes, n, L, labels, r)
    edge_mean: Floats  # (n, n, L + 1)
    edge_vector: Floats  # (n, n, L + 1, r)
    both_mean: Floats  # (sizes, n, L, L) interaction of two labels at distance s
    both_vector: Floats  # (sizes, n, L, L, r)
    both_gram: Floats  # (sizes, n, n) largest product of interactions at two distances


class Stack(NamedTuple):
    """The open nodes of the depth-first search; row t belongs to depth t."""

    mean: Floats  # (V + 1,) mean part of the reference graph
    vector: Floats  # (V + 1, r) its vector
    move_mean: Floats  # (V + 1, V, L) change if variable i takes label l
    move_vector: Floats  # (V + 1, V, L, r)
    move_bound: Floats  # (V + 1, V, L) lower bound if variable i takes label l
    message: Floats  # (V + 1, V, V, L) what pair {i, j} has handed to label l of variable j
    scale: Floats  # (V + 1, 2) the c and ‖U‖ of the bound
    choice: NDArray[np.int64]  # (V + 1, V) the labels around which the bound is taken
    labels: NDArray[np.int64]  # (V,) -1 while open
    variable: NDArray[np.int64]  # (V + 1,) variable that is branched on
    order: NDArray[np.int64]  # (V + 1, L) its labels, most promising first
    next: NDArray[np.int64]  # (V + 1,) place of the next label to try
    place: NDArray[np.int64]  # (3,) place among the sorted structures, depth, nodes explored


class Terms(NamedTuple):
    """Scratch of one bound: what each label, and each pair of labels, does to mean and norm."""

    mean: Floats  # (V, L) linear cost of a label
    both_mean: Floats  # (n, L, L) linear cost of two labels at distance s
    along: Floats  # (V, L) p · p_i(l)
    square: Floats  # (V, L) ‖p_i(l)‖²
    gram: Floats  # (V, V, L, L) p_i(l) · p_j(l'), i < j
    both_along: Floats  # (n, L, L) p · p_ij(l, l') at distance s
    unary: Floats  # (V, L) potential of a label
    belief: Floats  # (V, L) the same with the messages
    kept: Floats  # (V,) part of its belief that a variable did not hand on
    pair: Floats  # (V, V, L, L) potential of two labels, i < j
    apart: NDArray[np.int64]  # (V, V) distance from i to j, 0 if there is no path
    pairs: NDArray[np.int64]  # (n,) pairs of open variables at that distance
    open: NDArray[np.int64]  # (V,) the open variables
    choice: NDArray[np.int64]  # (V,) the labels that look best, -1 for "*"


def new_terms(variables: int, labels: int, n: int) -> Terms:
    """Scratch for that many variables, labels and nodes."""
    return Terms(
        np.zeros((variables, labels)),
        np.zeros((n, labels, labels)),
        np.zeros((variables, labels)),
        np.zeros((variables, labels)),
        np.zeros((variables, variables, labels, labels)),
        np.zeros((n, labels, labels)),
        np.zeros((variables, labels)),
        np.zeros((variables, labels)),
        np.zeros(variables),
        np.zeros((variables, variables, labels, labels)),
        np.zeros((variables, variables), dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(variables, dtype=np.int64),
        np.full(variables, -1, dtype=np.int64),
    )


def new_stack(variables: int, labels: int, length: int) -> Stack:
    """An empty stack for that many variables and labels and vectors of that length."""
    depth = variables + 1
    return Stack(
        np.zeros(depth),
        np.zeros((depth, length)),
        np.zeros((depth, variables, labels)),
        np.zeros((depth, variables, labels, length)),
        np.zeros((depth, variables, labels)),
        np.zeros((depth, variables, variables, labels)),
        np.zeros((depth, 2)),
        np.full((depth, variables), -1, dtype=np.int64),
        np.full(variables, -1, dtype=np.int64),
        np.zeros(depth, dtype=np.int64),
        np.zeros((depth, labels), dtype=np.int64),
        np.zeros(depth, dtype=np.int64),
        np.array([0, -1, 0], dtype=np.int64),
    )
