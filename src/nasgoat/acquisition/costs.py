"""What an acquisition optimiser costs in a space: the model by which ``auto`` chooses.

Seconds are of one core, of a question in the middle of a search, where observed graphs crowd around
the best ones. ``benchmarks/forecast.py`` measures them: the constants were fitted on its first half
of spaces and compared with the second (docs/branch-and-bound.md has the table). Problems of the
same space differ by a factor of two to three.

Notation
    N     graphs of the space, its limits left out (an upper bound is enough)
    n, E  nodes and edges of the largest graph
    S, P  structures and prefixes up to isomorphism. Where a space grows node by node, only their
          ordered matrices can be counted: some 1.75^(n - 5) and 1.5^(n - 5.4) times as many (3, 5,
          9 and 18 times for 7 to 10 nodes and n + 2 edges; 1.9, 2.9 and 4.5 times for 7 to 9 nodes
          and any edges)
    V, L  labels to choose in a structure, and what each is chosen from;  D  kernel features
    Q     questions to one fitted surrogate: a portfolio asks one for each √β

Seconds of Q questions

    catalogue    0.002 + 1.3e-7 N  linear kernel; N at most 5,000,000
                 0.003 + 2e-7 N    any other kernel
                 0.003 + 7e-7 N    declared graphs, whose number is known better
    branch       Q times 0.003, and for each number of nodes 0.0012 where labels are on nodes, and
                 S (2e-6 + 1.7e-10 (V L)² D)      labels on nodes, by structures
                 P L (2.4e-5 + 1.9e-9 (V L)² D)   labels on nodes, by prefixes
                 P 4e-5                           labels on nodes, by prefixes that grow: more
                                                  operations give more to tell structures apart by
                 S (2e-7 + 2e-11 (V L)² D) + 8e-9 n² (n + L) D    labels on edges
                 2 (L^V / 2e11)^0.3, 30 at most   labels on edges of few structures, by convex
                                                  relaxations; then the gap is small
                 and 0.003 more with the exponential kernel, which never takes prefixes, with
                 6e-8 N (labels on nodes) or 5e-6 N^0.72 and 1.5e-8 N at least (on edges); with the
                 normalised one, whose bounds rule out no structure, 6e-7 N; at most 9 times as
                 much as with the linear one where labels are on nodes: minorants take its search;
                 at most S (1e-3 + 1e-6 H) + 1e-5 H where they are on edges, with H = L^(V/2) at
                 most 200,000: two halves
                 0.02 + 1.5e-7 N   several objectives, N at most 3,000,000, any kernel but the
                                   linear one: all labellings at once, for a whole batch
                 0.002 + 5.4e-8 (S W² D)^0.76    declared graphs, linear kernel; S is estimated, W
                                   the labels to choose from at nodes and edges together
                 0.018 P^0.71      several cells, linear kernel, labels on edges of one of them;
                                   P pairs of their structures
                 8e-9 P            several cells, P pairs of their graphs
    MIP          with bounds of structures, where branch and bound applies, 13 times as much as it
                 at least, and Q times
                         0.6 (M / 8000)^1.5       labels on nodes, linear kernel; M variables, about
                         0.05 + 2.5 (D L² / 5000)^1.5    labels on edges, linear kernel
                         1.5 (N / 3000)^0.3       exponential kernel, 50 observations, 1 at least
                         7.6e-4 (S W² D)^0.76     declared graphs, linear kernel
                 elsewhere, by itself, Q times
                         5 · 6^(n - 7)            labels on nodes, linear kernel
                         3 · 300^(n - 6)          labels on nodes, exponential kernel
                         2 · 1.6^(E - 6)          labels on edges
                         2e-3 (S W² D)^0.76       declared graphs
                 single questions take a fifth to five times that
    paper        6 · 7^(n - 4), 6 at least        the literal formulation, linear kernel
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import TYPE_CHECKING, Any, cast

from nasgoat.acquisition.proposals import USUAL_SPREAD, Cost, Reason
from nasgoat.kernels import FORMS, PAPER_BLOCKS, FeatureMap, count_searches, explain_unbounded
from nasgoat.kernels.blocks import BLOCKS
from nasgoat.kernels.summaries import STRUCTURE
from nasgoat.spaces import SearchSpace
from nasgoat.spaces.graph_structures import LARGEST_STRUCTURES
from nasgoat.spaces.node_labeled import count_prefixes
from nasgoat.surrogate.posterior import WIDEST

if TYPE_CHECKING:
    from nasgoat.spaces import CellSpace, GraphSpace

#: Graphs in a catalogue: more would take gigabytes and minutes.
LARGEST_CATALOGUE = 5_000_000
#: Structures, or prefixes, that branch and bound lists: more would take over a gigabyte.
LARGEST_BRANCH = 2_000_000
#: Variables of a program, about; more take minutes and gigabytes to write down.
LARGEST_PROGRAM = 600_000
#: Prefixes with their last labels that are listed at most; more grow node by node.
GROWING = 20_000
SLOW_PAPER = 6  # nodes from which on the paper's literal formulation takes minutes at least
SMALLEST_PREFIX = 4  # nodes: smaller structures have no prefix worth the name
SMALLEST_GROWING = 5  # nodes: smaller graphs have no node that could float

_LISTED_PER_SECOND = 50_000  # graphs that enter a catalogue when it is built
_LISTING = 3e-4  # seconds to list a structure of declared graphs
_LOADING = 1.0  # seconds to load compiled code, once in a process
#: Structures at most, and labellings of one at least, that are searched by convex relaxations.
FEW_STRUCTURES, MANY_LABELLINGS = 128, 1e10
#: Labellings up to which several objectives are bounded together under the exponential kernel.
FEW_TOGETHER = 3_000_000
#: Labellings of half the edges of a structure whose bounds fit in memory.
LARGEST_HALF = 200_000
_SIFTING = 8.0  # how many times as long the exponential kernel takes more than the linear one
_RELAXED = 30.0  # seconds at most until the gap is small; the proof may take longer
_GROWING_SPREAD = 5.0  # of prefixes that grow: 0.9 s to 5.5 s of nine nodes, 3.3 s are said
_ASKING = 0.003  # seconds of any question, however small the space
#: Structures, or graphs, of one of several cells, and combinations of them.
LARGEST_ROWS, LARGEST_PAIRS = 100_000, 2_000_000_000
_PAIR, _VALUE = 0.018, 8e-9  # seconds to bound two structures, and to value two graphs
_PROGRAM_SPREAD = 5.0  # by how many times programs of one space differ in what they take
_MIP_BESIDE_BRANCH = 13.0  # how many times as long as branch and bound it takes at least


_A_LIST = Reason("the space is a list of graphs, without a rule that says which are in it")
_ONE_GRAPH = Reason("a program holds the variables of one graph, the space has several cells")


def forecast_catalogue(space: SearchSpace, kernel: str, questions: int) -> Cost | Reason:
    """Cost of listing the space once, and of scoring all of it for a few questions."""
    graphs = bound_graphs(space)
    if graphs > LARGEST_CATALOGUE:
        return Reason(f"up to {shorten(graphs)} graphs, {LARGEST_CATALOGUE:,} can be listed")
    seconds = _LAYOUTS[space.layout].score(graphs, kernel)
    return Cost(seconds, graphs / _LISTED_PER_SECOND, f"{graphs:,} graphs at most")


def _forecast_scoring(graphs: int, kernel: str) -> float:
    """Seconds to score this many cells, or graphs of a list."""
    return 0.002 + 1.3e-7 * graphs if kernel == "linear" else 0.003 + 2e-7 * graphs


def _forecast_declared_scoring(graphs: int, kernel: str) -> float:
    """Seconds to score this many declared graphs, whose number is known better."""
    return 0.003 + 7e-7 * graphs


def forecast_branch(
    space: SearchSpace, kernel: str, questions: int, blocks: Sequence[str] = PAPER_BLOCKS
) -> Cost | Reason:
    """Cost of branch and bound: it must list the structures of a space, or let prefixes grow."""
    if kernel not in FORMS:
        return Reason(f"it knows the kernels {', '.join(FORMS)}")
    if refusal := explain_unbounded(space, blocks):
        return Reason(refusal)
    if kernel == "normalised" and not {*blocks} <= {*PAPER_BLOCKS}:
        return Reason(f"it knows the blocks {', '.join(PAPER_BLOCKS)} of the normalised kernel")
    search = _LAYOUTS[space.layout].search
    return search if isinstance(search, Reason) else search(space, kernel, questions, blocks)


def _forecast_cell(
    cell: CellSpace, kernel: str, questions: int, blocks: Sequence[str]
) -> Cost | Reason:
    """Cost of branch and bound on cells: structures or their prefixes, then labels."""
    if kernel == "linear" and count_features(cell) > WIDEST:
        return _refuse_width(cell)
    more = any(name not in PAPER_BLOCKS for name in blocks)
    prefixes = None if kernel == "linear" and not more else False
    costs = [forecast_shapes(cell, n, prefixes) for n in cell.sizes]
    shapes, graphs = sum(cost.shapes for cost in costs), bound_graphs(cell)
    if shapes > LARGEST_BRANCH and not any(cost.growing for cost in costs):
        said = f"{shorten(shapes)} structures, {LARGEST_BRANCH:,} fit in memory"
        return Reason(said, stops=kernel == "linear")
    tables = 0.0012 * len(costs) if cell.labels_on == "nodes" else 0.0  # of each number of nodes
    seconds = tables + sum(cost.seconds for cost in costs)
    each = _ASKING + seconds * count_searches(cell, blocks)
    if kernel != "linear":
        graph_by_graph = _ASKING + _forecast_products(cell, kernel, _to_float(graphs))
        if not more:
            on_nodes = cell.labels_on == "nodes"
            graph_by_graph = min(graph_by_graph, _SIFTING * each if on_nodes else _halve(cell))
        each += graph_by_graph
    kind = "structure" if shapes == 1 else "structures"
    if any(cost.prefixes for cost in costs):
        kind = "structures or their prefixes"
    said = f"{shorten(shapes)} {kind} of {shorten(graphs)} graphs"
    spread = _GROWING_SPREAD if any(cost.growing for cost in costs) else USUAL_SPREAD
    return Cost(questions * each, _LOADING, said, stops=True, spread=spread)


def looks_at_all(space: SearchSpace, kernel: str, blocks: Sequence[str]) -> bool:
    """Whether branch and bound goes through all labellings at once for several objectives."""
    paper = kernel != "linear" and {*blocks} <= {*PAPER_BLOCKS}
    return paper and space.layout == "cell" and bound_graphs(space) <= FEW_TOGETHER


def forecast_together(space: SearchSpace) -> float:
    """Seconds of a question of several objectives to branch and bound, all labellings at once."""
    return 0.02 + 1.5e-7 * bound_graphs(space)


def _forecast_products(space: CellSpace, kernel: str, graphs: float) -> float:
    """What a search under another kernel than the linear one takes more."""
    if kernel == "normalised":
        return 6e-7 * graphs
    return (
        6e-8 * graphs if space.labels_on == "nodes" else max(5e-6 * graphs**0.72, 1.5e-8 * graphs)
    )


def _halve(space: CellSpace) -> float:
    """Seconds of a search in two halves of the labelled edges; infinite if these are too large."""
    edges = (space.edge_limit + 1) // 2
    half = _to_float(len(space.ops) ** min(edges, 300))
    if half > LARGEST_HALF:
        return inf
    return _to_float(count_structures(space)) * (1e-3 + 1e-6 * half) + 1e-5 * half


def _forecast_cells(
    space: SearchSpace, kernel: str, questions: int, blocks: Sequence[str]
) -> Cost | Reason:
    """Cost of branch and bound on several cells: pairs of structures, or of graphs, of the cells.

    All cells but the largest are combined to one side of the pairs.
    """
    if kernel != "linear":
        return Reason("it knows several cells under the linear kernel alone")
    rows = []
    by_labels = [name for name in blocks if name in BLOCKS and BLOCKS[name].decided_by != STRUCTURE]
    for name, cell in space.cells.items():
        on_edges = cell.labels_on == "edges" and not by_labels  # otherwise graphs are rows
        most = count_structures(cell) if on_edges else cell.size_bound()
        if most > LARGEST_ROWS:
            kind = "structures" if on_edges else "graphs"
            said = f"up to {shorten(most)} {kind} of the cell {name}"
            return Reason(f"{said}, {LARGEST_ROWS:,} can be listed beside another cell")
        rows.append(most)
    pairs = prod(rows)
    labelled = not by_labels and any(c.labels_on == "edges" for c in space.cells.values())
    if max(pairs // max(rows), 1) > LARGEST_ROWS or pairs > LARGEST_PAIRS:
        return Reason(f"{shorten(pairs)} pairs of cells, {LARGEST_PAIRS:,} can be searched")
    each = _ASKING + (_PAIR * pairs**0.71 if labelled else _VALUE * pairs)
    said = f"{shorten(pairs)} combinations of the cells' structures or graphs"
    return Cost(questions * each, _LOADING, said, stops=True)


def count_structures(space: SearchSpace) -> int:
    """At most how many structures the cells of a space have, all sizes together."""
    cell = cast("CellSpace", space)
    return sum(cell.structure_bound(n) for n in cell.sizes)


def _forecast_labelled(
    space: GraphSpace, kernel: str, questions: int, blocks: Sequence[str]
) -> Cost | Reason:
    """Cost of branch and bound on declared graphs: structures, then labels of nodes and edges."""
    if kernel != "linear":
        return Reason("it knows declared graphs under the linear kernel alone")
    if count_features(space) > WIDEST:
        return _refuse_width(space)
    structures = [space.structure_bound(n) for n in space.sizes]
    if sum(structures) > LARGEST_STRUCTURES:
        said = shorten(round(sum(structures))).removeprefix("about ")
        said = f"about {said} structures, {LARGEST_STRUCTURES:,} can be listed"
        return Reason(said, stops=True)
    seconds = 0.002 + 5.4e-8 * _count_declared_work(space) ** 0.76
    each = _ASKING + seconds * count_searches(space, blocks)
    said = f"about {shorten(max(round(sum(structures)), 1))} structures of labelled graphs"
    return Cost(questions * each, _LOADING + _LISTING * sum(structures), said, stops=True)


def _count_declared_work(space: GraphSpace) -> float:
    """S W² D, over all numbers of nodes; no more than a float can hold."""
    work = sum(space.structure_bound(n) * _count_choices(space, n) ** 2 for n in space.sizes)
    return min(work * count_features(space), 1e300)


def _count_choices(space: GraphSpace, n: int) -> float:
    """Labels to choose from at the nodes and edges of a structure of n nodes, about."""
    inner, most = n - space.sources - space.sinks, space.most_edges(n)
    degree = min(int(space.rules.degree_in.high.max(initial=0)), n - 1)
    edges = min(most / 2, n * degree / 4, space.edge_limit)
    return max(inner * len(space.node_ops) + edges * len(space.edge_ops), 1.0)


def count_features(space: SearchSpace) -> int:
    """How many features the paper's kernels have on a space; counted once."""
    if "features" not in space.kept:
        space.kept["features"] = len(FeatureMap(space).source)
    return int(space.kept["features"])


