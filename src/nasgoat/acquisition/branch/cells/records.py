"""The records of arrays that the compiled search of cells works on.

Notation (docs/branch-and-bound.md; see also ``branch.records``)
    S  shapes: structures, or prefixes of structures;  P  different matrices among them
    n  nodes;  L  labels;  r  length of a feature's vector
    V  variables (nodes, or edges) of the largest shape;  X  states that a variable can take
    D  most states in the domain of one variable
    Q  labels of the last inner node of a prefix;  K  rows of limits;  C  change classes

In a *structure* all edges are known, and the state of a variable is its label. A *prefix* leaves
out the sink and the last inner node: the state of a node is its label, its distance to the last
inner node (0 if there is no path) and its distance to the sink.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasgoat.acquisition.branch.records import (
    Floats,
    Integers,
    Potentials,
    make_place,
    make_potentials,
)
from nasgoat.compiled_records import record

#: Places in ``StateScratch.parts``: ε₁ - ε₂, and for each part its largest ω and ‖U‖ and 1 + 1/ε.
WIDER, FIRST_OMEGA, SECOND_OMEGA, FIRST_LENGTH, SECOND_LENGTH, FIRST_OVER, SECOND_OVER = range(7)
USUAL_OMEGA = 0.8  # √Ω at states that matter, as a share of its largest value, before it is known


@record
class Shapes(NamedTuple):
    """Structures or prefixes whose variables have no states yet."""

    home: Integers  # (S,) row of the matrices below
    last_label: Integers  # (S,) label of the last inner node of a prefix, -1 for a structure
    size: Integers  # (P,) number of nodes, less that of the smallest graphs of the space
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


@record
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
    codes: Floats  # (columns, 1 + r) of the blocks other than the paper's; the same for every size
    split: int  # entries of a vector that form its first part
    spread: Floats  # (2, 2, sizes, n, n, L, L) Ω of both parts: by two tails, and by two heads
    known_offset: int  # added to the code of an open distance once a label of its ends is known
    pull: Floats  # (2, kinds, n, kinds + 1) Ω where all labels are known (``parts``), or empty


@record
class Changes(NamedTuple):
    """What the variables of each change class change while all variables are open."""

    own: Floats  # (C, 1 + r) of a variable's features while its label is "*"
    move: Floats  # (C, L, 1 + r) change by a label
    square: Floats  # (C, L) squared length of its vector
    gram: Floats  # (class pairs, L, L) products of the changes of two variables
    given: Floats  # (P, 1 + r) of what is known of a shape besides its pairs; no rows if nothing is


@record
class LimitRows(NamedTuple):
    """Linear limits as rows: the total of what is known of a graph may not exceed the caps."""

    cap: Floats  # (K,)
    state: Floats  # (K, places, X) cost of a state: its label and its edges to the last two nodes
    place: Integers  # (P, V) row of ``state`` that holds for a variable
    shape: Floats  # (K, P) cost of what is known of a shape
    last_label: Floats  # (K, Q) cost of the last inner node and of its edge to the sink
    longest: Integers  # (L,) the most of each label on a path, exactly; no entries if any may be


@record
class Problem(NamedTuple):
    """All that a search looks up and never changes, but for what only prefixes need."""

    pairs: PairTables
    shapes: Shapes
    limits: LimitRows
    changes: Changes


@record
class States(NamedTuple):
    """What a state of a prefix stands for and adds, and all else that only prefixes need.

    A *link* is what a node has with one of the two last nodes: a label and a distance. Every state
    has two links, one with the last inner node and one with the sink.

    """

    label: Integers  # (X,) L for the source of a prefix
    last: Integers  # (X,) distance to the last inner node, 0 for no path
    sink: Integers  # (X,) distance to the sink
    added: Floats  # (Q, X, 1 + r) column of its features with the last two nodes, centred
    gram: Floats  # (2, Q, X, X) products of the vectors, and of their first parts
    link: Integers  # (X, 2) the links of a state
    link_vector: Floats  # (Q, links, r) their vectors; those with the sink carry the centre
    link_gram: Floats  # (2, Q, C, L, links) their products with the changes of each class
    first_square: Floats  # (C, L) squared length of the first part of a change
    first_gram: Floats  # (class pairs, L, L) products of the first parts of two changes
    clash: NDArray[np.int8]  # (n, X, X) whether states contradict each other at that distance
    needed: NDArray[np.int8]  # (X, X) least distance that two states allow, n for no path at all
    fixed: Floats  # (Q, 3, 1 + r) of the last nodes; centre of a labelled node; of the source
    reach: Integers  # (P, V) longest distance from a node to another one of the prefix
    option: Floats  # as in ``Tables``
    options: Integers
    split: int
    spread: Floats  # (2, 2, n, n, L, L), of the size that is searched
    known_offset: int
    pull: Floats
    allowed: NDArray[np.uint8]  # (S, V, X) states that shapes may be in; no rows if all are
    known_labels: Integers  # (S, V) labels that are known from the start, -1 for others; or no rows
    next_variable: Integers  # (S,) whose labels the bound tells apart best, -1 for none
    label_bound: Floats  # (S, L) lower bound with each of its labels


@record
class StateScratch(NamedTuple):
    """Scratch of one bound of a prefix."""

    along: Floats  # (X,) p · vector of a state
    link_along: Floats  # (links,) p · vector of a link
    link_gram: Floats  # (2, V, L, links) p_i(l) · vector of a link, and of their first parts
    first_square: Floats  # (V, L) ‖p_i(l)‖² of the first part
    first_gram: Floats  # (V, V, L, L) p_i(l) · p_j(l') of the first parts, i < j
    first_norm: Floats  # (V, D) squared length of the first part of the whole change by a state
    parts: Floats  # (7,) WIDER and so on
    often: Integers  # (2, V, n) pairs at that distance in which a node is the tail, or the head
    kinds: Integers  # (2, V, n) the distances of such pairs
    many: Integers  # (2, V) how many
    own_spread: Floats  # (2, V, L) Ω of both parts: what one label adds
    spread: Floats  # (2, V, V, L, L) and what two labels add, i < j
    option_along: Floats  # (codes, L, L, n) p · p_ij(l, l') at each open distance
    used: Integers  # (X,) whether a state is in some domain
    used_link: Integers  # (links,) the same for links
    mask: Integers  # (V, 2) distances that a node can still have to the last inner node and sink
    row: Floats  # (L + 1, D) the part of θ_ij that depends on one label and one state
    least: Floats  # (L, L, n + 1) least that two labels add at a distance of that or more
    run: Integers  # (V, D) neighbouring states of one label from here on
    used_label: Integers  # (V, L) whether a label that changes something is in a domain
    known: Integers  # (V + 1,) whether the label of a variable was known; of how many
    pairs: Integers  # (V · V, 3) pairs at open distances where all labels are known, their kinds
    price: Floats  # (3, V, V, n) of each open distance: p · p_ij(d), and what it adds to both Ω


@record
class Prefixes(NamedTuple):
    """All that only a search of prefixes needs.

    It is an argument of its own, which is None for structures: then nothing of it is compiled.
    """

    states: States
    scratch: StateScratch


@record
class Stack(NamedTuple):
    """The open nodes of the depth-first search; row t belongs to depth t."""

    reference: Floats  # (V + 1, 1 + r) column of the reference graph
    move: Floats  # (V + 1, V, L, 1 + r) its change if variable i takes label l
    domain: Integers  # (V + 1, V, D) states that variable i can still take
    width: Integers  # (V + 1, V) how many
    move_bound: Floats  # (V + 1, V, D) lower bound if variable i takes that state
    message: Floats  # (V + 1, V, V, D) what pair {i, j} has handed to variable j
    origin: Integers  # (V + 1, V, D) place of a state in the domain of the depth below
    scale: Floats  # (V + 1, 5) the c and ‖U‖ of the bound; of prefixes ‖U‖ and ω of both parts
    states: Integers  # (V,) -1 while open
    variable: Integers  # (V + 1,) variable that is branched on
    order: Integers  # (V + 1, D) its states, lowest bound first
    order_bound: Floats  # (V + 1, D)
    next: Integers  # (V + 1,) place of the next state to try
    place: Integers  # (4,) POSITION, DEPTH, NODES, SHAPE
    richest: Integers  # (2, n) scratch: the most of a label on a path to a node, at least, at most


@record
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


def make_stack(variables: int, labels: int, width: int, domain: int, nodes: int) -> Stack:
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
        scale=np.zeros((depth, 5)),
        states=np.full(variables, -1, dtype=np.int64),
        variable=np.zeros(depth, dtype=np.int64),
        order=np.zeros((depth, domain), dtype=np.int64),
        order_bound=np.zeros((depth, domain)),
        next=np.zeros(depth, dtype=np.int64),
        place=make_place(),
        richest=np.zeros((2, nodes), dtype=np.int64),
    )


def make_state_scratch(states: States, variables: int, labels: int, domain: int) -> StateScratch:
    """Scratch for these states, and that many variables, labels and states of a variable."""
    total, links = len(states.label), states.link_vector.shape[1]
    return StateScratch(
        along=np.zeros(total),
        link_along=np.zeros(links),
        link_gram=np.zeros((2, variables, labels, links)),
        first_square=np.zeros((variables, labels)),
        first_gram=np.zeros((variables, variables, labels, labels)),
        first_norm=np.zeros((variables, domain)),
        parts=np.zeros(7),
        often=np.zeros((2, variables, len(states.options)), dtype=np.int64),
        kinds=np.zeros((2, variables, len(states.options)), dtype=np.int64),
        many=np.zeros((2, variables), dtype=np.int64),
        own_spread=np.zeros((2, variables, labels)),
        spread=np.zeros((2, variables, variables, labels, labels)),
        option_along=np.zeros(states.option.shape[:-1]),
        used=np.zeros(total, dtype=np.int64),
        used_link=np.zeros(links, dtype=np.int64),
        mask=np.zeros((variables, 2), dtype=np.int64),
        row=np.zeros((labels + 1, domain)),
        least=np.zeros((labels, labels, len(states.clash) + 1)),
        run=np.zeros((variables, domain), dtype=np.int64),
        used_label=np.zeros((variables, labels), dtype=np.int64),
        known=np.zeros(variables + 1, dtype=np.int64),
        pairs=np.zeros((variables * variables, 3), dtype=np.int64),
        price=np.zeros((3, variables, variables, states.option.shape[3])),
    )


def make_scratch(variables: int, labels: int, domain: int, distances: int) -> Scratch:
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
        potentials=make_potentials(variables, domain),
    )
