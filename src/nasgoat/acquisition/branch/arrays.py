"""The arrays that the compiled search of the linear kernel works on.

Notation
    S  shapes: structures, or prefixes of structures;  n  nodes;  L  labels
    V  variables (nodes, or edges) of the largest shape;  X  states that a variable can take
    Q  labels of the last inner node of a prefix;  K  limits, or kinds of variables
    r  length of a vector
    "*" the mean over all labels of a node

A feature f has a mean part w_f and a vector √β Rᵀ e_f, so that the acquisition of a graph whose
features are added up is (sum of mean parts) - ‖sum of vectors‖.

In a *structure* all edges are known, and the state of a variable is its label. A *prefix* leaves
out the sink and the last inner node: the state of a node is its label, its distance to the last
inner node (0 if there is no path) and its distance to the sink.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Counters in compiled code: a plain literal would be compiled once for each of its values.
Index = int | np.int64


class Shapes(NamedTuple):
    """Structures or prefixes whose variables wait for states."""

    home: Integers  # (S,) row of the matrices below
    tail: Integers  # (S,) label of the last inner node of a prefix, -1 for a structure
    size: Integers  # (P,) place of the number of nodes among the sizes of the space
    nodes: Integers  # (P,) known nodes
    edges: Integers  # (P,) known edges
    variables: Integers  # (P,)
    distance: NDArray[np.int8]  # (P, n, n), 0 where v is u or can't be reached
    ends: NDArray[np.int8]  # (P, V, 2) edges that carry labels; V = 0 where nodes do
    twin: NDArray[np.int8]  # (P, V) equal numbers mark variables that may be swapped
    reach: Integers  # (P, V) longest distance from a node of a prefix to another one of it
    kind: Integers  # (P, V) variables of one kind change a shape alike (``kinds``)
    kind_home: Integers  # (K, 2) a shape and a variable of each kind
    couple: NDArray[np.int32]  # (P, V, V) the kinds of two variables i < j, as one number
    couple_kinds: Integers  # (couples, 2)


class Kinds(NamedTuple):
    """What kinds of variables change while all variables are open."""

    own_mean: Floats  # (K,) of a variable's features while its label is "*"
    own_vector: Floats  # (K, r)
    mean: Floats  # (K, L) change by a label
    vector: Floats  # (K, L, r)
    square: Floats  # (K, L) squared length of it
    gram: Floats  # (couples, L, L) products of the changes of two variables
    part_gram: Floats  # (Q, K, L, parts) products with the parts of states


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
    option_mean: Floats  # (codes, L, L, n) interaction of two labels at each open distance
    option_vector: Floats  # (codes, L, L, n, r)
    options: Integers  # (n or more,) how many distances a code leaves open, 0 for a distance


class States(NamedTuple):
    """What a state stands for, and what it adds besides its label's change."""

    label: Integers  # (X,) L for the source of a prefix
    last: Integers  # (X,) distance to the last inner node, 0 for no path or none
    sink: Integers  # (X,) distance to the sink, 0 in a structure
    mean: Floats  # (Q, X) of its features with the last inner node and the sink, centred
    vector: Floats  # (Q, X, r)
    gram: Floats  # (Q, X, X) products of the vectors
    part: Integers  # (X, 2) the two parts of a state: its features with each of the last nodes
    part_vector: Floats  # (Q, parts, r) their vectors; the second ones carry the centre
    clash: NDArray[np.int8]  # (n, X, X) whether states contradict each other at that distance
    fixed_mean: Floats  # (Q, 3) of the last nodes; centre of a labelled node; of the source
    fixed_vector: Floats  # (Q, 3, r)


class Limits(NamedTuple):
    """Rows of linear limits: what is known of a graph may not exceed the caps."""

    cap: Floats  # (K,)
    state: Floats  # (K, X) cost of a state: its label and its edges to the last two nodes
    shape: Floats  # (K, P) cost of what is known of a shape
    tail: Floats  # (K, Q) cost of the last inner node and of its edge to the sink


class Problem(NamedTuple):
    """All that a search looks up and never changes."""

    tables: Tables
    shapes: Shapes
    states: States
    limits: Limits
    kinds: Kinds