def _refuse_width(space: SearchSpace) -> Reason:
    return Reason(f"{count_features(space):,} features, {WIDEST:,} can be bounded")


def measure_program(space: SearchSpace, n: int) -> int:
    """About how many variables the program of n nodes has: distances of pairs, with labels."""
    labels = len(space.node_vocabulary) or 1
    return n**3 * (1 + labels) ** 2 + n**2 * (1 + len(space.edge_vocabulary))


def forecast_mip(
    space: SearchSpace, kernel: str, questions: int, blocks: Sequence[str] = PAPER_BLOCKS
) -> Cost | Reason:
    """Cost of the mixed-integer programs, one for each number of nodes."""
    if kernel not in FORMS:
        return Reason(f"it knows the kernels {', '.join(FORMS)}")
    program = _LAYOUTS[space.layout].program
    if isinstance(program, Reason):
        return program
    n = space.sizes[-1]
    if kernel == "linear" and count_features(space) > WIDEST:
        return _refuse_width(space)
    if (variables := measure_program(space, space.sizes[0])) > LARGEST_PROGRAM:
        return Reason(f"some {variables:,} variables, {LARGEST_PROGRAM:,} can be formulated")
    # Where branch and bound applies, the program is given first graphs and bounds by it.
    branch = forecast_branch(space, kernel, questions, blocks)
    if refusal := explain_unbounded(space, blocks, program=True):
        return Reason(refusal)
    seconds = questions * program(space, kernel, not isinstance(branch, Cost))
    if isinstance(branch, Cost):
        seconds = max(seconds, _MIP_BESIDE_BRANCH * branch.seconds)
    several = f"{len(space.sizes)} programs, the largest"
    said = f"{several if len(space.sizes) > 1 else 'one program'} of {n} nodes"
    return Cost(seconds, _LOADING, said, stops=True, spread=_PROGRAM_SPREAD)


