"""The records of arrays that the compiled search of declared graphs works on.

Notation (docs/branch-and-bound.md, "Graphs with labels on nodes and edges")
    S     structures of one number of nodes n: a matrix, and which nodes are sources and sinks
    L, M  labels of nodes and of edges (one of each where there are none);  E  most edges
    V     variables: n nodes, then E edges;  D  most labels of one of them
    K     pair classes: what two nodes u, v are to each other, (distance u to v, distance v to u)
    "*"   the mean over the labels that nodes without a role may take: code L

All features of a pair of nodes, with the mean over the labels of the edges between them, are one
column of its class. What the label l of an edge changes is a column δ(l, a, b) of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import (
    Bytes,
    Floats,
    Integers,
    Potentials,
    make_place,
    make_potentials,
)
from nasgoat.compiled_records import record

#: What ``turn`` of the scratch holds: variables to list, nodes among them, depth (-1: not listing).
VARIABLES, NODE_VARIABLES, LISTING = 0, 1, 2


@record
class DeclaredShapes(NamedTuple):
    """Structures of one size whose nodes and edges wait for labels."""

    pair_class: NDArray[np.int16]  # (S, n, n)
    edges: Integers  # (S,) how many
    ends: Bytes  # (S, E, 2) tail and head
    allowed: Bytes  # (S, n, L) whether a node may have a label
    twin: Bytes  # (S, n) equal numbers mark nodes that may be swapped
    symmetry_at: Integers  # (S + 1,) where the automorphisms of a structure begin
    symmetry: Bytes  # (all, n)


@record
class DegreeRules(NamedTuple):
    """What labels demand of degrees: first of incoming, then of outgoing edges."""

    low: Integers  # (2, L)
    high: Integers  # (2, L)
    weight: Integers  # (M,) what an edge adds
    edge: Bytes  # (n, n, M) whether an edge may have a label, by its ends
    directed: NDArray[np.bool_]  # (1,)


@record
class DeclaredRows(NamedTuple):
    """Linear limits: what is known of a structure and the costs of labels may not exceed caps."""

    cap: Floats  # (rows,)
    node: Floats  # (rows, L)
    edge: Floats  # (rows, M)
    shape: Floats  # (rows, S)


@record
class DeclaredTables(NamedTuple):
    """Columns of the posterior; "*" is the last code."""

    own: Floats  # (L + 1, 1 + r) of a node by itself
    pair: Floats  # (K, L + 1, L + 1, 1 + r) of a pair of nodes
    tail: Floats  # (K, L, L + 1, 1 + r) what label a instead of "*" at the first node changes
    both: Floats  # (K, L, L, 1 + r) interaction of two labels (Lemma 1)
    delta: Floats  # (M, L, L, 1 + r) δ(l, a, b)
    reach: Floats  # (L, L, 2) least mean part, longest vector of δ(l, a, b) for all l
    gram: Floats  # (K + 1, K + 1) largest products of interactions; the last row is δ's
    codes: Floats  # (columns, 1 + r) of the blocks other than the paper's


@record
class DeclaredSummary(NamedTuple):
    """What is known of all graphs of a search (Lemma 10); empty arrays where nothing is."""

    given: Floats  # (S, 1 + r) column of the codes of each structure
    nodes: Integers  # (L,) the most of each label of nodes on a path, -1 for any
    edges: Integers  # (M,) the same of edges


@record
class DeclaredProblem(NamedTuple):
    """All that a search looks up and never changes."""

    shapes: DeclaredShapes
    rules: DegreeRules
    rows: DeclaredRows
    tables: DeclaredTables
    summary: DeclaredSummary


@record
class DeclaredStack(NamedTuple):
    """The open nodes of the depth-first search; row t belongs to depth t."""

    label: Integers  # (V,) labels of nodes, then of edges; -1 while open
    since: Integers  # (V,) depth at which a variable got its label
    domain: Integers  # (V + 1, V, D) states that variable i can still take
    width: Integers  # (V + 1, V) how many; 0 for what is no variable yet
    origin: Integers  # (V + 1, V, D) place of a state in the domain of the depth below, or -1
    move_bound: Floats  # (V + 1, V, D) lower bound if variable i takes that state
    message: Floats  # (V + 1, V, V, D) what pair {i, j} has handed to variable j
    scale: Floats  # (V + 1, 2) the c and ‖U‖ of the bound
    variable: Integers  # (V + 1,) variable that is branched on
    order: Integers  # (V + 1, D) its states, lowest bound first
    order_bound: Floats  # (V + 1, D)
    next: Integers  # (V + 1,) place of the next state to try
    place: Integers  # (4,) POSITION, DEPTH, NODES, SHAPE
    load: Integers  # (2, 2, n) least and largest sums of weights: incoming, then outgoing edges
    richest: Integers  # (2, n) scratch: the most of a label on a path to a node, at least, at most


@record
class DeclaredScratch(NamedTuple):
    """Scratch of one bound, and of the listing of labels below a node."""

    reference: Floats  # (1 + r,)
    move: Floats  # (V, D, 1 + r)
    along: Floats  # (V, D) p · p_i(a)
    square: Floats  # (V, D) ‖p_i(a)‖²
    gram: Floats  # (V, V, D, D) p_i(a) · p_j(b), i < j
    both_along: Floats  # (K, L, L) p · I(a, b)
    delta_along: Floats  # (M, L, L) p · δ(l, a, b)
    classes: Integers  # (K + 1,) open pairs of each class, then edges with an open end
    choice: Integers  # (V,) place in the domain of the state that looks best
    factor: Floats  # (2,) RHO, WIDE
    potentials: Potentials
    most: Integers  # (2,) labellings of nodes, and of edges, up to which they are listed
    listed: Integers  # (V,) variables in the order in which they are listed
    try_at: Integers  # (V + 1,) next label of each of them
    column: Floats  # (V + 1, 1 + r) of the graph with the first labels
    turn: Integers  # (3,) variables listed, nodes among them, depth of the listing (-1: none)
    bound: Floats  # (1,) of the node whose labels are listed


def know_nothing(tables: DeclaredTables) -> DeclaredSummary:
    """The summary of a search of all graphs."""
    none = np.zeros(0, dtype=np.int64)
    return DeclaredSummary(np.zeros((0, tables.own.shape[1])), none, none)


def make_declared_stack(variables: int, domain: int, n: int) -> DeclaredStack:
    """Stack for that many nodes and edges, and states of one of them."""
    depth = variables + 1
    return DeclaredStack(
        label=np.full(variables, -1, dtype=np.int64),
        since=np.zeros(variables, dtype=np.int64),
        domain=np.zeros((depth, variables, domain), dtype=np.int64),
        width=np.zeros((depth, variables), dtype=np.int64),
        origin=np.zeros((depth, variables, domain), dtype=np.int64),
        move_bound=np.zeros((depth, variables, domain)),
        message=np.zeros((depth, variables, variables, domain)),
        scale=np.zeros((depth, 2)),
        variable=np.zeros(depth, dtype=np.int64),
        order=np.zeros((depth, domain), dtype=np.int64),
        order_bound=np.zeros((depth, domain)),
        next=np.zeros(depth, dtype=np.int64),
        place=make_place(),
        load=np.zeros((2, 2, n), dtype=np.int64),
        richest=np.zeros((2, n), dtype=np.int64),
    )


def make_declared_scratch(
    variables: int, domain: int, tables: DeclaredTables, most: tuple[int, int]
) -> DeclaredScratch:
    """Scratch that fits the tables; ``most`` labellings of nodes, and of edges, are listed."""
    width, ops = tables.own.shape[1], tables.delta.shape[:3]
    return DeclaredScratch(
        reference=np.zeros(width),
        move=np.zeros((variables, domain, width)),
        along=np.zeros((variables, domain)),
        square=np.zeros((variables, domain)),
        gram=np.zeros((variables, variables, domain, domain)),
        both_along=np.zeros(tables.both.shape[:3]),
        delta_along=np.zeros(ops),
        classes=np.zeros(len(tables.pair) + 1, dtype=np.int64),
        choice=np.zeros(variables, dtype=np.int64),
        factor=np.zeros(2),
        potentials=make_potentials(variables, domain),
        most=np.array(most, dtype=np.int64),
        listed=np.zeros(variables, dtype=np.int64),
        try_at=np.zeros(variables + 1, dtype=np.int64),
        column=np.zeros((variables + 1, width)),
        turn=np.array([0, 0, -1], dtype=np.int64),
        bound=np.zeros(1),
    )