class Stack(NamedTuple):
    """The open nodes of the depth-first search; row t belongs to depth t."""

    mean: Floats  # (V + 1,) mean part of the reference graph
    vector: Floats  # (V + 1, r) its vector
    move_mean: Floats  # (V + 1, V, L) change if variable i takes label l
    move_vector: Floats  # (V + 1, V, L, r)
    domain: Integers  # (V + 1, V, D) states that variable i can still take
    width: Integers  # (V + 1, V) how many
    move_bound: Floats  # (V + 1, V, D) lower bound if variable i takes that state
    message: Floats  # (V + 1, V, V, D) what pair {i, j} has handed to variable j
    origin: Integers  # (V + 1, V, D) place of a state in the domain of the depth below
    scale: Floats  # (V + 1, 2) the c and ‖U‖ of the bound
    states: Integers  # (V,) -1 while open
    variable: Integers  # (V + 1,) variable that is branched on
    order: Integers  # (V + 1, D) its states, most promising first
    order_bound: Floats  # (V + 1, D)
    next: Integers  # (V + 1,) place of the next state to try
    place: Integers  # (3,) place among the sorted shapes, depth, nodes explored


class Terms(NamedTuple):
    """Scratch of one bound: what each state, and each pair of states, does to mean and norm."""

    along: Floats  # (V, L) p · p_i(l)
    square: Floats  # (V, L) ‖p_i(l)‖²
    gram: Floats  # (V, V, L, L) p_i(l) · p_j(l'), i < j
    both_along: Floats  # (n, L, L) p · p_ij(l, l') at distance s
    option_along: Floats  # (codes, L, L, n) the same at each open distance
    free_along: Floats  # (X,) p · vector of a state
    part_along: Floats  # (parts,) p · vector of a part
    part_gram: Floats  # (V, L, parts) p_i(l) · vector of a part
    unary: Floats  # (V, D) potential of a state
    norm: Floats  # (V, D) squared length of the whole change by a state
    belief: Floats  # (V, D) potential with the messages
    kept: Floats  # (V,) part of its belief that a variable did not hand on
    pair: Floats  # potentials of two states, one block for each pair of variables
    pair_at: Integers  # (V, V) where the block of a pair i < j begins: rows i, columns j
    row: Floats  # (L + 1, D) the part of a block that depends on one label and one state
    run: Integers  # (V, D) neighbouring states of one label from here on
    given: Floats  # (D,) what a variable hands to a pair
    apart: Integers  # (V, V) distance from i to j for their labels, 0 if none
    pairs: Integers  # (n,) pairs of open labelled variables at that distance
    open: Integers  # (V,) the open variables
    used: Integers  # (X,) whether a state is in some domain
    used_part: Integers  # (parts,) the same for parts
    choice: Integers  # (V,) place in the domain of the state that looks best
    mask: Integers  # (V, 2) distances that a node can still have to the last inner node and sink


def new_terms(variables: int, tables: Tables, states: States, domain: int) -> Terms:
    """Scratch for that many variables and states of a variable."""
    labels = max(tables.both_mean.shape[-1], tables.edge_mean.shape[-1] - 1)
    total, parts, n = len(states.label), states.part_vector.shape[1], len(tables.options)
    blocks = variables * (variables - 1) // 2 * domain * domain
    whole = np.int64
    return Terms(
        np.zeros((variables, labels)),
        np.zeros((variables, labels)),
        np.zeros((variables, variables, labels, labels)),
        np.zeros((n, labels, labels)),
        np.zeros(tables.option_mean.shape),
        np.zeros(total),
        np.zeros(parts),
        np.zeros((variables, labels, parts)),
        np.zeros((variables, domain)),
        np.zeros((variables, domain)),
        np.zeros((variables, domain)),
        np.zeros(variables),
        np.zeros(max(blocks, 1)),
        np.zeros((variables, variables), dtype=whole),
        np.zeros((labels + 1, domain)),
        np.zeros((variables, domain), dtype=whole),
        np.zeros(domain),
        np.zeros((variables, variables), dtype=whole),
        np.zeros(n, dtype=whole),
        np.zeros(variables, dtype=whole),
        np.zeros(total, dtype=whole),
        np.zeros(parts, dtype=whole),
        np.zeros(variables, dtype=whole),
        np.zeros((variables, 2), dtype=whole),
    )


def new_stack(variables: int, labels: int, length: int, domain: int) -> Stack:
    """An empty stack; ``length`` is that of a vector."""
    depth, whole = variables + 1, np.int64
    return Stack(
        np.zeros(depth),
        np.zeros((depth, length)),
        np.zeros((depth, variables, labels)),
        np.zeros((depth, variables, labels, length)),
        np.zeros((depth, variables, domain), dtype=whole),
        np.zeros((depth, variables), dtype=whole),
        np.zeros((depth, variables, domain)),
        np.zeros((depth, variables, variables, domain)),
        np.zeros((depth, variables, domain), dtype=whole),
        np.zeros((depth, 2)),
        np.full(variables, -1, dtype=whole),
        np.zeros(depth, dtype=whole),
        np.zeros((depth, domain), dtype=whole),
        np.zeros((depth, domain)),
        np.zeros(depth, dtype=whole),
        np.array([0, -1, 0], dtype=whole),
    )