def _forecast_cell_program(cell: CellSpace, kernel: str, lone: bool) -> float:
    """Seconds of the compact programs of all numbers of nodes, with bounds of structures or not.

    Args:
        cell: The space.
        kernel: The name of the kernel.
        lone: Whether branch and bound does not apply; the figure is then a lower bound.
    """
    if lone:
        return _forecast_lone_program(cell, kernel)
    if kernel != "linear":
        return max(1.5 * math.pow(_to_float(bound_graphs(cell)) / 3000, 0.3), 1.0)
    if cell.labels_on == "nodes":
        variables = sum(measure_program(cell, n) for n in cell.sizes)
        return 0.6 * math.pow(variables / 8000, 1.5)
    return 0.05 + 2.5 * math.pow(count_features(cell) * len(cell.ops) ** 2 / 5000, 1.5)


def _forecast_lone_program(cell: CellSpace, kernel: str) -> float:
    """The same where branch and bound does not apply."""
    n = cell.sizes[-1]
    if cell.labels_on == "edges":
        return _multiply_steps(2.0, 1.6, cell.edge_limit - 6)
    linear = kernel == "linear"
    return _multiply_steps(5.0, 6.0, n - 7) if linear else _multiply_steps(3.0, 300.0, n - 6)


def _forecast_declared_program(space: GraphSpace, kernel: str, lone: bool) -> float:
    """Seconds of the compact programs of declared graphs, with bounds of structures or not."""
    return (2e-3 if lone else 7.6e-4) * math.pow(_count_declared_work(space), 0.76)


