"""The records of arrays that the compiled search works on.

Notation (docs/branch-and-bound.md)
    S  shapes: structures, or prefixes of structures;  P  different matrices among them
    n  nodes;  L  labels;  r  length of a feature's vector
    V  variables (nodes, or edges) of the largest shape;  X  states that a variable can take
    D  most states in the domain of one variable
    Q  labels of the last inner node of a prefix;  K  rows of limits;  C  change classes
    "*" the mean over all labels of a node or edge

A feature f has a mean part w_f and a vector √β Rᵀ e_f, so that the acquisition of a graph whose
features are added up is (sum of mean parts) - ‖sum of vectors‖. A *column* holds both: 1 + r
numbers, the mean part first.

In a *structure* all edges are known, and the state of a variable is its label. A *prefix* leaves
out the sink and the last inner node: the state of a node is its label, its distance to the last
inner node (0 if there is no path) and its distance to the sink.

Declared graphs ("Graphs with labels on nodes and edges") have labels on both, and structures of one
number of nodes n:
    S     structures: a matrix, and which nodes are sources and sinks
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
#: What ``turn`` of the scratch holds: variables to list, nodes among them, depth (-1: not listing).
VARIABLES, NODE_VARIABLES, LISTING = 0, 1, 2


class Shapes(NamedTuple):
    """Structures or prefixes whose variables have no states yet."""

    home: Integers  # (S,) row of the matrices below
    last_label: Integers  # (S,) label of the last inner node of a prefix, -1 for a structure
    size: Integers  # (P,) place of the number of nodes among the sizes of the space
    nodes: Integers  # (P,) known nodes
    variables: Integers  # (P,)
    distance: NDArray[np.int8]  # (P, n, n), 0 where v is u or can't be reached
    ends: NDArray[np.int8]  # (P, V, 2) edges that carry labels; V = 0 where nodes do
    twin: NDArray[np.int8]  # (P, V) equal numbers mark variables that may be swapped
    change_class: Integers  # (P, V) variables of one class change a shape alike
    class_pair: NDArray[np.int32]  # (P, V, V) the classes of two variables i < j, as one number


class ChangeClasses(NamedTuple):
    """Where the change classes of shapes come from."""

    home: Integers  # (C, 2) a shape and a variable of each class, -1 for none
    pairs: Integers  # (class pairs, 2) the classes that a number in ``class_pair`` stands for


class PairTables(NamedTuple):
    """Columns of pairs of nodes, "*" included, for every number of nodes."""

    path: Floats  # (sizes, n, labels, labels, 1 + r) of a pair at distance s with these codes
    both: Floats  # (sizes, n, L, L, 1 + r) interaction of two labels at distance s
    both_gram: Floats  # (sizes, n, n) largest product of interactions at two distances


class Tables(NamedTuple):
    """Columns of all features. An open distance (Lemma 4) is a code after the distances."""

    pairs: PairTables
    shift: Floats  # (2, sizes, n, L, labels, 1 + r) label l instead of "*" at the tail or head
    edge: Floats  # (sizes, n, n, L + 1, 1 + r) of an edge that carries a label, "*" the last
    option: Floats  # (codes, L, L, n, 1 + r) interaction of two labels at each open distance
    options: Integers  # (n or more,) how many distances a code leaves open, 0 for a distance
    codes: Floats  # (columns, 1 + r) of the blocks beside the paper's; the same for every size


class Changes(NamedTuple):
    """What the variables of each change class change while all variables are open."""

    own: Floats  # (C, 1 + r) of a variable's features while its label is "*"
    move: Floats  # (C, L, 1 + r) change by a label
    square: Floats  # (C, L) squared length of its vector
    gram: Floats  # (class pairs, L, L) products of the changes of two variables
    given: Floats  # (P, 1 + r) of what is known of a shape beside its pairs; no rows if nothing is


class LimitRows(NamedTuple):
    """Linear limits as rows: the total of what is known of a graph may not exceed the caps."""

    cap: Floats  # (K,)
    state: Floats  # (K, places, X) cost of a state: its label and its edges to the last two nodes
    place: Integers  # (P, V) row of ``state`` that holds for a variable
    shape: Floats  # (K, P) cost of what is known of a shape
    last_label: Floats  # (K, Q) cost of the last inner node and of its edge to the sink


class Problem(NamedTuple):
    """All that a search looks up and never changes, but for what only prefixes need."""

    pairs: PairTables
    shapes: Shapes
    limits: LimitRows
    changes: Changes


class States(NamedTuple):
    """What a state of a prefix stands for and adds, and all else that only prefixes need.

    A *link* is what a node has with one of the two last nodes: a label and a distance. Every state
    has two links, one with the last inner node and one with the sink.

    """

    label: Integers  # (X,) L for the source of a prefix
    last: Integers  # (X,) distance to the last inner node, 0 for no path
    sink: Integers  # (X,) distance to the sink
    added: Floats  # (Q, X, 1 + r) column of its features with the last two nodes, centred
    gram: Floats  # (Q, X, X) products of the vectors
    link: Integers  # (X, 2) the links of a state
    link_vector: Floats  # (Q, links, r) their vectors; those with the sink carry the centre
    link_gram: Floats  # (Q, C, L, links) their products with the changes of each class
    clash: NDArray[np.int8]  # (n, X, X) whether states contradict each other at that distance
    fixed: Floats  # (Q, 3, 1 + r) of the last nodes; centre of a labelled node; of the source
    reach: Integers  # (P, V) longest distance from a node to another one of the prefix
    option: Floats  # as in ``Tables``
    options: Integers


class StateScratch(NamedTuple):
    """Scratch of one bound of a prefix."""

    along: Floats  # (X,) p · vector of a state
    link_along: Floats  # (links,) p · vector of a link
    link_gram: Floats  # (V, L, links) p_i(l) · vector of a link
    option_along: Floats  # (codes, L, L, n) p · p_ij(l, l') at each open distance
    used: Integers  # (X,) whether a state is in some domain
    used_link: Integers  # (links,) the same for links
    mask: Integers  # (V, 2) distances that a node can still have to the last inner node and sink
    row: Floats  # (L + 1, D) the part of θ_ij that depends on one label and one state
    run: Integers  # (V, D) neighbouring states of one label from here on


class Prefixes(NamedTuple):
    """All that only a search of prefixes needs.

    It is an argument of its own, which is None for structures: then nothing of it is compiled.
    """

    states: States
    scratch: StateScratch


class Stack(NamedTuple):
    """The open nodes of the depth-first search; row t belongs to depth t."""

    reference: Floats  # (V + 1, 1 + r) column of the reference graph
    move: Floats  # (V + 1, V, L, 1 + r) its change if variable i takes label l
    domain: Integers  # (V + 1, V, D) states that variable i can still take
    width: Integers  # (V + 1, V) how many
    move_bound: Floats  # (V + 1, V, D) lower bound if variable i takes that state
    message: Floats  # (V + 1, V, V, D) what pair {i, j} has handed to variable j
    origin: Integers  # (V + 1, V, D) place of a state in the domain of the depth below
    scale: Floats  # (V + 1, 2) the c and ‖U‖ of the bound
    states: Integers  # (V,) -1 while open
    variable: Integers  # (V + 1,) variable that is branched on
    order: Integers  # (V + 1, D) its states, lowest bound first
    order_bound: Floats  # (V + 1, D)
    next: Integers  # (V + 1,) place of the next state to try
    place: Integers  # (4,) POSITION, DEPTH, NODES, SHAPE


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


class Sizes(NamedTuple):
    """What a bound needs to know of the completions of a search node, beside its potentials."""

    open: int  # open variables
    mean: float  # m of the reference graph
    square: float  # ‖p‖²
    norm: float  # about the largest ‖p + U + W‖
    length: float  # about the largest ‖U‖
    omega: float  # ω ≥ ‖W‖


class Answers(NamedTuple):
    """Where a call of a compiled search puts the graphs that it found."""

    chosen: Integers  # (most graphs of a call, V) their states
    values: Floats  # (most graphs of a call,)


class Scratch(NamedTuple):
    """Scratch of one bound: what states and pairs of states do to the norm, and potentials."""

    along: Floats  # (V, L) p · p_i(l)
    square: Floats  # (V, L) ‖p_i(l)‖²
    gram: Floats  # (V, V, L, L) p_i(l) · p_j(l'), i < j
    both_along: Floats  # (n, L, L) p · p_ij(l, l') at distance s
    norm: Floats  # (V, D) squared length of the whole change by a state
    apart: Integers  # (V, V) distance from i to j for their labels, 0 if none
    pairs: Integers  # (n,) pairs of open labelled variables at that distance
    choice: Integers  # (V,) place in the domain of the state that looks best
    factor: Floats  # (2,) RHO, WIDE
    potentials: Potentials


class Model(NamedTuple):
    """The posterior of the exponential kernel (c = 0) or of the normalised one (c = 1).

    With q(x) = k_lin(x, x) / 2, kernel values are σ_k² exp(φ_j Λ x - c q(x) - c q(φ_j)), and the
    prior variance is σ_k² exp(2 (1 - c) q(x)). What the observed graphs add to the exponents is
    part of dual and whitening.
    """

    dual: Floats  # (m,) a = K⁻¹ y, times exp(-c q(φ_j))
    whitening: Floats  # (m, m) L⁻¹, column j times exp(-c q(φ_j))
    settings: Floats  # (3,) σ_k², √β and c


class Factors(NamedTuple):
    """Features as factors of the kernel vector."""

    path: Floats  # (sizes, n, labels, labels, m) exp of what a pair adds to k_lin(x, X)
    path_column: Integers  # (n, labels, labels) place among the counts
    edge: Floats  # (sizes, n, n, L, m)
    edge_column: Integers  # (n, n, L)
    square: Floats  # (sizes, columns) λ_f
    given: Floats  # (P or 1, m) σ² times the factor of what is known of a shape beside its pairs
    given_square: Floats  # (P or 1,) what that adds to k_lin with itself


def new_place() -> Integers:
    """Before the first shape."""
    return np.array([0, -1, 0, -1], dtype=np.int64)


class DeclaredShapes(NamedTuple):
    """Structures of one size whose nodes and edges wait for labels."""

    pair_class: NDArray[np.int16]  # (S, n, n)
    edges: Integers  # (S,) how many
    ends: Bytes  # (S, E, 2) tail and head
    allowed: Bytes  # (S, n, L) whether a node may have a label
    twin: Bytes  # (S, n) equal numbers mark nodes that may be swapped
    symmetry_at: Integers  # (S + 1,) where the automorphisms of a structure begin
    symmetry: Bytes  # (all, n)


class DegreeRules(NamedTuple):
    """What labels demand of degrees: first of incoming, then of outgoing edges."""

    low: Integers  # (2, L)
    high: Integers  # (2, L)
    weight: Integers  # (M,) what an edge adds
    edge: Bytes  # (n, n, M) whether an edge may have a label, by its ends
    directed: NDArray[np.bool_]  # (1,)


class DeclaredRows(NamedTuple):
    """Linear limits: what is known of a structure and the costs of labels may not exceed caps."""

    cap: Floats  # (rows,)
    node: Floats  # (rows, L)
    edge: Floats  # (rows, M)
    shape: Floats  # (rows, S)


class DeclaredTables(NamedTuple):
    """Columns of the posterior; "*" is the last code."""

    own: Floats  # (L + 1, 1 + r) of a node by itself
    pair: Floats  # (K, L + 1, L + 1, 1 + r) of a pair of nodes
    tail: Floats  # (K, L, L + 1, 1 + r) what label a instead of "*" at the first node changes
    both: Floats  # (K, L, L, 1 + r) interaction of two labels (Lemma 1)
    delta: Floats  # (M, L, L, 1 + r) δ(l, a, b)
    reach: Floats  # (L, L, 2) least mean part, longest vector of δ(l, a, b) for all l
    gram: Floats  # (K + 1, K + 1) largest products of interactions; the last row is δ's


class DeclaredProblem(NamedTuple):
    """All that a search looks up and never changes."""

    shapes: DeclaredShapes
    rules: DegreeRules
    rows: DeclaredRows
    tables: DeclaredTables


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


def new_declared_stack(variables: int, domain: int, n: int) -> DeclaredStack:
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
        place=new_place(),
        load=np.zeros((2, 2, n), dtype=np.int64),
    )


def new_declared_scratch(
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
        potentials=new_potentials(variables, domain),
        most=np.array(most, dtype=np.int64),
        listed=np.zeros(variables, dtype=np.int64),
        try_at=np.zeros(variables + 1, dtype=np.int64),
        column=np.zeros((variables + 1, width)),
        turn=np.array([0, 0, -1], dtype=np.int64),
        bound=np.zeros(1),
    )


def new_stack(variables: int, labels: int, width: int, domain: int) -> Stack:
    """An empty stack; ``width`` is that of a column."""
    depth = variables + 1
    return Stack(
        reference=np.zeros((depth, width)),
        move=np.zeros((depth, variables, labels, width)),
        domain=np.zeros((depth, variables, domain), dtype=np.int64),
        width=np.zeros((depth, variables), dtype=np.int64),
        move_bound=np.zeros((depth, variables, domain)),
        message=np.zeros((depth, variables, variables, domain)),
        origin=np.zeros((depth, variables, domain), dtype=np.int64),
        scale=np.zeros((depth, 2)),
        states=np.full(variables, -1, dtype=np.int64),
        variable=np.zeros(depth, dtype=np.int64),
        order=np.zeros((depth, domain), dtype=np.int64),
        order_bound=np.zeros((depth, domain)),
        next=np.zeros(depth, dtype=np.int64),
        place=new_place(),
    )


def new_state_scratch(states: States, variables: int, labels: int, domain: int) -> StateScratch:
    """Scratch for these states, and that many variables, labels and states of a variable."""
    total, links = len(states.label), states.link_vector.shape[1]
    return StateScratch(
        along=np.zeros(total),
        link_along=np.zeros(links),
        link_gram=np.zeros((variables, labels, links)),
        option_along=np.zeros(states.option.shape[:-1]),
        used=np.zeros(total, dtype=np.int64),
        used_link=np.zeros(links, dtype=np.int64),
        mask=np.zeros((variables, 2), dtype=np.int64),
        row=np.zeros((labels + 1, domain)),
        run=np.zeros((variables, domain), dtype=np.int64),
    )


def new_scratch(variables: int, labels: int, domain: int, distances: int) -> Scratch:
    """Scratch for that many variables, labels, states of a variable and codes of distances."""
    return Scratch(
        along=np.zeros((variables, labels)),
        square=np.zeros((variables, labels)),
        gram=np.zeros((variables, variables, labels, labels)),
        both_along=np.zeros((distances, labels, labels)),
        norm=np.zeros((variables, domain)),
        apart=np.zeros((variables, variables), dtype=np.int64),
        pairs=np.zeros(distances, dtype=np.int64),
        choice=np.zeros(variables, dtype=np.int64),
        factor=np.zeros(2),
        potentials=new_potentials(variables, domain),
    )


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


def new_answers(most: int, variables: int) -> Answers:
    """Room for the graphs of one call."""
    return Answers(chosen=np.zeros((most, variables), dtype=np.int64), values=np.zeros(most))