@dataclass(frozen=True)
class _Layout:
    """What the optimisers of one layout of spaces cost.

    Args:
        search: The cost of branch and bound for a space, a kernel, a number of questions and
            blocks; or why there is none.
        program: Seconds of a question to the compact programs for a space, a kernel, and whether
            branch and bound does not apply; or why there is no program.
        score: Seconds to score a number of graphs under a kernel.
    """

    search: Callable[[Any, str, int, Sequence[str]], Cost | Reason] | Reason
    program: Callable[[Any, str, bool], float] | Reason
    score: Callable[[int, str], float] = _forecast_scoring


#: What every layout costs (``space.layout``).
_LAYOUTS: Mapping[str, _Layout] = {
    "cell": _Layout(_forecast_cell, _forecast_cell_program),
    "graph": _Layout(_forecast_labelled, _forecast_declared_program, _forecast_declared_scoring),
    "cells": _Layout(_forecast_cells, _ONE_GRAPH),
    "list": _Layout(_A_LIST, _A_LIST),
}


def forecast_paper(space: SearchSpace) -> float:
    """Seconds of a question to the paper's literal formulation, linear kernel.

    Measured with SCIP and 50 observations: 4 to 8 s of up to four nodes; of six nodes a gap of one
    half is left after 300 s (docs/experiments.md).

    Example:
        >>> from nasgoat import nasbench201
        >>> forecast_paper(nasbench201())
        6.0
    """
    return _multiply_steps(6.0, 7.0, max(space.sizes[-1] - 4, 0))


@dataclass(frozen=True)
class ShapeCost:
    """What branch and bound starts from in one number of nodes.

    Args:
        prefixes: Whether it starts from prefixes of structures.
        shapes: How many structures or prefixes there are at most.
        seconds: Of one question with the linear kernel.
        growing: Whether the prefixes grow node by node, so that none are listed.
        memory: Bytes of the tables that its search works with.
        listable: Whether what it starts from can be listed, or need not be.
    """

    prefixes: bool
    shapes: int
    seconds: float
    growing: bool = False
    memory: float = 0.0
    listable: bool = True


def forecast_shapes(
    space: CellSpace, n: int, prefixes: bool | None = None, growing: int = GROWING
) -> ShapeCost:
    """The cheaper of structures and prefixes of n nodes, or the one that is asked for.

    Args:
        space: The space.
        n: Nodes of the graphs.
        prefixes: Whether to take prefixes where the space allows it; the cheaper if None.
        growing: Prefixes from which on they grow node by node.

    Example:
        >>> from nasgoat import NodeLabeledSpace
        >>> space = NodeLabeledSpace(8, ["a", "b", "c"])
        >>> forecast_shapes(space, 8).prefixes
        True
        >>> forecast_shapes(NodeLabeledSpace(8, ["a", "b", "c"], max_edges=10), 8).prefixes
        False
    """
    labels, features = len(space.ops), count_features(space)
    on_nodes = space.labels_on == "nodes"
    variables = n - 2 if on_nodes else space.edge_limit
    work = (variables * labels) ** 2 * features
    whole = space.structure_bound(n)
    column, inner = 8.0 * (1 + features), (labels + 3) ** 2  # bytes; pairs of labels, ends and "*"
    if not on_nodes:
        return _cost_labelled_edges(space, n, whole, features, work)
    memory = 5 * column * (n - space.sizes[0] + 1) * n * inner
    classes = _to_float(whole) / (max(1.75 ** (n - 5), 1.0) if space.grows else 1.0)
    seconds, fits = classes * (2e-6 + 1.7e-10 * work), classes <= 2 * LARGEST_BRANCH
    structures = ShapeCost(False, whole, seconds, memory=memory, listable=fits)
    if not space.grows or n < SMALLEST_PREFIX or prefixes is False:
        return structures
    total = labels * count_prefixes(n - 2, space.edge_limit - 2)
    grows = n >= SMALLEST_GROWING and total > growing
    each = (2.4e-5 + 1.9e-9 * work) * (0.1 if grows else 1.0)
    if grows:  # tables of open distances, before labels are known and after, and their products
        kinds = n * labels * (labels + 1.0)
        memory = 2 * column * n * (3 * n * labels**2 + 15 * inner) + 16 * n * kinds**2
    seconds = _to_float(total) / max(1.5 ** (n - 5.4), 1.0) * each
    if grows:  # labels come first, so that time grows more slowly than the number of prefixes
        seconds = (2.1 * seconds) ** 0.5
    parts = ShapeCost(True, total, seconds, growing=grows, memory=memory)
    if whole > LARGEST_BRANCH or prefixes or parts.seconds < structures.seconds:
        return parts
    return structures


def _cost_labelled_edges(
    space: CellSpace, n: int, whole: int, features: int, work: float
) -> ShapeCost:
    """The cost of all structures of n nodes whose edges carry the operations."""
    labels, column = len(space.ops), 8.0 * (1 + features)
    memory, fits = column * n**2 * (n + labels + 1), whole <= 2 * LARGEST_BRANCH
    tables = 8e-9 * n**2 * (n + labels) * features
    seconds = tables + _to_float(whole) * (2e-7 + 2e-11 * work)
    labellings = _to_float(labels ** min(space.edge_limit, 300))
    if whole <= FEW_STRUCTURES and labellings >= MANY_LABELLINGS:
        seconds = min(2.0 * (labellings / 2e11) ** 0.3, _RELAXED) / len(space.sizes)
    return ShapeCost(False, whole, seconds, memory=memory, listable=fits)


def bound_graphs(space: SearchSpace) -> int:
    """An upper bound on the number of graphs, the limits of the space left out."""
    whole = space.with_limits(()) if space.limits else space
    if whole.labels_on != "nodes":
        return whole.size_bound()
    cell = cast("CellSpace", whole)
    return sum(cell.structure_bound(n) * len(cell.ops) ** (n - 2) for n in cell.sizes)


def shorten(number: int) -> str:
    """A number in full, or by its power of ten if it is very large.

    Example:
        >>> shorten(423624), shorten(10**30)
        ('423,624', 'about 10^30')
    """
    digits = number.bit_length() * 0.30103  # log10 of 2
    return f"{number:,}" if digits < 16 else f"about 10^{int(digits)}"


def _multiply_steps(seconds: float, factor: float, steps: int) -> float:
    """``seconds`` times ``factor`` for each step; no more than a number can hold."""
    return seconds * factor ** min(steps, 100)


def _to_float(number: int) -> float:
    """A whole number of any size as a float."""
    return float(min(number, 10**300))
